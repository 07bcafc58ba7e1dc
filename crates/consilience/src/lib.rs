//! Combines the probability outputs of several classifiers into one calibrated probability.
//!
//! Data flows one way: a table of outputs is checked once when it becomes [`Outputs`]; a
//! [`FitConfig`] learns a [`Model`] from labelled ones; [`methods::fuse`] turns new ones into
//! probabilities with their numerical error; [`evaluation`] scores them.
//!
//! ```
//! use consilience::{FitConfig, InputFormat, OutputsBuilder, Schema, NoProgress, methods::fuse};
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
//! let model = FitConfig::default().fit(&train, &NoProgress)?;
//! let fused = fuse(model.fusion()?, &train, model.class_prior())?;
//! assert_eq!(fused.predicted(0), 0);
//! # Ok::<(), consilience::Error>(())
//! ```
//!
//! The modules, from the ground up: [`math`] (pure numerics), [`distributions`] and [`sampling`]
//! (Dirichlets, posteriors), [`fusion`] (the methods), [`model`] (a fitted method as a whole, and
//! its file), [`evaluation`], [`decision`] and [`simulation`]. The crate computes; it never prints and never
//! opens a file.

mod data;
pub mod decision;
mod distributions;
mod error;
pub mod evaluation;
mod folds;
pub mod methods;

mod math;
pub mod model;
mod progress;
mod sampling;
pub mod simulation;
mod warning;

pub use data::class_prior::{ClassPrior, PriorChoice};
pub use data::input_format::{Admitted, DEFAULT_FLOOR, InputFormat, SUM_TOLERANCE, ValueKind};
pub use data::outputs::{Items, Outputs, OutputsBuilder};
pub use data::schema::Schema;
pub use error::{Error, OutputProblem, Result};
pub use model::{FitConfig, MethodChoice, Model};
pub use progress::{NoProgress, Progress};
pub use sampling::diagnostics::Diagnostics;
pub use warning::{Warning, WarningKind};

/// The README's Rust example is a test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
