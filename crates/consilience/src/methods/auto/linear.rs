//! The linear pool with fitted weights and temperature.

use super::features::MeanOutputs;
use super::leave_one_out::FittedMember;
use super::members::{LinearRule, Rule};
use crate::math::columns::{add_scaled, ln_all};
use crate::methods::regression::{ClassColumns, ItemBlock, Prior, Regression, Room, Sums, Work};
use consilience_numerics::simplex;

/// The logarithms of weights, θₖ ~ N(0, 1), and of a temperature, ln a ~ N(0.2, 1), in
/// Uₜ = a (ln Σₖ wₖ xᵏₜ − ln πₜ) with w = softmax(θ).
pub(super) struct LinearRegression<'a> {
    means: &'a MeanOutputs,
    prior: Prior,
}

/// The prior mean of ln a: pools are underconfident on average.
pub(super) const LN_TEMPERATURE: f64 = 0.2;

/// The prior weight of the pool in the mixture.
const PRIOR_WEIGHT: f64 = 0.5;

impl<'a> LinearRegression<'a> {
    pub(super) fn new(means: &'a MeanOutputs) -> Self {
        let k = means.order.len();
        let mut prior = Prior { means: vec![0.0; k + 1], precisions: vec![1.0; k + 1] };
        prior.means[k] = LN_TEMPERATURE;
        Self { means, prior }
    }

    fn rule(&self, theta: &[f64]) -> LinearRule {
        let (ln_weights, ln_temperature) = theta.split_at(theta.len() - 1);
        let mut weights = ln_weights.to_vec();
        simplex::softmax(&mut weights);
        let exponent = ln_temperature[0].exp();
        let bias = self.means.ln_all.iter().map(|ln| -exponent * ln).collect();
        LinearRule { bias, exponent, weights }
    }

    fn n_classes(&self) -> usize {
        self.means.ln_all.len()
    }
}

impl Regression for LinearRegression<'_> {
    fn prior(&self) -> &Prior {
        &self.prior
    }

    /// Writes U, and the derivatives of U as features: with s = Σ w x, Uₜ = b + a ln sₜ, ∂Uₜ/∂θₖ = a wₖ (xᵏₜ/sₜ − 1),
    /// ∂Uₜ/∂ln a = Uₜ.
    fn predict(&self, theta: &[f64], block: &ItemBlock, room: &mut Room) {
        let LinearRule { bias, exponent, weights } = self.rule(theta);
        let (k, j, stride) = (weights.len(), self.n_classes(), block.stride);
        room.features.resize((k + 1) * j * stride);
        let (own, last) = room.features.split_at_mut(k * j * stride);
        last.fill(0.0);
        for (weight, x) in weights.iter().zip(block.probabilities.chunks_exact(j * stride)) {
            add_scaled(last, *weight, x);
        }
        for ((weight, x), z) in weights
            .iter()
            .zip(block.probabilities.chunks_exact(j * stride))
            .zip(own.chunks_exact_mut(j * stride))
        {
            for ((z, x), mean) in z.iter_mut().zip(x).zip(&*last) {
                *z = exponent * weight * (x / mean.max(f64::MIN_POSITIVE) - 1.0);
            }
        }
        ln_all(last);
        for (predictor, bias) in last.chunks_exact_mut(stride).zip(bias) {
            predictor.iter_mut().for_each(|u| *u = bias + exponent * *u);
        }
        room.work.predictors.copy_from_slice(last);
    }

    /// The curvature is that of the predictors linearised here (Gauss and Newton).
    fn add_derivatives(&self, _: &[f64], block: &ItemBlock, room: &mut Room, sums: &mut Sums) {
        let columns = columns(&room.features, self.n_classes(), block.stride);
        columns.add_gradient(&room.work, sums);
        if !sums.curvature.is_empty() {
            columns.add_curvature(&block.weights, &mut room.work, &mut sums.curvature);
        }
    }
}

fn columns(features: &[f64], n_classes: usize, stride: usize) -> ClassColumns<'_> {
    ClassColumns { n_classes, has_biases: false, columns: features.chunks_exact(stride).collect() }
}

impl FittedMember for LinearRegression<'_> {
    fn with_columns(
        &self,
        _: &[f64],
        block: &ItemBlock,
        room: &mut Room,
        f: &mut dyn FnMut(&ClassColumns<'_>, &mut Work),
    ) {
        f(&columns(&room.features, self.n_classes(), block.stride), &mut room.work);
    }

    fn finish(&self, theta: &[f64], _: &MeanOutputs) -> Rule {
        Rule::LinearPool(self.rule(theta))
    }

    fn n_exponents(&self) -> usize {
        self.prior.len()
    }

    fn prior_weight(&self) -> f64 {
        PRIOR_WEIGHT
    }

    fn as_regression(&self) -> &dyn Regression {
        self
    }
}
