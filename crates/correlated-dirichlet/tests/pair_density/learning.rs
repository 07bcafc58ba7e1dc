//! The density that learning reads, against the adaptive one.

use correlated_dirichlet::CorrelatedDirichlet;
use correlated_dirichlet::pair::{LearningDensity, LearningScratch, PairDensity, Scratch};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

/// Mean and standard deviation of the difference in ln f from [`PairDensity`] over 60 items, and the mean difference of the
/// derivative in the logarithm of δ₁.
fn compare(alpha: [f64; 3], true_share: f64, share: f64) -> (f64, f64, f64) {
    let delta = alpha.map(|a| share * a);
    let common = alpha.map(|a| (true_share * a).clamp(0.1, a - 0.1)).to_vec();
    let truth = CorrelatedDirichlet::new(vec![alpha.to_vec(); 2], Some(common), vec![]);
    let (truth, mut rng) = (truth.unwrap(), ChaCha8Rng::seed_from_u64(3));
    let exact = |delta: &[f64]| {
        PairDensity::new(&alpha, &alpha, delta).unwrap().with_resolution(0.03).unwrap()
    };
    let density = LearningDensity::new([&alpha, &alpha], &delta, 0.03, true).unwrap();
    let width = 1e-3 * delta[0].min(alpha[0] - delta[0]);
    let moved = |by: f64| exact(&[delta[0] + by, delta[1], delta[2]]);
    let (centre, low, high) = (exact(&delta), moved(-width), moved(width));
    let (mut s, mut g) = (Scratch::default(), LearningScratch::default());
    let (mut offs, mut slope_off) = (Vec::new(), 0.0f64);
    for _ in 0..60 {
        let outputs = truth.sample(&mut rng);
        let (a, b) = outputs.split_at(3);
        let nodes = density.nodes(a, b, &mut g);
        let mut gradient = [0.0; 3];
        let got = density.ln_density(a, b, &nodes, &mut g, &mut gradient);
        offs.push(got - centre.ln_density(a, b, &mut s).ln_density);
        let up = high.ln_density(a, b, &mut s).ln_density;
        let numeric = (up - low.ln_density(a, b, &mut s).ln_density) / (2.0 * width);
        slope_off += (gradient[0] - numeric) * width * 1e3 / 60.0;
    }
    let mean = offs.iter().sum::<f64>() / 60.0;
    let spread = (offs.iter().map(|o| (o - mean).powi(2)).sum::<f64>() / 59.0).sqrt();
    (mean, spread, slope_off)
}

#[test]
fn learning_agrees_with_the_density() {
    let (large, small) = ([12.0, 8.0, 8.0], [3.0, 2.0, 2.0]);
    for (alpha, true_share, share) in [
        (large, 0.5, 0.5),
        (large, 0.75, 0.8),
        (large, 0.0, 0.02),
        (large, 1.0, 0.99),
        (small, 0.5, 0.5),
        (small, 0.75, 0.9),
        (small, 1.0, 0.95),
    ] {
        let (mean, spread, slope) = compare(alpha, true_share, share);
        let good = mean.abs() < 1e-3 && spread < 1e-2 && slope.abs() < 3e-4;
        assert!(good, "{alpha:?} {true_share} {share}: {mean:.1e} {spread:.1e} {slope:.1e}");
    }
}

/// Ten components, nearly all outputs tiny and many of them tied: mean and largest difference in ln f from [`PairDensity`] over
/// 24 items, and the mean differences of the derivatives of a large component and a small one, relative to their range.
fn compare_tiny(share: f64) -> (f64, f64, [f64; 2]) {
    let alpha = [1.5, 0.08, 0.07, 0.09, 0.08, 0.1, 0.08, 0.07, 0.08, 0.3];
    let (other, delta) = (alpha.map(|a| 1.2 * a), alpha.map(|a| share * a));
    let density = LearningDensity::new([&alpha, &other], &delta, 0.1, true).unwrap();
    let moved = |l: usize, by: f64| {
        let mut delta = delta;
        delta[l] += by;
        PairDensity::new(&alpha, &other, &delta).unwrap().with_resolution(0.1).unwrap()
    };
    let (exact, checked) = (moved(0, 0.0), [0, 5]);
    let lengths = checked.map(|l| delta[l].min(alpha[l] - delta[l]));
    let either = [0, 1].map(|c| [-1e-2, 1e-2].map(|by| moved(checked[c], by * lengths[c])));
    let mut slopes = [0.0; 2];
    let output = |seed: u32, tied: usize| {
        // multiples of the golden ratio in place of random numbers
        let part = |l: u32| (0.618_034 * f64::from(seed + l)).fract();
        let mut x = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map(|l| (-14.0 * part(l)).exp().max(1e-6));
        x[1..=tied].fill(1e-6);
        x[0] = 0.9;
        let total: f64 = x.iter().sum();
        x.map(|x| x / total)
    };
    let (mut s, mut g, mut gradient) = (Scratch::default(), LearningScratch::default(), [0.0; 10]);
    let (mut mean, mut largest) = (0.0, 0.0f64);
    for i in 0..24 {
        let (a, b) = (output(31 * i, i as usize % 9), output(17 * i + 5, i as usize % 9));
        let nodes = density.nodes(&a, &b, &mut g);
        let got = density.ln_density(&a, &b, &nodes, &mut g, &mut gradient);
        let off = got - exact.ln_density(&a, &b, &mut s).ln_density;
        (mean, largest) = (mean + off / 24.0, largest.max(off.abs()));
        for c in 0..2 {
            let [low, high] = [0, 1].map(|e| either[c][e].ln_density(&a, &b, &mut s).ln_density);
            let numeric = (high - low) / 2e-2;
            slopes[c] += (gradient[checked[c]] * lengths[c] - numeric) / 24.0;
        }
    }
    (mean, largest, slopes)
}

#[test]
fn learning_agrees_with_the_density_for_many_tiny_outputs() {
    for (share, bound, widest) in [(0.6, 2e-4, 3e-4), (0.97, 2e-3, 0.04)] {
        let (mean, largest, slopes) = compare_tiny(share);
        assert!(mean.abs() < bound && largest < widest, "{share}: {mean} {largest}");
        assert!(slopes.iter().all(|s| s.abs() < bound), "{share}: {slopes:?}");
    }
}

/// `n` components with tiny private shapes, and items drawn from the model: mean and largest difference in ln f from
/// [`PairDensity`].
fn compare_drawn(n: usize, private: f64, seed: u64) -> (f64, f64) {
    let rng = &mut ChaCha8Rng::seed_from_u64(seed);
    let delta: Vec<f64> =
        (0..n).map(|l| if l == 0 { 1.5 } else { 0.03 * 16f64.powf(rng.random()) }).collect();
    let mut alpha =
        || -> Vec<f64> { delta.iter().map(|d| d + private * rng.random_range(0.5..1.5)).collect() };
    let alpha = [alpha(), alpha()];
    let truth = CorrelatedDirichlet::new(alpha.to_vec(), Some(delta.clone()), vec![]).unwrap();
    let learning = LearningDensity::new([&alpha[0], &alpha[1]], &delta, 0.1, false).unwrap();
    let exact = PairDensity::new(&alpha[0], &alpha[1], &delta).unwrap();
    let exact = exact.with_resolution(0.1).unwrap();
    let (mut s, mut g) = (Scratch::default(), LearningScratch::default());
    let (mut mean, mut largest) = (0.0, 0.0f64);
    for _ in 0..20 {
        let drawn = truth.sample(rng);
        let [a, b] = [0, n].map(|k| {
            let x: Vec<f64> = drawn[k..k + n].iter().map(|x| x.max(1e-6)).collect();
            let total: f64 = x.iter().sum();
            x.iter().map(|x| x / total).collect::<Vec<f64>>()
        });
        let nodes = learning.nodes(&a, &b, &mut g);
        let found = learning.ln_density(&a, &b, &nodes, &mut g, &mut vec![0.0; n]);
        let off = found - exact.ln_density(&a, &b, &mut s).ln_density;
        (mean, largest) = (mean + off / 20.0, largest.max(off.abs()));
    }
    (mean, largest)
}

#[test]
fn learning_agrees_with_the_density_at_tiny_private_shapes() {
    for private in [1e-3, 1e-2, 0.1] {
        for seed in 0..3 {
            let (mean, largest) = compare_drawn(10, private, seed);
            assert!(mean.abs() < 1e-3 && largest < 1e-2, "{private} {seed}: {mean} {largest}");
        }
    }
}

/// With many ties at different places, every tie has nodes enough of its own.
#[test]
fn learning_agrees_with_the_density_with_many_ties() {
    for (private, seed) in [(0.01, 0), (0.01, 1), (0.1, 0), (0.1, 1)] {
        let (mean, largest) = compare_drawn(30, private, seed);
        assert!(mean.abs() < 1e-3 && largest < 2e-3, "{private} {seed}: {mean} {largest}");
    }
}
