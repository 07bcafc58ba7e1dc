//! Slice sampling of one coordinate: exact for any density and any width.

use rand::{Rng, RngExt};
use rand_distr::{Distribution, Exp1};

/// Largest number of widths of a slice, both sides together.
const MAX_WIDTHS: u32 = 40;

/// Number of shrinkings after which the old point is kept: the density may be finite at one point only.
const MAX_SHRINKINGS: u32 = 200;

/// One step of slice sampling from `x` with log density `ln_f`; returns the new point.
///
/// Steps out by `width`, then shrinks. The new point has the distribution of the density if `x` has.
///
/// # References
/// Neal, "Slice sampling", Annals of Statistics 31(3), 2003. <https://doi.org/10.1214/aos/1056562461>
pub(super) fn slice_step<R: Rng + ?Sized>(
    x: f64,
    width: f64,
    mut ln_f: impl FnMut(f64) -> f64,
    rng: &mut R,
) -> f64 {
    let depth: f64 = Exp1.sample(rng);
    let level = ln_f(x) - depth;
    let mut low = x - width * rng.random::<f64>();
    let mut high = low + width;
    // The widths are divided between both sides at random, as Neal's proof requires.
    let to_the_left = rng.random_range(0..MAX_WIDTHS);
    for _ in 0..to_the_left {
        if !(ln_f(low) > level) {
            break;
        }
        low -= width;
    }
    for _ in to_the_left..MAX_WIDTHS - 1 {
        if !(ln_f(high) > level) {
            break;
        }
        high += width;
    }
    for _ in 0..MAX_SHRINKINGS {
        let new = low + (high - low) * rng.random::<f64>();
        if ln_f(new) > level {
            return new;
        }
        if new < x { low = new } else { high = new }
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand::rngs::ChaCha8Rng;

    /// Mean and variance of ln of a gamma variate, ψ(a) and ψ′(a), at widths far too small and too
    /// large. 40 000 draws with an autocorrelation time of at most 6: five standard errors.
    #[test]
    fn moments_of_a_skew_density() {
        let shape = 0.4;
        let (mean, variance) = (
            consilience_numerics::special::digamma(shape),
            consilience_numerics::special::trigamma(shape),
        );
        for width in [0.7, 4.0, 60.0] {
            let mut rng = ChaCha8Rng::seed_from_u64(5);
            let (n, mut x, mut sum, mut square) = (40_000, 0.0f64, 0.0, 0.0);
            for _ in 0..n {
                x = slice_step(x, width, |x| shape * x - x.exp(), &mut rng);
                sum += x - mean;
                square += (x - mean).powi(2);
            }
            let error = 5.0 * (6.0 * variance / f64::from(n)).sqrt();
            assert!((sum / f64::from(n)).abs() < error, "width {width}: {}", sum / f64::from(n));
            assert!((square / f64::from(n) / variance - 1.0).abs() < 0.15, "width {width}");
        }
    }

    #[test]
    fn an_isolated_point_is_kept() {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let spike = |x: f64| if x == 1.5 { 0.0 } else { f64::NEG_INFINITY };
        assert_eq!(slice_step(1.5, 1.0, spike, &mut rng), 1.5);
    }
}
