//! Parts of the library that the laboratory crate checks or compares with; no stable interface.

use nalgebra::{Cholesky, DMatrix, Dyn};
use rand::Rng;

pub use crate::sampling::diagnostics::Diagnostics;

use crate::data::outputs::Outputs;
use crate::error::Result;
use crate::methods::correlated::learning::{self, Correlated};
use crate::methods::independent::Alpha;

/// A triangular factor F such that F·Fᵀ is a Wishart draw; see `distributions::wishart`.
pub fn sample_precision<R: Rng + ?Sized>(
    degrees: f64,
    inverse_scale: &Cholesky<f64, Dyn>,
    rng: &mut R,
) -> Option<DMatrix<f64>> {
    crate::distributions::sample_precision(degrees, inverse_scale, rng)
}

/// Draws of η = logit(δ/b) of every class and component given α, and of μ under the pooled prior: one list per
/// coordinate, chain by chain.
pub fn eta_draws(config: &Correlated, outputs: &Outputs, alpha: &Alpha) -> Result<Vec<Vec<f64>>> {
    learning::eta_draws(config, outputs, alpha)
}
