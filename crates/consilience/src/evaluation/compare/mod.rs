//! Comparison of methods on the same items under the same class prior, by cross-validation or
//! random splits.
//!
//! A [`Protocol`] splits the items. Every [`Candidate`] is fitted to the training items of every
//! split and fuses the test items. The classifiers' own outputs are always scored too. The seed
//! determines the result at any number of threads; only the seconds differ.
//!
//! **Standard errors.** In cross-validation every item is scored, and the standard error is that of
//! a mean over items (over the items of each class if classes are weighted). Over random splits it
//! is sd·√(1/S + n₁/n₀), with the standard deviation over S splits of n₁ test and n₀ training items.
//! Splits of the same items are not independent, and sd/√S would be too small (Nadeau & Bengio 2003,
//! [doi:10.1023/A:1024068626366](https://doi.org/10.1023/A:1024068626366)). Neither formula contains
//! the variation between entirely different training sets. Differences from the best method are
//! paired by item or by split. The best method is chosen in hindsight, so an interval that just
//! touches 0 is weak evidence.

mod candidates;
mod clock;
mod display;
mod protocol;
mod run;
mod summary;

use serde::Serialize;

pub use candidates::{Candidate, all_methods, named_methods, quick_methods};
pub use protocol::{Protocol, TestSize};

use super::reliability::ReliabilityBin;
use super::sample_mean::SampleMean;
use super::scores::{ScoreSet, Weighting};
use crate::data::class_prior::{ClassPrior, PriorChoice};
use crate::data::outputs::Outputs;
use crate::error::Result;
use crate::progress::Progress;

/// Options of [`compare`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CompareSettings {
    /// How the items are split; 10 folds by default.
    pub protocol: Protocol,
    /// The class prior of all methods; the empirical prior is the class frequencies of all
    /// labelled items. [`Estimate`](PriorChoice::Estimate) is an error.
    pub class_prior: PriorChoice,
    /// How items are weighted in scores.
    pub weighting: Weighting,
    /// Seed of the splits and of the bootstrap of the calibration error.
    pub seed: u64,
}

/// The scores of several methods on the same items. [`Display`](std::fmt::Display) prints a table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// Number of items scored.
    pub n_items: usize,
    /// Number of items without a label: every fit may use them, and they are not scored.
    pub n_unlabelled: usize,
    /// Names of the classes.
    pub classes: Vec<String>,
    /// Number of items per class.
    pub class_counts: Vec<u64>,
    /// The class prior.
    pub class_prior: Vec<f64>,
    /// How items are weighted.
    pub weighting: Weighting,
    /// How the items were split; with fewer folds than requested if a class is small.
    pub protocol: Protocol,
    /// The seed.
    pub seed: u64,
    /// One row per method, by increasing log-loss; methods that failed come last.
    pub methods: Vec<ComparedMethod>,
}

/// One method of a comparison. Serialised as one flat row: `log_loss`, `log_loss_se` and so on.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(into = "summary::FlatRow")]
pub struct ComparedMethod {
    /// The candidate's name, `classifier:<name>` or `meta:<name>`.
    pub method: String,
    /// Scores with standard errors; NaN for a method that failed.
    pub scores: ScoreSet<SampleMean>,
    /// Log-loss minus that of the best method.
    pub difference: Difference,
    /// Whether this row has the smallest log-loss among single classifiers, both their own outputs
    /// and meta classifiers.
    pub best_single: bool,
    /// Seconds of the first fit, which runs alone.
    pub fit_seconds: f64,
    /// Seconds for fusing the test items of the first split.
    pub fuse_seconds: f64,
    /// The splits on which the method failed. A method with failures has no scores, because they
    /// would cover fewer items than those of the other methods.
    pub failures: Vec<SplitFailure>,
    /// Distinct warnings of its fits.
    pub warnings: Vec<String>,
    /// Scores per split; empty for a method that failed.
    pub splits: Vec<ScoreSet>,
    /// Reliability diagram over all test items.
    pub reliability: Vec<ReliabilityBin>,
}

/// A mean paired difference with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Difference {
    /// The mean.
    pub mean: f64,
    /// The standard error.
    pub se: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

impl Difference {
    /// The interval of a mean, with the 97.5 % quantile of its distribution in standard errors.
    pub(super) fn of(SampleMean { mean, se }: SampleMean, quantile: f64) -> Self {
        Self { mean, se, low: mean - quantile * se, high: mean + quantile * se }
    }
}

/// A split on which a method failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SplitFailure {
    /// Number of the split, from 1.
    pub split: usize,
    /// The error message.
    pub message: String,
}

/// Compares methods on the items that have a label. Items without one join the training items of
/// every fit.
///
/// # Example
/// ```
/// use consilience::evaluation::compare::{CompareSettings, compare, named_methods};
/// use consilience::{MethodConfig, NoProgress, simulation::Preset};
///
/// let outputs = Preset::Sim2.truth(0.5)?.simulate(60, 1)?;
/// let names = ["independent".to_owned(), "stacking".to_owned()];
/// let candidates = named_methods(outputs.schema(), &names, MethodConfig::at_mode)?;
/// let result = compare(&outputs, &candidates, &CompareSettings::default(), &NoProgress)?;
/// assert_eq!(result.methods.len(), 6); // with classifier:c1, classifier:c2, meta:c1, meta:c2
/// assert_eq!(result.methods[0].difference.mean, 0.0);
/// # Ok::<(), consilience::Error>(())
/// ```
pub fn compare(
    outputs: &Outputs,
    candidates: &[Candidate],
    settings: &CompareSettings,
    progress: &dyn Progress,
) -> Result<Comparison> {
    let priors = std::slice::from_ref(&settings.class_prior);
    let mut comparisons = compare_priors(outputs, candidates, settings, priors, progress)?;
    Ok(comparisons.remove(0))
}

/// Predictions of a method from elsewhere, to be compared with candidates.
#[derive(Debug, Clone, PartialEq)]
pub struct GivenPredictions {
    /// Name of its row.
    pub name: String,
    /// The probabilities of the test items of every [split](splits), or why there are none.
    pub splits: Vec<std::result::Result<Vec<f64>, String>>,
    /// Seconds of the first fit; NaN if unknown.
    pub fit_seconds: f64,
    /// Seconds for predicting the test items of the first split; NaN if unknown.
    pub fuse_seconds: f64,
}

/// The training and test items of every split, as places among the items that have a label.
pub fn splits(
    outputs: &Outputs,
    settings: &CompareSettings,
) -> Result<Vec<(Vec<usize>, Vec<usize>)>> {
    let outputs = &*outputs.require_some_labels()?;
    let labels = outputs.require_labels()?;
    let splits = settings.protocol.checked(outputs)?.splits(outputs, &labels, settings.seed)?;
    Ok(splits.into_iter().map(|split| (split.train, split.test)).collect())
}

/// Compares methods with predictions that were made elsewhere on the same [splits].
pub fn compare_with(
    outputs: &Outputs,
    candidates: &[Candidate],
    given: &[GivenPredictions],
    settings: &CompareSettings,
    progress: &dyn Progress,
) -> Result<Comparison> {
    let priors = std::slice::from_ref(&settings.class_prior);
    let mut comparisons = compare_all(outputs, candidates, given, settings, priors, progress)?;
    Ok(comparisons.remove(0))
}

/// Compares methods under several class priors instead of the one in the settings.
///
/// Every comparison equals one made under that class prior alone. A method whose fit does not depend
/// on the class prior is fitted once per split.
pub fn compare_priors(
    outputs: &Outputs,
    candidates: &[Candidate],
    settings: &CompareSettings,
    priors: &[PriorChoice],
    progress: &dyn Progress,
) -> Result<Vec<Comparison>> {
    compare_all(outputs, candidates, &[], settings, priors, progress)
}

fn compare_all(
    outputs: &Outputs,
    candidates: &[Candidate],
    given: &[GivenPredictions],
    settings: &CompareSettings,
    priors: &[PriorChoice],
    progress: &dyn Progress,
) -> Result<Vec<Comparison>> {
    let unlabelled = outputs.unlabelled();
    let outputs = &*outputs.require_some_labels()?;
    let labels = outputs.require_labels()?;
    let counts = outputs.class_counts();
    let protocol = settings.protocol.checked(outputs)?;
    let items: Vec<f64> = counts.iter().map(|count| *count as f64).collect();
    let resolve = |prior: &PriorChoice| prior.resolve(outputs.schema().classes(), Some(&items));
    let weightings = priors.iter().map(|choice| settings.weighting.under(Some(choice)));
    let weightings: Vec<Weighting> = weightings.collect();
    let priors = priors.iter().map(resolve).collect::<Result<Vec<ClassPrior>>>()?;
    let splits = protocol.splits(outputs, &labels, settings.seed)?;
    let items = run::TrainingItems { labelled: outputs, unlabelled: &unlabelled };
    let attempts = run::attempts(items, candidates, given, &splits, &priors, progress)?;
    let singles = outputs.schema().classifiers().iter().map(|name| format!("classifier:{name}"));
    let given = given.iter().map(|given| given.name.clone());
    let names = candidates.iter().map(|candidate| candidate.name.clone());
    let names = names.chain(given).chain(singles);
    let names: Vec<String> = names.collect();
    let comparison = |((prior, weighting), attempts): (_, Vec<Vec<run::Attempt>>)| {
        let scoring = summary::Scoring {
            labels: &labels,
            prior,
            weighting,
            seed: settings.seed,
            by_item: matches!(protocol, Protocol::Folds { .. }),
            splits: &splits,
        };
        Ok(Comparison {
            n_items: labels.len(),
            n_unlabelled: unlabelled.n_items(),
            classes: outputs.schema().classes().to_vec(),
            class_counts: counts.clone(),
            class_prior: ClassPrior::probabilities(prior).to_vec(),
            weighting,
            protocol,
            seed: settings.seed,
            methods: scoring.summarise(&names, &attempts, progress)?,
        })
    };
    priors.iter().zip(weightings).zip(attempts).map(comparison).collect()
}
