//! `compare`: one class prior and the same items for all methods.

use super::{Bench, json};

fn simulated(items: usize) -> Bench {
    let bench = Bench::new();
    bench.good(&format!("simulate --preset sim2 --items-per-class {items} --seed 1 -o data.csv"));
    bench
}

/// The numbers of a JSON report without seconds, which differ from run to run.
fn timeless(value: &serde_json::Value) -> serde_json::Value {
    let mut value = value.clone();
    for row in value["methods"].as_array_mut().unwrap() {
        row["fit_seconds"] = 0.into();
        row["fuse_seconds"] = 0.into();
    }
    value
}

#[test]
fn the_report_has_every_method_and_single_classifier() {
    let bench = simulated(40);
    let words = "compare data.csv --methods independent,stacking,auto --folds 4 --format json";
    let run = json(&bench.good(words));
    let names: Vec<&str> = run["methods"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["method"].as_str().unwrap())
        .collect();
    assert_eq!(names.len(), 7, "{names:?}");
    for name in ["independent", "stacking", "auto", "classifier:c1", "meta:c2"] {
        assert!(names.contains(&name), "{names:?}");
    }
    for field in ["log_loss", "log_loss_se", "brier", "accuracy", "entropy", "ece", "fit_seconds"] {
        assert!(run["methods"][0][field].is_f64(), "{field}");
    }
    let again = json(&bench.good(&format!("{words} --threads 1")));
    assert_eq!(timeless(&run), timeless(&again));
    let other = json(&bench.good(&format!("{words} --seed 3")));
    assert_ne!(timeless(&run), timeless(&other));
}

#[test]
fn tables_rows_and_pictures_are_written() {
    let bench = simulated(40);
    let run = bench.good(
        "compare data.csv --methods independent,opinion-pool --splits 3 --csv rows.csv \
         --plots pictures --class-prior empirical",
    );
    assert!(run.out.contains("independent"), "{}", run.out);
    assert!(run.out.contains("3 random splits"), "{}", run.out);
    assert!(run.out.contains("posterior modes"), "{}", run.out);
    let rows = bench.text("rows.csv");
    assert!(rows.starts_with("class_prior,method,log_loss,log_loss_se,brier,"), "{rows}");
    assert_eq!(rows.lines().count(), 7);
    for name in ["log-loss", "reliability", "pair-c1-c2", "correlation-in-data"] {
        assert!(bench.text(&format!("pictures/{name}.svg")).contains("<svg"), "{name}");
        assert_eq!(bench.read(&format!("pictures/{name}.png"))[1..4], *b"PNG");
    }
}

/// Each class prior as if it had been asked for alone, told apart in every form of output.
#[test]
fn several_class_priors_stand_side_by_side() {
    let bench = simulated(40);
    let words = "compare data.csv --methods log-pool --splits 3 --format json";
    let alone = ["uniform", "1,2,1"]
        .map(|prior| json(&bench.good(&format!("{words} --class-prior {prior}"))));
    let files = "--csv rows.csv --split-csv splits.csv --plots pictures";
    let both = format!("{words} --class-prior uniform --class-prior 1,2,1");
    let together = json(&bench.good(&format!("{both} {files}")));
    for (i, alone) in alone.iter().enumerate() {
        assert_eq!(timeless(&together[i]), timeless(alone));
    }
    let rows = bench.text("rows.csv");
    let of = |text: &str, prior: &str| text.lines().filter(|line| line.starts_with(prior)).count();
    assert_eq!((of(&rows, "uniform,"), of(&rows, "\"1,2,1\",")), (5, 5), "{rows}");
    let splits = bench.text("splits.csv");
    assert!(splits.starts_with("class_prior,method,split,log_loss,brier,"), "{splits}");
    assert_eq!((of(&splits, "uniform,"), of(&splits, "\"1,2,1\",")), (15, 15), "{splits}");
    for name in ["uniform/log-loss", "1,2,1/reliability", "pair-c1-c2"] {
        assert!(bench.text(&format!("pictures/{name}.svg")).contains("<svg"), "{name}");
    }
    let table = bench.good(
        "compare data.csv --methods log-pool --class-prior uniform \
         --class-prior empirical --splits 2",
    );
    assert_eq!(table.out.matches("2 random splits").count(), 2, "{}", table.out);
}

#[test]
fn the_papers_protocol_needs_more_than_twenty_items_per_class() {
    let bench = simulated(20);
    bench.refused(
        "compare data.csv --protocol paper --methods independent --plots pictures",
        "data.csv: class `1` needs more than the 20 test items, so that some remain for training; \
         it has 20",
        "",
    );
    let bench = simulated(30);
    let run = bench.good("compare data.csv --protocol paper --methods independent");
    assert!(run.out.contains("5 random splits with 20 test items per class"), "{}", run.out);
}

#[test]
fn bad_requests_are_refused() {
    let bench = simulated(20);
    bench.write("unlabelled.csv", "a_x,a_y\n0.5,0.5\n");
    bench.write("one.csv", "label,a_x,a_y\nx,0.6,0.4\ny,0.5,0.5\n");
    for (words, message) in [
        ("compare data.csv --folds 1", "`folds` must be from 2 to 100, got 1"),
        ("compare data.csv --splits 0", "`splits` must be from 1 to 100000, got 0"),
        (
            "compare data.csv --splits 2 --test-share 1",
            "`test share` must be between 0 and 1, got 1",
        ),
        (
            "compare data.csv --methods meta:nobody",
            "classifiers do not match: expected `nobody`, found `c1` and `c2`",
        ),
        ("compare data.csv --plots data.csv", "data.csv: it is not a folder"),
        (
            "compare one.csv",
            "one.csv: class `x` needs at least 2 items, one to fit and one to score; it has 1",
        ),
    ] {
        bench.refused(words, message, "");
    }
    let run = bench.run("compare data.csv --methods nonsense");
    assert_eq!(run.code, Some(1));
    assert!(run.err.contains("unknown method `nonsense`"), "{}", run.err);
    let run = bench.run("compare unlabelled.csv");
    assert_eq!(run.code, Some(1));
    assert!(run.err.contains("label"), "{}", run.err);
}

/// A classifier that is absent from a whole class in some folds: its meta classifier fails there.
#[test]
fn a_method_that_fails_does_not_stop_the_others() {
    let bench = Bench::new();
    let mut table = String::from("label,a_x,a_y,b_x,b_y\n");
    for i in 0..12 {
        let p = 0.3 + 0.05 * f64::from(i % 7);
        let b = if i == 0 { "0.7,0.3" } else { "," };
        table += &format!("x,{:.2},{:.2},{b}\n", p + 0.1, 0.9 - p);
        table += &format!("y,{:.2},{:.2},0.4,0.6\n", p, 1.0 - p);
    }
    bench.write("data.csv", table);
    let run = bench.good("compare data.csv --methods linear-pool --folds 3 --format json");
    assert!(run.err.contains("`meta:b` failed on split"), "{}", run.err);
    let report = json(&run);
    let rows = report["methods"].as_array().unwrap();
    let failed = rows.last().unwrap();
    assert!(failed["log_loss"].is_null() && !failed["failures"].as_array().unwrap().is_empty());
    assert!(rows[0]["log_loss"].is_f64());
}
