//! The vector loops of one item's lines.

use pulp::{Simd, WithSimd};

use super::super::convolution::POINTS;
use crate::pair::exact::kernel::GROUP;
use consilience_numerics::vector::{exp, fma, ln};

/// Columns that are blended.
pub(super) const COLUMNS: usize = 4;
/// The first of them, and their weights.
pub(super) type Column = (usize, [f64; COLUMNS]);

/// Where the masses of a line lie on a component's lattice: ln(1 + M/unit)/step, at most `last`.
pub(super) struct Indices<'a> {
    /// M/unit at first, then the index; as many as whole groups need.
    pub(super) values: &'a mut [f64],
    pub(super) step: f64,
    pub(super) last: f64,
}

impl WithSimd for Indices<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (values, _) = S::as_mut_simd_f64s(self.values);
        let (one, scale) = (simd.splat_f64s(1.0), simd.splat_f64s(1.0 / self.step));
        let last = simd.splat_f64s(self.last);
        for value in values {
            let index = simd.mul_f64s(scale, ln(simd, simd.add_f64s(one, *value)));
            *value = simd.min_f64s(index, last);
        }
    }
}

/// A table and its derivative between six masses and four columns, at every index of a line.
pub(super) struct Interpolate<'a> {
    pub(super) indices: &'a [f64],
    /// Masses one after another, `stride` columns each.
    pub(super) values: &'a [f64],
    /// Empty where derivatives are not wanted.
    pub(super) slopes: &'a [f64],
    pub(super) stride: usize,
    /// The first column, and the weights of four.
    pub(super) column: usize,
    pub(super) weights: [f64; COLUMNS],
    /// Values are added to these.
    pub(super) out: &'a mut [f64],
    /// Slopes are written.
    pub(super) out_slopes: &'a mut [f64],
}

impl WithSimd for Interpolate<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let end = self.values.len() / self.stride - POINTS;
        for i in 0..self.indices.len() {
            let index = self.indices[i];
            let base = (index as usize).saturating_sub(2).min(end);
            let six = lagrange_weights(index - base as f64);
            let from = base * self.stride + self.column;
            self.out[i] += blend(simd, &self.values[from..], self.stride, six, self.weights);
            if !self.slopes.is_empty() {
                self.out_slopes[i] =
                    blend(simd, &self.slopes[from..], self.stride, six, self.weights);
            }
        }
    }
}

/// Σ over six rows and four columns.
#[inline(always)]
fn blend<S: Simd>(
    simd: S,
    table: &[f64],
    stride: usize,
    rows: [f64; POINTS],
    columns: [f64; COLUMNS],
) -> f64 {
    // plain loops: closures would not be compiled for the instruction set
    let mut sums = [0.0; COLUMNS];
    let (lanes, _) = S::as_mut_simd_f64s(&mut sums);
    let n = lanes.len();
    let mut k = 0;
    while k < POINTS {
        let weight = simd.splat_f64s(rows[k]);
        let (row, _) = S::as_simd_f64s(&table[k * stride..k * stride + COLUMNS]);
        let mut i = 0;
        while i < n {
            lanes[i] = fma(simd, weight, row[i], lanes[i]);
            i += 1;
        }
        k += 1;
    }
    let [a, b, c, d] = sums;
    (columns[0] * a + columns[1] * b) + (columns[2] * c + columns[3] * d)
}

/// Weights of six values at 0, 1, …, 5.
#[inline(always)]
fn lagrange_weights(x: f64) -> [f64; POINTS] {
    let d = [x, x - 1.0, x - 2.0, x - 3.0, x - 4.0, x - 5.0];
    let (left, middle, right) = (d[0] * d[1], d[2] * d[3], d[4] * d[5]);
    let (outer, inner) = (left * right * (1.0 / 12.0), middle * right);
    let upper = left * middle;
    [
        inner * d[1] * (-1.0 / 120.0),
        inner * d[0] * (1.0 / 24.0),
        -outer * d[3],
        outer * d[2],
        upper * d[5] * (-1.0 / 24.0),
        upper * d[4] * (1.0 / 120.0),
    ]
}

/// Σ e^(exponent − largest), which is returned, with the sums of whatever rows weighted so; all times `weight`.
pub(super) struct Weigh<'a> {
    pub(super) largest: f64,
    /// Whole groups; overwritten.
    pub(super) exponents: &'a mut [f64],
    /// One after another, each as long as the exponents.
    pub(super) rows: &'a [f64],
    pub(super) weight: f64,
    /// Written, one a row.
    pub(super) sums: &'a mut [f64],
}

impl WithSimd for Weigh<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        let n = self.exponents.len();
        let (exponents, _) = S::as_mut_simd_f64s(self.exponents);
        let (largest, mut total) = (simd.splat_f64s(self.largest), simd.splat_f64s(0.0));
        for exponent in exponents.iter_mut() {
            *exponent = exp(simd, simd.sub_f64s(*exponent, largest));
            total = simd.add_f64s(total, *exponent);
        }
        for (sum, row) in self.sums.iter_mut().zip(self.rows.chunks_exact(n)) {
            let (row, _) = S::as_simd_f64s(row);
            let mut total = simd.splat_f64s(0.0);
            for (&exponent, &value) in exponents.iter().zip(row) {
                total = fma(simd, exponent, value, total);
            }
            *sum = self.weight * simd.reduce_sum_f64s(total);
        }
        self.weight * simd.reduce_sum_f64s(total)
    }
}

/// The next whole number of groups.
pub(super) fn whole(n: usize) -> usize {
    n.div_ceil(GROUP) * GROUP
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_reproduce_polynomials_of_degree_five() {
        for x in [0.3, 2.5, 4.9] {
            let weights = lagrange_weights(x);
            for power in 0..6 {
                let sum: f64 =
                    (0..6u8).map(|k| weights[usize::from(k)] * f64::from(k).powi(power)).sum();
                assert!((sum - x.powi(power)).abs() < 1e-10 * (1.0 + x.powi(power)), "{x} {power}");
            }
        }
    }
}
