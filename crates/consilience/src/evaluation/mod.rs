//! How good fused probabilities are, with intervals.

mod bootstrap;
mod report;
mod scores;
mod worth;

pub use bootstrap::{BootstrapSettings, Scored};
pub use report::{
    EvaluatedMethod, Evaluation, EvaluationSettings, evaluate, evaluate_all, meta_classifiers,
    single_classifiers,
};
pub use scores::{CALIBRATION_BINS, Predictions, ScoreSet, Weighting, score};
pub use worth::{Alike, Estimate, Rival, Worth, WorthSettings, worth, worth_on_new_items};
