//! `advise`: items to label and sources to drop.

use super::{Bench, json};

/// 90 items of two sources; a third of them has a label.
fn bench() -> Bench {
    let bench = Bench::new();
    bench.good("simulate --preset sim2 --correlation 0.2 --items-per-class 30 -o all.csv");
    let mut text = String::new();
    for (i, line) in bench.text("all.csv").lines().enumerate() {
        let (label, rest) = line.split_once(',').expect("a label");
        text += &match i {
            0 => format!("{label},{rest},id\n"),
            i if i % 3 == 0 => format!("{label},{rest},n{i}\n"),
            i => format!(",{rest},n{i}\n"),
        };
    }
    bench.write("some.csv", text);
    bench.good("fit some.csv -o m.json");
    bench
}

#[test]
fn items_and_sources_as_text_and_json() {
    let bench = bench();
    let out = bench.good("advise m.json some.csv --labels 4 --price c1=0.02").out;
    let report =
        json(&bench.good("advise m.json some.csv --labels 4 --price c1=0.02 --format json"));
    let items = report["labels"]["next"].as_array().unwrap();
    assert_eq!(items.len(), 4);
    for item in items {
        let row = item["row"].as_u64().unwrap();
        assert_eq!(item["item"], row - 1);
        assert_eq!(item["name"], format!("n{row}"));
        assert_ne!(row % 3, 0, "item {row} has a label");
        assert!(out.contains(&format!("n{row}")), "{out}");
    }
    assert_eq!(report["labels"]["n_unlabelled"], 60);
    let sources = report["sources"]["sources"].as_array().unwrap();
    assert_eq!(sources.len(), 2);
    let first = sources.iter().find(|source| source["classifier"] == "c1").unwrap();
    let worth = first["worth"]["mean"].as_f64().unwrap();
    let per_price = first["worth_per_price"].as_f64().unwrap();
    assert!((per_price - worth / 0.02).abs() < 1e-9);
    for words in ["label next", "dropping it costs", "worth per price", "30 labelled items"] {
        assert!(out.contains(words), "{words}: {out}");
    }
}

#[test]
fn the_same_at_any_number_of_threads() {
    let bench = bench();
    let one = bench.good("advise m.json some.csv --threads 1 --format json").out;
    assert_eq!(one, bench.good("advise m.json some.csv --threads 3 --format json").out);
}

#[test]
fn either_part_can_be_left_out() {
    let bench = bench();
    let out = bench.good("advise m.json some.csv --no-sources").out;
    assert!(out.contains("label next") && !out.contains("dropping"), "{out}");
    let out = bench.good("advise m.json some.csv --labels 0").out;
    assert!(!out.contains("label next") && out.contains("dropping"), "{out}");
    let out = bench.good("advise m.json all.csv").out;
    assert!(out.contains("every item has one"), "{out}");
    bench.write("few.csv", bench.text("some.csv").lines().take(5).collect::<Vec<_>>().join("\n"));
    let out = bench.good("advise m.json few.csv").out;
    assert!(out.contains("their worth is unknown"), "{out}");
}

#[test]
fn wrong_prices_are_explained() {
    let bench = bench();
    let run = bench.run("advise m.json some.csv --price c3=1");
    assert_eq!(run.code, Some(1));
    assert!(run.err.contains("`c3`") && run.err.contains("`c1` and `c2`"), "{}", run.err);
    for price in ["c1", "c1=", "c1=-1", "c1=cheap", "c1=inf"] {
        let run = bench.run(&format!("advise m.json some.csv --price {price}"));
        assert_eq!(run.code, Some(2), "{price}: {}", run.err);
    }
}
