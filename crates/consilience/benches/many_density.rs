//! The density of three and more classifiers: a fused item is one density for each of three true classes.

use std::hint::black_box;

use consilience::distributions::CorrelatedDirichlet;
use consilience::distributions::correlated_dirichlet::SharedPair;
use consilience::distributions::correlated_dirichlet::many::{ManyDensity, Scratch};
use criterion::{Criterion, criterion_group, criterion_main};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;

/// Three true classes' densities and items drawn from the first.
struct Case {
    densities: Vec<ManyDensity>,
    items: Vec<Vec<f64>>,
}

/// `n` classifiers, three classes; private, common and pair shapes as given, the true class's half as large again.
fn case(n: usize, private: f64, common: f64, pair: f64, resolution: f64) -> Case {
    let distribution = |class: usize| {
        let grown = |shape: f64| (0..3).map(move |l| shape * if l == class { 1.5 } else { 1.0 });
        let mut pairs = Vec::new();
        for (first, second) in (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j))) {
            pairs.push(SharedPair { first, second, delta: grown(pair).collect() });
        }
        let total = private + common + pair * (n - 1) as f64;
        let alpha = vec![grown(total).collect(); n];
        let common = grown(common).collect();
        CorrelatedDirichlet::new(alpha, Some(common), pairs).expect("legal parameters")
    };
    let density = |class: usize| {
        let density = ManyDensity::new(&distribution(class)).expect("legal parameters");
        density.with_resolution(resolution).expect("a legal resolution")
    };
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let items = (0..8).map(|_| distribution(0).sample(&mut rng)).collect();
    Case { densities: (0..3).map(density).collect(), items }
}

fn fused_items(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("many_density");
    group.sample_size(10);
    for (n, private, common, pair, resolution) in [
        (3, 10.0, 4.0, 1.0, 0.0),
        (3, 5.0, 2.0, 0.5, 0.0),
        (3, 2.0, 2.0, 0.5, 0.0),
        (3, 1.0, 2.0, 0.5, 0.0),
        (5, 5.0, 2.0, 0.5, 0.0),
        (3, 1.0, 4.0, 0.1, 0.03),
        (3, 0.03, 4.0, 0.1, 0.03),
    ] {
        let case = case(n, private, common, pair, resolution);
        let mut scratch = Scratch::default();
        let name = format!("fused_item/K{n}_J3_private{private}_common{common}_eps{resolution}");
        let mut next = 0;
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                next = (next + 1) % case.items.len();
                let x: Vec<&[f64]> = case.items[next].chunks(3).collect();
                for density in &case.densities {
                    black_box(density.ln_density(black_box(&x), &mut scratch));
                }
            });
        });
    }
    group.finish();
}

criterion_group!(benches, fused_items);
criterion_main!(benches);
