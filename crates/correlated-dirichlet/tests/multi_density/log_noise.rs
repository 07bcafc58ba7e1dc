//! The density with log noise: its definition and its limits.

use consilience_numerics::special::normal_quantile;
use correlated_dirichlet::CorrelatedDirichlet;
use correlated_dirichlet::{MultiDensity, MultiScratch};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::{pair, slices, three};

/// The definition. Noise e^η on G translates the log ratios of an output, x' ∝ x e^−η, so that f_ε(x) Π x = E f₀(x') Π
/// x'. The right side needs the density without noise only.
fn smoothed(
    distribution: &CorrelatedDirichlet,
    x: &[Vec<f64>],
    epsilon: f64,
    n: usize,
) -> (f64, f64) {
    let exact = MultiDensity::new(distribution).unwrap().with_tolerance(0.03).unwrap();
    let (mut rng, mut scratch) = (ChaCha8Rng::seed_from_u64(6), MultiScratch::default());
    let mut values = Vec::new();
    for seed in 0..n {
        let mut moved = x.to_vec();
        let mut volume = 0.0;
        for (moved, x) in moved.iter_mut().zip(x) {
            for value in moved.iter_mut() {
                let normal = normal_quantile(rng.random());
                *value *= (-epsilon * std::f64::consts::FRAC_1_SQRT_2 * normal).exp();
            }
            let sum: f64 = moved.iter().sum();
            moved.iter_mut().for_each(|v| *v /= sum);
            volume += moved.iter().zip(x).map(|(a, b)| (a / b).ln()).sum::<f64>();
        }
        let one = exact.clone().with_seed(seed as u64).ln_density(&slices(&moved), &mut scratch);
        values.push((one.ln_density + volume).exp());
    }
    let mean = values.iter().sum::<f64>() / n as f64;
    let square = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n as f64;
    (mean.ln(), (square / n as f64).sqrt() / mean)
}

#[test]
#[ignore = "slow: make validate"]
fn log_noise_agrees_with_its_definition() {
    let x = vec![vec![0.5, 0.2, 0.3], vec![0.4, 0.3, 0.3], vec![0.45, 0.25, 0.3]];
    let common = CorrelatedDirichlet::new(
        vec![vec![3.0, 2.0, 2.0]; 3],
        Some(vec![2.0, 1.2, 1.1]),
        vec![pair(0, 1, &[0.2; 3])],
    )
    .unwrap();
    for (distribution, epsilon) in
        [(three(), 0.03), (three(), 0.2), (common.clone(), 0.03), (common, 0.1)]
    {
        let density = MultiDensity::new(&distribution).unwrap().with_log_noise(epsilon).unwrap();
        let long = density.with_max_points(1 << 20);
        let got = long.ln_density(&slices(&x), &mut MultiScratch::default());
        let (want, sd) = smoothed(&distribution, &x, epsilon, 1500);
        let off = (got.ln_density - want).abs();
        assert!(got.is_resolved() && got.error < 0.03 && sd < 0.02, "{got:?}, ± {sd}");
        assert!(
            off < 2.5 * got.error.hypot(sd) + 2e-3,
            "ε = {epsilon}: {got:?}, not {want} ± {sd}"
        );
    }
}

/// A small ε changes little if private shapes are large. The bound includes the error of the default number of points.
#[test]
fn little_noise_changes_little() {
    let x = vec![vec![0.5, 0.2, 0.3], vec![0.4, 0.3, 0.3], vec![0.45, 0.25, 0.3]];
    let density = MultiDensity::new(&three()).unwrap().with_log_noise(0.005).unwrap();
    let got = density.ln_density(&slices(&x), &mut MultiScratch::default());
    assert!(got.is_resolved() && got.error < 0.1, "{got:?}");
    assert!((got.ln_density - 7.365_11).abs() < 3.0 * got.error, "{got:?}");
}

/// Nearly equal outputs and a private shape of almost 0: the density is finite and converges as the shape goes to 0.
#[test]
fn private_shapes_may_vanish() {
    let x = vec![vec![0.5, 0.3, 0.2], vec![0.505, 0.297, 0.198], vec![0.497, 0.304, 0.199]];
    let at = |private: f64| {
        let shared = vec![6.0, 4.0, 3.0];
        let alpha = vec![shared.iter().map(|d| d + private).collect::<Vec<_>>(); 3];
        let all = CorrelatedDirichlet::new(alpha, Some(shared), vec![]).unwrap();
        let density = MultiDensity::new(&all).unwrap().with_log_noise(0.03).unwrap();
        density.with_max_points(1 << 18).ln_density(&slices(&x), &mut MultiScratch::default())
    };
    let (none, little) = (at(0.0), at(1e-6));
    assert!(none.is_resolved() && little.is_resolved(), "{none:?}, {little:?}");
    let error = none.error.hypot(little.error);
    assert!((none.ln_density - little.ln_density).abs() < 3.0 * error, "{none:?}, {little:?}");
}
