//! Settings of the independent model's fit.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::sampling::ChainSettings;

/// What is believed of α before seeing a class's outputs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum AlphaPrior {
    /// The Dirichlet's conjugate prior: `items` imagined outputs whose mean logarithm is the
    /// classifier's over all classes. It keeps a class with few or constant outputs sane.
    Pooled {
        /// What the prior is worth in items, > 0.
        items: f64,
    },
    /// The paper's: Gamma(shape 0.001, rate 0.001) on every element.
    Paper,
}

impl Default for AlphaPrior {
    fn default() -> Self {
        Self::Pooled { items: 2.0 }
    }
}

/// How the posterior is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Inference {
    /// Draws from the full posterior; the point estimate is its mean.
    #[default]
    Posterior,
    /// Its mode, by Newton's method; no measure of uncertainty.
    Map,
}

/// Settings of [`Independent::fit`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Independent {
    /// The prior of α; pooled with 2 items by default.
    pub alpha_prior: AlphaPrior,
    /// Full posterior (default) or its mode.
    pub inference: Inference,
    /// Chains, 1 to 1000; 4 by default.
    pub chains: usize,
    /// Draws kept of each chain, 4 to a million; 1000 by default.
    pub draws: usize,
    /// Draws discarded at the start of each chain; 100 by default.
    pub warmup: usize,
    /// Posterior draws kept in the model, for predictive fusion; none by default.
    pub keep_draws: usize,
    /// Seed of the random numbers.
    pub seed: u64,
}

impl Default for Independent {
    fn default() -> Self {
        let ChainSettings { n_chains, n_warmup, n_draws } = ChainSettings::default();
        Self {
            alpha_prior: AlphaPrior::default(),
            inference: Inference::default(),
            chains: n_chains,
            draws: n_draws,
            warmup: n_warmup,
            keep_draws: 0,
            seed: 0,
        }
    }
}

impl Independent {
    /// Refuses settings out of range.
    pub fn check(&self) -> Result<()> {
        if let AlphaPrior::Pooled { items } = self.alpha_prior
            && !(items > 0.0 && items.is_finite())
        {
            return Err(Error::parameter("prior items", "finite and > 0", items));
        }
        check_chains(&ChainSettings {
            n_chains: self.chains,
            n_warmup: self.warmup,
            n_draws: self.draws,
        })?;
        let available = self.chains.saturating_mul(self.draws);
        if self.keep_draws > 0 && self.inference == Inference::Map {
            return Err(Error::parameter(
                "kept draws",
                "0 with `map`, which draws none",
                self.keep_draws,
            ));
        }
        if self.keep_draws > available {
            return Err(Error::parameter("kept draws", "at most chains × draws", self.keep_draws));
        }
        Ok(())
    }

    pub(super) fn chain_settings(&self) -> ChainSettings {
        ChainSettings { n_chains: self.chains, n_warmup: self.warmup, n_draws: self.draws }
    }
}

/// Refuses numbers of chains and draws that no fit needs.
pub(crate) fn check_chains(settings: &ChainSettings) -> Result<()> {
    for (name, value, range, requirement) in [
        ("chains", settings.n_chains, 1..=1000, "from 1 to 1000"),
        ("draws", settings.n_draws, 4..=1_000_000, "from 4 to 1 000 000"),
        ("warmup", settings.n_warmup, 0..=1_000_000, "at most 1 000 000"),
    ] {
        if !range.contains(&value) {
            return Err(Error::parameter(name, requirement, value));
        }
    }
    Ok(())
}
