//! Settings of the fit.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::methods::MethodOption;

const NUMBER_OF_ITEMS: &str = "a number from 1e-6 to 1e9";

/// Weight of the prior covariance; `normal-mixture` has the same option.
pub(crate) const COVARIANCE_ITEMS: MethodOption = MethodOption::new(
    "covariance_items",
    NUMBER_OF_ITEMS,
    "Weight of the prior covariance, as a number of items.",
);

/// Weight of the prior mean; `normal-mixture` has the same option.
pub(crate) const MEAN_ITEMS: MethodOption = MethodOption::new(
    "mean_items",
    NUMBER_OF_ITEMS,
    "Weight of the prior mean, as a number of items.",
);

pub(super) const OPTIONS: &[MethodOption] = &[COVARIANCE_ITEMS, MEAN_ITEMS];

/// Options of `logit-normal`: a normal-inverse-Wishart prior, the same for all
/// classes, whose mean and covariance are taken from all items.
///
/// The prior's mean is the mean of the class means; its expected covariance that within classes,
/// half of it as it is and half the same in all directions without any correlation, so that it is
/// proper with a single item per class and with classifiers that are copies of each other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LogitNormal {
    /// Weight of the prior covariance, as a number of items; 40 by default.
    pub covariance_items: f64,
    /// Weight of the prior mean, as a number of items; 1 by default.
    pub mean_items: f64,
}

impl Default for LogitNormal {
    fn default() -> Self {
        Self { covariance_items: 40.0, mean_items: 1.0 }
    }
}

impl LogitNormal {
    /// Refuses settings out of range.
    pub fn check(&self) -> Result<()> {
        for (name, value) in
            [("covariance_items", self.covariance_items), ("mean_items", self.mean_items)]
        {
            if !(1e-6..=1e9).contains(&value) {
                return Err(Error::parameter(name, "from 1e-6 to 1e9", value));
            }
        }
        Ok(())
    }
}
