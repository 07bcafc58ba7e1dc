//! Draws from the Wishart distribution by Bartlett's decomposition.

use nalgebra::{Cholesky, DMatrix, Dyn};
use rand::{Rng, RngExt};
use rand_distr::StandardNormal;

use correlated_dirichlet::sample_ln_gamma;

/// Draws a precision matrix F·Fᵀ whose inverse is inverse Wishart(ν, V) with ν > d − 1 degrees of
/// freedom, and returns the lower triangular F. `inverse_scale` is the Cholesky decomposition of V.
///
/// # Numerics
/// With V = L·Lᵀ and Bartlett's matrix A, the product M·Mᵀ of M = L⁻ᵀ·A has the required distribution.
/// M is not triangular; F is the Cholesky factor of M·Mᵀ.
///
/// # References
/// Bartlett, "On the theory of statistical regression", 1933; Smith, Hocking, "Algorithm AS 53",
/// 1972. <https://doi.org/10.2307/2346290>
pub(crate) fn sample_precision<R: Rng + ?Sized>(
    degrees: f64,
    inverse_scale: &Cholesky<f64, Dyn>,
    rng: &mut R,
) -> Option<DMatrix<f64>> {
    let d = inverse_scale.l_dirty().nrows();
    let mut bartlett = DMatrix::zeros(d, d);
    for i in 0..d {
        // √χ² with ν − i degrees of freedom.
        let half = 0.5 * (degrees - i as f64);
        bartlett[(i, i)] = (0.5 * (sample_ln_gamma(half, rng) + 2f64.ln())).exp();
        for j in 0..i {
            bartlett[(i, j)] = rng.sample::<f64, _>(StandardNormal);
        }
    }
    let upper = inverse_scale.l().transpose();
    let factor = upper.solve_upper_triangular(&bartlett)?;
    Some((&factor * factor.transpose()).cholesky()?.unpack())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand::rngs::ChaCha8Rng;

    /// The mean is νQ and the variance of entry (a, b) is ν(Qab² + Qaa Qbb) with Q = V⁻¹; the tolerance
    /// is six standard errors.
    #[test]
    fn draws_have_the_mean_and_variance_of_a_wishart_distribution() {
        let v = DMatrix::from_row_slice(3, 3, &[2.0, 0.5, 0.1, 0.5, 1.0, -0.3, 0.1, -0.3, 0.7]);
        let q = v.clone().try_inverse().unwrap();
        let cholesky = v.cholesky().unwrap();
        let n = 20_000;
        for degrees in [2.5, 7.0] {
            let mut rng = ChaCha8Rng::seed_from_u64(5);
            let (mut mean, mut square) = (DMatrix::zeros(3, 3), DMatrix::zeros(3, 3));
            for _ in 0..n {
                let f = sample_precision(degrees, &cholesky, &mut rng).unwrap();
                let w = &f * f.transpose();
                mean += &w / f64::from(n);
                square += w.component_mul(&w) / f64::from(n);
            }
            for a in 0..3 {
                for b in 0..3 {
                    let variance = degrees * (q[(a, b)].powi(2) + q[(a, a)] * q[(b, b)]);
                    let se = (variance / f64::from(n)).sqrt();
                    assert!((mean[(a, b)] - degrees * q[(a, b)]).abs() < 6.0 * se);
                    let got = square[(a, b)] - mean[(a, b)].powi(2);
                    // The excess kurtosis of products of normal variables is at most 12/ν + 6.
                    let spread = ((8.0 + 12.0 / degrees) / f64::from(n)).sqrt();
                    assert!((got / variance - 1.0).abs() < 6.0 * spread, "{got} {variance}");
                }
            }
        }
    }
}
