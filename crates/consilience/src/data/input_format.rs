//! Conversion of raw values (probabilities, logarithms, logits, odds) to checked probabilities.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, OutputProblem, Result};
use crate::math::row_sums::Plain;
use crate::math::transpose::LANES;
use consilience_numerics::simplex;

/// Largest deviation of an output's sum from 1; within it the output is renormalised.
pub const SUM_TOLERANCE: f64 = 1e-6;

/// Default of [`InputFormat::floor`], chosen by measurements on real data sets (see the guide).
pub const DEFAULT_FLOOR: f64 = 1e-6;

/// One classifier's output for one item after its conversion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Converted {
    /// All values were NaN.
    Missing,
    /// The values are probabilities now.
    Present {
        /// Number of probabilities that were raised to the floor.
        n_raised: usize,
    },
}

/// Why the values of one classifier for one item are not an output.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rejected {
    /// Index of the class whose value is wrong, where a single one is.
    pub(crate) class: Option<usize>,
    /// What is wrong.
    pub(crate) problem: OutputProblem,
}

/// The kind of the values in a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ValueKind {
    /// Probabilities that add up to 1.
    #[default]
    Probabilities,
    /// Natural logarithms of probabilities that add up to 1; −∞ stands for probability 0.
    LogProbabilities,
    /// Finite scores, converted to probabilities by softmax.
    Logits,
    /// Decimal odds, at least 1; their reciprocals are normalised.
    Odds,
}

impl FromStr for ValueKind {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "probabilities" => Ok(Self::Probabilities),
            "log-probabilities" => Ok(Self::LogProbabilities),
            "logits" => Ok(Self::Logits),
            "odds" => Ok(Self::Odds),
            _ => Err(Error::parameter(
                "values",
                "probabilities, log-probabilities, logits or odds",
                text,
            )),
        }
    }
}

/// The kind of the raw values and the smallest probability that is kept.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct InputFormat {
    /// The kind of the raw values.
    pub kind: ValueKind,
    /// Smaller probabilities are raised to the floor and the output is renormalised; at least 0
    /// and below 1 / number of classes.
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

    /// Converts one classifier's raw values to probabilities in place; an output whose values are
    /// all NaN is missing.
    pub(crate) fn convert(&self, values: &mut [f64]) -> Result<Converted, Rejected> {
        let rejected = |class, problem| Rejected { class, problem };
        if let Some(first) = values.iter().position(|value| value.is_nan()) {
            let all = values.iter().all(|value| value.is_nan());
            return if all {
                Ok(Converted::Missing)
            } else {
                Err(rejected(Some(first), OutputProblem::PartlyMissing))
            };
        }
        for (class, value) in values.iter().enumerate() {
            self.check_value(*value).map_err(|problem| rejected(Some(class), problem))?;
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
            return Err(rejected(None, OutputProblem::WrongSum(sum)));
        }
        if sum != 1.0 {
            values.iter_mut().for_each(|value| *value /= sum);
        }
        Ok(Converted::Present { n_raised: simplex::raise_to_floor(values, self.floor) })
    }

    /// Converts many outputs of `n_classes` values each from `raw` into `values`. `report` gets
    /// the index and the result of every output except those that were only renormalised; its
    /// error stops the conversion.
    pub(crate) fn convert_all(
        &self,
        raw: &[f64],
        values: &mut [f64],
        n_classes: usize,
        mut report: impl FnMut(usize, Result<Converted, Rejected>) -> Result<()>,
    ) -> Result<()> {
        // A value of at least `least` is at least the floor after renormalising, and an output of
        // such values that adds up to 1 has none above 1.
        let least = self.floor * (1.0 + 2.0 * SUM_TOLERANCE);
        let plain = (self.kind == ValueKind::Probabilities)
            .then_some(Plain { least, tolerance: SUM_TOLERANCE });
        let mut done = 0;
        while done < values.len() {
            let (raw, values) = (&raw[done..], &mut values[done..]);
            let fast = plain.map_or(0, |plain| n_classes * plain.divide(raw, values, n_classes));
            let first = (done + fast) / n_classes;
            // The group of outputs in which the fast way stopped is converted one by one.
            let end = (fast + LANES * n_classes).min(raw.len());
            values[fast..end].copy_from_slice(&raw[fast..end]);
            for (i, output) in values[fast..end].chunks_exact_mut(n_classes).enumerate() {
                if !plain.is_some_and(|plain| plain.divide_one(output)) {
                    report(first + i, self.convert(output))?;
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
