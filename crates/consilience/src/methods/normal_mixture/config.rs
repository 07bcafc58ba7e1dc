//! Settings of the fit.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::methods::logit_normal::{COVARIANCE_ITEMS, MEAN_ITEMS};
use crate::methods::{MethodOption, SEED};

pub(super) const OPTIONS: &[MethodOption] = &[
    MethodOption::new(
        "components",
        "a whole number from 1 to 1000",
        "Largest number of components per class; superfluous ones stay empty.",
    ),
    MethodOption::new(
        "weight_items",
        "a number from 1e-6 to 1e9",
        "Weight of the prior of the mixture weights, as a number of items for all components together.",
    ),
    COVARIANCE_ITEMS,
    MethodOption::new(
        "covariance_share",
        "a number from 1e-6 to 1e6",
        "Expected covariance of a component as a share of the covariance within classes; chosen \
         by cross-validation among 1, 0.3 and 0.1 if not given.",
    ),
    MEAN_ITEMS,
    MethodOption::new("chains", "a whole number from 1 to 1000", "Markov chains."),
    MethodOption::new("draws", "a whole number from 1 to 10 000", "Draws per chain."),
    MethodOption::new(
        "warmup",
        "a whole number up to 1 000 000",
        "Draws discarded at the start of each chain.",
    ),
    MethodOption::new(
        "every",
        "a whole number from 1 to 10 000",
        "Thinning: one draw out of this many is kept.",
    ),
    SEED,
];

/// Options of `normal-mixture`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NormalMixture {
    /// Largest number of components per class; superfluous ones stay empty. 10 by default.
    pub components: usize,
    /// Weight of the prior of the components' weights, as a number of items for all components
    /// together; 1 by default, which leaves superfluous components empty.
    pub weight_items: f64,
    /// Weight of the prior covariance of a component, as a number of items; 40 by default.
    pub covariance_items: f64,
    /// The expected covariance of a component beforehand, as a share of that within classes. By
    /// default 1, 0.3 or 0.1, whichever has the smallest log-loss in two-fold cross-validation: a
    /// class with several clusters needs components smaller than itself.
    pub covariance_share: Option<f64>,
    /// Weight of the prior mean of a component, as a number of items; 1 by default.
    pub mean_items: f64,
    /// Independent chains per class; 4 by default.
    pub chains: usize,
    /// Draws discarded at the start of each chain; 50 by default.
    pub warmup: usize,
    /// Draws of each chain that are kept; 4 by default.
    pub draws: usize,
    /// Thinning: one draw out of this many is kept; 5 by default.
    pub every: usize,
    /// Seed of the chains.
    pub seed: u64,
}

impl Default for NormalMixture {
    fn default() -> Self {
        Self {
            components: 10,
            weight_items: 1.0,
            covariance_items: 40.0,
            covariance_share: None,
            mean_items: 1.0,
            chains: 4,
            warmup: 50,
            draws: 4,
            every: 5,
            seed: 0,
        }
    }
}

impl NormalMixture {
    /// Refuses settings out of range.
    pub fn check(&self) -> Result<()> {
        for (name, value) in [
            ("weight_items", self.weight_items),
            ("covariance_items", self.covariance_items),
            ("mean_items", self.mean_items),
        ] {
            if !(1e-6..=1e9).contains(&value) {
                return Err(Error::parameter(name, "from 1e-6 to 1e9", value));
            }
        }
        if let Some(share) = self.covariance_share
            && !(1e-6..=1e6).contains(&share)
        {
            return Err(Error::parameter("covariance_share", "from 1e-6 to 1e6", share));
        }
        for (name, value, most) in [
            ("components", self.components, 1000),
            ("chains", self.chains, 1000),
            ("draws", self.draws, 10_000),
            ("every", self.every, 10_000),
        ] {
            if !(1..=most).contains(&value) {
                return Err(Error::parameter(name, "at least 1, and not huge", value));
            }
        }
        if self.warmup > 1_000_000 {
            return Err(Error::parameter("warmup", "at most a million", self.warmup));
        }
        Ok(())
    }
}
