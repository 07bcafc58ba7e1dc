//! Scores of probabilistic predictions.

use serde::{Deserialize, Serialize};

use super::constants::CALIBRATION_BINS;
use crate::data::class_prior::{ClassPrior, PriorChoice};
use crate::data::outputs::Outputs;
use crate::error::{Error, Result};
use crate::methods::{Fusion, fuse_with};
use crate::progress::{NoProgress, Progress};
use consilience_numerics::log_space::ln_at_least_tiny;
use consilience_numerics::simplex;

/// The probabilities that a method predicts for some items.
#[derive(Debug, Clone, PartialEq)]
pub struct Predictions {
    /// Name of the method or classifier.
    pub name: String,
    /// Probabilities, n × J.
    pub probabilities: Vec<f64>,
}

impl Predictions {
    /// The fused probabilities of a rule.
    pub(crate) fn of(
        name: impl Into<String>,
        fusion: &dyn Fusion,
        outputs: &Outputs,
        prior: &ClassPrior,
    ) -> Result<Self> {
        Self::with_progress(name, fusion, outputs, prior, &NoProgress)
    }

    /// The same with progress reporting.
    pub(crate) fn with_progress(
        name: impl Into<String>,
        fusion: &dyn Fusion,
        outputs: &Outputs,
        prior: &ClassPrior,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let probabilities = fuse_with(fusion, outputs, prior, progress)?.into_all();
        Ok(Self { name: name.into(), probabilities })
    }

    /// Refuses predictions that are not one row per label.
    pub(super) fn check(&self, labels: &[usize], n_classes: usize) -> Result<()> {
        let (n, found) = (labels.len(), self.probabilities.len());
        if found == n * n_classes {
            return Ok(());
        }
        Err(Error::mismatch(
            "predictions and labels",
            format!("{n} × {n_classes}"),
            format!("{found} numbers"),
        ))
    }

    /// −ln of the probability of every item's true class.
    pub(super) fn log_losses(&self, labels: &[usize], n_classes: usize) -> Vec<f64> {
        let rows = self.probabilities.chunks_exact(n_classes).zip(labels);
        rows.map(|(row, &label)| log_loss(row, label)).collect()
    }
}

/// −ln of the probability of the true class; one that underflowed to 0 counts as the smallest normal
/// double.
pub(super) fn log_loss(probabilities: &[f64], label: usize) -> f64 {
    -ln_at_least_tiny(probabilities[label])
}

/// How items are weighted in scores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Weighting {
    /// A class has the weight that the class prior gives it, whatever its number of items. Under
    /// the [empirical](PriorChoice::Empirical) prior every item has the same weight.
    #[default]
    ClassPrior,
    /// Every item has the same weight.
    Items,
}

impl Weighting {
    /// The weighting under a class prior that was chosen in this way: under the frequencies of
    /// the training labels, and under estimated shares, every item has the same weight.
    #[must_use]
    pub fn under(self, choice: Option<&PriorChoice>) -> Self {
        match choice {
            Some(PriorChoice::Empirical | PriorChoice::Estimate) => Self::Items,
            _ => self,
        }
    }

    /// How items are weighted, as a sentence.
    pub(super) fn sentence(self, classes: &[String], class_prior: &[f64]) -> String {
        let uniform = class_prior.iter().all(|p| (p - class_prior[0]).abs() < 1e-12);
        match self {
            Self::Items => "Every item has the same weight.".into(),
            Self::ClassPrior if uniform => {
                "Every class has the same weight (uniform class prior).".into()
            }
            Self::ClassPrior => {
                let parts = classes.iter().zip(class_prior);
                let parts: Vec<String> =
                    parts.map(|(class, p)| format!("{class} {p:.3}")).collect();
                format!("Classes are weighted by the class prior: {}.", parts.join(", "))
            }
        }
    }
}

/// The scores of one method, overall or for one class; `T` is a number, or a number with an interval
/// or standard error.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ScoreSet<T = f64> {
    /// Mean of −ln of the probability of the true class, in nats.
    pub log_loss: T,
    /// Mean squared difference from the indicator of the true class, summed over classes; from 0 to 2.
    pub brier: T,
    /// Share of items whose most probable class is the true class.
    pub accuracy: T,
    /// Mean entropy of the predicted distributions, in nats.
    pub entropy: T,
    /// Expected calibration error: overall, of the most probable class; for one class, of that
    /// class's probability over all items.
    pub ece: T,
}

impl<T: Copy> ScoreSet<T> {
    /// The five scores with their names.
    pub fn named(&self) -> [(&'static str, T); 5] {
        [
            ("log_loss", self.log_loss),
            ("brier", self.brier),
            ("accuracy", self.accuracy),
            ("entropy", self.entropy),
            ("ece", self.ece),
        ]
    }

    /// Applies a function to each score.
    pub fn map<U>(&self, f: impl Fn(T) -> U) -> ScoreSet<U> {
        ScoreSet {
            log_loss: f(self.log_loss),
            brier: f(self.brier),
            accuracy: f(self.accuracy),
            entropy: f(self.entropy),
            ece: f(self.ece),
        }
    }
}

/// Scores overall (first) and for every class; NaN for a class without items.
pub fn score(
    predictions: &Predictions,
    labels: &[usize],
    prior: &ClassPrior,
    weighting: Weighting,
) -> Result<Vec<ScoreSet>> {
    let n_classes = prior.probabilities().len();
    let table = ItemScores::new(predictions, labels, n_classes)?;
    let weights = item_weights(labels, prior, weighting);
    let every: Vec<u32> = (0..u32::try_from(labels.len()).map_err(|_| too_many(labels))?).collect();
    Ok(table.aggregate(&every, labels, &weights))
}

fn too_many(labels: &[usize]) -> Error {
    Error::parameter("number of items", "below 2^32", labels.len())
}

/// The weight of an item per class; only ratios matter.
pub(super) fn item_weights(labels: &[usize], prior: &ClassPrior, weighting: Weighting) -> Vec<f64> {
    let mut counts = vec![0.0; prior.probabilities().len()];
    labels.iter().for_each(|&label| counts[label] += 1.0);
    match weighting {
        Weighting::Items => vec![1.0; counts.len()],
        Weighting::ClassPrior => {
            prior.probabilities().iter().zip(counts).map(|(p, n)| p / f64::max(n, 1.0)).collect()
        }
    }
}

/// The contribution of every item to the scores, so that a bootstrap replicate only adds numbers.
pub(super) struct ItemScores {
    n_classes: usize,
    /// Log-loss, Brier score, hit, entropy.
    scores: Vec<[f64; 4]>,
    /// The bin of the largest probability, and hit − probability.
    top: Vec<(u8, f64)>,
    /// The bin of every class's probability, and indicator − probability; n × J.
    by_class: Vec<(u8, f64)>,
}

impl ItemScores {
    pub(super) fn new(
        predictions: &Predictions,
        labels: &[usize],
        n_classes: usize,
    ) -> Result<Self> {
        predictions.check(labels, n_classes)?;
        let mut table = Self {
            n_classes,
            scores: Vec::with_capacity(labels.len()),
            top: Vec::with_capacity(labels.len()),
            by_class: Vec::with_capacity(predictions.probabilities.len()),
        };
        for (row, &label) in predictions.probabilities.chunks_exact(n_classes).zip(labels) {
            table.push(row, label);
        }
        Ok(table)
    }

    fn push(&mut self, probabilities: &[f64], label: usize) {
        let indicator = |class: usize| f64::from(u8::from(class == label));
        let predicted = simplex::arg_max(probabilities);
        let squares = probabilities.iter().enumerate().map(|(j, p)| (p - indicator(j)).powi(2));
        self.scores.push([
            log_loss(probabilities, label),
            squares.sum(),
            indicator(predicted),
            simplex::entropy(probabilities),
        ]);
        let top = probabilities[predicted];
        self.top.push((bin(top), indicator(predicted) - top));
        let gaps = probabilities.iter().enumerate().map(|(j, &p)| (bin(p), indicator(j) - p));
        self.by_class.extend(gaps);
    }

    /// Log-loss, Brier score, hit and entropy of every item.
    pub(super) fn items(&self) -> &[[f64; 4]] {
        &self.scores
    }

    /// Scores of the listed items, overall and per class. An item may be listed more than once.
    pub(super) fn aggregate(
        &self,
        items: &[u32],
        labels: &[usize],
        class_weights: &[f64],
    ) -> Vec<ScoreSet> {
        let mut sums = vec![[0.0; 4]; self.n_classes];
        let mut counts = vec![0.0; self.n_classes];
        let mut top = [0.0; CALIBRATION_BINS];
        let mut by_class = vec![[0.0; CALIBRATION_BINS]; self.n_classes];
        for &item in items {
            let item = item as usize;
            let class = labels[item];
            let weight = class_weights[class];
            counts[class] += 1.0;
            for (sum, score) in sums[class].iter_mut().zip(self.scores[item]) {
                *sum += score;
            }
            let (bin, gap) = self.top[item];
            top[usize::from(bin)] += weight * gap;
            let gaps = &self.by_class[item * self.n_classes..(item + 1) * self.n_classes];
            for (bins, (bin, gap)) in by_class.iter_mut().zip(gaps) {
                bins[usize::from(*bin)] += weight * gap;
            }
        }
        // Once per class: adding up a weight per item would round in the same direction each time.
        let weights: Vec<f64> = counts.iter().zip(class_weights).map(|(n, w)| n * w).collect();
        for (sums, weight) in sums.iter_mut().zip(class_weights) {
            sums.iter_mut().for_each(|sum| *sum *= weight);
        }
        let total: f64 = weights.iter().sum();
        let mut all = [0.0; 4];
        for sum in &sums {
            all.iter_mut().zip(sum).for_each(|(a, b)| *a += b);
        }
        let calibration = |bins: &[f64]| bins.iter().map(|gap| gap.abs()).sum::<f64>() / total;
        let classes = sums.iter().zip(&weights).zip(&by_class).map(|((sums, weight), bins)| {
            let ece = if *weight > 0.0 { calibration(bins) } else { f64::NAN };
            score_set(sums, *weight, ece)
        });
        std::iter::once(score_set(&all, total, calibration(&top))).chain(classes).collect()
    }
}

fn score_set(sums: &[f64; 4], weight: f64, ece: f64) -> ScoreSet {
    let [log_loss, brier, accuracy, entropy] = sums.map(|sum| sum / weight);
    ScoreSet { log_loss, brier, accuracy, entropy, ece }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a probability times 15
pub(super) fn bin(probability: f64) -> u8 {
    ((probability * CALIBRATION_BINS as f64) as usize).min(CALIBRATION_BINS - 1) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scores(probabilities: &[f64], labels: &[usize], weighting: Weighting) -> Vec<ScoreSet> {
        let predictions = Predictions { name: "p".into(), probabilities: probabilities.to_vec() };
        score(&predictions, labels, &ClassPrior::uniform(2), weighting).unwrap()
    }

    /// By hand: two items of class 0 with probabilities 0.8 and 0.4, one of class 1 with 0.75.
    #[test]
    fn scores_equal_those_computed_by_hand() {
        let table = [0.8, 0.2, 0.4, 0.6, 0.25, 0.75];
        let items = scores(&table, &[0, 0, 1], Weighting::Items);
        let losses = [-0.8f64.ln(), -0.4f64.ln(), -0.75f64.ln()];
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} is not {b}");
        close(items[0].log_loss, losses.iter().sum::<f64>() / 3.0);
        close(items[0].brier, (2.0 * 0.04 + 2.0 * 0.36 + 2.0 * 0.0625) / 3.0);
        close(items[0].accuracy, 2.0 / 3.0);
        // Three bins of one item each: |1 − 0.8|, |0 − 0.6|, |1 − 0.75|.
        close(items[0].ece, (0.2 + 0.6 + 0.25) / 3.0);
        close(items[1].log_loss, 0.5 * losses[0] + 0.5 * losses[1]);
        // Class 0: probabilities 0.8 (true), 0.4 (true), 0.25 (false).
        close(items[1].ece, (0.2 + 0.6 + 0.25) / 3.0);

        let balanced = scores(&table, &[0, 0, 1], Weighting::ClassPrior);
        close(balanced[0].log_loss, 0.25 * losses[0] + 0.25 * losses[1] + 0.5 * losses[2]);
        close(balanced[0].accuracy, 0.5 * 0.5 + 0.5);
    }

    /// The mean of a constant is that constant, however many items there are.
    #[test]
    fn class_weights_do_not_drift_with_the_number_of_items() {
        let n = 3_000_000;
        let table: Vec<f64> = [0.3, 0.7].repeat(n);
        let labels: Vec<usize> = (0..n).map(|i| usize::from(i % 3 == 0)).collect();
        let got = scores(&table, &labels, Weighting::ClassPrior)[0];
        assert!((got.accuracy - 0.5).abs() < 1e-15, "{}", got.accuracy);
    }

    #[test]
    fn the_log_loss_of_a_certain_error_is_finite() {
        let got = scores(&[1.0, 0.0], &[1], Weighting::Items);
        assert!(got[0].log_loss > 700.0 && got[0].log_loss.is_finite());
        assert!(got[1].log_loss.is_nan(), "class 0 has no items");
    }

    #[test]
    fn predictions_of_the_wrong_length_are_refused() {
        let predictions = Predictions { name: "p".into(), probabilities: vec![0.5; 4] };
        let prior = ClassPrior::uniform(2);
        assert!(score(&predictions, &[0], &prior, Weighting::Items).is_err());
    }
}
