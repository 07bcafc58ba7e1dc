//! Samplers for posterior distributions, and diagnostics of their draws.
//!
//! A sampler works on a log density with its gradient and is independent of any model.

mod chains;
pub(crate) mod constants;
pub(crate) mod diagnostics;
mod hmc;
mod newton;

pub(crate) use chains::{ChainSettings, Draws, sample};
pub(crate) use hmc::hmc_steps;
pub(crate) use newton::{Mode, factorise, find_mode, search_mode};

use nalgebra::{DMatrix, DVector};

/// A log density on ℝᵈ, up to a constant, with its gradient.
pub(crate) trait Target: Sync {
    /// The dimension d.
    fn dimension(&self) -> usize;

    /// Returns the log density at `point` and writes its gradient.
    fn ln_density(&self, point: &[f64], gradient: &mut [f64]) -> f64;

    /// A positive definite approximation of the negative Hessian at `point`.
    fn curvature(&self, point: &[f64]) -> DMatrix<f64>;

    /// The inverse of that matrix times the gradient: the step of Newton's method.
    fn newton_step(&self, point: &[f64], gradient: &DVector<f64>) -> DVector<f64> {
        factorise(&self.curvature(point)).solve(gradient)
    }
}
