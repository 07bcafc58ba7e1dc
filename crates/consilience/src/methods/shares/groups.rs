//! Sums over groups of items, from which the covariance of the evidence follows under any weights of
//! the groups.
//!
//! Within a class the evidence is linear in the logarithms of the outputs, so that sums of
//! products of logarithms are all that is needed, whatever the Dirichlets are.

use crate::data::outputs::Outputs;
use crate::error::Result;
use consilience_numerics::log_space::ln_at_least_tiny;
use consilience_numerics::parallel;

/// Most groups. The variance of a sum over more items comes from so many groups of items, with a
/// relative standard error of 4 %.
const MOST_GROUPS: usize = 1024;

/// Most numbers in all groups together, 32 MB. It reduces the number of groups if there are many
/// classifiers and classes.
const MOST_NUMBERS: usize = 1 << 22;

/// Logarithms of outputs around their means given the true class.
pub(super) struct CentredLogs<'a> {
    pub(super) outputs: &'a Outputs,
    pub(super) labels: Vec<usize>,
    /// At class · K·J + column.
    means: Vec<f64>,
}

impl<'a> CentredLogs<'a> {
    pub(super) fn new(outputs: &'a Outputs) -> Result<Self> {
        let labels = outputs.require_labels()?;
        let schema = outputs.schema();
        let (n_classes, width) = (schema.n_classes(), schema.width());
        let mut sums = vec![0.0; width * n_classes];
        let mut weights = vec![0.0f64; schema.n_classifiers() * n_classes];
        for (item, class) in labels.iter().enumerate() {
            let weight = outputs.weight(item);
            for (k, output) in outputs.items(item..item + 1).present(0) {
                weights[class * schema.n_classifiers() + k] += weight;
                let sums = &mut sums[class * width + k * n_classes..];
                let logs = output.iter().map(|x| ln_at_least_tiny(*x));
                sums.iter_mut().zip(logs).for_each(|(sum, log)| *sum += weight * log);
            }
        }
        let totals = weights.iter().flat_map(|total| std::iter::repeat_n(total, n_classes));
        sums.iter_mut().zip(totals).for_each(|(sum, total)| *sum /= total);
        Ok(Self { outputs, labels, means: sums })
    }

    /// Writes the logarithms of one item, K × J; 0 where an output is missing.
    pub(super) fn write(&self, item: usize, row: &mut [f64]) {
        let n_classes = self.outputs.schema().n_classes();
        let means = &self.means[self.labels[item] * row.len()..][..row.len()];
        row.fill(0.0);
        for (k, output) in self.outputs.items(item..item + 1).present(0) {
            let place = k * n_classes..(k + 1) * n_classes;
            let centred = output.iter().zip(&means[place.clone()]);
            for (log, (x, mean)) in row[place].iter_mut().zip(centred) {
                *log = ln_at_least_tiny(*x) - mean;
            }
        }
    }
}

/// The sums of every group. The items of a group have the same class.
pub(super) struct GroupSums {
    pub(super) n_classifiers: usize,
    pub(super) n_classes: usize,
    /// The class of every group.
    classes: Vec<usize>,
    /// Σ w² / Σ w of the group's items.
    shapes: Vec<f64>,
    layout: Layout,
    numbers: Vec<f64>,
}

/// The numbers of a group: sums of logarithms (K × J), weights (K), products of logarithms and,
/// if outputs are missing, the weight of the items that have the outputs of two classifiers.
#[derive(Clone, Copy)]
struct Layout {
    width: usize,
    n_classifiers: usize,
    counts_pairs: bool,
}

impl Layout {
    fn products(self) -> usize {
        self.width + self.n_classifiers
    }

    fn pairs(self) -> usize {
        self.products() + triangle(self.width)
    }

    fn len(self) -> usize {
        self.pairs() + if self.counts_pairs { triangle(self.n_classifiers) } else { 0 }
    }
}

/// Number of pairs (x, y) with y ≤ x < n.
pub(super) const fn triangle(n: usize) -> usize {
    n * (n + 1) / 2
}

impl GroupSums {
    pub(super) fn of(logs: &CentredLogs<'_>) -> Self {
        let schema = logs.outputs.schema();
        let (n_classifiers, n_classes) = (schema.n_classifiers(), schema.n_classes());
        let counts_pairs = logs.outputs.any_missing();
        let layout = Layout { width: schema.width(), n_classifiers, counts_pairs };
        let members = deal(&logs.labels, n_classes, MOST_GROUPS.min(MOST_NUMBERS / layout.len()));
        let sums = parallel::map(members.len(), |group| layout.sum(logs, &members[group]));
        let shape = |items: &Vec<u32>| {
            let weights = || items.iter().map(|item| logs.outputs.weight(*item as usize));
            weights().map(|w| w * w).sum::<f64>() / weights().sum::<f64>()
        };
        Self {
            n_classifiers,
            n_classes,
            classes: members.iter().map(|items| logs.labels[items[0] as usize]).collect(),
            shapes: members.iter().map(shape).collect(),
            layout,
            numbers: sums.concat(),
        }
    }

    /// The shape of the gamma distribution of every group's weight, which then has the variance
    /// that resampling the items would give.
    pub(super) fn shapes(&self) -> &[f64] {
        &self.shapes
    }

    /// The sums over all items, with every group weighted.
    pub(super) fn weighted(&self, weights: &[f64]) -> Sums {
        let Layout { width, n_classifiers, .. } = self.layout;
        let first = self.layout.products();
        let mut sums = Sums {
            layout: self.layout,
            by_class: vec![0.0; self.n_classes * first],
            numbers: vec![0.0; self.layout.len() - first],
        };
        let rows = self.numbers.chunks_exact(self.layout.len());
        for ((row, class), weight) in rows.zip(&self.classes).zip(weights) {
            let (of_class, of_all) = row.split_at(first);
            let own = &mut sums.by_class[class * (width + n_classifiers)..];
            own.iter_mut().zip(of_class).for_each(|(sum, x)| *sum += weight * x);
            sums.numbers.iter_mut().zip(of_all).for_each(|(sum, x)| *sum += weight * x);
        }
        sums
    }
}

/// Sums over all items.
pub(super) struct Sums {
    layout: Layout,
    /// Sums of logarithms and weights of every class.
    by_class: Vec<f64>,
    /// Products, then weights of pairs.
    numbers: Vec<f64>,
}

impl Sums {
    /// Mean logarithms of a classifier's outputs in a class; 0 without any.
    pub(super) fn mean(&self, k: usize, class: usize, n_classes: usize) -> Vec<f64> {
        let own = &self.by_class[class * self.layout.products()..][..self.layout.products()];
        let weight = own[self.layout.width + k].max(f64::MIN_POSITIVE);
        own[k * n_classes..(k + 1) * n_classes].iter().map(|sum| sum / weight).collect()
    }

    /// Σ w ℓₓ ℓᵧ of two logarithms, counted over classifiers and components.
    pub(super) fn product(&self, x: usize, y: usize) -> f64 {
        let (x, y) = (x.max(y), x.min(y));
        self.numbers[triangle(x) + y]
    }

    /// The weight of the items with both classifiers' outputs, up to a common factor.
    pub(super) fn pair_weight(&self, k: usize, m: usize) -> f64 {
        if !self.layout.counts_pairs {
            return 1.0;
        }
        let place = triangle(self.layout.width) + triangle(k.max(m)) + k.min(m);
        self.numbers[place].max(f64::MIN_POSITIVE)
    }
}

impl Layout {
    fn sum(self, logs: &CentredLogs<'_>, items: &[u32]) -> Vec<f64> {
        let (mut numbers, mut row) = (vec![0.0; self.len()], vec![0.0; self.width]);
        for item in items.iter().map(|item| *item as usize) {
            logs.write(item, &mut row);
            let weight = logs.outputs.weight(item);
            let present = |k: usize| f64::from(u8::from(logs.outputs.output(item, k).is_some()));
            numbers.iter_mut().zip(&row).for_each(|(sum, log)| *sum += weight * log);
            for k in 0..self.n_classifiers {
                numbers[self.width + k] += weight * present(k);
            }
            let products = &mut numbers[self.products()..];
            for (x, log) in row.iter().enumerate() {
                let cells = products[triangle(x)..].iter_mut().zip(&row[..=x]);
                cells.for_each(|(sum, other)| *sum += weight * log * other);
            }
            if self.counts_pairs {
                let pairs = (0..self.n_classifiers).flat_map(|k| (0..=k).map(move |m| (k, m)));
                for (cell, (k, m)) in numbers[self.pairs()..].iter_mut().zip(pairs) {
                    *cell += weight * present(k) * present(m);
                }
            }
        }
        numbers
    }
}

/// The items of every group: one item each if there are few, else the items of a class in turn. The
/// groups are in the order of their first items, so that names and order of classes do not matter.
fn deal(labels: &[usize], n_classes: usize, most: usize) -> Vec<Vec<u32>> {
    let mut counts = vec![0usize; n_classes];
    labels.iter().for_each(|class| counts[*class] += 1);
    let n_groups: Vec<usize> =
        counts.iter().map(|n| (n * most).div_ceil(labels.len()).clamp(1, (*n).max(1))).collect();
    let mut of_class = vec![Vec::new(); n_classes];
    let mut dealt = vec![0usize; n_classes];
    let mut groups: Vec<Vec<u32>> = Vec::new();
    for (item, &class) in (0..).zip(labels) {
        let place = dealt[class] % n_groups[class];
        dealt[class] += 1;
        if of_class[class].len() == place {
            of_class[class].push(groups.len());
            groups.push(Vec::new());
        }
        let group: usize = of_class[class][place];
        groups[group].push(item);
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_items_are_their_own_groups_and_many_are_dealt_in_turn() {
        assert_eq!(deal(&[1, 0, 1], 2, 10), [[0], [1], [2]]);
        let groups = deal(&[0, 1, 0, 0, 1, 0, 0, 0], 2, 4);
        assert_eq!(groups, [[0, 5], [1, 4], [2, 6], [3, 7]]);
        // Other numbers for the classes make the same groups.
        assert_eq!(deal(&[1, 0, 1, 1, 0, 1, 1, 1], 2, 4), groups);
    }
}
