//! Permutation laws of the correlated model with given parameters, within its reported errors.

use std::sync::Arc;

use consilience::methods::correlated::{CorrelatedFusion, FullFusion};
use consilience::methods::{Fused, Fusion, fuse};
use consilience::simulation::Truth;
use consilience::{ClassPrior, InputFormat, OutputsBuilder, Schema};
use correlated_dirichlet::CorrelatedDirichlet;

/// Parameters that differ between sources, true classes and components.
fn class(sources: &[usize], classes: &[usize], true_class: usize) -> CorrelatedDirichlet {
    let alpha = |k: usize, l: usize| {
        1.5 + k as f64 + 0.3 * l as f64 + if l == true_class { 2.5 } else { 0.0 }
    };
    let rows = sources.iter().map(|&k| classes.iter().map(|&l| alpha(k, l)).collect()).collect();
    let shared = classes.iter().map(|&l| 0.4 * alpha(0, l)).collect();
    CorrelatedDirichlet::new(rows, Some(shared), vec![]).unwrap()
}

fn names(sources: &[usize], classes: &[usize]) -> Arc<Schema> {
    let name = |prefix: &str, i: &usize| format!("{prefix}{i}");
    let sources = sources.iter().map(|k| name("k", k));
    let classes = classes.iter().map(|j| name("j", j));
    Arc::new(Schema::new(sources.collect::<Vec<_>>(), classes.collect::<Vec<_>>()).unwrap())
}

/// The fused items under the model with sources and classes in the given order.
fn fused(sources: &[usize], classes: &[usize], resolution: f64) -> Fused {
    let n_sources = sources.len();
    let (all, plain) = ([0, 1, 2], (0..n_sources).collect::<Vec<usize>>());
    let truth = all.map(|t| class(&plain, &all, t)).to_vec();
    let items = Truth::new(names(&plain, &all), truth).unwrap().simulate(3, 1).unwrap();
    let schema = names(sources, classes);
    let items = items.select(&names(sources, &all)).unwrap();
    let format = InputFormat { floor: 0.0, ..InputFormat::default() };
    let mut builder = OutputsBuilder::new(Arc::clone(&schema), format).unwrap();
    for item in 0..items.n_items() {
        let row = (0..n_sources).flat_map(|k| {
            let output = items.output(item, k).unwrap();
            classes.iter().map(move |&j| output[j])
        });
        builder.push_indexed(&row.collect::<Vec<f64>>(), None).unwrap();
    }
    let distributions: Vec<CorrelatedDirichlet> =
        classes.iter().map(|&t| class(sources, classes, t)).collect();
    let fusion: Box<dyn Fusion> = match n_sources {
        2 => Box::new(CorrelatedFusion::new(schema, &distributions, resolution).unwrap()),
        _ => Box::new(FullFusion::new(schema, &distributions, resolution).unwrap()),
    };
    fuse(&*fusion, &builder.finish(), &ClassPrior::uniform(3)).unwrap()
}

fn check(sources: &[usize], classes: &[usize], resolution: f64) {
    let plain: Vec<usize> = (0..sources.len()).collect();
    let before = fused(&plain, &[0, 1, 2], resolution);
    let after = fused(sources, classes, resolution);
    for item in 0..before.n_items() {
        // With two sources the reported error is a bound. With three it is a standard error: a
        // difference of more than four has a probability of 6·10⁻⁵.
        let allowed = match sources.len() {
            2 => before.error(item) + after.error(item),
            _ => 4.0 * before.error(item).hypot(after.error(item)),
        };
        assert!(allowed < 0.01, "the error {allowed} is too large to test anything");
        for (index, &class) in classes.iter().enumerate() {
            let (a, b) = (before.probabilities(item)[class], after.probabilities(item)[index]);
            assert!((a - b).abs() <= allowed, "item {item}, class {class}: {a} {b} ± {allowed}");
        }
    }
}

#[test]
fn permutations_of_two_sources_and_of_classes_stay_within_the_reported_error() {
    for resolution in [0.0, 0.03] {
        check(&[1, 0], &[0, 1, 2], resolution);
        check(&[0, 1], &[2, 0, 1], resolution);
        check(&[1, 0], &[1, 2, 0], resolution);
    }
}

#[test]
fn permutations_of_three_sources_and_of_classes_stay_within_the_reported_error() {
    check(&[2, 0, 1], &[0, 1, 2], 0.0);
    check(&[0, 1, 2], &[2, 0, 1], 0.0);
}
