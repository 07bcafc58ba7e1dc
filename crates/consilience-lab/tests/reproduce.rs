//! `consilience-lab reproduce`: help, parts, resuming, and a run without the real data sets.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

/// Runs the program in a folder and returns its exit code and standard error.
fn run(folder: &Path, words: &str) -> (Option<i32>, String) {
    let output = command(folder, words).output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

fn command(folder: &Path, words: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_consilience-lab"));
    command.current_dir(folder).args(words.split_whitespace());
    command.env_remove("CONSILIENCE_DATA").env("COLUMNS", "100");
    command
}

#[test]
fn help() {
    let Output { stdout, .. } = command(Path::new("."), "reproduce --help").output().unwrap();
    let path = format!("{}/tests/snapshots/reproduce.txt", env!("CARGO_MANIFEST_DIR"));
    let committed = snapbox::Data::read_from(path.as_ref(), None);
    snapbox::Assert::new()
        .action_env("SNAPSHOTS")
        .eq(String::from_utf8(stdout).unwrap(), committed);
}

#[test]
#[ignore = "slow: make validate"]
fn a_finished_part_is_not_computed_again() {
    let folder = TempDir::new().unwrap();
    let small = "reproduce -o paper --only sim1 --test-sets 4 --training-sets 2";
    let losses = || fs::read_to_string(folder.path().join("paper/log-losses.csv")).unwrap();
    assert_eq!(run(folder.path(), small).0, Some(0));
    for name in ["figure-3a.svg", "figure-3a.png", "bars.csv", "baselines.csv", "report.md"] {
        assert!(folder.path().join("paper").join(name).exists(), "{name}");
    }
    let first = losses();
    assert!(first.contains("sim1_r0.50,CFM,log_loss,"), "{first}");
    let (_, messages) = run(folder.path(), small);
    assert!(messages.contains("sim1: finished by an earlier run"), "{messages}");
    assert_eq!(losses(), first);
    let (_, messages) = run(folder.path(), &format!("{small} --seed 1"));
    assert!(!messages.contains("earlier run"), "{messages}");
    assert_ne!(losses(), first);
}

#[test]
fn without_the_real_data_sets_the_message_names_their_publishers() {
    let folder = TempDir::new().unwrap();
    let (code, messages) = run(folder.path(), "reproduce -o paper --only bookies-a");
    assert_eq!(code, Some(0), "{messages}");
    assert!(messages.contains("football-data.co.uk"), "{messages}");
    let missing = run(folder.path(), "reproduce -o paper --only bookies-a --data nowhere");
    assert_eq!(missing, (Some(1), "error: nowhere: no such folder\n".into()));
}

/// The tests of the library check Figure 2's values; this one, that all of its files are written.
#[test]
fn figure_2_is_drawn_as_curve_and_as_stacks() {
    let folder = TempDir::new().unwrap();
    assert_eq!(run(folder.path(), "reproduce -o paper --only figure-2").0, Some(0));
    for name in ["figure-2", "figure-2-stacks"] {
        let read = |end: &str| fs::read(folder.path().join(format!("paper/{name}.{end}"))).unwrap();
        assert!(String::from_utf8(read("svg")).unwrap().contains("<svg"), "{name}");
        assert_eq!(read("png")[1..4], *b"PNG", "{name}");
    }
    let table = fs::read_to_string(folder.path().join("paper/figure-2.csv")).unwrap();
    assert_eq!(table.lines().count(), 1 + 2 * 51);
}
