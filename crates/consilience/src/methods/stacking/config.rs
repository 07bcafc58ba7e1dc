//! Settings of stacking's fit.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// How strongly the weights are held near 0.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Ridge {
    /// Every weight of a standardised logarithm is N(0, sd²) beforehand.
    Sd(f64),
    /// The sd of 0.1, 0.3, 1, 3 and 10 with the smallest log-loss in five-fold cross-validation.
    CrossValidated,
}

impl Default for Ridge {
    fn default() -> Self {
        Self::Sd(1.0)
    }
}

impl FromStr for Ridge {
    type Err = Error;

    /// `cv` or a standard deviation.
    fn from_str(text: &str) -> Result<Self> {
        match (text, text.parse()) {
            ("cv", _) => Ok(Self::CrossValidated),
            (_, Ok(sd)) => Ok(Self::Sd(sd)),
            _ => Err(Error::parameter("ridge", "cv or a standard deviation", text)),
        }
    }
}

/// How the training items' class frequencies are kept out of the result, so that any class prior
/// can be applied afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClassBalance {
    /// The logarithm of the class's frequency is added in training and left out in prediction.
    #[default]
    Offset,
    /// Every class counts the same in training, whatever its number of items. Equal at natural
    /// frequencies; worse where a class is rare, because its few items then count for many.
    Weights,
}

/// Settings of [`Stacking::fit`].
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Stacking {
    /// The prior of the weights; sd 1 by default.
    pub ridge: Ridge,
    /// How class frequencies are dealt with; by an offset by default.
    pub balance: ClassBalance,
    /// Seed of the folds in which the ridge is chosen.
    pub seed: u64,
}

impl Stacking {
    /// Refuses settings out of range.
    pub fn check(&self) -> Result<()> {
        match self.ridge {
            Ridge::Sd(sd) if !(1e-6..=1e6).contains(&sd) => {
                Err(Error::parameter("ridge", "from 1e-6 to 1e6", sd))
            }
            _ => Ok(()),
        }
    }
}
