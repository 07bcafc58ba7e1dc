//! Normal approximations: moments of draws, Cholesky factors, and quasi-random designs.

use nalgebra::{Cholesky, DMatrix, DVector, Dyn};

use super::constants::design::{LARGEST_LOGIT, NO_EFFECT_LOGIT, OVERDISPERSION, WIDEST};
use super::constants::posterior::LEAST_PRECISION;
pub(super) use crate::sampling::factorise;
use crate::sampling::{Draws, Mode};
use consilience_numerics::special::normal_quantile;

/// The diagonal block of one class.
pub(super) fn block(matrix: &DMatrix<f64>, class: usize, width: usize) -> DMatrix<f64> {
    matrix.view((class * width, class * width), (width, width)).into_owned()
}

/// The curvature L Lᵀ with [`LEAST_PRECISION`] added in every direction.
pub(super) fn with_least_precision(factor: &DMatrix<f64>) -> Cholesky<f64, Dyn> {
    let d = factor.nrows();
    factorise(&(factor * factor.transpose() + DMatrix::identity(d, d) * LEAST_PRECISION))
}

/// Sample standard deviation.
pub(super) fn standard_deviation(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt()
}

/// Mean and covariance of draws.
pub(super) fn moments(draws: &Draws) -> (Vec<f64>, DMatrix<f64>) {
    let (n, d) = (draws.len(), draws.draw(0).len());
    let coordinates: Vec<Vec<f64>> = (0..d).map(|l| draws.coordinate(l)).collect();
    let mean: Vec<f64> = coordinates.iter().map(|x| x.iter().sum::<f64>() / n as f64).collect();
    let covariance = DMatrix::from_fn(d, d, |l, m| {
        let pairs = coordinates[l].iter().zip(&coordinates[m]);
        pairs.map(|(a, b)| (a - mean[l]) * (b - mean[m])).sum::<f64>() / (n - 1) as f64
    });
    (mean, covariance)
}

/// The normal approximation of the draws: centre and scale of the next chains.
pub(super) fn normal_approximation(draws: &Draws, converged: bool) -> Mode {
    let (point, covariance) = moments(draws);
    let curvature = factorise(&factorise(&covariance).inverse());
    Mode { point, curvature, converged }
}

/// The region that holds most of a class's posterior: its centre and the Cholesky factor of its
/// covariance.
#[derive(Debug, Clone)]
pub(super) struct Region {
    pub(super) centre: DVector<f64>,
    pub(super) factor: DMatrix<f64>,
}

impl Region {
    /// From a centre and a covariance, no coordinate wider than [`WIDEST`].
    pub(super) fn new(centre: &[f64], covariance: &DMatrix<f64>) -> Self {
        let shrink: Vec<f64> =
            (0..centre.len()).map(|l| (WIDEST / covariance[(l, l)].sqrt()).min(1.0)).collect();
        let matrix = DMatrix::from_fn(centre.len(), centre.len(), |l, m| {
            covariance[(l, m)] * shrink[l] * shrink[m]
        });
        let factor = factorise(&matrix).l();
        let centre = centre.iter().map(|x| x.min(LARGEST_LOGIT));
        Self { centre: DVector::from_iterator(shrink.len(), centre), factor }
    }

    /// Points `from..to` of a quasi-random design: a Kronecker sequence mapped to normal quantiles.
    pub(super) fn design(&self, from: usize, to: usize) -> Vec<Vec<f64>> {
        let d = self.centre.len();
        let root = generalised_golden_ratio(d);
        let point = |i: usize| {
            let q = DVector::from_fn(d, |l, _| {
                let u = (0.5 + (i + 1) as f64 * root.powf(-(l as f64 + 1.0))).fract();
                OVERDISPERSION * normal_quantile(u.clamp(1e-4, 1.0 - 1e-4))
            });
            let eta = &self.centre + &self.factor * q;
            let inside = |x: &f64| x.clamp(NO_EFFECT_LOGIT - 2.0, LARGEST_LOGIT + 2.0);
            eta.iter().map(inside).collect()
        };
        (from..to).map(point).collect()
    }

    /// Standard deviation of a coordinate.
    pub(super) fn width(&self, l: usize) -> f64 {
        self.factor.row(l).norm()
    }
}

/// The root of x^(d+1) = x + 1, whose powers generate an evenly spread sequence in d dimensions.
fn generalised_golden_ratio(d: usize) -> f64 {
    (0..60).fold(1.5f64, |x, _| (1.0 + x).powf(1.0 / (d as f64 + 1.0)))
}
