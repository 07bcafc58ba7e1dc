//! The same bits at any number of threads, from every table format, and from a model that was written
//! and read; the same numbers up to rounding with and without vector instructions.

use super::Bench;

/// Every method, with options that make it quick.
const METHODS: [&str; 14] = [
    "auto",
    "stacking",
    "correlated --inference map",
    "correlated --chains 2 --draws 20 --warmup 20",
    "independent --inference map",
    "independent --chains 2 --draws 20 --warmup 20",
    "discounted --inference map",
    "logit-normal",
    "normal-mixture --chains 2 --warmup 5 --draws 2 --components 3",
    "bcc",
    "opinion-pool",
    "linear-pool",
    "log-pool",
    "meta:c1 --inference map",
];

/// Every method of votes.
const VOTE_METHODS: [&str; 9] = [
    "auto",
    "auto --rho 0.3",
    "ibcc",
    "ibcc --inference gibbs --chains 3 --draws 20 --warmup 5",
    "ebcc --subtypes 2 --restarts 3",
    "ueda",
    "dbcc",
    "dawid-skene",
    "majority",
];

const FORMATS: [&str; 4] = ["csv", "jsonl", "parquet", "arrow"];

#[test]
fn results_do_not_depend_on_threads_formats_and_files() {
    let bench = Bench::new();
    for format in FORMATS {
        bench.good(&format!("simulate --preset sim2 --items-per-class 12 -o table.{format}"));
    }
    for method in METHODS {
        let fit = |table: &str, threads: usize| {
            let words = format!("fit {table} --method {method} --quiet --threads {threads}");
            bench.good(&format!("{words} -o model.json"));
            bench.text("model.json")
        };
        let model = fit("table.csv", 1);
        assert_eq!(fit("table.csv", 2), model, "{method}: threads of the fit");
        assert_eq!(fit("table.parquet", 1), model, "{method}: format of the training table");
        let fuse = |table: &str, threads: usize| {
            let words = format!("fuse model.json {table} --quiet --threads {threads}");
            bench.good(&format!("{words} -o fused.csv"));
            bench.text("fused.csv")
        };
        let fused = fuse("table.csv", 1);
        assert!(fused.lines().count() == 37 && fused.contains("fused_3"), "{fused}");
        assert_eq!(fuse("table.csv", 2), fused, "{method}: threads");
        for format in FORMATS {
            assert_eq!(fuse(&format!("table.{format}"), 2), fused, "{method}: {format}");
        }
    }
}

/// Commands that read a table; `TABLE` stands for it.
#[test]
fn reports_do_not_depend_on_threads_and_formats() {
    let bench = Bench::new();
    for format in FORMATS {
        bench.good(&format!(
            "simulate --preset sim2 --correlation 0.3 --items-per-class 20 -o table.{format}"
        ));
    }
    bench.good("fit table.csv -o model.json");
    bench.good("fit table.csv --method correlated --draws 40 -o correlated.json");
    for words in [
        "prevalence model.json TABLE",
        "prevalence correlated.json TABLE --format json --target items",
        "advise model.json TABLE --format json",
        "report model.json TABLE --title T",
        "report correlated.json TABLE --title T --format json",
        "evaluate model.json TABLE --format json",
        "density correlated.json TABLE -o -",
    ] {
        let run = |format: &str, threads: usize| {
            // A report names its data.
            bench.write("data", bench.read(&format!("table.{format}")));
            let words = words.replace("TABLE", &format!("data --input-format {format}"));
            bench.good(&format!("{words} --quiet --threads {threads}")).out
        };
        let one = run("csv", 1);
        for (format, threads) in [("csv", 3), ("jsonl", 2), ("parquet", 1), ("arrow", 8)] {
            assert!(run(format, threads) == one, "{words}: {format}, {threads} threads");
        }
    }
    for words in ["export model.json -o -", "export model.json --python -o -"] {
        let run = |threads: usize| bench.good(&format!("{words} -q --threads {threads}")).out;
        assert!(run(1) == run(8), "{words}");
    }
}

/// Votes in a format other than CSV: `fuse` keeps the columns of its table.
fn convert_votes(bench: &Bench, format: &str) {
    bench.write(
        "one.json",
        r#"{"format": "consilience", "version": 1, "method": "independent", "classifiers": ["a"],
            "classes": ["x", "y"], "class_prior": [0.5, 0.5], "parameters": {"alpha": [[[3, 2], [2, 3]]]}}"#,
    );
    let mut lines = bench.text("votes.csv");
    lines = lines.replacen('\n', ",a_x,a_y\n", 1);
    let (header, rows) = lines.split_once('\n').unwrap();
    bench.write("wider.csv", format!("{header}\n{}", rows.replace('\n', ",0.5,0.5\n")));
    bench.good(&format!("fuse one.json wider.csv -o votes.{format}"));
}

#[test]
fn votes_do_not_depend_on_threads_formats_and_files() {
    let bench = Bench::new();
    bench.write("votes.csv", super::votes::votes());
    bench.write("gold.csv", super::votes::gold(0..12));
    for format in &FORMATS[1..] {
        convert_votes(&bench, format);
    }
    for method in VOTE_METHODS {
        let aggregate = |format: &str, threads: usize| {
            let words = format!("aggregate votes.{format} --gold gold.csv --method {method}");
            let files = "-o labels.csv --sources sources.csv --model model.json --format json";
            let out = bench.good(&format!("{words} {files} --threads {threads}")).out;
            [out, bench.text("labels.csv"), bench.text("sources.csv"), bench.text("model.json")]
        };
        let one = aggregate("csv", 1);
        for (format, threads) in [("csv", 3), ("jsonl", 2), ("parquet", 1), ("arrow", 8)] {
            assert!(aggregate(format, threads) == one, "{method}: {format}, {threads} threads");
        }
        let fuse = |format: &str, threads: usize| {
            let words = format!("fuse model.json votes.{format} -o - -q --threads {threads}");
            bench.good(&words).out
        };
        let fused = fuse("csv", 1);
        assert_eq!(fused.lines().count(), 41);
        for (format, threads) in [("csv", 3), ("jsonl", 2), ("parquet", 1), ("arrow", 8)] {
            assert_eq!(fuse(format, threads), fused, "{method}: fuse, {format}");
        }
        let report = |threads: usize| {
            let words = format!("report model.json votes.csv --title T -q --threads {threads}");
            bench.good(&words).out
        };
        // `report` fits the method anew, without gold labels, which `dbcc` needs.
        assert!(method == "dbcc" || report(1) == report(3), "{method}: report");
    }
}

/// Largest difference of fused probabilities with and without vector instructions, if the model is the same.
const ROUNDING: f64 = 1e-13;
/// The same if the model is fitted anew: a mode search that stops at 1e-8 may take another step.
const REFITTED: f64 = 1e-7;

/// The numbers of the columns `fused_...`.
fn fused_numbers(table: &str) -> Vec<f64> {
    let mut lines = table.lines();
    let header: Vec<&str> = lines.next().unwrap().split(',').collect();
    let columns = (0..header.len()).filter(|&i| header[i].starts_with("fused_"));
    let columns: Vec<usize> = columns.collect();
    let numbers = lines.flat_map(|line| {
        let cells: Vec<&str> = line.split(',').collect();
        columns.iter().map(|&i| cells[i].parse().unwrap()).collect::<Vec<f64>>()
    });
    numbers.collect()
}

fn largest_difference(a: &[f64], b: &[f64]) -> f64 {
    assert!(a.len() == b.len() && a.len() > 100);
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// Fits and fuses with vectors of a limited width.
struct Narrow<'a> {
    bench: &'a Bench,
    vectors: &'a str,
}

impl Narrow<'_> {
    fn run(&self, words: &str) {
        let run =
            self.bench.command(words).env("CONSILIENCE_VECTORS", self.vectors).output().unwrap();
        assert!(run.status.success(), "{words}: {run:?}");
    }

    fn fuse(&self, model: &str) -> Vec<f64> {
        self.run(&format!("fuse {model} table.csv -q -o fused.csv"));
        fused_numbers(&self.bench.text("fused.csv"))
    }
}

#[test]
fn vector_instructions_change_nothing_but_rounding() {
    let bench = Bench::new();
    bench.good("simulate --preset sim2 --items-per-class 20 -o table.csv");
    let wide = Narrow { bench: &bench, vectors: "all" };
    for method in METHODS {
        wide.run(&format!("fit table.csv --method {method} -q -o model.json"));
        let expected = wide.fuse("model.json");
        for vectors in ["none", "256"] {
            let narrow = Narrow { bench: &bench, vectors };
            let same = largest_difference(&narrow.fuse("model.json"), &expected);
            assert!(same < ROUNDING, "{method}, vectors {vectors}: {same}");
            narrow.run(&format!("fit table.csv --method {method} -q -o narrow.json"));
            let anew = largest_difference(&narrow.fuse("narrow.json"), &expected);
            assert!(anew < REFITTED, "{method} fitted anew, vectors {vectors}: {anew}");
        }
    }
}
