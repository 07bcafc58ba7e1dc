//! Exact second moments of two correlated classifiers' outputs.
//!
//! From the joint Laplace transform of a component's two gammas, with a^k = α^k − δ and totals A¹, A², Δ:
//!
//! ```text
//! E[x¹ₗx²ₗ] = ∬ (1+u)^−A¹ (1+v)^−A² (1+u+v)^−Δ
//!              [ (a¹ₗ/(1+u) + δₗ/(1+u+v)) (a²ₗ/(1+v) + δₗ/(1+u+v)) + δₗ/(1+u+v)² ] du dv
//! ```
//!
//! The bracket is a combination of four integrals that do not depend on l.
//!
//! # Numerics
//! Trapezoid rule after u = e^((π/2) sinh p)/A in both directions. The four integrals, weighted with the totals, must
//! add up to Σₗₘ E[x¹ₗx²ₘ] = 1; they are divided by their sum, which differs from 1 by about 1e-12.

use std::f64::consts::FRAC_PI_2;

use super::component;
use crate::Result;

/// First and second moments of one component, for both classifiers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ComponentMoments {
    /// E x¹ and E x².
    pub mean: [f64; 2],
    /// Var x¹ and Var x².
    pub variance: [f64; 2],
    /// The mean of x¹x².
    pub cross: f64,
    /// Cov(x¹, x²).
    pub covariance: f64,
    /// The correlation of x¹ and x².
    pub correlation: f64,
}

/// Step and half range of the trapezoid rule.
const STEP: f64 = 0.0625;
const RANGE: f64 = 6.5;

/// The exact moments of every component, given α¹, α² and δ.
///
/// # Example
/// ```
/// use correlated_dirichlet::pair::moments;
///
/// let alpha = [12.0, 8.0, 8.0];
/// let result = moments(&alpha, &alpha, &[6.0, 4.0, 4.0])?;
/// assert!((result[0].correlation - 0.491_661_88).abs() < 1e-8);
/// # Ok::<(), correlated_dirichlet::Error>(())
/// ```
pub fn moments(alpha1: &[f64], alpha2: &[f64], delta: &[f64]) -> Result<Vec<ComponentMoments>> {
    let components = component::components(alpha1, alpha2, delta)?;
    let totals = [alpha1.iter().sum::<f64>(), alpha2.iter().sum::<f64>()];
    let shared: f64 = delta.iter().sum();
    let integrals = Integrals::new(totals, shared).values;
    Ok(components
        .iter()
        .map(|c| {
            let [a1, a2] = c.private;
            let alpha = [a1 + c.shared, a2 + c.shared];
            let mean = [alpha[0] / totals[0], alpha[1] / totals[1]];
            let variance = [0, 1].map(|k| mean[k] * (1.0 - mean[k]) / (totals[k] + 1.0));
            let d = c.shared;
            let cross = a1 * a2 * integrals[0]
                + a1 * d * integrals[1]
                + d * a2 * integrals[2]
                + d * (d + 1.0) * integrals[3];
            let covariance = if shared == 0.0 { 0.0 } else { cross - mean[0] * mean[1] };
            let correlation = covariance / (variance[0] * variance[1]).sqrt();
            ComponentMoments { mean, variance, cross, covariance, correlation }
        })
        .collect())
}

/// A point of the one-dimensional rule: ln(1+u), 1+u and ln of the weight over 1+u.
struct Node {
    ln_one_plus: f64,
    one_plus: f64,
    ln_weight: f64,
}

fn nodes(total: f64) -> Vec<Node> {
    let count = (RANGE / STEP) as i32;
    (-count..=count)
        .map(|k| {
            let p = STEP * f64::from(k);
            let ln_u = FRAC_PI_2 * p.sinh() - total.ln();
            let u = ln_u.exp();
            let ln_weight = (STEP * FRAC_PI_2 * p.cosh()).ln() + ln_u - u.ln_1p();
            Node { ln_one_plus: u.ln_1p(), one_plus: 1.0 + u, ln_weight }
        })
        .filter(|node| node.one_plus < 1e150)
        .collect()
}

/// The four integrals in all cross moments, and their derivatives in Δ.
#[derive(Debug, Clone, Copy)]
pub(super) struct Integrals {
    /// ∬ of the transform times 1/((1+u)(1+v)), 1/((1+u)(1+u+v)), 1/((1+v)(1+u+v)) and 1/(1+u+v)².
    pub(super) values: [f64; 4],
    /// Their derivatives in Δ at fixed totals of α¹ and α².
    pub(super) slopes: [f64; 4],
}

impl Integrals {
    /// Of the totals of α¹ and α², and Δ.
    pub(super) fn new(totals: [f64; 2], shared: f64) -> Self {
        let private = totals.map(|total| total - shared);
        let [first, second] = totals.map(nodes);
        let (mut sums, mut slopes) = ([0.0; 4], [0.0; 4]);
        for a in &first {
            let u = a.one_plus - 1.0;
            let ln_a = a.ln_weight - private[0] * a.ln_one_plus;
            for b in &second {
                let v = b.one_plus - 1.0;
                let ln_b = b.ln_weight - private[1] * b.ln_one_plus;
                let ln_both = (u + v).ln_1p();
                let term = (ln_a + ln_b - shared * ln_both).exp();
                let slope = a.ln_one_plus + b.ln_one_plus - ln_both;
                // 1+u and 1+v over 1+u+v
                let (over, under) = (a.one_plus / (1.0 + u + v), b.one_plus / (1.0 + u + v));
                for (i, part) in
                    [term, term * under, term * over, term * over * under].into_iter().enumerate()
                {
                    sums[i] += part;
                    slopes[i] += slope * part;
                }
            }
        }
        let [a1, a2] = private;
        let all = a1 * a2 * sums[0]
            + a1 * shared * sums[1]
            + shared * a2 * sums[2]
            + shared * (shared + 1.0) * sums[3];
        Self { values: sums.map(|sum| sum / all), slopes: slopes.map(|slope| slope / all) }
    }
}
