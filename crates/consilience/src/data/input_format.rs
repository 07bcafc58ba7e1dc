//! The door: raw numbers of a table become probabilities, or are refused.

use serde::{Deserialize, Serialize};

use crate::error::{Error, OutputProblem, Result};
use crate::math::row_sums::Plain;
use crate::math::transpose::LANES;
use consilience_numerics::simplex;

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
pub struct InputFormat {
    /// What the raw values are.
    pub kind: ValueKind,
    /// Probabilities below it are raised to it and the output renormalised; in [0, 1/J).
    pub floor: f64,
}

impl Default for InputFormat {
    fn default() -> Self {
        Self { kind: ValueKind::Probabilities, floor: DEFAULT_FLOOR }
    }
}

impl InputFormat {
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

    /// The same for one output after the other, `n_classes` values each, from `raw` into `values`.
    /// `tell` hears, by the output's place, of every one but those that need no more than
    /// renormalising, and may stop.
    pub(crate) fn admit_each(
        &self,
        raw: &[f64],
        values: &mut [f64],
        n_classes: usize,
        mut tell: impl FnMut(usize, Admitted) -> Result<()>,
    ) -> Result<()> {
        // What is above this is above the floor after renormalising; nothing above 1 leaves the
        // sum at 1.
        let least = self.floor * (1.0 + 2.0 * SUM_TOLERANCE);
        let plain = (self.kind == ValueKind::Probabilities)
            .then_some(Plain { least, tolerance: SUM_TOLERANCE });
        let mut done = 0;
        while done < values.len() {
            let (raw, values) = (&raw[done..], &mut values[done..]);
            let fast = plain.map_or(0, |plain| n_classes * plain.divide(raw, values, n_classes));
            let place = (done + fast) / n_classes;
            // Where one of a group stops the fast way, the group goes one by one.
            let end = (fast + LANES * n_classes).min(raw.len());
            values[fast..end].copy_from_slice(&raw[fast..end]);
            for (i, output) in values[fast..end].chunks_exact_mut(n_classes).enumerate() {
                if !plain.is_some_and(|plain| plain.divide_one(output)) {
                    tell(place + i, self.admit(output))?;
                }
            }
            done += end;
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
