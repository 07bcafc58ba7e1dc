//! What `--help` says, kept in `tests/snapshots`, so that changes are seen. To accept a change,
//! run the tests with `SNAPSHOTS=overwrite`.

use snapbox::Assert;
use snapbox::Data;

use super::Bench;

#[test]
fn help_of_every_command() {
    let bench = Bench::new();
    let assert = Assert::new().action_env("SNAPSHOTS");
    let commands = [
        "",
        "advise",
        "aggregate",
        "demo",
        "fit",
        "fuse",
        "density",
        "evaluate",
        "compare",
        "prevalence",
        "report",
        "inspect",
        "export",
        "simulate",
        "completions",
        "man",
    ];
    for command in commands {
        let help = bench.good(&format!("{command} --help"));
        assert_eq!(help.err, "");
        let name = if command.is_empty() { "consilience" } else { command };
        let path = format!("{}/tests/snapshots/{name}.txt", env!("CARGO_MANIFEST_DIR"));
        assert.eq(help.out, Data::read_from(path.as_ref(), None));
    }
}

#[test]
fn every_command_has_a_snapshot() {
    let bench = Bench::new();
    let help = bench.good("--help").out;
    let (_, rest) = help.split_once("Commands:\n").unwrap();
    let (commands, _) = rest.split_once("\n\n").unwrap();
    let indented = commands.lines().filter_map(|line| line.strip_prefix("  "));
    let names =
        indented.filter(|line| !line.starts_with(' ')).filter_map(|line| line.split(' ').next());
    for name in names.filter(|name| *name != "help") {
        let path = format!("{}/tests/snapshots/{name}.txt", env!("CARGO_MANIFEST_DIR"));
        assert!(std::path::Path::new(&path).exists(), "`{name}` has no snapshot");
    }
}

#[test]
fn the_short_help_fits_and_names_the_examples() {
    let bench = Bench::new();
    for words in ["-h", "fit -h", "fuse -h", "simulate -h"] {
        let help = bench.good(words).out;
        assert!(help.contains("Example"), "{words}");
        let widest = help.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(100), "{words}: {widest:?}");
    }
}
