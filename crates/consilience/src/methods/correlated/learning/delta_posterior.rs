//! The posterior of a pair's η of all classes, and of the prior mean μ if the prior is pooled.

use nalgebra::DMatrix;

use super::config::DeltaPrior;
use super::pair_likelihood::{ClassLikelihood, Evaluation};
use super::prior;
use crate::error::Result;
use crate::methods::independent::Alpha;
use crate::progress::Progress;

/// Likelihoods and prior. A point is η class by class, followed by μ if the prior is pooled.
#[derive(Clone)]
pub(super) struct DeltaPosterior<'a> {
    pub(super) classes: Vec<ClassLikelihood<'a>>,
    pub(super) prior: DeltaPrior,
    pub(super) progress: &'a dyn Progress,
}

/// Value, gradient and a positive definite approximation of the negative Hessian.
#[derive(Debug, Clone)]
pub(super) struct LocalExpansion {
    pub(super) value: f64,
    pub(super) gradient: Vec<f64>,
    pub(super) curvature: DMatrix<f64>,
}

impl DeltaPosterior<'_> {
    /// Number of components of a class.
    pub(super) fn width(&self) -> usize {
        self.classes.len()
    }

    /// The same with about `wanted` items per class.
    pub(super) fn thinned(&self, wanted: usize) -> Self {
        let classes = self.classes.iter().map(|class| class.thinned(wanted)).collect();
        Self { classes, ..*self }
    }

    /// The largest weight of an item.
    pub(super) fn heaviest(&self) -> f64 {
        self.classes.iter().map(ClassLikelihood::weight).fold(1.0, f64::max)
    }

    /// The resolution of the outputs.
    pub(super) fn resolution(&self) -> f64 {
        self.classes[0].resolution()
    }

    /// Number of coordinates η.
    pub(super) fn n_eta(&self) -> usize {
        self.width() * self.width()
    }

    pub(super) fn dimension(&self) -> usize {
        self.n_eta() + usize::from(self.prior == DeltaPrior::Pooled)
    }

    /// η of one class.
    pub(super) fn eta<'p>(&self, class: usize, point: &'p [f64]) -> &'p [f64] {
        &point[class * self.width()..(class + 1) * self.width()]
    }

    /// Appends the most probable μ given η.
    pub(super) fn complete(&self, mut eta: Vec<f64>) -> Vec<f64> {
        if self.prior == DeltaPrior::Pooled {
            eta.push(eta.iter().sum::<f64>() / eta.len() as f64);
        }
        eta
    }

    /// The start suggested by the outputs' correlations.
    pub(super) fn start(&self) -> Vec<f64> {
        self.complete(self.classes.iter().flat_map(ClassLikelihood::start).collect())
    }

    /// α of both sources.
    pub(super) fn alpha(&self) -> Alpha {
        let one = |k: usize| self.classes.iter().map(|class| class.alpha()[k].to_vec()).collect();
        vec![one(0), one(1)]
    }

    /// δ of every class.
    pub(super) fn delta(&self, point: &[f64]) -> Vec<Vec<f64>> {
        let one = |(j, class): (usize, &ClassLikelihood<'_>)| class.delta(self.eta(j, point));
        self.classes.iter().enumerate().map(one).collect()
    }

    /// Makes all grids for parameters near a point.
    pub(super) fn anchor(&mut self, point: &[f64]) -> Result<()> {
        let width = self.width();
        let etas = point.chunks_exact(width);
        self.classes.iter_mut().zip(etas).try_for_each(|(class, eta)| class.anchor(eta))
    }

    /// All likelihoods at a point.
    pub(super) fn evaluate(&self, point: &[f64]) -> Result<Vec<Evaluation>> {
        self.classes.iter().enumerate().map(|(j, c)| c.evaluate(self.eta(j, point))).collect()
    }

    /// The log posterior alone.
    pub(super) fn value(&self, point: &[f64]) -> Result<f64> {
        let mut sum = self.ln_prior(point, &mut vec![0.0; self.dimension()]);
        for (j, class) in self.classes.iter().enumerate() {
            sum += class.value(self.eta(j, point))?;
        }
        Ok(sum)
    }

    /// The log posterior with its derivatives, given the likelihoods.
    pub(super) fn local(&self, point: &[f64], likelihoods: &[Evaluation]) -> LocalExpansion {
        let d = self.dimension();
        let mut gradient = vec![0.0; d];
        let mut value = self.ln_prior(point, &mut gradient);
        let mut curvature = self.prior_curvature(point);
        let width = self.width();
        for (j, likelihood) in likelihoods.iter().enumerate() {
            value += likelihood.value;
            for l in 0..width {
                gradient[j * width + l] += likelihood.gradient[l];
                for m in 0..width {
                    curvature[(j * width + l, j * width + m)] += likelihood.information[(l, m)];
                }
            }
        }
        LocalExpansion { value, gradient, curvature }
    }

    /// Log prior density; writes its gradient.
    pub(super) fn ln_prior(&self, point: &[f64], gradient: &mut [f64]) -> f64 {
        let (n, width) = (self.n_eta(), self.width());
        let mu = point.get(n).copied().unwrap_or(0.0);
        let mut sum = 0.0;
        let mut pull = 0.0;
        for i in 0..n {
            let bound = self.classes[i / width].bound()[i % width];
            let local = prior::element(self.prior, point[i], bound, mu);
            sum += local.value;
            gradient[i] = local.slope;
            pull -= local.slope;
        }
        if n < point.len() {
            let local = prior::logistic(mu);
            sum += local.value;
            gradient[n] = pull + local.slope;
        }
        sum
    }

    fn prior_curvature(&self, point: &[f64]) -> DMatrix<f64> {
        let (n, width, d) = (self.n_eta(), self.width(), self.dimension());
        let mu = point.get(n).copied().unwrap_or(0.0);
        let mut matrix = DMatrix::zeros(d, d);
        for i in 0..n {
            let bound = self.classes[i / width].bound()[i % width];
            matrix[(i, i)] = prior::element(self.prior, point[i], bound, mu).curvature.max(0.0);
        }
        if n < d {
            matrix[(n, n)] = n as f64 + prior::logistic(mu).curvature;
            for i in 0..n {
                matrix[(i, n)] = -1.0;
                matrix[(n, i)] = -1.0;
            }
        }
        matrix
    }
}
