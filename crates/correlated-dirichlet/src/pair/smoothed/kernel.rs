//! The vector loops of the resolution's tables.

use pulp::{Simd, WithSimd};

use crate::pair::exact::kernel::GROUP;
use consilience_numerics::vector::{exp, fma, ln};

/// out = Σᵢ wᵢ rowᵢ over the rows of a matrix, then what `finish` asks for.
pub(crate) struct SumRows<'a> {
    pub(crate) weights: &'a [f64],
    /// Row i begins at i · `stride`.
    pub(crate) rows: &'a [f64],
    pub(crate) stride: usize,
    pub(crate) out: &'a mut [f64],
}

impl WithSimd for SumRows<'_> {
    type Output = ();

    /// Logarithm of the sum, −690 where it vanishes.
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let length = self.out.len();
        let (out, rest) = S::as_mut_simd_f64s(self.out);
        let vectors = out.len();
        for sum in out.iter_mut() {
            *sum = simd.splat_f64s(0.0);
        }
        rest.fill(0.0);
        for (i, &weight) in self.weights.iter().enumerate() {
            if weight == 0.0 {
                continue;
            }
            let row = &self.rows[i * self.stride..i * self.stride + length];
            let (row, tail) = S::as_simd_f64s(row);
            let w = simd.splat_f64s(weight);
            for k in 0..vectors {
                out[k] = fma(simd, w, row[k], out[k]);
            }
            for (sum, value) in rest.iter_mut().zip(tail) {
                *sum += weight * value;
            }
        }
        let tiny = simd.splat_f64s(1e-300);
        for sum in out.iter_mut() {
            *sum = ln(simd, simd.max_f64s(*sum, tiny));
        }
        for sum in rest {
            *sum = sum.max(1e-300).ln();
        }
    }
}

/// values = factor · exp(values − reference), where factor is common.
pub(crate) struct Exponentiate<'a> {
    pub(crate) factor: f64,
    pub(crate) reference: &'a [f64],
    pub(crate) values: &'a mut [f64],
}

impl WithSimd for Exponentiate<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (values, rest) = S::as_mut_simd_f64s(self.values);
        let (reference, tail) = S::as_simd_f64s(self.reference);
        let factor = simd.splat_f64s(self.factor);
        for (value, &reference) in values.iter_mut().zip(reference) {
            *value = simd.mul_f64s(factor, exp(simd, simd.sub_f64s(*value, reference)));
        }
        for (value, reference) in rest.iter_mut().zip(tail) {
            *value = self.factor * (*value - reference).exp();
        }
    }
}

/// out = exp(−((nodes − centre)/width)²/2).
pub(crate) struct Gaussian<'a> {
    pub(crate) centre: f64,
    pub(crate) width: f64,
    pub(crate) nodes: &'a [f64],
    pub(crate) out: &'a mut [f64],
}

impl WithSimd for Gaussian<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (nodes, tail) = S::as_simd_f64s(self.nodes);
        let (out, rest) = S::as_mut_simd_f64s(self.out);
        let (centre, scale) = (simd.splat_f64s(self.centre), simd.splat_f64s(1.0 / self.width));
        let half = simd.splat_f64s(-0.5);
        for (out, &node) in out.iter_mut().zip(nodes) {
            let z = simd.mul_f64s(simd.sub_f64s(node, centre), scale);
            *out = exp(simd, simd.mul_f64s(half, simd.mul_f64s(z, z)));
        }
        for (out, node) in rest.iter_mut().zip(tail) {
            let z = (node - self.centre) / self.width;
            *out = (-0.5 * z * z).exp();
        }
    }
}

/// Six-point Lagrange interpolation at fractional indices, with what else belongs to the exponent:
/// `out += value + slope · min(mass, highest) + constant`.
pub(crate) struct Interpolate<'a> {
    pub(crate) values: &'a [f64],
    /// Index of an entry is ln(1 + unit · t)/step, at most `last`; that of the first value is `low`.
    pub(crate) unit: f64,
    pub(crate) step: f64,
    pub(crate) low: f64,
    pub(crate) last: f64,
    pub(crate) t: &'a [f64],
    pub(crate) constant: f64,
    /// Coefficient of t, and the t from which on it is constant.
    pub(crate) slope: f64,
    pub(crate) highest: f64,
    pub(crate) out: &'a mut [f64],
}

impl WithSimd for Interpolate<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let end = self.values.len() - 6;
        for (out, t) in self.out.chunks_mut(GROUP).zip(self.t.chunks(GROUP)) {
            let mut index = [1.0; GROUP];
            for (index, t) in index.iter_mut().zip(t) {
                *index += self.unit * t;
            }
            let (lanes, _) = S::as_mut_simd_f64s(&mut index);
            for lane in lanes {
                *lane = ln(simd, *lane);
            }
            for ((out, t), ln_index) in out.iter_mut().zip(t).zip(index) {
                let index = (ln_index / self.step).min(self.last) - self.low;
                let base = (index as usize).saturating_sub(2).min(end);
                let v: &[f64; 6] = self.values[base..base + 6].try_into().expect("six values");
                let value = lagrange(v, index - base as f64);
                *out += self.constant + value + self.slope * t.min(self.highest);
            }
        }
    }
}

/// The polynomial through six values at 0, 1, …, 5.
#[inline(always)]
pub(crate) fn lagrange(v: &[f64; 6], x: f64) -> f64 {
    let d = [x, x - 1.0, x - 2.0, x - 3.0, x - 4.0, x - 5.0];
    let (left, middle, right) = (d[0] * d[1], d[2] * d[3], d[4] * d[5]);
    middle * right * (d[0] * v[1] * (1.0 / 24.0) - d[1] * v[0] * (1.0 / 120.0))
        + left * right * (d[2] * v[3] - d[3] * v[2]) * (1.0 / 12.0)
        + left * middle * (d[4] * v[5] * (1.0 / 120.0) - d[5] * v[4] * (1.0 / 24.0))
}
