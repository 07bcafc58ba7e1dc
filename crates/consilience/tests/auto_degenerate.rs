//! `auto` on tables that carry little or misleading information, with no, few and all labels.

use std::sync::Arc;

use consilience::methods::auto::{Auto, AutoFusion};
use consilience::methods::fuse;
use consilience::{ClassPrior, InputFormat, NoProgress, Outputs, OutputsBuilder, Schema};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

/// An item: outputs of every source, and its class.
type Item = (Vec<Vec<f64>>, usize);

/// A table of which the first `labels` items have their label.
fn table(items: &[Item], labels: usize) -> Outputs {
    let (k, j) = (items[0].0.len(), items[0].0[0].len());
    let classes = (0..j).map(|t| format!("c{t}"));
    let schema = Arc::new(Schema::new((0..k).map(|c| format!("s{c}")), classes).unwrap());
    let mut builder = OutputsBuilder::new(schema, InputFormat::default()).unwrap();
    for (item, (outputs, label)) in items.iter().enumerate() {
        let label = (item < labels).then_some(*label);
        builder.push_indexed(&outputs.concat(), label).unwrap();
    }
    builder.finish()
}

fn fit(items: &[Item], labels: usize) -> AutoFusion {
    Auto::default().learn(&table(items, labels), &NoProgress).unwrap().fusion
}

/// The fused probabilities of every item under a uniform class prior.
fn fused(fusion: &AutoFusion, items: &[Item]) -> Vec<Vec<f64>> {
    let prior = ClassPrior::uniform(items[0].0[0].len());
    let fused = fuse(fusion, &table(items, 0), &prior).unwrap();
    (0..items.len()).map(|item| fused.probabilities(item).to_vec()).collect()
}

fn mean_loss(probabilities: &[Vec<f64>], items: &[Item]) -> f64 {
    let losses = probabilities.iter().zip(items).map(|(p, (_, label))| -p[*label].ln());
    losses.sum::<f64>() / items.len() as f64
}

/// `n` items of two classes: the log-odds of source k are those of `make`, given the sign of the
/// item's class (±1) and a generator.
fn two_classes(n: usize, seed: u64, make: impl Fn(f64, &mut ChaCha8Rng) -> Vec<f64>) -> Vec<Item> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let item = |i: usize| {
        let sign = if i.is_multiple_of(2) { 1.0 } else { -1.0 };
        let odds = make(sign, &mut rng);
        let p = odds.into_iter().map(|u| 1.0 / (1.0 + (-u).exp()));
        (p.map(|p| vec![p, 1.0 - p]).collect(), i % 2)
    };
    (0..n).map(item).collect()
}

/// A roughly normal number with variance 1.
fn normal(rng: &mut ChaCha8Rng) -> f64 {
    (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0
}

#[test]
fn degenerate_tables_give_distributions_with_any_number_of_labels() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut jitter = |size: f64| size * (rng.random::<f64>() - 0.5);
    let constant: Vec<Item> = (0..40).map(|i| (vec![vec![0.5, 0.5]; 3], i % 2)).collect();
    let nearly: Vec<Item> = (0..40)
        .map(|i| {
            let mut p = || 0.7 + jitter(1e-9);
            let outputs = [p(), p(), p()].map(|p| vec![p, 1.0 - p]);
            (outputs.to_vec(), i % 2)
        })
        .collect();
    let one_hot: Vec<Item> = (0..40)
        .map(|i| {
            let vote = |k: usize| usize::from((i + k).is_multiple_of(7)) ^ (i % 2);
            let output = |k: usize| vec![(1 - vote(k)) as f64, vote(k) as f64];
            ((0..3).map(output).collect(), i % 2)
        })
        .collect();
    let alone = vec![(vec![vec![0.9, 0.1], vec![0.6, 0.4], vec![0.2, 0.8]], 0)];
    for (name, items) in
        [("constant", &constant), ("nearly", &nearly), ("one-hot", &one_hot), ("alone", &alone)]
    {
        for labels in [0, 1, 2, 7, 40] {
            for p in fused(&fit(items, labels.min(items.len())), items) {
                let sum: f64 = p.iter().sum();
                let valid = p.iter().all(|p| (0.0..=1.0).contains(p)) && (sum - 1.0).abs() < 1e-12;
                assert!(valid, "{name}, {labels} labels: {p:?}");
            }
        }
    }
    // Outputs that never change show nothing: the class prior remains.
    for (items, labels) in [(&constant, 0), (&constant, 40), (&nearly, 0), (&nearly, 40)] {
        for p in fused(&fit(items, labels), items) {
            assert!((p[0] - 0.5).abs() < 0.02, "{labels} labels: {p:?}");
        }
    }
}

/// Labels of one class only say nothing about the other: predictions follow the outputs.
#[test]
fn labels_of_one_class_leave_the_other_predictable() {
    let make = |sign: f64, rng: &mut ChaCha8Rng| (0..3).map(|_| 1.5 * sign + normal(rng)).collect();
    let mut items = two_classes(400, 2, make);
    items.sort_by_key(|(_, label)| *label);
    for labels in [1, 5, 50] {
        let fused = fused(&fit(&items, labels), &items);
        let hits = fused.iter().zip(&items).filter(|(p, (_, label))| p[*label] > 0.5).count();
        assert!(hits > 360, "{labels}: {hits}");
    }
}

/// Without labels, nearly equal and calibrated sources are believed: classes are drawn with the
/// probability that all sources give, so that no rule can be better on average.
#[test]
fn without_labels_near_copies_are_not_sharpened() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let item = |_: usize| {
        let p: f64 = 0.05 + 0.9 * rng.random::<f64>();
        let label = usize::from(rng.random::<f64>() > p);
        let near = |p: f64| vec![p, 1.0 - p];
        let outputs = (0..6).map(|_| near(p + 0.02 * (rng.random::<f64>() - 0.5))).collect();
        (outputs, label)
    };
    let items: Vec<Item> = (0..4000).map(item).collect();
    let plain: Vec<Vec<f64>> = items.iter().map(|(outputs, _)| outputs[0].clone()).collect();
    let excess = mean_loss(&fused(&fit(&items, 0), &items), &items) - mean_loss(&plain, &items);
    assert!(excess < 0.01, "{excess}");
}

/// Without labels, sources that agree more than they expect are sharpened, and sources that contradict
/// each other more than they expect are softened. Compared with the mean of both plain pools. A part of
/// the errors is common to all sources; if all were independent, softening would be wrong.
#[test]
fn without_labels_agreement_and_contradiction_set_the_confidence() {
    for (name, sharpness, least_gain) in
        [("underconfident", 0.5, 0.08), ("overconfident", 5.0, 0.01)]
    {
        let make = |sign: f64, rng: &mut ChaCha8Rng| {
            let common = normal(rng);
            (0..6).map(|_| sharpness * (sign + common + 0.8 * normal(rng))).collect()
        };
        let items = two_classes(3000, 4, make);
        let pools = |(outputs, _): &Item| {
            let mean = |f: &dyn Fn(f64) -> f64| {
                outputs.iter().map(|x| f(x[0].clamp(1e-3, 0.999))).sum::<f64>() / 6.0
            };
            let linear = mean(&|p| p);
            let geometric = 1.0 / (1.0 + (-mean(&|p| (p / (1.0 - p)).ln())).exp());
            let p = 0.5 * (linear + geometric);
            vec![p, 1.0 - p]
        };
        let plain = mean_loss(&items.iter().map(pools).collect::<Vec<_>>(), &items);
        let gain = plain - mean_loss(&fused(&fit(&items, 0), &items), &items);
        assert!(gain > least_gain, "{name}: {gain} of {plain}");
    }
}

/// Four exact copies of a weak source among seven sources: with 20 labels per class they cost no more
/// than the 0.04 nats that the documentation states for a source that adds nothing, on average over
/// four samples.
#[test]
fn copies_of_a_weak_source_do_not_take_over() {
    let make = |copies: usize| {
        move |sign: f64, rng: &mut ChaCha8Rng| {
            let weak = 0.2 * sign + normal(rng);
            let good: Vec<f64> = (0..3).map(|_| 1.2 * sign + normal(rng)).collect();
            good.into_iter().chain(std::iter::repeat_n(weak, copies)).collect()
        }
    };
    let loss = |copies: usize, seed: u64| {
        let train = two_classes(400, seed, make(copies));
        let test = two_classes(4000, 9, make(copies));
        mean_loss(&fused(&fit(&train, 40), &test), &test)
    };
    let costs = [5, 6, 7, 8].map(|seed| loss(4, seed) - loss(1, seed));
    assert!(costs.iter().sum::<f64>() / 4.0 < 0.04, "{costs:?}");
}

/// A class of 2 % that all sources recognise is found, with one label of it or none.
#[test]
fn a_rare_class_is_found() {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let item = |i: usize| {
        let label = if i % 50 == 49 { 2 } else { i % 2 };
        let output = |rng: &mut ChaCha8Rng| {
            let weight = |t: usize| (if t == label { 2.5 } else { 0.0 } + normal(rng)).exp();
            let weights: Vec<f64> = (0..3).map(weight).collect();
            weights.iter().map(|w| w / weights.iter().sum::<f64>()).collect::<Vec<f64>>()
        };
        ((0..4).map(|_| output(&mut rng)).collect(), label)
    };
    let items: Vec<Item> = (0..1000).map(item).collect();
    for labels in [0, 40, 50] {
        let fused = fused(&fit(&items, labels), &items);
        let rare = fused.iter().zip(&items).filter(|(_, (_, label))| *label == 2);
        let hits = rare.filter(|(p, _)| p[2] > 0.5).count();
        assert!(hits >= 17, "{labels} labels: {hits} of 20");
    }
}
