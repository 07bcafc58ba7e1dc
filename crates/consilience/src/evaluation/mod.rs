//! How good fused probabilities are, with intervals.

mod bootstrap;
pub mod compare;
mod estimate;
mod gain;
mod reliability;
mod report;
mod scores;

pub use bootstrap::{BootstrapSettings, Scored};
pub use estimate::Estimate;
pub use gain::{Alike, Gain, GainSettings, Rival, worth, worth_on_new_items};
pub use reliability::{ReliabilityBin, reliability};
pub use report::{
    EvaluatedMethod, Evaluation, EvaluationSettings, evaluate, evaluate_all, meta_classifiers,
    single_classifiers,
};
pub use scores::{CALIBRATION_BINS, Predictions, ScoreSet, Weighting, score};
