//! `auto` and stacking: fitting as many items as the larger real sets have, fusing many.

use std::hint::black_box;

use consilience::methods::auto::Auto;
use consilience::methods::fuse;
use consilience::methods::stacking::Stacking;
use consilience::simulation::{Preset, Truth};
use consilience::{ClassPrior, NoProgress, Schema};
use correlated_dirichlet::CorrelatedDirichlet;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

/// Three classifiers with margins like a bookmaker's and a shared part.
fn three_classifiers() -> Truth {
    let schema = Schema::new(["a", "b", "c"], ["x", "y", "z"]).unwrap();
    let class = |j: usize| {
        let row: Vec<f64> = (0..3).map(|l| if l == j { 8.0 } else { 5.0 }).collect();
        let shared: Vec<f64> = row.iter().map(|a| 0.8 * a).collect();
        CorrelatedDirichlet::new(vec![row; 3], Some(shared), vec![]).unwrap()
    };
    Truth::new(schema.into(), (0..3).map(class).collect()).unwrap()
}

fn fitting(criterion: &mut Criterion) {
    let outputs = three_classifiers().simulate(1767, 1).unwrap();
    assert_eq!(outputs.n_items(), 5301);
    criterion.bench_function("fit auto, 5301 items, K=3 J=3", |bencher| {
        bencher.iter(|| Auto::default().learn(black_box(&outputs), &NoProgress).unwrap());
    });
    criterion.bench_function("fit stacking, 5301 items, K=3 J=3", |bencher| {
        bencher.iter(|| Stacking::default().learn(black_box(&outputs)).unwrap());
    });
}

fn fusing(criterion: &mut Criterion) {
    let truth = Preset::Sim2.truth(0.5).unwrap();
    let auto = Auto::default().learn(&truth.simulate(500, 1).unwrap(), &NoProgress).unwrap();
    let stacking = Stacking::default().learn(&truth.simulate(500, 1).unwrap()).unwrap();
    let outputs = truth.simulate(20_000, 2).unwrap();
    let prior = ClassPrior::uniform(3);
    let mut group = criterion.benchmark_group("fuse 60000 items, K=2 J=3");
    group.throughput(Throughput::Elements(outputs.n_items() as u64));
    group.bench_function("auto", |bencher| {
        bencher.iter(|| fuse(&auto.fusion, black_box(&outputs), &prior).unwrap());
    });
    group.bench_function("stacking", |bencher| {
        bencher.iter(|| fuse(&stacking.fusion, black_box(&outputs), &prior).unwrap());
    });
    group.finish();
}

criterion_group!(benches, fitting, fusing);
criterion_main!(benches);
