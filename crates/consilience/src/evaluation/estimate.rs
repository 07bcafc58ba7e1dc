//! Means over items with their standard errors.

use serde::Serialize;

use super::scores::{Weighting, item_weights};
use crate::data::class_prior::ClassPrior;

/// A mean over items with its standard error.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Its standard error; NaN where a class has a single item.
    pub se: f64,
}

/// The weighted mean of a number an item. With the classes weighted, Σₜ pₜ meanₜ, whose variance is
/// Σₜ pₜ² varianceₜ / nₜ: how many items a class has is given, not drawn.
pub(super) fn estimate(
    values: &[f64],
    labels: &[usize],
    prior: &ClassPrior,
    weighting: Weighting,
) -> Estimate {
    let weights = item_weights(labels, prior, weighting);
    let group = |label: usize| if weighting == Weighting::Items { 0 } else { label };
    let n_groups = if weighting == Weighting::Items { 1 } else { weights.len() };
    let (mut counts, mut sums) = (vec![0.0; n_groups], vec![0.0; n_groups]);
    let mut total = 0.0;
    for (value, &label) in values.iter().zip(labels) {
        counts[group(label)] += 1.0;
        sums[group(label)] += value;
        total += weights[label];
    }
    let (mut mean, mut squares) = (0.0, vec![0.0; n_groups]);
    for (value, &label) in values.iter().zip(labels) {
        mean += weights[label] / total * value;
        squares[group(label)] += (value - sums[group(label)] / counts[group(label)]).powi(2);
    }
    let variance = (0..n_groups).filter(|&t| counts[t] > 0.0).map(|t| {
        let n = counts[t];
        (weights[t] * n / total).powi(2) * squares[t] / (n - 1.0) / n
    });
    Estimate { mean, se: variance.sum::<f64>().sqrt() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two classes of 3 and 2 items under a prior of (.25, .75), by hand.
    #[test]
    fn means_and_standard_errors_are_those_computed_by_hand() {
        let (values, labels) = ([1.0, 2.0, 3.0, 5.0, 7.0], [0, 0, 0, 1, 1]);
        let prior = ClassPrior::new(&[1.0, 3.0]).unwrap();
        let got = estimate(&values, &labels, &prior, Weighting::ClassPrior);
        // Means 2 and 6; variances 1 and 2.
        assert!((got.mean - (0.25 * 2.0 + 0.75 * 6.0)).abs() < 1e-12);
        let variance: f64 = 0.0625 * 1.0 / 3.0 + 0.5625 * 2.0 / 2.0;
        assert!((got.se - variance.sqrt()).abs() < 1e-12, "{got:?}");
        let got = estimate(&values, &labels, &prior, Weighting::Items);
        // Mean 3.6, squares 6.76 + 2.56 + .36 + 1.96 + 11.56 = 23.2.
        assert!((got.mean - 3.6).abs() < 1e-12);
        assert!((got.se - (23.2f64 / 4.0 / 5.0).sqrt()).abs() < 1e-12, "{got:?}");
    }
}
