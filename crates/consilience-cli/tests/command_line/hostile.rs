//! Odd but valid requests and hostile names: what is understood is echoed, and nothing is silent.

use super::{Bench, MODEL, json};

#[test]
fn class_priors_by_name() {
    let bench = Bench::stocked();
    let by_position = bench.good("fuse model.json table.csv --class-prior 0.2,0.8");
    let by_name = bench.good("fuse model.json table.csv --class-prior y=0.8,x=0.2");
    assert_eq!(by_name.out, by_position.out);
    let note =
        "fused 2 items with `independent`; class prior x 0.2000, y 0.8000 -> standard output\n";
    assert_eq!((by_name.err.as_str(), by_position.err.as_str()), (note, note));
    let density = bench.good("density model.json table.csv --class-prior x=1,y=3");
    assert!(density.err.contains("; class prior x 0.2500, y 0.7500 -> "), "{}", density.err);
    let words = "fit table.csv --method independent --inference map --class-prior y=3,x=1";
    let fit = bench.good(&format!("{words} -o fitted.json"));
    assert!(fit.out.contains("\nclass prior  x 0.2500, y 0.7500 (given)\n"), "{}", fit.out);
    let report = json(&bench.good(&format!("{words} -o fitted.json --format json")));
    assert_eq!(report["class_prior"], serde_json::json!([0.25, 0.75]));
    // The choice is kept for updates.
    let updated = bench.good("fit table.csv --update fitted.json -o updated.json");
    assert!(updated.out.contains("\nclass prior  x 0.2500, y 0.7500 (given)\n"), "{}", updated.out);
    for (prior, found) in [("x=1", "`x`"), ("x=1,z=1", "`x` and `z`"), ("x=1,x=2", "`x` and `x`")] {
        bench.refused(
            &format!("fuse model.json table.csv --class-prior {prior}"),
            &format!(
                "class prior and classes do not match: expected each of `x` and `y` once, found {found}"
            ),
            "",
        );
    }
}

#[test]
fn a_seed_without_effect_is_mentioned() {
    let bench = Bench::stocked();
    bench.good("fit table.csv --method independent --inference map -o fitted.json");
    let run = bench.good("fit table.csv --update fitted.json -o new.json --seed 3");
    let warning =
        "warning: `--seed` has no effect with `--update`: the model keeps the seed of its fit\n";
    assert!(run.err.starts_with(warning), "{}", run.err);
    let run = bench.good("fit table.csv --update fitted.json -o new.json");
    assert!(!run.err.contains("--seed"), "{}", run.err);
}

#[test]
fn a_comparison_in_which_every_method_fails_is_a_failure() {
    let bench = Bench::stocked();
    bench.good("simulate --preset sim1 --items-per-class 5 -o data.csv");
    let rows = ["x,0.7,0.3,0.6,0.4\n", "y,,,,\n"].map(|row| row.repeat(3));
    bench.write("empty.csv", format!("label,a_x,a_y,b_x,b_y\n{}", rows.concat()));
    let run = bench.run("compare empty.csv --methods stacking,independent --folds 2");
    let reason = "error: every method failed; the warnings above give the reasons\n";
    assert!(run.err.ends_with(reason), "{}", run.err);
    assert_eq!(run.code, Some(1));
    assert!(run.out.contains("failed"), "{}", run.out);
    bench.refused(
        "compare table.csv",
        "table.csv: class `x` needs at least 2 items, one to fit and one to score; it has 1",
        "",
    );
    assert_eq!(bench.run("compare data.csv --methods stacking,auto").code, Some(0));
}

/// Where a class has a single item there is no standard error.
#[test]
fn scores_without_a_standard_error_have_none() {
    let bench = Bench::new();
    bench.good("simulate --preset sim1 --items-per-class 20 -o train.csv");
    bench.good("simulate --preset sim1 --items-per-class 1 -o single.csv");
    bench.good("fit train.csv -o model.json");
    let report = bench.good("evaluate model.json single.csv --class-prior uniform").out;
    assert!(!report.contains("NaN"), "{report}");
    assert!(report.contains("has no standard error: a class has a single item"), "{report}");
    for replicates in [1, 19] {
        bench.refused(
            &format!("evaluate model.json single.csv --bootstrap {replicates}"),
            &format!(
                "`bootstrap` must be 0 (no intervals) or from 20 to 1 000 000 replicates, got {replicates}"
            ),
            "",
        );
    }
}

#[test]
fn classes_without_items_or_outputs() {
    let bench = Bench::new();
    let rows = |y: &str| {
        format!("label,a_x,a_y,b_x,b_y\n{}{}", "x,0.7,0.3,0.6,0.4\n".repeat(3), y.repeat(3))
    };
    bench.write("empty.csv", rows("y,,,,\n"));
    bench.refused(
        "fit empty.csv --method stacking",
        "empty.csv: no training item of class `y` has an output of any classifier",
        "add items with this label; to leave the class out, remove it from `--classes` and \
         renormalise the other probabilities",
    );
    bench.good("fit empty.csv --method auto -o auto.json");
    bench.good("fuse auto.json empty.csv");
    bench.write("gone.csv", rows(""));
    for options in ["opinion-pool", "linear-pool --weights equal", "log-pool --weights 1,2"] {
        for table in ["empty.csv", "gone.csv"] {
            bench.good(&format!("fit {table} --method {options} --classes x,y -o pool.json"));
        }
        bench.good("evaluate pool.json gone.csv");
        bench.good("inspect pool.json");
    }
    let run = bench.good("fit gone.csv --method log-pool --weights simplex --classes x,y");
    assert!(run.err.starts_with("warning: no labelled item has the class `y`"), "{}", run.err);
}

#[test]
fn mistakes_in_model_files_are_named_with_the_file() {
    let bench = Bench::stocked();
    bench.good("fit table.csv --method independent --inference map -o fitted.json");
    let fitted = bench.text("fitted.json");
    for (from, to, problem) in [
        ("\"floor\": 1e-6", "\"floor\": -1", "not a usable model: `settings`: `floor` must be"),
        ("\"seed\": 0", "\"seed\": 0, \"seed\": 1", "not a usable model: `seed` is given twice"),
        (
            "\"alpha\": [",
            "\"alpha\": [], \"alpha\": [",
            "not a usable model: `alpha` is given twice",
        ),
    ] {
        let content = fitted.replacen(from, to, 1);
        assert_ne!(content, fitted, "{from}");
        bench.write("bad.json", content);
        for words in
            ["fuse bad.json table.csv", "inspect bad.json", "fit table.csv --update bad.json"]
        {
            let run = bench.run(words);
            assert_eq!(run.code, Some(1), "{words}");
            assert!(run.err.starts_with(&format!("error: bad.json: {problem}")), "{}", run.err);
        }
    }
    bench.write("bad.json", MODEL.replace("[3, 2]", "[-1e300, 2]"));
    bench.refused(
        "inspect bad.json",
        "bad.json: `alpha[0][0][0]` must be finite and > 0, got -1e300",
        "",
    );
    let pair = r#"{"between": ["b", "a"], "delta": [[0.5, 0.5], [0.5, 0.5]]}"#;
    let twice = format!(r#""pairs": [{pair}, {}]"#, pair.replace(r#"["b", "a"]"#, r#"["a", "b"]"#));
    let delta = format!(r#", "delta": {{{twice}}}, "structure": "tree"}}}}"#);
    let content = MODEL.replace("independent", "correlated").trim_end().replace("}}", &delta);
    for content in [content.clone(), content.replace("\"tree\"", "\"full\"")] {
        bench.write("bad.json", content);
        bench.refused(
            "inspect bad.json",
            "bad.json: not a usable model: `delta.pairs` gives the pair `a` and `b` twice",
            "",
        );
    }
}

/// A class prior that does not add up to 1 is normalised once; after that the file stays the same.
#[test]
fn models_stay_the_same_however_often_they_are_read_and_written() {
    let bench = Bench::stocked();
    bench.good("fit table.csv --method independent --inference map -o a.json");
    let odd =
        bench.text("a.json").replace("\"class_prior\": [0.5, 0.5]", "\"class_prior\": [2.5, 0.3]");
    bench.write("a.json", odd);
    let prior = |name: &str| {
        let model = json(&bench.good(&format!("inspect {name} --format json")));
        model["class_prior"].clone()
    };
    let text = bench.text("a.json");
    let once = prior("a.json");
    bench.write("b.json", text.replace("[2.5, 0.3]", &once.to_string()));
    assert_eq!(prior("b.json"), once);
}

/// Raw control characters of a file could move the cursor or colour the terminal.
#[test]
fn control_characters_of_files_are_not_printed() {
    let bench = Bench::stocked();
    bench.write("bad.csv", "label,a_x,a_y,b_x,b_y\n\u{1b}[31mred\u{7},0.7,0.3,0.6,0.4\n");
    let run = bench.run("evaluate model.json bad.csv");
    assert!(run.err.contains("`\\u{1b}[31mred\\u{7}`"), "{}", run.err);
    bench.write("odd.json", MODEL.replace("\"x\"", "\"x\\u001b[2J\""));
    let report = bench.good("inspect odd.json").out;
    assert!(report.contains("x\\u{1b}[2J") && !report.contains('\u{1b}'), "{report}");
    let report = bench.good("inspect odd.json --format json");
    assert_eq!(json(&report)["classes"][0], "x\u{1b}[2J");
    bench.write("odd.json", MODEL.replace("\"a\"", "\"\u{202e}a\u{2028}\u{200f}\""));
    let report = bench.good("inspect odd.json").out;
    assert!(
        report.contains("\\u{202e}a\\u{2028}\\u{200f}") && !report.contains('\u{202e}'),
        "{report}"
    );
}

/// Names that fall on the same file name, are too long for one, or no SVG may contain.
#[test]
fn plots_of_odd_names() {
    let bench = Bench::new();
    let long = "n".repeat(300);
    let names = ["a/b", "a?b", &long, "c\u{1b}<&>"];
    let header: Vec<String> =
        names.iter().flat_map(|name| [format!("{name}_x"), format!("{name}_y")]).collect();
    let rows = ["x,0.7,0.3,0.6,0.4,0.6,0.4,0.9,0.1\n", "y,0.2,0.8,0.4,0.6,0.7,0.3,0.2,0.8\n"];
    bench.write("table.csv", format!("label,{}\n{}", header.join(","), rows.concat().repeat(4)));
    let words = "compare table.csv --methods linear-pool --folds 2 --plots plots";
    bench.good(&format!("{words} --class-prior uniform --class-prior x=0.2,y=0.8"));
    let pictures: Vec<String> = std::fs::read_dir(bench.path("plots"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(
        pictures.iter().filter(|name| name.starts_with("pair-")).count(),
        12,
        "{pictures:?}"
    );
    assert!(bench.path("plots/x_0_2_y_0_8/log-loss.svg").exists());
    for (path, content) in bench.files() {
        if path.extension().is_some_and(|extension| extension == "svg") {
            let text = String::from_utf8(content).unwrap();
            assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{}", path.display());
        }
    }
}

/// `--threads` is capped silently; the environment variable may come from elsewhere.
#[test]
fn too_many_threads_are_not_started() {
    let bench = Bench::stocked();
    let processors = std::thread::available_parallelism().unwrap().get();
    let run: super::Run = bench
        .command("fuse model.json table.csv --quiet")
        .env("RAYON_NUM_THREADS", "100000")
        .output()
        .unwrap()
        .into();
    let used = 4 * processors;
    assert_eq!(
        run.err,
        format!("warning: `RAYON_NUM_THREADS` asks for 100000 threads; {used} are used\n")
    );
    assert_eq!(run.code, Some(0));
}

/// A table of sources `s0`, `s1`, ... and classes `c0`, `c1`, ..., each class twice.
fn wide_table(n_classes: usize, n_sources: usize) -> String {
    let columns = (0..n_sources).flat_map(|k| (0..n_classes).map(move |j| format!("s{k}_c{j}")));
    let mut text = format!("label,{}\n", columns.collect::<Vec<_>>().join(","));
    for item in 0..2 * n_classes {
        let (class, rest) = (item % n_classes, 0.5 / (n_classes - 1) as f64);
        let output: Vec<String> = (0..n_classes)
            .map(|j| if j == class { "0.5".into() } else { rest.to_string() })
            .collect();
        text += &format!("c{class},{}\n", vec![output.join(","); n_sources].join(","));
    }
    text
}

/// Such models would take gigabytes.
#[test]
fn models_that_would_be_too_large_are_refused_before_the_work() {
    let bench = Bench::new();
    bench.write("classes.csv", wide_table(200, 2));
    bench.write("sources.csv", wide_table(3, 60));
    bench.refused(
        "fit classes.csv --method logit-normal",
        "classes.csv: method `logit-normal` would need 32000000 numbers for 2 classifiers and 200 \
         classes, and the limit is 8000000: use `auto` or `stacking`",
        "",
    );
    bench.refused(
        "fit sources.csv --method normal-mixture",
        "sources.csv: method `normal-mixture` would need 15552000 numbers for 60 classifiers and 3 \
         classes, and the limit is 8000000: use fewer components, chains or draws, or another method",
        "",
    );
}
