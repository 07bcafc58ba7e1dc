//! Means over items with their standard errors.

use std::fmt;

use serde::Serialize;

use super::scores::{Weighting, item_weights};
use crate::data::class_prior::ClassPrior;

/// A mean over items or splits, with its standard error.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SampleMean {
    /// The mean.
    pub mean: f64,
    /// Its standard error; NaN where a class has a single item.
    pub se: f64,
}

impl SampleMean {
    /// The mean of independent values of the same weight.
    pub(crate) fn of(values: impl Iterator<Item = f64>) -> Self {
        let values: Vec<f64> = values.collect();
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Self { mean, se: (squares / (n - 1.0) / n).sqrt() }
    }
}

impl fmt::Display for SampleMean {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.se.is_nan() {
            return write!(f, "{:.4}", self.mean);
        }
        write!(f, "{:.4} ± {:.4}", self.mean, self.se)
    }
}

/// The weighted mean of one number per item of these true classes, with its standard error.
///
/// With weighted classes it is Σₜ pₜ meanₜ, with variance Σₜ pₜ² varianceₜ / nₜ: the number of items
/// per class is taken as fixed, not as random.
pub fn weighted_mean(
    values: &[f64],
    labels: &[usize],
    prior: &ClassPrior,
    weighting: Weighting,
) -> SampleMean {
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
    SampleMean { mean, se: variance.sum::<f64>().sqrt() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two classes with 3 and 2 items under the class prior (0.25, 0.75), computed by hand.
    #[test]
    fn means_and_standard_errors_equal_those_computed_by_hand() {
        let (values, labels) = ([1.0, 2.0, 3.0, 5.0, 7.0], [0, 0, 0, 1, 1]);
        let prior = ClassPrior::new(&[1.0, 3.0]).unwrap();
        let got = weighted_mean(&values, &labels, &prior, Weighting::ClassPrior);
        // Means 2 and 6; variances 1 and 2.
        assert!((got.mean - (0.25 * 2.0 + 0.75 * 6.0)).abs() < 1e-12);
        let variance: f64 = 0.0625 * 1.0 / 3.0 + 0.5625 * 2.0 / 2.0;
        assert!((got.se - variance.sqrt()).abs() < 1e-12, "{got:?}");
        let got = weighted_mean(&values, &labels, &prior, Weighting::Items);
        // Mean 3.6; sum of squares 6.76 + 2.56 + 0.36 + 1.96 + 11.56 = 23.2.
        assert!((got.mean - 3.6).abs() < 1e-12);
        assert!((got.se - (23.2f64 / 4.0 / 5.0).sqrt()).abs() < 1e-12, "{got:?}");
        assert_eq!(SampleMean { mean: 0.5, se: 0.01 }.to_string(), "0.5000 ± 0.0100");
        assert_eq!(SampleMean { mean: 0.5, se: f64::NAN }.to_string(), "0.5000");
    }
}
