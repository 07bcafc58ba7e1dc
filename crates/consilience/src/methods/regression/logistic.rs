//! Multinomial logistic regression on standardised logarithms: Uₜ = cₜ + Σₘ θₜₘ zₘ.

use nalgebra::{DMatrix, DVector};

use super::blocks::{Blocks, ItemBlock};
use super::search::{Fitted, Prior, Regression, Room, Sums, evaluate, find_modes};
use crate::error::Result;
use crate::math::columns::{add_scaled, dots, set_products};
use crate::math::lbfgs::{InverseHessian, lbfgs_from};
use crate::progress::Progress;
use crate::sampling::factorise;

/// Mean and standard deviation of every logarithm.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::methods) struct LogMoments(Vec<(f64, f64)>);

/// Smaller standard deviations of logarithms count as this: a nearly constant logarithm divided by
/// its tiny deviation would get a huge coefficient.
const SMALLEST_DEVIATION: f64 = 0.1;

impl LogMoments {
    /// Of weighted items.
    pub(in crate::methods) fn of(blocks: &Blocks<'_>, progress: &dyn Progress) -> Result<Self> {
        // Sums of distances from the first item: those from 0 would lose digits in the variance.
        let new = || Moments { first: Vec::new(), total: 0.0, sums: Vec::new() };
        let pieces = blocks.pieces(1, progress, new, |block, sums| sums.add(block))?;
        let mut pieces = pieces.into_iter();
        let mut total = pieces.next().unwrap_or_else(new);
        pieces.for_each(|piece| total.merge(&piece));
        let moments = total.first.iter().zip(&total.sums).map(|(first, (sum, square))| {
            let mean = sum / total.total;
            let variance = (square / total.total - mean * mean).max(0.0);
            (first + mean, variance.sqrt().max(SMALLEST_DEVIATION))
        });
        Ok(Self(moments.collect()))
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    /// The coefficients of the logarithms themselves, and the bias, from those of standardised ones.
    pub(in crate::methods) fn raw(&self, theta: &[f64]) -> (f64, Vec<f64>) {
        let raw: Vec<f64> = theta.iter().zip(&self.0).map(|(w, (_, scale))| w / scale).collect();
        let shift = raw.iter().zip(&self.0).map(|(w, (m, _))| w * m).sum::<f64>();
        (theta[self.len()] - shift, raw)
    }
}

/// Weighted sums of distances from an item, and of their squares, for every logarithm.
struct Moments {
    first: Vec<f64>,
    total: f64,
    sums: Vec<(f64, f64)>,
}

impl Moments {
    fn add(&mut self, block: &ItemBlock) {
        if self.first.is_empty() {
            self.first = block.logs.iter().step_by(block.stride).copied().collect();
            self.sums = vec![(0.0, 0.0); self.first.len()];
        }
        self.total += block.weights.iter().sum::<f64>();
        for (f, (sum, square)) in self.sums.iter_mut().enumerate() {
            for (g, weight) in block.column(&block.logs, f).iter().zip(&*block.weights) {
                let distance = g - self.first[f];
                *sum += weight * distance;
                *square += weight * distance * distance;
            }
        }
    }

    /// Adds sums of distances from another item.
    fn merge(&mut self, other: &Self) {
        let parts = self.sums.iter_mut().zip(&other.sums).zip(self.first.iter().zip(&other.first));
        for ((own, (sum, square)), (first, others)) in parts {
            let shift = others - first;
            own.0 += sum + other.total * shift;
            own.1 += square + 2.0 * shift * sum + other.total * shift * shift;
        }
        self.total += other.total;
    }
}

/// The regression. Its parameters are stored class by class; those of a class are the coefficients of all standardised
/// logarithms and the bias.
pub(in crate::methods) struct LogisticRegression {
    moments: LogMoments,
    n_classes: usize,
    prior: Prior,
}

/// Up to this many parameters, Newton's method is used: few steps, each of which builds and factorises
/// a matrix. Beyond, L-BFGS: many cheap steps.
const NEWTON_PARAMETERS: usize = 150;

/// Up to this many parameters and from this many items on, the curvature of a part of the items is the first
/// approximation for L-BFGS: a fit to 100 000 items with 155 parameters then takes 10 steps instead of 150.
const APPROXIMATED_PARAMETERS: usize = 400;
const MANY_ITEMS: usize = 16_384;
const ITEMS_OF_CURVATURE: usize = 4096;

/// L-BFGS ends when no entry of the gradient is larger. The prior's precision is about 1, so that the
/// parameters are then about as far from the optimum.
const GRADIENT_TOLERANCE: f64 = 1e-5;
const MAX_STEPS: usize = 5000;

impl LogisticRegression {
    /// Coefficients of standardised logarithms are N(0, `sd`²), biases are N(0, 1).
    pub(in crate::methods) fn new(moments: LogMoments, n_classes: usize, sd: f64) -> Self {
        let mut precisions = vec![sd.powi(-2); moments.len() + 1];
        precisions[moments.len()] = 1.0;
        let means = vec![0.0; precisions.len() * n_classes];
        let prior = Prior { means, precisions: precisions.repeat(n_classes) };
        Self { moments, n_classes, prior }
    }

    /// Whether Newton's method is the faster one.
    pub(in crate::methods) fn is_small(&self) -> bool {
        self.prior.len() <= NEWTON_PARAMETERS
    }

    /// Mean and standard deviation of every logarithm.
    pub(in crate::methods) fn moments(&self) -> &LogMoments {
        &self.moments
    }

    fn n_features(&self) -> usize {
        self.moments.len() + 1
    }

    /// The most probable parameters.
    pub(in crate::methods) fn fit(
        &self,
        blocks: &Blocks<'_>,
        offsets: &[f64],
        progress: &dyn Progress,
    ) -> Result<Fitted> {
        let start = self.prior.means.clone();
        let newton = |blocks: &Blocks<'_>| {
            let fitted = find_modes(blocks, offsets, &[self], vec![start.clone()], progress)?;
            Ok(fitted.into_iter().next().expect("one regression has one mode"))
        };
        if self.is_small() {
            return newton(blocks);
        }
        if self.prior.len() > APPROXIMATED_PARAMETERS || blocks.n_items() < MANY_ITEMS {
            return self.search(blocks, offsets, (&start, None), progress);
        }
        let part = blocks.every(blocks.n_items() / ITEMS_OF_CURVATURE, progress)?;
        let theta = newton(&part)?.theta;
        let sums = evaluate(&part, offsets, &[(self, &theta)], true, progress)?;
        let factor = factorise(&sums[0].curvature);
        let inverse = |vector: &mut [f64]| {
            let solved = factor.solve(&DVector::from_column_slice(vector));
            vector.copy_from_slice(solved.as_slice());
        };
        self.search(blocks, offsets, (&theta, Some(&inverse)), progress)
    }

    /// L-BFGS from a start, with an approximate inverse of the curvature if there is one.
    pub(super) fn search(
        &self,
        blocks: &Blocks<'_>,
        offsets: &[f64],
        (start, inverse): (&[f64], Option<InverseHessian<'_>>),
        progress: &dyn Progress,
    ) -> Result<Fitted> {
        let mut failure = None;
        let objective = |point: &[f64], gradient: &mut [f64]| {
            if failure.is_some() {
                return f64::NAN;
            }
            match evaluate(blocks, offsets, &[(self, point)], false, progress) {
                Ok(sums) => {
                    gradient.iter_mut().zip(&sums[0].gradient).for_each(|(g, own)| *g = -own);
                    -sums[0].value
                }
                Err(error) => {
                    failure = Some(error);
                    f64::NAN
                }
            }
        };
        let minimum = lbfgs_from(start, objective, inverse, GRADIENT_TOLERANCE, MAX_STEPS);
        match failure {
            Some(error) => Err(error),
            None => Ok(Fitted { theta: minimum.point, converged: minimum.converged }),
        }
    }
}

impl Regression for LogisticRegression {
    fn prior(&self) -> &Prior {
        &self.prior
    }

    fn predict(&self, theta: &[f64], block: &ItemBlock, room: &mut Room) {
        let (f, stride) = (self.n_features(), block.stride);
        room.features.resize(f * stride);
        for (m, feature) in room.features.chunks_exact_mut(stride).enumerate() {
            feature.fill(1.0);
            if let Some((mean, scale)) = self.moments.0.get(m) {
                feature.copy_from_slice(block.column(&block.logs, m));
                feature.iter_mut().for_each(|g| *g = (*g - mean) / scale);
            }
        }
        let predictors = room.work.predictors.chunks_exact_mut(stride);
        for (predictor, theta) in predictors.zip(theta.chunks_exact(f)) {
            predictor.fill(0.0);
            for (feature, coefficient) in room.features.chunks_exact(stride).zip(theta) {
                add_scaled(predictor, *coefficient, feature);
            }
        }
    }

    /// The curvature of the coefficients of two classes t ≠ s is −Σᵢ wᵢ pᵢₜ pᵢₛ zᵢzᵢᵀ.
    fn add_derivatives(&self, _: &[f64], block: &ItemBlock, room: &mut Room, sums: &mut Sums) {
        let (f, stride, work) = (self.n_features(), block.stride, &mut room.work);
        let z = |m: usize| &room.features[m * stride..][..stride];
        let residuals = work.residuals.chunks_exact(stride);
        for (gradient, residuals) in sums.gradient.chunks_exact_mut(f).zip(residuals) {
            dots(residuals, &room.features, |m, sum| gradient[m] += sum);
        }
        if sums.curvature.is_empty() {
            return;
        }
        work.mass.resize(stride);
        work.scaled.resize(2 * stride);
        let (pair, scaled) = work.scaled.split_at_mut(stride);
        for t in 0..self.n_classes {
            let p = |t: usize| &work.probabilities[t * stride..][..stride];
            set_products(&mut work.mass, p(t), &block.weights);
            for s in t + 1..self.n_classes {
                set_products(pair, &work.mass, p(s));
                for a in 0..f {
                    set_products(scaled, pair, z(a));
                    let later = &room.features[a * stride..f * stride];
                    let (row, column) = (s * f + a, t * f + a);
                    dots(scaled, later, |b, sum| sums.curvature[(row + b, column)] -= sum);
                }
            }
        }
    }

    /// The blocks of a row add up to 0, because shifting all predictors of an item changes nothing, so the diagonal
    /// ones follow from the lower triangles of those of classes t < s.
    fn complete(&self, curvature: &mut DMatrix<f64>) {
        let (f, j) = (self.n_features(), self.n_classes);
        for (t, s) in (0..j).flat_map(|t| (t + 1..j).map(move |s| (t, s))) {
            for (a, b) in (0..f).flat_map(|a| (a..f).map(move |b| (a, b))) {
                let value = curvature[(s * f + b, t * f + a)];
                for (a, b) in [(a, b), (b, a)].into_iter().take(1 + usize::from(a != b)) {
                    curvature[(s * f + b, t * f + a)] = value;
                    curvature[(t * f + a, s * f + b)] = value;
                    curvature[(t * f + a, t * f + b)] -= value;
                    curvature[(s * f + a, s * f + b)] -= value;
                }
            }
        }
    }
}
