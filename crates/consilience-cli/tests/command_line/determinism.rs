//! The same bits at any number of threads, from every table format, and from a model that was written
//! and read.

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
