//! The linear pool with fitted weights and temperature.

use nalgebra::DMatrix;

use super::features::{Features, MeanOutputs};
use super::layers::Scored;
use super::leave_one_out::{Jacobian, scores};
use super::members::{LinearRule, Rule};
use crate::sampling::{Target, climb};
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
    let (theta, converged) = climb(&posterior, &start);
    let (n, j) = (features.n_items(), features.n_classes);
    let mut probabilities = DMatrix::zeros(n, j);
    for item in 0..n {
        let row = posterior.probabilities(&theta, item).0;
        row.iter().enumerate().for_each(|(t, p)| probabilities[(item, t)] = *p);
    }
    let at_mode = AtMode { posterior: &posterior, theta: &theta };
    let curvature = posterior.curvature(&theta);
    let scores = scores(features, scored, &at_mode, &curvature, &probabilities);
    let rule = Rule::LinearPool(rule(&theta, means));
    Scored { rule, prior_weight: PRIOR_WEIGHT, scores, converged }
}

fn rule(theta: &[f64], means: &MeanOutputs) -> LinearRule {
    let (ln_weights, ln_temperature) = theta.split_at(theta.len() - 1);
    let mut weights = ln_weights.to_vec();
    simplex::softmax(&mut weights);
    let exponent = ln_temperature[0].exp();
    LinearRule { bias: means.ln_all.iter().map(|ln| -exponent * ln).collect(), exponent, weights }
}

impl LinearPosterior<'_> {
    /// softmax(o + U), U, and the mean probability of every class.
    fn probabilities(&self, theta: &[f64], item: usize) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
        let LinearRule { exponent, weights, .. } = rule(theta, self.means);
        let j = self.features.n_classes;
        let x = self.features.of_item(&self.features.probabilities, item);
        let mean = |t: usize| weights.iter().enumerate().map(|(k, w)| w * x[k * j + t]).sum();
        let means: Vec<f64> = (0..j).map(mean).collect();
        let logs = means.iter().zip(&self.means.ln_all);
        let predictors: Vec<f64> =
            logs.map(|(mean, ln)| exponent * (mean.max(f64::MIN_POSITIVE).ln() - ln)).collect();
        let mut joint = predictors.clone();
        joint.iter_mut().zip(&self.features.offsets).for_each(|(u, o)| *u += o);
        simplex::softmax(&mut joint);
        (joint, predictors, means)
    }

    /// ∂Uₜ/∂θₖ = a wₖ (xᵏₜ/Σ w x − 1), ∂Uₜ/∂ln a = Uₜ.
    fn write_jacobian(&self, theta: &[f64], item: usize, jacobian: &mut [f64]) -> Vec<f64> {
        let LinearRule { exponent, weights, .. } = rule(theta, self.means);
        let (probabilities, predictors, means) = self.probabilities(theta, item);
        let (k, j) = (weights.len(), self.features.n_classes);
        let x = self.features.of_item(&self.features.probabilities, item);
        for (t, row) in jacobian.chunks_exact_mut(k + 1).enumerate() {
            for (c, weight) in weights.iter().enumerate() {
                row[c] = exponent * weight * (x[c * j + t] / means[t].max(f64::MIN_POSITIVE) - 1.0);
            }
            row[k] = predictors[t];
        }
        probabilities
    }

    fn prior_mean(&self, parameter: usize) -> f64 {
        if parameter == self.features.n_classifiers { LN_TEMPERATURE } else { 0.0 }
    }
}

impl Target for LinearPosterior<'_> {
    fn dimension(&self) -> usize {
        self.features.n_classifiers + 1
    }

    fn ln_density(&self, point: &[f64], gradient: &mut [f64]) -> f64 {
        let width = point.len();
        let mut jacobian = vec![0.0; width * self.features.n_classes];
        let mut sum = 0.0;
        gradient.fill(0.0);
        for (item, (&label, &weight)) in
            self.features.labels.iter().zip(&self.features.weights).enumerate()
        {
            let probabilities = self.write_jacobian(point, item, &mut jacobian);
            sum += weight * probabilities[label].max(f64::MIN_POSITIVE).ln();
            for (t, row) in jacobian.chunks_exact(width).enumerate() {
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
        let width = point.len();
        let mut jacobian = vec![0.0; width * self.features.n_classes];
        let mut curvature = DMatrix::identity(width, width);
        for (item, weight) in self.features.weights.iter().enumerate() {
            let probabilities = self.write_jacobian(point, item, &mut jacobian);
            let rows = || jacobian.chunks_exact(width).zip(&probabilities);
            let mean = |p: usize| rows().map(|(row, q)| q * row[p]).sum::<f64>();
            let means: Vec<f64> = (0..width).map(mean).collect();
            for (row, q) in rows() {
                for a in 0..width {
                    for b in 0..=a {
                        curvature[(a, b)] += weight * q * (row[a] - means[a]) * (row[b] - means[b]);
                    }
                }
            }
        }
        curvature.fill_upper_triangle_with_lower_triangle();
        curvature
    }
}

/// The pool linearised at its mode.
struct AtMode<'a> {
    posterior: &'a LinearPosterior<'a>,
    theta: &'a [f64],
}

impl Jacobian for AtMode<'_> {
    fn n_parameters(&self) -> usize {
        self.theta.len()
    }

    fn write(&self, item: usize, jacobian: &mut [f64]) {
        self.posterior.write_jacobian(self.theta, item, jacobian);
    }
}
