//! Weights that minimise the log-loss of a pool.

use std::sync::Arc;

use super::{Pool, PoolKind, Weights, exponents, greedy};
use crate::data::class_prior::ClassPrior;
use crate::data::outputs::Outputs;
use crate::error::{Error, Result};
use consilience_numerics::log_space::ln_at_least_tiny;
use consilience_numerics::optimise::{Minimum, projected_gradient};
use consilience_numerics::simplex;

/// A pool with fitted weights.
#[derive(Debug, Clone, PartialEq)]
pub struct FittedWeights {
    /// The pool.
    pub pool: Pool,
    /// Whether the fit ended at its minimum; always true where nothing was fitted.
    pub converged: bool,
}

/// Largest movement of a weight by a projected gradient step at which the search ends, and most
/// steps; a search that takes all of them is reported as not converged.
pub(super) const TOLERANCE: f64 = 1e-9;
pub(super) const MAX_STEPS: usize = 5000;

/// Finds the weights of a linear or logarithmic pool.
///
/// Fitted weights minimise the log-loss under `prior`, with items weighted so that the weight of every
/// class is its prior probability. Convex where no output is missing, and for free and non-negative weights
/// always; greedy selection is a heuristic.
pub fn fit_weights(
    kind: PoolKind,
    weights: &Weights,
    outputs: &Outputs,
    prior: &ClassPrior,
) -> Result<FittedWeights> {
    let schema = outputs.schema();
    let n = schema.n_classifiers();
    check_kind(kind, weights)?;
    let minimum = |minimum: Minimum| (minimum.point, minimum.converged);
    let (weights, converged) = match weights {
        Weights::Given(list) => (list.clone(), true),
        Weights::Equal => (vec![1.0 / n as f64; n], true),
        Weights::Greedy => (greedy::select(outputs, prior)?, true),
        Weights::Simplex => minimum(minimise(kind, outputs, prior)?),
        Weights::NonNegative => minimum(exponents::minimise(outputs, prior, 0.0)?),
        Weights::Free => minimum(exponents::minimise(outputs, prior, f64::NEG_INFINITY)?),
    };
    Ok(FittedWeights { pool: Pool::new(Arc::clone(schema), kind, weights)?, converged })
}

/// Refuses weights that the pool cannot have.
fn check_kind(kind: PoolKind, weights: &Weights) -> Result<()> {
    let linear = kind == PoolKind::Linear;
    match weights {
        Weights::Free | Weights::NonNegative if linear => Err(Error::parameter(
            "weights",
            "equal, simplex, greedy or given for a linear pool, whose weights must add up to 1",
            if *weights == Weights::Free { "free" } else { "non-negative" },
        )),
        Weights::Greedy if !linear => Err(Error::parameter(
            "weights",
            "equal, simplex, non-negative, free or given for a logarithmic pool (greedy selection \
             averages probabilities)",
            "greedy",
        )),
        _ => Ok(()),
    }
}

fn minimise(kind: PoolKind, outputs: &Outputs, prior: &ClassPrior) -> Result<Minimum> {
    let n = outputs.schema().n_classifiers();
    let labels = outputs.require_labels()?;
    let item_weights = class_weights(outputs, &labels, prior);
    let objective = |weights: &[f64], gradient: &mut [f64]| {
        gradient.fill(0.0);
        let mut loss = 0.0;
        for (item, (&label, &weight)) in labels.iter().zip(&item_weights).enumerate() {
            let term = if kind == PoolKind::Linear { linear_term } else { log_term };
            loss += term(outputs, item, label, prior, weights, weight, gradient);
        }
        loss
    };
    let least = least_weight(outputs);
    let project = |point: &mut [f64]| simplex::project_above(point, least);
    Ok(projected_gradient(&vec![1.0 / n as f64; n], objective, project, TOLERANCE, MAX_STEPS))
}

/// Smallest weight of an average where outputs are missing: the weights of those present are divided
/// by their sum, which may not be 0.
const LEAST_WEIGHT: f64 = 1e-6;

pub(super) fn least_weight(outputs: &Outputs) -> f64 {
    if outputs.any_missing() { LEAST_WEIGHT } else { 0.0 }
}

/// w pₜ/nₜ for every item of weight w, so that each class has its prior probability as total weight;
/// divided by the prior probability of all classes that have items, if some have none.
pub(super) fn class_weights(outputs: &Outputs, labels: &[usize], prior: &ClassPrior) -> Vec<f64> {
    let counts = outputs.class_weights();
    let empty = counts.iter().zip(prior.probabilities()).filter(|(n, _)| **n == 0.0);
    let seen = 1.0 - empty.map(|(_, p)| p).sum::<f64>();
    let share = |label: usize| prior.probabilities()[label] / seen / counts[label];
    let items = labels.iter().enumerate();
    items.map(|(item, &label)| outputs.weight(item) * share(label)).collect()
}

/// −ln Σ w x / Σ w over the classifiers present, with its gradient.
fn linear_term(
    outputs: &Outputs,
    item: usize,
    label: usize,
    prior: &ClassPrior,
    weights: &[f64],
    item_weight: f64,
    gradient: &mut [f64],
) -> f64 {
    let items = outputs.items(item..item + 1);
    let (mut mass, mut total) = (0.0, 0.0);
    for (k, output) in items.present(0) {
        mass += weights[k] * output[label].max(f64::MIN_POSITIVE);
        total += weights[k];
    }
    if !(total > 0.0) {
        return -item_weight * prior.ln()[label]; // all outputs are missing: the class prior
    }
    for (k, output) in items.present(0) {
        gradient[k] -= item_weight * (output[label] / mass - 1.0 / total);
    }
    -item_weight * (mass / total).ln()
}

/// −ln softmax(ln p + Σ w (ln x − ln p)) with its gradient. The weights are shared out among the
/// classifiers present.
fn log_term(
    outputs: &Outputs,
    item: usize,
    label: usize,
    prior: &ClassPrior,
    weights: &[f64],
    item_weight: f64,
    gradient: &mut [f64],
) -> f64 {
    let items = outputs.items(item..item + 1);
    let present: f64 = items.present(0).map(|(k, _)| weights[k]).sum();
    if present == 0.0 {
        return -item_weight * prior.ln()[label]; // all outputs are missing: the class prior
    }
    let scale = 1.0 / present;
    let evidence = |output: &[f64], j: usize| ln_at_least_tiny(output[j]) - prior.ln()[j];
    let mut joint = prior.ln().to_vec();
    for (k, output) in items.present(0) {
        for (j, value) in joint.iter_mut().enumerate() {
            *value += scale * weights[k] * evidence(output, j);
        }
    }
    let pooled: Vec<f64> = joint.iter().zip(prior.ln()).map(|(a, b)| a - b).collect();
    simplex::softmax(&mut joint);
    // ∂/∂(linear predictor of class j) of the loss.
    let residual = |j: usize| joint[j] - f64::from(u8::from(j == label));
    let along = |values: &dyn Fn(usize) -> f64| {
        (0..joint.len()).map(|j| residual(j) * values(j)).sum::<f64>()
    };
    // A weight moves its own evidence, and also the scale 1/Σw of all.
    let by_scale = along(&|j| pooled[j]);
    for (k, output) in items.present(0) {
        let by_weight = along(&|j| evidence(output, j));
        gradient[k] += item_weight * scale * (by_weight - by_scale);
    }
    -item_weight * joint[label].max(f64::MIN_POSITIVE).ln()
}
