//! `auto` and stacking from the command line.

use super::formats::column;
use super::{Bench, json};

/// Two correlated classifiers, 60 items a class, some outputs of the test items absent.
fn simulated() -> Bench {
    let bench = Bench::new();
    let simulate = "simulate --preset sim2 --correlation 0.5";
    bench.good(&format!("{simulate} --items-per-class 60 --seed 3 -o train.csv"));
    bench.good(&format!("{simulate} --items-per-class 100 --seed 4 -o test.csv"));
    let test = bench.text("test.csv");
    let gap = |(i, line): (usize, &str)| {
        let cells: Vec<&str> = line.split(',').collect();
        match i % 4 {
            1 => format!("{},,,,{}\n", cells[0], cells[4..].join(",")),
            2 => format!("{},,,\n", cells[..4].join(",")),
            3 if i == 3 => format!("{},,,,,,\n", cells[0]),
            _ => format!("{line}\n"),
        }
    };
    bench.write("gaps.csv", test.lines().enumerate().map(gap).collect::<String>());
    bench
}

#[test]
fn a_fit_of_auto_reports_its_gain() {
    let bench = simulated();
    let run = bench.good("fit train.csv --method auto -o model.json");
    assert!(run.out.starts_with("method       auto\nclassifiers  c1, c2\n"), "{}", run.out);
    for words in [
        "log-loss out of fold, 10 folds",
        "gain of auto",
        "best single: ",
        "\naverage ",
        "\nstacking ",
        " nats over the best single source, `c",
    ] {
        assert!(run.out.contains(words), "{words}: {}", run.out);
    }
    let report = json(&bench.good("fit train.csv --method auto --format json -o model.json"));
    let gain = &report["gain"];
    assert_eq!((&gain["folds"], &gain["n_items"]), (&10.into(), &180.into()));
    let over_best = &gain["best_single"]["gain"];
    assert!(
        over_best["mean"].as_f64().unwrap() > 2.0 * over_best["se"].as_f64().unwrap(),
        "{gain}"
    );
    // Five combinations, and per classifier: its outputs, its meta classifier, `auto` of it alone.
    let names = gain["baselines"].as_array().unwrap().iter().map(|own| own["method"].clone());
    let names: Vec<_> = names.collect();
    assert_eq!(names.len(), 5 + 2 * 3);
    for name in ["average", "geometric-pool", "linear-pool:greedy", "log-pool:non-negative"] {
        assert!(names.contains(&name.into()), "{name}: {names:?}");
    }

    let scores = bench.good("evaluate model.json test.csv").out;
    assert!(scores.contains("log-loss on these items"), "{scores}");
    let scores = json(&bench.good("evaluate model.json test.csv --format json"));
    let training = bench.good("evaluate model.json train.csv");
    let advice = "use other items, or `compare`, which scores methods by cross-validation";
    assert!(training.err.contains(advice), "{}", training.err);
    assert!(!training.out.contains("log-loss on these items"), "{}", training.out);
    let (gain, scored) = (&scores["gain"]["log_loss"]["mean"], &scores["methods"][0]["overall"]);
    let off = gain.as_f64().unwrap() - scored["log_loss"]["value"].as_f64().unwrap();
    assert!(off.abs() < 1e-12, "{off}");
}

#[test]
fn absent_outputs_are_filled_in_and_nothing_is_the_prior() {
    let bench = simulated();
    for method in ["auto", "stacking"] {
        bench.good(&format!("fit train.csv --method {method} -o model.json"));
        bench.good("fuse model.json gaps.csv --class-prior 0.2,0.3,0.5 --explain -o fused.csv");
        let fused = bench.text("fused.csv");
        let third = |name: &str| column(&fused, name)[2].parse::<f64>().unwrap();
        for (name, p) in [("fused_1", 0.2), ("fused_2", 0.3), ("fused_3", 0.5)] {
            assert!((third(name) - p).abs() < 1e-12, "{method}: the item without any output");
        }
        assert!(column(&fused, "error").iter().all(|e| e.parse::<f64>().unwrap() < 1e-9));
        let report = json(&bench.good("evaluate model.json gaps.csv --format json"));
        let loss = report["methods"][0]["overall"]["log_loss"]["value"].as_f64().unwrap();
        assert!(loss < 1.0, "{method}: worse than hardly knowing anything: {loss}");
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_at_any_number_of_threads() {
    let bench = simulated();
    for threads in ["1", "2"] {
        let options = format!("--seed 5 --threads {threads}");
        let run = bench.good(&format!("fit train.csv --method auto {options} -o m{threads}.json"));
        bench.write(&format!("told{threads}"), run.out.replace(&format!("m{threads}."), ""));
        bench.good(&format!("fuse m{threads}.json gaps.csv {options} -o fused{threads}.csv"));
    }
    for (one, two) in [("m1.json", "m2.json"), ("fused1.csv", "fused2.csv"), ("told1", "told2")] {
        assert!(bench.read(one) == bench.read(two), "{one} and {two} differ");
    }
    bench.good("fit train.csv --method auto --seed 6 -o other.json");
    assert_ne!(bench.text("m1.json"), bench.text("other.json"));
}

#[test]
fn models_can_be_read_by_hand_and_refuse_what_they_cannot() {
    let bench = simulated();
    for (method, words) in [
        ("auto", ["exponent of its output", "weights of the parts", "independent share"]),
        ("stacking", ["weight of ln output", "→ 1", "bias"]),
    ] {
        bench.good(&format!("fit train.csv --method {method} -o model.json"));
        let text = bench.good("inspect model.json").out;
        for word in words {
            assert!(text.contains(word), "{method}, {word}: {text}");
        }
        let update = format!(
            "model.json: method `{method}` cannot be updated: it is learned from all items at \
             once, so fit it again on old and new items together"
        );
        bench.refused("fit test.csv --update model.json", &update, "");
        let run = bench.run("density model.json test.csv");
        assert!(run.err.contains("has no density"), "{}", run.err);
        let run = bench.run("simulate --model model.json");
        assert!(run.err.contains("does not model the classifiers"), "{}", run.err);
        let run = bench.run("fuse model.json test.csv --predictive");
        assert!(run.err.contains("has no posterior predictive"), "{}", run.err);
    }
    let text = bench.text("model.json").replacen("\"bias\": [", "\"bias\": [1e9, ", 1);
    bench.write("bad.json", text);
    assert_eq!(bench.run("inspect bad.json").code, Some(1));
}

#[test]
fn the_ridge_of_stacking_can_be_set_or_chosen() {
    let bench = simulated();
    for ridge in ["1", "cv", "0.05"] {
        bench.good(&format!("fit train.csv --method stacking --ridge {ridge} -o r{ridge}.json"));
    }
    let weight = |name: &str| {
        let model = json(&bench.good(&format!("inspect {name} --format json")));
        model["parameters"]["logistic"]["weights"][0][0][0].as_f64().unwrap()
    };
    assert!(weight("r0.05.json") < weight("r1.json"), "a narrow prior holds weights near 0");
    let run = bench.run("fit train.csv --method stacking --ridge 0");
    assert!(run.err.contains("`ridge` must be from 1e-6 to 1e6"), "{}", run.err);
    let run = bench.run("fit train.csv --method stacking --ridge much");
    let message = "`ridge` must be cv or a number from 1e-6 to 1e6, got much";
    assert!(run.code == Some(1) && run.err.contains(message), "{}", run.err);
}

#[test]
fn where_it_is_weak_it_says_so() {
    let bench = Bench::new();
    let rows = "x,0.7,0.3,0.7,0.3\ny,0.2,0.8,0.2,0.8\n";
    bench.write("few.csv", format!("label,a_x,a_y,b_x,b_y\n{rows}"));
    let run = bench.good("fit few.csv --method auto -o few.json");
    for words in [
        "warning: fewer than 10 training items in class `x` (1), `y` (1)",
        "warning: classifiers `a` and `b` give the same output for every training item",
        "the classifiers are mostly pooled as they are",
        "the gain of fusing cannot be estimated",
    ] {
        assert!(run.err.contains(words), "{words}: {}", run.err);
    }
    bench.good("fuse few.json few.csv");
    bench.write("one.csv", "label,a_x,a_y\nx,0.7,0.3\nx,0.2,0.8\n");
    let run = bench.good("fit one.csv --method auto --classes x,y -o one.json");
    assert!(run.err.contains("`x` (2), `y` (0)"), "{}", run.err);
    bench.good("fuse one.json one.csv");
}
