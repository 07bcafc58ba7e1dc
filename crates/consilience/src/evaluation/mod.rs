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
mod prevalence;
mod reliability;
mod report;
mod sample_mean;
mod scores;
mod verdict;

pub use advice::{
    Advice, AdviceSettings, Decision, Dropped, ItemToLabel, LabelAdvice, SourceAdvice,
    SourceSettings, SourceWorth, advise, advise_labels, advise_sources,
};
pub use bootstrap::{BootstrapSettings, ScoreInterval};
pub use calibration_curve::{
    BandPoint, CalibrationCurve, CalibrationEvent, CalibrationStep, calibration_curve,
};
pub use constants::CALIBRATION_BINS;
pub use gain::{
    Baseline, Gain, GainSettings, SimilarPair, gain, gain_of, gain_on_new_items,
    simpler_predictions,
};
pub use prevalence::{ClassShare, Prevalence, PrevalenceTarget, Share, ShareSums, prevalence};
pub use reliability::{ReliabilityBin, reliability};
pub use report::{
    EvaluatedMethod, Evaluation, EvaluationSettings, evaluate, evaluate_all, meta_classifiers,
    single_classifiers,
};
pub use sample_mean::{SampleMean, weighted_mean};
pub use scores::{Predictions, ScoreSet, Weighting, score};
