//! Log-loss on the six real sets of the paper, with ten folds, a uniform class prior and equal class
//! weights, against independent implementations.
//!
//! The files are read from the folder in `CONSILIENCE_DATA`, or else from `../shared/data` beside the
//! workspace. Tests without their file print a message and pass.
#![allow(clippy::print_stderr)] // prints measurements

mod auto;
mod baselines;
mod correlated;
mod robust;
mod stacking;

use std::path::PathBuf;

use consilience::evaluation::{Predictions, Weighting, score};
use consilience::methods::{Fusion, fuse};
use consilience::{ClassPrior, InputFormat, Outputs, OutputsBuilder, Schema};

/// One of the sets; `None`, with a message, if its file does not exist.
fn real_set(name: &str) -> Option<Outputs> {
    let folder = std::env::var_os("CONSILIENCE_DATA").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    let Ok(text) = std::fs::read_to_string(folder.join(format!("{name}.csv"))) else {
        eprintln!("skipped: {name}.csv was not found; set CONSILIENCE_DATA to its folder");
        return None;
    };
    Some(parse(&text))
}

/// Reads a table with the column `label` and the columns `<classifier>_<class>`, ordered by
/// classifier.
fn parse(text: &str) -> Outputs {
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let header = lines.next().expect("a header");
    let columns: Vec<(&str, &str)> =
        header[1..].iter().map(|name| name.rsplit_once('_').expect("classifier_class")).collect();
    let mut classifiers: Vec<&str> = columns.iter().map(|column| column.0).collect();
    classifiers.dedup();
    let n_classes = columns.len() / classifiers.len();
    let classes = columns[..n_classes].iter().map(|column| column.1);
    let schema = Schema::new(classifiers.clone(), classes).expect("names");
    let mut builder = OutputsBuilder::new(schema, InputFormat::default()).expect("a floor");
    for cells in lines {
        let values: Vec<f64> =
            cells[1..].iter().map(|cell| cell.parse().expect("a number")).collect();
        builder.push(&values, Some(cells[0])).expect("probabilities");
    }
    builder.finish()
}

/// The names of the sets.
const SETS: [&str; 6] = ["bookies_a", "bookies_b", "bookies_c", "dna_a", "dna_b", "dna_c"];

/// Predictions for every item from a fit to the other nine folds, under a uniform class prior.
fn out_of_fold<F: Fusion>(outputs: &Outputs, fit: impl Fn(&Outputs) -> F) -> Predictions {
    out_of_fold_under(&ClassPrior::uniform(outputs.schema().n_classes()), outputs, fit)
}

/// Predictions for every item from a fit to the other nine folds, under the given class prior.
fn out_of_fold_under<F: Fusion>(
    prior: &ClassPrior,
    outputs: &Outputs,
    fit: impl Fn(&Outputs) -> F,
) -> Predictions {
    let (n, n_classes) = (outputs.n_items(), outputs.schema().n_classes());
    let mut probabilities = vec![0.0; n * n_classes];
    let mut seen = vec![0; n_classes];
    // The i-th item of its class is in fold i mod 10.
    let folds: Vec<usize> = (0..n)
        .map(|item| {
            let label = outputs.label(item).expect("a label");
            seen[label] += 1;
            seen[label] % 10
        })
        .collect();
    for fold in 0..10 {
        let (inside, outside): (Vec<usize>, Vec<usize>) = (0..n).partition(|&i| folds[i] == fold);
        let fusion = fit(&outputs.select_items(&outside));
        let fused = fuse(&fusion, &outputs.select_items(&inside), prior).expect("fused");
        for (i, &item) in inside.iter().enumerate() {
            probabilities[item * n_classes..][..n_classes].copy_from_slice(fused.probabilities(i));
        }
    }
    Predictions { name: "fused".into(), probabilities }
}

/// The log-loss with equal class weights.
fn loss(outputs: &Outputs, predictions: &Predictions) -> f64 {
    loss_under(&ClassPrior::uniform(outputs.schema().n_classes()), outputs, predictions)
}

/// The log-loss with classes weighted by the class prior.
fn loss_under(prior: &ClassPrior, outputs: &Outputs, predictions: &Predictions) -> f64 {
    let labels = outputs.require_labels().expect("labels");
    score(predictions, &labels, prior, Weighting::ClassPrior).expect("scores")[0].log_loss
}

/// Compares the log-loss on several sets with the expected values, and reports all that differ.
fn compare<F: Fusion>(expected: &[(&str, f64)], within: f64, fit: impl Fn(&Outputs) -> F + Copy) {
    let mut wrong = Vec::new();
    for &(name, want) in expected {
        let Some(outputs) = real_set(name) else { return };
        let got = loss(&outputs, &out_of_fold(&outputs, fit));
        eprintln!("{name:10} {got:.4} (expected {want:.4})");
        if (got - want).abs() > within {
            wrong.push(format!("{name}: {got:.4} instead of {want:.4}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}
