//! Corrections of the map learned from pilot runs: a shift, a linear and a quadratic mixing of its normal variables.
//!
//! With a perfect map all weights would be equal: under the weights the normal variables n would have mean 0 and unit
//! covariance, and no variable's mean would depend on products of others. Deviations of the weighted moments therefore
//! give the correction
//!
//! ```text
//! v_i = m_i + Σ_{j≤i} L_ij (n_j + Σ_{a≤b<j} Q_jab h_ab(n)),   h_ab = b(n_a) b(n_b),  h_aa = (b(n_a)² − 1)/√2
//! ```
//!
//! where LLᵀ is the weighted covariance and Q are the weighted means of h·n_j: when totals move apart, in whichever
//! direction, less is left for the gammas that they share. b is bounded. The map is triangular, and its volume element
//! is that of L. Moments are shrunk by the variance of their noise, and entries within chance stay unchanged.

use nalgebra::DMatrix;
use pulp::{Arch, Simd, WithSimd};

use super::super::constants::{
    ALL_PRODUCTS_UP_TO, BATCH, BOUNDED_NORMAL, PILOT_SIGNIFICANCE, PILOT_VARIANCES,
    PILOT_WEIGHT_CUT, REPLICATES,
};
use super::super::replicates::Replicates;
use super::super::sobol::{BatchIndex, SobolPoints};

/// The correction learned from one pilot.
#[derive(Debug, Clone)]
pub(super) struct Correction {
    shift: Vec<f64>,
    /// Lower triangular.
    lower: DMatrix<f64>,
    /// The terms Q_jab h_ab.
    products: Vec<ProductTerm>,
    /// Every a and b that occurs in `products`.
    factors: Vec<usize>,
}

/// The term of h_ab in the mean of variable j.
#[derive(Debug, Clone, Copy)]
struct ProductTerm {
    a: usize,
    b: usize,
    j: usize,
    coefficient: f64,
}

/// The corrections of all pilots; the last one is applied first.
#[derive(Debug, Clone, Default)]
pub(super) struct Corrections {
    corrections: Vec<Correction>,
}

impl Corrections {
    /// ln of the volume element, which is the same for all points.
    pub(super) fn ln_volume(&self) -> f64 {
        self.corrections
            .iter()
            .flat_map(|c| c.lower.diagonal().iter().map(|d| d.ln()).collect::<Vec<_>>())
            .sum()
    }

    /// Corrects the variables of a batch; `work` is a buffer.
    #[inline(always)]
    pub(super) fn apply(&self, normals: &mut [f64], work: &mut Vec<f64>) {
        for correction in self.corrections.iter().rev() {
            correction.apply(normals, work);
        }
    }

    /// Adds a correction learned from the weights of a stage's points.
    pub(super) fn learn(&mut self, arch: Arch, pilot: Pilot<'_>) {
        self.corrections.push(arch.dispatch(pilot).correction());
    }
}

/// The points of a stage and their weights; the first `n_totals` coordinates are totals.
pub(super) struct Pilot<'a> {
    pub(super) points: &'a mut SobolPoints,
    pub(super) stage: usize,
    pub(super) replicates: &'a Replicates,
    pub(super) n_totals: usize,
}

impl WithSimd for Pilot<'_> {
    type Output = PilotMoments;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> PilotMoments {
        PilotMoments::new(self)
    }
}

#[inline(always)]
fn bounded(n: f64) -> f64 {
    n / (1.0 + n * n * (1.0 / BOUNDED_NORMAL)).sqrt()
}

/// Computes h_ab of a batch.
#[inline(always)]
fn product(a: usize, b: usize, bounded: &[f64], out: &mut [f64]) {
    let (p, q) = (&bounded[a * BATCH..(a + 1) * BATCH], &bounded[b * BATCH..(b + 1) * BATCH]);
    if a == b {
        let scale = std::f64::consts::FRAC_1_SQRT_2;
        out.iter_mut().zip(p).for_each(|(h, p)| *h = (p * p - 1.0) * scale);
    } else {
        out.iter_mut().zip(p).zip(q).for_each(|((h, p), q)| *h = p * q);
    }
}

impl Correction {
    #[inline(always)]
    fn apply(&self, v: &mut [f64], work: &mut Vec<f64>) {
        let n = self.shift.len();
        work.resize((n + 1) * BATCH, 0.0);
        let (bounds, h) = work.split_at_mut(n * BATCH);
        for &i in &self.factors {
            let row = i * BATCH..(i + 1) * BATCH;
            bounds[row.clone()].iter_mut().zip(&v[row]).for_each(|(b, v)| *b = bounded(*v));
        }
        let mut last = (n, n);
        for &ProductTerm { a, b, j, coefficient } in &self.products {
            if last != (a, b) {
                product(a, b, bounds, h);
                last = (a, b);
            }
            let target = &mut v[j * BATCH..(j + 1) * BATCH];
            target.iter_mut().zip(h.iter()).for_each(|(v, h)| *v += coefficient * h);
        }
        // From the last row up, so that every row still reads the old values of the rows before it.
        for i in (0..n).rev() {
            let (before, row) = v.split_at_mut(i * BATCH);
            let row = &mut row[..BATCH];
            let (scale, shift) = (self.lower[(i, i)], self.shift[i]);
            row.iter_mut().for_each(|v| *v = shift + scale * *v);
            for (j, other) in before.chunks_exact(BATCH).enumerate() {
                let c = self.lower[(i, j)];
                if c != 0.0 {
                    row.iter_mut().zip(other).for_each(|(v, n)| *v += c * n);
                }
            }
        }
    }
}

/// PilotMoments of a stage's normal variables under its weights.
pub(super) struct PilotMoments {
    mean: Vec<f64>,
    covariance: DMatrix<f64>,
    /// Means of h_ab·n_j.
    products: Vec<ProductTerm>,
    /// The squared standard error of a mean.
    noise: f64,
}

impl PilotMoments {
    #[inline(always)]
    fn new(Pilot { points, stage, replicates, n_totals }: Pilot<'_>) -> Self {
        let n = points.dimensions();
        let widest = if n <= ALL_PRODUCTS_UP_TO { n } else { n_totals };
        let term = |a, b, j| ProductTerm { a, b, j, coefficient: 0.0 };
        let mut products: Vec<ProductTerm> = (0..widest)
            .flat_map(|b| (0..=b).flat_map(move |a| (b + 1..n).map(move |j| term(a, b, j))))
            .collect();
        products.sort_by_key(|p| (p.a, p.b, p.j));
        let mut square = 0.0;
        let mut mean = vec![0.0; n];
        let mut second = DMatrix::<f64>::zeros(n, n);
        let (mut weighted, mut bounds) = (vec![0.0; n * BATCH], vec![0.0; n * BATCH]);
        let (mut h, mut normals) = (vec![0.0; BATCH], Vec::new());
        for replicate in 0..REPLICATES {
            // Less 1: subtracting the unweighted moments, which are known, removes their noise.
            let weights: Vec<f64> =
                replicates.relative(replicate).map(|w| w.min(PILOT_WEIGHT_CUT) - 1.0).collect();
            for (batch, weights) in weights.chunks_exact(BATCH).enumerate() {
                points.normals(BatchIndex { stage, replicate, batch }, &mut normals);
                square += weights.iter().map(|w| w * w).sum::<f64>();
                bounds.iter_mut().zip(&normals).for_each(|(b, v)| *b = bounded(*v));
                for i in 0..n {
                    let row = i * BATCH..(i + 1) * BATCH;
                    let target = &mut weighted[row.clone()];
                    target
                        .iter_mut()
                        .zip(&normals[row])
                        .zip(weights)
                        .for_each(|((p, v), w)| *p = v * w);
                    mean[i] += target.iter().sum::<f64>();
                    for j in 0..=i {
                        second[(i, j)] += dot(target, &normals[j * BATCH..(j + 1) * BATCH]);
                    }
                }
                let mut last = (n, n);
                for term in &mut products {
                    if last != (term.a, term.b) {
                        product(term.a, term.b, &bounds, &mut h);
                        last = (term.a, term.b);
                    }
                    term.coefficient += dot(&weighted[term.j * BATCH..(term.j + 1) * BATCH], &h);
                }
            }
        }
        let total = (REPLICATES * replicates.len()) as f64;
        mean.iter_mut().for_each(|m| *m /= total);
        products.iter_mut().for_each(|p| p.coefficient /= total);
        let covariance = DMatrix::from_fn(n, n, |i, j| {
            let (i, j) = (i.max(j), i.min(j));
            f64::from(u8::from(i == j)) + second[(i, j)] / total - mean[i] * mean[j]
        });
        Self { mean, covariance, products, noise: square / (total * total) }
    }

    fn correction(self) -> Correction {
        let (n, noise) = (self.mean.len(), self.noise);
        let threshold = PILOT_SIGNIFICANCE * PILOT_SIGNIFICANCE * noise;
        let significant = |value: f64| value * value > threshold;
        let mut covariance = DMatrix::identity(n, n);
        for i in 0..n {
            let excess = shrunk(self.covariance[(i, i)] - 1.0, 2.0 * noise);
            covariance[(i, i)] = (1.0 + excess).clamp(PILOT_VARIANCES[0], PILOT_VARIANCES[1]);
            for j in (0..i).filter(|&j| significant(self.covariance[(i, j)])) {
                covariance[(i, j)] = shrunk(self.covariance[(i, j)], noise);
                covariance[(j, i)] = covariance[(i, j)];
            }
        }
        let lower = match covariance.clone().cholesky() {
            Some(factor) => factor.l(),
            None => DMatrix::from_diagonal(&covariance.diagonal().map(f64::sqrt)),
        };
        let products: Vec<_> = self
            .products
            .iter()
            .filter(|p| significant(p.coefficient))
            .map(|p| ProductTerm { coefficient: shrunk(p.coefficient, noise), ..*p })
            .collect();
        let factors = (0..n).filter(|i| products.iter().any(|p| p.a == *i || p.b == *i)).collect();
        let shift = self.mean.iter().map(|&m| shrunk(m, noise)).collect();
        Correction { shift, lower, products, factors }
    }
}

/// An estimate shrunk towards 0 by the variance of its noise.
fn shrunk(value: f64, noise: f64) -> f64 {
    let square = value * value;
    if square <= noise { 0.0 } else { value * (1.0 - noise / square) }
}

/// The scalar product, as eight partial sums that fit into vectors.
#[inline(always)]
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    for (a, b) in a.chunks_exact(8).zip(b.chunks_exact(8)) {
        for i in 0..8 {
            sums[i] += a[i] * b[i];
        }
    }
    sums.iter().sum()
}
