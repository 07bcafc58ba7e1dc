//! The reported error against the true one on random cases, easy and hostile.

use correlated_dirichlet::pair::{PairDensity, Scratch};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Gamma};

const CASES: usize = 530;
/// Not among the seeds that the constants were chosen with, 1 and 101 to 105.
const SEED: u64 = 90_210;
/// Tolerance of the run that stands for the truth.
const TRUTH: f64 = 1e-11;

struct Case {
    x: [Vec<f64>; 2],
    alpha: [Vec<f64>; 2],
    delta: Vec<f64>,
}

fn gamma(rng: &mut ChaCha8Rng, shape: f64) -> f64 {
    if shape <= 0.0 {
        return 0.0;
    }
    let uniform: f64 = rng.random();
    Gamma::new(shape + 1.0, 1.0).unwrap().sample(rng) * uniform.powf(1.0 / shape)
}

fn normalise(x: &mut [f64]) {
    x.iter_mut().for_each(|x| *x = x.max(1e-12));
    let sum: f64 = x.iter().sum();
    x.iter_mut().for_each(|x| *x /= sum);
}

fn deltas(rng: &mut ChaCha8Rng, bounds: &[f64]) -> Vec<f64> {
    let (kind, ratio): (u32, f64) = (rng.random_range(0..6), rng.random());
    bounds
        .iter()
        .map(|&m| match kind {
            0 => m * rng.random::<f64>(),
            1 => m * ratio,
            2 => m * 0.98,
            3 => (m - 0.2 * rng.random::<f64>()).max(0.1 * m),
            4 => m * 1e-3,
            _ if rng.random_bool(0.25) => m,
            _ if rng.random_bool(0.2) => 0.0,
            _ => m * ratio,
        })
        .collect()
}

/// A random case with shapes up to about 10 to the power of `largest`.
fn case(rng: &mut ChaCha8Rng, largest: f64) -> Case {
    let n = [2, 2, 3, 3, 3, 4, 5, 10][rng.random_range(0..8)];
    let scale = 10f64.powf(rng.random_range(-0.7..largest));
    let mean: Vec<f64> = (0..n).map(|_| scale * (gamma(rng, 2.0) + 0.05)).collect();
    let mut alpha = [mean.clone(), mean];
    for alpha in alpha.iter_mut().flatten() {
        *alpha *= rng.random_range(0.7..1.4);
    }
    if rng.random_bool(0.3) {
        let (first, second) = alpha.split_at_mut(1);
        second[0].clone_from(&first[0]);
    }
    let bounds: Vec<f64> = alpha[0].iter().zip(&alpha[1]).map(|(a, b)| a.min(*b)).collect();
    let delta = deltas(rng, &bounds);
    let shared: Vec<f64> = delta.iter().map(|&d| gamma(rng, d)).collect();
    let mut x = [0, 1].map(|k| -> Vec<f64> {
        (0..n).map(|l| shared[l] + gamma(rng, alpha[k][l] - delta[l])).collect()
    });
    x.iter_mut().for_each(|x| normalise(x));
    match rng.random_range(0..5) {
        0 => {
            let near = |x: &f64| x * (1e-4 * rng.random::<f64>()).exp();
            x[1] = x[0].iter().map(near).collect();
        }
        1 => {
            for x in &mut x[1] {
                *x *= (0.5 * rng.random::<f64>() / scale.sqrt()).exp();
            }
        }
        _ => {}
    }
    normalise(&mut x[1]);
    Case { x, alpha, delta }
}

#[test]
fn the_reported_error_bounds_the_true_one() {
    let mut rng = ChaCha8Rng::seed_from_u64(SEED);
    let mut scratch = Scratch::default();
    let tolerances = [1e-4, 1e-6, 1e-8];
    let (mut finite, mut beyond) = (0, [0; 3]);
    for _ in 0..CASES {
        let Case { x, alpha, delta } = case(&mut rng, 3.5);
        let density = PairDensity::new(&alpha[0], &alpha[1], &delta).unwrap();
        let mut at = |tolerance: f64| {
            let density = density.clone().with_tolerance(tolerance).unwrap();
            density.ln_density(&x[0], &x[1], &mut scratch)
        };
        let truth = at(TRUTH).ln_density;
        for (tolerance, beyond) in tolerances.into_iter().zip(&mut beyond) {
            let got = at(tolerance);
            let off = (got.ln_density - truth).abs();
            *beyond += usize::from(truth.is_finite() && !(off <= got.error + 1e-10));
        }
        finite += usize::from(truth.is_finite());
    }
    assert!(finite >= 500, "only {finite} finite cases");
    assert!(beyond.iter().all(|&n| 50 * n <= finite), "{beyond:?} of {finite} beyond their error");
}

/// At a finite resolution, compared with runs at the finest tolerance that the tables allow. Both read the same tables, whose
/// error is tested against the definition in `resolution`.
#[test]
#[ignore = "slow: make validate"]
#[allow(clippy::print_stdout)] // its numbers
fn the_reported_error_bounds_the_true_one_at_a_finite_resolution() {
    let mut rng = ChaCha8Rng::seed_from_u64(SEED);
    let mut scratch = Scratch::default();
    let tolerances = [1e-4, 1e-6];
    let (mut beyond, mut large) = ([0; 2], 0);
    for i in 0..500 {
        let Case { x, alpha, delta } = case(&mut rng, 2.3);
        let density = PairDensity::new(&alpha[0], &alpha[1], &delta).unwrap();
        let density = density.with_resolution([0.003, 0.01, 0.03, 0.1][i % 4]).unwrap();
        let mut at = |tolerance: f64| {
            let density = density.clone().with_tolerance(tolerance).unwrap();
            density.ln_density(&x[0], &x[1], &mut scratch)
        };
        // first, so that the others share its tables
        let truth = at(1e-8);
        large += usize::from(!(truth.error < 1e-4));
        for (tolerance, beyond) in tolerances.into_iter().zip(&mut beyond) {
            let got = at(tolerance);
            let off = (got.ln_density - truth.ln_density).abs();
            *beyond += usize::from(!(off <= got.error + truth.error));
        }
    }
    println!("beyond their error at {tolerances:?}: {beyond:?} of 500; {large} with a large one");
    assert!(large <= 5 && beyond.iter().all(|&n| n <= 10), "{beyond:?} beyond, {large} large");
}
