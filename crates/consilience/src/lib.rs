//! Combines the probability outputs of several classifiers into one calibrated probability.

mod class_prior;
pub mod distributions;
mod error;
pub mod evaluation;
pub mod fusion;
pub mod math;
pub mod model;
mod outputs;
mod parallel;
pub mod sampling;
mod schema;
pub mod simulation;
mod warning;
mod watch;

pub use class_prior::{ClassPrior, PriorChoice};
pub use error::{Error, OutputProblem, Result};
pub use model::{FitConfig, MethodChoice, Model};
pub use outputs::{
    DEFAULT_FLOOR, Intake, Items, Outputs, OutputsBuilder, SUM_TOLERANCE, ValueKind,
};
pub use schema::Schema;
pub use warning::{Warning, WarningKind};
pub use watch::{Unwatched, Watch};
