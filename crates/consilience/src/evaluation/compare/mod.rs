//! All methods on the same items under the same class prior, scored on what they were not fitted
//! to.
//!
//! The items are divided by a [`Protocol`]; every [`Candidate`] is fitted on the training items of
//! every division and fuses the test items of it. Single classifiers, as they are, are always
//! among the rows. One seed gives one result at any number of threads; only seconds differ.
//!
//! **Standard errors.** In cross-validation every item is scored, and the error of a mean is that
//! of a mean over items (over items in each class where classes are weighted). Over random splits
//! it is sd·√(1/S + n₁/n₀) with the standard deviation over S splits of n₁ test and n₀ training
//! items: splits of the same items are not independent, and sd/√S would be too small (Nadeau &
//! Bengio 2003, [doi:10.1023/A:1024068626366](https://doi.org/10.1023/A:1024068626366)). Neither
//! contains how a method would vary with entirely other training items. Differences to the best
//! are paired: taken item by item or split by split. The best is chosen in hindsight, so that an
//! interval that just touches 0 says little.

mod candidates;
mod clock;
mod protocol;
mod run;
mod summary;

use serde::Serialize;

pub use candidates::{Candidate, all_methods, named_methods};
pub use protocol::{Protocol, TestSize};

use super::estimate::Estimate;
use super::reliability::ReliabilityBin;
use super::scores::{ScoreSet, Weighting};
use crate::data::class_prior::{ClassPrior, PriorChoice};
use crate::data::outputs::Outputs;
use crate::error::{Error, Result};
use crate::progress::Progress;

/// How to compare.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CompareSettings {
    /// How the items are divided; 10 folds by default.
    pub protocol: Protocol,
    /// The class prior of all methods; `empirical` is the frequencies of all items.
    pub class_prior: PriorChoice,
    /// How items count in scores.
    pub weighting: Weighting,
    /// Seed of the divisions and of the calibration error's bootstrap.
    pub seed: u64,
}

/// All methods beside each other.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// Number of items.
    pub n_items: usize,
    /// Names of the classes.
    pub classes: Vec<String>,
    /// Items of every class.
    pub class_counts: Vec<u64>,
    /// The class prior in force.
    pub class_prior: Vec<f64>,
    /// How items count.
    pub weighting: Weighting,
    /// How the items were divided, as far as they allowed.
    pub protocol: Protocol,
    /// The seed.
    pub seed: u64,
    /// One row a method, by log-loss; those that failed last.
    pub methods: Vec<ComparedMethod>,
}

/// One method of a comparison. Serialised as one flat row: `log_loss`, `log_loss_se` and so on.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(into = "summary::Row")]
pub struct ComparedMethod {
    /// The candidate's name, `classifier:<name>` or `meta:<name>`.
    pub method: String,
    /// The scores with their standard errors; NaN for a method that failed.
    pub scores: ScoreSet<Estimate>,
    /// Log-loss beyond that of the best method.
    pub difference: Difference,
    /// Whether no classifier alone, as it is or as meta classifier, has a smaller log-loss.
    pub best_single: bool,
    /// Seconds of the first fit, nothing else running.
    pub fit_seconds: f64,
    /// Seconds of fusing the test items of the first split.
    pub fuse_seconds: f64,
    /// Splits on which it failed, from 1, and why. A method that failed on any has no scores, for
    /// they would not be of the same items.
    pub failures: Vec<SplitFailure>,
    /// What its fits warned of, each once.
    pub warnings: Vec<String>,
    /// The scores of every split, where it did not fail.
    pub splits: Vec<ScoreSet>,
    /// Its reliability diagram over all test items.
    pub reliability: Vec<ReliabilityBin>,
}

/// A paired difference.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Difference {
    /// Its mean.
    pub mean: f64,
    /// The standard error.
    pub se: f64,
    /// Lower end of the 95 % interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// A split on which a method failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SplitFailure {
    /// Its number, from 1.
    pub split: usize,
    /// Why.
    pub message: String,
}

/// Compares methods on labelled items.
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

/// The same under several class priors instead of the one in the settings: one comparison each, as
/// if made alone. A method is fitted once a split where its fit does not depend on the class prior.
pub fn compare_priors(
    outputs: &Outputs,
    candidates: &[Candidate],
    settings: &CompareSettings,
    priors: &[PriorChoice],
    progress: &dyn Progress,
) -> Result<Vec<Comparison>> {
    let labels = outputs.require_labels()?;
    if labels.is_empty() {
        return Err(Error::NoItems);
    }
    let counts = outputs.class_counts();
    let protocol = settings.protocol.checked(outputs)?;
    let items: Vec<f64> = counts.iter().map(|count| *count as f64).collect();
    let resolve = |prior: &PriorChoice| prior.resolve(outputs.schema().classes(), Some(&items));
    let priors = priors.iter().map(resolve).collect::<Result<Vec<ClassPrior>>>()?;
    let splits = protocol.splits(outputs, &labels, settings.seed)?;
    let attempts = run::attempts(outputs, candidates, &splits, &priors, progress)?;
    let singles = outputs.schema().classifiers().iter().map(|name| format!("classifier:{name}"));
    let names = candidates.iter().map(|candidate| candidate.name.clone()).chain(singles);
    let names: Vec<String> = names.collect();
    let comparison = |(prior, attempts): (&ClassPrior, Vec<Vec<run::Attempt>>)| {
        let scoring = summary::Scoring {
            labels: &labels,
            prior,
            weighting: settings.weighting,
            seed: settings.seed,
            by_item: matches!(protocol, Protocol::Folds { .. }),
            splits: &splits,
        };
        Ok(Comparison {
            n_items: labels.len(),
            classes: outputs.schema().classes().to_vec(),
            class_counts: counts.clone(),
            class_prior: prior.probabilities().to_vec(),
            weighting: settings.weighting,
            protocol,
            seed: settings.seed,
            methods: scoring.summarise(&names, &attempts, progress)?,
        })
    };
    priors.iter().zip(attempts).map(comparison).collect()
}
