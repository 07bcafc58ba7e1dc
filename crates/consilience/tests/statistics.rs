//! Fits from merged statistics are those of all items at once, to the last bit.

use std::sync::Arc;

use consilience::model::Statistics;
use consilience::{
    Bcc, FitOptions, Independent, Inference, InputFormat, LinearPool, Meta, MethodConfig, Model,
    NoProgress, OpinionPool, Outputs, OutputsBuilder, PriorChoice, Schema, Weights,
};
use rand::rngs::ChaCha8Rng;
use rand::{Rng, RngExt, SeedableRng};

fn methods() -> Vec<MethodConfig> {
    vec![
        Independent { inference: Inference::Map, ..Independent::default() }.into(),
        Bcc::default().into(),
        OpinionPool {}.into(),
        LinearPool { weights: Weights::Equal }.into(),
        Meta::of("b").into(),
    ]
}

/// Items with ties, values below the floor, missing outputs, unlabelled items and sums off 1. Class
/// 2 is rare, and classifier `c` never has an output for it.
fn items(n: usize, rng: &mut impl Rng) -> Outputs {
    let schema = Schema::new(["a", "b", "c"], ["x", "y", "z"]).unwrap();
    let mut builder = OutputsBuilder::new(schema, InputFormat::default()).unwrap();
    for i in 0..n {
        let class = if i % 50 == 7 { 2 } else { i % 2 };
        let mut row = Vec::new();
        for k in 0..3 {
            let raw: [f64; 3] = std::array::from_fn(|_| rng.random_range(0.0..1.0));
            let sum: f64 = raw.iter().sum();
            row.extend(match rng.random_range(0..8) {
                0 => [1.0 / 3.0; 3],
                1 => [1.0, 0.0, 0.0],
                2 if k > 0 => [f64::NAN; 3],
                3 => raw.map(|x| 1.01 * x / sum),
                _ => raw.map(|x| x / sum),
            });
        }
        if class == 2 {
            row[6..].fill(f64::NAN);
        }
        builder.push_indexed(&row, (rng.random_range(0..5) > 0).then_some(class)).unwrap();
    }
    builder.finish()
}

/// The statistics of random parts, some of them empty, merged in random order through JSON.
fn merged(items: &Outputs, parts: usize, rng: &mut impl Rng) -> Statistics {
    let mut indices = vec![Vec::new(); parts];
    (0..items.n_items()).for_each(|item| indices[rng.random_range(0..parts)].push(item));
    let mut sums: Vec<Statistics> = indices
        .iter()
        .map(|part| Statistics::of(&items.select_items(part)).unwrap())
        .map(|statistics| Statistics::from_json(&statistics.to_json()).unwrap())
        .collect();
    sums.push(Statistics::new(Arc::clone(items.schema())));
    while sums.len() > 1 {
        let other = sums.swap_remove(rng.random_range(0..sums.len()));
        let at = rng.random_range(0..sums.len());
        sums[at].merge(&other).unwrap();
    }
    sums.remove(0)
}

/// Selecting items forgets how many sums were off, so the warnings about these are left out here.
fn quiet(model: &Model) -> String {
    let text = model.to_json();
    let lines = text.lines().filter(|line| !line.contains("did not add up to 1"));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_merged_fit_is_the_fit_to_all_items_in_any_partition() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    for round in 0..6 {
        let all = items(400, &mut rng);
        let weights: Vec<f64> = (0..400).map(|_| rng.random_range(0.0..3.0)).collect();
        let all = if round % 2 == 0 { all } else { all.with_weights(&weights).unwrap() };
        let all = all.select_items(&(0..all.n_items()).collect::<Vec<_>>());
        for method in methods() {
            let options = FitOptions::default();
            let whole = Model::fit_with(method.clone(), &all, &options).unwrap();
            for parts in [1, 2, 7, 300] {
                let statistics = merged(&all, parts, &mut rng);
                let model = Model::fit_statistics(method.clone(), &statistics, &options).unwrap();
                if method.name().starts_with("meta") {
                    assert_eq!(model.method(), whole.method(), "{parts} parts");
                } else {
                    assert_eq!(quiet(&model), quiet(&whole), "{method}, {parts} parts");
                }
            }
        }
    }
}

#[test]
fn sums_that_were_off_are_counted_over_all_parts() {
    let all = items(100, &mut ChaCha8Rng::seed_from_u64(5));
    let mut twice = all.clone();
    twice.append(all.clone()).unwrap();
    let mut statistics = Statistics::of(&all).unwrap();
    statistics.add(&all).unwrap();
    let (options, method) = (FitOptions::default(), Bcc::default());
    let model = Model::fit_statistics(method.clone(), &statistics, &options).unwrap();
    assert!(model.to_json().contains("did not add up to 1"));
    assert_eq!(model, method.fit(&twice).unwrap());
}

#[test]
fn what_statistics_cannot_do_is_an_error_that_names_the_reason() {
    let all = items(100, &mut ChaCha8Rng::seed_from_u64(5));
    let statistics = Statistics::of(&all).unwrap();
    let fit = |method: &str, class_prior| {
        let method: MethodConfig = method.parse().unwrap();
        let options = FitOptions { class_prior, ..FitOptions::default() };
        Model::fit_statistics(method, &statistics, &options).unwrap_err().to_string()
    };
    for method in ["auto", "stacking", "discounted", "correlated", "log-pool", "normal-mixture"] {
        let error = fit(method, PriorChoice::Empirical);
        assert!(error.contains(method) && error.contains("sample of them"), "{error}");
    }
    assert!(fit("bcc", PriorChoice::Estimate).contains("`estimate`"));
    let empty = Statistics::new(Arc::clone(all.schema()));
    let error = Model::fit_statistics(Bcc::default(), &empty, &FitOptions::default());
    assert_eq!(error.unwrap_err().to_string(), "there are no items");

    let other = Arc::new(Schema::new(["a", "b", "d"], ["x", "y", "z"]).unwrap());
    let error = Statistics::new(other).merge(&statistics).unwrap_err().to_string();
    assert!(error.contains("`d`") && error.contains("`c`"), "{error}");
    let text = statistics.to_json();
    for (from, to) in [
        ("consilience-statistics", "consilience"),
        ("\"version\":1", "\"version\":2"),
        ("\"a\",\"b\",\"c\"", "\"a\",\"b\""),
        ("\"x\",\"y\",\"z\"", "\"x\",\"y\""),
        ("\"raised\":[", "\"raised\":[1,"),
        ("\"decisions\":[[[[", "\"decisions\":[[[[-1"),
        ("\"items\":[", "\"items\":[-1,"),
    ] {
        let broken = text.replacen(from, to, 1);
        assert_ne!(broken, text);
        let error = Statistics::from_json(&broken).unwrap_err().to_string();
        assert!(error.starts_with("not usable statistics"), "{error}");
    }
}

#[test]
fn an_update_without_items_changes_nothing() {
    let all = items(200, &mut ChaCha8Rng::seed_from_u64(8));
    for method in methods() {
        let model = method.fit(&all).unwrap();
        let same = model.update(&all.select_items(&[]), &NoProgress).unwrap();
        assert_eq!(same.method(), model.method());
        assert_eq!(same.class_prior(), model.class_prior());
    }
}
