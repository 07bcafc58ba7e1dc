//! The correlated Dirichlet distribution of Trick & Rothkopf (AISTATS 2022).
//!
//! It is the joint distribution of several points of the simplex, each of which has a Dirichlet
//! margin, made dependent by gamma variables that they share.

mod dirichlet;
mod distribution;
mod error;
mod estimate;
mod gamma;
mod marginal;
pub mod multi;
pub mod pair;
mod sample;

pub use dirichlet::{Dirichlet, check_concentration};
pub use distribution::{CorrelatedDirichlet, SharedPair};
pub use error::{Error, Result};
pub use estimate::Estimate;
pub use gamma::sample_ln_gamma;
pub use multi::{MultiDensity, MultiScratch};
pub use pair::PairDensity;
