//! Scores of fused probabilities, with intervals; comparisons of methods; the gain of fusing.
//!
//! [`Evaluation`], [`Gain`] and [`Comparison`](compare::Comparison) print themselves as plain-text
//! tables.

mod bootstrap;
pub mod compare;
mod constants;
mod gain;
mod prevalence;
mod reliability;
mod report;
mod sample_mean;
mod scores;
mod verdict;

pub use bootstrap::{BootstrapSettings, ScoreInterval};
pub use constants::CALIBRATION_BINS;
pub use gain::{Baseline, Gain, GainSettings, SimilarPair, gain, gain_on_new_items};
pub use prevalence::{ClassShare, Prevalence, PrevalenceTarget, Share, ShareSums, prevalence};
pub use reliability::{ReliabilityBin, reliability};
pub use report::{
    EvaluatedMethod, Evaluation, EvaluationSettings, evaluate, evaluate_all, meta_classifiers,
    single_classifiers,
};
pub use sample_mean::SampleMean;
pub use scores::{Predictions, ScoreSet, Weighting, score};
