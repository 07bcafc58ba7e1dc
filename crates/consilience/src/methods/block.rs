//! A block of items in the layout that vector instructions need: class by class.

use pulp::{Simd, WithSimd};

use super::log_linear::LogLinear;
use super::softmax::SoftmaxColumns;
use crate::data::outputs::Items;
use crate::data::schema::Schema;
use crate::math::aligned::AlignedBuffer;
use crate::math::transpose::{LANES, ToRows, to_columns};
use consilience_numerics::instructions::instructions;
use consilience_numerics::log_space::log_sum_exp;
use consilience_numerics::vector;

/// Room for the log weights of some items, reused from block to block.
///
/// Values are stored class by class: all items' weights of the first class, then of the second.
/// Every such row is padded to whole vectors.
#[derive(Debug, Default)]
pub struct Block {
    n_items: usize,
    n_classes: usize,
    stride: usize,
    values: AlignedBuffer,
    errors: AlignedBuffer,
    /// Whether the rounding errors of evidence are left out, because they are of no use.
    skips_errors: bool,
    /// Whether the logarithms are those of the present items.
    has_logs: bool,
    logs: AlignedBuffer,
    present: AlignedBuffer,
    /// The evidence of every classifier for every class, and the probabilities: columns like the
    /// logarithms, for rules that read them.
    evidence: AlignedBuffer,
    probabilities: AlignedBuffer,
    /// The sum of the weighted probabilities of a mixture's members.
    mixture: AlignedBuffer,
}

/// Doubles of one block's logarithms: with the block's raw numbers, checked ones and results they
/// share a first-level cache (two classifiers, three classes: 14 ns per item, 19 ns with 1024).
const LOGS_PER_BLOCK: usize = 384;

impl Block {
    /// How many items make a good block.
    pub(super) fn preferred_size(schema: &Schema) -> usize {
        let fitting = LOGS_PER_BLOCK / schema.width();
        (fitting / LANES * LANES).clamp(2 * LANES, 256)
    }

    /// A block whose errors will be read only if they are wanted.
    pub(super) fn new(errors_wanted: bool) -> Self {
        Self { skips_errors: !errors_wanted, ..Self::default() }
    }

    /// Whether rounding errors of evidence are of use.
    pub(super) fn errors_wanted(&self) -> bool {
        !self.skips_errors
    }

    /// Makes room for these items and sets everything to 0.
    pub(super) fn reset(&mut self, items: &Items<'_>) {
        (self.n_items, self.n_classes) = (items.len(), items.n_classes());
        self.stride = self.n_items.next_multiple_of(LANES);
        self.values.resize(self.stride * self.n_classes);
        self.errors.resize(self.stride);
        self.has_logs = false;
        self.clear();
    }

    /// Sets values and errors back to 0, keeping the loaded logarithms.
    pub(super) fn clear(&mut self) {
        self.values.fill(0.0);
        self.errors.fill(0.0);
    }

    /// Overwrites values and errors, padding included.
    pub(super) fn fill(&mut self, values: &[f64], errors: &[f64]) {
        self.values.copy_from_slice(values);
        self.errors[..errors.len()].copy_from_slice(errors);
    }

    /// All values, class by class, padding included.
    pub(super) fn values(&self) -> &[f64] {
        &self.values
    }

    /// The values of one class, one per item.
    pub fn class_mut(&mut self, class: usize) -> &mut [f64] {
        &mut self.values[class * self.stride..][..self.n_items]
    }

    /// The estimated absolute error of each item's values.
    pub fn errors(&self) -> &[f64] {
        &self.errors[..self.n_items]
    }

    /// The same, to be written.
    pub fn errors_mut(&mut self) -> &mut [f64] {
        &mut self.errors[..self.n_items]
    }

    /// Writes the values of one item, and their error.
    pub(super) fn set_item(&mut self, item: usize, values: &[f64], error: f64) {
        for (class, value) in values.iter().enumerate() {
            self.values[class * self.stride + item] = *value;
        }
        self.errors[item] = error;
    }

    /// Copies the values and the error of another block's only item.
    pub(super) fn copy_item(&mut self, item: usize, other: &Self) {
        for class in 0..self.n_classes {
            self.values[class * self.stride + item] = other.values[class * other.stride];
        }
        self.errors[item] = other.errors[0];
    }

    /// Adds one number per class.
    pub fn add_per_class(&mut self, numbers: &[f64]) {
        for (values, number) in self.values.chunks_exact_mut(self.stride).zip(numbers) {
            values.iter_mut().for_each(|value| *value += number);
        }
    }

    /// Replaces the values by one number per class.
    pub(super) fn start_with(&mut self, numbers: &[f64]) {
        for (values, number) in self.values.chunks_exact_mut(self.stride).zip(numbers) {
            values.fill(*number);
        }
    }

    /// Adds one number per item, the same for every class.
    pub(super) fn add_per_item(&mut self, number: impl Fn(usize) -> f64) {
        let rounding = 4.0 * f64::EPSILON;
        for item in 0..self.n_items {
            let number = number(item);
            for class in 0..self.n_classes {
                self.values[class * self.stride + item] += number;
            }
            self.errors[item] += rounding * number.abs();
        }
    }

    /// Takes the logarithms of the items' outputs, for [`Block::with_logs`]; once after a reset,
    /// so that many rules can look at the same items.
    pub(super) fn load_logs(&mut self, items: &Items<'_>) {
        if std::mem::replace(&mut self.has_logs, true) {
            return;
        }
        let (width, stride) = (items.n_classifiers() * items.n_classes(), self.stride);
        self.logs.resize(width * stride);
        let logs = &mut self.logs;
        instructions().dispatch(TakeLogs { values: items.values(), width, stride, logs });
        self.present.resize(0);
        if items.any_missing() {
            self.mark_missing(items);
        }
    }

    /// Turns the loaded logarithms into those of outputs that were raised to `floor` and
    /// renormalised: ln max(x, floor) − ln Σ max(x, floor).
    pub(super) fn raise_logs(&mut self, items: &Items<'_>, floor: f64) {
        #[expect(
            clippy::needless_bitwise_bool,
            reason = "no branch per value: whole vectors are compared"
        )]
        let any_below = items.values().iter().fold(false, |any, x| any | (*x < floor));
        if !any_below {
            return;
        }
        let (n_classes, stride, ln_floor) = (self.n_classes, self.stride, floor.ln());
        for (row, output) in items.values().chunks_exact(n_classes).enumerate() {
            // Missing outputs are NaN and never below the floor.
            if output.iter().any(|x| *x < floor) {
                let (item, k) = (row / items.n_classifiers(), row % items.n_classifiers());
                let ln_sum = output.iter().map(|x| x.max(floor)).sum::<f64>().ln();
                for l in 0..n_classes {
                    let log = &mut self.logs[(k * n_classes + l) * stride + item];
                    *log = log.max(ln_floor) - ln_sum;
                }
            }
        }
    }

    /// Missing outputs get logarithms of 0 and a 0 in `present`.
    fn mark_missing(&mut self, items: &Items<'_>) {
        let stride = self.stride;
        self.present.resize(items.n_classifiers() * stride);
        self.present.fill(1.0);
        for k in 0..items.n_classifiers() {
            for item in (0..self.n_items).filter(|&item| items.output(item, k).is_none()) {
                self.present[k * stride + item] = 0.0;
                for l in 0..self.n_classes {
                    self.logs[(k * self.n_classes + l) * stride + item] = 0.0;
                }
            }
        }
    }

    /// Hands out the values to be written, the errors and the loaded logarithms.
    pub(super) fn with_logs(&mut self) -> (&mut [f64], &mut [f64], Logs<'_>) {
        let logs = Logs { stride: self.stride, values: &self.logs, present: &self.present };
        (&mut self.values, &mut self.errors, logs)
    }

    /// Turns log weights into probabilities, item by item.
    pub(super) fn normalise(&mut self) {
        let (values, n_classes) = (&mut *self.values, self.n_classes);
        instructions().dispatch(SoftmaxColumns { values, n_classes, mixture: None });
    }

    /// The evidence of every classifier for every class, from the loaded logarithms.
    pub(super) fn load_evidence(&mut self, evidence: &LogLinear) {
        self.evidence.resize(self.logs.len());
        let (logs, columns) = (&*self.logs, &mut *self.evidence);
        evidence.write_columns(logs, columns, self.stride);
    }

    /// The exponentials of the loaded logarithms.
    pub(super) fn load_probabilities(&mut self) {
        self.probabilities.resize(self.logs.len());
        let (logs, columns) = (&*self.logs, &mut *self.probabilities);
        instructions().dispatch(TakeExponentials { logs, columns });
    }

    /// Hands out the values to be written and the loaded features.
    pub(super) fn with_features(&mut self) -> (&mut [f64], Features<'_>) {
        let features = Features {
            n_classes: self.n_classes,
            logs: &self.logs,
            evidence: &self.evidence,
            probabilities: &self.probabilities,
        };
        (&mut self.values, features)
    }

    /// Begins a mixture without members.
    pub(super) fn begin_mixture(&mut self) {
        self.mixture.resize(self.values.len());
        self.mixture.fill(0.0);
    }

    /// Adds a member with these log weights to the mixture; the values are of no use afterwards.
    pub(super) fn mix(&mut self, weight: f64) {
        let (values, n_classes) = (&mut *self.values, self.n_classes);
        let mixture = Some((&mut *self.mixture, weight));
        instructions().dispatch(SoftmaxColumns { values, n_classes, mixture });
    }

    /// The logarithms of the mixture.
    pub(super) fn ln_mixture(&mut self) {
        instructions().dispatch(LnMixture { values: &mut self.values, mixture: &self.mixture });
    }

    /// The mixture, normalised.
    pub(super) fn normalised_mixture(&mut self) {
        let (values, mixture, n_classes) = (&mut *self.values, &*self.mixture, self.n_classes);
        instructions().dispatch(NormaliseMixture { values, mixture, n_classes });
    }

    /// Ends a mixture: turns the errors of the members' log weights into those of the mixture.
    pub(super) fn end_mixture(&mut self) {
        // Normalising an error e of log weights makes 2e of log probabilities at most.
        self.errors.iter_mut().for_each(|error| *error = 2.0 * *error + 8.0 * f64::EPSILON);
    }

    /// Turns log weights into log probabilities, item by item.
    pub(super) fn ln_normalise(&mut self) {
        for item in 0..self.stride {
            let column = self.values.iter().skip(item).step_by(self.stride);
            let total = log_sum_exp(&column.copied().collect::<Vec<f64>>());
            self.values.iter_mut().skip(item).step_by(self.stride).for_each(|v| *v -= total);
        }
    }

    /// Copies the values out, item by item.
    pub(super) fn store(&self, rows: &mut [f64]) {
        let (columns, stride, width) = (&*self.values, self.stride, self.n_classes);
        instructions().dispatch(ToRows { columns, stride, width, rows });
    }
}

/// The logarithms of a block's outputs, column by column, padded.
#[derive(Clone, Copy)]
pub(super) struct Logs<'a> {
    stride: usize,
    values: &'a [f64],
    present: &'a [f64],
}

impl<'a> Logs<'a> {
    /// All items' logarithms, column by column (classifier · J + class); 0 where missing.
    pub(super) fn all(&self) -> &'a [f64] {
        self.values
    }

    /// 1 where the classifier is present, 0 where it is missing; `None` if nothing is missing.
    pub(super) fn presence(&self, classifier: usize) -> Option<&'a [f64]> {
        (!self.present.is_empty()).then(|| &self.present[classifier * self.stride..][..self.stride])
    }
}

/// What rules read of a block's outputs, column by column (classifier · J + class), padded.
#[derive(Clone, Copy)]
pub(super) struct Features<'a> {
    pub(super) n_classes: usize,
    /// Logarithms.
    pub(super) logs: &'a [f64],
    /// Evidence; empty if it was not loaded.
    pub(super) evidence: &'a [f64],
    /// Probabilities; empty if they were not loaded.
    pub(super) probabilities: &'a [f64],
}

// The kernels below are types and not closures because the compiler must inline them into the
// function that `pulp` compiles for the processor's vectors, and only a method can demand that.
// Every one runs over whole vectors: rows of a block are padded to `LANES` items.

/// Logarithms of row-major values, column by column; 0 counts as the smallest normal double.
struct TakeLogs<'a> {
    values: &'a [f64],
    width: usize,
    stride: usize,
    logs: &'a mut [f64],
}

impl WithSimd for TakeLogs<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let smallest = simd.splat_f64s(f64::MIN_POSITIVE);
        to_columns(self.values, self.width, self.stride, self.logs);
        for log in S::as_mut_simd_f64s(self.logs).0 {
            *log = vector::ln(simd, simd.max_f64s(*log, smallest));
        }
    }
}

/// Exponentials of all logarithms.
struct TakeExponentials<'a> {
    logs: &'a [f64],
    columns: &'a mut [f64],
}

impl WithSimd for TakeExponentials<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let columns = S::as_mut_simd_f64s(self.columns).0;
        for (x, log) in columns.iter_mut().zip(S::as_simd_f64s(self.logs).0) {
            *x = vector::exp(simd, *log);
        }
    }
}

/// The logarithm of a table of probabilities; 0 counts as the smallest normal double.
struct LnMixture<'a> {
    values: &'a mut [f64],
    mixture: &'a [f64],
}

impl WithSimd for LnMixture<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let smallest = simd.splat_f64s(f64::MIN_POSITIVE);
        let mixture = S::as_simd_f64s(self.mixture).0;
        for (value, sum) in S::as_mut_simd_f64s(self.values).0.iter_mut().zip(mixture) {
            *value = vector::ln(simd, simd.max_f64s(*sum, smallest));
        }
    }
}

/// Divides the mixture of every item by its sum.
struct NormaliseMixture<'a> {
    values: &'a mut [f64],
    mixture: &'a [f64],
    n_classes: usize,
}

impl WithSimd for NormaliseMixture<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let mixture = S::as_simd_f64s(self.mixture).0;
        let values = S::as_mut_simd_f64s(self.values).0;
        let n = values.len() / self.n_classes;
        for item in 0..n {
            let mut sum = mixture[item];
            for class in 1..self.n_classes {
                sum = simd.add_f64s(sum, mixture[class * n + item]);
            }
            let scale = simd.div_f64s(simd.splat_f64s(1.0), sum);
            for class in 0..self.n_classes {
                values[class * n + item] = simd.mul_f64s(mixture[class * n + item], scale);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{InputFormat, OutputsBuilder, Schema};

    #[test]
    fn infinite_weights_share_the_mass() {
        let padded = |rows: &[f64]| {
            let columns = (0..2).flat_map(|j| (0..8).map(move |i| (i, j)));
            columns.map(|(i, j)| rows.get(2 * i + j).copied().unwrap_or(0.0)).collect::<Vec<f64>>()
        };
        let (plus, minus) = (f64::INFINITY, f64::NEG_INFINITY);
        let mut values = vec![plus, plus, 1.0, 0.0, minus, minus];
        let mut block = Block { n_items: 3, n_classes: 2, stride: 8, ..Block::default() };
        block.values.resize(16);
        block.values.copy_from_slice(&padded(&values));
        block.normalise();
        block.store(&mut values);
        let e = 1f64.exp();
        let expected = [0.5, 0.5, e / (1.0 + e), 1.0 / (1.0 + e), 0.5, 0.5];
        assert!(values.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-15), "{values:?}");
    }

    #[test]
    fn missing_outputs_have_neutral_logs() {
        let schema = Schema::new(["a", "b"], ["x", "y"]).unwrap();
        let mut builder = OutputsBuilder::new(schema, InputFormat::default()).unwrap();
        builder.push(&[0.25, 0.75, f64::NAN, f64::NAN], None).unwrap();
        builder.push(&[0.5, 0.5, 0.5, 0.5], None).unwrap();
        let outputs = builder.finish();
        let mut block = Block::default();
        block.reset(&outputs.all());
        block.load_logs(&outputs.all());
        let (_, _, logs) = block.with_logs();
        assert!((logs.all()[0] - 0.25f64.ln()).abs() < 1e-15);
        assert_eq!(logs.all()[16], 0.0);
        assert_eq!(logs.presence(1).unwrap()[..2], [0.0, 1.0]);
    }
}
