//! The sufficient statistics of the Dirichlets: counts, weights and sums of logarithms.

use crate::data::outputs::Outputs;
use crate::data::schema::Schema;
use crate::error::{Error, Result};
use crate::math::fixed_sum::FixedSum;
use consilience_numerics::log_space::ln_at_least_tiny;

/// Numbers of items, their weights (w, 1 unless [given](Outputs::with_weights)) and Σ w ln x for
/// every classifier and true class.
///
/// The likelihood of α depends on the outputs through these alone, so parts of the data can be
/// summed on different machines and [merged](Self::merge). Sums are exact: the result does not
/// depend on order or partition, to the last bit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SufficientStatistics {
    n_classifiers: usize,
    n_classes: usize,
    /// Labelled items of every class.
    class_counts: Vec<u64>,
    /// Outputs present, at k·J + j.
    counts: Vec<u64>,
    /// The weight of the items of every class, and of the outputs at k·J + j.
    class_weights: Vec<FixedSum>,
    weights: Vec<FixedSum>,
    /// Σ w ln xᵏₗ over them, at (k·J + j)·J + l.
    sums: Vec<FixedSum>,
}

impl SufficientStatistics {
    /// Of no items.
    pub fn empty(schema: &Schema) -> Self {
        let (k, j) = (schema.n_classifiers(), schema.n_classes());
        Self {
            n_classifiers: k,
            n_classes: j,
            class_counts: vec![0; j],
            counts: vec![0; k * j],
            class_weights: vec![FixedSum::default(); j],
            weights: vec![FixedSum::default(); k * j],
            sums: vec![FixedSum::default(); k * j * j],
        }
    }

    /// Of labelled outputs.
    pub fn of(outputs: &Outputs) -> Result<Self> {
        let mut statistics = Self::empty(outputs.schema());
        statistics.add(outputs)?;
        Ok(statistics)
    }

    /// Adds labelled outputs; all or none.
    pub fn add(&mut self, outputs: &Outputs) -> Result<()> {
        let labels = outputs.require_labels()?;
        let items = outputs.all();
        for (item, class) in labels.into_iter().enumerate() {
            let weight = outputs.weight(item);
            self.class_counts[class] += 1;
            self.class_weights[class].add(weight);
            for (k, output) in items.present(item) {
                let block = k * self.n_classes + class;
                self.counts[block] += 1;
                self.weights[block].add(weight);
                let sums = &mut self.sums[block * self.n_classes..(block + 1) * self.n_classes];
                let terms = output.iter().map(|x| weight * ln_at_least_tiny(*x));
                sums.iter_mut().zip(terms).for_each(|(sum, term)| sum.add(term));
            }
        }
        Ok(())
    }

    /// Adds the statistics of other items.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        if (self.n_classifiers, self.n_classes) != (other.n_classifiers, other.n_classes) {
            return Err(Error::mismatch(
                "shapes of statistics",
                format!("{} × {}", self.n_classifiers, self.n_classes),
                format!("{} × {}", other.n_classifiers, other.n_classes),
            ));
        }
        let add = |a: &mut [u64], b: &[u64]| a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
        add(&mut self.class_counts, &other.class_counts);
        add(&mut self.counts, &other.counts);
        let add = |a: &mut [FixedSum], b: &[FixedSum]| {
            a.iter_mut().zip(b).for_each(|(a, b)| a.merge(*b));
        };
        add(&mut self.class_weights, &other.class_weights);
        add(&mut self.weights, &other.weights);
        add(&mut self.sums, &other.sums);
        Ok(())
    }

    /// Number of classifiers.
    pub fn n_classifiers(&self) -> usize {
        self.n_classifiers
    }

    /// Labelled items of every class.
    pub fn class_counts(&self) -> &[u64] {
        &self.class_counts
    }

    /// Outputs of a classifier present among the items of a class.
    pub fn count(&self, classifier: usize, class: usize) -> u64 {
        self.counts[classifier * self.n_classes + class]
    }

    /// The weight of the labelled items of every class.
    pub fn class_weights(&self) -> Vec<f64> {
        self.class_weights.iter().map(|sum| sum.value()).collect()
    }

    /// The weight of a classifier's outputs among the items of a class.
    pub fn weight(&self, classifier: usize, class: usize) -> f64 {
        self.weights[classifier * self.n_classes + class].value()
    }

    /// Mean logarithms of a classifier's outputs among the items of a class; NaN without any.
    pub fn mean_ln(&self, classifier: usize, class: usize) -> Vec<f64> {
        let n = self.weight(classifier, class);
        self.sums(classifier, class).iter().map(|sum| sum.value() / n).collect()
    }

    /// The statistics of one classifier alone.
    #[must_use]
    pub fn only(&self, classifier: usize) -> Self {
        self.select(&[classifier])
    }

    /// The statistics of some classifiers.
    #[must_use]
    pub(crate) fn select(&self, classifiers: &[usize]) -> Self {
        fn of<T: Copy>(values: &[T], classifiers: &[usize], size: usize) -> Vec<T> {
            classifiers.iter().flat_map(|k| &values[k * size..(k + 1) * size]).copied().collect()
        }
        let j = self.n_classes;
        Self {
            n_classifiers: classifiers.len(),
            n_classes: j,
            class_counts: self.class_counts.clone(),
            counts: of(&self.counts, classifiers, j),
            class_weights: self.class_weights.clone(),
            weights: of(&self.weights, classifiers, j),
            sums: of(&self.sums, classifiers, j * j),
        }
    }

    /// An error that names a class without items, or a classifier absent from a class.
    pub fn require_all(&self, schema: &Schema) -> Result<()> {
        if let Some(j) = self.class_counts.iter().position(|count| *count == 0) {
            return Err(Error::EmptyClass { class: schema.classes()[j].clone() });
        }
        match self.counts.iter().position(|count| *count == 0) {
            None => Ok(()),
            Some(block) => Err(Error::AbsentClassifier {
                classifier: schema.classifiers()[block / self.n_classes].clone(),
                class: schema.classes()[block % self.n_classes].clone(),
            }),
        }
    }

    /// An error that names a classifier that is missing for all items of a class, where the class
    /// has items.
    pub fn require_outputs(&self, schema: &Schema) -> Result<()> {
        match self.absent_classifiers().next() {
            None => Ok(()),
            Some((k, j)) => Err(Error::AbsentClassifier {
                classifier: schema.classifiers()[k].clone(),
                class: schema.classes()[j].clone(),
            }),
        }
    }

    /// The classifiers that are missing for all items of a class that has items, each with the
    /// first such class.
    pub(crate) fn absent_classifiers(&self) -> impl Iterator<Item = (usize, usize)> {
        let absent = |k: usize| {
            let mut classes = (0..self.n_classes).filter(|&j| self.class_counts[j] > 0);
            classes.find(|&j| self.count(k, j) == 0).map(|j| (k, j))
        };
        (0..self.n_classifiers).filter_map(absent)
    }

    fn sums(&self, classifier: usize, class: usize) -> &[FixedSum] {
        let block = classifier * self.n_classes + class;
        &self.sums[block * self.n_classes..(block + 1) * self.n_classes]
    }
}

mod file {
    //! The statistics in a model file.

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{FixedSum, SufficientStatistics};

    /// Below the logarithm of every output.
    const LN_TINY: f64 = -709.0;

    #[derive(Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct File {
        /// Labelled items of every class.
        items: Vec<u64>,
        /// Outputs present, `[classifier][class]`.
        outputs: Vec<Vec<u64>>,
        /// Their weights; 1 each if left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        weights: Option<Weights>,
        /// Sums of logarithms, `[classifier][class][component]`.
        sum_ln: Vec<Vec<Vec<f64>>>,
        /// The remainder of rounding each sum to a double, so that updates stay exact.
        #[serde(default)]
        sum_ln_rest: Vec<Vec<Vec<f64>>>,
    }

    /// Sums of weights, each with the remainder of its rounding to a double.
    #[derive(Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Weights {
        /// Of the labelled items of every class.
        items: Vec<(f64, f64)>,
        /// Of the outputs present, `[classifier][class]`.
        outputs: Vec<Vec<(f64, f64)>>,
    }

    /// Sums of as many ones.
    fn ones(counts: &[u64]) -> Vec<FixedSum> {
        counts.iter().map(|n| FixedSum::from_parts(*n as f64, 0.0)).collect()
    }

    fn parts(sums: &[FixedSum]) -> Vec<(f64, f64)> {
        sums.iter().map(|sum| sum.parts()).collect()
    }

    impl Serialize for SufficientStatistics {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let nested = |part: &dyn Fn(FixedSum) -> f64| -> Vec<Vec<Vec<f64>>> {
                let block = |k, j| self.sums(k, j).iter().map(|sum| part(*sum)).collect();
                let row = |k| (0..self.n_classes).map(|j| block(k, j)).collect();
                (0..self.n_classifiers).map(row).collect()
            };
            let plain = self.class_weights == ones(&self.class_counts)
                && self.weights == ones(&self.counts);
            let weights = || Weights {
                items: parts(&self.class_weights),
                outputs: self.weights.chunks(self.n_classes).map(parts).collect(),
            };
            let file = File {
                items: self.class_counts.clone(),
                outputs: self.counts.chunks(self.n_classes).map(<[u64]>::to_vec).collect(),
                weights: (!plain).then(weights),
                sum_ln: nested(&|sum| sum.parts().0),
                sum_ln_rest: nested(&|sum| sum.parts().1),
            };
            file.serialize(serializer)
        }
    }

    impl<'de> Deserialize<'de> for SufficientStatistics {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let file = File::deserialize(deserializer)?;
            if !file.is_shaped() {
                return Err(serde::de::Error::custom(
                    "`statistics` must hold items[class], outputs[classifier][class] and \
                     sum_ln[classifier][class][component]",
                ));
            }
            let statistics = file.into_statistics();
            statistics.filter(SufficientStatistics::are_possible).ok_or_else(|| {
                serde::de::Error::custom(
                    "`statistics` are impossible: more outputs than items, more than 2^53 items, \
                     or sums of weights or logarithms that no outputs have",
                )
            })
        }
    }

    impl File {
        fn is_shaped(&self) -> bool {
            let (k, j) = (self.outputs.len(), self.items.len());
            let shaped = |table: &Vec<Vec<Vec<f64>>>| {
                let row = |row: &Vec<Vec<f64>>| row.len() == j && row.iter().all(|x| x.len() == j);
                table.len() == k && table.iter().all(row)
            };
            let weights = self.weights.as_ref().is_none_or(|Weights { items, outputs }| {
                items.len() == j && outputs.len() == k && outputs.iter().all(|row| row.len() == j)
            });
            weights
                && shaped(&self.sum_ln)
                && (self.sum_ln_rest.is_empty() || shaped(&self.sum_ln_rest))
                && self.outputs.iter().all(|row| row.len() == j)
        }

        /// None if a number is beyond all that is summed here.
        fn into_statistics(self) -> Option<SufficientStatistics> {
            let (k, j) = (self.outputs.len(), self.items.len());
            let high: Vec<f64> = self.sum_ln.into_iter().flatten().flatten().collect();
            let mut rest: Vec<f64> = self.sum_ln_rest.into_iter().flatten().flatten().collect();
            rest.resize(high.len(), 0.0);
            let sum = |(high, rest)| FixedSum::from_bounded_parts(high, rest);
            let counts: Vec<u64> = self.outputs.into_iter().flatten().collect();
            let (class_weights, weights) = match self.weights {
                None => (ones(&self.items), ones(&counts)),
                Some(Weights { items, outputs }) => (
                    items.into_iter().map(sum).collect::<Option<_>>()?,
                    outputs.into_iter().flatten().map(sum).collect::<Option<_>>()?,
                ),
            };
            Some(SufficientStatistics {
                n_classifiers: k,
                n_classes: j,
                class_counts: self.items,
                counts,
                class_weights,
                weights,
                sums: high.into_iter().zip(rest).map(sum).collect::<Option<_>>()?,
            })
        }
    }

    impl SufficientStatistics {
        fn are_possible(&self) -> bool {
            let j = self.n_classes;
            let counted = |(i, n): (usize, &u64)| {
                let (own, all) = (self.weights[i].value(), self.class_weights[i % j].value());
                *n <= self.class_counts[i % j] && (own > 0.0) == (*n > 0) && own <= all
            };
            let summed = |(i, sum): (usize, &FixedSum)| {
                // Between no output at all and every one at the smallest double.
                let most = LN_TINY * self.weights[i / j].value();
                (most - 1e-6..=1e-6).contains(&sum.value())
            };
            let few =
                |(n, weight): (&u64, &FixedSum)| *n < 1 << 53 && (weight.value() > 0.0) == (*n > 0);
            self.class_counts.iter().zip(&self.class_weights).all(few)
                && self.counts.iter().enumerate().all(counted)
                && self.sums.iter().enumerate().all(summed)
        }
    }
}
