//! Several chains of one target, each with its own random stream.

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;

use super::hmc::Hmc;
use super::{Mode, Target};
use crate::error::Result;
use crate::progress::Progress;

/// How many chains of what length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChainSettings {
    /// Independent chains.
    pub n_chains: usize,
    /// Draws discarded at the start of each.
    pub n_warmup: usize,
    /// Draws kept of each.
    pub n_draws: usize,
}

impl Default for ChainSettings {
    fn default() -> Self {
        Self { n_chains: 4, n_warmup: 100, n_draws: 1000 }
    }
}

/// The draws of several chains: chain by chain, draw by draw, d numbers each.
#[derive(Debug, Clone, PartialEq)]
pub struct Draws {
    dimension: usize,
    n_chains: usize,
    values: Vec<f64>,
    acceptance: f64,
}

impl Draws {
    /// Of chains drawn elsewhere, all of the same length, with the share of accepted proposals.
    pub(crate) fn from_chains(chains: Vec<Vec<Vec<f64>>>, acceptance: f64) -> Self {
        let n_chains = chains.len();
        let dimension = chains.first().and_then(|chain| chain.first()).map_or(1, Vec::len);
        let values = chains.into_iter().flatten().flatten().collect();
        Self { dimension, n_chains, values, acceptance }
    }

    /// Number of chains.
    pub fn n_chains(&self) -> usize {
        self.n_chains
    }

    /// Draws of all chains together.
    pub fn len(&self) -> usize {
        self.values.len() / self.dimension
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Mean share of accepted proposals.
    pub fn acceptance(&self) -> f64 {
        self.acceptance
    }

    /// One draw.
    pub fn draw(&self, index: usize) -> &[f64] {
        &self.values[index * self.dimension..(index + 1) * self.dimension]
    }

    /// All draws of one coordinate, chain by chain.
    pub fn coordinate(&self, coordinate: usize) -> Vec<f64> {
        self.values.iter().skip(coordinate).step_by(self.dimension).copied().collect()
    }

    /// Some of the draws, as many of each chain, in chain order; a draw may come again.
    pub(crate) fn chosen(&self, indices: &[usize], acceptance: f64) -> Self {
        let values = indices.iter().flat_map(|&i| self.draw(i)).copied().collect();
        Self { dimension: self.dimension, n_chains: self.n_chains, values, acceptance }
    }

    /// What a function makes of every draw, as many numbers of each.
    pub(crate) fn mapped(&self, f: impl Fn(&[f64]) -> Vec<f64>) -> Self {
        let values: Vec<f64> = (0..self.len()).flat_map(|i| f(self.draw(i))).collect();
        let dimension = values.len() / self.len().max(1);
        Self { dimension, n_chains: self.n_chains, values, acceptance: self.acceptance }
    }

    /// Applies a function to every number, for example `exp` after sampling logarithms.
    pub fn transform(&mut self, f: impl Fn(f64) -> f64) {
        self.values.iter_mut().for_each(|value| *value = f(*value));
    }
}

/// Warm-up is cut into this many stretches; after each the step may shrink.
const ADAPTATIONS: usize = 5;

/// Runs all chains, one after the other; chain c uses random stream `first_stream + c`. Whoever
/// watches may stop them at any draw.
pub fn sample(
    target: &impl Target,
    mode: &Mode,
    settings: &ChainSettings,
    seed: u64,
    first_stream: u64,
    progress: &dyn Progress,
) -> Result<Draws> {
    let dimension = target.dimension();
    let mut values = Vec::with_capacity(settings.n_chains * settings.n_draws * dimension);
    let mut acceptance = 0.0;
    for chain in 0..settings.n_chains {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(first_stream + chain as u64);
        let mut walker = Hmc::start(target, mode, &mut rng);
        for _ in 0..ADAPTATIONS {
            progress.check()?;
            (0..settings.n_warmup.div_ceil(ADAPTATIONS)).for_each(|_| walker.advance(&mut rng));
            walker.adapt();
        }
        for _ in 0..settings.n_draws {
            progress.check()?;
            walker.advance(&mut rng);
            values.extend_from_slice(walker.point());
        }
        acceptance += walker.acceptance() / settings.n_chains as f64;
    }
    Ok(Draws { dimension, n_chains: settings.n_chains, values, acceptance })
}
