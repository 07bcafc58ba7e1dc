//! Evidence that is linear in the logarithms of the outputs: what Dirichlets come down to.

use super::block::{Block, Logs};
use crate::outputs::Items;

/// cₖⱼ + Σₗ Cₖⱼₗ ln xᵏₗ for every class j, summed over the classifiers k that are present.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LogLinear {
    n_classifiers: usize,
    n_classes: usize,
    /// cₖⱼ at k·J + j.
    constants: Vec<f64>,
    /// Cₖⱼₗ at (k·J + j)·J + l.
    coefficients: Vec<f64>,
    /// The largest |Cₖⱼₗ| over j, at k·J + l: bounds the terms for the error estimate.
    bounds: Vec<f64>,
    /// Σₖ maxⱼ |cₖⱼ|.
    constant_bound: f64,
}

impl LogLinear {
    pub(super) fn new(n_classes: usize, constants: Vec<f64>, coefficients: Vec<f64>) -> Self {
        let n_classifiers = constants.len() / n_classes;
        let largest = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, |a, b| b.abs().max(a));
        let bounds = (0..n_classifiers * n_classes)
            .map(|column| {
                let (k, l) = (column / n_classes, column % n_classes);
                let row = |j: usize| coefficients[(k * n_classes + j) * n_classes + l];
                largest(&mut (0..n_classes).map(row))
            })
            .collect();
        let constant_bound =
            constants.chunks(n_classes).map(|row| largest(&mut row.iter().copied())).sum();
        Self { n_classifiers, n_classes, constants, coefficients, bounds, constant_bound }
    }

    /// Adds the evidence of all items to the block; the logarithms must have been loaded.
    pub(super) fn add_to(&self, block: &mut Block) {
        let (values, errors, logs) = block.with_logs();
        pulp::Arch::new().dispatch(|| {
            self.add_evidence(values, logs);
            self.add_errors(errors, logs);
        });
    }

    #[inline(always)]
    #[allow(clippy::inline_always)] // runs inside the vector dispatch
    fn add_evidence(&self, values: &mut [f64], logs: Logs<'_>) {
        let n = values.len() / self.n_classes;
        for (j, values) in values.chunks_exact_mut(n).enumerate() {
            for k in 0..self.n_classifiers {
                let constant = self.constants[k * self.n_classes + j];
                match logs.presence(k) {
                    None => values.iter_mut().for_each(|value| *value += constant),
                    Some(presence) => {
                        values.iter_mut().zip(presence).for_each(|(value, p)| *value += constant * p);
                    }
                }
                for l in 0..self.n_classes {
                    let coefficient = self.coefficients[(k * self.n_classes + j) * self.n_classes + l];
                    if coefficient == 0.0 {
                        continue; // 0 · ln 0 is no evidence, and pools have mostly zeros
                    }
                    let logs = logs.column(k * self.n_classes + l);
                    values.iter_mut().zip(logs).for_each(|(value, log)| *value += coefficient * log);
                }
            }
        }
    }

    /// Rounding: a few units in the last place of the sum of all absolute terms.
    #[inline(always)]
    #[allow(clippy::inline_always)] // runs inside the vector dispatch
    fn add_errors(&self, errors: &mut [f64], logs: Logs<'_>) {
        let unit = f64::EPSILON * (2.0 + (self.bounds.len() as f64).sqrt());
        errors.iter_mut().for_each(|error| *error += unit * self.constant_bound);
        for (column, bound) in self.bounds.iter().enumerate() {
            let (bound, logs) = (unit * bound, logs.column(column));
            errors.iter_mut().zip(logs).for_each(|(error, log)| *error -= bound * log);
        }
    }
}

/// Loads the logarithms of `items` and adds the evidence.
pub(super) fn add_evidence(evidence: &LogLinear, items: &Items<'_>, block: &mut Block) {
    block.load_logs(items);
    evidence.add_to(block);
}
