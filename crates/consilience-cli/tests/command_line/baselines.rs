//! The baselines of the correlated model from the command line.

use super::formats::column;
use super::{Bench, json};

/// Two correlated classifiers; training items of unequal classes, test items with some absent.
fn simulated() -> Bench {
    let bench = Bench::new();
    let simulate = "simulate --preset sim2 --correlation 0.5";
    bench.good(&format!("{simulate} --items-per-class 40 --seed 3 -o all.csv"));
    bench.good(&format!("{simulate} --items-per-class 100 --seed 4 -o test.csv"));
    let all = bench.text("all.csv");
    // Forty of the first class, thirty of the others.
    let kept = all.lines().enumerate().filter(|(i, _)| *i <= 40 || i % 4 != 0);
    bench.write("train.csv", kept.flat_map(|(_, line)| [line, "\n"]).collect::<String>());
    let gap = |(i, line): (usize, &str)| {
        let cells: Vec<&str> = line.split(',').collect();
        match i % 4 {
            1 => format!("{},,,,{}\n", cells[0], cells[4..].join(",")),
            3 if i == 3 => format!("{},,,,,,\n", cells[0]),
            _ => format!("{line}\n"),
        }
    };
    let test = bench.text("test.csv");
    bench.write("gaps.csv", test.lines().enumerate().map(gap).collect::<String>());
    bench
}

#[test]
fn every_baseline_fits_fuses_scores_and_shows_its_parameters() {
    let bench = simulated();
    for (options, shown) in [
        ("logit-normal", "correlation of ln output of"),
        ("normal-mixture", "components in all"),
        ("bcc", "says 1"),
    ] {
        let run = bench.good(&format!("fit train.csv --method {options} -o model.json"));
        assert!(run.out.starts_with("method       "), "{}", run.out);
        bench.good("fuse model.json gaps.csv --class-prior 0.2,0.3,0.5 --explain -o fused.csv");
        let fused = bench.text("fused.csv");
        let third = |name: &str| column(&fused, name)[2].parse::<f64>().unwrap();
        for (name, p) in [("fused_1", 0.2), ("fused_2", 0.3), ("fused_3", 0.5)] {
            assert!((third(name) - p).abs() < 1e-12, "{options}: the item without any output");
        }
        assert!(column(&fused, "error").iter().all(|e| e.parse::<f64>().unwrap() < 1e-9));
        let report =
            json(&bench.good("evaluate model.json gaps.csv --class-prior uniform --format json"));
        let loss = report["methods"][0]["overall"]["log_loss"]["value"].as_f64().unwrap();
        assert!(loss < 1.0, "{options}: {loss}");
        let inspected = bench.good("inspect model.json").out;
        assert!(inspected.contains(shown), "{inspected}");
    }
}

#[test]
fn densities_where_there_are_any() {
    let bench = simulated();
    for method in ["logit-normal", "normal-mixture"] {
        bench.good(&format!("fit train.csv --method {method} -o model.json"));
        bench.good("density model.json gaps.csv -o density.csv");
        let table = bench.text("density.csv");
        // Without any output the density of nothing is 1.
        assert!(column(&table, "log_density_1")[2].parse::<f64>().unwrap().abs() < 1e-12);
    }
    bench.good("fit train.csv --method bcc -o model.json");
    let run = bench.run("density model.json gaps.csv");
    assert!(run.code != Some(0) && run.err.contains("has no density"), "{}", run.err);
}

/// Counts can be added to, distributions cannot.
#[test]
fn updates() {
    let bench = simulated();
    bench.good("fit train.csv --method bcc -o one.json");
    bench.good("fit test.csv --update one.json -o both.json");
    let lines = |name: &str| bench.text(name);
    let test = lines("test.csv");
    let (_, rest) = test.split_once('\n').unwrap();
    bench.write("both.csv", format!("{}{rest}", lines("train.csv")));
    bench.good("fit both.csv --method bcc -o at-once.json");
    let confusion = |name: &str| {
        let report = json(&bench.good(&format!("inspect {name} --format json")));
        report["parameters"]["confusion"].clone()
    };
    assert_eq!(confusion("both.json"), confusion("at-once.json"));
    bench.good("fit train.csv --method normal-mixture -o model.json");
    let run = bench.run("fit test.csv --update model.json");
    assert!(run.code != Some(0) && run.err.contains("cannot be updated"), "{}", run.err);
}

#[test]
fn the_same_seed_gives_the_same_bytes_at_any_number_of_threads() {
    let bench = simulated();
    let fit = "fit train.csv --method normal-mixture";
    for threads in ["1", "2"] {
        bench.good(&format!("{fit} --seed 5 --threads {threads} -o m{threads}.json"));
    }
    assert!(bench.text("m1.json") == bench.text("m2.json"));
    bench.good(&format!("{fit} --seed 6 -o other.json"));
    assert!(bench.text("m1.json") != bench.text("other.json"));
}
