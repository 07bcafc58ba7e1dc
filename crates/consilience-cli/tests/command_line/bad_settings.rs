//! Settings out of their range, and requests that a method cannot meet.

use super::Bench;

/// Three classes and two classifiers, with a fitted model and a fitted pool.
fn simulated() -> Bench {
    let bench = Bench::new();
    bench.good("simulate --preset sim1 --items-per-class 20 -o data.csv");
    bench.good("fit data.csv --method independent --inference map -o model.json");
    bench.good("fit data.csv --method log-pool -o pool.json");
    bench
}

#[test]
fn numbers_out_of_range() {
    let bench = simulated();
    for (words, message) in [
        (
            "fit data.csv --method independent --prior-items 0",
            "`prior_items` must be > 0 and at most 1e9, got 0",
        ),
        (
            "fit data.csv --method independent --prior-items -1",
            "`prior_items` must be > 0 and at most 1e9, got -1",
        ),
        (
            "fit data.csv --method independent --prior-items nan",
            "`prior_items` must be a number above 0, at most 1e9, got nan",
        ),
        (
            "fit data.csv --floor 0.5",
            "`floor` must be at least 0 and below 1 / number of classes, got 0.5",
        ),
        (
            "fuse model.json data.csv --floor -0.1",
            "`floor` must be at least 0 and below 1 / number of classes, got -0.1",
        ),
        ("fit data.csv --method independent --chains 0", "`chains` must be from 1 to 1000, got 0"),
        (
            "fit data.csv --method independent --draws 3",
            "`draws` must be from 4 to 1 000 000, got 3",
        ),
        (
            "fit data.csv --method independent --draws -1",
            "`draws` must be a whole number from 4 to 1 000 000, got -1",
        ),
        (
            "fit data.csv --method independent --keep-draws 100 --chains 1 --draws 10",
            "`kept draws` must be at most chains × draws, got 100",
        ),
        (
            "fit data.csv --method independent --keep-draws 5 --inference map",
            "`kept draws` must be 0 with `map`, which draws none, got 5",
        ),
        ("simulate --preset sim1 --correlation 2", "`correlation` must be between 0 and 1, got 2"),
        (
            "simulate --preset sim1 --correlation -0.5",
            "`correlation` must be between 0 and 1, got -0.5",
        ),
        (
            "simulate --preset sim1 --items-per-class 18446744073709551615",
            "18446744073709551615 items of each class are too many",
        ),
    ] {
        bench.refused(words, message, "");
    }
}

#[test]
fn class_priors() {
    let bench = simulated();
    let short = "class prior and classes do not match: expected 3 numbers (1, 2, 3), found 2";
    bench.refused("fit data.csv --class-prior 1,2", &format!("data.csv: {short}"), "");
    let zero = "`class_prior[2]` must be finite and > 0, got 0";
    bench.refused("fit data.csv --class-prior 1,2,0", zero, "");
    for command in ["fuse", "density", "evaluate"] {
        bench.refused(&format!("{command} model.json data.csv --class-prior 1,2"), short, "");
        bench.refused(&format!("{command} model.json data.csv --class-prior 1,2,0"), zero, "");
    }
    let by_hand = Bench::stocked();
    for command in ["fuse", "density", "evaluate"] {
        by_hand.refused(
            &format!("{command} model.json table.csv --class-prior empirical"),
            "`class prior` must be uniform or given (the model has no training counts of its \
             classes), got empirical",
            "",
        );
    }
}

#[test]
fn weights_and_classifiers() {
    let bench = simulated();
    for (options, message) in [
        (
            "--method log-pool --weights 1,2,3",
            "data.csv: weights and classifiers do not match: expected 2, found 3",
        ),
        (
            "--method log-pool --weights 1,x",
            "`weights` must be equal, simplex, greedy, non-negative, free or a list of numbers, got 1,x",
        ),
        (
            "--method linear-pool --weights -1,2",
            "`weights[0]` must be >= 0 in a linear pool, got -1",
        ),
        (
            "--method linear-pool --weights free",
            "`weights` must be equal, simplex, greedy or given for a linear pool, whose weights must \
             add up to 1, got free",
        ),
        (
            "--method meta:nobody",
            "data.csv: classifiers do not match: expected `nobody`, found `c1` and `c2`",
        ),
    ] {
        bench.refused(&format!("fit data.csv {options}"), message, "");
    }
}

#[test]
fn what_a_method_cannot_do() {
    let bench = simulated();
    for (words, message) in [
        (
            "fuse pool.json data.csv --predictive",
            "pool.json: method `log-pool` has no posterior predictive",
        ),
        (
            "density pool.json data.csv",
            "pool.json: method `log-pool` has no density: a pool does not model the classifiers",
        ),
        (
            "simulate --model pool.json",
            "pool.json: method `log-pool` cannot be simulated: a pool does not model the \
             classifiers",
        ),
        (
            "fit data.csv --update pool.json",
            "pool.json: method `log-pool` cannot be updated: it is learned from all items at \
             once, so fit it again on old and new items together",
        ),
    ] {
        bench.refused(words, message, "");
    }
    bench.refused(
        "fuse model.json data.csv --predictive",
        "model.json: the model has no posterior draws",
        "fit the model again with `--keep-draws`",
    );
    let by_hand = Bench::stocked();
    by_hand.refused(
        "fit table.csv --update model.json",
        "model.json: not a usable model: it has no `settings` or no `training`, so it cannot be \
         updated",
        "",
    );
}

#[test]
fn classes_other_than_the_model_s() {
    let bench = simulated();
    for classes in ["1,2", "3,2,1"] {
        for words in ["fuse model.json data.csv", "fit data.csv --update model.json"] {
            bench.refused(
                &format!("{words} --classes {classes}"),
                &format!("`--classes {classes}` differs from the model's classes 1,2,3"),
                "leave `--classes` out: the model determines the classes",
            );
        }
    }
}

#[test]
fn wrong_usage_ends_with_2_and_names_what_is_known() {
    let bench = simulated();
    for (words, message) in [
        ("", "Usage: consilience"),
        ("fly", "unrecognized subcommand 'fly'"),
        ("fit", "<DATA>"),
        (
            "fit data.csv --method what",
            "unknown method `what`; the methods are `auto`, `stacking`, `correlated`, `independent`, \
             `discounted`, `logit-normal`, `normal-mixture`, `bcc`, `opinion-pool`, `linear-pool`, \
             `log-pool` and `meta`",
        ),
        ("fit data.csv --class-prior some", "empirical, uniform, estimate, p1,p2,..."),
        ("fit data.csv --layout tall", "wide, long and (for votes) wide-labels"),
        ("fit data.csv --input-format xlsx", "csv, parquet, arrow and jsonl"),
        ("fit data.csv --values percent", "probabilities, log-probabilities, logits, odds"),
        ("fit data.csv --update model.json --method log-pool", "cannot be used with"),
        ("fit data.csv --threads 0", "must be a whole number from 1 to 1024"),
        ("fit data.csv --threads 100000", "must be a whole number from 1 to 1024"),
        ("simulate", "<--preset <NAME>|--model <MODEL>>"),
        ("simulate --preset sim9", "sim1, sim2 or sim3"),
        ("simulate --model model.json --correlation 0.1", "cannot be used with"),
        ("simulate --preset sim1 --model model.json", "cannot be used with"),
    ] {
        let run = bench.run(words);
        assert_eq!((run.code, run.out.as_str()), (Some(2), ""), "`{words}`: {}", run.err);
        assert!(run.err.contains(message), "`{words}`: {}", run.err);
    }
}

#[test]
fn a_manual_page_of_no_command() {
    let bench = Bench::new();
    bench.refused("man fly", "there is no command `fly`; see `consilience --help`", "");
}

#[test]
fn options_without_effect_cause_a_warning() {
    let bench = simulated();
    let warned = |options: &str| bench.good(&format!("fit data.csv {options} -q -o m.json")).err;
    assert_eq!(
        warned("--keep-draws 50 --method auto"),
        "warning: `--keep-draws` has no effect on `--method auto`; it is an option of \
         `correlated`, `independent`, `discounted`, `meta`\n"
    );
    assert_eq!(
        warned("--ridge cv --method meta:c1 --inference map"),
        "warning: `--ridge` has no effect on `--method meta:c1`; it is an option of `stacking`\n"
    );
    assert_eq!(warned("--method stacking --ridge 2"), "");
}
