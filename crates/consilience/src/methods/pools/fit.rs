//! Weights that minimise the log-loss of a pool.

use std::sync::Arc;

use super::{Pool, PoolKind, Weights};
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

/// Free weights carry a prior N(1/K, 10²): next to nothing, but it keeps separable data finite.
const FREE_WEIGHT_VARIANCE: f64 = 100.0;
const TOLERANCE: f64 = 1e-9;
const MAX_STEPS: usize = 5000;

/// Finds the weights of a linear or logarithmic pool.
///
/// Fitted weights minimise the log-loss under `prior`, items weighted so that the classes count
/// as the prior demands. Convex where no output is missing, and for free weights always.
pub fn fit_weights(
    kind: PoolKind,
    weights: &Weights,
    outputs: &Outputs,
    prior: &ClassPrior,
) -> Result<FittedWeights> {
    let schema = outputs.schema();
    let n = schema.n_classifiers();
    let given = |weights: Vec<f64>| {
        let pool = Pool::new(Arc::clone(schema), kind, weights)?;
        Ok(FittedWeights { pool, converged: true })
    };
    match weights {
        Weights::Given(list) => given(list.clone()),
        Weights::Equal => given(vec![1.0 / n as f64; n]),
        Weights::Free if kind == PoolKind::Linear => Err(Error::parameter(
            "weights",
            "equal, simplex or given for a linear pool (free ones could leave the simplex)",
            "free",
        )),
        Weights::Simplex | Weights::Free => {
            let minimum = minimise(kind, *weights == Weights::Free, outputs, prior)?;
            let pool = Pool::new(Arc::clone(schema), kind, minimum.point)?;
            Ok(FittedWeights { pool, converged: minimum.converged })
        }
    }
}

fn minimise(kind: PoolKind, free: bool, outputs: &Outputs, prior: &ClassPrior) -> Result<Minimum> {
    let n = outputs.schema().n_classifiers();
    let labels = outputs.require_labels()?;
    let item_weights = class_weights(outputs, &labels, prior);
    let n_items: f64 = outputs.class_weights().iter().sum();
    let centre = 1.0 / n as f64;
    let objective = |weights: &[f64], gradient: &mut [f64]| {
        gradient.fill(0.0);
        let mut loss = 0.0;
        for (item, (&label, &weight)) in labels.iter().zip(&item_weights).enumerate() {
            let term = match kind {
                PoolKind::Linear => {
                    linear_term(outputs, item, label, prior, weights, weight, gradient)
                }
                _ => log_term(outputs, item, label, (prior, free), weights, weight, gradient),
            };
            loss += term;
        }
        if free {
            let scale = 1.0 / (FREE_WEIGHT_VARIANCE * n_items);
            for (w, g) in weights.iter().zip(gradient.iter_mut()) {
                loss += 0.5 * scale * (w - centre).powi(2);
                *g += scale * (w - centre);
            }
        }
        loss
    };
    let least = if outputs.any_missing() { LEAST_WEIGHT } else { 0.0 };
    let project = |point: &mut [f64]| {
        if !free {
            simplex::project_above(point, least);
        }
    };
    Ok(projected_gradient(&vec![centre; n], objective, project, TOLERANCE, MAX_STEPS))
}

/// No weight of an average goes below this where outputs are missing: the weights of those present
/// are scaled up, and of nothing there is nothing to scale.
const LEAST_WEIGHT: f64 = 1e-6;

/// w pₜ/nₜ for every item of weight w, so that each class has its prior probability as total weight;
/// divided by the prior probability of all classes that have items, if some have none.
fn class_weights(outputs: &Outputs, labels: &[usize], prior: &ClassPrior) -> Vec<f64> {
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

/// −ln softmax(ln p + Σ w (ln x − ln p)) with its gradient. Weights of an average are shared out
/// among the classifiers present; free ones are not.
fn log_term(
    outputs: &Outputs,
    item: usize,
    label: usize,
    (prior, free): (&ClassPrior, bool),
    weights: &[f64],
    item_weight: f64,
    gradient: &mut [f64],
) -> f64 {
    let items = outputs.items(item..item + 1);
    let present: f64 = items.present(0).map(|(k, _)| weights[k]).sum();
    if !free && present == 0.0 {
        return -item_weight * prior.ln()[label]; // all outputs are missing: the class prior
    }
    let scale = if free { 1.0 } else { 1.0 / present };
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
    // A weight moves its own evidence, and in an average also the scale 1/Σw of all.
    let by_scale = if free { 0.0 } else { along(&|j| pooled[j]) };
    for (k, output) in items.present(0) {
        let by_weight = along(&|j| evidence(output, j));
        gradient[k] += item_weight * scale * (by_weight - by_scale);
    }
    -item_weight * joint[label].max(f64::MIN_POSITIVE).ln()
}
