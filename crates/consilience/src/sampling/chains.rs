//! Several Markov chains of one target, each with its own random stream.

use super::constants::ADAPTATIONS;
use super::hmc::Hmc;
use super::{Mode, Target};
use crate::error::Result;
use crate::math::random::stream;
use crate::progress::Progress;

/// Number and length of the chains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(clippy::struct_field_names, reason = "counts are named n_… in the whole workspace")]
pub(crate) struct ChainSettings {
    /// Number of independent chains.
    pub(crate) n_chains: usize,
    /// Draws discarded at the start of each chain.
    pub(crate) n_warmup: usize,
    /// Draws kept of each chain.
    pub(crate) n_draws: usize,
}

impl Default for ChainSettings {
    fn default() -> Self {
        Self { n_chains: 4, n_warmup: 100, n_draws: 1000 }
    }
}

/// The draws of several chains, ordered by chain, then draw; each draw has d numbers.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Draws {
    dimension: usize,
    n_chains: usize,
    values: Vec<f64>,
    acceptance: f64,
}

impl Draws {
    /// Collects chains of equal length, with their mean share of accepted proposals.
    pub(crate) fn from_chains(chains: Vec<Vec<Vec<f64>>>, acceptance: f64) -> Self {
        let n_chains = chains.len();
        let dimension = chains.first().and_then(|chain| chain.first()).map_or(1, Vec::len);
        let values = chains.into_iter().flatten().flatten().collect();
        Self { dimension, n_chains, values, acceptance }
    }

    /// Number of chains.
    pub(crate) fn n_chains(&self) -> usize {
        self.n_chains
    }

    /// Number of draws of all chains together.
    pub(crate) fn len(&self) -> usize {
        self.values.len() / self.dimension
    }

    /// Mean share of accepted proposals.
    pub(crate) fn acceptance(&self) -> f64 {
        self.acceptance
    }

    /// One draw.
    pub(crate) fn draw(&self, index: usize) -> &[f64] {
        &self.values[index * self.dimension..(index + 1) * self.dimension]
    }

    /// All draws of one coordinate, chain by chain.
    pub(crate) fn coordinate(&self, coordinate: usize) -> Vec<f64> {
        self.values.iter().skip(coordinate).step_by(self.dimension).copied().collect()
    }

    /// The draws with the given indices, the same number from each chain and ordered by chain. A draw
    /// may be repeated.
    pub(crate) fn chosen(&self, indices: &[usize], acceptance: f64) -> Self {
        let values = indices.iter().flat_map(|&i| self.draw(i)).copied().collect();
        Self { dimension: self.dimension, n_chains: self.n_chains, values, acceptance }
    }

    /// Applies a function to every draw. All results must have the same length.
    pub(crate) fn mapped(&self, f: impl Fn(&[f64]) -> Vec<f64>) -> Self {
        let values: Vec<f64> = (0..self.len()).flat_map(|i| f(self.draw(i))).collect();
        let dimension = values.len() / self.len().max(1);
        Self { dimension, n_chains: self.n_chains, values, acceptance: self.acceptance }
    }

    /// Applies a function to every number, for example `exp` after sampling logarithms.
    pub(crate) fn transform(&mut self, f: impl Fn(f64) -> f64) {
        self.values.iter_mut().for_each(|value| *value = f(*value));
    }
}

/// Runs all chains one after the other; chain c uses random stream `first_stream + c`. Cancellation
/// is checked at every draw.
pub(crate) fn sample(
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
        let mut rng = stream(seed, first_stream + chain as u64);
        let mut walker = Hmc::start(target, mode, &mut rng);
        for _ in 0..ADAPTATIONS {
            for _ in 0..settings.n_warmup.div_ceil(ADAPTATIONS) {
                progress.check()?;
                walker.advance(&mut rng);
            }
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
