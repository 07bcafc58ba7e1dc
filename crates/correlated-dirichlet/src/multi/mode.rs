//! The mode of the integrand: the most likely totals and shared gammas, given the outputs.
//!
//! It maximises, over totals sₖ and shared gammas D, the concave function
//!
//! ```text
//! Φ = Σ δ ln D + Σ a ln A − T,   A_kl = sₖ x_kl − Σ_{S∋k} D_Sl,   T = Σ A + Σ D
//! ```
//!
//! The exponents are δ and a, not δ−1 and a−1, because the volume element of logarithmic coordinates raises each by
//! one. The maximum is therefore inside the domain, however small the shapes are. Newton's method finds it. Given the
//! totals, the components do not interact: every step first eliminates the shared gammas of each component, then solves
//! for the totals.

use nalgebra::{DMatrix, DVector};

use super::constants::{MODE_DECREMENT, MODE_SHAPE_FLOOR, MODE_STEPS};
use super::group::{ComponentShapes, Group};

/// The maximum (s, D) of Φ, with the negative Hessian there in (ln s, ln D).
#[derive(Debug, Clone)]
pub(super) struct IntegrandMode {
    /// Totals s.
    pub(super) totals: Vec<f64>,
    /// Shared gammas D, component by component.
    pub(super) shared: Vec<Vec<f64>>,
    /// Private parts A, component by component.
    pub(super) private: Vec<Vec<f64>>,
    pub(super) curvature: Curvature,
}

/// −∇²Φ in (ln s, ln D).
#[derive(Debug, Clone)]
pub(super) struct Curvature {
    /// The block of ln s, which is diagonal.
    pub(super) totals: Vec<f64>,
    /// Per component, the block of ln D.
    pub(super) shared: Vec<DMatrix<f64>>,
    /// Per component, the block between ln D (rows) and ln s (columns).
    pub(super) between: Vec<DMatrix<f64>>,
}

/// A shape as it enters Φ: at least [`MODE_SHAPE_FLOOR`].
pub(super) fn floored(shape: f64) -> f64 {
    shape.max(MODE_SHAPE_FLOOR)
}

impl IntegrandMode {
    /// The mode for outputs `x[k][l]` of a group's classifiers; `None` if a Hessian is not positive definite.
    pub(super) fn find(group: &Group, x: &[Vec<f64>]) -> Option<Self> {
        let mut at = Iterate::start(group, x);
        for _ in 0..MODE_STEPS {
            let step = at.newton(group, x)?;
            let length = at.longest(group, x, &step);
            let gain = step.decrement;
            let mut fraction = 1.0f64.min(0.9 * length);
            let value = at.value(group, x);
            let next = loop {
                let next = at.moved(&step, fraction);
                let better = next.value(group, x)
                    >= value + 1e-4 * fraction * gain - 1e-9 * (1.0 + value.abs());
                if better || fraction < 1e-6 {
                    break next;
                }
                fraction *= 0.5;
            };
            at = next;
            if gain < MODE_DECREMENT {
                break;
            }
        }
        Some(at.finish(group, x))
    }
}

struct Iterate {
    totals: Vec<f64>,
    shared: Vec<Vec<f64>>,
}

struct NewtonStep {
    totals: DVector<f64>,
    shared: Vec<DVector<f64>>,
    /// The Newton decrement gᵀH⁻¹g: twice the gain predicted by the quadratic model.
    decrement: f64,
}

/// Gradient and negative Hessian of one component in (D, s).
struct ComponentTerms {
    gradient: DVector<f64>,
    shared: DMatrix<f64>,
    between: DMatrix<f64>,
    /// Per total, the contributions to the gradient and to the diagonal of the Hessian.
    totals: Vec<(f64, f64)>,
}

impl Iterate {
    /// Starts at the mean of every total, and with every D at its expected share of the smallest gamma that contains
    /// it.
    fn start(group: &Group, x: &[Vec<f64>]) -> Self {
        let alpha = |c: &ComponentShapes, k: usize| c.alpha_with(k, floored);
        let totals: Vec<f64> =
            (0..group.len()).map(|k| group.components.iter().map(|c| alpha(c, k)).sum()).collect();
        let start = |l: usize, c: &ComponentShapes| -> Vec<f64> {
            c.shared
                .iter()
                .map(|d| {
                    let part = |&k: &usize| totals[k] * x[k][l] * floored(d.shape) / alpha(c, k);
                    d.members.iter().map(part).fold(f64::INFINITY, f64::min)
                })
                .collect()
        };
        let shared = group.components.iter().enumerate().map(|(l, c)| start(l, c)).collect();
        Self { totals, shared }
    }

    fn private(&self, c: &ComponentShapes, l: usize, x: &[Vec<f64>]) -> Vec<f64> {
        let mut rest: Vec<f64> = self.totals.iter().zip(x).map(|(s, x)| s * x[l]).collect();
        for (gamma, d) in c.shared.iter().zip(&self.shared[l]) {
            gamma.members.iter().for_each(|&k| rest[k] -= d);
        }
        rest
    }

    fn value(&self, group: &Group, x: &[Vec<f64>]) -> f64 {
        let mut sum = 0.0;
        for (l, c) in group.components.iter().enumerate() {
            for (gamma, d) in c.shared.iter().zip(&self.shared[l]) {
                sum += floored(gamma.shape) * d.ln() - d;
            }
            for (a, rest) in c.private.iter().zip(self.private(c, l, x)) {
                sum += floored(*a) * rest.ln() - rest;
            }
        }
        if sum.is_nan() { f64::NEG_INFINITY } else { sum }
    }

    fn component_terms(&self, c: &ComponentShapes, l: usize, x: &[Vec<f64>]) -> ComponentTerms {
        let (n_shared, n) = (c.shared.len(), self.totals.len());
        let rest = self.private(c, l, x);
        let first: Vec<f64> =
            c.private.iter().zip(&rest).map(|(a, r)| floored(*a) / r - 1.0).collect();
        let second: Vec<f64> =
            c.private.iter().zip(&rest).map(|(a, r)| floored(*a) / (r * r)).collect();
        let mut gradient = DVector::zeros(n_shared);
        let mut shared = DMatrix::zeros(n_shared, n_shared);
        let mut between = DMatrix::zeros(n_shared, n);
        for (i, (gamma, &d)) in c.shared.iter().zip(&self.shared[l]).enumerate() {
            let shape = floored(gamma.shape);
            gradient[i] = shape / d - 1.0;
            shared[(i, i)] = shape / (d * d);
            for &k in &gamma.members {
                gradient[i] -= first[k];
                between[(i, k)] = -second[k] * x[k][l];
                for (j, other) in c.shared.iter().enumerate() {
                    if other.members.contains(&k) {
                        shared[(i, j)] += second[k];
                    }
                }
            }
        }
        let totals = (0..n).map(|k| (first[k] * x[k][l], second[k] * x[k][l] * x[k][l])).collect();
        ComponentTerms { gradient, shared, between, totals }
    }

    fn newton(&self, group: &Group, x: &[Vec<f64>]) -> Option<NewtonStep> {
        let n = self.totals.len();
        let mut hessian = DMatrix::<f64>::zeros(n, n);
        let mut gradient = DVector::<f64>::zeros(n);
        let mut decrement = 0.0;
        let mut eliminated = Vec::new();
        for (l, c) in group.components.iter().enumerate() {
            let terms = self.component_terms(c, l, x);
            for (k, (g, h)) in terms.totals.iter().enumerate() {
                gradient[k] += g;
                hessian[(k, k)] += h;
            }
            let factor = terms.shared.cholesky()?;
            let across = factor.solve(&terms.between);
            let alone = factor.solve(&terms.gradient);
            hessian -= terms.between.tr_mul(&across);
            gradient -= terms.between.tr_mul(&alone);
            decrement += alone.dot(&terms.gradient);
            eliminated.push((alone, across));
        }
        let totals = hessian.cholesky()?.solve(&gradient);
        decrement += totals.dot(&gradient);
        let shared = eliminated.iter().map(|(alone, across)| alone - across * &totals).collect();
        decrement.is_finite().then_some(NewtonStep { totals, shared, decrement })
    }

    /// The longest step for which all totals, shared gammas and private parts stay positive.
    fn longest(&self, group: &Group, x: &[Vec<f64>], step: &NewtonStep) -> f64 {
        let ahead = self.moved(step, 1.0);
        let mut length = f64::INFINITY;
        let mut limit = |now: f64, then: f64| {
            if then < now {
                length = f64::min(length, now / (now - then));
            }
        };
        self.totals.iter().zip(&ahead.totals).for_each(|(a, b)| limit(*a, *b));
        for (l, c) in group.components.iter().enumerate() {
            self.shared[l].iter().zip(&ahead.shared[l]).for_each(|(a, b)| limit(*a, *b));
            let (now, then) = (self.private(c, l, x), ahead.private(c, l, x));
            now.iter().zip(&then).for_each(|(a, b)| limit(*a, *b));
        }
        length
    }

    fn moved(&self, step: &NewtonStep, fraction: f64) -> Self {
        let add = |(a, b): (&f64, &f64)| a + fraction * b;
        let totals = self.totals.iter().zip(step.totals.iter()).map(add).collect();
        let shared = self.shared.iter().zip(&step.shared);
        let shared = shared.map(|(d, by)| d.iter().zip(by.iter()).map(add).collect()).collect();
        Self { totals, shared }
    }

    /// The Hessian in logarithms. At the maximum the gradient is 0, so that the change of coordinates only
    /// scales rows and columns.
    fn finish(self, group: &Group, x: &[Vec<f64>]) -> IntegrandMode {
        let n = self.totals.len();
        let mut totals = vec![0.0; n];
        let (mut shared, mut between, mut private) = (Vec::new(), Vec::new(), Vec::new());
        for (l, c) in group.components.iter().enumerate() {
            let mut terms = self.component_terms(c, l, x);
            for (k, (_, h)) in terms.totals.iter().enumerate() {
                totals[k] += h * self.totals[k] * self.totals[k];
            }
            for (i, di) in self.shared[l].iter().enumerate() {
                for (j, dj) in self.shared[l].iter().enumerate() {
                    terms.shared[(i, j)] *= di * dj;
                }
                for (k, s) in self.totals.iter().enumerate() {
                    terms.between[(i, k)] *= di * s;
                }
            }
            shared.push(terms.shared);
            between.push(terms.between);
            private.push(self.private(c, l, x));
        }
        let curvature = Curvature { totals, shared, between };
        IntegrandMode { totals: self.totals, shared: self.shared, private, curvature }
    }
}
