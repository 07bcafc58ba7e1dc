//! `aggregate`, and `fuse` with a model of votes.

use super::{Bench, json};

/// Five sources of which the last is wrong half of the time; 40 items.
pub(super) fn votes() -> String {
    let mut text = String::from("item,source,label\n");
    for item in 0..40 {
        let class = ["no", "yes"][item % 2];
        let other = ["yes", "no"][item % 2];
        for source in 0..4 {
            let label = if (item * 7 + source * 3) % 11 == 0 { other } else { class };
            text += &format!("q{item},s{source},{label}\n");
        }
        text += &format!("q{item},s4,{}\n", if item % 4 < 2 { class } else { other });
    }
    text
}

pub(super) fn gold(items: std::ops::Range<usize>) -> String {
    let row = |item: usize| format!("q{item},{}\n", ["no", "yes"][item % 2]);
    String::from("item,label\n") + &items.map(row).collect::<String>()
}

#[test]
fn labels_sources_and_a_model_are_written_and_the_model_labels_new_votes() {
    let bench = Bench::new();
    bench.write("votes.csv", votes());
    let run = bench.good(
        "aggregate votes.csv -o labels.csv --sources sources.csv --model model.json --plots pictures",
    );
    assert!(
        run.out.starts_with("200 votes of 5 sources on 40 items, 2 classes, 0 gold labels"),
        "{}",
        run.out
    );
    assert!(run.out.contains("an assumption"), "{}", run.out);
    let labels = bench.text("labels.csv");
    let mut lines = labels.lines();
    assert_eq!(lines.next(), Some("item,label,p_no,p_yes,votes,effective_votes"));
    let right = lines
        .enumerate()
        .filter(|(i, line)| line.starts_with(&format!("q{i},{},", ["no", "yes"][i % 2])));
    assert_eq!(right.count(), 40);
    let sources = bench.text("sources.csv");
    assert!(
        sources.starts_with("source,votes,accuracy,accuracy_low,accuracy_high,strength,"),
        "{sources}"
    );
    assert!(
        sources.contains("guessing,p_no_given_no,p_yes_given_no,p_no_given_yes,p_yes_given_yes\n")
    );
    let last = sources.lines().last().unwrap();
    assert!(last.starts_with("s4,40,0.5") && last.contains(",yes,"), "{last}");
    assert!(bench.path("pictures/sources.svg").exists());

    let fused = bench.good("fuse model.json votes.csv -o fused.csv");
    assert!(fused.err.contains("fused 200 votes on 40 items with `auto`"), "{}", fused.err);
    let fused = bench.text("fused.csv");
    assert!(
        fused.starts_with("item,fused_no,fused_yes,predicted,entropy,votes,effective_votes\n"),
        "{fused}"
    );
    let probability = |table: &str, column: usize| -> Vec<f64> {
        table
            .lines()
            .skip(1)
            .map(|line| line.split(',').nth(column).unwrap().parse().unwrap())
            .collect()
    };
    assert_eq!(probability(&labels, 3), probability(&fused, 2));
    bench.write("new.csv", "item,source,label\nn,s0,yes\nn,stranger,yes\n");
    let new = bench.good("fuse model.json new.csv -o -");
    assert!(
        new.out.contains("n,") && new.err.contains("1 of 2 sources are not in the model"),
        "{}",
        new.err
    );
    let refused = bench.run("fuse model.json new.csv -o new.csv");
    assert!(refused.err.contains("the output and the votes are the same file"), "{}", refused.err);
    let refused = bench.run("fuse model.json new.csv --class-prior uniform");
    assert!(
        refused.err.contains("`--class-prior` has no effect on a model of votes"),
        "{}",
        refused.err
    );
}

#[test]
fn gold_and_held_out_labels_give_checks_and_scores() {
    let bench = Bench::new();
    bench.write("votes.csv", votes());
    bench.write("gold.csv", gold(0..10));
    bench.write("truth.csv", gold(0..40));
    let run =
        bench.good("aggregate votes.csv --gold gold.csv --held-out truth.csv -o l.csv --plots p");
    assert!(run.out.contains("learned from gold labels"), "{}", run.out);
    assert!(run.out.contains("Scores on 30 items"), "{}", run.out);
    assert!(bench.path("p/reliability.svg").exists());
    bench.good("aggregate votes.csv --gold gold.csv -o l.csv --plots q");
    assert!(bench.path("q/reliability.svg").exists(), "gold labels alone are enough");
    // Ten gold labels are enough for `dbcc`, but not in folds.
    bench.good("aggregate votes.csv --gold gold.csv -o l.csv --plots r --method dbcc");
    assert!(!bench.path("r/reliability.svg").exists());
    let run = bench.good(
        "aggregate votes.csv --gold gold.csv --compare ibcc,ueda -o l.csv --format json --method auto",
    );
    let report = json(&run);
    assert_eq!(report["rho"]["origin"], "gold");
    assert_eq!(report["scores"]["items"], 10);
    let names: Vec<&str> = report["scores"]["methods"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| m["method"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["auto", "ibcc", "ueda", "majority", "dawid-skene"]);
    assert_eq!(report["gold_check"]["items"], 10);
    assert_eq!(report["sources"].as_array().unwrap().len(), 5);
    assert!((report["class_shares"][0]["share"].as_f64().unwrap() - 0.5).abs() < 0.05);
}

#[test]
fn every_method_runs_and_foreign_options_are_refused() {
    let bench = Bench::new();
    bench.write("votes.csv", votes());
    bench.write("gold.csv", gold(0..20));
    for method in [
        "auto --rho 0",
        "ibcc",
        "ibcc --inference vb",
        "ibcc --inference gibbs --draws 20 --warmup 5",
        "ebcc --subtypes 2 --restarts 1",
        "ueda",
        "dbcc",
        "dawid-skene",
        "majority",
    ] {
        let words = format!(
            "aggregate votes.csv --gold gold.csv --method {method} -o l.csv --model m.json"
        );
        bench.good(&words);
        bench.good("fuse m.json votes.csv -o f.csv");
    }
    for (words, message) in [
        ("--method ibcc --rho 1", "`--rho` has no effect on `--method ibcc`"),
        ("--rho -1", "`rho` must be from 0 to 1000, got -1"),
        ("--method ibcc --inference magic", "magic"),
        ("--compare ibcc", "there are no labels to score methods on"),
        ("--classes yes,maybe", "unknown label `no`"),
        ("--method dbcc", "needs at least 10 gold labels"),
    ] {
        let run = bench.run(&format!("aggregate votes.csv -o x.csv {words}"));
        assert_eq!(run.code, Some(1), "{words}: {}", run.err);
        assert!(run.err.contains(message), "{words}: {}", run.err);
    }
    let run = bench.run("aggregate votes.csv -o x.csv --method psychic");
    assert!(run.code == Some(2) && run.err.contains("`dawid-skene`"), "{}", run.err);
    let run = bench.run("aggregate votes.csv -o votes.csv");
    assert!(run.err.contains("the output and the votes are the same file"), "{}", run.err);
    let run = bench.run("aggregate votes.csv -o x.csv --sources x.csv");
    assert!(
        run.err.contains("the table of sources and the output are the same file"),
        "{}",
        run.err
    );
    assert!(!bench.path("x.csv").exists());
}

#[test]
fn wide_labels_standard_streams_and_threads_agree() {
    let bench = Bench::new();
    bench.write("votes.csv", votes());
    let long = bench.good("aggregate votes.csv -o - --quiet --threads 1").out;
    let mut wide = String::from("item,s0,s1,s2,s3,s4\n");
    let rows: Vec<String> = votes().lines().skip(1).map(str::to_owned).collect();
    for item in rows.chunks(5) {
        let cells: Vec<&str> = item.iter().map(|row| row.rsplit(',').next().unwrap()).collect();
        wide += &format!("{},{}\n", item[0].split(',').next().unwrap(), cells.join(","));
    }
    bench.write("wide.csv", &wide);
    assert_eq!(
        bench.good("aggregate wide.csv --layout wide-labels -o - --quiet --threads 2").out,
        long
    );
    let piped = bench.feed("aggregate - -o - --quiet", votes().as_bytes());
    assert_eq!(piped.out, long);
    bench.good("aggregate votes.csv --model m.json -o l.csv");
    let fused = bench.good("fuse m.json wide.csv --layout wide-labels -o -").out;
    assert_eq!(fused.lines().count(), 41);
    let refused = bench.run("fit wide.csv --layout wide-labels");
    assert!(refused.err.contains("the layout wide-labels is for votes"), "{}", refused.err);
}

#[test]
fn a_repeated_vote_is_reported_and_a_vote_model_is_no_other_model() {
    let bench = Bench::new();
    bench.write("votes.csv", votes() + "q0,s0,yes\n");
    let run = bench.good("aggregate votes.csv -o l.csv --model m.json");
    assert!(run.err.contains("1 vote was repeated"), "{}", run.err);
    let run = bench.run("inspect m.json");
    assert!(run.code == Some(1) && run.err.contains("m.json is a model of votes"), "{}", run.err);
    bench.write("m.json", bench.text("m.json").replace("\"version\": 1", "\"version\": 3"));
    let run = bench.run("fuse m.json votes.csv");
    assert!(run.err.contains("m.json: not a usable model: it has version 3"), "{}", run.err);
}

#[test]
fn a_model_is_evaluated_on_new_votes_beside_the_baselines() {
    let bench = Bench::new();
    bench.write("votes.csv", votes());
    bench.write("gold.csv", gold(0..40));
    bench.good("aggregate votes.csv -o labels.csv --model model.json");
    let text = bench.good("evaluate model.json votes.csv --gold gold.csv").out;
    assert!(text.starts_with("Scores on 40 items whose gold label was not used"), "{text}");
    let scores = json(&bench.good("evaluate model.json votes.csv --gold gold.csv --format json"));
    assert_eq!(scores["items"], 40);
    let names: Vec<_> =
        scores["methods"].as_array().unwrap().iter().map(|m| &m["method"]).collect();
    assert_eq!(names, ["auto", "majority", "dawid-skene"]);
    // The labels of the same votes without gold labels are the model's predictions.
    let same =
        json(&bench.good("aggregate votes.csv --held-out gold.csv -o labels.csv --format json"));
    assert_eq!(scores["methods"], same["scores"]["methods"]);
    // Mean of −ln p(true class) by hand.
    let table = bench.text("labels.csv");
    let loss = table.lines().skip(1).enumerate().map(|(i, line)| {
        let cells: Vec<&str> = line.split(',').collect();
        -cells[2 + i % 2].parse::<f64>().unwrap().ln()
    });
    let mean = loss.sum::<f64>() / 40.0;
    let own = scores["methods"][0]["log_loss"]["mean"].as_f64().unwrap();
    assert!((own - mean).abs() < 1e-9, "{own} {mean}");

    for (words, message) in [
        ("evaluate model.json votes.csv", "votes.csv: no item has a gold label"),
        (
            "evaluate model.json votes.csv --gold gold.csv --per-class",
            "`--per-class` has no effect",
        ),
        ("evaluate model.json votes.csv --class-prior uniform", "`--class-prior` has no effect"),
    ] {
        let refused = bench.run(words);
        assert!(refused.err.contains(message), "{words}: {}", refused.err);
    }
    bench.good("simulate --preset sim1 --correlation 0.5 --items-per-class 10 -o data.csv");
    bench.good("fit data.csv --method opinion-pool -o other.json");
    let refused = bench.run("evaluate other.json data.csv --gold gold.csv");
    assert!(refused.err.contains("`--gold` is for models of votes"), "{}", refused.err);
}

#[test]
fn methods_for_votes_are_compared_on_hidden_labels() {
    let bench = Bench::new();
    bench.write("votes.csv", votes());
    bench.write("gold.csv", gold(0..30));
    bench.write("other.csv", gold(20..40));
    let words = "compare votes.csv --votes --gold gold.csv --methods auto,ibcc --format json";
    let folds = json(&bench.good(words));
    assert_eq!((&folds["items"], folds["methods"].as_array().unwrap().len()), (&30.into(), 4));
    // `aggregate --compare` scores in the same folds.
    let same = json(
        &bench.good("aggregate votes.csv --gold gold.csv --compare ibcc -o l.csv --format json"),
    );
    assert_eq!(folds["methods"], same["scores"]["methods"]);
    let all = bench.good(
        "compare votes.csv --votes --gold gold.csv --held-out other.csv --csv rows.csv --plots p",
    );
    assert!(all.out.starts_with("Scores on 10 items"), "{}", all.out);
    let rows = bench.text("rows.csv");
    assert_eq!(rows.lines().count(), 8, "{rows}");
    assert!(rows.starts_with("method,items,accuracy,accuracy_se,log_loss,"), "{rows}");
    assert!(rows.contains("\nmajority,10,") && rows.contains("\ndbcc,10,"), "{rows}");
    assert!(bench.path("p").exists());

    for (words, message) in [
        ("compare votes.csv --votes", "there are no labels to score methods on"),
        ("compare votes.csv --gold gold.csv", "--votes"),
        ("compare votes.csv --votes --gold gold.csv --class-prior uniform", "cannot be used with"),
        ("compare votes.csv --votes --gold gold.csv --methods best", "unknown method `best`"),
        ("compare votes.csv --votes --gold gold.csv --folds 1", "folds"),
        ("compare votes.csv --votes --gold gold.csv --csv votes.csv", "the same file"),
    ] {
        let refused = bench.run(words);
        assert!(refused.err.contains(message), "{words}: {}", refused.err);
    }
}
