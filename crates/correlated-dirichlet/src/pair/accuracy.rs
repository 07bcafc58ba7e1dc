//! Steps and cut-offs of the integrals for a given tolerance.

use std::f64::consts::PI;

/// Steps and cut-offs that depend on the tolerance alone.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Accuracy {
    /// The wanted relative error of the density.
    pub(crate) tolerance: f64,
    /// Step in y in units of its standard deviation.
    pub(crate) step_y: f64,
    /// The relative error allowed to all integrals over shared gammas together.
    pub(crate) target_inner: f64,
    /// The relative error allowed to the integral over the scale.
    pub(crate) target_s: f64,
    /// Terms below e^−cut of the largest are left out: in the ratio and the scale, and over shared gammas.
    pub(crate) cut: f64,
    pub(crate) cut_inner: f64,
    /// e^(−cut − 1).
    pub(crate) negligible_s: f64,
    /// Ends are closed where the expansion parameter is below this.
    pub(crate) onset: f64,
}

/// The step at which a sum over a standard Gaussian has the relative error t.
fn gaussian_step(t: f64) -> f64 {
    PI * (2.0 / (2.0 / t).ln()).sqrt()
}

impl Accuracy {
    pub(crate) fn new(tolerance: f64) -> Self {
        let cut = 2.0 - tolerance.ln();
        Self {
            tolerance,
            step_y: gaussian_step(0.04 * tolerance),
            target_inner: 0.05 * tolerance,
            target_s: 0.03 * tolerance,
            cut,
            cut_inner: 1.1 * cut + 1.0,
            negligible_s: (-cut - 1.0).exp(),
            onset: 0.6 * (0.1 * tolerance).powf(0.25),
        }
    }
}

/// A number of points from its estimate, which is positive and small.
pub(crate) fn count(estimate: f64) -> usize {
    estimate.clamp(0.0, 1e6).ceil() as usize
}
