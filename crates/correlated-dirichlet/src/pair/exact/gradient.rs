//! Derivatives of the exact log density in its parameters, from the same nodes.
//!
//! With expectations over the weights of the quadrature, and D, A¹, A² for the three gammas of a component:
//!
//! ```text
//! ∂ln f/∂δ = −ψ(δ) + E ln D,   ∂ln f/∂a¹ = −ψ(a¹) + E ln A¹,   ∂ln f/∂a² = −ψ(a²) + E ln A²
//! ```
//!
//! where ln D = ln s + ln m + ln v, and ln A is ln s + ln m + ln q for the smaller total, ln s + ln m + ln(c+q) for the larger.
//! At fixed α = a + δ the derivative in δ is the first minus the other two.

use super::constants::CLOSING;
use super::kernel::{Posterior, run};
use super::scale::{Position, ScaleIntegral, ScaleIntegrals};
use super::shared::SharedIntegral;
use crate::pair::component::Component;
use consilience_numerics::special::digamma;

/// Derivatives of ln f(x¹, x²), one entry per component.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Gradient {
    /// ∂ ln f/∂δ at fixed α¹, α².
    pub delta: Vec<f64>,
    /// ∂ ln f/∂α¹ at fixed δ.
    pub alpha1: Vec<f64>,
    /// ∂ ln f/∂α² at fixed δ.
    pub alpha2: Vec<f64>,
}

/// Weighted sums of the derivatives during the integral over the ratio.
#[derive(Debug, Clone, Default)]
pub(crate) struct GradientSum {
    /// Derivatives at the last ratio: shared, first and second private shape of every component.
    current: Vec<[f64; 3]>,
    /// Derivatives at ratios whose weight is not known yet.
    waiting: [Vec<[f64; 3]>; CLOSING],
    sum: Vec<[f64; 3]>,
    total: f64,
    coefficients: Vec<f64>,
    means: Vec<f64>,
    slopes: Vec<f64>,
}

impl GradientSum {
    pub(crate) fn reset(&mut self, n: usize) {
        self.total = 0.0;
        for list in [&mut self.current, &mut self.sum] {
            list.clear();
            list.resize(n, [0.0; 3]);
        }
    }

    /// Multiplies all sums by a factor.
    pub(crate) fn scale(&mut self, factor: f64) {
        self.total *= factor;
        for value in self.sum.iter_mut().flatten() {
            *value *= factor;
        }
    }

    /// Adds the last ratio with its weight.
    pub(crate) fn add(&mut self, weight: f64) {
        self.total += weight;
        for (sum, current) in self.sum.iter_mut().flatten().zip(self.current.iter().flatten()) {
            *sum += weight * current;
        }
    }

    /// Stores the last ratio until its weight is known.
    pub(crate) fn wait(&mut self, j: usize) {
        self.waiting[j].clone_from(&self.current);
    }

    /// Restores a stored ratio as the last one.
    pub(crate) fn recall(&mut self, j: usize) {
        std::mem::swap(&mut self.current, &mut self.waiting[j]);
    }

    /// Adds to the derivatives in one component's private shapes alone.
    pub(crate) fn add_private(&mut self, l: usize, weight: [f64; 2]) {
        self.sum[l][1] += weight[0];
        self.sum[l][2] += weight[1];
    }

    /// Adds to the derivatives in all shapes of the total of classifier k.
    pub(crate) fn add_total(&mut self, k: usize, weight: f64) {
        for sum in &mut self.sum {
            sum[0] += weight;
            sum[1 + k] += weight;
        }
    }

    /// The finished derivatives.
    pub(crate) fn finish(&self, gradient: &mut Gradient) {
        for list in [&mut gradient.delta, &mut gradient.alpha1, &mut gradient.alpha2] {
            list.clear();
        }
        for sum in &self.sum {
            let [common, first, second] = sum.map(|value| value / self.total);
            gradient.delta.push(common - first - second);
            gradient.alpha1.push(first);
            gradient.alpha2.push(second);
        }
    }
}

/// The derivative of the constant in `ln_gamma_safe`: ψ(s), or ψ(1+s) below 1.
fn digamma_safe(shape: f64) -> f64 {
    if shape >= 1.0 { digamma(shape) } else { digamma(1.0 + shape) }
}

impl ScaleIntegrals<'_> {
    /// Writes the derivatives at the ratio that was evaluated last.
    pub(crate) fn differentiate(
        &mut self,
        inner: &mut [SharedIntegral],
        at: Position,
        line: &ScaleIntegral,
        tally: &mut GradientSum,
    ) {
        let Some(record) = self.record.as_deref() else {
            return;
        };
        let total: f64 = record.terms.iter().sum();
        let n_active = self.active.len();
        tally.slopes.clear();
        tally.slopes.resize(record.terms.len(), 0.0);
        for (a, &l) in self.active.iter().enumerate() {
            tally.coefficients.clear();
            tally.coefficients.extend(record.terms.iter().enumerate().map(|(k, term)| {
                let part = term / total;
                if part > 0.0 { part / record.sums[k * n_active + a] } else { 0.0 }
            }));
            tally.means.clear();
            tally.means.resize(record.terms.len(), 0.0);
            run(
                self.arch,
                Posterior {
                    parts: inner[l].parts(),
                    from_centre: &record.from_centre,
                    coefficients: &tally.coefficients,
                    means: &mut tally.means,
                },
            );
            let smaller = inner[l].side().smaller;
            for (k, mean) in tally.means.iter().enumerate() {
                tally.slopes[k] += smaller * mean / record.sums[k * n_active + a].max(1e-300);
            }
        }
        let ln_s = self.mean_ln_s(at, line, &tally.slopes);
        for l in 0..self.components.len() {
            tally.current[l] = self.component_slopes(inner, at, l, ln_s);
        }
    }

    /// E ln s at one ratio; for a Gauss-Laguerre rule the derivative of the rule in its shape.
    fn mean_ln_s(&self, at: Position, line: &ScaleIntegral, slopes: &[f64]) -> f64 {
        let record = self.record.as_deref().expect("kept for derivatives");
        let total: f64 = record.terms.iter().sum();
        if self.laguerre.is_empty() {
            let power = self.power - 1.0;
            let mean: f64 =
                record.terms.iter().zip(&self.grid.ln_t).map(|(term, ln_t)| term * ln_t).sum();
            return line.centre + mean / (total * power);
        }
        let (rule, scale) = (&self.laguerre[self.rule.0], self.rule.1);
        let rate = 1.0 + at.y().exp() - scale - self.rest.tilt;
        let mut mean = digamma(self.power) - scale.ln();
        for (k, term) in record.terms.iter().enumerate() {
            let moved = rule.node_slopes[k] / scale * (slopes[k] - rate);
            mean += term / total * (rule.weight_slopes[k] + moved);
        }
        mean
    }

    fn component_slopes(
        &self,
        inner: &[SharedIntegral],
        at: Position,
        l: usize,
        ln_s: f64,
    ) -> [f64; 3] {
        let c: &Component = &self.components[l];
        let outputs = &self.outputs[l];
        if c.is_independent() {
            let first = ln_s + at.y() + outputs.ln_x[0] - digamma(c.private[0]);
            return [0.0, first, ln_s + outputs.ln_x[1] - digamma(c.private[1])];
        }
        let side = inner[l].side();
        let [common, near, far] = inner[l].shape_slopes();
        let base = ln_s + side.ln_smaller;
        let common = base + common - digamma_safe(side.shared);
        let near = base + near - digamma_safe(side.near);
        let far = base + far - digamma(side.far);
        if side.smaller_is_second { [common, far, near] } else { [common, near, far] }
    }
}
