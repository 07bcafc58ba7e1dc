//! The page of 10 000 items with 8 sources and 5 classes.

use std::hint::black_box;

use consilience::{Auto, InputFormat, Outputs, OutputsBuilder, Schema};
use consilience_report::{Report, ReportOptions};
use criterion::{Criterion, criterion_group, criterion_main};

const CLASSES: usize = 5;
const SOURCES: usize = 8;

/// Outputs that favour the true class; the first four sources share a part of their noise.
fn items(n: usize, seed: u64) -> Outputs {
    let names: Vec<String> = (0..SOURCES).map(|k| format!("s{k}")).collect();
    let schema = Schema::new(names, ["a", "b", "c", "d", "e"]).expect("names are distinct");
    let mut builder = OutputsBuilder::new(schema, InputFormat::default()).expect("a good format");
    let mut state = seed;
    let mut noise = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        f64::from(u32::try_from(state >> 33).expect("31 bits")) / f64::from(1u32 << 31) * 3.0
    };
    for item in 0..n {
        let class = item % CLASSES;
        let shared: Vec<f64> = (0..CLASSES).map(|_| noise()).collect();
        let mut row = Vec::with_capacity(SOURCES * CLASSES);
        for source in 0..SOURCES {
            let score = |j: usize, own: f64| {
                let common = if source < 4 { shared[j] } else { 0.0 };
                own + common + if j == class { 1.0 } else { 0.0 }
            };
            let raw: Vec<f64> = (0..CLASSES).map(|j| score(j, noise()).exp()).collect();
            let sum: f64 = raw.iter().sum();
            row.extend(raw.iter().map(|value| value / sum));
        }
        builder.push(&row, Some(["a", "b", "c", "d", "e"][class])).expect("probabilities");
    }
    builder.finish()
}

fn page(criterion: &mut Criterion) {
    let model = Auto::default().fit(&items(2_000, 1)).expect("a fit");
    let data = items(10_000, 2);
    let options = ReportOptions::default();
    let mut group = criterion.benchmark_group("report");
    group.sample_size(10);
    group.bench_function("10000x8x5", |bencher| {
        bencher.iter(|| Report::of(black_box(&model), &data, &options).expect("a report").html());
    });
    group.finish();
}

criterion_group!(benches, page);
criterion_main!(benches);
