//! Reliability diagrams: predicted probability against observed frequency.

use serde::Serialize;

use super::constants::CALIBRATION_BINS;
use super::scores::{Predictions, Weighting, bin, item_weights};
use crate::data::class_prior::ClassPrior;
use crate::error::Result;
use consilience_numerics::simplex;

/// The items whose most probable class has a probability in one range.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ReliabilityBin {
    /// Weighted share of all items.
    pub share: f64,
    /// Mean probability of the most probable class; NaN without items.
    pub confidence: f64,
    /// Weighted share of these items whose most probable class is the true one; NaN without items.
    pub accuracy: f64,
}

/// The reliability diagram of the most probable class, in [`CALIBRATION_BINS`] ranges of equal
/// width. The expected calibration error is Σ share · |accuracy − confidence|.
pub fn reliability(
    predictions: &Predictions,
    labels: &[usize],
    prior: &ClassPrior,
    weighting: Weighting,
) -> Result<Vec<ReliabilityBin>> {
    let n_classes = prior.probabilities().len();
    predictions.check(labels, n_classes)?;
    let weights = item_weights(labels, prior, weighting);
    let mut sums = [[0.0; 3]; CALIBRATION_BINS];
    for (row, &label) in predictions.probabilities.chunks_exact(n_classes).zip(labels) {
        let predicted = simplex::arg_max(row);
        let hit = f64::from(u8::from(predicted == label));
        let sums = &mut sums[usize::from(bin(row[predicted]))];
        for (sum, value) in sums.iter_mut().zip([1.0, row[predicted], hit]) {
            *sum += weights[label] * value;
        }
    }
    let total: f64 = sums.iter().map(|[weight, ..]| weight).sum();
    let bin = |[weight, confidence, hits]: [f64; 3]| ReliabilityBin {
        share: weight / total,
        confidence: confidence / weight,
        accuracy: hits / weight,
    };
    Ok(sums.into_iter().map(bin).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluation::score;

    #[test]
    fn weighted_gaps_add_up_to_the_calibration_error() {
        let probabilities: Vec<f64> = (0..200u32)
            .flat_map(|i| {
                let p = 0.01 + 0.98 * f64::from(i * 37 % 200) / 200.0;
                [p, 1.0 - p]
            })
            .collect();
        let labels: Vec<usize> = (0..200).map(|i| usize::from(i % 3 == 0)).collect();
        let predictions = Predictions { name: "p".into(), probabilities };
        let prior = ClassPrior::new(&[1.0, 2.0]).unwrap();
        for weighting in [Weighting::ClassPrior, Weighting::Items] {
            let bins = reliability(&predictions, &labels, &prior, weighting).unwrap();
            let gap = |bin: &&ReliabilityBin| bin.share * (bin.accuracy - bin.confidence).abs();
            let used = bins.iter().filter(|bin| bin.share > 0.0);
            let error: f64 = used.clone().map(|bin| gap(&bin)).sum();
            let expected = score(&predictions, &labels, &prior, weighting).unwrap()[0].ece;
            assert!((error - expected).abs() < 1e-12, "{error} {expected}");
            let shares: f64 = used.map(|bin| bin.share).sum();
            assert!((shares - 1.0).abs() < 1e-12);
        }
        assert!(reliability(&predictions, &labels[1..], &prior, Weighting::Items).is_err());
    }
}
