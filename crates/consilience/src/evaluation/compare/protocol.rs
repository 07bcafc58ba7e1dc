//! Splits of the items into training and test items.

use std::fmt;

use serde::Serialize;

use crate::data::outputs::Outputs;
use crate::error::{Error, Result};
use crate::evaluation::constants::PAPER_TEST_ITEMS;
use crate::folds;

/// How the items are split into training and test items.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// Stratified cross-validation: every item is a test item once per repeat.
    Folds {
        /// Number of folds, from 2 to 100; the smallest class limits it to its number of items.
        folds: usize,
        /// Number of repeats with different folds, from 1 to 1000.
        repeats: usize,
    },
    /// Random splits with the same number of test items per class in each.
    Splits {
        /// Number of splits, from 1 to 100 000.
        splits: usize,
        /// Number of test items in each split.
        test: TestSize,
    },
}

/// The number of test items per class in a split.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TestSize {
    /// This number of every class.
    PerClass(usize),
    /// This share of every class, between 0 and 1.
    Share(f64),
}

impl Default for Protocol {
    fn default() -> Self {
        Self::Folds { folds: 10, repeats: 1 }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folds { folds, repeats: 1 } => write!(f, "{folds} stratified folds"),
            Self::Folds { folds, repeats } => {
                write!(f, "{folds} stratified folds, {repeats} times")
            }
            Self::Splits { splits, test: TestSize::PerClass(n) } => {
                write!(f, "{splits} random splits with {n} test items per class")
            }
            Self::Splits { splits, test: TestSize::Share(share) } => {
                write!(
                    f,
                    "{splits} random splits with {:.1} % of every class as test items",
                    share * 100.0
                )
            }
        }
    }
}

/// The training and test items of one split.
#[derive(Debug)]
pub(crate) struct TrainTestSplit {
    pub(crate) test: Vec<usize>,
    pub(crate) train: Vec<usize>,
}

impl Protocol {
    /// The paper's protocol: random splits with 20 test items per class.
    pub fn paper(splits: usize) -> Self {
        Self::Splits { splits, test: TestSize::PerClass(PAPER_TEST_ITEMS) }
    }

    /// Checks the protocol against the items; reduces the number of folds if a class is small.
    pub(crate) fn checked(self, outputs: &Outputs) -> Result<Self> {
        match self {
            Self::Folds { folds, repeats } => {
                if !(1..=1000).contains(&repeats) {
                    return Err(Error::parameter("repeats", "from 1 to 1000", repeats));
                }
                Ok(Self::Folds { folds: folds::usable(outputs, folds)?, repeats })
            }
            Self::Splits { splits, test } => {
                if !(1..=100_000).contains(&splits) {
                    return Err(Error::parameter("splits", "from 1 to 100000", splits));
                }
                test_counts(test, outputs)?;
                Ok(self)
            }
        }
    }

    /// All splits.
    pub(crate) fn splits(
        self,
        outputs: &Outputs,
        labels: &[usize],
        seed: u64,
    ) -> Result<Vec<TrainTestSplit>> {
        let n_classes = outputs.schema().n_classes();
        match self {
            Self::Folds { folds, repeats } => {
                let repeat = |repeat: usize| {
                    let seed = seed.wrapping_add(repeat as u64);
                    let of_item = folds::stratified(labels, n_classes, folds, seed);
                    (0..folds).map(move |fold| {
                        let (test, train) = folds::split(&of_item, fold);
                        TrainTestSplit { test, train }
                    })
                };
                Ok((0..repeats).flat_map(repeat).collect())
            }
            Self::Splits { splits, test } => {
                let counts = test_counts(test, outputs)?;
                let split = |number: usize| {
                    let (test, train) = folds::random_split(labels, &counts, (seed, number as u64));
                    TrainTestSplit { test, train }
                };
                Ok((0..splits).map(split).collect())
            }
        }
    }
}

/// Number of test items of every class; at least one item remains for training.
fn test_counts(test: TestSize, outputs: &Outputs) -> Result<Vec<usize>> {
    let classes = outputs.schema().classes().iter().zip(outputs.class_counts());
    let count = |(class, n): (&String, u64)| {
        let n = usize::try_from(n).unwrap_or(usize::MAX);
        if n == 0 {
            return Err(Error::EmptyClass { class: class.clone() });
        }
        let wanted = match test {
            TestSize::PerClass(wanted) => wanted,
            TestSize::Share(share) if share > 0.0 && share < 1.0 => share_of(n, share),
            TestSize::Share(share) => {
                return Err(Error::parameter("test share", "between 0 and 1", share));
            }
        };
        if wanted == 0 {
            return Err(Error::parameter("test items per class", "at least 1", wanted));
        }
        if wanted >= n {
            return Err(Error::TooFewItems {
                class: class.clone(),
                needed: format!(
                    "more than the {wanted} test items, so that some remain for training"
                ),
                found: n,
            });
        }
        Ok(wanted)
    };
    classes.map(count).collect()
}

/// A share of n items: at least one, and less than all.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // between 0 and n
fn share_of(n: usize, share: f64) -> usize {
    ((n as f64 * share).round() as usize).min(n - 1).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::Preset;

    fn outputs(items_per_class: usize) -> (Outputs, Vec<usize>) {
        let outputs = Preset::Sim1.truth(0.5).unwrap().simulate(items_per_class, 1).unwrap();
        let labels = outputs.require_labels().unwrap();
        (outputs, labels)
    }

    #[test]
    fn every_item_is_a_test_item_once_per_repeat() {
        let (outputs, labels) = outputs(17);
        let protocol = Protocol::Folds { folds: 5, repeats: 3 };
        let splits = protocol.splits(&outputs, &labels, 1).unwrap();
        assert_eq!(splits.len(), 15);
        for repeat in splits.chunks(5) {
            let mut seen: Vec<usize> = repeat.iter().flat_map(|split| split.test.clone()).collect();
            seen.sort_unstable();
            assert_eq!(seen, (0..51).collect::<Vec<_>>());
        }
        assert_ne!(splits[0].test, splits[5].test);
    }

    #[test]
    fn the_papers_splits_have_twenty_test_items_per_class() {
        let (outputs, labels) = outputs(30);
        let splits = Protocol::paper(4).splits(&outputs, &labels, 7).unwrap();
        assert_eq!(splits.len(), 4);
        for TrainTestSplit { test, train } in &splits {
            assert_eq!((test.len(), train.len()), (60, 30));
            for class in 0..3 {
                assert_eq!(test.iter().filter(|&&item| labels[item] == class).count(), 20);
            }
            assert!(train.iter().all(|item| !test.contains(item)));
        }
        assert_ne!(splits[0].test, splits[1].test);
    }

    #[test]
    fn protocols_that_need_more_items_are_refused() {
        let (few, _) = outputs(20);
        assert!(Protocol::paper(5).checked(&few).unwrap_err().to_string().contains("class `1`"));
        let share = |share| Protocol::Splits { splits: 2, test: TestSize::Share(share) };
        for bad in [0.0, 1.0, -1.0, f64::NAN] {
            assert!(share(bad).checked(&few).is_err(), "{bad}");
        }
        assert!(share(0.99).checked(&few).is_ok(), "one item remains");
        for bad in [
            Protocol::Folds { folds: 1, repeats: 1 },
            Protocol::Folds { folds: 5, repeats: 0 },
            Protocol::Splits { splits: 0, test: TestSize::Share(0.5) },
            Protocol::Splits { splits: 1, test: TestSize::PerClass(0) },
        ] {
            assert!(bad.checked(&few).is_err(), "{bad}");
        }
        let fewer = Protocol::Folds { folds: 50, repeats: 1 }.checked(&few).unwrap();
        assert_eq!(fewer, Protocol::Folds { folds: 20, repeats: 1 });
    }
}
