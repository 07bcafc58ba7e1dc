//! The door: raw numbers of a table become probabilities, or are refused.

use serde::{Deserialize, Serialize};

use crate::error::{Error, OutputProblem, Result};
use crate::math::simplex;

/// How many values of an output were raised to the floor, `None` where it is missing; or which
/// class (if a single one) is wrong, and how.
pub type Admitted = Result<Option<usize>, (Option<usize>, OutputProblem)>;

/// An output may miss a sum of 1 by this much and is then renormalised.
pub const SUM_TOLERANCE: f64 = 1e-6;

/// Smaller probabilities are raised to this by default (measured over real sets; see the guide).
pub const DEFAULT_FLOOR: f64 = 1e-6;

/// What the numbers of a table are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ValueKind {
    /// Probabilities that add up to 1.
    #[default]
    Probabilities,
    /// Natural logarithms of such probabilities; −∞ is probability 0.
    LogProbabilities,
    /// Any finite scores, turned into probabilities by softmax.
    Logits,
    /// Decimal odds: reciprocals, normalised.
    Odds,
}

/// How raw values become outputs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Intake {
    /// What the raw values are.
    pub kind: ValueKind,
    /// Probabilities below it are raised to it and the output renormalised; in [0, 1/J).
    pub floor: f64,
}

impl Default for Intake {
    fn default() -> Self {
        Self { kind: ValueKind::Probabilities, floor: DEFAULT_FLOOR }
    }
}

impl Intake {
    /// Checks the floor against the number of classes.
    pub fn check(&self, n_classes: usize) -> Result<()> {
        if !(self.floor >= 0.0 && self.floor * (n_classes as f64) < 1.0) {
            return Err(Error::parameter(
                "floor",
                "at least 0 and below 1 / number of classes",
                self.floor,
            ));
        }
        Ok(())
    }

    /// Turns one classifier's raw values into probabilities in place; returns how many were
    /// raised to the floor, or `None` where the output is missing (all NaN).
    pub fn admit(&self, values: &mut [f64]) -> Admitted {
        if let Some(first) = values.iter().position(|value| value.is_nan()) {
            let all = values.iter().all(|value| value.is_nan());
            return if all { Ok(None) } else { Err((Some(first), OutputProblem::PartlyMissing)) };
        }
        for (class, value) in values.iter().enumerate() {
            self.check_value(*value).map_err(|problem| (Some(class), problem))?;
        }
        match self.kind {
            ValueKind::Probabilities => {}
            ValueKind::LogProbabilities => values.iter_mut().for_each(|value| *value = value.exp()),
            ValueKind::Logits => simplex::softmax(values),
            ValueKind::Odds => {
                values.iter_mut().for_each(|value| *value = value.recip());
                simplex::normalise(values);
            }
        }
        let sum: f64 = values.iter().sum();
        if !((sum - 1.0).abs() <= SUM_TOLERANCE) {
            return Err((None, OutputProblem::WrongSum(sum)));
        }
        if sum != 1.0 {
            values.iter_mut().for_each(|value| *value /= sum);
        }
        Ok(Some(simplex::raise_to_floor(values, self.floor)))
    }

    /// The same for one output after the other, `n_classes` values each. `tell` hears, by the
    /// output's place, of every one but those that need no more than renormalising, and may stop.
    pub(crate) fn admit_each(
        &self,
        values: &mut [f64],
        n_classes: usize,
        tell: impl FnMut(usize, Admitted) -> Result<()>,
    ) -> Result<()> {
        // Known numbers of classes make loops of known length, several times as fast.
        match n_classes {
            2 => self.admit_chunks(values, 2, tell),
            3 => self.admit_chunks(values, 3, tell),
            4 => self.admit_chunks(values, 4, tell),
            n => self.admit_chunks(values, n, tell),
        }
    }

    #[inline(always)]
    fn admit_chunks(
        &self,
        values: &mut [f64],
        n_classes: usize,
        mut tell: impl FnMut(usize, Admitted) -> Result<()>,
    ) -> Result<()> {
        let plain = self.kind == ValueKind::Probabilities;
        // What is above this is above the floor after renormalising.
        let clear = self.floor * (1.0 + 2.0 * SUM_TOLERANCE);
        for (place, output) in values.chunks_exact_mut(n_classes).enumerate() {
            let sum: f64 = output.iter().sum();
            // NaN counts as low, and nothing above 1 leaves the sum at 1. Counting needs no branch.
            let low = output.iter().filter(|value| !(**value >= clear)).count();
            if plain && low == 0 && (sum - 1.0).abs() <= SUM_TOLERANCE {
                output.iter_mut().for_each(|value| *value /= sum);
            } else {
                tell(place, self.admit(output))?;
            }
        }
        Ok(())
    }

    fn check_value(&self, value: f64) -> Result<(), OutputProblem> {
        let log_zero = self.kind == ValueKind::LogProbabilities && value == f64::NEG_INFINITY;
        if value.is_infinite() && !log_zero {
            return Err(OutputProblem::Infinite(value));
        }
        match self.kind {
            ValueKind::Probabilities if value < 0.0 => Err(OutputProblem::Negative(value)),
            ValueKind::Probabilities if value > 1.0 + SUM_TOLERANCE => {
                Err(OutputProblem::AboveOne(value))
            }
            ValueKind::LogProbabilities if value > SUM_TOLERANCE => {
                Err(OutputProblem::AboveOne(value.exp()))
            }
            ValueKind::Odds if value < 1.0 => Err(OutputProblem::OddsBelowOne(value)),
            _ => Ok(()),
        }
    }
}
