//! The discount for sources that err together: a mixture over the correlation ρ of sources.
//!
//! ```text
//! P(t = j | votes) = Σ_m w_m softmax_j( F_ij / (1 + (n_i − 1) ρ_m) + β_mj )
//! ```
//!
//! for `n_i` votes on item i. Without gold labels the weights w are a prior that was learned from
//! other data sets, and β = 0. Gold labels update the weights and set β.

use nalgebra::{DMatrix, DVector};
use serde::{Deserialize, Serialize};

use super::super::core::softmax;
use crate::error::{Error, Result};
use consilience_numerics::log_space::log_sum_exp;
use consilience_numerics::simplex;

/// The prior of ln ρ: mean ln 0.42 and standard deviation 0.7, the values that the gold labels of
/// 25 sets of votes chose, held out by family of sets.
const TYPICAL: f64 = 0.42;
const SPREAD: f64 = 0.7;

/// The values of ρ: so many, spaced evenly in ln ρ between these.
const VALUES: usize = 13;
const LEAST: f64 = 0.05;
const MOST: f64 = 6.0;

/// Standard deviation of the class biases β before any gold label.
const BIAS_SD: f64 = 0.5;

/// Largest Newton step of a bias, their number, and the step that ends the search.
const LONGEST_STEP: f64 = 2.0;
const MOST_STEPS: usize = 25;
const LAST_STEP: f64 = 1e-6;

/// The distribution of ρ and the class biases that go with its values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Discount {
    /// The values `ρ_m`.
    pub(crate) rho: Vec<f64>,
    /// Their probabilities `w_m`.
    pub(crate) weights: Vec<f64>,
    /// `β_m`, one number per class for every value; empty if all are 0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) bias: Vec<Vec<f64>>,
}

/// The factor by which the score of an item with n votes is divided.
fn divisor(n: usize, rho: f64) -> f64 {
    1.0 + n.saturating_sub(1) as f64 * rho
}

impl Discount {
    /// The prior over ρ, or a given value.
    pub(crate) fn prior(given: Option<f64>) -> Self {
        if let Some(rho) = given {
            return Self { rho: vec![rho], weights: vec![1.0], bias: Vec::new() };
        }
        let step = (MOST / LEAST).ln() / (VALUES - 1) as f64;
        let rho: Vec<f64> = (0..VALUES).map(|m| LEAST * (step * m as f64).exp()).collect();
        let ln_density = |rho: &f64| -0.5 * ((rho / TYPICAL).ln() / SPREAD).powi(2);
        let mut weights: Vec<f64> = rho.iter().map(ln_density).collect();
        simplex::softmax(&mut weights);
        Self { rho, weights, bias: Vec::new() }
    }

    /// No discount: independent sources.
    pub(crate) fn none() -> Self {
        Self::prior(Some(0.0))
    }

    /// Updates this prior with items of known class: their scores (n × K, from a fit that did not
    /// use their labels), numbers of votes and labels.
    pub(crate) fn learn(&self, scores: &[f64], votes: &[usize], labels: &[usize]) -> Self {
        if labels.is_empty() {
            return self.clone();
        }
        let k = scores.len() / labels.len();
        let (mut ln_weights, mut bias) = (Vec::new(), Vec::new());
        for (rho, weight) in self.rho.iter().zip(&self.weights) {
            let mut scaled = scores.to_vec();
            for (row, n) in scaled.chunks_exact_mut(k).zip(votes) {
                row.iter_mut().for_each(|f| *f /= divisor(*n, *rho));
            }
            let (evidence, beta) = fit_bias(&scaled, labels, k);
            ln_weights.push(weight.ln() + evidence);
            bias.push(beta);
        }
        simplex::softmax(&mut ln_weights);
        Self { rho: self.rho.clone(), weights: ln_weights, bias }
    }

    /// Probabilities under the m-th value of ρ, from the scores of an item with n votes.
    pub(crate) fn apply_one(&self, m: usize, scores: &[f64], n: usize, out: &mut [f64]) {
        let scale = divisor(n, self.rho[m]).recip();
        for (j, (p, f)) in out.iter_mut().zip(scores).enumerate() {
            *p = f * scale + self.bias.get(m).map_or(0.0, |bias| bias[j]);
        }
        softmax(out);
    }

    /// Probabilities averaged over ρ.
    pub(crate) fn apply(&self, scores: &[f64], n: usize, out: &mut [f64], one: &mut [f64]) {
        out.fill(0.0);
        for (m, weight) in self.weights.iter().enumerate().filter(|(_, weight)| **weight > 0.0) {
            self.apply_one(m, scores, n, one);
            out.iter_mut().zip(&*one).for_each(|(p, q)| *p += weight * q);
        }
        simplex::normalise(out);
    }

    /// The geometric mean of ρ.
    pub(crate) fn mean(&self) -> f64 {
        if self.rho.len() == 1 {
            return self.rho[0];
        }
        self.rho.iter().zip(&self.weights).map(|(rho, w)| w * rho.ln()).sum::<f64>().exp()
    }

    /// A quantile of ρ; each value stands for the interval between its neighbours' midpoints on
    /// the logarithmic scale.
    pub(crate) fn quantile(&self, level: f64) -> f64 {
        if self.rho.len() == 1 {
            return self.rho[0];
        }
        let step = (self.rho[1] / self.rho[0]).ln();
        let mut left = level;
        for (rho, weight) in self.rho.iter().zip(&self.weights) {
            if left <= *weight {
                return rho * (step * (left / weight - 0.5)).exp();
            }
            left -= weight;
        }
        self.rho[self.rho.len() - 1]
    }

    /// Checks a discount that was read from a file.
    pub(crate) fn check(&self, k: usize) -> Result<()> {
        let in_range = |values: &[f64]| values.iter().all(|v| v.is_finite() && *v >= 0.0);
        let shapes = !self.rho.is_empty()
            && self.rho.len() == self.weights.len()
            && (self.bias.is_empty() || self.bias.len() == self.rho.len());
        let biases = self.bias.iter().all(|b| b.len() == k && b.iter().all(|v| v.is_finite()));
        let sum: f64 = self.weights.iter().sum();
        let ordered = self.rho.windows(2).all(|pair| pair[0] < pair[1]);
        if shapes
            && biases
            && ordered
            && in_range(&self.rho)
            && in_range(&self.weights)
            && (sum - 1.0).abs() < 1e-6
        {
            return Ok(());
        }
        let rule = "`discount` needs increasing values of `rho` from 0, as many `weights` that add \
                    up to 1, and no `bias` or one finite number per class for every `rho`";
        Err(Error::InvalidModel(rule.into()))
    }
}

/// The biases β that maximise Σ ln softmax(F + β)_t − ½|β|²/0.5², and the log evidence by Laplace's
/// method.
fn fit_bias(scores: &[f64], labels: &[usize], k: usize) -> (f64, Vec<f64>) {
    let precision = 1.0 / (BIAS_SD * BIAS_SD);
    let mut beta = DVector::zeros(k);
    let mut curvature = DMatrix::identity(k, k);
    for _ in 0..MOST_STEPS {
        let gradient;
        (gradient, curvature) = slope(scores, labels, &beta, precision);
        let step = match curvature.clone().cholesky() {
            Some(factor) => factor.solve(&gradient),
            None => break,
        };
        beta += step.map(|s| s.clamp(-LONGEST_STEP, LONGEST_STEP));
        if step.amax() < LAST_STEP {
            break;
        }
    }
    let mut total = -0.5 * precision * beta.norm_squared();
    for (row, &label) in scores.chunks_exact(k).zip(labels) {
        let shifted: Vec<f64> = row.iter().zip(beta.iter()).map(|(f, b)| f + b).collect();
        total += (shifted[label] - log_sum_exp(&shifted)).max(1e-12f64.ln());
    }
    let scaled = curvature / precision;
    let ln_determinant =
        scaled.cholesky().map_or(0.0, |c| 2.0 * c.l_dirty().diagonal().map(f64::ln).sum());
    (total - 0.5 * ln_determinant, beta.iter().copied().collect())
}

/// Gradient and negative Hessian in β.
fn slope(
    scores: &[f64],
    labels: &[usize],
    beta: &DVector<f64>,
    precision: f64,
) -> (DVector<f64>, DMatrix<f64>) {
    let k = beta.len();
    let mut gradient = -beta * precision;
    let mut curvature = DMatrix::identity(k, k) * precision;
    let mut p = vec![0.0; k];
    for (row, &label) in scores.chunks_exact(k).zip(labels) {
        p.iter_mut().zip(row).zip(beta.iter()).for_each(|((p, f), b)| *p = f + b);
        simplex::softmax(&mut p);
        gradient[label] += 1.0;
        for a in 0..k {
            gradient[a] -= p[a];
            curvature[(a, a)] += p[a];
            for b in 0..k {
                curvature[(a, b)] -= p[a] * p[b];
            }
        }
    }
    (gradient, curvature)
}
