//! Fusion of two sources by the correlated model with given parameters.

use std::sync::Arc;

use consilience::methods::correlated::{CorrelatedFusion, PairInsight, effective_number};
use consilience::methods::independent::IndependentFusion;
use consilience::methods::{Fused, Fusion, fuse};
use consilience::simulation::Preset;
use consilience::{ClassPrior, InputFormat, Model, Outputs, OutputsBuilder, Schema};
use correlated_dirichlet::CorrelatedDirichlet;

fn schema() -> Arc<Schema> {
    Arc::new(Schema::new(["a", "b"], ["x", "y", "z"]).unwrap())
}

/// α is `diagonal` for the true class and `rest` elsewhere; `delta` maps α to δ.
fn classes(diagonal: f64, rest: f64, delta: impl Fn(f64) -> f64) -> Vec<CorrelatedDirichlet> {
    let class = |j: usize| {
        let alpha: Vec<f64> = (0..3).map(|l| if l == j { diagonal } else { rest }).collect();
        let common = alpha.iter().map(|a| delta(*a)).collect();
        CorrelatedDirichlet::new(vec![alpha; 2], Some(common), vec![]).unwrap()
    };
    (0..3).map(class).collect()
}

fn table(items: &[[f64; 6]]) -> Outputs {
    let input_format = InputFormat { floor: 0.0, ..InputFormat::default() };
    let mut builder = OutputsBuilder::new(schema(), input_format).unwrap();
    for item in items {
        builder.push(item, None).unwrap();
    }
    builder.finish()
}

fn fuse_with(classes: &[CorrelatedDirichlet], resolution: f64, outputs: &Outputs) -> Fused {
    let model = CorrelatedFusion::new(schema(), classes, resolution).unwrap();
    fuse(&model, outputs, &ClassPrior::uniform(3)).unwrap()
}

/// Figure 2 of the paper: two outputs (0.6, 0.2, 0.2) at rising correlation. Values by an independent
/// tanh-sinh integration; at r = "0" δ is 0.1.
#[test]
#[allow(clippy::unreadable_literal)] // as in the table they come from
fn figure_2_is_reproduced() {
    let levels = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99];
    let expected = [
        (
            101.0,
            [
                0.817157, 0.767977, 0.738214, 0.714063, 0.693004, 0.674075, 0.656791, 0.640869,
                0.626124, 0.612434, 0.601185,
            ],
        ),
        (
            102.0,
            [
                0.975583, 0.956450, 0.940963, 0.925905, 0.910772, 0.895456, 0.879969, 0.864372,
                0.848749, 0.833197, 0.819647,
            ],
        ),
    ];
    let outputs = table(&[[0.6, 0.2, 0.2, 0.6, 0.2, 0.2]]);
    for (diagonal, row) in expected {
        for (r, want) in levels.into_iter().zip(row) {
            let delta = |a: f64| if r == 0.0 { 0.1 } else { r * a };
            let fused = fuse_with(&classes(diagonal, 100.0, delta), 0.0, &outputs);
            let got = fused.probabilities(0)[0];
            assert!((got - want).abs() < 1e-5, "diagonal {diagonal}, r = {r}: {got}, not {want}");
            assert!(fused.error(0) < 1e-5);
        }
    }
}

fn some_outputs() -> Outputs {
    table(&[
        [0.5, 0.3, 0.2, 0.2, 0.45, 0.35],
        [0.6, 0.2, 0.2, 0.6, 0.2, 0.2],
        [0.9, 0.05, 0.05, 0.7, 0.2, 0.1],
        [0.1, 0.8, 0.1, 0.12, 0.77, 0.11],
    ])
}

#[test]
fn without_shared_parts_it_is_the_independent_model() {
    let outputs = some_outputs();
    let alpha: Vec<Vec<f64>> =
        (0..3).map(|j| (0..3).map(|l| if l == j { 6.0 } else { 4.0 }).collect()).collect();
    let independent = IndependentFusion::new(schema(), vec![alpha; 2]).unwrap();
    let expected = fuse(&independent, &outputs, &ClassPrior::uniform(3)).unwrap();
    let got = fuse_with(&classes(6.0, 4.0, |_| 0.0), 0.0, &outputs);
    for (a, b) in got.all().iter().zip(expected.all()) {
        assert!((a - b).abs() < 1e-9, "{a} {b}");
    }
    // a δ of 1e-9 changes next to nothing
    let near = fuse_with(&classes(6.0, 4.0, |_| 1e-9), 0.0, &outputs);
    for (a, b) in near.all().iter().zip(expected.all()) {
        assert!((a - b).abs() < 1e-6, "{a} {b}");
    }
}

/// δ → α with equal Dirichlets: the second source adds nothing.
#[test]
fn when_all_is_shared_it_is_the_meta_classifier() {
    let same = table(&[[0.6, 0.2, 0.2, 0.6, 0.2, 0.2], [0.1, 0.7, 0.2, 0.1, 0.7, 0.2]]);
    let alpha: Vec<Vec<f64>> =
        (0..3).map(|j| (0..3).map(|l| if l == j { 6.0 } else { 4.0 }).collect()).collect();
    let independent = IndependentFusion::new(schema(), vec![alpha; 2]).unwrap();
    let meta = independent.meta(0).unwrap();
    let prior = ClassPrior::uniform(3);
    let expected = fuse(&meta, &same.select(meta.schema()).unwrap(), &prior).unwrap();
    for share in [1.0 - 1e-6, 1.0 - 1e-9, 1.0] {
        let got = fuse_with(&classes(6.0, 4.0, |a| share * a), 0.0, &same);
        for (a, b) in got.all().iter().zip(expected.all()) {
            assert!((a - b).abs() < 1e-4, "share {share}: {a} {b}");
        }
    }
}

#[test]
fn a_missing_classifier_leaves_the_other_ones_meta_classifier() {
    let nan = f64::NAN;
    let outputs =
        table(&[[0.6, 0.3, 0.1, nan, nan, nan], [nan, nan, nan, 0.2, 0.5, 0.3], [nan; 6]]);
    let got = fuse_with(&classes(6.0, 4.0, |a| 0.5 * a), 0.0, &outputs);
    // With α = 4 + 2eⱼ a meta classifier is x² normalised.
    for (item, x) in [[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [1.0, 1.0, 1.0]].iter().enumerate() {
        let total: f64 = x.iter().map(|x: &f64| x * x).sum();
        for (p, x) in got.probabilities(item).iter().zip(x) {
            assert!((p - x * x / total).abs() < 1e-12);
        }
    }
}

#[test]
fn a_small_resolution_changes_little_and_ties_stay_finite() {
    let outputs = some_outputs();
    let parameters = classes(6.0, 4.0, |a| 0.9 * a);
    let exact = fuse_with(&parameters, 0.0, &outputs);
    let coarse = fuse_with(&parameters, 0.01, &outputs);
    for (a, b) in exact.all().iter().zip(coarse.all()) {
        assert!((a - b).abs() < 0.02, "{a} {b}");
    }
    let tied = table(&[[0.6, 0.2, 0.2, 0.6, 0.2, 0.2]]);
    let nearly_all = classes(6.0, 4.0, |a| 0.999 * a);
    let model = CorrelatedFusion::new(schema(), &nearly_all, 0.03).unwrap();
    let (densities, errors) = consilience::methods::ln_densities(&model, &tied).unwrap();
    assert!(densities.iter().all(|d| d.is_finite()) && errors[0] < 1e-3);
}

/// Exactly tied outputs have an infinite density here; fused probabilities have a limit.
#[test]
fn at_an_infinite_tie_fusing_gives_the_limit() {
    let tied = table(&[[0.6, 0.25, 0.15, 0.6, 0.25, 0.15]]);
    let parameters = classes(6.0, 4.0, |a| 0.99 * a);
    let model = CorrelatedFusion::new(schema(), &parameters, 0.0).unwrap();
    let (densities, _) = consilience::methods::ln_densities(&model, &tied).unwrap();
    assert!(densities.iter().all(|d| *d == f64::INFINITY), "{densities:?}");
    let at = fuse_with(&parameters, 0.0, &tied);
    let smoothed = fuse_with(&parameters, 1e-3, &tied);
    for (a, b) in at.all().iter().zip(smoothed.all()) {
        assert!((a - b).abs() < 0.01, "{a} {b}");
    }
}

#[test]
fn implied_correlations_are_the_exact_ones() {
    let truth = Preset::Sim2.truth(0.5).unwrap();
    let prior = ClassPrior::uniform(3);
    let insight = PairInsight::new(truth.classes(), (0, 1), &prior).unwrap();
    // from the two-dimensional integral, by another program
    assert!((insight.correlation[0][0] - 0.491_661_88).abs() < 1e-7);
    assert!((insight.mean - 0.491_661_88).abs() < 1e-7);
    assert_eq!(effective_number(2, 0.0), 2.0);
    assert_eq!(effective_number(2, 1.0), 1.0);
    assert_eq!(effective_number(5, 0.25), 2.5);
}

#[test]
fn the_model_file_carries_the_resolution_and_fuses() {
    let text = r#"{"format": "consilience", "version": 1, "method": "correlated",
        "classifiers": ["a", "b"], "classes": ["x", "y", "z"], "class_prior": [1, 1, 1],
        "parameters": {
          "alpha": [[[6,4,4],[4,6,4],[4,4,6]], [[6,4,4],[4,6,4],[4,4,6]]],
          "delta": {"pairs": [{"between": ["a","b"], "delta": [[3,2,2],[2,3,2],[2,2,3]]}]},
          "resolution": 0.03}}"#;
    let model = Model::from_json(text).unwrap();
    assert_eq!(Model::from_json(&model.to_json()).unwrap(), model);
    let fused = fuse(model.fusion(), &some_outputs(), model.class_prior()).unwrap();
    let by_hand = fuse_with(&classes(6.0, 4.0, |a| 0.5 * a), 0.03, &some_outputs());
    assert_eq!(fused, by_hand);
    let three = text.replace("\"a\", \"b\"]", "\"a\", \"b\", \"c\"]").replacen(
        "[[[6,4,4],[4,6,4],[4,4,6]],",
        "[[[6,4,4],[4,6,4],[4,4,6]], [[6,4,4],[4,6,4],[4,4,6]],",
        1,
    );
    // a third source that is missing everywhere changes nothing
    let three = Model::from_json(&three).unwrap();
    let mut builder =
        OutputsBuilder::new(three.schema().as_ref().clone(), InputFormat::default()).unwrap();
    for item in 0..some_outputs().n_items() {
        let [a, b] = [0, 1].map(|k| some_outputs().output(item, k).unwrap().to_vec());
        builder.push(&[a, b, vec![f64::NAN; 3]].concat(), None).unwrap();
    }
    let outputs = builder.finish();
    let fused = fuse(three.fusion(), &outputs, three.class_prior()).unwrap();
    for (a, b) in fused.all().iter().zip(by_hand.all()) {
        assert!((a - b).abs() < 1e-5, "{a} {b}");
    }
}

#[test]
fn exchanging_classifiers_changes_nothing() {
    let class = |j: usize| {
        let row = |high: f64, low: f64| -> Vec<f64> {
            (0..3).map(|l| if l == j { high } else { low }).collect()
        };
        (row(6.0, 4.0), row(9.0, 5.0), row(3.0, 1.0))
    };
    let build = |swap: bool| -> Vec<CorrelatedDirichlet> {
        (0..3)
            .map(|j| {
                let (a, b, delta) = class(j);
                let alpha = if swap { vec![b, a] } else { vec![a, b] };
                CorrelatedDirichlet::new(alpha, Some(delta), vec![]).unwrap()
            })
            .collect()
    };
    let outputs = some_outputs();
    let swapped: Vec<[f64; 6]> = (0..outputs.n_items())
        .map(|i| {
            let (a, b) = (outputs.output(i, 0).unwrap(), outputs.output(i, 1).unwrap());
            [b[0], b[1], b[2], a[0], a[1], a[2]]
        })
        .collect();
    let before = fuse_with(&build(false), 0.0, &outputs);
    let after = fuse_with(&build(true), 0.0, &table(&swapped));
    for (a, b) in before.all().iter().zip(after.all()) {
        assert!((a - b).abs() < 1e-6, "{a} {b}");
    }
}

#[test]
fn exact_zeros_give_a_distribution() {
    let outputs = table(&[[1.0, 0.0, 0.0, 1.0, 0.0, 0.0], [0.0, 0.5, 0.5, 0.7, 0.3, 0.0]]);
    for resolution in [0.0, 0.03] {
        let fused = fuse_with(&classes(6.0, 4.0, |a| 0.5 * a), resolution, &outputs);
        for item in 0..2 {
            assert!(
                (fused.probabilities(item).iter().sum::<f64>() - 1.0).abs() < 1e-9,
                "{fused:?}"
            );
        }
    }
}
