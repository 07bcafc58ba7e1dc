//! Gamma variates in log space, for any shape.
//!
//! A gamma variate of shape 10⁻³ underflows to exactly 0 in half of all draws, and ratios of such
//! variates become 0/0. Their logarithms are harmless, so only logarithms are drawn here.

use rand::Rng;
use rand_distr::{Distribution, Exp1, Gamma};

/// The logarithm of a gamma variate of the given shape and scale 1. Shape 0 is the constant 0,
/// so −∞.
///
/// # Panics
/// If the shape is negative, NaN or infinite; distributions check their shapes when made.
///
/// # Numerics
/// Below shape 1 by ln Γ-variate(a) = ln Γ-variate(a + 1) − E/a with E standard exponential:
/// exact, and finite down to shapes where the variate is about e^(−1/a).
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

#[cfg(test)]
mod tests {
    use super::*;
    use consilience_numerics::special::{digamma, trigamma};
    use rand::SeedableRng;
    use rand::rngs::ChaCha8Rng;

    /// E ln G = ψ(a), Var ln G = ψ′(a); six standard errors, so a false alarm in 10⁸ runs.
    #[test]
    fn mean_and_variance_of_the_logarithm_are_exact_at_every_shape() {
        let n = 50_000;
        for (stream, shape) in [1e-8, 1e-3, 0.2, 1.0, 3.5, 1e3, 1e6].into_iter().enumerate() {
            let mut rng = ChaCha8Rng::seed_from_u64(7);
            rng.set_stream(stream as u64);
            let draws: Vec<f64> = (0..n).map(|_| sample_ln_gamma(shape, &mut rng)).collect();
            let mean = draws.iter().sum::<f64>() / f64::from(n);
            let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / f64::from(n);
            let sd = trigamma(shape).sqrt();
            let standard_error = sd / f64::from(n).sqrt();
            assert!(
                (mean - digamma(shape)).abs() < 6.0 * standard_error,
                "shape {shape}: mean {mean}"
            );
            // The kurtosis of ln G is at most 9 (shape → 0).
            let tolerance = 6.0 * (8.0 / f64::from(n)).sqrt();
            assert!((variance / sd.powi(2) - 1.0).abs() < tolerance, "shape {shape}: {variance}");
            assert!(draws.iter().all(|x| x.is_finite()));
        }
        assert_eq!(sample_ln_gamma(0.0, &mut ChaCha8Rng::seed_from_u64(1)), f64::NEG_INFINITY);
    }
}
