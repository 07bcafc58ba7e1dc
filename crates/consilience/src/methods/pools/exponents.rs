//! Exponents of a logarithmic pool whose sum is free.

use super::fit::{MAX_STEPS, TOLERANCE, class_weights};
use crate::data::class_prior::ClassPrior;
use crate::data::outputs::Outputs;
use crate::error::Result;
use consilience_numerics::log_space::ln_at_least_tiny;
use consilience_numerics::optimise::{Minimum, projected_gradient};
use consilience_numerics::simplex;

/// Weights have a prior N(1/K, 10²). It is nearly flat, and it keeps the weights finite if the classes
/// are separable.
const VARIANCE: f64 = 100.0;

/// The weights, none below `least`, of P ∝ p^(1−Σw) ∏ x^w with the smallest log-loss. An absent
/// classifier has no evidence. Convex.
pub(super) fn minimise(outputs: &Outputs, prior: &ClassPrior, least: f64) -> Result<Minimum> {
    let labels = outputs.require_labels()?;
    let items = Evidence::of(outputs, prior);
    let item_weights = class_weights(outputs, &labels, prior);
    let n_items: f64 = outputs.class_weights().iter().sum();
    let (n, scale) = (outputs.schema().n_classifiers(), 1.0 / (VARIANCE * n_items));
    let centre = 1.0 / n as f64;
    let mut joint = vec![0.0; prior.ln().len()];
    let objective = |weights: &[f64], gradient: &mut [f64]| {
        gradient.fill(0.0);
        let mut loss = 0.0;
        for (item, (&label, &weight)) in labels.iter().zip(&item_weights).enumerate() {
            joint.copy_from_slice(prior.ln());
            loss += weight * items.add_term(item, label, weights, weight, &mut joint, gradient);
        }
        for (w, g) in weights.iter().zip(gradient.iter_mut()) {
            loss += 0.5 * scale * (w - centre).powi(2);
            *g += scale * (w - centre);
        }
        loss
    };
    let project = |point: &mut [f64]| point.iter_mut().for_each(|w| *w = w.max(least));
    Ok(projected_gradient(&vec![centre; n], objective, project, TOLERANCE, MAX_STEPS))
}

/// ln xᵏⱼ − ln pⱼ of every item, centred over the classes; 0 for an absent classifier.
struct Evidence {
    n_classes: usize,
    width: usize,
    values: Vec<f64>,
}

impl Evidence {
    fn of(outputs: &Outputs, prior: &ClassPrior) -> Self {
        let (schema, items) = (outputs.schema(), outputs.all());
        let (n_classes, width) = (schema.n_classes(), schema.width());
        let mut values = vec![0.0; width * items.len()];
        for (item, row) in values.chunks_exact_mut(width).enumerate() {
            for (k, output) in items.present(item) {
                let own = &mut row[k * n_classes..][..n_classes];
                for ((value, x), ln) in own.iter_mut().zip(output).zip(prior.ln()) {
                    *value = ln_at_least_tiny(*x) - ln;
                }
                let mean = own.iter().sum::<f64>() / n_classes as f64;
                own.iter_mut().for_each(|value| *value -= mean);
            }
        }
        Self { n_classes, width, values }
    }

    /// The loss of one item, whose gradient is added; `joint` begins with the class prior.
    fn add_term(
        &self,
        item: usize,
        label: usize,
        weights: &[f64],
        item_weight: f64,
        joint: &mut [f64],
        gradient: &mut [f64],
    ) -> f64 {
        let row = &self.values[item * self.width..][..self.width];
        let outputs = || row.chunks_exact(self.n_classes);
        for (evidence, w) in outputs().zip(weights) {
            joint.iter_mut().zip(evidence).for_each(|(joint, e)| *joint += w * e);
        }
        simplex::softmax(joint);
        let loss = -joint[label].max(f64::MIN_POSITIVE).ln();
        joint[label] -= 1.0;
        for (evidence, g) in outputs().zip(gradient) {
            *g += item_weight * evidence.iter().zip(&*joint).map(|(e, r)| e * r).sum::<f64>();
        }
        loss
    }
}
