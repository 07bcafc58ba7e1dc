//! Features of their own for every class, with coefficients in common: Uₜ = bₜ + Σₘ θₘ φₜₘ.
//!
//! The biases b are optional. They come first among the parameters.

use nalgebra::DMatrix;

use super::search::Sums;
use crate::math::aligned::AlignedBuffer;
use crate::math::columns::{add_products, add_scaled, dot, dots, set_products, sum};

/// The features of a block.
pub(in crate::methods) struct ClassColumns<'a> {
    pub(in crate::methods) n_classes: usize,
    pub(in crate::methods) has_biases: bool,
    /// φₜₘ at m·J + t.
    pub(in crate::methods) columns: Vec<&'a [f64]>,
}

/// Room for the probabilities and derivatives of one block.
#[derive(Debug, Default)]
pub(in crate::methods) struct Work {
    pub(in crate::methods) predictors: AlignedBuffer,
    pub(in crate::methods) probabilities: AlignedBuffer,
    pub(in crate::methods) ln_totals: AlignedBuffer,
    /// w (yₜ − pₜ), J columns.
    pub(in crate::methods) residuals: AlignedBuffer,
    /// w pₜ.
    pub(in crate::methods) mass: AlignedBuffer,
    means: AlignedBuffer,
    centred: AlignedBuffer,
    pub(in crate::methods) scaled: AlignedBuffer,
}

impl<'a> ClassColumns<'a> {
    pub(in crate::methods) fn n_features(&self) -> usize {
        self.columns.len() / self.n_classes
    }

    /// φₜₘ.
    pub(in crate::methods) fn column(&self, m: usize, t: usize) -> &'a [f64] {
        self.columns[m * self.n_classes + t]
    }

    fn n_biases(&self) -> usize {
        if self.has_biases { self.n_classes } else { 0 }
    }

    /// Writes U, J columns.
    pub(in crate::methods) fn predict(&self, theta: &[f64], predictors: &mut [f64]) {
        let (biases, coefficients) = theta.split_at(self.n_biases());
        let stride = predictors.len() / self.n_classes;
        for (t, predictor) in predictors.chunks_exact_mut(stride).enumerate() {
            predictor.fill(biases.get(t).copied().unwrap_or(0.0));
            for (m, coefficient) in coefficients.iter().enumerate() {
                add_scaled(predictor, *coefficient, self.column(m, t));
            }
        }
    }

    /// Adds to the gradient: the residuals times the Jacobian.
    pub(in crate::methods) fn add_gradient(&self, work: &Work, sums: &mut Sums) {
        let stride = work.ln_totals.len();
        let first = self.n_biases();
        for (t, residuals) in work.residuals.chunks_exact(stride).enumerate() {
            if self.has_biases {
                sums.gradient[t] += sum(residuals);
            }
            for m in 0..self.n_features() {
                sums.gradient[first + m] += dot(residuals, self.column(m, t));
            }
        }
    }

    /// Adds to the lower triangle of the curvature of the predictors linearised here. With ψₜ = φₜ − Σₛ pₛ φₛ: Σ w pₜ
    /// ψₜψₜᵀ for the coefficients, Σ w pₜ ψₜ between bias t and the coefficients, Σ w (pₜ [t = s] − pₜpₛ) between
    /// biases.
    pub(in crate::methods) fn add_curvature(
        &self,
        weights: &[f64],
        work: &mut Work,
        curvature: &mut DMatrix<f64>,
    ) {
        let (stride, f, first) = (weights.len(), self.n_features(), self.n_biases());
        let Work { probabilities, mass, means, centred, scaled, .. } = work;
        means.resize(f * stride);
        centred.resize(f * stride);
        mass.resize(stride);
        scaled.resize(stride);
        means.fill(0.0);
        let p = |t: usize| &probabilities[t * stride..][..stride];
        for (m, mean) in means.chunks_exact_mut(stride).enumerate() {
            (0..self.n_classes).for_each(|t| add_products(mean, p(t), self.column(m, t)));
        }
        for t in 0..self.n_classes {
            set_products(mass, weights, p(t));
            if self.has_biases {
                curvature[(t, t)] += sum(mass);
                dots(mass, &probabilities[t * stride..], |s, own| curvature[(t + s, t)] -= own);
            }
            for (m, centred) in centred.chunks_exact_mut(stride).enumerate() {
                centred.copy_from_slice(self.column(m, t));
                add_scaled(centred, -1.0, &means[m * stride..][..stride]);
            }
            for a in 0..f {
                let later = &centred[a * stride..];
                set_products(scaled, mass, &later[..stride]);
                if self.has_biases {
                    curvature[(first + a, t)] += sum(scaled);
                }
                let place = first + a;
                dots(scaled, later, |b, own| curvature[(place + b, place)] += own);
            }
        }
    }
}
