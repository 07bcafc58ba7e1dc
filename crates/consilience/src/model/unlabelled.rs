//! Summary of the training items without a label.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::data::outputs::Outputs;
use crate::math::fixed_sum::FixedSum;

/// Number of items without a label, and the sum of their mean outputs.
///
/// The mean output of an item is the average over the classifiers that have an output for it. Sums
/// are exact, so that they do not depend on the order or partition of the items.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Unlabelled {
    n_items: u64,
    /// Weight of the items that have at least one output.
    weight: FixedSum,
    /// Weighted sum of their mean outputs; empty without any item.
    sums: Vec<FixedSum>,
}

impl Unlabelled {
    /// Adds the unlabelled items of a table.
    pub(super) fn add(&mut self, outputs: &Outputs) {
        let items = outputs.all();
        let unlabelled = (0..outputs.n_items()).filter(|&item| outputs.label(item).is_none());
        for item in unlabelled {
            self.n_items += 1;
            self.sums.resize(items.n_classes(), FixedSum::default());
            let present = items.present(item).count() as f64;
            if present > 0.0 {
                self.weight.add(outputs.weight(item));
            }
            for (_, output) in items.present(item) {
                for (sum, x) in self.sums.iter_mut().zip(output) {
                    sum.add(outputs.weight(item) * x / present);
                }
            }
        }
    }

    /// Adds the sums over other items.
    pub(super) fn merge(&mut self, other: &Self) {
        self.n_items += other.n_items;
        self.weight.merge(other.weight);
        self.sums.resize(self.sums.len().max(other.sums.len()), FixedSum::default());
        self.sums.iter_mut().zip(&other.sums).for_each(|(sum, other)| sum.merge(*other));
    }

    /// Number of items.
    pub fn n_items(&self) -> u64 {
        self.n_items
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.n_items == 0
    }

    /// Weight of the items that have at least one output.
    pub fn weight(&self) -> f64 {
        self.weight.value()
    }

    /// The mean output over items and classifiers; none if no item has an output.
    pub fn mean_output(&self) -> Option<Vec<f64>> {
        let weight = self.weight();
        (weight > 0.0).then(|| self.sums.iter().map(|sum| sum.value() / weight).collect())
    }

    /// Whether the sums are those of probabilities of `n_classes` classes.
    pub(super) fn fits(&self, n_classes: usize) -> bool {
        if self.is_empty() {
            return *self == Self::default();
        }
        let (total, weight) = (self.sums.iter().map(|sum| sum.value()).sum::<f64>(), self.weight());
        self.n_items < 1 << 53
            && self.sums.len() == n_classes
            && self.sums.iter().all(|sum| sum.value() >= 0.0)
            && (total - weight).abs() <= 1e-6 * (1.0 + weight)
    }
}

/// The form in the model file. Every sum is a double and the remainder of its rounding.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// Number of items without a label.
    items: u64,
    /// Weight of those with at least one output.
    weight: (f64, f64),
    /// Weighted sum of their mean outputs, per class.
    sum_outputs: Vec<(f64, f64)>,
}

impl Serialize for Unlabelled {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        File {
            items: self.n_items,
            weight: self.weight.parts(),
            sum_outputs: self.sums.iter().map(|sum| sum.parts()).collect(),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Unlabelled {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let File { items, weight, sum_outputs } = File::deserialize(deserializer)?;
        let sum = |(high, rest)| FixedSum::from_bounded_parts(high, rest);
        let sums = sum_outputs.into_iter().map(sum).collect::<Option<Vec<_>>>();
        match (sum(weight), sums) {
            (Some(weight), Some(sums)) => Ok(Self { n_items: items, weight, sums }),
            _ => Err(serde::de::Error::custom("`unlabelled` has sums that no outputs have")),
        }
    }
}
