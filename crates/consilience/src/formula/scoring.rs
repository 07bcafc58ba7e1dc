//! What all methods share: reading an item's outputs, and normalising its fused probabilities.

use super::{Condition, Formula, Step, Value};
use crate::data::input_format::{InputFormat, ROUNDING, SUM_ROUNDING, ValueKind};
use crate::data::schema::Schema;

/// A formula that begins with the outputs of an item as a method sees them.
pub(crate) struct Scoring {
    pub(crate) formula: Formula,
    pub(crate) n_classifiers: usize,
    pub(crate) n_classes: usize,
    /// The outputs, K × J; those that are missing have equal probabilities.
    pub(crate) outputs: Value,
    /// Whether each output is missing, K × 1.
    pub(crate) is_missing: Condition,
    /// 1 for every output that is present and 0 for others, K × 1.
    pub(crate) present: Value,
    /// Number of outputs present, 1 × 1.
    pub(crate) n_present: Value,
    /// The logarithms of the class prior, 1 × J.
    pub(crate) ln_prior: Value,
    /// Whether each output is one that a fit would accept, K × 1.
    pub(crate) is_valid: Condition,
}

impl Scoring {
    /// An error is the reason why values of this kind cannot be converted by a formula.
    pub(crate) fn new(schema: &Schema, format: &InputFormat) -> Result<Self, &'static str> {
        let mut formula = Formula::default();
        let f = &mut formula;
        let n_classes = schema.n_classes();
        let raw = f.push(Step::Raw);
        let sum = f.sum_over_classes(raw);
        let is_missing = f.is_nan(sum);
        let neutral = f.number(neutral(format.kind, n_classes as f64));
        let values = f.select(is_missing, neutral, raw);
        let (unscaled, are_in_range) = probabilities(f, values, format.kind)?;
        let is_valid = valid(f, unscaled, are_in_range, format.sum_tolerance);
        let scaled = f.normalise(unscaled);
        let outputs = f.raise_to_floor(scaled, format.floor);
        let (zero, one) = (f.number(0.0), f.number(1.0));
        let present = f.select(is_missing, zero, one);
        let n_present = f.sum_over_rows(schema.n_classifiers(), present);
        let prior = f.push(Step::ClassPrior);
        let ln_prior = f.ln(prior);
        let n_classifiers = schema.n_classifiers();
        Ok(Self {
            formula,
            n_classifiers,
            n_classes,
            outputs,
            is_missing,
            present,
            n_present,
            ln_prior,
            is_valid,
        })
    }

    /// `value` for an item with an output of any classifier, else the logarithms of the class prior.
    pub(crate) fn or_prior(&mut self, value: Value) -> Value {
        let one = self.formula.number(1.0);
        let any = self.formula.is_at_least(self.n_present, one);
        self.formula.select(any, value, self.ln_prior)
    }

    /// `value` with the rows of missing outputs replaced by 0.
    pub(crate) fn of_present(&mut self, value: Value) -> Value {
        let zero = self.formula.number(0.0);
        self.formula.select(self.is_missing, zero, value)
    }

    /// The sum over classifiers.
    pub(crate) fn sum_over_classifiers(&mut self, value: Value) -> Value {
        self.formula.sum_over_rows(self.n_classifiers, value)
    }

    /// The mean over the classifiers present, 1 × J; 0 without any.
    pub(crate) fn mean_of_present(&mut self, value: Value) -> Value {
        let own = self.of_present(value);
        let sum = self.sum_over_classifiers(own);
        let n = self.formula.at_least(self.n_present, 1.0);
        self.formula.divide(sum, n)
    }
}

/// What stands for every value of a missing output: equal probabilities.
fn neutral(kind: ValueKind, n_classes: f64) -> f64 {
    match kind {
        ValueKind::Probabilities => 1.0 / n_classes,
        ValueKind::LogProbabilities => -n_classes.ln(),
        ValueKind::Logits => 0.0,
        ValueKind::Odds | ValueKind::OddsPower | ValueKind::OddsShin => n_classes,
    }
}

/// Values of a kind as probabilities that should add up to 1, and whether they are in their range.
fn probabilities(
    f: &mut Formula,
    values: Value,
    kind: ValueKind,
) -> Result<(Value, Option<Condition>), &'static str> {
    Ok(match kind {
        ValueKind::Probabilities => {
            let range = is_between(f, values, -ROUNDING, 1.0 + ROUNDING);
            (f.at_least(values, 0.0), Some(range))
        }
        ValueKind::LogProbabilities => (f.exp(values), None),
        ValueKind::Logits => (f.softmax(values), None),
        ValueKind::Odds => {
            let one = f.number(1.0);
            let reciprocals = f.divide(one, values);
            let range = is_between(f, reciprocals, 0.0, 1.0);
            (f.normalise(reciprocals), Some(range))
        }
        ValueKind::OddsPower | ValueKind::OddsShin => {
            return Err(
                "the margin of these odds is removed by iteration; convert them to probabilities first",
            );
        }
    })
}

/// Whether all entries of a row are within bounds.
fn is_between(f: &mut Formula, values: Value, least: f64, most: f64) -> Condition {
    // The larger of (least − value) and (value − most), over all classes, is at most 0.
    let (least, most, zero) = (f.number(least), f.number(most), f.number(0.0));
    let (below, above) = (f.subtract(least, values), f.subtract(values, most));
    let (below, above) = (f.largest_over_classes(below), f.largest_over_classes(above));
    let (fits_below, fits_above) = (f.is_at_least(zero, below), f.is_at_least(zero, above));
    f.both(fits_below, fits_above)
}

/// Whether every output is in its range and adds up to 1.
fn valid(f: &mut Formula, values: Value, range: Option<Condition>, tolerance: f64) -> Condition {
    let sum = f.sum_over_classes(values);
    let sums_to_one =
        is_between(f, sum, 1.0 - tolerance - SUM_ROUNDING, 1.0 + tolerance + SUM_ROUNDING);
    match range {
        Some(range) => f.both(sums_to_one, range),
        None => sums_to_one,
    }
}

/// A complete formula.
pub(crate) struct Rule {
    pub(crate) formula: Formula,
    /// Whether each output is one that a fit would accept, K × 1.
    pub(crate) is_valid: Condition,
    /// Whether all of them are, 1 × 1.
    pub(crate) all_valid: Condition,
    /// The fused probabilities, 1 × J.
    pub(crate) probabilities: Value,
}

impl Rule {
    /// From the unnormalised log posterior of every class, 1 × J.
    pub(crate) fn new(scoring: Scoring, ln_joint: Value) -> Self {
        let Scoring { mut formula, is_valid, n_classifiers, .. } = scoring;
        let valid = formula.indicator(is_valid);
        let n_valid = formula.sum_over_rows(n_classifiers, valid);
        let all = formula.number(n_classifiers as f64 - 0.5);
        let all_valid = formula.is_at_least(n_valid, all);
        let probabilities = formula.softmax(ln_joint);
        Self { formula, is_valid, all_valid, probabilities }
    }
}
