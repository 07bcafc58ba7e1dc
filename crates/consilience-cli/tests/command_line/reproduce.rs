//! `reproduce`: parts, resuming, and what is said where the real sets are not there.

use super::{Bench, Run};

const SMALL: &str = "reproduce -o paper --only sim1 --test-sets 4 --training-sets 2 --data data";

#[test]
#[ignore = "slow: ten fits of every method"]
fn a_finished_part_is_not_computed_again() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("data")).unwrap();
    bench.good(SMALL);
    let first = bench.files();
    for name in ["figure-3a.svg", "figure-3a.png", "log-losses.csv", "bars.csv", "rivals.csv"] {
        assert!(first.contains_key(&bench.path(&format!("paper/{name}"))), "{name}");
    }
    let losses = bench.text("paper/log-losses.csv");
    assert!(losses.contains("sim1_r0.50,CFM,log_loss,"), "{losses}");
    let again = bench.good(SMALL);
    assert!(again.err.contains("sim1: as computed before"), "{}", again.err);
    assert!(bench.files() == first);
    let other = bench.good(&format!("{SMALL} --seed 1"));
    assert!(!other.err.contains("as computed before"), "{}", other.err);
    assert_ne!(bench.text("paper/log-losses.csv"), losses);
}

#[test]
fn without_the_real_sets_it_says_where_they_are_published() {
    let bench = Bench::new();
    let mut command = bench.command("reproduce -o paper --only bookies-a");
    let run: Run = command.env_remove("CONSILIENCE_DATA").output().unwrap().into();
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(run.err.contains("football-data.co.uk"), "{}", run.err);
    let run = bench.run("reproduce -o paper --only bookies-a --data nowhere");
    assert_eq!(
        (run.code, run.err.as_str()),
        (Some(1), "error: nowhere: there is no such folder\n")
    );
}

#[test]
fn figure_2_is_drawn_as_curve_and_as_stacks() {
    let bench = Bench::new();
    bench.good("reproduce -o paper --only figure-2");
    for name in ["figure-2", "figure-2-stacks"] {
        assert!(bench.text(&format!("paper/{name}.svg")).contains("<svg"), "{name}");
        assert_eq!(bench.read(&format!("paper/{name}.png"))[1..4], *b"PNG", "{name}");
    }
}
