//! Conversion of raw values (probabilities, logarithms, logits, odds) to checked probabilities.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::odds;
use crate::error::{Error, OutputProblem, Result};
use crate::math::row_sums::Plain;
use crate::math::transpose::LANES;
use crate::warning::Warning;
use consilience_numerics::simplex;

/// The rounding of a sum of doubles: outputs of two digits that add up to 0.98 are within 0.02 of 1.
pub(crate) const SUM_ROUNDING: f64 = 1e-12;

/// Default of [`InputFormat::sum_tolerance`]: what rounding to two digits can do to a few classes.
pub const DEFAULT_SUM_TOLERANCE: f64 = 0.02;

/// Deviations of a sum from 1, and negative values, up to this size are errors of arithmetic and not
/// worth a warning.
pub(crate) const ROUNDING: f64 = 1e-6;

/// Default of [`InputFormat::floor`], chosen by measurements on real data sets (see the guide).
pub const DEFAULT_FLOOR: f64 = 1e-6;

/// One classifier's output for one item after its conversion.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Converted {
    /// All values were NaN.
    Missing,
    /// The values are probabilities now.
    Present {
        /// Number of probabilities that were raised to the floor.
        n_raised: usize,
        /// What was unusual about the values.
        doubt: Doubt,
    },
}

/// What was unusual about the values of an output that was accepted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Doubt {
    /// Nothing.
    None,
    /// The sum was off by this much, more than [`ROUNDING`].
    Rounded(f64),
    /// The values look like another kind.
    OtherKind,
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
    /// Decimal odds, at least 1; the margin is removed in proportion: their reciprocals are normalised.
    Odds,
    /// Decimal odds; powers of their reciprocals add up to 1.
    OddsPower,
    /// Decimal odds; the margin is removed by Shin's model of bets by insiders.
    OddsShin,
}

impl FromStr for ValueKind {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "probabilities" => Ok(Self::Probabilities),
            "log-probabilities" => Ok(Self::LogProbabilities),
            "logits" => Ok(Self::Logits),
            "odds" => Ok(Self::Odds),
            "odds-power" => Ok(Self::OddsPower),
            "odds-shin" => Ok(Self::OddsShin),
            _ => Err(Error::parameter(
                "values",
                "probabilities, log-probabilities, logits, odds, odds-power or odds-shin",
                text,
            )),
        }
    }
}

/// The kind of the raw values and how exact they must be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct InputFormat {
    /// The kind of the raw values.
    pub kind: ValueKind,
    /// Smaller probabilities are raised to the floor and the output is renormalised; at least 0
    /// and below 1 / number of classes.
    pub floor: f64,
    /// Largest deviation of an output's sum from 1, at least 0 and below 1; within it the output is
    /// renormalised.
    pub sum_tolerance: f64,
}

impl Default for InputFormat {
    fn default() -> Self {
        Self {
            kind: ValueKind::Probabilities,
            floor: DEFAULT_FLOOR,
            sum_tolerance: DEFAULT_SUM_TOLERANCE,
        }
    }
}

impl InputFormat {
    /// Checks the floor against the number of classes, and the tolerance.
    pub fn check(&self, n_classes: usize) -> Result<()> {
        if !(self.floor >= 0.0 && self.floor * (n_classes as f64) < 1.0) {
            return Err(Error::parameter(
                "floor",
                "at least 0 and below 1 / number of classes",
                self.floor,
            ));
        }
        if !(0.0..1.0).contains(&self.sum_tolerance) {
            let name = "sum_tolerance";
            return Err(Error::parameter(name, "at least 0 and below 1", self.sum_tolerance));
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
            self.check_value(*value).map_err(|problem| match problem {
                OutputProblem::AboveOne(_) if looks_like_percentages(values) => {
                    rejected(None, OutputProblem::Percentages(values.iter().sum()))
                }
                problem => rejected(Some(class), problem),
            })?;
        }
        let other_kind = match self.kind {
            ValueKind::Logits => looks_like_probabilities(values),
            ValueKind::Odds | ValueKind::OddsPower | ValueKind::OddsShin => {
                looks_like_percentages(values)
            }
            ValueKind::Probabilities | ValueKind::LogProbabilities => false,
        };
        match self.kind {
            ValueKind::Probabilities => values.iter_mut().for_each(|value| *value = value.max(0.0)),
            ValueKind::LogProbabilities => values.iter_mut().for_each(|value| *value = value.exp()),
            ValueKind::Logits => simplex::softmax(values),
            ValueKind::Odds => odds::in_proportion(values),
            ValueKind::OddsPower => odds::by_power(values),
            ValueKind::OddsShin => odds::by_shin(values),
        }
        let sum: f64 = values.iter().sum();
        let off = (sum - 1.0).abs();
        if !(off <= self.sum_tolerance + SUM_ROUNDING) {
            return Err(rejected(None, OutputProblem::WrongSum(sum)));
        }
        if sum != 1.0 {
            values.iter_mut().for_each(|value| *value /= sum);
        }
        let doubt = match (other_kind, off > ROUNDING) {
            (true, _) => Doubt::OtherKind,
            (_, true) => Doubt::Rounded(off),
            _ => Doubt::None,
        };
        Ok(Converted::Present { n_raised: simplex::raise_to_floor(values, self.floor), doubt })
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
        let tolerance = ROUNDING.min(self.sum_tolerance);
        let least = self.floor * (1.0 + 2.0 * ROUNDING);
        let plain = (self.kind == ValueKind::Probabilities).then_some(Plain { least, tolerance });
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
            ValueKind::Probabilities if value < -ROUNDING => Err(OutputProblem::Negative(value)),
            ValueKind::Probabilities if value > 1.0 + ROUNDING => {
                Err(OutputProblem::AboveOne(value))
            }
            ValueKind::LogProbabilities if value > ROUNDING => {
                Err(OutputProblem::AboveOne(value.exp()))
            }
            ValueKind::Odds | ValueKind::OddsPower | ValueKind::OddsShin if value < 1.0 => {
                Err(OutputProblem::OddsBelowOne(value))
            }
            _ => Ok(()),
        }
    }
}

/// Whether the values could be probabilities, rounded or not.
fn looks_like_probabilities(values: &[f64]) -> bool {
    let sum: f64 = values.iter().sum();
    values.iter().all(|value| (0.0..=1.0).contains(value))
        && (sum - 1.0).abs() <= DEFAULT_SUM_TOLERANCE
}

/// Whether the values could be percentages, rounded or not.
fn looks_like_percentages(values: &[f64]) -> bool {
    let sum: f64 = values.iter().sum();
    values.iter().all(|value| *value >= 0.0) && (sum - 100.0).abs() <= 2.0
}

/// What was unusual about the raw values of a table although they were accepted: sums that were
/// rounded, or values that look like another kind.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Doubts {
    kind: ValueKind,
    /// Outputs that were not simply probabilities.
    n_checked: usize,
    n_rounded: usize,
    largest: f64,
    n_other_kind: usize,
}

/// Share of the outputs from which on the values count as another kind.
const MOST: f64 = 0.9;

impl Doubts {
    pub(crate) fn new(kind: ValueKind) -> Self {
        Self { kind, ..Self::default() }
    }

    pub(crate) fn add(&mut self, doubt: Doubt) {
        self.n_checked += 1;
        match doubt {
            Doubt::None => {}
            Doubt::OtherKind => self.n_other_kind += 1,
            Doubt::Rounded(off) => {
                self.n_rounded += 1;
                self.largest = self.largest.max(off);
            }
        }
    }

    /// Adds the doubts about another part of the same table.
    pub fn merge(&mut self, other: &Self) {
        if other.n_checked > 0 {
            self.kind = other.kind;
        }
        self.n_checked += other.n_checked;
        self.n_rounded += other.n_rounded;
        self.largest = self.largest.max(other.largest);
        self.n_other_kind += other.n_other_kind;
    }

    /// The doubts in words.
    pub fn warnings(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        if self.n_rounded > 0 {
            let outputs = if self.n_rounded == 1 { "output" } else { "outputs" };
            warnings.push(Warning::data(format!(
                "{} {outputs} did not add up to 1 (largest deviation {:.2e}) and were renormalised",
                self.n_rounded, self.largest
            )));
        }
        if self.n_other_kind as f64 > MOST * self.n_checked as f64 {
            let look = match self.kind {
                ValueKind::Odds | ValueKind::OddsPower | ValueKind::OddsShin => {
                    "the odds look like percentages: they add up to 100; if they are, divide them by 100 \
                     and read them as probabilities"
                }
                _ => {
                    "the logits look like probabilities: they add up to 1; if they are, read them as \
                     probabilities"
                }
            };
            warnings.push(Warning::data(look.into()));
        }
        warnings
    }
}
