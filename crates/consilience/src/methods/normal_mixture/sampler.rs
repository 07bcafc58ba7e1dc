//! Gibbs sampling of a mixture with conjugate priors.
//!
//! Weights w ~ Dirichlet, means and covariances normal-inverse-Wishart, given the labels; then the
//! labels ∝ w N(y; μ, Σ); then absent coordinates given the labels. Of a draw, the labels are kept:
//! given them, a component predicts new items as Student t, its mean and covariance
//! integrated out.

use std::collections::BTreeMap;

use nalgebra::DMatrix;
use rand::RngExt;
use rand::rngs::ChaCha8Rng;

use super::NormalMixture;
use crate::distributions::{MultivariateT, NormalDraw, NormalInverseWishart, standard_normals};
use crate::error::{Error, Result};
use crate::math::gaussian::Gaussian;
use crate::methods::log_ratio::ClassRows;
use crate::progress::Progress;
use consilience_numerics::simplex;
use correlated_dirichlet::Dirichlet;

/// One chain of one class.
pub(super) struct Chain<'a> {
    config: &'a NormalMixture,
    prior: &'a NormalInverseWishart,
    /// d × n, absent coordinates at their present draw.
    rows: DMatrix<f64>,
    /// Items that lack the same coordinates.
    incomplete: BTreeMap<Vec<bool>, Vec<usize>>,
    labels: Vec<usize>,
    rng: ChaCha8Rng,
}

impl<'a> Chain<'a> {
    /// Starts with every item at the nearest of some random items.
    pub(super) fn new(
        config: &'a NormalMixture,
        prior: &'a NormalInverseWishart,
        class: &ClassRows,
        mut rng: ChaCha8Rng,
    ) -> Result<Self> {
        let mut incomplete = class.patterns().members;
        incomplete.retain(|pattern, _| pattern.contains(&false));
        let centre = prior.centre();
        let mut rows = class.rows.clone();
        for (pattern, members) in &incomplete {
            let regression = centre.regression(pattern).ok_or_else(singular)?;
            for &item in members {
                centre.complete(&regression, rows.column_mut(item).as_mut_slice());
            }
        }
        let n = rows.ncols();
        let white = centre.covariance.cholesky().ok_or_else(singular)?.l();
        let white = white.solve_lower_triangular(&rows).ok_or_else(singular)?;
        let centres: Vec<usize> = (0..config.components).map(|_| rng.random_range(0..n)).collect();
        let nearest = |item: usize| {
            let off = |c: usize| (white.column(item) - white.column(centres[c])).norm_squared();
            (1..centres.len()).fold(0, |best, c| if off(c) < off(best) { c } else { best })
        };
        let labels = (0..n).map(nearest).collect();
        Ok(Self { config, prior, rows, incomplete, labels, rng })
    }

    /// Runs the chain; what is kept are weighted components, all draws together.
    pub(super) fn run(mut self, progress: &dyn Progress) -> Result<Vec<(f64, MultivariateT)>> {
        let NormalMixture { warmup, draws, every, .. } = *self.config;
        let mut kept = Vec::new();
        for i in 1..=warmup + draws * every {
            progress.check()?;
            self.step()?;
            if i > warmup && (i - warmup) % every == 0 {
                kept.extend(self.components()?);
            }
            progress.advance(1);
        }
        Ok(kept)
    }

    fn step(&mut self) -> Result<()> {
        let posteriors = self.posteriors();
        let share = self.config.weight_items / self.config.components as f64;
        let counts: Vec<f64> = posteriors.iter().map(|(n, _)| n + share).collect();
        let weights = match counts.len() {
            1 => vec![1.0],
            _ => Dirichlet::new(&counts)?.sample(&mut self.rng),
        };
        let draws: Vec<NormalDraw> = posteriors
            .iter()
            .map(|(_, posterior)| posterior.sample(&mut self.rng).ok_or_else(singular))
            .collect::<Result<_>>()?;
        let densities: Vec<Vec<f64>> = draws.iter().map(|draw| draw.ln_pdfs(&self.rows)).collect();
        let ln_weights: Vec<f64> = weights.iter().map(|w| w.ln()).collect();
        let mut own = vec![0.0; draws.len()];
        for (i, label) in self.labels.iter_mut().enumerate() {
            for ((own, ln), weight) in own.iter_mut().zip(&densities).zip(&ln_weights) {
                *own = ln[i] + weight;
            }
            *label = draw_label(&mut own, &mut self.rng);
        }
        self.fill_in(&draws)
    }

    /// Draws the absent coordinates given the labels.
    fn fill_in(&mut self, draws: &[NormalDraw]) -> Result<()> {
        let Self { rows, incomplete, labels, rng, .. } = self;
        for (pattern, members) in incomplete.iter() {
            for (c, draw) in draws.iter().enumerate() {
                let own: Vec<usize> = members.iter().copied().filter(|&i| labels[i] == c).collect();
                if own.is_empty() {
                    continue;
                }
                let normal = draw.gaussian().ok_or_else(singular)?;
                let regression = normal.regression(pattern).ok_or_else(singular)?;
                let rest = normal.residual(&regression).cholesky().ok_or_else(singular)?.unpack();
                for item in own {
                    let mut column = rows.column_mut(item);
                    normal.complete(&regression, column.as_mut_slice());
                    let noise = &rest * standard_normals(regression.missing.len(), rng);
                    for (place, noise) in regression.missing.iter().zip(noise.iter()) {
                        column[*place] += noise;
                    }
                }
            }
        }
        Ok(())
    }

    /// Items of every component, and the posterior of its mean and covariance.
    fn posteriors(&self) -> Vec<(f64, NormalInverseWishart)> {
        let component = |c: usize| {
            let own: Vec<usize> = (0..self.labels.len()).filter(|&i| self.labels[i] == c).collect();
            if own.is_empty() {
                return (0.0, self.prior.clone());
            }
            let n = own.len() as f64;
            let moments = Gaussian::fit(&self.rows.select_columns(&own), |_, _| true, 1, 0.0);
            (n, self.prior.updated(n, &moments))
        };
        (0..self.config.components).map(component).collect()
    }

    /// The predictive mixture given the labels; the empty components are one.
    fn components(&self) -> Result<Vec<(f64, MultivariateT)>> {
        let share = self.config.weight_items / self.config.components as f64;
        let posteriors = self.posteriors();
        let empty = posteriors.iter().filter(|(n, _)| *n == 0.0).count();
        let mut components = Vec::new();
        if empty > 0 {
            components.push((share * empty as f64, self.prior.predictive()?));
        }
        for (n, posterior) in posteriors.into_iter().filter(|(n, _)| *n > 0.0) {
            components.push((n + share, posterior.predictive()?));
        }
        Ok(components)
    }
}

fn singular() -> Error {
    Error::parameter("scale", "positive definite", "singular in sampling")
}

/// A place in proportion to e^weight; the weights are overwritten.
fn draw_label(weights: &mut [f64], rng: &mut ChaCha8Rng) -> usize {
    simplex::softmax(weights);
    let mut left: f64 = rng.random();
    for (place, weight) in weights.iter().enumerate() {
        left -= weight;
        if left < 0.0 {
            return place;
        }
    }
    // Rounding left a little: the most probable.
    simplex::arg_max(weights)
}
