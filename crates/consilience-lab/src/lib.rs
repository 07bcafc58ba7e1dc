//! Experiments with Consilience that its users do not need: the paper's evaluation, calibration
//! runs, and the tables under `experiments/`.
//!
//! The binary `consilience-lab` runs them; `make reproduce` and `make validate` call it.

#![forbid(unsafe_code)]

pub mod calibration;
mod data;
pub mod gibbs;
pub mod kernels;
mod output;
mod plots;
mod progress;
pub mod published_mixture;
pub mod reproduce;
pub mod tables;

pub use data::real_data_set;

/// Why an experiment failed.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;
