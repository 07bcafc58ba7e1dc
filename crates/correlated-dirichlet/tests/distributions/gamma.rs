//! Draws of the logarithm of a gamma variable.

use consilience_numerics::special::{digamma, trigamma};
use correlated_dirichlet::sample_ln_gamma;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;

/// E ln G = ψ(a), Var ln G = ψ′(a). The bound is six standard errors, exceeded by chance in one of 10⁸ runs.
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
        assert!((mean - digamma(shape)).abs() < 6.0 * standard_error, "shape {shape}: mean {mean}");
        // The kurtosis of ln G is at most 9 (shape → 0).
        let tolerance = 6.0 * (8.0 / f64::from(n)).sqrt();
        assert!((variance / sd.powi(2) - 1.0).abs() < tolerance, "shape {shape}: {variance}");
        assert!(draws.iter().all(|x| x.is_finite()));
    }
    assert_eq!(sample_ln_gamma(0.0, &mut ChaCha8Rng::seed_from_u64(1)), f64::NEG_INFINITY);
}
