//! What a person reads of a fit: sources, class shares, the correlation ρ, checks with gold labels.

use serde::{Deserialize, Serialize};

use super::estimates::Interval;
use crate::evaluation::SampleMean;

/// Probabilities below it are raised to it before their logarithm is taken.
pub(super) const FLOOR: f64 = 1e-6;

/// One source: how often it is right and how it errs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SourceReport {
    /// Its name.
    pub source: String,
    /// Number of its votes.
    pub votes: usize,
    /// Probability that a vote is right, with the classes in their estimated shares.
    pub accuracy: Interval,
    /// Probability that a vote is right, by class.
    pub right: Vec<Interval>,
    /// P(label | class): one row per class.
    pub confusion: Vec<Vec<f64>>,
    /// The label that the source gives too often.
    pub bias: Bias,
    /// Index of the class on which the source is right least often.
    pub worst_class: usize,
    /// Mutual information between a vote and the class, in nats.
    pub strength: f64,
    /// Whether the interval of the accuracy contains 1/K, so that the source cannot be told from
    /// one that guesses.
    pub guesses: bool,
}

/// How much more often a source gives a label than the class occurs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Bias {
    /// Index of the label.
    pub label: usize,
    /// Share of the label among the source's votes minus share of the class.
    pub excess: f64,
}

impl Bias {
    pub(super) fn of(confusion: &[Vec<f64>], shares: &[f64]) -> Self {
        let excess = |label: usize| {
            let given: f64 = confusion.iter().zip(shares).map(|(row, p)| p * row[label]).sum();
            given - shares[label]
        };
        let biases = (0..shares.len()).map(|label| Self { label, excess: excess(label) });
        biases.reduce(|a, b| if b.excess > a.excess { b } else { a }).expect("there are classes")
    }
}

/// Mutual information between vote and class in nats.
pub(super) fn strength(confusion: &[Vec<f64>], shares: &[f64]) -> f64 {
    let given =
        |label: usize| -> f64 { confusion.iter().zip(shares).map(|(row, p)| p * row[label]).sum() };
    let totals: Vec<f64> = (0..shares.len()).map(given).collect();
    let mut sum = 0.0;
    for (row, share) in confusion.iter().zip(shares) {
        for (p, total) in row.iter().zip(&totals).filter(|(p, _)| **p > 0.0) {
            sum += share * p * (p / total).ln();
        }
    }
    sum.max(0.0)
}

/// The correlation ρ by which votes are discounted.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rho {
    /// Geometric mean.
    pub value: f64,
    /// Lower end of its 90 % interval.
    pub low: f64,
    /// Upper end of its 90 % interval.
    pub high: f64,
    /// Where it comes from.
    pub origin: RhoOrigin,
}

/// Where ρ comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RhoOrigin {
    /// An assumption: without gold labels it cannot be learned, and other data sets were like this.
    Assumed,
    /// Learned from gold labels.
    Gold,
    /// Set by the user.
    Given,
    /// The method treats sources as independent.
    None,
}

/// Log-losses of gold items from fits that did not use their labels.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct GoldCheck {
    /// Number of gold items.
    pub items: usize,
    /// Log-loss in nats.
    pub log_loss: SampleMean,
    /// How much larger the log-loss is if all votes count alike, discounted by the assumed ρ.
    pub against_majority: SampleMean,
    /// How much larger the log-loss is without discount.
    pub against_no_discount: SampleMean,
}

impl GoldCheck {
    /// From the losses of every item: ours, votes alike, no discount.
    pub(super) fn new(losses: &[[f64; 3]]) -> Self {
        let mean = |of: &dyn Fn(&[f64; 3]) -> f64| SampleMean::of(losses.iter().map(of));
        Self {
            items: losses.len(),
            log_loss: mean(&|row| row[0]),
            against_majority: mean(&|row| row[1] - row[0]),
            against_no_discount: mean(&|row| row[2] - row[0]),
        }
    }
}

/// A difference beyond two standard errors, as a word.
pub(super) fn verdict(difference: SampleMean) -> &'static str {
    match difference.mean / difference.se {
        z if z > 2.0 => "worse",
        z if z < -2.0 => "better",
        _ => "no clear difference",
    }
}
