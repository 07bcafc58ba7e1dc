//! Combines the probability outputs of several classifiers into one calibrated probability.
//!
//! Data flow one way: a table of outputs is checked once when it becomes [`Outputs`]; a method
//! learns a [`Model`] from labelled outputs; the model fuses new ones into probabilities with
//! their numerical error; [`evaluation`] scores them.
//!
//! ```
//! use consilience::{Auto, InputFormat, OutputsBuilder, Schema};
//!
//! let schema = Schema::new(["resnet", "vit"], ["cat", "dog"])?;
//! let mut train = OutputsBuilder::new(schema, InputFormat::default())?;
//! for (x, label) in [
//!     ([0.8, 0.2, 0.7, 0.3], "cat"),
//!     ([0.6, 0.4, 0.9, 0.1], "cat"),
//!     ([0.3, 0.7, 0.4, 0.6], "dog"),
//!     ([0.1, 0.9, 0.3, 0.7], "dog"),
//! ] {
//!     train.push(&x, Some(label))?;
//! }
//! let train = train.finish();
//! let model = Auto::default().fit(&train)?;
//! let fused = model.fuse(&train)?;
//! assert_eq!(fused.predicted(0), 0);
//! # Ok::<(), consilience::Error>(())
//! ```
//!
//! The modules, from the ground up: [`methods`] (one folder per fusion method), [`model`] (a
//! fitted method as a whole, and its file), [`evaluation`], [`decision`] and [`simulation`]. Sources
//! that give labels instead of probabilities are combined by [`votes`]. The
//! distribution behind the method `correlated` is a crate of its own, `correlated-dirichlet`. The
//! library never prints.

#![forbid(unsafe_code)]

mod data;
pub mod decision;
mod distributions;
mod error;
pub mod evaluation;
pub mod export;
mod folds;
mod formula;
mod hint;
#[cfg(feature = "laboratory")]
#[doc(hidden)]
pub mod laboratory;
mod math;
pub mod methods;
pub mod model;
mod progress;
mod sampling;
pub mod simulation;
mod text;
mod versioned_file;
pub mod votes;
mod warning;

pub use data::class_prior::{ClassPrior, PriorChoice};
pub use data::input_format::{
    DEFAULT_FLOOR, DEFAULT_SUM_TOLERANCE, Doubts, InputFormat, ValueKind,
};
pub use data::outputs::{Items, Outputs, OutputsBuilder};
pub use data::schema::Schema;
pub use error::{Error, OutputProblem, Result};
pub use hint::Hint;
pub use methods::auto::Auto;
pub use methods::bcc::Bcc;
pub use methods::correlated::learning::{CorrelatedInference, DeltaPrior};
pub use methods::correlated::{Correlated, Structure};
pub use methods::discounted::Discounted;
pub use methods::independent::{AlphaPrior, Independent, Inference, SufficientStatistics};
pub use methods::logit_normal::LogitNormal;
pub use methods::meta::Meta;
pub use methods::normal_mixture::NormalMixture;
pub use methods::pools::{LinearPool, LogPool, OpinionPool, Weights};
pub use methods::stacking::{ClassBalance, Ridge, Stacking};
pub use methods::{Fused, MethodConfig};
pub use model::{FitOptions, FuseOptions, Model};
pub use progress::{NoProgress, Progress};
pub use sampling::diagnostics::Diagnostics;
pub use warning::{Warning, WarningKind};

/// The README's Rust example is a test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// The examples of the guide to votes are tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/votes.md")]
struct VotesGuide;
