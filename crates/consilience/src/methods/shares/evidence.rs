//! Sums of products of the classifiers' evidence within true classes, by passes over blocks of items.

use std::sync::Arc;

use crate::data::outputs::Outputs;
use crate::error::Result;
use crate::math::columns::{add_products, add_scaled, dot, set_products};
use crate::math::transpose::LANES;
use crate::methods::Block;
use crate::methods::independent::{Alpha, IndependentFusion};
use crate::progress::Progress;

/// Sums of products over the items that have two classifiers' outputs, and their weight.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Products {
    pub(super) own: [f64; 2],
    pub(super) cross: f64,
    pub(super) items: f64,
}

/// The products of all pairs (k, m) with m ≤ k, of evidence that is centred over classes and around
/// the mean of the item's true class.
pub(super) fn products(
    outputs: &Outputs,
    alpha: &Alpha,
    progress: &dyn Progress,
) -> Result<Vec<Products>> {
    if outputs.n_labelled() < outputs.n_items().max(1) {
        outputs.require_labels()?; // names the item without a label
    }
    let dirichlets = IndependentFusion::new(Arc::clone(outputs.schema()), alpha.clone())?;
    let mut table = Table::new(outputs, &dirichlets);
    let means = table.means(progress)?;
    table.products(&means, progress)
}

/// Doubles of one block.
const BLOCK: usize = 1 << 15;

/// The evidence of one block of items after another.
struct Table<'a> {
    outputs: &'a Outputs,
    dirichlets: &'a IndependentFusion,
    n_sources: usize,
    n_classes: usize,
    /// The evidence of a block, column by column (classifier · J + class); 0 where an output is missing.
    values: Vec<f64>,
    /// The weights of the items, and 0 in the padding; for every classifier the same, 0 where its
    /// output is missing.
    weights: Vec<f64>,
    present: Vec<f64>,
}

impl<'a> Table<'a> {
    fn new(outputs: &'a Outputs, dirichlets: &'a IndependentFusion) -> Self {
        let (n_sources, n_classes) =
            (outputs.schema().n_classifiers(), outputs.schema().n_classes());
        let (values, weights, present) = (Vec::new(), Vec::new(), Vec::new());
        Self { outputs, dirichlets, n_sources, n_classes, values, weights, present }
    }

    /// Hands every block to `f` with the labels of its items.
    fn for_blocks(
        &mut self,
        progress: &dyn Progress,
        mut f: impl FnMut(&mut Self, &[usize]),
    ) -> Result<()> {
        let size = (BLOCK / (self.n_sources * self.n_classes) / LANES * LANES).clamp(LANES, 256);
        let (mut block, mut labels) = (Block::default(), Vec::new());
        for first in (0..self.outputs.n_items()).step_by(size) {
            progress.check()?;
            let end = (first + size).min(self.outputs.n_items());
            labels.clear();
            labels.extend((first..end).filter_map(|item| self.outputs.label(item)));
            self.load(first, end, &mut block);
            f(self, &labels);
        }
        Ok(())
    }

    fn load(&mut self, first: usize, end: usize, block: &mut Block) {
        let items = self.outputs.items(first..end);
        block.reset(&items);
        block.load_logs(&items);
        block.load_evidence(self.dirichlets.evidence());
        let (_, features) = block.with_features();
        self.values.clear();
        self.values.extend_from_slice(features.evidence);
        let stride = self.values.len() / (self.n_sources * self.n_classes);
        self.weights.clear();
        self.weights.extend((first..end).map(|item| self.outputs.weight(item)));
        self.weights.resize(stride, 0.0);
        self.present.clear();
        for (k, own) in self.values.chunks_exact_mut(self.n_classes * stride).enumerate() {
            let mut mean = vec![0.0; stride];
            let share = 1.0 / self.n_classes as f64;
            own.chunks_exact(stride).for_each(|column| add_scaled(&mut mean, share, column));
            own.chunks_exact_mut(stride).for_each(|column| add_scaled(column, -1.0, &mean));
            let is_present = |i: usize| i < items.len() && items.output(i, k).is_some();
            let start = self.present.len();
            self.present.extend((0..stride).map(|i| f64::from(u8::from(is_present(i)))));
            let present = &self.present[start..];
            for column in own.chunks_exact_mut(stride) {
                column.iter_mut().zip(present).for_each(|(value, p)| *value *= p);
            }
        }
    }

    /// The mean evidence of the items of every class, at class · K·J + column.
    fn means(&mut self, progress: &dyn Progress) -> Result<Vec<f64>> {
        let width = self.n_sources * self.n_classes;
        let mut sums = vec![0.0; width * self.n_classes];
        let mut counts = vec![0.0f64; self.n_sources * self.n_classes];
        self.for_blocks(progress, |table, labels| {
            let stride = table.weights.len();
            for (c, column) in table.values.chunks_exact(stride).enumerate() {
                for ((value, weight), label) in column.iter().zip(&table.weights).zip(labels) {
                    sums[label * width + c] += weight * value;
                }
            }
            for (k, present) in table.present.chunks_exact(stride).enumerate() {
                for ((p, weight), label) in present.iter().zip(&table.weights).zip(labels) {
                    counts[label * table.n_sources + k] += weight * p;
                }
            }
        })?;
        let counts = counts.iter().flat_map(|count| std::iter::repeat_n(count, self.n_classes));
        sums.iter_mut().zip(counts).for_each(|(sum, n)| *sum /= n.max(f64::MIN_POSITIVE));
        Ok(sums)
    }

    /// The products of the evidence around these means.
    fn products(&mut self, means: &[f64], progress: &dyn Progress) -> Result<Vec<Products>> {
        let (n_sources, n_classes) = (self.n_sources, self.n_classes);
        let width = n_sources * n_classes;
        let mut products = vec![Products::default(); n_sources * (n_sources + 1) / 2];
        self.for_blocks(progress, |table, labels| {
            let stride = table.weights.len();
            let present = |k: usize| &table.present[k * stride..][..stride];
            for (c, column) in table.values.chunks_exact_mut(stride).enumerate() {
                for ((value, p), label) in column.iter_mut().zip(present(c / n_classes)).zip(labels)
                {
                    *value -= p * means[label * width + c];
                }
            }
            let own = |k: usize| &table.values[k * n_classes * stride..][..n_classes * stride];
            let product = |k: usize, m: usize| {
                let mut sum = vec![0.0; stride];
                for (a, b) in own(k).chunks_exact(stride).zip(own(m).chunks_exact(stride)) {
                    add_products(&mut sum, a, b);
                }
                sum
            };
            let squares: Vec<Vec<f64>> = (0..n_sources).map(|k| product(k, k)).collect();
            let mut weights = vec![0.0; stride];
            let pairs = (0..n_sources).flat_map(|k| (0..=k).map(move |m| (k, m)));
            for ((k, m), sums) in pairs.zip(&mut products) {
                set_products(&mut weights, present(k), present(m));
                weights.iter_mut().zip(&table.weights).for_each(|(both, weight)| *both *= weight);
                sums.items += weights.iter().sum::<f64>();
                sums.own[0] += dot(&weights, &squares[k]);
                sums.own[1] += dot(&weights, &squares[m]);
                sums.cross += dot(&weights, &product(k, m));
            }
        })?;
        Ok(products)
    }
}
