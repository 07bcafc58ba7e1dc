//! The linear pool with fitted weights and temperature.

use nalgebra::DMatrix;

use super::features::{Features, MeanOutputs};
use super::layers::Scored;
use super::leave_one_out::{Jacobian, scores};
use super::members::{LinearRule, Rule};
use crate::sampling::{Target, search_mode};
use consilience_numerics::simplex;

/// The posterior of the logarithms of weights, θₖ ~ N(0, 1), and of a temperature,
/// ln a ~ N(0.2, 1), in Uₜ = a (ln Σₖ wₖ xᵏₜ − ln πₜ) with w = softmax(θ).
struct LinearPosterior<'a> {
    features: &'a Features,
    means: &'a MeanOutputs,
}

/// The prior mean of ln a: pools are underconfident on average.
pub(super) const LN_TEMPERATURE: f64 = 0.2;

/// The prior weight of the pool in the mixture.
const PRIOR_WEIGHT: f64 = 0.5;

/// Fits the pool.
pub(super) fn fit(features: &Features, means: &MeanOutputs, scored: &[usize]) -> Scored {
    let posterior = LinearPosterior { features, means };
    let mut start = vec![0.0; features.n_classifiers + 1];
    start[features.n_classifiers] = LN_TEMPERATURE;
    let (theta, converged) = search_mode(&posterior, &start);
    let (pool, mut prediction) = (posterior.at(&theta), posterior.prediction());
    let mut probabilities = DMatrix::zeros(features.n_items(), features.n_classes);
    for (item, mut row) in probabilities.row_iter_mut().enumerate() {
        pool.predict(item, &mut prediction);
        row.iter_mut().zip(&prediction.probabilities).for_each(|(p, own)| *p = *own);
    }
    let curvature = posterior.curvature(&theta);
    let scores = scores(features, scored, &pool, &curvature, &probabilities);
    let rule = Rule::LinearPool(pool.rule);
    Scored { rule, prior_weight: PRIOR_WEIGHT, n_exponents: theta.len(), scores, converged }
}

fn rule(theta: &[f64], means: &MeanOutputs) -> LinearRule {
    let (ln_weights, ln_temperature) = theta.split_at(theta.len() - 1);
    let mut weights = ln_weights.to_vec();
    simplex::softmax(&mut weights);
    let exponent = ln_temperature[0].exp();
    LinearRule { bias: means.ln_all.iter().map(|ln| -exponent * ln).collect(), exponent, weights }
}

/// The pool at a point of its parameters.
struct AtPoint<'a> {
    posterior: &'a LinearPosterior<'a>,
    rule: LinearRule,
}

/// What the pool gives for one item.
struct Prediction {
    /// softmax(o + U).
    probabilities: Vec<f64>,
    /// ∂Uₜ/∂θₚ at t · parameters + p.
    jacobian: Vec<f64>,
}

impl LinearPosterior<'_> {
    fn at(&self, theta: &[f64]) -> AtPoint<'_> {
        AtPoint { posterior: self, rule: rule(theta, self.means) }
    }

    fn prediction(&self) -> Prediction {
        let (k, j) = (self.features.n_classifiers, self.features.n_classes);
        Prediction { probabilities: vec![0.0; j], jacobian: vec![0.0; j * (k + 1)] }
    }

    fn prior_mean(&self, parameter: usize) -> f64 {
        if parameter == self.features.n_classifiers { LN_TEMPERATURE } else { 0.0 }
    }
}

impl AtPoint<'_> {
    /// With s = Σ w x: Uₜ = b + a ln sₜ, ∂Uₜ/∂θₖ = a wₖ (xᵏₜ/sₜ − 1), ∂Uₜ/∂ln a = Uₜ.
    fn predict(&self, item: usize, prediction: &mut Prediction) {
        let LinearRule { bias, exponent, weights } = &self.rule;
        let LinearPosterior { features, .. } = self.posterior;
        let (k, j) = (weights.len(), features.n_classes);
        let x = features.of_item(&features.probabilities, item);
        let Prediction { probabilities, jacobian } = prediction;
        for (t, row) in jacobian.chunks_exact_mut(k + 1).enumerate() {
            let own = || x.iter().skip(t).step_by(j).zip(weights);
            let mean = own().map(|(x, w)| w * x).sum::<f64>().max(f64::MIN_POSITIVE);
            for (z, (x, w)) in row.iter_mut().zip(own()) {
                *z = exponent * w * (x / mean - 1.0);
            }
            row[k] = bias[t] + exponent * mean.ln();
            probabilities[t] = features.offsets[t] + row[k];
        }
        simplex::softmax(probabilities);
    }
}

impl Target for LinearPosterior<'_> {
    fn dimension(&self) -> usize {
        self.features.n_classifiers + 1
    }

    fn ln_density(&self, point: &[f64], gradient: &mut [f64]) -> f64 {
        let (pool, mut prediction) = (self.at(point), self.prediction());
        let mut sum = 0.0;
        gradient.fill(0.0);
        let items = self.features.labels.iter().zip(&self.features.weights);
        for (item, (&label, &weight)) in items.enumerate() {
            pool.predict(item, &mut prediction);
            let Prediction { probabilities, jacobian } = &prediction;
            sum += weight * probabilities[label].max(f64::MIN_POSITIVE).ln();
            for (t, row) in jacobian.chunks_exact(point.len()).enumerate() {
                let residual = weight * (f64::from(u8::from(t == label)) - probabilities[t]);
                gradient.iter_mut().zip(row).for_each(|(g, z)| *g += residual * z);
            }
        }
        for (p, g) in gradient.iter_mut().enumerate() {
            let off = point[p] - self.prior_mean(p);
            *g -= off;
            sum -= 0.5 * off * off;
        }
        if sum.is_finite() { sum } else { f64::NEG_INFINITY }
    }

    /// That of the predictors linearised at `point` (Gauss and Newton).
    fn curvature(&self, point: &[f64]) -> DMatrix<f64> {
        let (pool, mut prediction) = (self.at(point), self.prediction());
        let width = point.len();
        let mut curvature = DMatrix::identity(width, width);
        let mut means = vec![0.0; width];
        for (item, weight) in self.features.weights.iter().enumerate() {
            pool.predict(item, &mut prediction);
            let rows = || prediction.jacobian.chunks_exact(width).zip(&prediction.probabilities);
            means.fill(0.0);
            for (row, p) in rows() {
                means.iter_mut().zip(row).for_each(|(mean, z)| *mean += p * z);
            }
            for (row, p) in rows() {
                for a in 0..width {
                    let scaled = weight * p * (row[a] - means[a]);
                    for b in 0..=a {
                        curvature[(a, b)] += scaled * (row[b] - means[b]);
                    }
                }
            }
        }
        curvature.fill_upper_triangle_with_lower_triangle();
        curvature
    }
}

impl Jacobian for AtPoint<'_> {
    fn n_parameters(&self) -> usize {
        self.rule.weights.len() + 1
    }

    fn write(&self, item: usize, jacobian: &mut [f64]) {
        let mut prediction = self.posterior.prediction();
        self.predict(item, &mut prediction);
        jacobian.copy_from_slice(&prediction.jacobian);
    }
}
