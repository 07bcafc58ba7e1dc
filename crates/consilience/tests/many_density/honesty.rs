//! The reported error against the true one on random cases.

use consilience::distributions::CorrelatedDirichlet;
use consilience::distributions::correlated_dirichlet::many::{ManyDensity, Scratch};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::{pair, slices};

const CASES: usize = 200;

/// K = 3..5, J = 2..5; every shape, private or shared, between .05 and 300, those of a case of one magnitude or of all.
fn case(rng: &mut ChaCha8Rng) -> (CorrelatedDirichlet, Vec<Vec<f64>>) {
    let (n, n_classes) = (rng.random_range(3..=5), rng.random_range(2..=5));
    let magnitude: f64 = rng.random_range(0.05f64.ln()..300f64.ln());
    let mixed = rng.random_bool(0.3);
    let shapes = |rng: &mut ChaCha8Rng| -> Vec<f64> {
        let ln_shape = |rng: &mut ChaCha8Rng| {
            if mixed {
                rng.random_range(0.05f64.ln()..300f64.ln())
            } else {
                (magnitude + rng.random_range(-1.0..1.0)).clamp(0.05f64.ln(), 300f64.ln())
            }
        };
        (0..n_classes).map(|_| ln_shape(rng).exp()).collect()
    };
    let common = shapes(rng);
    let mut alpha: Vec<Vec<f64>> = (0..n).map(|_| shapes(rng)).collect();
    alpha.iter_mut().for_each(|a| a.iter_mut().zip(&common).for_each(|(a, d)| *a += d));
    let mut pairs = Vec::new();
    let full = rng.random_bool(0.6);
    for (i, j) in (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j))).filter(|_| full) {
        let delta = shapes(rng);
        for k in [i, j] {
            alpha[k].iter_mut().zip(&delta).for_each(|(a, d)| *a += d);
        }
        pairs.push(pair(i, j, &delta));
    }
    let distribution = CorrelatedDirichlet::new(alpha, Some(common), pairs).unwrap();
    let mut x: Vec<Vec<f64>> =
        distribution.sample(rng).chunks(n_classes).map(<[f64]>::to_vec).collect();
    for x in &mut x {
        x.iter_mut().for_each(|x| *x = x.max(1e-6));
        let sum: f64 = x.iter().sum();
        x.iter_mut().for_each(|x| *x /= sum);
    }
    (distribution, x)
}

/// Against runs of half a million points from another seed: the true error below twice the reported one in at least 90 %, and no
/// resolved estimate off by more than ten times what it reports.
#[test]
#[ignore = "slow: long runs of 200 random cases"]
fn the_reported_error_is_the_true_one() {
    let mut rng = ChaCha8Rng::seed_from_u64(20);
    let mut scratch = Scratch::default();
    let (mut beyond, mut far, mut resolved, mut wanted) = (0, Vec::new(), 0, 0);
    for i in 0..CASES {
        let (distribution, x) = case(&mut rng);
        let density = ManyDensity::new(&distribution).unwrap();
        let got = density.ln_density(&slices(&x), &mut scratch);
        let long = density.with_seed(77).with_tolerance(1e-5).unwrap().with_most_points(1 << 19);
        let truth = long.ln_density(&slices(&x), &mut scratch);
        let off = (got.ln_density - truth.ln_density).abs();
        beyond += usize::from(!(off <= 2.0 * got.error + truth.error));
        resolved += usize::from(got.resolved);
        wanted += usize::from(got.error <= 1e-3);
        let line = format!("case {i}: {got:?}, long run {truth:?}");
        if !(off <= 10.0 * got.error + 2.0 * truth.error) {
            far.push(line);
        }
    }
    let summary = format!("{beyond} beyond twice, {resolved} resolved, {wanted} within 1e-3");
    assert!(beyond <= CASES / 10, "{summary}");
    assert!(far.is_empty(), "{summary}, beyond ten times: {far:#?}");
    assert!(resolved >= CASES / 2, "{summary}");
}
