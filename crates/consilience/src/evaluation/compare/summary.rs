//! Scores, standard errors and paired differences from the predictions of all methods.

use serde::Serialize;

use super::protocol::TrainTestSplit;
use super::run::Attempt;
use super::{ComparedMethod, Difference, SplitFailure};
use crate::data::class_prior::ClassPrior;
use crate::error::Result;
use crate::evaluation::bootstrap::{resample, strata};
use crate::evaluation::constants::{CALIBRATION_REPLICATES, NORMAL_975};
use crate::evaluation::reliability::reliability;
use crate::evaluation::sample_mean::{SampleMean, weighted_mean};
use crate::evaluation::scores::{
    ItemScores, Predictions, ScoreSet, Weighting, item_weights, score,
};
use crate::progress::Progress;
use consilience_numerics::parallel;

/// Everything that scoring needs besides the predictions.
pub(super) struct Scoring<'a> {
    pub(super) labels: &'a [usize],
    pub(super) prior: &'a ClassPrior,
    pub(super) weighting: Weighting,
    pub(super) seed: u64,
    /// Whether the unit of a mean is an item (each is scored equally often) or a split.
    pub(super) by_item: bool,
    pub(super) splits: &'a [TrainTestSplit],
}

/// Log-loss, Brier score, accuracy and entropy of a method per unit (item or split).
type Units = Vec<[f64; 4]>;

impl Scoring<'_> {
    /// One row per method, from its attempts on all splits.
    pub(super) fn summarise(
        &self,
        names: &[String],
        attempts: &[Vec<Attempt>],
        progress: &dyn Progress,
    ) -> Result<Vec<ComparedMethod>> {
        progress.begin("scoring", names.len() as u64);
        let methods = parallel::map(names.len(), |m| {
            progress.check()?;
            let scored = self.method(names[m].clone(), &attempts[m])?;
            progress.advance(1);
            Ok(scored)
        });
        let mut methods = methods.into_iter().collect::<Result<Vec<_>>>()?;
        // NaN, for methods that failed, comes last.
        let loss = |(method, _): &(ComparedMethod, Units)| method.scores.log_loss.mean;
        methods.sort_by(|a, b| loss(a).total_cmp(&loss(b)));
        let best = methods[0].1.clone();
        let single = |(method, _): &(ComparedMethod, Units)| {
            let is_single = method.method.starts_with("classifier:");
            is_single || method.method.starts_with("meta:")
        };
        if let Some((method, _)) = methods.iter_mut().find(|method| single(method)) {
            method.best_single = !method.scores.log_loss.mean.is_nan();
        }
        let finish = |(mut method, units): (ComparedMethod, Units)| {
            if method.failures.is_empty() {
                let pairs = units.iter().zip(&best).map(|(own, best)| own[0] - best[0]);
                method.difference = self.difference(&pairs.collect::<Vec<f64>>());
            }
            method
        };
        Ok(methods.into_iter().map(finish).collect())
    }

    /// The row of one method without its difference from the best, and its scores per unit.
    fn method(&self, name: String, attempts: &[Attempt]) -> Result<(ComparedMethod, Units)> {
        let nothing = SampleMean { mean: f64::NAN, se: f64::NAN };
        let mut method = ComparedMethod {
            method: name,
            scores: ScoreSet {
                log_loss: nothing,
                brier: nothing,
                accuracy: nothing,
                entropy: nothing,
                ece: nothing,
            },
            difference: Difference::of(nothing, f64::NAN),
            best_single: false,
            fit_seconds: attempts[0].fit_seconds,
            fuse_seconds: attempts[0].fuse_seconds,
            failures: failures(attempts),
            warnings: distinct(attempts.iter().flat_map(|attempt| &attempt.warnings)),
            splits: Vec::new(),
            reliability: Vec::new(),
        };
        if !method.failures.is_empty() {
            return Ok((method, Vec::new()));
        }
        let (labels, predictions) = self.pooled(attempts);
        method.splits = self.split_scores(attempts)?;
        method.reliability = reliability(&predictions, &labels, self.prior, self.weighting)?;
        let table = ItemScores::new(&predictions, &labels, self.prior.probabilities().len())?;
        let units = if self.by_item {
            self.item_means(&table)
        } else {
            let split = |s: &ScoreSet| [s.log_loss, s.brier, s.accuracy, s.entropy];
            method.splits.iter().map(split).collect()
        };
        let mean =
            |column: usize| self.mean(&units.iter().map(|unit| unit[column]).collect::<Vec<f64>>());
        method.scores = ScoreSet {
            log_loss: mean(0),
            brier: mean(1),
            accuracy: mean(2),
            entropy: mean(3),
            ece: self.calibration(&table, &labels),
        };
        Ok((method, units))
    }

    /// Labels and predictions of the test items of all splits, one split after another.
    fn pooled(&self, attempts: &[Attempt]) -> (Vec<usize>, Predictions) {
        let tests = self.splits.iter().flat_map(|split| &split.test);
        let labels = tests.map(|&item| self.labels[item]).collect();
        let pooled = attempts.iter().flat_map(|attempt| attempt.probabilities.iter().flatten());
        (labels, Predictions { name: String::new(), probabilities: pooled.copied().collect() })
    }

    fn split_scores(&self, attempts: &[Attempt]) -> Result<Vec<ScoreSet>> {
        let one = |(split, attempt): (&TrainTestSplit, &Attempt)| {
            let labels: Vec<usize> = split.test.iter().map(|&item| self.labels[item]).collect();
            let probabilities = attempt.probabilities.clone().unwrap_or_default();
            let predictions = Predictions { name: String::new(), probabilities };
            Ok(score(&predictions, &labels, self.prior, self.weighting)?[0])
        };
        self.splits.iter().zip(attempts).map(one).collect()
    }

    /// The scores of every item, averaged over repeats, in the order of the items.
    fn item_means(&self, table: &ItemScores) -> Units {
        let mut sums = vec![[0.0; 4]; self.labels.len()];
        let tests = self.splits.iter().flat_map(|split| &split.test);
        for (&item, scores) in tests.zip(table.items()) {
            sums[item].iter_mut().zip(scores).for_each(|(sum, score)| *sum += score);
        }
        let repeats = (table.items().len() / self.labels.len()) as f64;
        sums.into_iter().map(|scores| scores.map(|sum| sum / repeats)).collect()
    }

    fn mean(&self, values: &[f64]) -> SampleMean {
        if self.by_item {
            return weighted_mean(values, self.labels, self.prior, self.weighting);
        }
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
        let split = &self.splits[0];
        let shared = split.test.len() as f64 / split.train.len() as f64;
        SampleMean { mean, se: (variance * (1.0 / n + shared)).sqrt() }
    }

    fn difference(&self, values: &[f64]) -> Difference {
        let quantile = if self.by_item { NORMAL_975 } else { student_975(values.len() - 1) };
        Difference::of(self.mean(values), quantile)
    }

    /// The calibration error over all test items, with a bootstrap standard error.
    fn calibration(&self, table: &ItemScores, labels: &[usize]) -> SampleMean {
        let weights = item_weights(labels, self.prior, self.weighting);
        let strata = strata(labels, weights.len(), self.weighting);
        let ece = |items: &[u32]| table.aggregate(items, labels, &weights)[0].ece;
        let every: Vec<u32> = strata.iter().flatten().copied().collect();
        let drawn: Vec<f64> =
            (0..CALIBRATION_REPLICATES).map(|i| ece(&resample(&strata, self.seed, i))).collect();
        let n = CALIBRATION_REPLICATES as f64;
        let centre = drawn.iter().sum::<f64>() / n;
        let squares: f64 = drawn.iter().map(|value| (value - centre).powi(2)).sum();
        SampleMean { mean: ece(&every), se: (squares / (n - 1.0)).sqrt() }
    }
}

fn failures(attempts: &[Attempt]) -> Vec<SplitFailure> {
    let failure = |(i, attempt): (usize, &Attempt)| {
        let message = attempt.probabilities.as_ref().err()?.clone();
        Some(SplitFailure { split: i + 1, message })
    };
    attempts.iter().enumerate().filter_map(failure).collect()
}

fn distinct<'a>(messages: impl Iterator<Item = &'a String>) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    for message in messages {
        if !kept.contains(message) {
            kept.push(message.clone());
        }
    }
    kept
}

/// The 97.5 % quantile of Student's t distribution: tabulated up to 4 degrees of freedom, where the
/// expansion in 1/ν is inaccurate, else that expansion (Abramowitz & Stegun 26.7.5), with a relative
/// error below 3·10⁻⁴.
fn student_975(freedom: usize) -> f64 {
    const TABULATED: [f64; 5] = [f64::NAN, 12.706_205, 4.302_653, 3.182_446, 2.776_445];
    if let Some(tabulated) = TABULATED.get(freedom) {
        return *tabulated;
    }
    let (z, v) = (NORMAL_975, freedom as f64);
    let z2 = z * z;
    let first = (z2 + 1.0) * z / 4.0;
    let second = ((5.0 * z2 + 16.0) * z2 + 3.0) * z / 96.0;
    let third = (((3.0 * z2 + 19.0) * z2 + 17.0) * z2 - 15.0) * z / 384.0;
    let fourth = ((((79.0 * z2 + 776.0) * z2 + 1482.0) * z2 - 1920.0) * z2 - 945.0) * z / 92_160.0;
    z + (first + (second + (third + fourth / v) / v) / v) / v
}

/// The serialised form of one row.
#[derive(Serialize)]
pub(super) struct FlatRow {
    method: String,
    log_loss: f64,
    log_loss_se: f64,
    brier: f64,
    brier_se: f64,
    accuracy: f64,
    accuracy_se: f64,
    entropy: f64,
    entropy_se: f64,
    ece: f64,
    ece_se: f64,
    difference: f64,
    difference_se: f64,
    difference_low: f64,
    difference_high: f64,
    fit_seconds: f64,
    fuse_seconds: f64,
    best_single: bool,
    failures: Vec<SplitFailure>,
    warnings: Vec<String>,
}

impl From<ComparedMethod> for FlatRow {
    fn from(method: ComparedMethod) -> Self {
        let ScoreSet { log_loss, brier, accuracy, entropy, ece } = method.scores;
        let Difference { mean, se, low, high } = method.difference;
        Self {
            method: method.method,
            log_loss: log_loss.mean,
            log_loss_se: log_loss.se,
            brier: brier.mean,
            brier_se: brier.se,
            accuracy: accuracy.mean,
            accuracy_se: accuracy.se,
            entropy: entropy.mean,
            entropy_se: entropy.se,
            ece: ece.mean,
            ece_se: ece.se,
            difference: mean,
            difference_se: se,
            difference_low: low,
            difference_high: high,
            fit_seconds: method.fit_seconds,
            fuse_seconds: method.fuse_seconds,
            best_single: method.best_single,
            failures: method.failures,
            warnings: method.warnings,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Quantiles from R's `qt(0.975, ν)`.
    #[test]
    fn quantiles_of_students_t_agree_with_r() {
        for (freedom, expected) in [
            (1, 12.706_205),
            (4, 2.776_445),
            (5, 2.570_582),
            (6, 2.446_912),
            (9, 2.262_157),
            (24, 2.063_899),
            (49, 2.009_575),
            (1_000, 1.962_339),
        ] {
            let got = student_975(freedom);
            assert!((got / expected - 1.0).abs() < 1e-3, "{freedom}: {got} is not {expected}");
        }
        assert!(student_975(0).is_nan());
    }

    /// Splits of 2 test and 4 training items with losses 1, 2, 6: mean 3, variance 7.
    #[test]
    fn standard_errors_over_splits_allow_for_shared_training_items() {
        let split = || TrainTestSplit { test: vec![0, 3], train: vec![1, 2, 4, 5] };
        let splits = [split(), split(), split()];
        let (labels, prior) = ([0, 0, 0, 1, 1, 1], ClassPrior::uniform(2));
        let scoring = Scoring {
            labels: &labels,
            prior: &prior,
            weighting: Weighting::ClassPrior,
            seed: 0,
            by_item: false,
            splits: &splits,
        };
        let got = scoring.mean(&[1.0, 2.0, 6.0]);
        assert!((got.mean - 3.0).abs() < 1e-12);
        assert!((got.se - (7.0f64 * (1.0 / 3.0 + 0.5)).sqrt()).abs() < 1e-12);
        let difference = scoring.difference(&[1.0, 2.0, 6.0]);
        assert!((difference.high - (3.0 + 4.302_653 * got.se)).abs() < 1e-9);
    }
}
