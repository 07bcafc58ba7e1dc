//! The posterior of a pair's η of all classes, and of the prior mean μ if the prior is pooled.

use nalgebra::DMatrix;

use super::config::DeltaPrior;
use super::constants::pair::LIKELIHOOD_ERROR_ITEMS;
use super::pair_likelihood::{ClassLikelihood, Evaluation};
use super::prior::EtaPrior;
use crate::error::Result;
use crate::methods::independent::Alpha;
use crate::progress::Progress;

/// Likelihoods and prior. A point is η class by class, followed by μ if the prior is pooled.
#[derive(Clone)]
pub(super) struct DeltaPosterior<'a> {
    pub(super) classes: Vec<ClassLikelihood<'a>>,
    pub(super) prior: EtaPrior,
    pub(super) progress: &'a dyn Progress,
}

/// Value, gradient and a positive definite approximation of the negative Hessian.
#[derive(Debug, Clone)]
pub(super) struct LocalExpansion {
    pub(super) value: f64,
    pub(super) gradient: Vec<f64>,
    pub(super) curvature: DMatrix<f64>,
}

impl<'a> DeltaPosterior<'a> {
    pub(super) fn new(
        classes: Vec<ClassLikelihood<'a>>,
        prior: DeltaPrior,
        progress: &'a dyn Progress,
    ) -> Self {
        let bounds = classes.iter().flat_map(|class| class.bound().to_vec()).collect();
        Self { classes, prior: EtaPrior::new(prior, bounds, 1), progress }
    }

    /// Number of components of a class.
    pub(super) fn width(&self) -> usize {
        self.classes.len()
    }

    /// A cheap approximation for searches, with about `wanted` items per class.
    pub(super) fn rough(&self, wanted: usize) -> Self {
        let classes = self.classes.iter().map(|class| class.rough(wanted)).collect();
        Self { classes, prior: self.prior.clone(), progress: self.progress }
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
        self.prior.n_eta()
    }

    pub(super) fn dimension(&self) -> usize {
        self.prior.dimension()
    }

    /// η of one class.
    pub(super) fn eta<'p>(&self, class: usize, point: &'p [f64]) -> &'p [f64] {
        &point[class * self.width()..(class + 1) * self.width()]
    }

    /// Appends the most probable μ given η.
    pub(super) fn complete(&self, eta: Vec<f64>) -> Vec<f64> {
        self.prior.complete(eta)
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

    /// The log likelihood of every class.
    pub(super) fn likelihoods(&self, point: &[f64]) -> Result<Vec<f64>> {
        self.classes.iter().enumerate().map(|(j, c)| c.value(self.eta(j, point))).collect()
    }

    /// The log density of the prior.
    pub(super) fn prior_density(&self, point: &[f64]) -> f64 {
        self.prior.ln_density(point, &mut vec![0.0; self.dimension()])
    }

    /// The log posterior with its derivatives, given the likelihoods.
    pub(super) fn local(&self, point: &[f64], likelihoods: &[Evaluation]) -> LocalExpansion {
        let d = self.dimension();
        let mut gradient = vec![0.0; d];
        let mut value = self.prior.ln_density(point, &mut gradient);
        let mut curvature = self.prior.curvature(point);
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

    /// Largest difference between grid and adaptive quadrature in a class's log likelihood ratio of two
    /// points, extrapolated from some of the items; 0 if no grids are used.
    pub(super) fn likelihood_error(&self, a: &[f64], b: &[f64]) -> Result<f64> {
        let mut worst = 0.0f64;
        for (j, class) in self.classes.iter().enumerate() {
            if !class.uses_grids() || class.n_items() == 0 {
                continue;
            }
            let every = class.n_items().div_ceil(LIKELIHOOD_ERROR_ITEMS);
            let error = |point: &[f64]| -> Result<f64> {
                let eta = self.eta(j, point);
                Ok(class.partial(eta, every)? - class.adaptive(eta, every)?)
            };
            worst = worst.max((error(a)? - error(b)?).abs() * (every as f64).sqrt());
        }
        Ok(worst)
    }
}
