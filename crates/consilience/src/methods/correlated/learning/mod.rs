//! Learning what two classifiers share: δ of every class, given labelled outputs.
//!
//! The margins α come from the independent model; then δ is learned from the items for which both
//! classifiers have an output, in the coordinates
//!
//! ```text
//! ηₗ = logit(δₗ / bₗ),   bₗ = min(α¹ₗ, α²ₗ),   so that every real η is legal
//! ```
//!
//! A climb to the mode (scoring with the items' own scores) starts from the correlations of the
//! outputs and again from other places. Around the mode each class's log likelihood is replaced by a
//! polynomial fitted to exact values and gradients at designed points; chains run on polynomials plus
//! prior, and the polynomials are refitted with the chains' own points until both agree. Where they
//! do not agree well, the chains' draws become proposals of a chain with the exact log likelihood.
//! The uncertainty of α is carried along at last (see `carried`).

mod all_pairs;
mod alpha_uncertainty;
#[cfg(test)]
mod calibration;
mod common_part;
mod config;
mod delta_posterior;
mod full;
mod gibbs;
mod joint;
mod joint_fit;
mod margins;
mod mode_search;
mod moment_match;
mod observed_correlation;
mod pair_fit;
mod pair_items;
mod pair_likelihood;
mod polynomial;
mod polynomial_surrogate;
mod prior;
mod report;
mod surrogate_sampling;

pub use all_pairs::{FittedPairs, PairsDraw};
pub use common_part::Split;
pub use config::{Correlated, CorrelatedInference, DeltaPrior, DeltaSampler};
pub(crate) use config::{OPTIONS, default_resolution};
pub use full::{FittedShared, SharedReport};
pub use moment_match::moment_match;
pub use observed_correlation::ObservedPair;
pub use pair_fit::{DeltaReport, FittedPair, PairDraw};
