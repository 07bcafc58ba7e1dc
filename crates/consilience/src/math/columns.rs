//! Sums and products of columns.
//!
//! All columns of a call have the same length, a multiple of [`LANES`](super::transpose::LANES), so that
//! every kernel runs over whole vectors.

use pulp::{Simd, WithSimd};

use consilience_numerics::instructions::instructions;
use consilience_numerics::vector;

/// Σ aᵢ bᵢ.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    instructions().dispatch(Dot { a, b })
}

/// Σ aᵢ.
pub(crate) fn sum(a: &[f64]) -> f64 {
    instructions().dispatch(Sum { a })
}

/// Σ aᵢ bᵢ for every column b, which follow each other; handed to `take` with the number of the column.
pub(crate) fn dots(a: &[f64], columns: &[f64], mut take: impl FnMut(usize, f64)) {
    let n_columns = columns.len() / a.len().max(1);
    let groups = n_columns / 4 * 4;
    for first in (0..groups).step_by(4) {
        let columns = &columns[first * a.len()..][..4 * a.len()];
        let sums = instructions().dispatch(FourDots { a, columns });
        sums.into_iter().enumerate().for_each(|(i, sum)| take(first + i, sum));
    }
    (groups..n_columns).for_each(|i| take(i, dot(a, &columns[i * a.len()..][..a.len()])));
}

/// target += factor · column.
pub(crate) fn add_scaled(target: &mut [f64], factor: f64, column: &[f64]) {
    instructions().dispatch(AddScaled { target, factor, column });
}

/// target += a · b.
pub(crate) fn add_products(target: &mut [f64], a: &[f64], b: &[f64]) {
    instructions().dispatch(AddProducts { target, a, b });
}

/// target = a · b.
pub(crate) fn set_products(target: &mut [f64], a: &[f64], b: &[f64]) {
    instructions().dispatch(SetProducts { target, a, b });
}

/// Probabilities from log weights: softmax over the classes, class by class in memory, for every item. Writes the
/// logarithm of the sum of the weights to `ln_totals`.
pub(crate) fn softmax(weights: &[f64], probabilities: &mut [f64], ln_totals: &mut [f64]) {
    instructions().dispatch(Softmax { weights, probabilities, ln_totals });
}

/// The logarithm of the sum of exp(factor · value + constant) over the classes, for every item.
pub(crate) fn ln_sums(values: &[f64], factor: f64, constants: &[f64], ln_totals: &mut [f64]) {
    instructions().dispatch(LnSums { values, factor, constants, ln_totals });
}

/// ln max(x, smallest normal number) of every number.
pub(crate) fn ln_all(values: &mut [f64]) {
    instructions().dispatch(LnAll { values });
}

/// eˣ of every number.
pub(crate) fn exp_all(values: &mut [f64]) {
    instructions().dispatch(ExpAll { values });
}

// The kernels are types and not closures because the compiler must inline them into the function that `pulp` compiles
// for the processor's vectors, and only a method can demand that.

struct Dot<'a> {
    a: &'a [f64],
    b: &'a [f64],
}

impl WithSimd for Dot<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        let (a, b) = (S::as_simd_f64s(self.a).0, S::as_simd_f64s(self.b).0);
        // Four sums at a time, because an addition must wait for the one before.
        let mut sums = [simd.splat_f64s(0.0); 4];
        let (a_groups, b_groups) = (a.chunks_exact(4), b.chunks_exact(4));
        for (x, y) in a_groups.remainder().iter().zip(b_groups.remainder()) {
            sums[0] = vector::fma(simd, *x, *y, sums[0]);
        }
        for (x, y) in a_groups.zip(b_groups) {
            for lane in 0..4 {
                sums[lane] = vector::fma(simd, x[lane], y[lane], sums[lane]);
            }
        }
        let left = simd.add_f64s(sums[0], sums[1]);
        let right = simd.add_f64s(sums[2], sums[3]);
        simd.reduce_sum_f64s(simd.add_f64s(left, right))
    }
}

struct Sum<'a> {
    a: &'a [f64],
}

impl WithSimd for Sum<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        let mut sums = [simd.splat_f64s(0.0); 2];
        let groups = S::as_simd_f64s(self.a).0.chunks_exact(2);
        for x in groups.remainder() {
            sums[0] = simd.add_f64s(sums[0], *x);
        }
        for x in groups {
            sums[0] = simd.add_f64s(sums[0], x[0]);
            sums[1] = simd.add_f64s(sums[1], x[1]);
        }
        simd.reduce_sum_f64s(simd.add_f64s(sums[0], sums[1]))
    }
}

/// Four products at once, so that every number of `a` is read once.
struct FourDots<'a> {
    a: &'a [f64],
    columns: &'a [f64],
}

impl WithSimd for FourDots<'_> {
    type Output = [f64; 4];

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> [f64; 4] {
        let (a, columns) = (S::as_simd_f64s(self.a).0, S::as_simd_f64s(self.columns).0);
        let (first, rest) = columns.split_at(a.len());
        let (second, rest) = rest.split_at(a.len());
        let (third, fourth) = rest.split_at(a.len());
        let mut sums = [simd.splat_f64s(0.0); 4];
        let columns = first.iter().zip(second).zip(third.iter().zip(fourth));
        for (x, ((first, second), (third, fourth))) in a.iter().zip(columns) {
            sums[0] = vector::fma(simd, *x, *first, sums[0]);
            sums[1] = vector::fma(simd, *x, *second, sums[1]);
            sums[2] = vector::fma(simd, *x, *third, sums[2]);
            sums[3] = vector::fma(simd, *x, *fourth, sums[3]);
        }
        sums.map(|sum| simd.reduce_sum_f64s(sum))
    }
}

struct AddScaled<'a> {
    target: &'a mut [f64],
    factor: f64,
    column: &'a [f64],
}

impl WithSimd for AddScaled<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let factor = simd.splat_f64s(self.factor);
        let column = S::as_simd_f64s(self.column).0;
        for (target, x) in S::as_mut_simd_f64s(self.target).0.iter_mut().zip(column) {
            *target = vector::fma(simd, factor, *x, *target);
        }
    }
}

struct AddProducts<'a> {
    target: &'a mut [f64],
    a: &'a [f64],
    b: &'a [f64],
}

impl WithSimd for AddProducts<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (a, b) = (S::as_simd_f64s(self.a).0, S::as_simd_f64s(self.b).0);
        for ((target, x), y) in S::as_mut_simd_f64s(self.target).0.iter_mut().zip(a).zip(b) {
            *target = vector::fma(simd, *x, *y, *target);
        }
    }
}

struct SetProducts<'a> {
    target: &'a mut [f64],
    a: &'a [f64],
    b: &'a [f64],
}

impl WithSimd for SetProducts<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (a, b) = (S::as_simd_f64s(self.a).0, S::as_simd_f64s(self.b).0);
        for ((target, x), y) in S::as_mut_simd_f64s(self.target).0.iter_mut().zip(a).zip(b) {
            *target = simd.mul_f64s(*x, *y);
        }
    }
}

struct Softmax<'a> {
    weights: &'a [f64],
    probabilities: &'a mut [f64],
    ln_totals: &'a mut [f64],
}

impl WithSimd for Softmax<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let weights = S::as_simd_f64s(self.weights).0;
        let probabilities = S::as_mut_simd_f64s(self.probabilities).0;
        let ln_totals = S::as_mut_simd_f64s(self.ln_totals).0;
        let n = ln_totals.len();
        let n_classes = weights.len() / n;
        let underflow = simd.splat_f64s(vector::EXP_UNDERFLOW);
        let (zero, one) = (simd.splat_f64s(0.0), simd.splat_f64s(1.0));
        for (item, ln_total) in ln_totals.iter_mut().enumerate() {
            let mut max = simd.splat_f64s(f64::NEG_INFINITY);
            for class in 0..n_classes {
                max = simd.max_f64s(max, weights[class * n + item]);
            }
            let mut sum = zero;
            for class in 0..n_classes {
                let below = simd.sub_f64s(weights[class * n + item], max);
                let tiny = simd.less_than_f64s(below, underflow);
                let p = simd.select_f64s(tiny, zero, vector::exp(simd, below));
                probabilities[class * n + item] = p;
                sum = simd.add_f64s(sum, p);
            }
            let scale = simd.div_f64s(one, sum);
            for class in 0..n_classes {
                let p = &mut probabilities[class * n + item];
                *p = simd.mul_f64s(*p, scale);
            }
            *ln_total = simd.add_f64s(max, vector::ln(simd, sum));
        }
    }
}

struct LnSums<'a> {
    values: &'a [f64],
    factor: f64,
    constants: &'a [f64],
    ln_totals: &'a mut [f64],
}

impl WithSimd for LnSums<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let values = S::as_simd_f64s(self.values).0;
        let ln_totals = S::as_mut_simd_f64s(self.ln_totals).0;
        let (n, factor) = (ln_totals.len(), simd.splat_f64s(self.factor));
        for (item, ln_total) in ln_totals.iter_mut().enumerate() {
            let mut max = simd.splat_f64s(f64::NEG_INFINITY);
            for (class, constant) in self.constants.iter().enumerate() {
                let constant = simd.splat_f64s(*constant);
                let weight = vector::fma(simd, factor, values[class * n + item], constant);
                max = simd.max_f64s(max, weight);
            }
            let mut sum = simd.splat_f64s(0.0);
            for (class, constant) in self.constants.iter().enumerate() {
                let constant = simd.splat_f64s(*constant);
                let weight = vector::fma(simd, factor, values[class * n + item], constant);
                sum = simd.add_f64s(sum, vector::exp(simd, simd.sub_f64s(weight, max)));
            }
            *ln_total = simd.add_f64s(max, vector::ln(simd, sum));
        }
    }
}

struct LnAll<'a> {
    values: &'a mut [f64],
}

impl WithSimd for LnAll<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let smallest = simd.splat_f64s(f64::MIN_POSITIVE);
        for value in S::as_mut_simd_f64s(self.values).0 {
            *value = vector::ln(simd, simd.max_f64s(*value, smallest));
        }
    }
}

struct ExpAll<'a> {
    values: &'a mut [f64],
}

impl WithSimd for ExpAll<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        for value in S::as_mut_simd_f64s(self.values).0 {
            *value = vector::exp(simd, *value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(n: usize, phase: f64) -> Vec<f64> {
        (0..n).map(|i| (i as f64 + phase).sin()).collect()
    }

    #[test]
    fn sums_and_products_agree_with_plain_loops() {
        let (a, b) = (column(40, 0.1), column(40, 0.7));
        let plain: f64 = a.iter().zip(&b).map(|(x, y)| x * y).sum();
        assert!((dot(&a, &b) - plain).abs() < 1e-13);
        assert!((sum(&a) - a.iter().sum::<f64>()).abs() < 1e-13);
        let mut found = [0.0; 7];
        let columns = [&b[..], &a, &b, &b, &a, &b, &b].concat();
        dots(&a, &columns, |i, sum| found[i] = sum);
        for i in [0, 2, 3, 5, 6] {
            assert!((found[i] - plain).abs() < 1e-13);
        }
        assert!((found[1] - dot(&a, &a)).abs() < 1e-13 && (found[4] - found[1]).abs() < 1e-13);
        let mut both = a.clone();
        add_scaled(&mut both, 2.0, &b);
        add_products(&mut both, &a, &b);
        let mut product = vec![0.0; 40];
        set_products(&mut product, &a, &b);
        for i in 0..40 {
            assert!((both[i] - (a[i] + 2.0 * b[i] + a[i] * b[i])).abs() < 1e-15);
            assert!((product[i] - a[i] * b[i]).abs() < 1e-16);
        }
    }

    /// Weights of ±800 would overflow or underflow without the largest one.
    #[test]
    fn softmax_and_sums_of_exponentials_do_not_overflow() {
        let mut weights = [column(8, 0.2), column(8, 1.4)].concat();
        (weights[0], weights[8], weights[1], weights[9]) = (800.0, -800.0, -800.0, -801.0);
        let (mut p, mut ln) = (vec![0.0; 16], vec![0.0; 8]);
        softmax(&weights, &mut p, &mut ln);
        let mut sums = vec![0.0; 8];
        ln_sums(&weights, 0.5, &[0.3, -0.1], &mut sums);
        for i in 0..8 {
            let (x, y) = (weights[i], weights[8 + i]);
            let want = 1.0 / (1.0 + (y - x).exp());
            assert!((p[i] - want).abs() < 1e-15 && (p[8 + i] - (1.0 - want)).abs() < 1e-15);
            let largest = x.max(y);
            let total = largest + ((x - largest).exp() + (y - largest).exp()).ln();
            assert!((ln[i] - total).abs() < 1e-13 * total.abs().max(1.0));
            let (x, y) = (0.5 * x + 0.3, 0.5 * y - 0.1);
            let largest = x.max(y);
            let total = largest + ((x - largest).exp() + (y - largest).exp()).ln();
            assert!((sums[i] - total).abs() < 1e-13 * total.abs().max(1.0));
        }
    }
}
