//! Learning what classifiers share, from the command line.

use super::{Bench, json};

/// Two correlated classifiers, 40 items a class.
fn simulated() -> Bench {
    let bench = Bench::new();
    let simulate = "simulate --preset sim2 --correlation 0.5 --items-per-class 40";
    bench.good(&format!("{simulate} --seed 3 -o train.csv --truth truth.json"));
    bench.good(&format!("{simulate} --seed 4 -o test.csv"));
    bench
}

const FIT: &str = "fit train.csv --method correlated --draws 50 --warmup 25 --seed 7";

#[test]
fn the_same_seed_gives_the_same_bytes_at_any_number_of_threads() {
    let bench = simulated();
    for threads in ["1", "2"] {
        let model = format!("model{threads}.json");
        bench.good(&format!("{FIT} --keep-draws 3 --threads {threads} -o {model}"));
        for (options, name) in [("", "fused"), ("--predictive", "predictive")] {
            let fuse = format!("fuse {model} test.csv {options} --threads {threads}");
            bench.good(&format!("{fuse} -o {name}{threads}.csv"));
        }
    }
    for name in ["model#.json", "fused#.csv", "predictive#.csv"] {
        let [one, two] = ["1", "2"].map(|threads| bench.read(&name.replace('#', threads)));
        assert!(one == two, "{name} depends on the number of threads");
    }
    assert_ne!(bench.read("fused1.csv"), bench.read("predictive1.csv"));
}

#[test]
fn what_was_learned_is_reported() {
    let bench = simulated();
    let fit = json(&bench.good(&format!("{FIT} --format json -o model.json")));
    assert_eq!(fit["pair_diagnostics"][0]["between"], serde_json::json!(["c1", "c2"]));
    let model = json(&bench.good("inspect model.json --format json"));
    let worth = model["effective_classifiers"].as_f64().unwrap();
    assert!(worth > 1.0 && worth < 2.0, "{worth}");
    assert_eq!(fit["effective_classifiers"], model["effective_classifiers"]);
    let shares: Vec<f64> =
        model["shares"].as_array().unwrap().iter().map(|s| s.as_f64().unwrap()).collect();
    assert!((shares.iter().sum::<f64>() - worth).abs() < 1e-12);
    let interval = &model["pair_diagnostics"][0]["delta"]["delta_interval"][0][0];
    assert!(interval[0].as_f64() < interval[1].as_f64());
    assert_eq!(model["parameters"]["resolution"], 0.03);
    assert_eq!(model["settings"]["fit"]["method"], "correlated");
    let text = bench.good("inspect model.json").out;
    assert!(text.contains("90 % intervals") && text.contains("independent share"), "{text}");
}

/// What is learned is better than taking the classifiers for independent, and worse than the truth.
#[test]
fn losses_are_in_order() {
    let bench = simulated();
    bench.good(&format!("{FIT} --inference map -o model.json"));
    bench.good("fit train.csv --method independent --inference map -o independent.json");
    let loss = |model: &str| {
        let report = json(&bench.good(&format!("evaluate {model} test.csv --format json")));
        report["methods"][0]["overall"]["log_loss"]["value"].as_f64().unwrap()
    };
    let [truth, learned, independent] =
        ["truth", "model", "independent"].map(|m| loss(&format!("{m}.json")));
    assert!(truth < learned && learned < independent, "{truth} {learned} {independent}");
}

#[test]
fn a_model_with_what_is_shared_is_not_updated() {
    let bench = simulated();
    for method in ["correlated", "discounted"] {
        bench.good(&format!("fit train.csv --method {method} --inference map -o model.json"));
        bench.refused(
            "fit test.csv --update model.json -o new.json",
            &format!(
                "model.json: method `{method}` cannot be updated: it is learned from all items at \
                 once, so fit it again on old and new items together"
            ),
            "",
        );
    }
}

#[test]
fn settings_out_of_range() {
    let bench = simulated();
    for (options, message) in [
        ("--resolution -1", "`resolution` must be between 0 and 0.2, got -1"),
        ("--inference map --keep-draws 5", "`kept draws` must be 0 with `map`"),
    ] {
        let run = bench.run(&format!("fit train.csv --method correlated {options} -o m.json"));
        assert_eq!(run.code, Some(1), "{options}");
        assert!(run.err.contains(message), "{options}: {}", run.err);
    }
    let run = bench.run("fit train.csv --method independent --inference two-step -o m.json");
    let message = "`inference` must be posterior or map, got two-step";
    assert!(run.code == Some(1) && run.err.contains(message), "{}", run.err);
    assert!(!bench.path("m.json").exists());
}

/// Evidence given the others adds up to the fused distribution where classifiers are independent.
#[test]
fn explanations_add_up_for_independent_classifiers() {
    let bench = Bench::stocked();
    bench.good("fuse model.json table.csv --explain -o fused.csv");
    let text = bench.text("fused.csv");
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let header = lines.next().unwrap();
    for row in lines {
        let value = |name: &str| -> f64 {
            row[header.iter().position(|cell| *cell == name).unwrap()].parse().unwrap()
        };
        let odds = (value("fused_x") / value("fused_y")).ln();
        let evidence: f64 = ["a", "b"]
            .map(|k| value(&format!("evidence_{k}_x")) - value(&format!("evidence_{k}_y")))
            .iter()
            .sum();
        assert!((odds - evidence).abs() < 1e-12, "{odds} {evidence}");
        assert!((value("evidence_a_x") + value("evidence_a_y")).abs() < 1e-12);
    }
}

/// Three classifiers, two of them copies: a tree of pairs, learned, told and drawn from.
#[test]
fn three_classifiers_make_a_tree() {
    let bench = simulated();
    let text = bench.text("train.csv");
    let copied: Vec<String> = text
        .lines()
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            let third = cells[1..4].iter().map(|cell| cell.replace("c1_", "c3_"));
            format!("{line},{}", third.collect::<Vec<_>>().join(","))
        })
        .collect();
    bench.write("three.csv", copied.join("\n") + "\n");
    bench.good("fit three.csv --method correlated --inference map -o tree.json");
    let model = json(&bench.good("inspect tree.json --format json"));
    assert_eq!(model["parameters"]["structure"], "tree");
    assert_eq!(model["parameters"]["edges"][0], serde_json::json!(["c1", "c3"]));
    let worth = model["effective_classifiers"].as_f64().unwrap();
    assert!(worth < 1.8, "{worth}");
    assert!(bench.good("inspect tree.json").out.contains("joined by the tree"));
    bench.good("fuse tree.json three.csv -o fused.csv");
    bench.good("simulate --model tree.json --items-per-class 5 -o drawn.csv");
    assert_eq!(bench.text("drawn.csv").lines().count(), 16);
}

/// The paper's model of three classifiers, written by hand: densities with an error, and fusion.
#[test]
fn the_full_model_of_three_classifiers() {
    let bench = Bench::new();
    bench.write("three.json", include_str!("../../demo/truth.json"));
    bench.good("simulate --model three.json --items-per-class 2 -o data.csv");
    bench.good("fuse three.json data.csv -o fused.csv");
    bench.good("density three.json data.csv -o density.csv");
    for (table, largest) in [("fused.csv", 1.0), ("density.csv", f64::INFINITY)] {
        let text = bench.text(table);
        let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let place = lines.next().unwrap().iter().position(|name| *name == "error").unwrap();
        for row in lines {
            let error: f64 = row[place].parse().unwrap();
            assert!(error > 0.0 && error <= largest, "{table}: {error}");
        }
    }
}

/// The paper's model of three classifiers: learned, read again, fused with and inspected.
#[test]
fn three_classifiers_by_the_papers_model() {
    let bench = Bench::new();
    let alpha = serde_json::json!([[12.0, 8.0], [8.0, 12.0]]);
    let truth = serde_json::json!({
        "format": "consilience", "version": 1, "method": "correlated",
        "classifiers": ["a", "b", "c"], "classes": ["x", "y"], "class_prior": [0.5, 0.5],
        "parameters": {
            "alpha": [alpha, alpha, alpha],
            "delta": { "common": [[6.0, 4.0], [4.0, 6.0]], "pairs": [] },
            "structure": "common",
        },
    });
    bench.write("truth.json", truth.to_string());
    bench.good("simulate --model truth.json --items-per-class 20 --seed 3 -o train.csv");
    let fit = "fit train.csv --method correlated --inference map";
    for structure in ["full", "common"] {
        bench.good(&format!("{fit} --structure {structure} -o model.json"));
        let model = json(&bench.good("inspect model.json --format json"));
        assert_eq!(model["parameters"]["structure"], structure);
        assert_eq!(model["settings"]["fit"]["structure"], structure);
        assert_eq!(model["observed_correlation"].as_array().unwrap().len(), 3);
        assert_eq!(model["influence"].as_array().unwrap().len(), 3);
    }
    let text = bench.good("inspect model.json").out;
    for what in ["mean correlation", "above the diagonal: implied; below: observed", "influence"] {
        assert!(text.contains(what), "{what} in {text}");
    }
    let run = bench.good("fuse model.json train.csv -o fused.csv");
    assert!(!run.err.contains("could not be resolved"), "{}", run.err);
}
