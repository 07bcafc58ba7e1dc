//! Fitted weights of pools.

use std::sync::Arc;

use consilience::evaluation::{Predictions, Weighting, score};
use consilience::methods::fuse;
use consilience::methods::pools::{Pool, PoolKind, Weights, fit_weights};
use consilience::simulation::Preset;
use consilience::{ClassPrior, InputFormat, MethodConfig, Outputs, OutputsBuilder};

/// Simulated items; every third lacks one of its two outputs.
fn incomplete() -> Outputs {
    let full = Preset::Sim2.truth(0.5).unwrap().simulate(60, 1).unwrap();
    let mut builder =
        OutputsBuilder::new(Arc::clone(full.schema()), InputFormat::default()).unwrap();
    for item in 0..full.n_items() {
        let mut raw: Vec<f64> = full.items(item..item + 1).values().to_vec();
        match item % 6 {
            0 => raw[..3].fill(f64::NAN),
            3 => raw[3..].fill(f64::NAN),
            _ => {}
        }
        builder.push_indexed(&raw, full.label(item)).unwrap();
    }
    builder.finish()
}

fn loss(kind: PoolKind, weights: Vec<f64>, outputs: &Outputs, prior: &ClassPrior) -> f64 {
    let pool = Pool::new(Arc::clone(outputs.schema()), kind, weights).unwrap();
    let probabilities = fuse(&pool, outputs, prior).unwrap().all().to_vec();
    let predictions = Predictions { name: "pool".into(), probabilities };
    let labels = outputs.require_labels().unwrap();
    score(&predictions, &labels, prior, Weighting::ClassPrior).unwrap()[0].log_loss
}

/// No nearby weights have a smaller log-loss, with and without missing outputs.
#[test]
fn fitted_weights_minimise_the_log_loss() {
    let prior = ClassPrior::new(&[0.5, 0.3, 0.2]).unwrap();
    for outputs in [incomplete(), Preset::Sim1.truth(0.25).unwrap().simulate(80, 2).unwrap()] {
        for (kind, weights) in [
            (PoolKind::Linear, Weights::Simplex),
            (PoolKind::Logarithmic, Weights::Simplex),
            (PoolKind::Logarithmic, Weights::Free),
        ] {
            let fitted = fit_weights(kind, &weights, &outputs, &prior).unwrap();
            assert!(fitted.converged, "{kind:?} {weights:?}");
            let best = fitted.pool.weights();
            let at_best = loss(kind, best.to_vec(), &outputs, &prior);
            for step in [-0.05, -0.01, 0.01, 0.05] {
                let moved = match weights {
                    Weights::Free => vec![best[0] + step, best[1]],
                    _ => vec![best[0] + step, best[1] - step],
                };
                if moved.iter().all(|w| *w >= 0.0) {
                    let there = loss(kind, moved, &outputs, &prior);
                    assert!(there > at_best - 1e-9, "{kind:?} {weights:?}: {there} < {at_best}");
                }
            }
        }
    }
}

#[test]
fn free_weights_of_independent_sources_are_bayes_optimal() {
    // α = 8 + 4eⱼ: the posterior is ∝ ∏ (xᵏⱼ)⁴, hence both weights are 4.
    let truth = Preset::Sim2.truth(0.0).unwrap();
    let outputs = truth.simulate(20_000, 3).unwrap();
    let prior = ClassPrior::uniform(3);
    let fitted = fit_weights(PoolKind::Logarithmic, &Weights::Free, &outputs, &prior).unwrap();
    for weight in fitted.pool.weights() {
        assert!((weight - 4.0).abs() < 0.15, "{:?}", fitted.pool.weights());
    }
}

#[test]
fn invalid_weights_are_refused() {
    let outputs = incomplete();
    let prior = ClassPrior::uniform(3);
    for (kind, weights) in [
        (PoolKind::Linear, Weights::Free),
        (PoolKind::Linear, Weights::Given(vec![1.0, -1.0])),
        (PoolKind::Linear, Weights::Given(vec![0.0, 0.0])),
        (PoolKind::Logarithmic, Weights::Given(vec![1.0])),
        (PoolKind::Logarithmic, Weights::Given(vec![1.0, f64::NAN])),
    ] {
        assert!(fit_weights(kind, &weights, &outputs, &prior).is_err(), "{kind:?} {weights:?}");
    }
    let pool: MethodConfig = "log-pool".parse().unwrap();
    assert!(pool.with_option("weights", "some".into()).is_err());
}

/// Items with an output of the poorer source only must be fused from it, not from the class prior.
#[test]
fn a_source_that_is_sometimes_alone_keeps_a_positive_weight() {
    let schema = std::sync::Arc::new(consilience::Schema::new(["a", "b"], ["x", "y"]).unwrap());
    let mut builder = OutputsBuilder::new(schema, InputFormat::default()).unwrap();
    for i in 0..120 {
        let class = usize::from(i % 2 == 1);
        let both = |p: f64| if class == 0 { [p, 1.0 - p] } else { [1.0 - p, p] };
        let (a, b) = if i < 60 { (both(0.95), both(0.55)) } else { ([f64::NAN; 2], both(0.9)) };
        builder.push_indexed(&[a[0], a[1], b[0], b[1]], Some(class)).unwrap();
    }
    let outputs = builder.finish();
    let prior = ClassPrior::uniform(2);
    for kind in [PoolKind::Linear, PoolKind::Logarithmic] {
        let fitted = fit_weights(kind, &Weights::Simplex, &outputs, &prior).unwrap();
        let got = loss(kind, fitted.pool.weights().to_vec(), &outputs, &prior);
        // The optimum: 0.95 for half of the items and 0.9 for the others.
        let best = -0.5 * (0.95f64.ln() + 0.9f64.ln());
        assert!((got - best).abs() < 1e-3, "{kind:?}: {got} instead of {best}");
    }
}

/// Negative exponents, and exponents that sum to 0, follow the same formula.
#[test]
fn exponents_of_any_sign_follow_the_formula() {
    let schema = std::sync::Arc::new(consilience::Schema::new(["a", "b"], ["x", "y"]).unwrap());
    let mut builder =
        OutputsBuilder::new(std::sync::Arc::clone(&schema), InputFormat::default()).unwrap();
    builder.push(&[0.9, 0.1, 0.2, 0.8], None).unwrap();
    builder.push(&[f64::NAN, f64::NAN, 0.2, 0.8], None).unwrap();
    let pool = Pool::new(schema, PoolKind::Logarithmic, vec![1.0, -1.0]).unwrap();
    let fused = fuse(&pool, &builder.finish(), &ClassPrior::uniform(2)).unwrap();
    let (x, y) = (0.9 / 0.2, 0.1 / 0.8);
    assert!((fused.probabilities(0)[0] - x / (x + y)).abs() < 1e-12);
    assert!((fused.probabilities(1)[0] - 0.8).abs() < 1e-12);
}
