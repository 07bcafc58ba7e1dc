//! Logarithms of gamma variates, for any shape.
//!
//! Half of all gamma variates of shape 10⁻³ underflow to 0, and ratios of such variates are 0/0. Their logarithms are
//! finite.

use rand::Rng;
use rand_distr::{Distribution, Exp1, Gamma};

/// Draws the logarithm of a gamma variate of the given shape and scale 1; −∞ for shape 0, which is the constant 0.
///
/// # Panics
/// If the shape is negative, NaN or infinite.
///
/// # Numerics
/// Below shape 1, G(a) = G(a + 1) e^(−E/a) with E standard exponential, which is exact; its logarithm is finite however
/// small the variate is.
pub fn sample_ln_gamma<R: Rng + ?Sized>(shape: f64, rng: &mut R) -> f64 {
    if shape == 0.0 {
        return f64::NEG_INFINITY;
    }
    let boosted = if shape < 1.0 { shape + 1.0 } else { shape };
    let gamma = Gamma::new(boosted, 1.0).expect("shapes are checked to be finite and >= 0");
    let ln = gamma.sample(rng).ln();
    if shape < 1.0 {
        let exponential: f64 = Exp1.sample(rng);
        ln - exponential / shape
    } else {
        ln
    }
}
