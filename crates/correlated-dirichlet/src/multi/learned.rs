//! What the map learns from a pilot: a shift, a linear and a quadratic mixing of its normal variables.
//!
//! If the map were perfect, all weights would be equal, and the normal variables n would have, weighted, mean 0 and unit
//! covariance, and no variable's mean would depend on products of others. Weighted moments therefore say how to correct it:
//!
//! ```text
//! v_i = m_i + Σ_{j≤i} L_ij (n_j + Σ_{a≤b<j} Q_jab h_ab(n)),   h_ab = b(n_a) b(n_b),  h_aa = (b(n_a)² − 1)/√2
//! ```
//!
//! with LLᵀ the weighted covariance and Q the weighted means of h·n_j: where totals move apart, in whichever direction, there
//! is less room for what they share. b is bounded. The map is triangular, and its volume element that of L.
//! Moments are shrunk by their noise: an entry that is not larger than chance stays as it was.

use nalgebra::DMatrix;
use pulp::{Arch, Simd, WithSimd};

use super::kernel::POINTS;
use super::points::{Points, REPLICATES, Which};
use super::replicates::Replicates;

/// Entries within this many standard errors of chance are not believed.
const BELIEVED: f64 = 3.0;
/// The weights are cut at this many times their mean before moments are taken.
const LARGEST: f64 = 30.0;
/// b(n) = n/√(1 + n²/BOUND).
const BOUND: f64 = 9.0;
/// Up to this many coordinates products of all of them are looked at, beyond of totals only.
const FEW: usize = 20;

/// A correction that acts on a batch of normal variables.
#[derive(Debug, Clone)]
pub(super) struct Step {
    shift: Vec<f64>,
    /// Lower triangular.
    lower: DMatrix<f64>,
    /// (a, b, j, Q_jab).
    products: Vec<(usize, usize, usize, f64)>,
    /// Every a and b.
    factors: Vec<usize>,
}

/// The corrections of all pilots, the last one applied first.
#[derive(Debug, Clone, Default)]
pub(super) struct Learned {
    steps: Vec<Step>,
}

impl Learned {
    /// ln of the part of the volume element that is the same for all points.
    pub(super) fn ln_volume(&self) -> f64 {
        self.steps
            .iter()
            .flat_map(|s| s.lower.diagonal().iter().map(|d| d.ln()).collect::<Vec<_>>())
            .sum()
    }

    /// Corrects the variables of a batch; `work` is overwritten.
    #[inline(always)]
    pub(super) fn apply(&self, normals: &mut [f64], work: &mut Vec<f64>) {
        for step in self.steps.iter().rev() {
            step.apply(normals, work);
        }
    }

    /// Adds a correction by the weights of a stage's points.
    pub(super) fn learn(&mut self, arch: Arch, pilot: Pilot<'_>) {
        self.steps.push(arch.dispatch(pilot).step());
    }
}

/// A stage's points and their weights; the first `n_totals` coordinates are totals.
pub(super) struct Pilot<'a> {
    pub(super) points: &'a mut Points,
    pub(super) stage: usize,
    pub(super) replicates: &'a Replicates,
    pub(super) n_totals: usize,
}

impl WithSimd for Pilot<'_> {
    type Output = Moments;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Moments {
        Moments::new(self)
    }
}

#[inline(always)]
fn bounded(n: f64) -> f64 {
    n / (1.0 + n * n * (1.0 / BOUND)).sqrt()
}

/// Overwrites `out` with h_ab of a batch.
#[inline(always)]
fn product(a: usize, b: usize, bounded: &[f64], out: &mut [f64]) {
    let (p, q) = (&bounded[a * POINTS..(a + 1) * POINTS], &bounded[b * POINTS..(b + 1) * POINTS]);
    if a == b {
        let scale = std::f64::consts::FRAC_1_SQRT_2;
        out.iter_mut().zip(p).for_each(|(h, p)| *h = (p * p - 1.0) * scale);
    } else {
        out.iter_mut().zip(p).zip(q).for_each(|((h, p), q)| *h = p * q);
    }
}

impl Step {
    #[inline(always)]
    fn apply(&self, v: &mut [f64], work: &mut Vec<f64>) {
        let n = self.shift.len();
        work.resize((n + 1) * POINTS, 0.0);
        let (bounds, h) = work.split_at_mut(n * POINTS);
        for &i in &self.factors {
            let row = i * POINTS..(i + 1) * POINTS;
            bounds[row.clone()].iter_mut().zip(&v[row]).for_each(|(b, v)| *b = bounded(*v));
        }
        let mut last = (n, n);
        for &(a, b, j, q) in &self.products {
            if last != (a, b) {
                product(a, b, bounds, h);
                last = (a, b);
            }
            let target = &mut v[j * POINTS..(j + 1) * POINTS];
            target.iter_mut().zip(h.iter()).for_each(|(v, h)| *v += q * h);
        }
        // From the last row up, so that every row still finds the old ones before it.
        for i in (0..n).rev() {
            let (before, row) = v.split_at_mut(i * POINTS);
            let row = &mut row[..POINTS];
            let (scale, shift) = (self.lower[(i, i)], self.shift[i]);
            row.iter_mut().for_each(|v| *v = shift + scale * *v);
            for (j, other) in before.chunks_exact(POINTS).enumerate() {
                let c = self.lower[(i, j)];
                if c != 0.0 {
                    row.iter_mut().zip(other).for_each(|(v, n)| *v += c * n);
                }
            }
        }
    }
}

/// Moments of a stage's normal variables under its weights.
pub(super) struct Moments {
    mean: Vec<f64>,
    covariance: DMatrix<f64>,
    /// (a, b, j, mean of h_ab·n_j).
    products: Vec<(usize, usize, usize, f64)>,
    /// The squared standard error of a mean.
    noise: f64,
}

impl Moments {
    #[inline(always)]
    fn new(Pilot { points, stage, replicates, n_totals }: Pilot<'_>) -> Self {
        let n = points.dimensions();
        let widest = if n <= FEW { n } else { n_totals };
        let mut products: Vec<(usize, usize, usize, f64)> = (0..widest)
            .flat_map(|b| (0..=b).flat_map(move |a| (b + 1..n).map(move |j| (a, b, j, 0.0))))
            .collect();
        products.sort_by_key(|p| (p.0, p.1, p.2));
        let mut square = 0.0;
        let mut mean = vec![0.0; n];
        let mut second = DMatrix::<f64>::zeros(n, n);
        let (mut weighted, mut bounds) = (vec![0.0; n * POINTS], vec![0.0; n * POINTS]);
        let (mut h, mut normals) = (vec![0.0; POINTS], Vec::new());
        for replicate in 0..REPLICATES {
            // Less 1: the unweighted moments are known, and taking them off takes their noise away.
            let weights: Vec<f64> =
                replicates.relative(replicate).map(|w| w.min(LARGEST) - 1.0).collect();
            for (batch, weights) in weights.chunks_exact(POINTS).enumerate() {
                points.normals(Which { stage, replicate, batch }, &mut normals);
                square += weights.iter().map(|w| w * w).sum::<f64>();
                bounds.iter_mut().zip(&normals).for_each(|(b, v)| *b = bounded(*v));
                for i in 0..n {
                    let row = i * POINTS..(i + 1) * POINTS;
                    let target = &mut weighted[row.clone()];
                    target
                        .iter_mut()
                        .zip(&normals[row])
                        .zip(weights)
                        .for_each(|((p, v), w)| *p = v * w);
                    mean[i] += target.iter().sum::<f64>();
                    for j in 0..=i {
                        second[(i, j)] += dot(target, &normals[j * POINTS..(j + 1) * POINTS]);
                    }
                }
                let mut last = (n, n);
                for (a, b, j, sum) in &mut products {
                    if last != (*a, *b) {
                        product(*a, *b, &bounds, &mut h);
                        last = (*a, *b);
                    }
                    *sum += dot(&weighted[*j * POINTS..(*j + 1) * POINTS], &h);
                }
            }
        }
        let total = (REPLICATES * replicates.len()) as f64;
        mean.iter_mut().for_each(|m| *m /= total);
        products.iter_mut().for_each(|p| p.3 /= total);
        let covariance = DMatrix::from_fn(n, n, |i, j| {
            let (i, j) = (i.max(j), i.min(j));
            f64::from(u8::from(i == j)) + second[(i, j)] / total - mean[i] * mean[j]
        });
        Self { mean, covariance, products, noise: square / (total * total) }
    }

    fn step(self) -> Step {
        let (n, noise) = (self.mean.len(), self.noise);
        let believed = |value: f64| value * value > BELIEVED * BELIEVED * noise;
        let mut covariance = DMatrix::identity(n, n);
        for i in 0..n {
            let excess = shrunk(self.covariance[(i, i)] - 1.0, 2.0 * noise);
            covariance[(i, i)] = (1.0 + excess).clamp(0.2, 4.0);
            for j in (0..i).filter(|&j| believed(self.covariance[(i, j)])) {
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
            .filter(|p| believed(p.3))
            .map(|&(a, b, j, q)| (a, b, j, shrunk(q, noise)))
            .collect();
        let factors = (0..n).filter(|i| products.iter().any(|p| p.0 == *i || p.1 == *i)).collect();
        let shift = self.mean.iter().map(|&m| shrunk(m, noise)).collect();
        Step { shift, lower, products, factors }
    }
}

/// An estimate drawn towards 0 by the variance of its noise.
fn shrunk(value: f64, noise: f64) -> f64 {
    let square = value * value;
    if square <= noise { 0.0 } else { value * (1.0 - noise / square) }
}

/// Eight sums side by side, so that they fit into vectors.
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
