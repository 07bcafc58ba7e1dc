//! One pass over a million votes, and the whole fit, on one thread.

use std::hint::black_box;

use consilience::votes::{VoteConfig, Votes, VotesBuilder, passes};
use criterion::{Criterion, criterion_group, criterion_main};

const VOTES: usize = 1_000_000;
const SOURCES: usize = 5000;
const PER_ITEM: usize = 5;

/// Sources that are right with probability 0.7, by a fixed sequence of numbers.
fn votes(n_classes: usize) -> Votes {
    let mut state = 1u64;
    let mut draw = |n: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).expect("31 bits") % n
    };
    let classes: Vec<String> = (0..n_classes).map(|class| class.to_string()).collect();
    let mut builder = VotesBuilder::with_classes(&classes).unwrap();
    for item in 0..VOTES / PER_ITEM {
        let class = draw(n_classes);
        let first = draw(SOURCES);
        for place in 0..PER_ITEM {
            let label = if draw(10) < 7 { class } else { draw(n_classes) };
            let source = (first + 997 * place) % SOURCES;
            builder.push(&item.to_string(), &source.to_string(), &classes[label]).unwrap();
        }
    }
    builder.finish().unwrap()
}

/// Passes that are timed together, so that the start counts little.
const PASSES: usize = 10;

fn benches(c: &mut Criterion) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let mut group = c.benchmark_group("votes");
    group.sample_size(10);
    for n_classes in [2, 5] {
        let votes = votes(n_classes);
        group.bench_function(format!("{PASSES} passes, {n_classes} classes"), |b| {
            b.iter(|| pool.install(|| passes(black_box(&votes), PASSES)));
        });
        for method in ["auto", "dawid-skene"] {
            let config: VoteConfig = method.parse().unwrap();
            group.bench_function(format!("{method}, {n_classes} classes"), |b| {
                b.iter(|| pool.install(|| config.fit(black_box(&votes)).unwrap()));
            });
        }
    }
    group.finish();
}

criterion_group!(votes_benches, benches);
criterion_main!(votes_benches);
