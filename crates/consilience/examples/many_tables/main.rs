//! The tables of `experiments/many`: losses of all structures, recovery, copies, missing outputs, bookmakers and cost.
//!
//! `cargo run --release -p consilience --example many_tables -- <table>` prints one table as CSV.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program that prints tables")]

mod copies;
mod cost;
mod exchangeable;
mod fused_errors;
mod missing;
mod real;
mod recovery;
mod ties;

use std::sync::Arc;

use consilience::methods::correlated::Structure;
use consilience::methods::correlated::learning::{Correlated, CorrelatedInference};
use consilience::methods::independent::Alpha;
use consilience::methods::{Fusion, fuse};
use consilience::simulation::Truth;
use consilience::{ClassPrior, Outputs, Result, Schema};
use correlated_dirichlet::{CorrelatedDirichlet, SharedPair};

const TABLES: &str = "exchangeable, exchangeable-margins, ties, recovery, copies, missing, bookies, cost, fused-errors";

fn main() -> Result<()> {
    let text = |place: usize| std::env::args().nth(place).unwrap_or_default();
    let number = |place: usize, default: usize| text(place).parse().unwrap_or(default);
    match text(1).as_str() {
        "exchangeable" => {
            let margins = [(4, 12), (5, 8)].map(|(place, default)| number(place, default) as f64);
            exchangeable::run(number(2, 200), number(3, 0), margins)
        }
        "exchangeable-margins" => exchangeable::margins(number(2, 20_000)),
        "recovery" => recovery::run(number(2, 20), number(3, 0)),
        "copies" => copies::run(),
        "missing" => missing::run(number(2, 400)),
        "bookies" => real::run(number(2, 5)),
        "cost" => cost::run(),
        "fused-errors" => fused_errors::run(number(2, 40), number(3, 1) as u64, number(4, 0)),
        "ties" => ties::run(number(2, 20), number(3, 200)),
        other => {
            eprintln!("`{other}` is no table; those there are: {TABLES}");
            Ok(())
        }
    }
}

/// Names c1, c2, … and 1, 2, ….
fn schema(n_classifiers: usize, n_classes: usize) -> Result<Arc<Schema>> {
    let names: Vec<String> = (1..=n_classifiers).map(|k| format!("c{k}")).collect();
    let classes: Vec<String> = (1..=n_classes).map(|j| j.to_string()).collect();
    Ok(Arc::new(Schema::new(names, classes)?))
}

/// α of the true class and of the others in SIM 2.
const SIM2: [f64; 2] = [12.0, 8.0];

/// Classifiers with the margins of SIM 2 that share these parts of them.
fn truth(shape: (usize, usize), common: f64, pairs: &[((usize, usize), f64)]) -> Result<Truth> {
    truth_with(SIM2, shape, common, pairs)
}

/// The same with these α of the true class and of the others.
fn truth_with(
    [own, other]: [f64; 2],
    (n_classifiers, n_classes): (usize, usize),
    common: f64,
    pairs: &[((usize, usize), f64)],
) -> Result<Truth> {
    let class = |j: usize| {
        let alpha: Vec<f64> = (0..n_classes).map(|l| if l == j { own } else { other }).collect();
        let part = |share: f64| alpha.iter().map(|a| share * a).collect::<Vec<f64>>();
        let pair = |&((first, second), share): &((usize, usize), f64)| SharedPair {
            first,
            second,
            delta: part(share),
        };
        let pairs = pairs.iter().map(pair).collect();
        CorrelatedDirichlet::new(vec![alpha.clone(); n_classifiers], Some(part(common)), pairs)
    };
    let classes =
        (0..n_classes).map(class).collect::<Result<Vec<_>, correlated_dirichlet::Error>>()?;
    Truth::new(schema(n_classifiers, n_classes)?, classes)
}

/// The margins, `alpha[k][j]`.
fn alpha_of(truth: &Truth) -> Alpha {
    let margins = |k: usize| truth.classes().iter().map(|class| class.alpha()[k].clone()).collect();
    (0..truth.schema().n_classifiers()).map(margins).collect()
}

/// A fit at the posterior's mode.
fn quick(structure: Structure) -> Correlated {
    Correlated { structure, inference: CorrelatedInference::Map, ..Correlated::default() }
}

/// −ln of the true class's probability, item by item; uniform class prior.
fn losses(fusion: &dyn Fusion, outputs: &Outputs) -> Result<Vec<f64>> {
    let prior = ClassPrior::uniform(outputs.schema().n_classes());
    let fused = fuse(fusion, outputs, &prior)?;
    let labels = outputs.require_labels()?;
    Ok(labels.iter().enumerate().map(|(i, t)| -fused.probabilities(i)[*t].ln()).collect())
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The mean of a − b and its standard error.
fn paired(a: &[f64], b: &[f64]) -> (f64, f64) {
    let gaps: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    let (centre, n) = (mean(&gaps), gaps.len() as f64);
    let square: f64 = gaps.iter().map(|g| (g - centre).powi(2)).sum();
    (centre, (square / (n - 1.0) / n).sqrt())
}

/// Seconds of processor time that this process has used, all threads together; of the clock where the system does not
/// tell. Other programs do not count.
fn cpu_seconds() -> f64 {
    let ticks = || -> Option<f64> {
        let text = std::fs::read_to_string("/proc/self/stat").ok()?;
        let fields: Vec<&str> = text.rsplit(')').next()?.split_whitespace().collect();
        Some(fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?)
    };
    // the clock of /proc ticks a hundred times a second
    ticks().map_or_else(|| START.elapsed().as_secs_f64(), |ticks| ticks / 100.0)
}

static START: std::sync::LazyLock<std::time::Instant> =
    std::sync::LazyLock::new(std::time::Instant::now);
