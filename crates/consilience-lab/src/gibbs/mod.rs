//! Data augmentation, the paper's way to the posterior of δ, as an independent check.
//!
//! Every item's totals and shared parts are drawn given the parameters, and the parameters given them (Gibbs sampling).
//! The paper adds noise to the outputs to make its sampler run; here they are observed exactly, or at the model's own
//! resolution. No density of outputs is integrated, so the draws check the likelihood, the polynomial surrogate and the
//! sampler of the library. The sampler is slow: every draw visits every item, and successive draws are correlated.

mod class;
mod hidden;
mod slice;

use consilience::laboratory::Diagnostics;
use consilience::methods::correlated::learning::DeltaPrior;
use consilience::methods::independent::Alpha;
use consilience::{Outputs, Result};
use rand::rngs::ChaCha8Rng;
use rand::{Rng, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;

use class::{AlphaPrior, ClassState, Coordinate, Parameters};
use slice::slice_step;

/// Standard deviation of the chains' starting points, in η.
const DISPERSION: f64 = 0.7;
/// Width of the first slices.
const WIDTH: f64 = 0.5;
/// Weight of the last move in the running mean that sets a width, during warm-up.
const LEARNING: f64 = 0.1;
/// Width of a slice in mean moves.
const WIDTH_IN_MOVES: f64 = 2.5;

/// Settings of the sampler for two classifiers; `delta_prior` may be pooled or uniform.
#[derive(Debug, Clone, PartialEq)]
pub struct Gibbs {
    /// The prior of δ.
    pub delta_prior: DeltaPrior,
    /// The resolution of the outputs; 0 for exact outputs.
    pub resolution: f64,
    /// Number of chains.
    pub chains: usize,
    /// Draws discarded at the start of each chain.
    pub warmup: usize,
    /// Draws kept of each chain.
    pub draws: usize,
    /// Seed of the random numbers.
    pub seed: u64,
}

/// One draw of the parameters of both classifiers.
#[derive(Debug, Clone, PartialEq)]
pub struct Draw {
    /// `alpha[k][j]` of classifier k and true class j.
    pub alpha: Alpha,
    /// `delta[j]` of true class j.
    pub delta: Vec<Vec<f64>>,
}

/// Draws of all chains, chain by chain.
#[derive(Debug, Clone, PartialEq)]
pub struct GibbsDraws {
    n_chains: usize,
    draws: Vec<Draw>,
}

impl GibbsDraws {
    /// Posterior mean, standard deviation and diagnostics of a quantity.
    pub fn summary(&self, quantity: impl Fn(&Draw) -> f64) -> ([f64; 2], Diagnostics) {
        let values: Vec<f64> = self.draws.iter().map(quantity).collect();
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
        ([mean, variance.sqrt()], Diagnostics::of(&values, self.n_chains))
    }
}

impl Gibbs {
    /// Draws δ given α.
    pub fn sample_delta(&self, outputs: &Outputs, alpha: &Alpha) -> Result<GibbsDraws> {
        self.sample(outputs, alpha, None)
    }

    /// Draws α and δ together. The prior of α is that of the independent model, with the weight of `prior_items` items; `alpha` is
    /// the start.
    pub fn sample_joint(
        &self,
        outputs: &Outputs,
        alpha: &Alpha,
        prior_items: f64,
    ) -> Result<GibbsDraws> {
        self.sample(outputs, alpha, Some(prior_items))
    }

    fn sample(
        &self,
        outputs: &Outputs,
        alpha: &Alpha,
        prior_items: Option<f64>,
    ) -> Result<GibbsDraws> {
        let classes = pairs_by_class(outputs)?;
        let priors = prior_items.map(|items| [0, 1].map(|k| AlphaPrior::new(&classes, k, items)));
        let start = Start { classes: &classes, alpha, priors };
        let chains: Vec<Vec<Draw>> = (0..self.chains)
            .into_par_iter()
            .map(|number| {
                let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
                rng.set_stream(number as u64);
                let mut chain = Chain::start(self, &start, &mut rng);
                (0..self.warmup).for_each(|_| chain.sweep(true, &mut rng));
                let mut draw = || {
                    chain.sweep(false, &mut rng);
                    chain.draw()
                };
                (0..self.draws).map(|_| draw()).collect()
            })
            .collect();
        Ok(GibbsDraws { n_chains: self.chains, draws: chains.concat() })
    }
}

/// Logarithms of both outputs of one item.
type LnPair = [Vec<f64>; 2];

/// The items of every class, all of which must have both outputs.
fn pairs_by_class(outputs: &Outputs) -> Result<Vec<Vec<LnPair>>> {
    let mut classes = vec![Vec::new(); outputs.schema().n_classes()];
    for (item, label) in outputs.require_labels()?.into_iter().enumerate() {
        let ln = |k: usize| -> Vec<f64> {
            let output = outputs.output(item, k).expect("items have both outputs");
            output.iter().map(|x| x.ln()).collect()
        };
        classes[label].push([ln(0), ln(1)]);
    }
    Ok(classes)
}

/// Data, starting point, and the priors of α where it is learned.
struct Start<'a> {
    classes: &'a [Vec<LnPair>],
    alpha: &'a Alpha,
    priors: Option<[AlphaPrior; 2]>,
}

/// One chain.
struct Chain {
    prior: DeltaPrior,
    classes: Vec<ClassState>,
    coordinates: Vec<Coordinate>,
    /// Widths of the slices, by class and coordinate.
    widths: Vec<Vec<f64>>,
    mu: f64,
}

impl Chain {
    fn start<R: Rng + ?Sized>(settings: &Gibbs, start: &Start<'_>, rng: &mut R) -> Self {
        let width = start.classes.len();
        let mut coordinates: Vec<Coordinate> = (0..width).map(Coordinate::Eta).collect();
        if start.priors.is_some() {
            for k in 0..2 {
                coordinates.extend((0..width).map(|l| Coordinate::LnAlpha(k, l)));
                coordinates.push(Coordinate::Level(k));
            }
        }
        let mut class = |(j, items): (usize, &Vec<LnPair>)| {
            let ln_alpha = [0, 1].map(|k| start.alpha[k][j].iter().map(|a| a.ln()).collect());
            let eta = (0..width).map(|_| {
                let normal: f64 = StandardNormal.sample(rng);
                DISPERSION * normal
            });
            let parameters = Parameters { ln_alpha, eta: eta.collect() };
            ClassState::new(items, parameters, start.priors.clone(), settings.resolution)
        };
        let classes: Vec<ClassState> = start.classes.iter().enumerate().map(&mut class).collect();
        let widths = vec![vec![WIDTH; coordinates.len()]; classes.len()];
        Self { prior: settings.delta_prior, classes, coordinates, widths, mu: 0.0 }
    }

    fn sweep<R: Rng + ?Sized>(&mut self, adapt: bool, rng: &mut R) {
        let (prior, mu) = (self.prior, self.mu);
        let ln_prior = |parameters: &Parameters| -> f64 {
            parameters.eta.iter().map(|eta| ln_prior_of_eta(prior, *eta, mu)).sum()
        };
        for (class, widths) in self.classes.iter_mut().zip(&mut self.widths) {
            class.move_hidden(rng);
            for (at, width) in self.coordinates.iter().zip(widths) {
                let before = class.parameters.get(*at);
                class.move_with_hidden(*at, *width, &ln_prior, rng);
                if adapt {
                    let moved = (class.parameters.get(*at) - before).abs();
                    *width += LEARNING * (WIDTH_IN_MOVES * moved - *width);
                }
                class.move_alone(*at, *width, &ln_prior, rng);
            }
        }
        self.move_mu(rng);
    }

    /// Draws μ, the mean of all η under the pooled prior.
    fn move_mu<R: Rng + ?Sized>(&mut self, rng: &mut R) {
        if self.prior != DeltaPrior::Pooled {
            return;
        }
        let etas: Vec<f64> = self.classes.iter().flat_map(|c| c.parameters.eta.clone()).collect();
        let n = etas.len() as f64;
        let mean = etas.iter().sum::<f64>() / n;
        let ln_density = |mu: f64| ln_logistic(mu) - 0.5 * n * (mu - mean).powi(2);
        self.mu = slice_step(self.mu, 3.0 / n.sqrt(), ln_density, rng);
    }

    fn draw(&self) -> Draw {
        let alpha = |k: usize, class: &ClassState| -> Vec<f64> {
            class.parameters.ln_alpha[k].iter().map(|theta| theta.exp()).collect()
        };
        Draw {
            alpha: (0..2).map(|k| self.classes.iter().map(|c| alpha(k, c)).collect()).collect(),
            delta: self.classes.iter().map(|class| class.parameters.delta()).collect(),
        }
    }
}

/// ln of the logistic density, that of the logit of a uniform number.
fn ln_logistic(x: f64) -> f64 {
    -x.abs() - 2.0 * (-x.abs()).exp().ln_1p()
}

/// The log prior of one η = logit(δ/b): N(μ, 1), or δ uniform up to b.
fn ln_prior_of_eta(prior: DeltaPrior, eta: f64, mu: f64) -> f64 {
    match prior {
        DeltaPrior::Pooled => -0.5 * (eta - mu).powi(2),
        DeltaPrior::Uniform => ln_logistic(eta),
        DeltaPrior::Paper => panic!("the check covers the pooled and the uniform prior"),
    }
}
