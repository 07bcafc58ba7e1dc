//! The independent model: fusing a million items, fitting with the full posterior.

use std::hint::black_box;
use std::sync::Arc;

use consilience::methods::fuse;
use consilience::methods::independent::{
    Independent, IndependentFusion, Inference, SufficientStatistics,
};
use consilience::simulation::Preset;
use consilience::{ClassPrior, NoProgress};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

fn fusing(criterion: &mut Criterion) {
    let outputs = Preset::Sim2.truth(0.5).unwrap().simulate(20_000, 1).unwrap();
    let alpha: Vec<Vec<f64>> = Preset::Sim2.alpha().iter().map(|row| row.to_vec()).collect();
    let model = IndependentFusion::new(Arc::clone(outputs.schema()), vec![alpha; 2]).unwrap();
    let prior = ClassPrior::uniform(3);
    let mut group = criterion.benchmark_group("independent");
    group.throughput(Throughput::Elements(outputs.n_items() as u64));
    group.bench_function("fuse 60000 items, K=2 J=3", |bencher| {
        bencher.iter(|| fuse(&model, black_box(&outputs), &prior).unwrap());
    });
    group.finish();
}

fn fitting(criterion: &mut Criterion) {
    let outputs = Preset::Sim1.truth(0.0).unwrap().simulate(500, 1).unwrap();
    let statistics = SufficientStatistics::of(&outputs).unwrap();
    for inference in [Inference::Posterior, Inference::Map] {
        let config = Independent { inference, ..Independent::default() };
        criterion.bench_function(
            &format!("fit {inference:?}, K=2 J=3, 500 items per class"),
            |bencher| {
                bencher.iter(|| {
                    config.learn(outputs.schema(), black_box(&statistics), &NoProgress).unwrap()
                });
            },
        );
    }
}

criterion_group!(benches, fusing, fitting);
criterion_main!(benches);
