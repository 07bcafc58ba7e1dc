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
            (PoolKind::Logarithmic, Weights::NonNegative),
        ] {
            let fitted = fit_weights(kind, &weights, &outputs, &prior).unwrap();
            assert!(fitted.converged, "{kind:?} {weights:?}");
            let best = fitted.pool.weights();
            let at_best = loss(kind, best.to_vec(), &outputs, &prior);
            for step in [-0.05, -0.01, 0.01, 0.05] {
                let moved = match weights {
                    Weights::Free | Weights::NonNegative => vec![best[0] + step, best[1]],
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
        (PoolKind::Linear, Weights::NonNegative),
        (PoolKind::Logarithmic, Weights::Greedy),
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

/// An inverted source has a negative free weight, and 0 where none may be negative; the other
/// weights are then those of a fit without it.
#[test]
fn non_negative_weights_stop_at_zero() {
    let full = Preset::Sim2.truth(0.0).unwrap().simulate(300, 5).unwrap();
    let schema = Arc::new(consilience::Schema::new(["a", "b"], ["1", "2", "3"]).unwrap());
    let mut builder = OutputsBuilder::new(schema, InputFormat::default()).unwrap();
    for item in 0..full.n_items() {
        let mut raw = full.items(item..item + 1).values().to_vec();
        let inverse: Vec<f64> = raw[3..].iter().map(|x| 1.0 / x).collect();
        let total: f64 = inverse.iter().sum();
        raw[3..].iter_mut().zip(inverse).for_each(|(x, i)| *x = i / total);
        builder.push_indexed(&raw, full.label(item)).unwrap();
    }
    let (outputs, prior) = (builder.finish(), ClassPrior::uniform(3));
    let fit = |outputs: &Outputs, weights: Weights| {
        fit_weights(PoolKind::Logarithmic, &weights, outputs, &prior).unwrap().pool
    };
    assert!(fit(&outputs, Weights::Free).weights()[1] < -1.0);
    let bounded = fit(&outputs, Weights::NonNegative);
    assert_eq!(bounded.weights()[1], 0.0);
    let alone = outputs.select(&Arc::new(outputs.schema().only(0))).unwrap();
    let alone = fit(&alone, Weights::Free);
    assert!((bounded.weights()[0] - alone.weights()[0]).abs() < 1e-3);
}

/// The selection for six items, by brute force over the log-losses of all averages of one source
/// more: a (0.9, 0.4), b (0.5, 0.8) and c (0.2, 0.2) for three items of each of two classes. From
/// f(w) = ln(0.5 + 0.4 w) + ln(0.8 − 0.4 w) with w the share of a, the optimum is w = 0.375; counts
/// of a after 25 rounds are 9 (0.36) or 10 (0.4); f is symmetric about 0.375, so 9 is better.
#[test]
fn greedy_selection_follows_its_definition() {
    let schema = Arc::new(consilience::Schema::new(["a", "b", "c"], ["x", "y"]).unwrap());
    let mut builder = OutputsBuilder::new(schema, InputFormat::default()).unwrap();
    for _ in 0..3 {
        builder.push_indexed(&[0.9, 0.1, 0.5, 0.5, 0.2, 0.8], Some(0)).unwrap();
        builder.push_indexed(&[0.6, 0.4, 0.2, 0.8, 0.8, 0.2], Some(1)).unwrap();
    }
    let (outputs, prior) = (builder.finish(), ClassPrior::uniform(2));
    let fitted = fit_weights(PoolKind::Linear, &Weights::Greedy, &outputs, &prior).unwrap();
    let expected = [9.0 / 25.0, 16.0 / 25.0, 0.0];
    for (got, want) in fitted.pool.weights().iter().zip(expected) {
        assert!((got - want).abs() < 1e-12, "{:?}", fitted.pool.weights());
    }
    // Where outputs are missing, a source that was never selected keeps a trace of weight.
    let fitted =
        fit_weights(PoolKind::Linear, &Weights::Greedy, &incomplete(), &ClassPrior::uniform(3));
    assert!(fitted.unwrap().pool.weights().iter().all(|w| *w > 0.0));
}

#[test]
fn a_name_may_contain_the_kind_of_weights() {
    let pool: MethodConfig = "log-pool:non-negative".parse().unwrap();
    assert_eq!(pool.option("weights").unwrap(), "non-negative");
    assert!("linear-pool:some".parse::<MethodConfig>().is_err());
    assert!("stacking:greedy".parse::<MethodConfig>().is_err());
}
