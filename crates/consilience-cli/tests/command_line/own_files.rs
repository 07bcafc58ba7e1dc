//! Commands that would overwrite one of their own files, and what replacing a file keeps.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::process::Stdio;

use super::{Bench, Run};

const HINT: &str = "give the output a name of its own";

#[test]
fn an_output_may_not_be_an_input() {
    let bench = Bench::stocked();
    fs::hard_link(bench.path("table.csv"), bench.path("hard.csv")).unwrap();
    symlink("table.csv", bench.path("soft.csv")).unwrap();
    fs::create_dir(bench.path("folder")).unwrap();
    symlink("..", bench.path("folder/up")).unwrap();
    for same in ["table.csv", "./table.csv", "hard.csv", "soft.csv", "folder/up/table.csv"] {
        let message = format!("the output and the data are the same file, {same}");
        bench.refused_as_it_is(&format!("fit table.csv -o {same}"), &message, HINT);
    }
    bench.refused_as_it_is(
        "compare table.csv --csv hard.csv",
        "`--csv` and the data are the same file, hard.csv",
        HINT,
    );
    for words in ["fuse model.json table.csv", "density model.json table.csv"] {
        bench.refused_as_it_is(
            &format!("{words} -o ./model.json --output-format csv"),
            "the output and the model are the same file, ./model.json",
            HINT,
        );
    }
    bench.write("costs.csv", "label,x,y\nx,0,1\ny,1,0\n");
    bench.refused_as_it_is(
        "fuse model.json table.csv --costs costs.csv -o costs.csv",
        "the output and the costs are the same file, costs.csv",
        HINT,
    );
    bench.refused_as_it_is(
        "simulate --model model.json --truth ./model.json -o new.csv",
        "`--truth` and the model are the same file, ./model.json",
        HINT,
    );
}

#[test]
fn two_outputs_may_not_be_the_same() {
    let bench = Bench::stocked();
    symlink("new.csv", bench.path("dangling.csv")).unwrap();
    for (one, other) in
        [("new.csv", "new.csv"), ("new.csv", "./new.csv"), ("new.csv", "dangling.csv"), ("-", "-")]
    {
        let name = if other == "-" { "standard output" } else { other };
        bench.refused_as_it_is(
            &format!("compare table.csv --csv {one} --split-csv {other}"),
            &format!("`--split-csv` and `--csv` are the same file, {name}"),
            HINT,
        );
        bench.refused_as_it_is(
            &format!("simulate --preset sim1 -o {one} --truth {other}"),
            &format!("`--truth` and the output are the same file, {name}"),
            HINT,
        );
    }
    // Devices keep nothing.
    bench.good("simulate --preset sim1 --items-per-class 2 -o /dev/null --truth /dev/null");
}

/// Reading a table and adding its own result to its end would never end.
#[test]
fn standard_streams_are_files_where_they_are_redirected() {
    let bench = Bench::stocked();
    let before = bench.files();
    let table = fs::OpenOptions::new().append(true).open(bench.path("table.csv")).unwrap();
    let run: Run =
        bench.command("fuse model.json table.csv").stdout(table).output().unwrap().into();
    let message = "the output and the data are the same file, standard output";
    assert_eq!((run.code, run.err), (Some(1), format!("error: {message}\nhint: {HINT}\n")));
    let table = fs::File::open(bench.path("table.csv")).unwrap();
    let run: Run = bench.command("fit - -o table.csv").stdin(table).output().unwrap().into();
    let message = "the output and the data are the same file, table.csv";
    assert_eq!((run.code, run.err), (Some(1), format!("error: {message}\nhint: {HINT}\n")));
    assert!(bench.files() == before);
    let output = fs::File::create(bench.path("report.txt")).unwrap();
    let run: Run = bench
        .command("fuse model.json table.csv")
        .stdin(Stdio::null())
        .stdout(output)
        .output()
        .unwrap()
        .into();
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert_eq!(bench.text("report.txt").lines().count(), 3);
}

/// A table whose columns are all written again, and a model that is updated.
#[test]
fn what_is_carried_over_may_be_replaced() {
    let bench = Bench::stocked();
    bench.good("fuse model.json table.csv -o ./table.csv");
    assert!(bench.text("table.csv").starts_with("label,a_x,a_y,b_x,b_y,fused_x"));
    bench.good("fit table.csv --method independent --inference map -o fitted.json");
    bench.good("fit table.csv --update fitted.json -o fitted.json");
}

#[test]
fn a_replaced_file_keeps_its_owner_and_leaves_other_hard_links_alone() {
    let bench = Bench::stocked();
    bench.write("out.csv", "old\n");
    fs::hard_link(bench.path("out.csv"), bench.path("other.csv")).unwrap();
    if super::is_root(&bench) {
        std::os::unix::fs::chown(bench.path("out.csv"), Some(1234), Some(2345)).unwrap();
    }
    let before = fs::metadata(bench.path("out.csv")).unwrap();
    bench.good("fuse model.json table.csv -o out.csv");
    let after = fs::metadata(bench.path("out.csv")).unwrap();
    assert_eq!((after.uid(), after.gid()), (before.uid(), before.gid()));
    assert_eq!(bench.text("other.csv"), "old\n");
    assert!(bench.text("out.csv").starts_with("label,"));
}

#[test]
fn paths_need_not_be_utf_8() {
    use std::os::unix::ffi::OsStrExt;
    let bench = Bench::stocked();
    let name = |text: &[u8]| std::ffi::OsStr::from_bytes(text).to_owned();
    let (input, output) = (name(b"t\xff.csv"), name(b"out\xfe.csv"));
    fs::rename(bench.path("table.csv"), bench.folder.path().join(&input)).unwrap();
    let mut command = bench.command("fuse model.json");
    let run: Run = command.arg(&input).arg("-o").arg(&output).output().unwrap().into();
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert_eq!(run.err, "fused 2 items with `independent` -> out\u{fffd}.csv\n");
    assert!(bench.folder.path().join(&output).exists());
}
