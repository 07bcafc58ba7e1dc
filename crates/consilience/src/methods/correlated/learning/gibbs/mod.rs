//! The paper's way to the posterior: hidden variables are drawn as well (data augmentation, Gibbs sampling).
//!
//! Every item's totals and shared parts are drawn given the parameters, and parameters given them, without the noise
//! that the paper adds to make its sampler run: the outputs are observed exactly, or at the model's own resolution.
//! No density of outputs is ever integrated, so this is an independent check of the likelihood route. It is slow: each
//! draw visits every item, and successive draws resemble each other.

mod class;
mod hidden;

use rand::rngs::ChaCha8Rng;
use rand::{Rng, SeedableRng};
use rand_distr::{Distribution, StandardNormal};

use super::config::DeltaPrior;
use super::pair_items::PairItems;
use super::pair_likelihood::ClassLikelihood;
use super::prior;
use crate::error::Result;
use crate::progress::Progress;
use crate::sampling::{ChainSettings, Draws, slice_step};
use class::{ClassState, Parameters};
use consilience_numerics::parallel;

/// Chains start this far from each other, in η.
const DISPERSION: f64 = 0.7;
/// First widths of slices.
const WIDTH: f64 = 0.5;
/// Share of the last move in a width, while warming up.
const LEARNING: f64 = 0.1;
/// A slice's width in mean moves.
const WIDTH_IN_MOVES: f64 = 2.5;

/// One class's data and where its chains start.
pub(super) struct GibbsClass<'a> {
    pub(super) items: &'a PairItems,
    /// α¹ and α².
    pub(super) alpha: [&'a [f64]; 2],
    /// η where chains start.
    pub(super) eta: Vec<f64>,
}

impl<'a> GibbsClass<'a> {
    pub(super) fn new(class: &'a ClassLikelihood) -> Self {
        Self { items: class.items(), alpha: class.alpha(), eta: class.start() }
    }
}

/// What is sampled.
pub(super) struct GibbsTarget<'a> {
    pub(super) classes: Vec<GibbsClass<'a>>,
    pub(super) prior: DeltaPrior,
    pub(super) resolution: f64,
}

impl GibbsTarget<'_> {
    /// Draws η class by class; at the end μ where the prior is pooled.
    pub(super) fn sample(
        &self,
        settings: &ChainSettings,
        seed: u64,
        progress: &dyn Progress,
    ) -> Result<Draws> {
        let sweeps = settings.n_chains * (settings.n_warmup + settings.n_draws);
        progress.begin("drawing hidden variables", sweeps as u64);
        let chains = parallel::map(settings.n_chains, |chain| {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            rng.set_stream(chain as u64);
            self.chain(settings, &mut rng, progress)
        });
        let chains = chains.into_iter().collect::<Result<Vec<_>>>()?;
        Ok(Draws::from_chains(chains, 1.0))
    }

    fn chain(
        &self,
        settings: &ChainSettings,
        rng: &mut ChaCha8Rng,
        progress: &dyn Progress,
    ) -> Result<Vec<Vec<f64>>> {
        let mut chain = Chain::start(self, rng);
        let mut draws = Vec::with_capacity(settings.n_draws);
        for sweep in 0..settings.n_warmup + settings.n_draws {
            progress.check()?;
            chain.sweep(sweep < settings.n_warmup, rng);
            if sweep >= settings.n_warmup {
                draws.push(chain.point());
            }
            progress.advance(1);
        }
        Ok(draws)
    }
}

/// One chain.
struct Chain {
    prior: DeltaPrior,
    classes: Vec<ClassState>,
    /// Widths of the slices, by class and component.
    widths: Vec<Vec<f64>>,
    mu: f64,
}

impl Chain {
    fn start<R: Rng + ?Sized>(target: &GibbsTarget<'_>, rng: &mut R) -> Self {
        let width = target.classes[0].eta.len();
        let mut scattered = |eta: &f64| {
            let noise: f64 = StandardNormal.sample(rng);
            eta + DISPERSION * noise
        };
        let classes: Vec<ClassState> = target
            .classes
            .iter()
            .map(|class| {
                let ln_alpha = class.alpha.map(|row| row.iter().map(|a| a.ln()).collect());
                let eta = class.eta.iter().map(&mut scattered).collect();
                let parameters = Parameters { ln_alpha, eta };
                ClassState::new(class.items, parameters, target.resolution)
            })
            .collect();
        let widths = vec![vec![WIDTH; width]; classes.len()];
        let etas = || classes.iter().flat_map(|class| &class.parameters.eta);
        let mu = etas().sum::<f64>() / etas().count() as f64;
        Self { prior: target.prior, classes, widths, mu }
    }

    fn sweep<R: Rng + ?Sized>(&mut self, adapt: bool, rng: &mut R) {
        let (prior, mu) = (self.prior, self.mu);
        let ln_prior = |parameters: &Parameters| -> f64 {
            let one = |(l, eta): (usize, &f64)| {
                prior::element(prior, *eta, parameters.bound(l), mu).value
            };
            parameters.eta.iter().enumerate().map(one).sum()
        };
        for (class, widths) in self.classes.iter_mut().zip(&mut self.widths) {
            class.move_hidden(rng);
            for (l, width) in widths.iter_mut().enumerate() {
                let before = class.parameters.eta[l];
                class.move_with_hidden(l, *width, &ln_prior, rng);
                if adapt {
                    let moved = (class.parameters.eta[l] - before).abs();
                    *width += LEARNING * (WIDTH_IN_MOVES * moved - *width);
                }
                class.move_alone(l, *width, &ln_prior, rng);
            }
        }
        self.move_mu(rng);
    }

    /// Draws μ given all η.
    fn move_mu<R: Rng + ?Sized>(&mut self, rng: &mut R) {
        if self.prior != DeltaPrior::Pooled {
            return;
        }
        let etas: Vec<f64> = self.classes.iter().flat_map(|c| c.parameters.eta.clone()).collect();
        let (n, mean) = (etas.len() as f64, etas.iter().sum::<f64>() / etas.len() as f64);
        self.mu = slice_step(self.mu, 3.0 / n.sqrt(), |mu| prior::ln_pooled(mu, mean, n), rng);
    }

    fn point(&self) -> Vec<f64> {
        let mut point: Vec<f64> =
            self.classes.iter().flat_map(|class| class.parameters.eta.clone()).collect();
        if self.prior == DeltaPrior::Pooled {
            point.push(self.mu);
        }
        point
    }
}
