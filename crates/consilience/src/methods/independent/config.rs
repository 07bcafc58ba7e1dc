//! Settings of the independent model's fit.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::methods::{MethodOption, SEED};
use crate::sampling::ChainSettings;

/// The prior of α before a class's outputs are seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AlphaPrior {
    /// The Dirichlet's conjugate prior: [`Independent::prior_items`] imagined outputs whose mean
    /// logarithm is the classifier's over all classes. It regularises a class with few or constant
    /// outputs.
    #[default]
    Pooled,
    /// The paper's: Gamma(shape 0.001, rate 0.001) on every element.
    Paper,
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

/// Largest weight of the pooled prior, far above any number of items: beyond, the classes' own outputs
/// are lost in rounding.
const MOST_PRIOR_ITEMS: f64 = 1e9;

/// Options of the Dirichlets' prior; `correlated` has the same ones.
pub(crate) const ALPHA_PRIOR: MethodOption =
    MethodOption::new("alpha_prior", "pooled or paper", "Prior of the Dirichlets.").with_choices(
        &[
            ("pooled", "Conjugate: imagined items like the classifier's average over all classes."),
            ("paper", "Gamma(0.001, 0.001) on every element, as in the paper."),
        ],
    );
pub(crate) const PRIOR_ITEMS: MethodOption = MethodOption::new(
    "prior_items",
    "a number above 0, at most 1e9",
    "Weight of the pooled prior, as a number of items.",
);

/// Options of the chains; `correlated` has the same ones.
pub(crate) const CHAINS: MethodOption =
    MethodOption::new("chains", "a whole number from 1 to 1000", "Markov chains.");
pub(crate) const DRAWS: MethodOption =
    MethodOption::new("draws", "a whole number from 4 to 1 000 000", "Draws per chain.");
pub(crate) const WARMUP: MethodOption = MethodOption::new(
    "warmup",
    "a whole number up to 1 000 000",
    "Draws discarded at the start of each chain.",
);
pub(crate) const KEEP_DRAWS: MethodOption = MethodOption::new(
    "keep_draws",
    "a whole number up to chains × draws",
    "Posterior draws to keep in the model for predictive fusion.",
);

pub(super) const OPTIONS: &[MethodOption] = &[
    ALPHA_PRIOR,
    PRIOR_ITEMS,
    MethodOption::new(
        "inference",
        "posterior or map",
        "Whether the posterior or only its mode is computed.",
    )
    .with_choices(&[
        ("posterior", "Draws from the posterior; the estimate is its mean."),
        ("map", "The posterior mode: fast, without uncertainty."),
    ]),
    CHAINS,
    DRAWS,
    WARMUP,
    KEEP_DRAWS,
    SEED,
];

/// Options of `independent`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Independent {
    /// The prior of α; pooled by default.
    pub alpha_prior: AlphaPrior,
    /// Weight of the pooled prior as a number of items, > 0 and at most 1e9; 2 by default.
    pub prior_items: f64,
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
            prior_items: 2.0,
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
        if !(self.prior_items > 0.0 && self.prior_items <= MOST_PRIOR_ITEMS) {
            return Err(Error::parameter("prior_items", "> 0 and at most 1e9", self.prior_items));
        }
        for (name, value, range, requirement) in [
            ("chains", self.chains, 1..=1000, "from 1 to 1000"),
            ("draws", self.draws, 4..=1_000_000, "from 4 to 1 000 000"),
            ("warmup", self.warmup, 0..=1_000_000, "at most 1 000 000"),
        ] {
            if !range.contains(&value) {
                return Err(Error::parameter(name, requirement, value));
            }
        }
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
