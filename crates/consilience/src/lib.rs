//! Combines the probability outputs of several classifiers into one calibrated probability.
#![doc = "skeleton"]

pub mod distributions;
mod error;
pub mod math;
mod outputs;
mod schema;

pub use error::{Error, OutputProblem, Result};
pub use outputs::{
    DEFAULT_FLOOR, Intake, Items, Outputs, OutputsBuilder, SUM_TOLERANCE, ValueKind,
};
pub use schema::Schema;
