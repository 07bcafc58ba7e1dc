//! A block of items in the layout that vector instructions like: class by class.

use crate::math::log_space::log_sum_exp;
use crate::math::vector;
use crate::outputs::Items;

/// Room for the log weights of some items, reused from block to block.
///
/// Values are stored class by class: all items' weights of the first class, then of the second.
#[derive(Debug, Default)]
pub struct Block {
    n_items: usize,
    n_classes: usize,
    values: Vec<f64>,
    errors: Vec<f64>,
    logs: Vec<f64>,
    present: Vec<f64>,
    scratch: Vec<f64>,
}

/// Doubles of one block's logarithms: what fits into a first-level cache with room to spare.
const LOGS_PER_BLOCK: usize = 2048;

impl Block {
    /// How many items make a good block.
    pub(super) fn preferred_size(items: &Items<'_>) -> usize {
        (LOGS_PER_BLOCK / (items.n_classifiers() * items.n_classes())).clamp(16, 256)
    }

    /// Makes room for these items and sets everything to 0.
    pub(super) fn reset(&mut self, items: &Items<'_>) {
        (self.n_items, self.n_classes) = (items.len(), items.n_classes());
        self.values.clear();
        self.values.resize(self.n_items * self.n_classes, 0.0);
        self.errors.clear();
        self.errors.resize(self.n_items, 0.0);
    }

    /// Sets values and errors back to 0, keeping the loaded logarithms.
    pub(super) fn clear(&mut self) {
        self.values.fill(0.0);
        self.errors.fill(0.0);
    }

    /// Overwrites values and errors.
    pub(super) fn fill(&mut self, values: &[f64], errors: &[f64]) {
        self.values.copy_from_slice(values);
        self.errors.copy_from_slice(errors);
    }

    /// All values, class by class.
    pub(super) fn values(&self) -> &[f64] {
        &self.values
    }

    /// The values of one class, one an item.
    pub fn class_mut(&mut self, class: usize) -> &mut [f64] {
        &mut self.values[class * self.n_items..(class + 1) * self.n_items]
    }

    /// The estimated absolute error of each item's values.
    pub fn errors(&self) -> &[f64] {
        &self.errors
    }

    /// The same, to be written.
    pub fn errors_mut(&mut self) -> &mut [f64] {
        &mut self.errors
    }

    /// Adds one number a class.
    pub fn add_per_class(&mut self, numbers: &[f64]) {
        for (values, number) in self.values.chunks_exact_mut(self.n_items).zip(numbers) {
            values.iter_mut().for_each(|value| *value += number);
        }
    }

    /// Takes the logarithms of the items' outputs, for [`Block::with_logs`].
    pub(super) fn load_logs(&mut self, items: &Items<'_>) {
        let (n, width) = (self.n_items, items.n_classifiers() * items.n_classes());
        self.logs.resize(width * n, 0.0);
        self.present.clear();
        pulp::Arch::new().dispatch(|| take_logs(items.values(), width, &mut self.logs));
        if items.any_missing() {
            self.mark_missing(items);
        }
    }

    /// Missing outputs get logarithms of 0 and a 0 in `present`.
    fn mark_missing(&mut self, items: &Items<'_>) {
        let n = self.n_items;
        self.present.resize(items.n_classifiers() * n, 1.0);
        for k in 0..items.n_classifiers() {
            for item in (0..n).filter(|&item| items.output(item, k).is_none()) {
                self.present[k * n + item] = 0.0;
                for l in 0..self.n_classes {
                    self.logs[(k * self.n_classes + l) * n + item] = 0.0;
                }
            }
        }
    }

    /// Hands out the values to be written, the errors and the loaded logarithms.
    pub(super) fn with_logs(&mut self) -> (&mut [f64], &mut [f64], Logs<'_>) {
        let logs = Logs { n: self.n_items, logs: &self.logs, present: &self.present };
        (&mut self.values, &mut self.errors, logs)
    }

    /// Turns log weights into probabilities, item by item.
    pub(super) fn normalise(&mut self) {
        let Self { n_items, values, scratch, .. } = self;
        scratch.resize(2 * *n_items, 0.0);
        let (max, sum) = scratch.split_at_mut(*n_items);
        pulp::Arch::new().dispatch(|| softmax_columns(values, max, sum));
    }

    /// Turns log weights into log probabilities, item by item.
    pub(super) fn ln_normalise(&mut self) {
        for item in 0..self.n_items {
            let column = |values: &[f64]| -> Vec<f64> {
                values.iter().skip(item).step_by(self.n_items).copied().collect()
            };
            let total = log_sum_exp(&column(&self.values));
            self.values.iter_mut().skip(item).step_by(self.n_items).for_each(|v| *v -= total);
        }
    }

    /// Copies the values out, item by item.
    pub(super) fn store(&self, rows: &mut [f64]) {
        for (class, values) in self.values.chunks_exact(self.n_items).enumerate() {
            let cells = rows.iter_mut().skip(class).step_by(self.n_classes);
            cells.zip(values).for_each(|(cell, value)| *cell = *value);
        }
    }
}

/// The logarithms of a block's outputs.
#[derive(Clone, Copy)]
pub(super) struct Logs<'a> {
    n: usize,
    logs: &'a [f64],
    present: &'a [f64],
}

impl<'a> Logs<'a> {
    /// All items' logarithms in one column (classifier · J + class); 0 where missing.
    pub(super) fn column(&self, column: usize) -> &'a [f64] {
        &self.logs[column * self.n..(column + 1) * self.n]
    }

    /// 1 where the classifier is present, 0 where it is missing; `None` if nothing is missing.
    pub(super) fn presence(&self, classifier: usize) -> Option<&'a [f64]> {
        let range = classifier * self.n..(classifier + 1) * self.n;
        (!self.present.is_empty()).then(|| &self.present[range])
    }
}

#[inline(always)]
#[allow(clippy::inline_always)] // runs inside the vector dispatch
fn take_logs(values: &[f64], width: usize, logs: &mut [f64]) {
    let n = values.len() / width;
    for (column, logs) in logs.chunks_exact_mut(n).enumerate() {
        let cells = values[column..].iter().step_by(width);
        logs.iter_mut().zip(cells).for_each(|(log, value)| *log = *value);
        logs.iter_mut().for_each(|log| *log = vector::ln(*log));
    }
}

/// Softmax over classes of every item at once. Infinite weights (densities at exact ties) share
/// the mass among themselves; an item without any weight gets equal shares.
#[inline(always)]
#[allow(clippy::inline_always)] // runs inside the vector dispatch
fn softmax_columns(values: &mut [f64], max: &mut [f64], sum: &mut [f64]) {
    let n = max.len();
    max.fill(f64::NEG_INFINITY);
    for column in values.chunks_exact(n) {
        max.iter_mut().zip(column).for_each(|(max, v)| *max = if *v > *max { *v } else { *max });
    }
    sum.fill(0.0);
    for column in values.chunks_exact_mut(n) {
        for ((value, max), sum) in column.iter_mut().zip(max.iter()).zip(sum.iter_mut()) {
            let weight = vector::exp(*value - *max);
            *value = if *value == *max { 1.0 } else { weight };
            *sum += *value;
        }
    }
    for column in values.chunks_exact_mut(n) {
        column.iter_mut().zip(sum.iter()).for_each(|(value, sum)| *value /= *sum);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Intake, OutputsBuilder, Schema};

    #[test]
    fn infinite_weights_share_the_mass() {
        let mut values = vec![f64::INFINITY, 1.0, f64::NEG_INFINITY, f64::INFINITY, 0.0, f64::NEG_INFINITY];
        softmax_columns(&mut values, &mut [0.0; 3], &mut [0.0; 3]);
        let e = 1f64.exp();
        let expected = [0.5, e / (1.0 + e), 0.5, 0.5, 1.0 / (1.0 + e), 0.5];
        assert!(values.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-15), "{values:?}");
    }

    #[test]
    fn missing_outputs_have_neutral_logs() {
        let schema = Schema::new(["a", "b"], ["x", "y"]).unwrap();
        let mut builder = OutputsBuilder::new(schema, Intake::default()).unwrap();
        builder.push(&[0.25, 0.75, f64::NAN, f64::NAN], None).unwrap();
        builder.push(&[0.5, 0.5, 0.5, 0.5], None).unwrap();
        let outputs = builder.finish();
        let mut block = Block::default();
        block.reset(&outputs.all());
        block.load_logs(&outputs.all());
        let (_, _, logs) = block.with_logs();
        assert_eq!(logs.column(0)[0], 0.25f64.ln());
        assert_eq!(logs.column(2)[0], 0.0);
        assert_eq!(logs.presence(1).unwrap(), [0.0, 1.0]);
    }
}
