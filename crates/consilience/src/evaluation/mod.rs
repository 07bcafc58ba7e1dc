//! Scores of fused probabilities, with intervals; comparisons of methods; the gain of fusing;
//! advice on labels and sources.
//!
//! [`Evaluation`], [`Gain`] and [`Comparison`](compare::Comparison) print themselves as plain-text
//! tables.

mod advice;
mod bootstrap;
mod calibration_curve;
pub mod compare;
mod constants;
mod gain;
mod interval;
mod out_of_fold;
mod prevalence;
mod reliability;
mod report;
mod sample_mean;
mod scores;
mod verdict;

pub use advice::{
    Advice, AdviceSettings, Dropped, ItemToLabel, LabelAdvice, SourceAdvice, SourceDecision,
    SourceSettings, SourceWorth, advise, advise_labels, advise_sources,
};
pub use bootstrap::BootstrapSettings;
pub use calibration_curve::{
    BandPoint, CalibrationCurve, CalibrationEvent, CalibrationStep, calibration_curve,
};
pub use constants::CALIBRATION_BINS;
pub use gain::{Baseline, Gain, GainSettings, SimilarPair, gain, gain_on_new_items};
pub use interval::Interval;
pub use prevalence::{ClassShare, Prevalence, PrevalenceTarget, prevalence};
pub use reliability::{ReliabilityBin, reliability};
pub use report::{EvaluatedMethod, Evaluation, EvaluationSettings, evaluate, evaluate_all};
pub use sample_mean::SampleMean;
pub use scores::{Predictions, ScoreSet, Weighting, score};

// Parts that front ends put together in other ways; no stable interface.
#[doc(hidden)]
pub use gain::{gain_of, simpler_predictions};
#[doc(hidden)]
pub use prevalence::ShareSums;
#[doc(hidden)]
pub use report::{meta_classifiers, single_classifiers};
#[doc(hidden)]
pub use sample_mean::weighted_mean;
