//! The vector loops of a line over tables in both variables.

use pulp::{Simd, WithSimd};

use super::kernel::GROUP;
use super::plane::{SLACK, TAPS, lagrange};
use crate::math::vector::{exp, fma};

/// One component's part of a line: eight columns, blended, from which all points of the line are interpolated.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Columns<'a> {
    /// Begins at the entry that is the first of the first point's eight.
    pub(crate) entries: &'a [f64],
    pub(crate) stride: usize,
    pub(crate) weights: [f64; TAPS],
    /// Place of the first point between entries 3 and 4.
    pub(crate) fraction: f64,
}

/// Adds a component to the exponents at every point, `phases` sets of `points` each.
pub(crate) struct AddColumns<'a> {
    pub(crate) columns: Columns<'a>,
    pub(crate) phases: usize,
    pub(crate) points: usize,
    /// The blended column.
    pub(crate) column: &'a mut [f64],
    pub(crate) out: &'a mut [f64],
}

impl WithSimd for AddColumns<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let length = self.points + SLACK;
        let column = &mut self.column[..length];
        blend(simd, &self.columns, column);
        for (phase, out) in self.out.chunks_exact_mut(self.points).enumerate() {
            let at = self.columns.fraction + phase as f64 / self.phases as f64;
            let ahead = at as usize;
            let taps = lagrange(at - ahead as f64 + (TAPS / 2 - 1) as f64);
            interpolate(simd, &column[ahead..], taps, out);
        }
    }
}

/// out[k] += Σ over eight taps of tap · column[k + t].
#[inline(always)]
fn interpolate<S: Simd>(simd: S, column: &[f64], taps: [f64; TAPS], out: &mut [f64]) {
    let shifted: [&[S::f64s]; TAPS] =
        std::array::from_fn(|t| S::as_simd_f64s(&column[t..t + out.len()]).0);
    let taps = taps.map(|tap| simd.splat_f64s(tap));
    for (k, out) in S::as_mut_simd_f64s(out).0.iter_mut().enumerate() {
        let mut even = fma(simd, taps[0], shifted[0][k], *out);
        let mut odd = simd.mul_f64s(taps[1], shifted[1][k]);
        for t in (2..TAPS).step_by(2) {
            even = fma(simd, taps[t], shifted[t][k], even);
            odd = fma(simd, taps[t + 1], shifted[t + 1][k], odd);
        }
        *out = simd.add_f64s(even, odd);
    }
}

/// Σ over eight columns of weight · column.
#[inline(always)]
fn blend<S: Simd>(simd: S, columns: &Columns<'_>, out: &mut [f64]) {
    let length = out.len();
    let rows: [&[S::f64s]; TAPS] = std::array::from_fn(|i| {
        let start = i * columns.stride;
        S::as_simd_f64s(&columns.entries[start..start + length]).0
    });
    let weights = columns.weights.map(|w| simd.splat_f64s(w));
    let (out, _) = S::as_mut_simd_f64s(out);
    for (k, out) in out.iter_mut().enumerate() {
        let mut even = simd.mul_f64s(weights[0], rows[0][k]);
        let mut odd = simd.mul_f64s(weights[1], rows[1][k]);
        for i in (2..TAPS).step_by(2) {
            even = fma(simd, weights[i], rows[i][k], even);
            odd = fma(simd, weights[i + 1], rows[i + 1][k], odd);
        }
        *out = simd.add_f64s(even, odd);
    }
}

/// Finishes a line: `exponents += N ln s − rate · s`, then the sum of their exponentials.
pub(crate) struct SumLine<'a> {
    pub(crate) phases: usize,
    pub(crate) points: usize,
    /// s of the first phase's points; the next phase's are larger by `ratio`.
    pub(crate) scales: &'a [f64],
    pub(crate) ratio: f64,
    pub(crate) rate: f64,
    /// N times the step of ln s between two points of a phase.
    pub(crate) rise: f64,
    /// Receives the exponentials.
    pub(crate) exponents: &'a mut [f64],
}

/// What comes out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LineSum {
    /// The largest exponent, its point within its phase, and the sum of all exponentials over its own.
    pub(crate) largest: f64,
    pub(crate) best: usize,
    pub(crate) sum: f64,
    /// Difference of even and odd points.
    pub(crate) difference: f64,
    /// Logarithms of the first and the last term over the largest.
    pub(crate) ends: [f64; 2],
}

impl WithSimd for SumLine<'_> {
    type Output = LineSum;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> LineSum {
        let Self { phases, points, scales, exponents, .. } = self;
        let mut ramp = [0.0; MAX_POINTS];
        for (i, r) in ramp[..points].iter_mut().enumerate() {
            *r = self.rise * i as f64;
        }
        let (ramp, _) = S::as_simd_f64s(&ramp[..points]);
        let (scales, _) = S::as_simd_f64s(scales);
        let (mut rate, mut start) = (-self.rate, 0.0);
        let mut largest = simd.splat_f64s(f64::NEG_INFINITY);
        for phase in exponents.chunks_exact_mut(points) {
            let (phase, _) = S::as_mut_simd_f64s(phase);
            let (slope, offset) = (simd.splat_f64s(rate), simd.splat_f64s(start));
            for ((e, &s), &r) in phase.iter_mut().zip(scales).zip(ramp) {
                *e = fma(simd, slope, s, simd.add_f64s(simd.add_f64s(r, offset), *e));
                largest = simd.max_f64s(largest, *e);
            }
            rate *= self.ratio;
            start += self.rise / phases as f64;
        }
        let largest = simd.reduce_max_f64s(largest);
        let ends = [exponents[0] - largest, exponents[exponents.len() - 1] - largest];
        let shift = simd.splat_f64s(largest);
        let (mut sums, mut best) = ([[0.0; GROUP]; 2], 0);
        for (j, phase) in exponents.chunks_exact_mut(points).enumerate() {
            for e in S::as_mut_simd_f64s(phase).0 {
                *e = exp(simd, simd.sub_f64s(*e, shift));
            }
            for (i, group) in phase.chunks_exact(GROUP).enumerate() {
                for (lane, &e) in group.iter().enumerate() {
                    sums[j % 2][lane] += e;
                    if e == 1.0 {
                        best = i * GROUP + lane;
                    }
                }
            }
        }
        let [a, b] = sums;
        let sum = a.iter().chain(&b).sum();
        let difference = if phases % 2 == 0 {
            a.iter().sum::<f64>() - b.iter().sum::<f64>()
        } else {
            (a[0] - a[1] + a[2] - a[3]) - (b[0] - b[1] + b[2] - b[3])
        };
        LineSum { largest, best, sum, difference, ends }
    }
}

/// The most points that a phase may have.
pub(crate) const MAX_POINTS: usize = 128;
