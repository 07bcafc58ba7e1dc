//! Settings of stacking's fit.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::{Error, Result};
use crate::methods::{MethodOption, SEED};

/// How strongly the weights are shrunk towards 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Ridge {
    /// Every weight of a standardised logarithm has the prior N(0, sd²).
    Sd(f64),
    /// The standard deviation of 0.1, 0.3, 1, 3 and 10 with the smallest log-loss in five-fold
    /// cross-validation.
    CrossValidated,
}

/// The name of [`Ridge::CrossValidated`] in JSON.
const CROSS_VALIDATED: &str = "cv";

impl Default for Ridge {
    fn default() -> Self {
        Self::Sd(1.0)
    }
}

impl Serialize for Ridge {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Self::Sd(sd) => serializer.serialize_f64(*sd),
            Self::CrossValidated => serializer.serialize_str(CROSS_VALIDATED),
        }
    }
}

impl<'de> Deserialize<'de> for Ridge {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Number(f64),
            Name(String),
        }
        match Form::deserialize(deserializer)? {
            Form::Number(sd) => Ok(Self::Sd(sd)),
            Form::Name(name) if name == CROSS_VALIDATED => Ok(Self::CrossValidated),
            Form::Name(_) => Err(D::Error::custom("expected a number or `cv`")),
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
    /// Every class has the same weight in training, whatever its number of items. It predicts as
    /// well at natural frequencies, and worse where a class is rare, because its few items then have
    /// large weights.
    Weights,
}

pub(super) const OPTIONS: &[MethodOption] = &[
    MethodOption::new(
        "ridge",
        "cv or a number from 1e-6 to 1e6",
        "Prior standard deviation of the weights, or `cv` to choose it by cross-validation.",
    ),
    MethodOption::new(
        "balance",
        "offset or weights",
        "How the frequencies of the classes in the training items are kept out of the result.",
    )
    .with_choices(&[
        ("offset", "Add the log frequency of the class in training and leave it out afterwards."),
        ("weights", "Weight the training items so that every class counts the same."),
    ]),
    SEED,
];

/// Options of `stacking`.
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
