//! How good fused probabilities are, with intervals.

mod bootstrap;
mod report;
mod scores;

pub use bootstrap::{BootstrapSettings, Scored};
pub use report::{Evaluation, EvaluationSettings, evaluate};
pub use scores::{CALIBRATION_BINS, Predictions, ScoreSet, Weighting, score};
