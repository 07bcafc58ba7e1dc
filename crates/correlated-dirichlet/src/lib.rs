#![doc = include_str!("../README.md")]
//!
//! ## Map of the crate
//!
//! - [`CorrelatedDirichlet`]: the parameters; samples, moments, marginals.
//! - [`PairDensity`] in [`pair`]: the density of two classifiers' outputs and its gradient, by quadrature; [`moments`]
//!   and their inverse.
//! - [`MultiDensity`] in [`multi`]: the density of any number of classifiers' outputs.
//! - [`Estimate`]: a log density with its error, as all densities return it.
//! - [`Dirichlet`]: the distribution of a single classifier's output.

#![forbid(unsafe_code)]

mod dirichlet;
mod distribution;
mod error;
mod estimate;
mod gamma;
mod marginal;
pub mod multi;
pub mod pair;
mod sample;

pub use dirichlet::Dirichlet;
#[doc(hidden)]
pub use dirichlet::check_concentration;
pub use distribution::{CorrelatedDirichlet, SharedPair};
pub use error::{Error, Result};
pub use estimate::Estimate;
#[doc(hidden)]
pub use gamma::sample_ln_gamma;
#[doc(inline)]
pub use multi::{MultiDensity, MultiScratch};
#[doc(inline)]
pub use pair::{
    ComponentMoments, Gradient, MomentMatch, PairDensity, Scratch as PairScratch,
    delta_for_correlation, delta_for_correlations, moment_match, moments,
};
