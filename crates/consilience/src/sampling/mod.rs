//! Drawing from posterior distributions and judging the draws.
//!
//! A sampler knows a log density and its gradient, never a model.

mod chains;
pub mod diagnostics;
mod hmc;
mod newton;

pub use chains::{ChainSettings, Draws, sample};
pub(crate) use hmc::hmc_steps;
pub use newton::{Mode, find_mode};

use nalgebra::DMatrix;

/// A log density on ℝᵈ, up to a constant, with its gradient.
pub trait Target: Sync {
    /// The dimension d.
    fn dimension(&self) -> usize;

    /// The log density at `point`; writes its gradient.
    fn ln_density(&self, point: &[f64], gradient: &mut [f64]) -> f64;

    /// A positive definite approximation of the negative Hessian at `point`.
    fn curvature(&self, point: &[f64]) -> DMatrix<f64>;
}
