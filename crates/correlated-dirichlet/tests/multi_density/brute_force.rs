//! The density by plain Monte Carlo, f(x) = E_D Πₖ ∫ s^(J−1) Πₗ γ_a(s x_l − B_l) ds, with the shared gammas D drawn
//! from their prior.

use consilience_numerics::special::ln_gamma;
use correlated_dirichlet::CorrelatedDirichlet;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Gamma};

use super::{ln_density, pair};

fn gamma(rng: &mut ChaCha8Rng, shape: f64) -> f64 {
    let uniform: f64 = rng.random();
    Gamma::new(shape + 1.0, 1.0).unwrap().sample(rng) * uniform.powf(1.0 / shape)
}

/// ∫ s^(J−1) Π γ_a(s x − B) ds in s = s₀ + e^u, where s₀ is the smallest total with s x ≥ B in every component.
fn over_total(x: &[f64], shapes: &[f64], shared: &[f64]) -> f64 {
    let least = x.iter().zip(shared).map(|(x, b)| b / x).fold(0.0, f64::max);
    let (first, step) = (-14.0, 0.05);
    let mut sum = 0.0;
    for i in 0..400 {
        let u = first + step * f64::from(i);
        let s = least + u.exp();
        let mut ln = u + (x.len() as f64 - 1.0) * s.ln();
        for ((x, a), b) in x.iter().zip(shapes).zip(shared) {
            let private = (s - b / x) * x;
            ln += (a - 1.0) * private.ln() - private - ln_gamma(*a);
        }
        sum += step * ln.exp();
    }
    sum
}

/// ln f and its standard error from `n` draws.
fn brute_force(distribution: &CorrelatedDirichlet, x: &[Vec<f64>], n: usize) -> (f64, f64) {
    let mut rng = ChaCha8Rng::seed_from_u64(12);
    let (n_components, n_classifiers) = (distribution.n_components(), x.len());
    let mut private = distribution.alpha().to_vec();
    for l in 0..n_components {
        private.iter_mut().for_each(|a| a[l] -= distribution.common()[l]);
        for pair in distribution.pairs() {
            private[pair.first][l] -= pair.delta[l];
            private[pair.second][l] -= pair.delta[l];
        }
    }
    let (mut sum, mut square) = (0.0, 0.0);
    for _ in 0..n {
        let mut shared = vec![vec![0.0; n_components]; n_classifiers];
        for l in 0..n_components {
            if distribution.common()[l] > 0.0 {
                let d = gamma(&mut rng, distribution.common()[l]);
                shared.iter_mut().for_each(|b| b[l] += d);
            }
            for pair in distribution.pairs().iter().filter(|p| p.delta[l] > 0.0) {
                let d = gamma(&mut rng, pair.delta[l]);
                shared[pair.first][l] += d;
                shared[pair.second][l] += d;
            }
        }
        let each = (0..n_classifiers).map(|k| over_total(&x[k], &private[k], &shared[k]));
        let value: f64 = each.product();
        sum += value;
        square += value * value;
    }
    let mean = sum / n as f64;
    let variance = square / n as f64 - mean * mean;
    (mean.ln(), (variance / n as f64).sqrt() / mean)
}

/// Cases in which draws from the prior are efficient enough. The bound is four standard errors of the draws plus three
/// reported errors.
#[test]
#[ignore = "slow: make validate"]
fn brute_force_agrees() {
    let small = [0.4, 0.3];
    let cases = [
        // All shapes small, δ down to 0.01: mass at very negative ln D.
        (
            vec![vec![1.4, 1.2], vec![1.3, 1.5], vec![1.2, 1.1]],
            vec![0.05, 0.01],
            vec![pair(0, 1, &[0.02, 0.1])],
        ),
        (
            vec![vec![2.0, 1.5], vec![1.8, 1.6], vec![2.2, 1.4]],
            small.to_vec(),
            vec![pair(1, 2, &[0.2, 0.1])],
        ),
        // No common part: a chain of pairs.
        (
            vec![vec![3.0, 2.0], vec![3.0, 3.0], vec![2.0, 2.0]],
            vec![0.0, 0.0],
            vec![pair(0, 1, &[1.0, 0.5]), pair(1, 2, &[0.5, 1.0])],
        ),
        // A component that is not shared.
        (vec![vec![2.0, 3.0], vec![2.5, 2.0], vec![2.0, 2.0]], vec![0.8, 0.0], vec![]),
        (
            vec![vec![2.0, 3.0], vec![2.5, 2.0], vec![2.0, 2.0], vec![3.0, 2.0]],
            vec![0.5, 0.4],
            vec![pair(0, 3, &[0.3, 0.3])],
        ),
    ];
    let x = [vec![0.6, 0.4], vec![0.45, 0.55], vec![0.7, 0.3], vec![0.52, 0.48]];
    let y = [vec![0.9, 0.1], vec![0.2, 0.8], vec![0.5, 0.5], vec![0.65, 0.35]];
    for (i, (alpha, common, pairs)) in cases.into_iter().enumerate() {
        let n = alpha.len();
        let distribution = CorrelatedDirichlet::new(alpha, Some(common), pairs).unwrap();
        for x in [&x[..n], &y[..n]] {
            let got = ln_density(&distribution, x);
            let (want, sd) = brute_force(&distribution, x, 100_000);
            let off = (got.ln_density - want).abs();
            assert!(off < 4.0 * sd + 3.0 * got.error, "case {i}: {got:?}, not {want} ± {sd}");
            assert!(sd < 0.02, "case {i}: the standard error of the draws is {sd}");
        }
    }
}
