//! Tables in which some or all items have no label.

use super::{Bench, json};

/// Twelve labelled items, six without a label, of two classes and two classifiers.
fn table(labels: bool) -> String {
    let mut text = String::from("label,a_x,a_y,b_x,b_y\n");
    for i in 0..18 {
        let p = 0.2 + 0.6 * f64::from((i * 7) % 18) / 17.0;
        let label = match (labels && i % 3 > 0, p > 0.5) {
            (false, _) => "",
            (true, true) => "x",
            (true, false) => "y",
        };
        let (a, b) = ((p * 100.0).round() / 100.0, (100.0 - p * 90.0).round() / 100.0);
        text += &format!("{label},{a:.2},{:.2},{:.2},{b:.2}\n", 1.0 - a, 1.0 - b);
    }
    text
}

#[test]
fn empty_labels_are_unlabelled_items_in_every_format() {
    let bench = Bench::stocked();
    bench.write("some.csv", table(true));
    for format in ["parquet", "arrow", "jsonl"] {
        bench.good(&format!("fuse model.json some.csv -o some.{format}"));
    }
    let mut models = Vec::new();
    for format in ["csv", "parquet", "arrow", "jsonl"] {
        let words =
            format!("fit some.{format} --method independent -o {format}.json --format json");
        let report = json(&bench.good(&words));
        assert_eq!(report["unlabelled_items"], 6, "{format}");
        assert_eq!(report["items_per_class"], serde_json::json!([6, 6]), "{format}");
        models.push(bench.text(&format!("{format}.json")));
    }
    assert!(models.iter().all(|model| *model == models[0]));
    let out = bench.good("fit some.csv -o m.json").out;
    assert!(out.contains("items        12 (x: 6, y: 6) and 6 without a label"), "{out}");
    assert!(bench.good("inspect m.json").out.contains("12 labelled and 6 unlabelled items"));
}

#[test]
fn unlabelled_items_are_not_scored() {
    let bench = Bench::stocked();
    bench.write("some.csv", table(true));
    let labelled: Vec<String> =
        table(true).lines().filter(|line| !line.starts_with(',')).map(str::to_owned).collect();
    bench.write("labelled.csv", labelled.join("\n") + "\n");
    let whole = bench.good("evaluate model.json some.csv").out;
    let alone = bench.good("evaluate model.json labelled.csv").out;
    assert!(whole.contains("12 items; 6 items without a label are not scored."), "{whole}");
    assert_eq!(whole.replace("; 6 items without a label are not scored.", "."), alone);
    let report = json(&bench.good("evaluate model.json some.csv --format json"));
    assert_eq!((&report["n_items"], &report["n_unlabelled"]), (&12.into(), &6.into()));
    let words = "compare some.csv --methods independent,opinion-pool --folds 3";
    let out = bench.good(words).out;
    assert!(out.contains("6 items without a label join every fit and are not scored."), "{out}");
    let report = json(&bench.good(&format!("{words} --format json")));
    assert_eq!((&report["n_items"], &report["n_unlabelled"]), (&12.into(), &6.into()));
}

#[test]
fn pools_need_no_labels_and_say_what_they_assume() {
    let bench = Bench::stocked();
    bench.write("none.csv", table(false));
    let bare: Vec<String> = table(false)
        .lines()
        .map(|line| line.split_once(',').expect("a first cell").1.to_owned())
        .collect();
    bench.write("bare.csv", bare.join("\n") + "\n");
    for file in ["none.csv", "bare.csv"] {
        for pool in ["opinion-pool", "linear-pool --weights equal", "log-pool --weights 1,2"] {
            let run = bench.good(&format!("fit {file} --method {pool} -o m.json"));
            let note = format!(
                "{file}: no item has a label, so the classes are those of the columns: x, y\nhint: \
                 the true class of an item is read from the column `label`"
            );
            assert!(run.err.contains(&note), "{}", run.err);
            assert!(run.out.contains("0 (x: 0, y: 0) and 18 without a label"), "{}", run.out);
            bench.good(&format!("fuse m.json {file} -o fused.csv"));
        }
    }
}

#[test]
fn updates_take_unlabelled_items() {
    let bench = Bench::stocked();
    bench.write("some.csv", table(true));
    bench.write("none.csv", table(false));
    bench.good("fit some.csv --method independent -o m.json");
    bench.good("fit none.csv --update m.json -o m.json");
    let report = json(&bench.good("inspect m.json --format json"));
    assert!(report.is_object());
    let model: serde_json::Value = serde_json::from_str(&bench.text("m.json")).unwrap();
    assert_eq!(model["training"]["unlabelled"]["items"], 24);
}

#[test]
fn the_class_prior_is_that_of_the_labels_unless_chosen() {
    let bench = Bench::stocked();
    let lines = table(true);
    let keep = |line: &&str| !line.starts_with(',');
    let kept: Vec<&str> = lines.lines().filter(keep).filter(|line| !line.ends_with(".2")).collect();
    let mut text = kept.join("\n") + "\n";
    text += &"x,0.7,0.3,0.6,0.4\n".repeat(6);
    bench.write("more.csv", text);
    let prior =
        |words: &str| {
            json(&bench.good(&format!(
                "fit more.csv --method independent {words} -o m.json --format json"
            )))["class_prior"]
                .clone()
        };
    let twelve = 12.0 / 18.0;
    let empirical = prior("");
    assert!((empirical[0].as_f64().unwrap() - twelve).abs() < 1e-12, "{empirical}");
    assert_eq!(prior("--class-prior uniform")[0], 0.5);
    let out = bench.good("fit more.csv --method opinion-pool -o m.json").out;
    assert!(out.contains("class prior  x 0.6667, y 0.3333 (frequencies of the labels)"), "{out}");
    let report = json(&bench.good("evaluate m.json more.csv --format json"));
    assert_eq!(report["weighting"], "items");
    let report = json(&bench.good("evaluate m.json more.csv --class-prior uniform --format json"));
    assert_eq!(report["weighting"], "class-prior");
    let words = "compare more.csv --methods opinion-pool --folds 3 --format json";
    assert_eq!(json(&bench.good(words))["weighting"], "items");
    let words = "fit more.csv --method independent --class-prior 0.05,0.95 -o m.json";
    let err = bench.good(words).err;
    assert!(err.contains("warning: the class prior (x 0.050, y 0.950) is far from"), "{err}");
}

#[test]
fn the_class_prior_is_estimated_from_items_without_labels() {
    let bench = Bench::stocked();
    bench.write("some.csv", table(true));
    let out = bench.good("fit some.csv --method bcc --class-prior estimate -o m.json").out;
    assert!(out.contains("(estimated from 6 items without a label)"), "{out}");
    let err = bench.good("fuse m.json some.csv --class-prior estimate -o fused.csv").err;
    assert!(err.contains("; class prior x 0.") && err.contains(", estimated from them"), "{err}");
    bench.good("evaluate m.json some.csv --class-prior estimate");
    bench.refused(
        "compare some.csv --class-prior estimate --methods bcc",
        "`class prior` must be uniform, empirical or given here (`estimate` needs the \
         items that are fused), got estimate",
        "",
    );
    bench.write("full.csv", super::TABLE);
    let run = bench.run("fit full.csv --method bcc --class-prior estimate -o m.json");
    assert!(run.err.contains("if every training item has a label"), "{}", run.err);
    let run = bench.feed("fuse model.json - --class-prior estimate", super::TABLE.as_bytes());
    assert_eq!(run.code, Some(1));
    assert_eq!(
        run.err,
        "error: `--class-prior estimate` needs all items before the first is fused, and standard \
         input can be read only once\nhint: write the table to a file first\n"
    );
}
