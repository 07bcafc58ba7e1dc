//! Three and more classifiers: densities of one item under three true classes, and tables of items fused.

use std::hint::black_box;
use std::sync::Arc;

use consilience::methods::correlated::FullFusion;
use consilience::methods::correlated::tree::{TreeFusion, TreeKind, TreePair};
use consilience::methods::{Fusion, fuse};
use consilience::simulation::Truth;
use consilience::{ClassPrior, Schema};
use correlated_dirichlet::CorrelatedDirichlet;
use correlated_dirichlet::SharedPair;
use correlated_dirichlet::{MultiDensity, MultiScratch};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;

/// Items of every class in a fused table.
const ITEMS: usize = 8;

/// Private, common and pair shapes of `n` classifiers.
#[derive(Clone, Copy)]
struct Shapes {
    n: usize,
    private: f64,
    common: f64,
    pair: f64,
}

const fn shapes(n: usize, private: f64, common: f64, pair: f64) -> Shapes {
    Shapes { n, private, common, pair }
}

impl Shapes {
    fn pairs(self) -> impl Iterator<Item = (usize, usize)> {
        (0..self.n).flat_map(move |i| (i + 1..self.n).map(move |j| (i, j)))
    }

    /// Three classes, the shapes of the true one half as large again.
    fn distribution(self, class: usize) -> CorrelatedDirichlet {
        let grown = |shape: f64| -> Vec<f64> {
            (0..3).map(|l| shape * if l == class { 1.5 } else { 1.0 }).collect()
        };
        let shared = |(first, second)| SharedPair { first, second, delta: grown(self.pair) };
        let total = self.private + self.common + self.pair * (self.n - 1) as f64;
        let alpha = vec![grown(total); self.n];
        CorrelatedDirichlet::new(
            alpha,
            Some(grown(self.common)),
            self.pairs().map(shared).collect(),
        )
        .expect("legal parameters")
    }

    fn truth(self) -> Truth {
        let names = (0..self.n).map(|k| format!("c{k}"));
        let schema = Schema::new(names.collect::<Vec<_>>(), ["x", "y", "z"]).expect("legal names");
        let classes = (0..3).map(|class| self.distribution(class)).collect();
        Truth::new(Arc::new(schema), classes).expect("legal parameters")
    }

    fn full(self, resolution: f64) -> FullFusion {
        let truth = self.truth();
        FullFusion::new(Arc::clone(truth.schema()), truth.classes(), resolution)
            .expect("legal parameters")
    }

    /// The tree with the same pair margins.
    fn tree(self, resolution: f64) -> TreeFusion {
        let truth = self.truth();
        let classes = truth.classes();
        let alpha: Vec<Vec<Vec<f64>>> =
            (0..self.n).map(|k| classes.iter().map(|c| c.alpha()[k].clone()).collect()).collect();
        let pair = |(a, b)| TreePair {
            between: (a, b),
            delta: classes.iter().map(|c| c.shared_by(a, b)).collect(),
            gain: 1.0,
            gain_error: 0.0,
        };
        let pairs = self.pairs().map(pair).collect();
        TreeFusion::new(Arc::clone(truth.schema()), &alpha, pairs, TreeKind::Tree, resolution)
            .expect("legal parameters")
    }
}

/// Log densities of one item under all classes, to the default error each.
fn densities(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("many_density");
    group.sample_size(10);
    for shapes in [
        shapes(3, 10.0, 4.0, 1.0),
        shapes(3, 5.0, 2.0, 0.5),
        shapes(3, 2.0, 2.0, 0.5),
        shapes(3, 1.0, 2.0, 0.5),
        shapes(5, 5.0, 2.0, 0.5),
    ] {
        let density = |class: usize| {
            MultiDensity::new(&shapes.distribution(class)).expect("legal parameters")
        };
        let all: Vec<MultiDensity> = (0..3).map(density).collect();
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let items: Vec<Vec<f64>> =
            (0..8).map(|_| shapes.distribution(0).sample(&mut rng)).collect();
        let mut scratch = MultiScratch::default();
        let mut next = 0;
        group.bench_function(name("three_densities", shapes, 0.0), |bencher| {
            bencher.iter(|| {
                next = (next + 1) % items.len();
                let x: Vec<&[f64]> = items[next].chunks(3).collect();
                for density in &all {
                    black_box(density.ln_density(black_box(&x), &mut scratch));
                }
            });
        });
    }
    group.finish();
}

/// Tables of items fused as a user fuses them, probabilities to the default error.
fn fused(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("many_fused");
    group.sample_size(10);
    group.throughput(Throughput::Elements(3 * ITEMS as u64));
    let rows: [(&str, Shapes, f64); 7] = [
        ("full", shapes(3, 10.0, 4.0, 1.0), 0.0),
        ("full", shapes(3, 5.0, 2.0, 0.5), 0.0),
        ("full", shapes(3, 2.0, 2.0, 0.5), 0.0),
        ("full", shapes(3, 1.0, 2.0, 0.5), 0.0),
        ("tree", shapes(3, 1.0, 2.0, 0.5), 0.0),
        ("tree", shapes(3, 1.0, 2.0, 0.5), 0.03),
        ("tree", shapes(3, 0.03, 4.0, 0.1), 0.03),
    ];
    for (structure, shapes, resolution) in rows {
        let fusion: Box<dyn Fusion> = match structure {
            "full" => Box::new(shapes.full(resolution)),
            _ => Box::new(shapes.tree(resolution)),
        };
        let items = shapes.truth().simulate(ITEMS, 2).expect("legal parameters");
        let prior = ClassPrior::uniform(3);
        group.bench_function(name(structure, shapes, resolution), |bencher| {
            bencher.iter(|| black_box(fuse(&*fusion, black_box(&items), &prior)));
        });
    }
    group.finish();
}

fn name(what: &str, Shapes { n, private, common, .. }: Shapes, resolution: f64) -> String {
    format!("{what}/K{n}_J3_private{private}_common{common}_eps{resolution}")
}

criterion_group!(benches, densities, fused);
criterion_main!(benches);
