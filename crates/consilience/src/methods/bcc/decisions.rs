//! How often every classifier decided for every class, by true class.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::data::outputs::Outputs;
use crate::data::schema::Schema;
use crate::math::fixed_sum::FixedSum;

/// Weighted numbers of decisions for every classifier, true class and class decided for.
///
/// Where m classes share the largest probability, each counts as 1/m of a decision. Sums are exact:
/// they do not depend on the order or partition of the items.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Decisions {
    n_classes: usize,
    /// At (k·J + j)·J + l.
    sums: Vec<FixedSum>,
}

impl Decisions {
    /// Of no items.
    pub(crate) fn empty(schema: &Schema) -> Self {
        let (k, j) = (schema.n_classifiers(), schema.n_classes());
        Self { n_classes: j, sums: vec![FixedSum::default(); k * j * j] }
    }

    /// Of the labelled items of a table.
    pub(crate) fn of(outputs: &Outputs) -> Self {
        let mut decisions = Self::empty(outputs.schema());
        decisions.add(outputs);
        decisions
    }

    /// Adds the labelled items of a table.
    pub(crate) fn add(&mut self, outputs: &Outputs) {
        let items = 0..outputs.n_items();
        for (item, label) in items.filter_map(|item| Some((item, outputs.label(item)?))) {
            for (k, output) in outputs.all().present(item) {
                let share = outputs.weight(item) / decisions(output).count() as f64;
                let row = self.row(k, label);
                decisions(output).for_each(|l| self.sums[row + l].add(share));
            }
        }
    }

    /// Adds the decisions on other items, of the same classifiers and classes.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.sums.iter_mut().zip(&other.sums).for_each(|(sum, other)| sum.merge(*other));
    }

    /// The decisions of some classifiers.
    #[must_use]
    pub(crate) fn select(&self, classifiers: &[usize]) -> Self {
        let size = self.n_classes * self.n_classes;
        let own = |k: &usize| &self.sums[k * size..(k + 1) * size];
        Self {
            n_classes: self.n_classes,
            sums: classifiers.iter().flat_map(own).copied().collect(),
        }
    }

    /// Decisions of a classifier for one class when another is true.
    pub(crate) fn count(&self, classifier: usize, class: usize, decided: usize) -> f64 {
        self.sums[self.row(classifier, class) + decided].value()
    }

    /// Whether the numbers are not negative and of as many classifiers and classes.
    pub(crate) fn fits(&self, schema: &Schema) -> bool {
        self.n_classes == schema.n_classes()
            && self.sums.len() == schema.width() * schema.n_classes()
            && self.sums.iter().all(|sum| sum.value() >= 0.0)
    }

    fn row(&self, classifier: usize, class: usize) -> usize {
        (classifier * self.n_classes + class) * self.n_classes
    }
}

/// The most probable class, or all that share the largest probability.
pub(super) fn decisions(output: &[f64]) -> impl Iterator<Item = usize> {
    let largest = output.iter().copied().fold(0.0, f64::max);
    output.iter().enumerate().filter(move |(_, x)| **x == largest).map(|(l, _)| l)
}

/// `[classifier][true class][decision]`, each a double and the remainder of its rounding.
type File = Vec<Vec<Vec<(f64, f64)>>>;

impl Serialize for Decisions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let row = |sums: &[FixedSum]| sums.iter().map(|sum| sum.parts()).collect();
        let classifier = |sums: &[FixedSum]| sums.chunks(self.n_classes).map(row).collect();
        let file: File =
            self.sums.chunks(self.n_classes * self.n_classes).map(classifier).collect();
        file.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Decisions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let file = File::deserialize(deserializer)?;
        let n_classes = file.first().map_or(0, Vec::len);
        let is_square = |rows: &Vec<Vec<_>>| {
            rows.len() == n_classes && rows.iter().all(|row| row.len() == n_classes)
        };
        let sum = |(high, rest)| FixedSum::from_bounded_parts(high, rest);
        let sums: Option<Vec<FixedSum>> =
            file.iter().flatten().flatten().copied().map(sum).collect();
        match sums.filter(|_| file.iter().all(is_square)) {
            Some(sums) => Ok(Self { n_classes, sums }),
            None => Err(serde::de::Error::custom(
                "`decisions` must hold numbers of decisions, [classifier][class][decision]",
            )),
        }
    }
}
