//! Files appear whole or not at all, with the right permissions, behind links.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use consilience_io::{
    Added, AddedValues, Location, TableWriter, batch_of, check_writable, read_outputs, write_whole,
};

use crate::{Files, copy, options};

const TABLE: &str = "label,a_x,a_y,b_x,b_y\nx,0.5,0.5,0.5,0.5\ny,0.25,0.75,0.5,0.5\n";

fn mode(files: &Files, name: &str) -> u32 {
    fs::metadata(files.path(name)).unwrap().permissions().mode() & 0o7777
}

#[test]
fn a_writer_that_is_dropped_leaves_nothing() {
    let files = Files::new();
    let outputs = read_outputs(&files.with("t.csv", TABLE), &options()).unwrap();
    for name in ["o.csv", "o.jsonl", "o.parquet", "o.arrow"] {
        let mut writer = TableWriter::create(&files.at(name), None).unwrap();
        writer.write(&batch_of(&outputs, 0..2), &[]).unwrap();
        assert_eq!(files.names().len(), 2, "only the temporary file is there");
        assert!(!files.path(name).exists());
        drop(writer);
        assert_eq!(files.names(), ["t.csv"]);
    }
}

#[test]
fn an_existing_file_stays_until_the_new_one_is_finished() {
    let files = Files::new();
    let location = files.with("t.csv", TABLE);
    let outputs = read_outputs(&location, &options()).unwrap();
    let mut writer = TableWriter::create(&location, None).unwrap();
    writer.write(&batch_of(&outputs, 0..1), &[]).unwrap();
    assert_eq!(files.text("t.csv"), TABLE);
    writer.finish().unwrap();
    assert_eq!(files.text("t.csv"), "label,a_x,a_y,b_x,b_y\nx,0.5,0.5,0.5,0.5\n");
    assert_eq!(files.names(), ["t.csv"]);
}

#[test]
fn permissions_are_those_of_the_old_file_or_of_any_new_one() {
    let files = Files::new();
    // What the system gives any new file under the umask of this process.
    assert!(Command::new("touch").arg(files.path("usual")).status().unwrap().success());
    files.with("new.json", "{}");
    assert_eq!(mode(&files, "new.json"), mode(&files, "usual"));
    fs::set_permissions(files.path("new.json"), fs::Permissions::from_mode(0o640)).unwrap();
    files.with("new.json", "{\"again\": true}");
    assert_eq!(mode(&files, "new.json"), 0o640);
    fs::set_permissions(files.path("new.json"), fs::Permissions::from_mode(0o666)).unwrap();
    files.with("new.json", "{}");
    assert_eq!(mode(&files, "new.json"), 0o666, "whatever the umask");
}

#[test]
fn the_file_behind_a_link_is_replaced_and_the_link_stays() {
    let files = Files::new();
    fs::create_dir(files.path("deep")).unwrap();
    files.with("deep/real.json", "old");
    symlink("deep/real.json", files.path("link.json")).unwrap();
    symlink("link.json", files.path("link2.json")).unwrap();
    files.with("link2.json", "new");
    assert_eq!(files.text("deep/real.json"), "new");
    assert!(fs::symlink_metadata(files.path("link.json")).unwrap().is_symlink());
    symlink("deep/later.json", files.path("dangling.json")).unwrap();
    files.with("dangling.json", "first");
    assert_eq!(files.text("deep/later.json"), "first");
    symlink("loop", files.path("loop")).unwrap();
    assert!(write_whole(&files.at("loop"), b"").is_err());
}

#[test]
fn devices_are_written_directly() {
    write_whole(&Location::from("/dev/null"), b"gone").unwrap();
    let error = write_whole(&Location::from("/dev/full"), b"gone").unwrap_err();
    assert!(error.to_string().starts_with("cannot write /dev/full: No space left on device"));
    assert!(!error.is_broken_pipe());
    let files = Files::new();
    let outputs = read_outputs(&files.with("t.csv", TABLE), &options()).unwrap();
    for format in ["csv", "jsonl", "parquet", "arrow"] {
        let format = Some(format.parse().unwrap());
        let mut writer = TableWriter::create(&"/dev/full".into(), format).unwrap();
        let written = writer.write(&batch_of(&outputs, 0..2), &[]);
        let error = written.and_then(|()| writer.finish()).unwrap_err();
        assert!(error.to_string().contains("/dev/full: No space left"), "{format:?}: {error}");
    }
}

#[test]
fn a_folder_that_is_not_there_or_is_no_folder_is_named() {
    let files = Files::new();
    files.with("file", "");
    let error = TableWriter::create(&files.at("gone/o.csv"), None).unwrap_err();
    let gone = files.path("gone").display().to_string();
    let expected = format!("cannot write gone/o.csv: there is no folder `{gone}`");
    assert_eq!(error.to_string().replacen(&gone, "gone", 1), expected);
    let error = TableWriter::create(&files.at("file/o.csv"), None).unwrap_err();
    assert!(files.message(&error).starts_with("cannot write file/o.csv: Not a dir"), "{error}");
    let error = write_whole(&files.0.path().into(), b"").unwrap_err();
    assert!(error.to_string().ends_with("is a directory"), "{error}");
}

#[test]
fn whether_a_file_can_be_written_is_found_out_without_a_trace() {
    let files = Files::new();
    check_writable(&files.at("new.csv")).unwrap();
    check_writable(&files.with("old.csv", "old")).unwrap();
    assert!(check_writable(&files.at("gone/o.csv")).is_err());
    assert!(check_writable(&files.0.path().into()).is_err());
    assert_eq!(files.names(), ["old.csv"]);
    assert_eq!(files.text("old.csv"), "old");
}

#[test]
fn an_added_column_may_not_be_there_already() {
    let files = Files::new();
    let once = files.at("once.csv");
    copy(&files.with("t.csv", TABLE), &once, &options()).unwrap();
    let error = copy(&once, &files.at("twice.csv"), &options()).unwrap_err();
    assert_eq!(
        files.message(&error),
        "cannot write twice.csv: the input already has a column `half`"
    );
    assert!(error.hint().unwrap().to_string().ends_with("the table may have been fused before"));
    assert_eq!(files.names(), ["once.csv", "t.csv"]);
}

#[test]
fn batches_of_other_columns_or_lengths_are_refused() {
    let files = Files::new();
    let outputs = read_outputs(&files.with("t.csv", TABLE), &options()).unwrap();
    let batch = batch_of(&outputs, 0..2);
    let mut writer = TableWriter::create(&files.at("o.csv"), None).unwrap();
    let short = Added { name: "n".into(), values: AddedValues::Numbers(&[1.0]) };
    let error = writer.write(&batch, &[short]).unwrap_err();
    assert!(error.to_string().contains("expected 2, found 1 of `n`"), "{error}");
    let other = Added { name: "m".into(), values: AddedValues::Numbers(&[1.0, 2.0]) };
    assert!(writer.write(&batch, &[other]).is_err());
}

#[test]
fn a_finished_table_without_a_batch_is_an_empty_file_of_its_format() {
    let files = Files::new();
    for name in ["o.csv", "o.jsonl", "o.parquet", "o.arrow"] {
        TableWriter::create(&files.at(name), None).unwrap().finish().unwrap();
        assert!(files.path(name).exists());
    }
    assert_eq!(files.text("o.csv"), "");
}
