//! Probability distributions, one a file.

pub mod correlated_dirichlet;
mod dirichlet;
mod gamma;

pub use correlated_dirichlet::{CorrelatedDirichlet, SharedPair};
pub use dirichlet::Dirichlet;
pub(crate) use dirichlet::check_concentration;
pub use gamma::sample_ln_gamma;
