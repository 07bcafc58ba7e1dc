//! Files that are not there, or may not be read or written.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::{Bench, is_root};

const EXTENSIONS: &str = "known extensions are .csv, .parquet, .arrow and .jsonl, also .csv.gz and \
                          .jsonl.gz for reading; for others use `--input-format` or \
                          `--output-format`";

#[test]
fn inputs_that_cannot_be_read() {
    let bench = Bench::stocked();
    fs::create_dir(bench.path("folder.csv")).unwrap();
    let missing = "No such file or directory (os error 2)";
    for command in ["fit", "fuse model.json", "evaluate model.json"] {
        bench.refused(
            &format!("{command} gone.csv"),
            &format!("cannot read gone.csv: {missing}"),
            "",
        );
        bench.refused(
            &format!("{command} folder.csv"),
            "cannot read folder.csv: is a directory",
            "",
        );
    }
    for words in ["fuse gone.json table.csv", "inspect gone.json", "simulate --model gone.json"] {
        bench.refused(words, &format!("cannot read gone.json: {missing}"), "");
    }
    bench.refused("inspect folder.csv", "cannot read folder.csv: Is a directory (os error 21)", "");
}

#[test]
fn files_without_permission() {
    let bench = Bench::stocked();
    if is_root(&bench) {
        return;
    }
    let allow = |name: &str, mode| {
        fs::set_permissions(bench.path(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    let denied = "Permission denied (os error 13)";
    allow("table.csv", 0o000);
    bench.refused("fit table.csv", &format!("cannot read table.csv: {denied}"), "");
    allow("table.csv", 0o644);
    fs::create_dir(bench.path("locked")).unwrap();
    allow("locked", 0o555);
    bench.refused(
        "fuse model.json table.csv -o locked/out.csv",
        "cannot write locked/out.csv: permission denied",
        "",
    );
    bench.write("kept.csv", "old");
    allow("kept.csv", 0o444);
    bench.refused(
        "fuse model.json table.csv -o kept.csv",
        &format!("cannot write kept.csv: {denied}"),
        "",
    );
}

#[test]
fn outputs_that_cannot_be_written() {
    let bench = Bench::stocked();
    fs::create_dir(bench.path("folder.csv")).unwrap();
    for command in ["fuse model.json table.csv", "density model.json table.csv"] {
        bench.refused(
            &format!("{command} -o no/such/out.csv"),
            "cannot write no/such/out.csv: there is no folder `no/such`",
            "",
        );
        bench.refused(
            &format!("{command} -o folder.csv"),
            "cannot write folder.csv: is a directory",
            "",
        );
        bench.refused(
            &format!("{command} -o table.csv/out.csv"),
            "cannot write table.csv/out.csv: Not a directory (os error 20)",
            "",
        );
    }
    bench.refused(
        "simulate --preset sim1 --truth truth.json -o no/out.csv",
        "cannot write no/out.csv: there is no folder `no`",
        "",
    );
    bench.refused(
        "simulate --preset sim1 --truth no/truth.json",
        "cannot write no/truth.json: there is no folder `no`",
        "",
    );
    bench.refused("demo -o table.csv", "cannot create table.csv: File exists (os error 17)", "");
}

#[test]
fn an_output_that_cannot_be_written_is_told_before_the_fit() {
    let bench = Bench::stocked();
    fs::create_dir(bench.path("folder")).unwrap();
    // The input is not there either: what is said first was looked at first.
    bench.refused(
        "fit gone.csv -o no/out.json",
        "cannot write no/out.json: there is no folder `no`",
        "",
    );
    bench.refused("fit gone.csv -o folder", "cannot write folder: is a directory", "");
}

#[test]
fn extensions_of_no_known_format() {
    let bench = Bench::stocked();
    bench.write("table.txt", bench.text("table.csv"));
    let problem = |name: &str| format!("the extension of {name} is not that of a known format");
    bench.refused("fit table.txt", &problem("table.txt"), EXTENSIONS);
    bench.refused("fuse model.json table.txt", &problem("table.txt"), EXTENSIONS);
    bench.refused("fuse model.json table.csv -o out.xlsx", &problem("out.xlsx"), EXTENSIONS);
    bench.refused("fuse model.json table.csv -o out", &problem("out"), EXTENSIONS);
    bench.good("fuse model.json table.txt --input-format csv -o out --output-format jsonl");
    assert!(bench.text("out").starts_with(r#"{"label":"x","a_x":0.7,"#));
}

#[test]
fn links_are_followed_and_stay() {
    let bench = Bench::stocked();
    fs::create_dir(bench.path("elsewhere")).unwrap();
    symlink("elsewhere/real.csv", bench.path("link.csv")).unwrap();
    bench.good("fuse model.json table.csv -o link.csv");
    assert!(fs::symlink_metadata(bench.path("link.csv")).unwrap().is_symlink());
    assert!(bench.text("elsewhere/real.csv").starts_with("label,"));
    symlink("gone/real.csv", bench.path("dangling.csv")).unwrap();
    bench.refused(
        "fuse model.json table.csv -o dangling.csv",
        "cannot write dangling.csv: there is no folder `./gone`",
        "",
    );
}
