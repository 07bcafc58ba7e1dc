//! The correlated fit on the paper's real sets.
//!
//! The files are read from the folder in `CONSILIENCE_DATA`, or else from `../shared/data` beside the
//! workspace. Tests without their file print a message and pass.
//!
//! `cargo test --release -p consilience --test real_data -- --ignored --nocapture`

#![allow(clippy::print_stdout)] // prints tables

use std::sync::Arc;

use consilience::methods::correlated::CorrelatedFusion;
use consilience::methods::correlated::learning::{
    Correlated, CorrelatedInference, DeltaPrior, FittedPair,
};
use consilience::methods::fuse;
use consilience::methods::independent::AlphaPrior;
use consilience::{ClassPrior, InputFormat, NoProgress, Outputs, OutputsBuilder, Schema};
use correlated_dirichlet::{CorrelatedDirichlet, Dirichlet};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;

/// The text of a file; `None`, with a message, if it does not exist.
fn table(name: &str) -> Option<String> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data").to_string();
    let folder = std::env::var("CONSILIENCE_DATA").unwrap_or(beside);
    let text = std::fs::read_to_string(format!("{folder}/{name}.csv")).ok();
    if text.is_none() {
        println!("skipped: {name}.csv was not found; set CONSILIENCE_DATA to its folder");
    }
    text
}

/// A label and the outputs of both sources.
type LabelledOutputs = (String, Vec<f64>);

/// The names of the classes, and all rows of a wide table with two sources and the label first.
fn parse(text: &str) -> (Vec<String>, Vec<LabelledOutputs>) {
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap().split(',').collect();
    let classes = header[1..4].iter().map(|c| c.rsplit('_').next().unwrap().to_string()).collect();
    let row = |line: &str| {
        let (label, values) = line.split_once(',').unwrap();
        (label.to_string(), values.split(',').map(|v| v.parse().unwrap()).collect())
    };
    (classes, lines.map(row).collect())
}

fn outputs<'a>(classes: &[String], rows: impl Iterator<Item = &'a LabelledOutputs>) -> Outputs {
    let schema = Arc::new(Schema::new(["c1", "c2"], classes.iter().cloned()).unwrap());
    let mut builder = OutputsBuilder::new(schema, InputFormat::default()).unwrap();
    rows.for_each(|(label, values)| builder.push(values, Some(label)).unwrap());
    builder.finish()
}

/// The largest relative difference between fitted and published parameters, in per cent.
fn compare(printed: &str, set: &str, fitted: &FittedPair) -> f64 {
    let mut largest = 0.0f64;
    for line in printed.lines().filter(|line| line.starts_with(&format!("{set},"))) {
        let cells: Vec<&str> = line.split(',').collect();
        let [class, component] = [1, 3].map(|i| cells[i].parse::<usize>().unwrap() - 1);
        let value: f64 = cells[5].parse().unwrap();
        let ours = match cells[2].parse::<usize>() {
            Ok(classifier) => fitted.alpha[classifier - 1][class][component],
            Err(_) => fitted.delta[class][component],
        };
        let difference = 100.0 * (ours / value - 1.0);
        largest = largest.max(difference.abs());
        let (class, component) = (class + 1, component + 1);
        println!(
            "{} {} class {class} component {component}: {ours:.3}, published {value}, {difference:+.1} %",
            cells[4], cells[2]
        );
    }
    largest
}

fn describe(fitted: &FittedPair) {
    let report = fitted.delta_posterior.as_ref().unwrap();
    println!(
        "R-hat {:.3}, ESS {:.0} and {:.0}; log density off by {:.3}, corrected {:?}, likelihood {:.3}",
        report.worst.r_hat,
        report.worst.ess_bulk,
        report.worst.ess_tail,
        report.surrogate_error,
        report.correction,
        report.likelihood_error
    );
    fitted.warnings.iter().for_each(|warning| println!("{warning}"));
}

/// Uses the posterior mode: with 5317 items it is within a posterior standard deviation of the mean.
#[test]
#[ignore = "slow: make validate"]
fn parameters_of_bookies_a_agree_with_the_published_ones() {
    let (Some(text), Some(printed)) = (table("bookies_a"), table("paper_parameters")) else {
        return;
    };
    let (classes, rows) = parse(&text);
    let outputs = outputs(&classes, rows.iter());
    let ours = Correlated { inference: CorrelatedInference::Map, ..Default::default() };
    let paper = Correlated {
        alpha_prior: AlphaPrior::Paper,
        delta_prior: DeltaPrior::Paper,
        ..ours.clone()
    };
    for (name, config) in [("the paper's priors", paper), ("ours", ours)] {
        println!("Bookies A, {name}");
        let fitted = config.fit_pair(&outputs, &NoProgress).unwrap();
        let largest = compare(&printed, "bookies_a", &fitted);
        fitted.warnings.iter().for_each(|warning| println!("{warning}"));
        assert!(largest < 15.0, "{largest}");
    }
}

/// Mean −ln of the true class's probability: fused, and of both meta classifiers.
fn losses(fitted: &FittedPair, test: &Outputs) -> [f64; 3] {
    let n_classes = test.schema().n_classes();
    let class = |j: usize| {
        let alpha = vec![fitted.alpha[0][j].clone(), fitted.alpha[1][j].clone()];
        CorrelatedDirichlet::new(alpha, Some(fitted.delta[j].clone()), vec![]).unwrap()
    };
    let classes: Vec<CorrelatedDirichlet> = (0..n_classes).map(class).collect();
    let model = CorrelatedFusion::new(Arc::clone(test.schema()), &classes, 0.03).unwrap();
    let fused = fuse(&model, test, &ClassPrior::uniform(n_classes)).unwrap();
    let meta = |item: usize, k: usize| {
        let x = test.output(item, k).unwrap();
        let density = |row: &Vec<f64>| Dirichlet::new(row).unwrap().ln_pdf(x).exp();
        let all: Vec<f64> = fitted.alpha[k].iter().map(density).collect();
        all[test.label(item).unwrap()] / all.iter().sum::<f64>()
    };
    let mut losses = [0.0; 3];
    for item in 0..test.n_items() {
        let label = test.label(item).unwrap();
        losses[0] -= fused.probabilities(item)[label].ln();
        losses[1] -= meta(item, 0).ln();
        losses[2] -= meta(item, 1).ln();
    }
    losses.map(|loss| loss / test.n_items() as f64)
}

/// The paper's protocol: 20 test items per class, all others for training, uniform class prior.
#[test]
#[ignore = "slow: make validate"]
fn fusing_tied_outputs_of_nearest_neighbours_loses_nothing() {
    let Some(text) = table("dna_a") else { return };
    let (classes, rows) = parse(&text);
    let splits = std::env::var("SPLITS").ok().and_then(|n| n.parse().ok()).unwrap_or(20);
    let mut differences = Vec::new();
    for seed in 0..splits {
        let mut order: Vec<usize> = (0..rows.len()).collect();
        order.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
        let mut chosen = vec![false; rows.len()];
        for class in &classes {
            let own = order.iter().filter(|i| rows[**i].0 == *class).take(20);
            own.for_each(|i| chosen[*i] = true);
        }
        let part = |test: bool| {
            let picked = (0..rows.len()).filter(|i| chosen[*i] == test).map(|i| &rows[i]);
            outputs(&classes, picked)
        };
        let fitted = Correlated::default().fit_pair(&part(false), &NoProgress).unwrap();
        assert!(fitted.delta.iter().flatten().all(|delta| delta.is_finite()));
        let [fused, first, second] = losses(&fitted, &part(true));
        println!("split {seed}: fused {fused:.4}, meta {first:.4} and {second:.4}");
        describe(&fitted);
        let report = fitted.delta_posterior.unwrap();
        assert!(report.worst.r_hat < 1.01, "{report:?}");
        differences.push([fused, first, second]);
    }
    let n = differences.len() as f64;
    let mean = [0, 1, 2].map(|i| differences.iter().map(|d| d[i]).sum::<f64>() / n);
    let better = if mean[1] < mean[2] { 1 } else { 2 };
    let gaps: Vec<f64> = differences.iter().map(|d| d[0] - d[better]).collect();
    let gap = gaps.iter().sum::<f64>() / n;
    let error = (gaps.iter().map(|g| (g - gap).powi(2)).sum::<f64>() / (n - 1.0) / n).sqrt();
    println!("mean: {mean:.4?}; fused − the better meta classifier {gap:+.4} (s.e. {error:.4})");
    assert!(gap < 0.01, "{gap}");
}
