//! The centre of the integrand: where totals and shared gammas are likely to be, given the outputs.
//!
//! Maximises, over totals sₖ and shared gammas D, the concave function
//!
//! ```text
//! Φ = Σ δ ln D + Σ a ln A − T,   A_kl = sₖ x_kl − Σ_{S∋k} D_Sl,   T = Σ A + Σ D
//! ```
//!
//! with exponents δ and a, not δ−1 and a−1: in logarithmic coordinates the volume element raises each by one, and
//! so the maximum is inside however small the shapes are. Newton's method; given the totals the classes do
//! not interact, so every class is eliminated first and the totals are left.

use nalgebra::{DMatrix, DVector};

use super::block::{Block, Component};

/// Smaller shapes are taken for this when looking for the centre: the integrand's maximum then stays at a
/// distance from its walls that the coordinates can bridge.
const SMALLEST: f64 = 0.02;
const MAX_STEPS: usize = 80;

/// A point (s, D), and the negative Hessian of Φ there in (ln s, ln D).
#[derive(Debug, Clone)]
pub(super) struct Centre {
    /// Totals s.
    pub(super) totals: Vec<f64>,
    /// Shared gammas D, class by class.
    pub(super) shared: Vec<Vec<f64>>,
    /// Private parts A, class by class.
    pub(super) private: Vec<Vec<f64>>,
    pub(super) curvature: Curvature,
}

/// −∇²Φ in (ln s, ln D).
#[derive(Debug, Clone)]
pub(super) struct Curvature {
    /// Of ln s: the diagonal.
    pub(super) totals: Vec<f64>,
    /// By class, of ln D.
    pub(super) shared: Vec<DMatrix<f64>>,
    /// By class, between ln D (rows) and ln s (columns).
    pub(super) between: Vec<DMatrix<f64>>,
}

/// A shape as it enters Φ.
pub(super) fn floored(shape: f64) -> f64 {
    shape.max(SMALLEST)
}

impl Centre {
    /// The centre for outputs `x[k][l]` of a block's classifiers; `None` if the numbers do not allow one.
    pub(super) fn find(block: &Block, x: &[Vec<f64>]) -> Option<Self> {
        let mut at = Iterate::start(block, x);
        for _ in 0..MAX_STEPS {
            let step = at.newton(block, x)?;
            let length = at.longest(block, x, &step);
            let gain = step.decrement;
            let mut fraction = 1.0f64.min(0.9 * length);
            let value = at.value(block, x);
            let next = loop {
                let next = at.moved(&step, fraction);
                let better = next.value(block, x)
                    >= value + 1e-4 * fraction * gain - 1e-9 * (1.0 + value.abs());
                if better || fraction < 1e-6 {
                    break next;
                }
                fraction *= 0.5;
            };
            at = next;
            if gain < 1e-8 {
                break;
            }
        }
        Some(at.finish(block, x))
    }
}

struct Iterate {
    totals: Vec<f64>,
    shared: Vec<Vec<f64>>,
}

struct Step {
    totals: DVector<f64>,
    shared: Vec<DVector<f64>>,
    /// gᵀH⁻¹g: twice the gain that the quadratic model promises.
    decrement: f64,
}

/// Gradient and negative Hessian of one class in (D, s), and its private parts.
struct ClassTerms {
    gradient: DVector<f64>,
    shared: DMatrix<f64>,
    between: DMatrix<f64>,
    /// Of Φ in the totals: the gradient's and the diagonal Hessian's parts.
    totals: Vec<(f64, f64)>,
}

impl Iterate {
    /// Every classifier's total near its mean, every D its share of the smallest component it is in.
    fn start(block: &Block, x: &[Vec<f64>]) -> Self {
        let alpha = |c: &Component, k: usize| {
            let shared = c.factors.iter().filter(|f| f.members.contains(&k));
            floored(c.private[k]) + shared.map(|f| floored(f.shape)).sum::<f64>()
        };
        let totals: Vec<f64> =
            (0..block.len()).map(|k| block.components.iter().map(|c| alpha(c, k)).sum()).collect();
        let start = |l: usize, c: &Component| -> Vec<f64> {
            c.factors
                .iter()
                .map(|f| {
                    let part = |&k: &usize| totals[k] * x[k][l] * floored(f.shape) / alpha(c, k);
                    f.members.iter().map(part).fold(f64::INFINITY, f64::min)
                })
                .collect()
        };
        let shared = block.components.iter().enumerate().map(|(l, c)| start(l, c)).collect();
        Self { totals, shared }
    }

    fn private(&self, c: &Component, l: usize, x: &[Vec<f64>]) -> Vec<f64> {
        let mut rest: Vec<f64> = self.totals.iter().zip(x).map(|(s, x)| s * x[l]).collect();
        for (factor, d) in c.factors.iter().zip(&self.shared[l]) {
            factor.members.iter().for_each(|&k| rest[k] -= d);
        }
        rest
    }

    fn value(&self, block: &Block, x: &[Vec<f64>]) -> f64 {
        let mut sum = 0.0;
        for (l, c) in block.components.iter().enumerate() {
            for (factor, d) in c.factors.iter().zip(&self.shared[l]) {
                sum += floored(factor.shape) * d.ln() - d;
            }
            for (a, rest) in c.private.iter().zip(self.private(c, l, x)) {
                sum += floored(*a) * rest.ln() - rest;
            }
        }
        if sum.is_nan() { f64::NEG_INFINITY } else { sum }
    }

    fn class_terms(&self, c: &Component, l: usize, x: &[Vec<f64>]) -> ClassTerms {
        let (n_factors, n) = (c.factors.len(), self.totals.len());
        let rest = self.private(c, l, x);
        let first: Vec<f64> =
            c.private.iter().zip(&rest).map(|(a, r)| floored(*a) / r - 1.0).collect();
        let second: Vec<f64> =
            c.private.iter().zip(&rest).map(|(a, r)| floored(*a) / (r * r)).collect();
        let mut gradient = DVector::zeros(n_factors);
        let mut shared = DMatrix::zeros(n_factors, n_factors);
        let mut between = DMatrix::zeros(n_factors, n);
        for (i, (factor, &d)) in c.factors.iter().zip(&self.shared[l]).enumerate() {
            let shape = floored(factor.shape);
            gradient[i] = shape / d - 1.0;
            shared[(i, i)] = shape / (d * d);
            for &k in &factor.members {
                gradient[i] -= first[k];
                between[(i, k)] = -second[k] * x[k][l];
                for (j, other) in c.factors.iter().enumerate() {
                    if other.members.contains(&k) {
                        shared[(i, j)] += second[k];
                    }
                }
            }
        }
        let totals = (0..n).map(|k| (first[k] * x[k][l], second[k] * x[k][l] * x[k][l])).collect();
        ClassTerms { gradient, shared, between, totals }
    }

    fn newton(&self, block: &Block, x: &[Vec<f64>]) -> Option<Step> {
        let n = self.totals.len();
        let mut hessian = DMatrix::<f64>::zeros(n, n);
        let mut gradient = DVector::<f64>::zeros(n);
        let mut decrement = 0.0;
        let mut eliminated = Vec::new();
        for (l, c) in block.components.iter().enumerate() {
            let terms = self.class_terms(c, l, x);
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
        decrement.is_finite().then_some(Step { totals, shared, decrement })
    }

    /// The longest step that leaves everything positive.
    fn longest(&self, block: &Block, x: &[Vec<f64>], step: &Step) -> f64 {
        let ahead = self.moved(step, 1.0);
        let mut length = f64::INFINITY;
        let mut limit = |now: f64, then: f64| {
            if then < now {
                length = f64::min(length, now / (now - then));
            }
        };
        self.totals.iter().zip(&ahead.totals).for_each(|(a, b)| limit(*a, *b));
        for (l, c) in block.components.iter().enumerate() {
            self.shared[l].iter().zip(&ahead.shared[l]).for_each(|(a, b)| limit(*a, *b));
            let (now, then) = (self.private(c, l, x), ahead.private(c, l, x));
            now.iter().zip(&then).for_each(|(a, b)| limit(*a, *b));
        }
        length
    }

    fn moved(&self, step: &Step, fraction: f64) -> Self {
        let add = |(a, b): (&f64, &f64)| a + fraction * b;
        let totals = self.totals.iter().zip(step.totals.iter()).map(add).collect();
        let shared = self.shared.iter().zip(&step.shared);
        let shared = shared.map(|(d, by)| d.iter().zip(by.iter()).map(add).collect()).collect();
        Self { totals, shared }
    }

    /// The curvature in logarithms. At the maximum the gradient is 0, so that a change of coordinates only
    /// scales rows and columns.
    fn finish(self, block: &Block, x: &[Vec<f64>]) -> Centre {
        let n = self.totals.len();
        let mut totals = vec![0.0; n];
        let (mut shared, mut between, mut private) = (Vec::new(), Vec::new(), Vec::new());
        for (l, c) in block.components.iter().enumerate() {
            let mut terms = self.class_terms(c, l, x);
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
        Centre { totals: self.totals, shared: self.shared, private, curvature }
    }
}
