//! The commands at work, one after the other.

use std::fs;

use serde_json::Value;

use super::formats::column;
use super::{Bench, Run, json};

/// Training and test data of two correlated classifiers, and a fitted model.
fn fitted() -> Bench {
    let bench = Bench::new();
    bench.good("simulate --preset sim2 --items-per-class 60 --seed 1 -o train.csv");
    bench.good("simulate --preset sim2 --items-per-class 40 --seed 2 -o test.csv");
    bench.good("fit train.csv --method independent --inference map -o model.json");
    bench
}

#[test]
fn from_data_to_scores() {
    let bench = Bench::new();
    let run = bench.good("simulate --preset sim2 --items-per-class 60 -o data.csv");
    assert_eq!((run.out.as_str(), run.err.as_str()), ("", "drew 180 items -> data.csv\n"));
    let run = bench.good("fit data.csv --method independent --draws 500 -o model.json");
    assert!(run.out.starts_with("method       independent\nclassifiers  c1, c2\n"), "{}", run.out);
    assert!(run.out.contains("items        180 (1: 60, 2: 60, 3: 60)\n"), "{}", run.out);
    assert!(run.out.contains("posterior    4 chains of 500 draws; R-hat"), "{}", run.out);
    assert!(run.out.ends_with("model        model.json\n"), "{}", run.out);
    let run = bench.good("fuse model.json data.csv -o fused.csv");
    assert_eq!(run.err, "fused 180 items with `independent` -> fused.csv\n");
    let run = bench.good("density model.json data.csv -o density.csv");
    assert_eq!(run.err, "densities of 180 items -> density.csv\n");
    let run = bench.good("evaluate model.json data.csv --per-class");
    for method in ["independent", "classifier:c1", "classifier:c2", "meta:c1", "meta:c2"] {
        let rows = run.out.lines().filter(|line| line.starts_with(&format!("{method} "))).count();
        assert_eq!(rows, 4, "one row over all and one a class: {method}\n{}", run.out);
    }
    assert!(run.out.contains("180 items. Every item has the same weight"), "{}", run.out);
    let run = bench.good("inspect model.json");
    for word in ["method       independent", "fitted on    180 items", "α 1", "strength"] {
        assert!(run.out.contains(word), "{word}: {}", run.out);
    }
    bench.good("simulate --model model.json --items-per-class 5 -o again.csv");
    assert_eq!(bench.text("again.csv").lines().count(), 16);
}

#[test]
fn fused_columns_mean_what_is_said() {
    let bench = fitted();
    bench.good("fuse model.json test.csv -o fused.csv");
    let (input, fused) = (bench.text("test.csv"), bench.text("fused.csv"));
    assert_eq!(input.lines().count(), fused.lines().count());
    for (input, fused) in input.lines().zip(fused.lines()) {
        assert!(fused.starts_with(input), "input columns are carried along as they are");
    }
    let mut lines = fused.lines();
    let header =
        "label,c1_1,c1_2,c1_3,c2_1,c2_2,c2_3,fused_1,fused_2,fused_3,predicted,entropy,error";
    assert_eq!(lines.next(), Some(header));
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        let p: Vec<f64> = cells[7..10].iter().map(|cell| cell.parse().unwrap()).collect();
        assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{line}");
        let predicted: usize = cells[10].parse().unwrap();
        assert!(p.iter().all(|other| *other <= p[predicted - 1]), "{line}");
        let entropy: f64 = p.iter().map(|p| -p * p.ln()).sum();
        assert!((cells[11].parse::<f64>().unwrap() - entropy).abs() < 1e-12, "{line}");
        assert!(cells[12].parse::<f64>().unwrap() < 1e-9, "{line}");
    }
}

#[test]
fn densities_and_fused_probabilities_agree() {
    let bench = fitted();
    let prior: [f64; 3] = [0.2, 0.3, 0.5];
    bench.good("fuse model.json test.csv --class-prior 0.2,0.3,0.5 -o fused.csv");
    bench.good("density model.json test.csv --class-prior 0.2,0.3,0.5 -o density.csv");
    let (fused, density) = (bench.text("fused.csv"), bench.text("density.csv"));
    assert!(density.starts_with(
        "label,c1_1,c1_2,c1_3,c2_1,c2_2,c2_3,log_density_1,log_density_2,log_density_3,\
         log_evidence,error\n"
    ));
    for (fused, density) in fused.lines().zip(density.lines()).skip(1) {
        let number = |line: &str, column| line.split(',').nth(column).unwrap().parse::<f64>();
        for (j, prior) in prior.iter().enumerate() {
            let bayes = number(density, 7 + j).unwrap() + prior.ln() - number(density, 10).unwrap();
            assert!((bayes.exp() - number(fused, 7 + j).unwrap()).abs() < 1e-10, "{fused}");
        }
    }
}

#[test]
fn json_reports_have_their_fields() {
    let bench = fitted();
    let fit = json(
        &bench.good("fit train.csv --method independent --draws 100 --format json -o other.json"),
    );
    assert_eq!(fit["method"], "independent");
    assert_eq!(fit["classifiers"], serde_json::json!(["c1", "c2"]));
    assert_eq!(fit["classes"], serde_json::json!(["1", "2", "3"]));
    assert_eq!(fit["items_per_class"], serde_json::json!([60, 60, 60]));
    assert_eq!((&fit["values_raised"], &fit["model"]), (&0.into(), &"other.json".into()));
    assert!(fit["diagnostics"]["r_hat"].is_f64() && fit["warnings"].is_array());

    let scores = json(&bench.good("evaluate model.json test.csv --format json --bootstrap 50"));
    assert_eq!(scores["n_items"], 120);
    assert_eq!(scores["weighting"], "items");
    let methods = scores["methods"].as_array().unwrap();
    let names: Vec<&str> = methods.iter().map(|row| row["method"].as_str().unwrap()).collect();
    assert_eq!(names, ["independent", "classifier:c1", "classifier:c2", "meta:c1", "meta:c2"]);
    for row in methods {
        assert_eq!(row["per_class"].as_array().unwrap().len(), 3);
        for score in ["log_loss", "brier", "accuracy", "entropy", "ece"] {
            let of = |part: &str| row["overall"][score][part].as_f64().unwrap();
            // Resampling adds noise to the bins, which can only increase the calibration error: its
            // interval may lie above the value. The other scores are means.
            let covered = of("low") <= of("value") || score == "ece";
            assert!(covered && of("value") <= of("high") && of("low") < of("high"), "{row}");
            assert!(of("value") >= 0.0, "{row}");
        }
    }
    let items = json(&bench.good("evaluate model.json test.csv --format json --score-items"));
    assert_eq!(items["weighting"], "items");

    let model = json(&bench.good("inspect model.json --format json"));
    assert_eq!(model["parameters"]["alpha"].as_array().unwrap().len(), 2);
    assert_eq!(model["strength"].as_array().unwrap().len(), 2);
    assert_eq!(model["items_per_class"], serde_json::json!([60, 60, 60]));
    for field in ["method", "classifiers", "classes", "class_prior", "settings", "draws"] {
        assert!(!model[field].is_null(), "{field}");
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_at_any_number_of_threads() {
    let bench = Bench::new();
    for threads in ["1", "2"] {
        let common = format!("--seed 7 --threads {threads}");
        bench.good(&format!("simulate --preset sim3 --items-per-class 9000 {common} -o data.csv"));
        let fit = "--method independent --draws 60 --warmup 30 --keep-draws 20";
        bench.good(&format!("fit data.csv {fit} {common} -o model{threads}.json"));
        let model = format!("model{threads}.json");
        bench.good(&format!("fuse {model} data.csv {common} -o fused{threads}.csv"));
        bench.good(&format!(
            "fuse {model} data.csv --predictive {common} -o predictive{threads}.csv"
        ));
        let run = bench.good(&format!("evaluate {model} data.csv --bootstrap 20 {common}"));
        bench.write(&format!("scores{threads}"), run.out);
        fs::rename(bench.path("data.csv"), bench.path(&format!("data{threads}.csv"))).unwrap();
    }
    for (one, two) in [
        ("data1.csv", "data2.csv"),
        ("model1.json", "model2.json"),
        ("fused1.csv", "fused2.csv"),
        ("predictive1.csv", "predictive2.csv"),
        ("scores1", "scores2"),
    ] {
        assert!(bench.read(one) == bench.read(two), "{one} and {two} differ");
    }
    assert_ne!(bench.read("fused1.csv"), bench.read("predictive1.csv"));
    let other = bench.good("simulate --preset sim3 --items-per-class 9000 --seed 8").out;
    assert!(other.as_bytes() != bench.read("data1.csv"), "another seed gives other data");
}

#[test]
fn updating_equals_fitting_on_all() {
    let bench = fitted();
    let test = bench.text("test.csv");
    let (_, rows) = test.split_once('\n').unwrap();
    bench.write("all.csv", bench.text("train.csv") + rows);
    for options in [
        "--method independent --inference map",
        "--method independent --draws 50",
        "--method meta:c2",
        "--method opinion-pool",
    ] {
        bench.good(&format!("fit train.csv {options} --class-prior empirical -o part.json"));
        bench.good("fit test.csv --update part.json -o updated.json");
        bench.good(&format!("fit all.csv {options} --class-prior empirical -o whole.json"));
        assert_eq!(bench.text("updated.json"), bench.text("whole.json"), "{options}");
        assert_ne!(bench.text("part.json"), bench.text("whole.json"), "{options}");
    }
}

#[test]
fn another_class_prior_needs_no_other_fit() {
    let bench = fitted();
    for prior in ["1,2,3", "empirical", "uniform"] {
        let fit = "fit train.csv --method independent --inference map";
        bench.good(&format!("{fit} --class-prior {prior} -o other.json"));
        for command in ["fuse", "density", "evaluate"] {
            let asked =
                bench.good(&format!("{command} model.json test.csv --class-prior {prior}")).out;
            assert_eq!(asked, bench.good(&format!("{command} other.json test.csv")).out);
        }
    }
    let uniform = bench.good("fuse model.json test.csv").out;
    assert_ne!(uniform, bench.good("fuse model.json test.csv --class-prior 1,2,3").out);
}

#[test]
fn pools_are_fitted_with_weights() {
    let bench = fitted();
    for (options, weights) in [
        ("--method linear-pool --weights 3,1", Some(["3.0000", "1.0000"])),
        ("--method log-pool --weights -0.5,1.5", Some(["-0.5000", "1.5000"])),
        ("--method log-pool --weights equal", Some(["0.5000", "0.5000"])),
        ("--method log-pool --weights free", None),
        ("--method linear-pool", None),
    ] {
        bench.good(&format!("fit train.csv {options} -o pool.json"));
        let text = bench.good("inspect pool.json").out;
        for (name, weight) in ["c1", "c2"].iter().zip(weights.into_iter().flatten()) {
            let line = text.lines().find(|line| line.starts_with(name)).unwrap();
            assert!(line.ends_with(&format!(" {weight}")), "{options}: {line}");
        }
        bench.good("evaluate pool.json test.csv");
    }
}

#[test]
fn quiet_prints_no_notes_and_messages_go_to_standard_error() {
    let bench = fitted();
    let loud = bench.good("fuse model.json test.csv");
    assert_eq!(loud.err, "fused 120 items with `independent` -> standard output\n");
    let quiet = bench.good("fuse model.json test.csv --quiet");
    assert_eq!((quiet.err.as_str(), quiet.out), ("", loud.out));
    for words in [
        "simulate --preset sim1 -q -o s.csv",
        "density model.json test.csv -q -o d.csv",
        "fit train.csv --method independent --inference map -q",
        "evaluate model.json test.csv -q",
    ] {
        assert_eq!(bench.good(words).err, "", "{words}");
    }
    bench.write("few.csv", "label,a_x,a_y\nx,0.7,0.3\ny,0.2,0.8\n");
    let warned = bench.good("fit few.csv --method independent --inference map -q -o few.json").err;
    assert!(warned.starts_with("warning: class `x` has only 1 training item"), "{warned}");
}

#[test]
fn values_raised_to_the_floor_are_counted() {
    let bench = Bench::stocked();
    bench.write("sure.csv", "label,a_x,a_y,b_x,b_y\nx,1,0,1,0\ny,0.2,0.8,0.5,0.5\n");
    let run = bench.good("fuse model.json sure.csv -o out.csv");
    let expected =
        "fused 2 items with `independent`; 2 values below 1e-6 raised to it -> out.csv\n";
    assert_eq!(run.err, expected);
    assert!(bench.text("out.csv").contains("\nx,1,0,1,0,"), "the input's cells stay as they are");
    let run = bench.good("fuse model.json sure.csv --floor 0.3 -o out.csv");
    assert!(run.err.contains("; 3 values below 0.3 raised to it"), "{}", run.err);
}

#[test]
fn no_escape_codes_where_nobody_sees_colour() {
    let bench = fitted();
    for words in ["fit gone.csv", "evaluate model.json test.csv", "--help", "fit --help"] {
        let run = bench.run(words);
        assert!(!run.out.contains('\x1b') && !run.err.contains('\x1b'), "{words}");
        let plain: Run =
            bench.command(words).env("NO_COLOR", "1").env("TERM", "xterm").output().unwrap().into();
        assert_eq!((plain.out, plain.err), (run.out, run.err), "{words}");
    }
    let forced: Run =
        bench.command("fit gone.csv").env("CLICOLOR_FORCE", "1").output().unwrap().into();
    assert!(forced.err.contains("\x1b[1m\x1b[31merror:"), "colour exists: {:?}", forced.err);
}

#[test]
fn completions_and_manual_pages_are_text() {
    let bench = Bench::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let text = bench.good(&format!("completions {shell}")).out;
        assert!(text.contains("evaluate") && text.contains("consilience"), "{shell}");
    }
    assert!(bench.good("man").out.contains(".TH consilience 1"));
    assert!(bench.good("man fuse").out.contains("fused_<class>"));
    assert!(bench.good("--version").out.starts_with("consilience 0."));
}

#[test]
fn the_demo_writes_its_folder() {
    let bench = Bench::new();
    let run = bench.good("demo --quiet");
    assert_eq!(run.err, "");
    assert!(run.out.contains("Written to consilience-demo:"), "{}", run.out);
    assert!(run.out.ends_with("browser: consilience-demo/report.html\n"), "{}", run.out);
    let names = [
        "comparison.json",
        "fused.csv",
        "model.json",
        "report.html",
        "report.md",
        "test.csv",
        "train.csv",
    ];
    let files: Vec<_> = bench.files().into_keys().filter(|path| path.is_file()).collect();
    let pictures = |path: &&std::path::PathBuf| path.parent().unwrap().ends_with("pictures");
    let others = files.iter().filter(|path| !pictures(path));
    assert_eq!(others.map(|path| path.file_name().unwrap()).collect::<Vec<_>>(), names);
    // Bars, reliability, correlations and three pairs, each as SVG and PNG.
    assert_eq!(files.iter().filter(pictures).count(), 12);
    let compared = json(&bench.good("demo --format json -o elsewhere"));
    assert_eq!(compared["methods"].as_array().unwrap().len(), 13);
    assert_eq!(
        bench.read("elsewhere/comparison.json"),
        bench.read("consilience-demo/comparison.json")
    );
    let again = bench.good("fuse elsewhere/model.json elsewhere/test.csv").out;
    assert_eq!(again, bench.text("elsewhere/fused.csv"));
}

/// With the true parameters the fused result is calibrated: its mean entropy is its log-loss, here
/// within four standard errors of 900 items.
#[test]
fn a_correlated_model_of_two_classifiers() {
    let bench = Bench::new();
    let simulate = "simulate --preset sim2 --correlation 0.75 --items-per-class 300";
    bench.good(&format!("{simulate} --truth truth.json -o data.csv"));
    let report = bench.good("evaluate truth.json data.csv --format json").out;
    let report: Value = serde_json::from_str(&report).unwrap();
    let overall = &report["methods"][0]["overall"];
    let score = |name: &str| overall[name]["value"].as_f64().unwrap();
    assert_eq!(report["methods"][0]["method"], "correlated");
    assert!((score("log_loss") - score("entropy")).abs() < 0.1, "{overall}");
    let fused = bench.good("fuse truth.json data.csv --quiet").out;
    for error in column(&fused, "error") {
        assert!(error.parse::<f64>().unwrap() < 1e-4, "{error}");
    }
    let density = bench.good("density truth.json data.csv --quiet").out;
    assert!(column(&density, "log_density_1").iter().all(|cell| cell.parse::<f64>().is_ok()));
    let inspected = bench.good("inspect truth.json").out;
    assert!(inspected.contains("effective number of classifiers  1.15 of 2"), "{inspected}");
}

/// With labels of all items, the corrected shares are those of the labels: 40 of 120 each.
#[test]
fn shares_of_classes() {
    let bench = fitted();
    let run = bench.good("prevalence model.json test.csv");
    assert!(run.out.contains("by 120 labelled"), "{}", run.out);
    let shares = json(&bench.good("prevalence model.json test.csv --format json"));
    for class in shares["classes"].as_array().unwrap() {
        let corrected = &class["corrected"];
        assert!((corrected["value"].as_f64().unwrap() - 1.0 / 3.0).abs() < 1e-9, "{class}");
        assert!(corrected["low"].as_f64() < class["by_model"]["value"].as_f64());
    }
    // The training items cause a warning.
    let run = bench.good("prevalence model.json train.csv --target items");
    assert!(run.err.contains("as many labelled items"), "{}", run.err);
}
