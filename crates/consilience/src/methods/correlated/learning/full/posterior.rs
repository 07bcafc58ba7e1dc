//! The posterior of all shared shapes: items, parts and prior, and its approximation by reweighting.

use nalgebra::DMatrix;

use super::constraints::Constraints;
use super::reweighted_likelihood::{ClassItems, ReweightedClass};
use crate::data::outputs::Outputs;
use crate::error::{Error, Result};
use crate::methods::correlated::Structure;
use crate::methods::correlated::learning::all_pairs::FittedPairs;
use crate::methods::correlated::learning::config::DeltaPrior;
use crate::methods::correlated::learning::constants::full::LARGEST_ETA;
use crate::methods::correlated::learning::constants::reweighting::{
    LEAST_EFFECTIVE, MOST_LEFT_OUT, USABLE,
};
use crate::methods::correlated::learning::pair_items::complete_items;
use crate::methods::correlated::learning::prior::EtaPrior;
use crate::methods::independent::Alpha;
use crate::sampling::Target;

/// Items, parts and prior. A point is η by class, component and part, followed by the prior means μ.
pub(super) struct FullPosterior {
    pub(super) items: Vec<ClassItems>,
    pub(super) members: Vec<Vec<usize>>,
    pub(super) n_classes: usize,
    pub(super) prior: EtaPrior,
}

impl FullPosterior {
    pub(super) fn new(
        outputs: &Outputs,
        pairs: &FittedPairs,
        structure: Structure,
        prior: DeltaPrior,
    ) -> Result<Self> {
        let (n_classes, n) = (outputs.schema().n_classes(), outputs.schema().n_classifiers());
        let mut members = vec![(0..n).collect::<Vec<_>>()];
        if structure == Structure::Full {
            members.extend(pairs.pairs.iter().map(|pair| vec![pair.between.0, pair.between.1]));
        }
        let class = |items: Vec<Vec<f64>>| ClassItems { n_classes, items };
        let items = complete_items(outputs)?.into_iter().map(class).collect();
        let bounds = vec![1.0; n_classes * n_classes * members.len()];
        let prior = EtaPrior::new(prior, bounds, members.len());
        Ok(Self { items, members, n_classes, prior })
    }

    /// Items of all classes.
    pub(super) fn n_items(&self) -> usize {
        self.items.iter().map(|class| class.items.len()).sum()
    }

    /// Leaves items out, by class.
    pub(super) fn leave_out(&mut self, left_out: &[Vec<usize>]) {
        for (class, left_out) in self.items.iter_mut().zip(left_out) {
            let mut index = 0..;
            class.items.retain(|_| index.next().is_some_and(|i| !left_out.contains(&i)));
        }
    }

    pub(super) fn constraints(&self, alpha: &Alpha, class: usize) -> Vec<Constraints<'_>> {
        let one = |l: usize| Constraints {
            members: &self.members,
            alpha: alpha.iter().map(|rows| rows[class][l]).collect(),
        };
        (0..self.n_classes).map(one).collect()
    }

    /// Number of coordinates η of a class.
    pub(super) fn width(&self) -> usize {
        self.n_classes * self.members.len()
    }

    /// The point of shapes `delta[part][class][component]`.
    pub(super) fn point(&self, alpha: &Alpha, delta: &[Vec<Vec<f64>>]) -> Vec<f64> {
        let mut point = Vec::new();
        for j in 0..self.n_classes {
            for (l, constraints) in self.constraints(alpha, j).iter().enumerate() {
                let own: Vec<f64> = delta.iter().map(|part| part[j][l]).collect();
                point.extend(constraints.eta(&own));
            }
        }
        self.prior.complete(point)
    }

    /// Shapes `delta[part][class][component]` of a point.
    pub(super) fn delta(&self, alpha: &Alpha, point: &[f64]) -> Vec<Vec<Vec<f64>>> {
        let n_parts = self.members.len();
        let mut delta = vec![vec![vec![0.0; self.n_classes]; self.n_classes]; n_parts];
        for (j, eta) in point[..self.prior.n_eta()].chunks_exact(self.width()).enumerate() {
            let constraints = self.constraints(alpha, j);
            for (l, (constraints, eta)) in
                constraints.iter().zip(eta.chunks_exact(n_parts)).enumerate()
            {
                let own = constraints.shapes(eta).delta;
                delta.iter_mut().zip(own).for_each(|(part, d)| part[j][l] = d);
            }
        }
        delta
    }

    /// The posterior by reweighting points that are drawn at a centre.
    pub(super) fn at(
        &self,
        alpha: &Alpha,
        point: &[f64],
        seed: u64,
    ) -> Result<ReweightedPosterior<'_>> {
        let etas = point.chunks_exact(self.width());
        let class = |(j, (items, eta)): (usize, (&ClassItems, &[f64]))| {
            let near: Vec<f64> = eta.iter().map(|e| e.clamp(-LARGEST_ETA, LARGEST_ETA)).collect();
            ReweightedClass::new(
                self.constraints(alpha, j),
                items,
                &near,
                seed.wrapping_add((j as u64) << 32),
                USABLE,
            )
        };
        let classes =
            self.items.iter().zip(etas).enumerate().map(class).collect::<Result<Vec<_>>>()?;
        let posterior = ReweightedPosterior { posterior: self, classes };
        let n = self.n_items();
        if posterior.n_left_out() as f64 > MOST_LEFT_OUT * n as f64 {
            return Err(Error::Unsupported {
                method: "correlated".into(),
                cannot: format!(
                    "cannot learn the posterior of everything that is shared: the exact densities of {} \
                     of {n} items cannot be resolved, because nearly nothing is private; use the \
                     inference `two-step`",
                    posterior.n_left_out()
                ),
            });
        }
        Ok(posterior)
    }
}

/// The prior and the likelihoods by reweighting.
pub(super) struct ReweightedPosterior<'a> {
    posterior: &'a FullPosterior,
    classes: Vec<ReweightedClass<'a>>,
}

impl ReweightedPosterior<'_> {
    fn n_left_out(&self) -> usize {
        self.classes.iter().map(|class| class.left_out.len()).sum()
    }

    pub(super) fn left_out(&self) -> Vec<Vec<usize>> {
        self.classes.iter().map(|class| class.left_out.clone()).collect()
    }

    pub(super) fn summary(&self) -> ReweightingSummary {
        let n: usize = self.classes.iter().map(ReweightedClass::n_items).sum();
        let weighted = self.classes.iter().map(|class| class.n_items() as f64 * class.effective());
        ReweightingSummary {
            effective: weighted.sum::<f64>() / (n as f64).max(1.0),
            n_left_out: self.n_left_out(),
        }
    }
}

/// How well reweighting worked at the mode.
pub(super) struct ReweightingSummary {
    /// Mean effective share of the items' points.
    pub(super) effective: f64,
    /// Items without usable points.
    pub(super) n_left_out: usize,
}

impl Target for ReweightedPosterior<'_> {
    fn dimension(&self) -> usize {
        self.posterior.prior.dimension()
    }

    fn ln_density(&self, point: &[f64], gradient: &mut [f64]) -> f64 {
        let mut sum = self.posterior.prior.ln_density(point, gradient);
        let width = self.posterior.width();
        for (j, class) in self.classes.iter().enumerate() {
            let own = j * width..(j + 1) * width;
            let at = class.evaluate(&point[own.clone()], None);
            if class.n_items() > 0 && !(at.effective >= LEAST_EFFECTIVE) {
                return f64::NEG_INFINITY;
            }
            sum += at.value;
            gradient[own].iter_mut().zip(&at.gradient).for_each(|(g, own)| *g += own);
        }
        sum
    }

    /// The outer products of the items' scores stand for the information.
    fn curvature(&self, point: &[f64]) -> DMatrix<f64> {
        let width = self.posterior.width();
        let mut matrix = self.posterior.prior.curvature(point);
        for (j, class) in self.classes.iter().enumerate() {
            let first = j * width;
            let mut add = |score: &[f64]| {
                for (a, x) in score.iter().enumerate() {
                    for (b, y) in score.iter().enumerate() {
                        matrix[(first + a, first + b)] += x * y;
                    }
                }
            };
            class.evaluate(&point[first..first + width], Some(&mut add));
        }
        matrix
    }
}
