//! Evidence that is linear in the logarithms of the outputs: what Dirichlets come down to.

use pulp::{Simd, WithSimd};

use super::block::{Block, Logs};
use crate::data::outputs::Items;
use crate::formula::{Formula, Matrix, Value};
use consilience_numerics::instructions::instructions;
use consilience_numerics::vector;

/// cₖⱼ + Σₗ Cₖⱼₗ ln xᵏₗ for every class j, summed over the classifiers k that are present.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LogLinear {
    n_classifiers: usize,
    n_classes: usize,
    /// cₖⱼ at k·J + j.
    constants: Vec<f64>,
    /// Cₖⱼₗ at (k·J + j)·J + l.
    coefficients: Vec<f64>,
    /// The largest |Cₖⱼₗ| over j, at k·J + l: bounds the terms for the error estimate.
    bounds: Vec<f64>,
    /// The size of the terms that the constants are made of.
    constant_bound: f64,
}

impl LogLinear {
    /// `constant_size` bounds the terms that the constants are differences of: their rounding
    /// stays when the terms cancel.
    pub(super) fn new(
        n_classes: usize,
        constants: Vec<f64>,
        coefficients: Vec<f64>,
        constant_size: f64,
    ) -> Self {
        let n_classifiers = constants.len() / n_classes;
        let largest =
            |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, |a, b| b.abs().max(a));
        let bounds: Vec<f64> = (0..n_classifiers * n_classes)
            .map(|column| {
                let (k, l) = (column / n_classes, column % n_classes);
                let row = |j: usize| coefficients[(k * n_classes + j) * n_classes + l];
                largest(&mut (0..n_classes).map(row))
            })
            .collect();
        // An output may itself be off by a unit in the last place: |C| of them in the logarithm.
        let constant_bound = constant_size + bounds.iter().sum::<f64>();
        Self { n_classifiers, n_classes, constants, coefficients, bounds, constant_bound }
    }

    /// The evidence of one classifier's output, given its logarithms.
    pub(super) fn of_output(&self, classifier: usize, logs: &[f64], evidence: &mut [f64]) {
        let j = self.n_classes;
        for (t, evidence) in evidence.iter_mut().enumerate() {
            let row = classifier * j + t;
            let products = self.coefficients[row * j..][..j].iter().zip(logs).map(|(c, l)| c * l);
            *evidence = self.constants[row] + products.sum::<f64>();
        }
    }

    /// The same with every classifier's part multiplied by its weight.
    pub(super) fn weighted(&self, weights: &[f64]) -> Self {
        let sizes: Vec<f64> = weights.iter().map(|weight| weight.abs()).collect();
        let per_classifier = |values: &[f64], weights: &[f64]| -> Vec<f64> {
            let parts = values.chunks(values.len() / self.n_classifiers).zip(weights);
            parts.flat_map(|(part, weight)| part.iter().map(move |v| weight * v)).collect()
        };
        let largest = sizes.iter().fold(0.0f64, |a, b| a.max(*b));
        Self {
            constants: per_classifier(&self.constants, weights),
            coefficients: per_classifier(&self.coefficients, weights),
            bounds: per_classifier(&self.bounds, &sizes),
            constant_bound: largest * self.constant_bound,
            ..*self
        }
    }

    /// The evidence of every classifier for every class, K × J, as a formula of the logarithms of
    /// its outputs, K × J.
    pub(super) fn formula(&self, formula: &mut Formula, logs: Value) -> Value {
        let coefficients = Matrix::new(self.n_classes, self.coefficients.clone());
        let products = formula.per_classifier(coefficients, logs);
        let constants = formula.constant(Matrix::new(self.n_classes, self.constants.clone()));
        formula.add(products, constants)
    }

    /// The evidence of every classifier alone, column by column like the logarithms, of which
    /// each column has `stride` numbers.
    pub(super) fn write_columns(&self, logs: &[f64], columns: &mut [f64], stride: usize) {
        instructions().dispatch(WriteColumns { evidence: self, logs, columns, stride });
    }

    /// Adds the errors of the evidence to the block, without the evidence, if they are wanted.
    pub(super) fn add_errors_to(&self, block: &mut Block) {
        if !block.errors_wanted() {
            return;
        }
        let (_, errors, logs) = block.with_logs();
        instructions().dispatch(AddErrors { evidence: self, errors, logs });
    }

    /// Adds the evidence of all items to the block; the logarithms must have been loaded.
    pub(super) fn add_to(&self, block: &mut Block) {
        let errors_wanted = block.errors_wanted();
        let (values, errors, logs) = block.with_logs();
        let errors = errors_wanted.then_some(errors);
        instructions().dispatch(AddEvidence { evidence: self, values, errors, logs });
    }
}

/// Kernel: the evidence of every classifier for every class.
struct WriteColumns<'a> {
    evidence: &'a LogLinear,
    logs: &'a [f64],
    columns: &'a mut [f64],
    stride: usize,
}

impl WithSimd for WriteColumns<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let LogLinear { n_classes, constants, coefficients, .. } = self.evidence;
        let logs = S::as_simd_f64s(self.logs).0;
        let columns = S::as_mut_simd_f64s(self.columns).0;
        let n = columns.len() * self.stride / self.logs.len();
        for (row, column) in columns.chunks_exact_mut(n).enumerate() {
            column.fill(simd.splat_f64s(0.0));
            let coefficients = &coefficients[row * n_classes..][..*n_classes];
            let logs = &logs[row / n_classes * n_classes * n..];
            add_products(simd, column, constants[row], coefficients, logs);
        }
    }
}

/// Kernel: the rounding error of the evidence, estimated as a few units in the last place of the
/// sum of all absolute terms.
struct AddErrors<'a> {
    evidence: &'a LogLinear,
    errors: &'a mut [f64],
    logs: Logs<'a>,
}

impl WithSimd for AddErrors<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { evidence, errors, logs } = self;
        let logs = S::as_simd_f64s(logs.all()).0;
        let errors = S::as_mut_simd_f64s(errors).0;
        let n = errors.len();
        let unit = f64::EPSILON * (2.0 + (evidence.bounds.len() as f64).sqrt());
        let mut constant = unit * evidence.constant_bound;
        let mut bounds = [0.0; COLUMNS];
        for (first, chunk) in (0..).step_by(COLUMNS).zip(evidence.bounds.chunks(COLUMNS)) {
            bounds.iter_mut().zip(chunk).for_each(|(scaled, bound)| *scaled = -unit * bound);
            let constant = std::mem::take(&mut constant);
            add_products(simd, errors, constant, &bounds[..chunk.len()], &logs[first * n..]);
        }
    }
}

/// Kernel: the evidence and, if wanted, its rounding error. (See `block.rs` on why kernels are types.)
struct AddEvidence<'a> {
    evidence: &'a LogLinear,
    values: &'a mut [f64],
    errors: Option<&'a mut [f64]>,
    logs: Logs<'a>,
}

impl WithSimd for AddEvidence<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let evidence = self.evidence;
        let n_classes = evidence.n_classes;
        let logs = S::as_simd_f64s(self.logs.all()).0;
        let values = S::as_mut_simd_f64s(self.values).0;
        let n = values.len() / n_classes;
        for (j, values) in values.chunks_exact_mut(n).enumerate() {
            for k in 0..evidence.n_classifiers {
                let row = k * n_classes + j;
                let constant = evidence.constants[row];
                let constant = match self.logs.presence(k) {
                    None => constant,
                    Some(presence) => {
                        let constant = simd.splat_f64s(constant);
                        for (value, present) in values.iter_mut().zip(S::as_simd_f64s(presence).0) {
                            *value = vector::fma(simd, constant, *present, *value);
                        }
                        0.0
                    }
                };
                let coefficients = &evidence.coefficients[row * n_classes..][..n_classes];
                let logs = &logs[k * n_classes * n..];
                add_products(simd, values, constant, coefficients, logs);
            }
        }
        if let Some(errors) = self.errors {
            AddErrors { evidence, errors, logs: self.logs }.with_simd(simd);
        }
    }
}

/// Columns whose error bounds are scaled at a time.
const COLUMNS: usize = 9;

/// values += constant + Σₗ coefficients[l] · logs[l·n..][..n] with n values, in this order; three
/// columns in one pass over the values.
#[inline(always)]
fn add_products<S: Simd>(
    simd: S,
    values: &mut [S::f64s],
    constant: f64,
    coefficients: &[f64],
    logs: &[S::f64s],
) {
    let n = values.len();
    let column = |l: usize| &logs[l * n..][..n];
    // 0 · ln 0 would be no evidence, but NaN.
    let factors = coefficients.iter().enumerate().filter(|(_, c)| **c != 0.0);
    let mut factors = factors.map(|(l, c)| (simd.splat_f64s(*c), column(l))).peekable();
    if factors.peek().is_none() {
        let constant = simd.splat_f64s(constant);
        values.iter_mut().for_each(|value| *value = simd.add_f64s(*value, constant));
    }
    let mut start = simd.splat_f64s(constant);
    while let Some((c, xs)) = factors.next() {
        let Some((d, ys)) = factors.next() else {
            for (value, x) in values.iter_mut().zip(xs) {
                *value = vector::fma(simd, c, *x, simd.add_f64s(*value, start));
            }
            return;
        };
        let Some((e, zs)) = factors.next() else {
            for ((value, x), y) in values.iter_mut().zip(xs).zip(ys) {
                let sum = vector::fma(simd, c, *x, simd.add_f64s(*value, start));
                *value = vector::fma(simd, d, *y, sum);
            }
            return;
        };
        for (((value, x), y), z) in values.iter_mut().zip(xs).zip(ys).zip(zs) {
            let sum = vector::fma(simd, c, *x, simd.add_f64s(*value, start));
            *value = vector::fma(simd, e, *z, vector::fma(simd, d, *y, sum));
        }
        start = simd.splat_f64s(0.0);
    }
}

/// Loads the logarithms of `items` and adds the evidence.
pub(super) fn add_evidence(evidence: &LogLinear, items: &Items<'_>, block: &mut Block) {
    block.load_logs(items);
    evidence.add_to(block);
}
