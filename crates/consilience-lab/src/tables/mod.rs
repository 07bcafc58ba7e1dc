//! The tables of `experiments/many` (three and more classifiers), `experiments/insight` (intervals)
//! and `experiments/votes` (simulated votes).

#![allow(clippy::print_stdout, reason = "tables go to standard output")]

mod bookies;
mod copies;
mod cost;
mod exchangeable;
mod fused_errors;
mod insight;
mod missing;
mod prevalence;
mod recovery;
mod ties;
mod votes;

use std::sync::Arc;

use clap::{Args, ValueEnum};
use consilience::methods::correlated::Structure;
use consilience::methods::correlated::learning::{Correlated, CorrelatedInference};
use consilience::methods::independent::Alpha;
use consilience::methods::{Fusion, fuse};
use consilience::simulation::Truth;
use consilience::{ClassPrior, Outputs, Result, Schema};
use correlated_dirichlet::{CorrelatedDirichlet, SharedPair};

use crate::Failure;

/// Which table to compute.
#[derive(Debug, Args)]
pub struct Options {
    /// The table.
    #[arg(value_enum)]
    table: Table,
    /// Use few items and replications, to see that the computation runs.
    #[arg(long)]
    quick: bool,
}

/// A table of `experiments/many`, `experiments/insight` or `experiments/votes`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Table {
    /// Exchangeable classifiers with known parameters: log-loss of every structure minus the exact one.
    Exchangeable,
    /// The independent model's log-loss minus that of `discounted`, for several margins.
    ExchangeableMargins,
    /// Trees by nearly equal gains against the maximum spanning tree.
    Ties,
    /// Coverage of the intervals of δ of all pairs.
    Recovery,
    /// Ten copies of one classifier, and 25 classifiers.
    Copies,
    /// Outputs that are missing at random.
    Missing,
    /// Bookies C with the paper's protocol (needs the data set).
    Bookies,
    /// Processor time against the numbers of classifiers, classes and items.
    Cost,
    /// Reported errors of fused probabilities against longer runs.
    FusedErrors,
    /// Coverage of the intervals of shares, influence, effective number and correlations.
    Insight,
    /// Coverage of the intervals of class shares.
    Prevalence,
    /// Simulated votes: recovery of sources, coverage of their intervals, scores of methods.
    VotePanels,
    /// Simulated votes of dense panels: log-loss against the number of gold labels.
    VoteGold,
}

/// Prints one table as CSV on standard output.
pub fn run(options: &Options) -> Result<(), Failure> {
    let size = |full: usize, quick: usize| if options.quick { quick } else { full };
    match options.table {
        Table::Exchangeable => exchangeable::run(|items| size(items, 10))?,
        Table::ExchangeableMargins => exchangeable::margins(size(20_000, 200))?,
        Table::Ties => ties::run(&[(size(12, 1), size(200, 40)), (size(20, 1), 40)])?,
        Table::Recovery => recovery::run(size(20, 1), size(500, 30))?,
        Table::Copies => copies::run(size(25, 4))?,
        Table::Missing => missing::run(size(100, 5), size(300, 30))?,
        Table::Bookies => bookies::run(size(5, 1), options.quick)?,
        Table::Cost => cost::run(options.quick)?,
        Table::Prevalence => prevalence::run(size(1000, 4))?,
        Table::Insight => insight::run(size(1000, 4))?,
        Table::VotePanels => votes::panels(size(20, 1) as u64)?,
        Table::VoteGold => votes::gold(size(20, 1) as u64)?,
        Table::FusedErrors => fused_errors::run(size(40, 2), 4711, 4)?,
    }
    Ok(())
}

/// Classifiers c1, c2, … and classes 1, 2, ….
fn schema(n_classifiers: usize, n_classes: usize) -> Result<Arc<Schema>> {
    let names: Vec<String> = (1..=n_classifiers).map(|k| format!("c{k}")).collect();
    let classes: Vec<String> = (1..=n_classes).map(|j| j.to_string()).collect();
    Ok(Arc::new(Schema::new(names, classes)?))
}

/// α of the true class and of the others in SIM 2.
const SIM2: [f64; 2] = [12.0, 8.0];

/// Classifiers with the margins of SIM 2; `common` and `pairs` are the shared fractions of them.
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

/// Seconds of processor time that this process has used, over all threads; wall-clock time without `/proc`.
fn cpu_seconds() -> f64 {
    let ticks = || -> Option<f64> {
        let text = std::fs::read_to_string("/proc/self/stat").ok()?;
        let fields: Vec<&str> = text.rsplit(')').next()?.split_whitespace().collect();
        Some(fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?)
    };
    // /proc counts in hundredths of a second
    ticks().map_or_else(|| START.elapsed().as_secs_f64(), |ticks| ticks / 100.0)
}

static START: std::sync::LazyLock<std::time::Instant> =
    std::sync::LazyLock::new(std::time::Instant::now);
