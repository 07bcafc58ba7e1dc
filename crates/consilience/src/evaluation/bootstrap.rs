//! Bootstrap intervals of scores.

use rand::RngExt;

use super::constants::{MAX_REPLICATED_SCORES, MAX_REPLICATES, MIN_REPLICATES};
use super::interval::Interval;
use super::scores::{ItemScores, Predictions, ScoreSet, Weighting, item_weights};
use crate::data::class_prior::ClassPrior;
use crate::error::{Error, Result};
use crate::math::random::stream;
use crate::progress::Progress;
use crate::sampling::diagnostics::quantile;
use consilience_numerics::parallel;

/// Options of the bootstrap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BootstrapSettings {
    /// Number of replicates, from 20 to 1 000 000; 1000 by default, 0 for no intervals.
    pub replicates: usize,
    /// Seed of the random numbers.
    pub seed: u64,
}

impl Default for BootstrapSettings {
    fn default() -> Self {
        Self { replicates: 1000, seed: 0 }
    }
}

impl BootstrapSettings {
    /// Refuses numbers of replicates that make no interval or do not fit into memory.
    fn check(&self, n_methods: usize, n_classes: usize) -> Result<()> {
        let requirement = "0 (no intervals) or from 20 to 1 000 000 replicates";
        if self.replicates > 0 && !(MIN_REPLICATES..=MAX_REPLICATES).contains(&self.replicates) {
            return Err(Error::parameter("bootstrap", requirement, self.replicates));
        }
        let scores =
            [n_methods, n_classes + 1, 5].into_iter().fold(self.replicates, usize::saturating_mul);
        if scores > MAX_REPLICATED_SCORES {
            let requirement = "small enough for so many methods and classes";
            return Err(Error::parameter("bootstrap", requirement, self.replicates));
        }
        Ok(())
    }
}

/// Scores with intervals of several methods on the same items: per method, overall (first) and per
/// class. All methods are scored on the same resampled items.
///
/// If classes are weighted by the class prior, items are resampled within their class, because the
/// weight of a class is fixed; else they are resampled from all items.
pub(super) fn with_intervals(
    methods: &[Predictions],
    labels: &[usize],
    prior: &ClassPrior,
    weighting: Weighting,
    settings: &BootstrapSettings,
    progress: &dyn Progress,
) -> Result<Vec<Vec<ScoreSet<Interval>>>> {
    let n_classes = prior.probabilities().len();
    settings.check(methods.len(), n_classes)?;
    let tables = methods
        .iter()
        .map(|m| ItemScores::new(m, labels, n_classes))
        .collect::<Result<Vec<_>>>()?;
    let weights = item_weights(labels, prior, weighting);
    let strata = strata(labels, n_classes, weighting);
    let every: Vec<u32> = strata.iter().flatten().copied().collect();
    let aggregate = |items: &[u32]| -> Vec<Vec<ScoreSet>> {
        tables.iter().map(|table| table.aggregate(items, labels, &weights)).collect()
    };
    let values = aggregate(&every);
    progress.begin("bootstrap", settings.replicates as u64);
    let replicates = parallel::map(settings.replicates, |replicate| {
        progress.check()?;
        let scores = aggregate(&resample(&strata, settings.seed, replicate as u64));
        progress.advance(1);
        Ok(scores)
    });
    let replicates = replicates.into_iter().collect::<Result<Vec<_>>>()?;
    let intervals = |method: usize, row: usize, value: &ScoreSet| {
        let drawn: Vec<[f64; 5]> =
            replicates.iter().map(|r| r[method][row].named().map(|(_, score)| score)).collect();
        attach(value, &drawn)
    };
    let rows = |(m, rows): (usize, &Vec<ScoreSet>)| {
        rows.iter().enumerate().map(|(row, value)| intervals(m, row, value)).collect()
    };
    Ok(values.iter().enumerate().map(rows).collect())
}

/// The items of every stratum: of every class if classes are weighted, else all items.
pub(super) fn strata(labels: &[usize], n_classes: usize, weighting: Weighting) -> Vec<Vec<u32>> {
    let mut strata = match weighting {
        Weighting::ClassPrior => vec![Vec::new(); n_classes],
        Weighting::Items => vec![Vec::new()],
    };
    for (item, &label) in (0u32..).zip(labels) {
        strata[if weighting == Weighting::Items { 0 } else { label }].push(item);
    }
    strata
}

/// As many items of every stratum as it has, drawn with replacement.
pub(super) fn resample(strata: &[Vec<u32>], seed: u64, replicate: u64) -> Vec<u32> {
    let mut rng = stream(seed, replicate);
    let mut items = Vec::with_capacity(strata.iter().map(Vec::len).sum());
    for stratum in strata.iter().filter(|stratum| !stratum.is_empty()) {
        items.extend((0..stratum.len()).map(|_| stratum[rng.random_range(0..stratum.len())]));
    }
    items
}

/// Adds the 2.5 % and 97.5 % quantiles of the replicates; NaN without replicates.
fn attach(value: &ScoreSet, drawn: &[[f64; 5]]) -> ScoreSet<Interval> {
    let scored = |index: usize, value: f64| {
        let column: Vec<f64> =
            drawn.iter().map(|row| row[index]).filter(|score| !score.is_nan()).collect();
        if column.is_empty() {
            return Interval { value, low: f64::NAN, high: f64::NAN };
        }
        Interval { value, low: quantile(&column, 0.025), high: quantile(&column, 0.975) }
    };
    ScoreSet {
        log_loss: scored(0, value.log_loss),
        brier: scored(1, value.brier),
        accuracy: scored(2, value.accuracy),
        entropy: scored(3, value.entropy),
        ece: scored(4, value.ece),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::NoProgress;

    /// The accuracy over n items with success rate q has standard error √(q(1−q)/n), so that the
    /// half-width of the interval is 1.96 standard errors. With 20 000 replicates the Monte Carlo
    /// error of the width is at most 3 %; the discreteness of the accuracy adds 2 %.
    #[test]
    fn the_interval_of_accuracy_agrees_with_the_binomial_distribution() {
        let n = 400;
        let labels = vec![0; n];
        let probabilities: Vec<f64> =
            (0..n).flat_map(|i| if i % 4 == 0 { [0.3, 0.7] } else { [0.7, 0.3] }).collect();
        let methods = [Predictions { name: "p".into(), probabilities }];
        let settings = BootstrapSettings { replicates: 20_000, seed: 3 };
        let prior = ClassPrior::uniform(2);
        let got =
            with_intervals(&methods, &labels, &prior, Weighting::Items, &settings, &NoProgress)
                .unwrap();
        let accuracy = got[0][0].accuracy;
        let half = 1.96 * (0.75f64 * 0.25 / n as f64).sqrt();
        assert!((accuracy.value - 0.75).abs() < 1e-12);
        assert!(((accuracy.high - accuracy.low) / (2.0 * half) - 1.0).abs() < 0.05, "{accuracy:?}");
    }

    #[test]
    fn the_seed_determines_the_intervals() {
        let labels: Vec<usize> = (0..30).map(|i| i % 2).collect();
        let probabilities: Vec<f64> = (0..30)
            .flat_map(|i| {
                let p = 0.2 + 0.02 * f64::from(i);
                [p, 1.0 - p]
            })
            .collect();
        let methods = [Predictions { name: "p".into(), probabilities }];
        let prior = ClassPrior::uniform(2);
        let run = |seed| {
            let settings = BootstrapSettings { replicates: 50, seed };
            with_intervals(&methods, &labels, &prior, Weighting::ClassPrior, &settings, &NoProgress)
                .unwrap()[0][0]
        };
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
    }

    #[test]
    fn replicates_that_make_no_interval_are_refused() {
        let check = |replicates| BootstrapSettings { replicates, seed: 0 }.check(3, 2);
        assert!([0, 20, 1000, 1_000_000].into_iter().all(|n| check(n).is_ok()));
        assert!([1, 19, 1_000_001, usize::MAX].into_iter().all(|n| check(n).is_err()));
        let many = BootstrapSettings { replicates: 1_000_000, seed: 0 }.check(100, 100);
        assert!(many.unwrap_err().to_string().contains("small enough"));
    }
}
