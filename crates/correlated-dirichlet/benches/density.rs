//! The pair density: exact and at a finite resolution, over shapes, correlations and numbers of classes.

use std::hint::black_box;

use correlated_dirichlet::pair::{Gradient, PairDensity, Scratch};
use criterion::{Criterion, criterion_group, criterion_main};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Gamma};

/// One density and an item drawn from it.
struct Case {
    density: PairDensity,
    x: [Vec<f64>; 2],
}

fn gamma(rng: &mut ChaCha8Rng, shape: f64) -> f64 {
    let uniform: f64 = rng.random();
    Gamma::new(shape + 1.0, 1.0).expect("positive shape").sample(rng) * uniform.powf(1.0 / shape)
}

fn cases(n: usize, scale: f64, ratio: f64, resolution: f64) -> Vec<Case> {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    (0..16)
        .map(|_| {
            let mut draw =
                || -> Vec<f64> { (0..n).map(|_| scale * rng.random_range(0.8..1.25)).collect() };
            let alpha = [draw(), draw()];
            let delta: Vec<f64> =
                alpha[0].iter().zip(&alpha[1]).map(|(a, b)| ratio * a.min(*b)).collect();
            let shared: Vec<f64> = delta.iter().map(|&d| gamma(&mut rng, d)).collect();
            let x = [0, 1].map(|k| -> Vec<f64> {
                let g: Vec<f64> =
                    (0..n).map(|l| shared[l] + gamma(&mut rng, alpha[k][l] - delta[l])).collect();
                let sum: f64 = g.iter().sum();
                g.iter().map(|g| g / sum).collect()
            });
            let density = PairDensity::new(&alpha[0], &alpha[1], &delta)
                .and_then(|density| density.with_resolution(resolution))
                .expect("legal parameters");
            Case { density, x }
        })
        .collect()
}

/// One fused item of two classifiers and three classes: the density of every class at the same outputs.
fn fused_items(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("pair_fused_item");
    for (ratio, resolution) in [(0.5, 0.0), (0.95, 0.0), (0.5, 0.03)] {
        let cases = cases(3, 10.0, ratio, resolution);
        let mut scratch = Scratch::default();
        let mut next = cases.chunks_exact(3).cycle();
        group.bench_function(format!("J3/alpha10/r{ratio}/eps{resolution}"), |bencher| {
            bencher.iter(|| {
                let classes = next.next().expect("endless");
                let [x1, x2] = &classes[0].x;
                for class in classes {
                    black_box(class.density.ln_density(x1, x2, &mut scratch));
                }
            });
        });
    }
    group.finish();
}

/// The same with the three densities of one model for the items of 15 different ones, many of them improbable.
fn one_model(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("pair_one_model");
    for (ratio, resolution) in [(0.5, 0.0), (0.95, 0.0), (0.5, 0.03), (0.95, 0.03)] {
        let cases = cases(3, 10.0, ratio, resolution);
        let mut scratch = Scratch::default();
        let mut next = cases[..15].iter().cycle();
        group.bench_function(format!("J3/alpha10/r{ratio}/eps{resolution}"), |bencher| {
            bencher.iter(|| {
                let [x1, x2] = &next.next().expect("endless").x;
                for class in &cases[..3] {
                    black_box(class.density.ln_density(x1, x2, &mut scratch));
                }
            });
        });
    }
    group.finish();
}

fn densities(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("pair_density");
    for (n, scale, ratio, resolution) in [
        (3, 10.0, 0.5, 0.0),
        (3, 10.0, 0.8, 0.0),
        (3, 10.0, 0.95, 0.0),
        (3, 100.0, 0.5, 0.0),
        (3, 1.0, 0.5, 0.0),
        (10, 100.0, 0.5, 0.0),
        (50, 100.0, 0.5, 0.0),
        (3, 10.0, 0.5, 0.03),
        (3, 10.0, 0.8, 0.03),
        (3, 10.0, 0.95, 0.03),
        (3, 10.0, 0.999, 0.03),
    ] {
        let cases = cases(n, scale, ratio, resolution);
        let mut scratch = Scratch::default();
        let mut next = cases.iter().cycle();
        group.bench_function(format!("J{n}/alpha{scale}/r{ratio}/eps{resolution}"), |bencher| {
            bencher.iter(|| {
                let case = next.next().expect("endless");
                black_box(case.density.ln_density(&case.x[0], &case.x[1], &mut scratch))
            });
        });
    }
    let cases = cases(3, 10.0, 0.5, 0.0);
    let (mut scratch, mut gradient) = (Scratch::default(), Gradient::default());
    let mut next = cases.iter().cycle();
    group.bench_function("J3/alpha10/r0.5/eps0/gradient", |bencher| {
        bencher.iter(|| {
            let case = next.next().expect("endless");
            let [x1, x2] = &case.x;
            black_box(case.density.ln_density_and_gradient(x1, x2, &mut scratch, &mut gradient))
        });
    });
    group.finish();
}

criterion_group!(benches, densities, fused_items, one_model);
criterion_main!(benches);
