//! The proposal for the logarithms of the totals: a normal distribution with heavier tails, adapted by pilot rounds.

use nalgebra::DMatrix;

use super::super::constants::{
    FIRST_PROPOSAL_COVARIANCE, FIRST_PROPOSAL_NOISE, HEAVY_TAILS, KEPT_COVARIANCE,
    PILOT_POINTS_PER_TOTAL,
};
use super::super::mode::IntegrandMode;
use consilience_numerics::special::normal_quantile;

/// A proposal for θ = ln s.
pub(super) struct TotalsProposal {
    mean: Vec<f64>,
    /// Cholesky factor of the covariance.
    lower: DMatrix<f64>,
}

impl TotalsProposal {
    /// The Laplace approximation at the mode of the integrand without noise, widened by the noise.
    pub(super) fn at_mode(mode: &IntegrandMode, sigma: f64) -> Option<Self> {
        let n = mode.totals.len();
        let mut precision = DMatrix::<f64>::zeros(n, n);
        (0..n).for_each(|k| precision[(k, k)] = mode.curvature.totals[k]);
        for (shared, between) in mode.curvature.shared.iter().zip(&mode.curvature.between) {
            if shared.nrows() > 0 {
                precision -= between.tr_mul(&shared.clone().cholesky()?.solve(between));
            }
        }
        let mut covariance = precision.cholesky()?.inverse();
        (0..n).for_each(|k| covariance[(k, k)] += FIRST_PROPOSAL_NOISE * sigma * sigma);
        let lower = (covariance * FIRST_PROPOSAL_COVARIANCE).cholesky()?.l();
        Some(Self { mean: mode.totals.iter().map(|s| s.ln()).collect(), lower })
    }

    /// θ from the first uniforms, and minus its log density.
    pub(super) fn draw(&self, u: &[f64]) -> (Vec<f64>, f64) {
        let n = self.mean.len();
        let mut ln_volume = 0.5 * (2.0 * std::f64::consts::PI).ln() * n as f64;
        let mut stretched = vec![0.0; n];
        for (k, stretched) in stretched.iter_mut().enumerate() {
            let v = normal_quantile(u[k]);
            let square = v * v;
            *stretched = v * (1.0 + square / HEAVY_TAILS);
            let slope = 1.0 + 3.0 * square / HEAVY_TAILS;
            ln_volume += 0.5 * square + slope.ln() + self.lower[(k, k)].ln();
        }
        let theta = |k: usize| {
            self.mean[k] + (0..=k).map(|j| self.lower[(k, j)] * stretched[j]).sum::<f64>()
        };
        ((0..n).map(theta).collect(), ln_volume)
    }

    /// The proposal with the mean and covariance of weighted points (θ, ln weight), and the effective number of points.
    ///
    /// If few points carry the weight, the weights are tempered, and the old covariance keeps a share.
    pub(super) fn updated(self, points: &[(Vec<f64>, f64)]) -> Option<(Self, f64)> {
        let n = self.mean.len();
        let top = points.iter().map(|p| p.1).fold(f64::NEG_INFINITY, f64::max);
        if !top.is_finite() {
            return None;
        }
        let (weights, effective) = tempered_weights(points, top, PILOT_POINTS_PER_TOTAL * n as f64);
        let mean: Vec<f64> =
            (0..n).map(|k| points.iter().zip(&weights).map(|(p, w)| w * p.0[k]).sum()).collect();
        let mut covariance = DMatrix::<f64>::zeros(n, n);
        for ((theta, _), weight) in points.iter().zip(&weights) {
            for i in 0..n {
                for j in 0..n {
                    covariance[(i, j)] += weight * (theta[i] - mean[i]) * (theta[j] - mean[j]);
                }
            }
        }
        let old = &self.lower * self.lower.transpose();
        let kept = (2.0 / effective).min(KEPT_COVARIANCE);
        covariance = covariance * (1.0 - kept) + old * kept;
        let lower = covariance.cholesky()?.l();
        Some((Self { mean, lower }, effective))
    }
}

/// Normalised weights, raised to the largest power for which more than `wanted` points are effective, and that number.
fn tempered_weights(points: &[(Vec<f64>, f64)], top: f64, wanted: f64) -> (Vec<f64>, f64) {
    let mut power = 1.0;
    loop {
        let weights: Vec<f64> = points.iter().map(|p| (power * (p.1 - top)).exp()).collect();
        let sum: f64 = weights.iter().sum();
        let square: f64 = weights.iter().map(|w| w * w).sum();
        let effective = sum * sum / square;
        if effective > wanted || power < 0.05 {
            return (weights.iter().map(|w| w / sum).collect(), effective);
        }
        power *= 0.7;
    }
}
