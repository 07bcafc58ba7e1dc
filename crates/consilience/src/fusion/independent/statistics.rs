//! All that the Dirichlet fits need of the data: counts and sums of logarithms.

use crate::error::{Error, Result};
use crate::math::fixed_sum::FixedSum;
use crate::math::log_space::ln_at_least_tiny;
use crate::outputs::Outputs;
use crate::schema::Schema;

/// Items and Σ ln x for every classifier and true class.
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
    /// Σ ln xᵏₗ over them, at (k·J + j)·J + l.
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
            self.class_counts[class] += 1;
            for (k, output) in items.present(item) {
                let block = k * self.n_classes + class;
                self.counts[block] += 1;
                let sums = &mut self.sums[block * self.n_classes..(block + 1) * self.n_classes];
                sums.iter_mut().zip(output).for_each(|(sum, x)| sum.add(ln_at_least_tiny(*x)));
            }
        }
        Ok(())
    }

    /// Adds what was counted elsewhere.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        if (self.n_classifiers, self.n_classes) != (other.n_classifiers, other.n_classes) {
            return Err(Error::Mismatch {
                what: "shapes of statistics",
                expected: format!("{} × {}", self.n_classifiers, self.n_classes),
                found: format!("{} × {}", other.n_classifiers, other.n_classes),
            });
        }
        let add = |a: &mut [u64], b: &[u64]| a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
        add(&mut self.class_counts, &other.class_counts);
        add(&mut self.counts, &other.counts);
        self.sums.iter_mut().zip(&other.sums).for_each(|(a, b)| a.merge(*b));
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

    /// Mean logarithms of a classifier's outputs among the items of a class; NaN without any.
    pub fn mean_ln(&self, classifier: usize, class: usize) -> Vec<f64> {
        let n = self.count(classifier, class) as f64;
        self.sums(classifier, class).iter().map(|sum| sum.value() / n).collect()
    }

    /// The statistics of one classifier alone.
    #[must_use]
    pub fn only(&self, classifier: usize) -> Self {
        let j = self.n_classes;
        Self {
            n_classifiers: 1,
            n_classes: j,
            class_counts: self.class_counts.clone(),
            counts: self.counts[classifier * j..(classifier + 1) * j].to_vec(),
            sums: self.sums[classifier * j * j..(classifier + 1) * j * j].to_vec(),
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
        /// Sums of logarithms, `[classifier][class][component]`.
        sum_ln: Vec<Vec<Vec<f64>>>,
        /// What rounding each sum to a double left over, so that updates stay exact.
        #[serde(default)]
        sum_ln_rest: Vec<Vec<Vec<f64>>>,
    }

    impl Serialize for SufficientStatistics {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let nested = |part: &dyn Fn(FixedSum) -> f64| -> Vec<Vec<Vec<f64>>> {
                let block = |k, j| self.sums(k, j).iter().map(|sum| part(*sum)).collect();
                let row = |k| (0..self.n_classes).map(|j| block(k, j)).collect();
                (0..self.n_classifiers).map(row).collect()
            };
            let file = File {
                items: self.class_counts.clone(),
                outputs: self.counts.chunks(self.n_classes).map(<[u64]>::to_vec).collect(),
                sum_ln: nested(&|sum| sum.parts().0),
                sum_ln_rest: nested(&|sum| sum.parts().1),
            };
            file.serialize(serializer)
        }
    }

    impl<'de> Deserialize<'de> for SufficientStatistics {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let file = File::deserialize(deserializer)?;
            let (k, j) = (file.outputs.len(), file.items.len());
            let shaped = |table: &Vec<Vec<Vec<f64>>>| {
                let row = |row: &Vec<Vec<f64>>| row.len() == j && row.iter().all(|x| x.len() == j);
                table.len() == k && table.iter().all(row)
            };
            let fits = shaped(&file.sum_ln)
                && (file.sum_ln_rest.is_empty() || shaped(&file.sum_ln_rest))
                && file.outputs.iter().all(|row| row.len() == j);
            if !fits {
                return Err(serde::de::Error::custom(
                    "`statistics` must hold items[class], outputs[classifier][class] and \
                     sum_ln[classifier][class][component]",
                ));
            }
            let high: Vec<f64> = file.sum_ln.into_iter().flatten().flatten().collect();
            let mut rest: Vec<f64> = file.sum_ln_rest.into_iter().flatten().flatten().collect();
            rest.resize(high.len(), 0.0);
            let counts: Vec<u64> = file.outputs.into_iter().flatten().collect();
            let possible = |(i, sum): (usize, &f64)| {
                // Between no output at all and every one at the smallest double.
                let n = counts[i / j] as f64;
                (LN_TINY * n - 1e-6..=1e-6).contains(sum)
            };
            let counted = counts.iter().enumerate().all(|(i, n)| *n <= file.items[i % j]);
            let few = file.items.iter().all(|n| *n < 1 << 53);
            let small = rest.iter().all(|rest| rest.abs() < 1.0);
            if !(counted && few && small && high.iter().enumerate().all(possible)) {
                return Err(serde::de::Error::custom(
                    "`statistics` are impossible: more outputs than items, more than 2^53 items, \
                     or sums of logarithms that no probabilities have",
                ));
            }
            let sums = high.iter().zip(&rest).map(|(a, b)| FixedSum::from_parts(*a, *b)).collect();
            Ok(Self { n_classifiers: k, n_classes: j, class_counts: file.items, counts, sums })
        }
    }
}
