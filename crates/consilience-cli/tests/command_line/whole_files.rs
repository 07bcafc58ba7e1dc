//! Files are written whole or not at all: full disks and readers that go away.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use super::{Bench, Run};

const FORMATS: [&str; 4] = ["csv", "parquet", "arrow", "jsonl"];

/// Runs with files limited to 4 KiB or 8 KiB, as the shell counts; writing beyond fails.
fn on_a_full_disk(bench: &Bench, words: &str) -> Run {
    let script = "trap '' XFSZ; ulimit -f 8; exec \"$@\"";
    let mut command = bench.shell("sh");
    command.args(["-c", script, "sh", super::PROGRAM]).args(words.split_whitespace());
    command.output().unwrap().into()
}

/// A fitted model and a table that is larger than the limit in every format.
fn large() -> Bench {
    let bench = Bench::new();
    bench.good("simulate --preset sim1 --items-per-class 3000 -o data.csv");
    bench.good("fit data.csv --method independent --inference map -o model.json");
    bench
}

#[test]
fn a_full_disk_leaves_the_old_file() {
    let bench = large();
    for format in FORMATS {
        let name = format!("out.{format}");
        bench.write(&name, "old");
        fs::set_permissions(bench.path(&name), fs::Permissions::from_mode(0o640)).unwrap();
        let before = bench.files();
        for words in ["fuse model.json data.csv", "simulate --preset sim1 --items-per-class 3000"] {
            let run = on_a_full_disk(&bench, &format!("{words} -o {name}"));
            let message = format!("error: cannot write {name}: File too large (os error 27)\n");
            assert_eq!((run.code, run.err), (Some(1), message), "{words}");
            assert!(bench.files() == before, "{words}");
        }
        let mode = fs::metadata(bench.path(&name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
    }
}

#[test]
fn a_full_disk_leaves_no_new_file() {
    let bench = large();
    let before = bench.names();
    for format in FORMATS {
        let run = on_a_full_disk(&bench, &format!("fuse model.json data.csv -o out.{format}"));
        assert_eq!(run.code, Some(1));
    }
    let options = "--method independent --keep-draws 100 --chains 1 --draws 100";
    let run = on_a_full_disk(&bench, &format!("fit data.csv {options} -o kept.json"));
    assert_eq!(run.err, "error: cannot write kept.json: File too large (os error 27)\n");
    assert_eq!((run.code, run.out.as_str()), (Some(1), ""));
    assert_eq!(bench.names(), before);
}

#[test]
fn a_full_device_is_an_error() {
    let bench = Bench::stocked();
    let full = "No space left on device (os error 28)";
    for format in FORMATS {
        let words = format!("fuse model.json table.csv --output-format {format}");
        bench.refused(
            &format!("{words} -o /dev/full"),
            &format!("cannot write /dev/full: {full}"),
            "",
        );
        let device = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let run: Run = bench.command(&words).stdout(device).output().unwrap().into();
        let message = format!("error: cannot write standard output: {full}\n");
        assert_eq!((run.code, run.err), (Some(1), message));
    }
    let message = format!("cannot write /dev/full: {full}");
    bench.refused("report model.json table.csv -o /dev/full", &message, "");
    for words in [
        "inspect model.json",
        "evaluate model.json table.csv",
        "completions bash",
        "help",
        "fit --help",
        "--version",
    ] {
        let device = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let run: Run = bench.command(words).stdout(device).output().unwrap().into();
        let message = format!("error: cannot write standard output: {full}\n");
        assert_eq!((run.code, run.err), (Some(1), message), "{words}");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let bench = large();
    for format in FORMATS {
        for words in ["simulate --preset sim1 --items-per-class 20000", "fuse model.json data.csv"]
        {
            let mut command = bench.command(words);
            command.args(["--output-format", format, "--quiet"]);
            let mut child = command.spawn().unwrap();
            drop(child.stdout.take()); // nobody reads
            let run = super::finish(child);
            assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{words} as {format}");
        }
    }
}

#[test]
fn the_first_line_is_enough_for_head() {
    let bench = Bench::new();
    let script = "\"$0\" simulate --preset sim1 --items-per-class 50000 --quiet && echo fine >&2";
    let mut child = bench.shell("sh").args(["-c", script, super::PROGRAM]).spawn().unwrap();
    let output = child.stdout.take().unwrap();
    let head = bench.shell("head").arg("-n1").stdin(Stdio::from(output)).output().unwrap();
    assert_eq!(String::from_utf8(head.stdout).unwrap(), "label,c1_1,c1_2,c1_3,c2_1,c2_2,c2_3\n");
    assert_eq!(super::finish(child).err, "fine\n");
}

#[test]
fn a_table_may_replace_itself() {
    let bench = Bench::stocked();
    fs::set_permissions(bench.path("table.csv"), fs::Permissions::from_mode(0o600)).unwrap();
    let expected = bench.good("fuse model.json table.csv").out;
    bench.good("fuse model.json table.csv -o table.csv");
    assert_eq!(bench.text("table.csv"), expected);
    assert_eq!(bench.names(), ["model.json", "table.csv"]);
    let mode = fs::metadata(bench.path("table.csv")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}
