//! Vector loops that read tables: sums over the scale at one ratio.

use pulp::{Simd, WithSimd};

use super::layout::{SLACK, TAPS, lagrange};
use super::table::Blend;
use crate::pair::exact::kernel::GROUP;
use consilience_numerics::vector::{exp, fma};

/// The columns of one component: eight of them are blended, and all points are interpolated from the result.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Columns<'a> {
    /// The number of the component.
    pub(crate) component: usize,
    /// Entries from the first of the eight around the first point on, which is entry `base` of its column.
    pub(crate) entries: &'a [f64],
    pub(crate) base: usize,
    pub(crate) stride: usize,
    /// Where the first point lies between entries 3 and 4.
    pub(crate) fraction: f64,
}

/// The sum over s of exp(N ln s − rate · s + the columns of all components).
pub(crate) struct SumLine<'a> {
    /// The columns of all components, and those among them that are read.
    pub(crate) blends: &'a [Option<Blend<'a>>],
    pub(crate) components: &'a [Columns<'a>],
    /// Interleaved sets of points, and how many each has.
    pub(crate) phases: usize,
    pub(crate) points: usize,
    /// s at the points of the first set; those of the next set are larger by the factor `ratio`.
    pub(crate) scales: &'a [f64],
    pub(crate) ratio: f64,
    pub(crate) rate: f64,
    /// N ln s at the points of the first set, relative to its first point.
    pub(crate) ramp: &'a [f64],
    /// Room for a blended column.
    pub(crate) column: &'a mut [f64],
    /// Receives the exponentials.
    pub(crate) exponents: &'a mut [f64],
}

/// The result of a sum over s.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LineSum {
    /// The largest exponent, its point within its set, and the sum of all exponentials relative to it.
    pub(crate) largest: f64,
    pub(crate) best: usize,
    pub(crate) sum: f64,
    /// Difference of even and odd points.
    pub(crate) difference: f64,
    /// Logarithms of the first and the last term relative to the largest.
    pub(crate) ends: [f64; 2],
}

impl WithSimd for SumLine<'_> {
    type Output = LineSum;

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) -> LineSum {
        self.start(simd);
        for component in self.components {
            self.add(simd, component);
        }
        let lowest = simd.splat_f64s(f64::NEG_INFINITY);
        let (exponents, _) = S::as_simd_f64s(&*self.exponents);
        let largest = exponents.iter().fold(lowest, |most, e| simd.max_f64s(most, *e));
        let largest = simd.reduce_max_f64s(largest);
        let best = self.exponents.iter().position(|e| *e == largest).unwrap_or(0);
        let ends = [self.exponents[0], self.exponents[self.exponents.len() - 1]];
        let [a, b] = self.exponentiate(simd, largest);
        let difference = if self.phases.is_multiple_of(2) {
            a.iter().sum::<f64>() - b.iter().sum::<f64>()
        } else {
            (a[0] - a[1] + a[2] - a[3]) - (b[0] - b[1] + b[2] - b[3])
        };
        LineSum {
            largest,
            best: best % self.points,
            sum: a.iter().chain(&b).sum(),
            difference,
            ends: ends.map(|end| end - largest),
        }
    }
}

impl SumLine<'_> {
    /// Writes the exponents without the components.
    #[inline(always)]
    fn start<S: Simd>(&mut self, simd: S) {
        let (ramp, _) = S::as_simd_f64s(&self.ramp[..self.points]);
        let (scales, _) = S::as_simd_f64s(&self.scales[..self.points]);
        let rise = (self.ramp[1] - self.ramp[0]) / self.phases as f64;
        let (mut rate, mut offset) = (-self.rate, 0.0);
        for phase in self.exponents.chunks_exact_mut(self.points) {
            let (slope, shift) = (simd.splat_f64s(rate), simd.splat_f64s(offset));
            let (phase, _) = S::as_mut_simd_f64s(phase);
            for ((e, &s), &r) in phase.iter_mut().zip(scales).zip(ramp) {
                *e = fma(simd, slope, s, simd.add_f64s(r, shift));
            }
            rate *= self.ratio;
            offset += rise;
        }
    }

    /// Adds a component: blends its columns, and interpolates all points from the result.
    #[inline(always)]
    fn add<S: Simd>(&mut self, simd: S, columns: &Columns<'_>) {
        let column = &mut self.column[..self.points + SLACK];
        let length = column.len();
        let row = |i: usize| &columns.entries[i * columns.stride..][..length];
        let weights = self.blends[columns.component].map_or([0.0; TAPS], |blend| blend.weights);
        weigh(simd, row, weights, column, |_, sum| sum);
        for (phase, out) in self.exponents.chunks_exact_mut(self.points).enumerate() {
            let at = columns.fraction + phase as f64 / self.phases as f64;
            let ahead = at as usize;
            let taps = lagrange(at - ahead as f64 + (TAPS / 2 - 1) as f64);
            let shifted = |t: usize| &column[ahead + t..][..self.points];
            weigh(simd, shifted, taps, out, |before, sum| simd.add_f64s(before, sum));
        }
    }

    /// Exponentials relative to the largest; returns their sums over every fourth point, for even sets and odd.
    #[inline(always)]
    fn exponentiate<S: Simd>(&mut self, simd: S, largest: f64) -> [[f64; GROUP]; 2] {
        let shift = simd.splat_f64s(largest);
        let mut sums = [[0.0; GROUP]; 2];
        for (j, phase) in self.exponents.chunks_exact_mut(self.points).enumerate() {
            let (sums, _) = S::as_mut_simd_f64s(&mut sums[j % 2]);
            for group in phase.chunks_exact_mut(GROUP) {
                for (e, sum) in S::as_mut_simd_f64s(group).0.iter_mut().zip(&mut *sums) {
                    *e = exp(simd, simd.sub_f64s(*e, shift));
                    *sum = simd.add_f64s(*sum, *e);
                }
            }
        }
        sums
    }
}

/// Sums for derivatives: Σ term · N ln s, relative to the first point, and Σ term · s.
pub(crate) struct SumMoments<'a> {
    pub(crate) terms: &'a [f64],
    pub(crate) phases: usize,
    pub(crate) points: usize,
    pub(crate) scales: &'a [f64],
    pub(crate) ratio: f64,
    pub(crate) ramp: &'a [f64],
}

impl WithSimd for SumMoments<'_> {
    type Output = [f64; 2];

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> [f64; 2] {
        let (ramp, _) = S::as_simd_f64s(&self.ramp[..self.points]);
        let (scales, _) = S::as_simd_f64s(&self.scales[..self.points]);
        let rise = (self.ramp[1] - self.ramp[0]) / self.phases as f64;
        let (mut offset, mut factor, mut sums) = (0.0, 1.0, [0.0; 2]);
        for phase in self.terms.chunks_exact(self.points) {
            let (terms, _) = S::as_simd_f64s(phase);
            let zero = simd.splat_f64s(0.0);
            let (mut total, mut ramps, mut scaled) = (zero, zero, zero);
            for ((&t, &r), &s) in terms.iter().zip(ramp).zip(scales) {
                total = simd.add_f64s(total, t);
                ramps = fma(simd, t, r, ramps);
                scaled = fma(simd, t, s, scaled);
            }
            sums[0] += simd.reduce_sum_f64s(ramps) + offset * simd.reduce_sum_f64s(total);
            sums[1] += factor * simd.reduce_sum_f64s(scaled);
            offset += rise;
            factor *= self.ratio;
        }
        sums
    }
}

/// Σ term · slope of one component.
pub(crate) struct SumSlope<'a> {
    pub(crate) terms: &'a [f64],
    pub(crate) phases: usize,
    pub(crate) points: usize,
    pub(crate) columns: &'a Columns<'a>,
    pub(crate) weights: [f64; TAPS],
    /// Slopes, which replace the entries of the columns.
    pub(crate) slopes: &'a [f64],
    pub(crate) column: &'a mut [f64],
}

impl WithSimd for SumSlope<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        let columns = self.columns;
        let column = &mut self.column[..self.points + SLACK];
        let length = column.len();
        let row = |i: usize| &self.slopes[i * columns.stride..][..length];
        weigh(simd, row, self.weights, column, |_, sum| sum);
        let mut total = 0.0;
        for (phase, terms) in self.terms.chunks_exact(self.points).enumerate() {
            let at = columns.fraction + phase as f64 / self.phases as f64;
            let ahead = at as usize;
            let taps = lagrange(at - ahead as f64 + (TAPS / 2 - 1) as f64);
            let (terms, _) = S::as_simd_f64s(terms);
            let mut sum = simd.splat_f64s(0.0);
            let mut t = 0;
            while t < TAPS {
                let (values, _) = S::as_simd_f64s(&column[ahead + t..][..self.points]);
                let mut product = simd.splat_f64s(0.0);
                for (&term, &value) in terms.iter().zip(values) {
                    product = fma(simd, term, value, product);
                }
                sum = fma(simd, simd.splat_f64s(taps[t]), product, sum);
                t += 1;
            }
            total += simd.reduce_sum_f64s(sum);
        }
        total
    }
}

/// Σ over eight rows of weight · row, combined with the present values of `out`.
#[inline(always)]
fn weigh<'a, S: Simd>(
    simd: S,
    row: impl Fn(usize) -> &'a [f64],
    weights: [f64; TAPS],
    out: &mut [f64],
    put: impl Fn(S::f64s, S::f64s) -> S::f64s,
) {
    let (out, _) = S::as_mut_simd_f64s(out);
    // slices of one length that the compiler knows, so that the loop has no bounds checks
    let row = |i: usize| &S::as_simd_f64s(row(i)).0[..out.len()];
    let [a, b, c, d] = [row(0), row(1), row(2), row(3)];
    let [e, f, g, h] = [row(4), row(5), row(6), row(7)];
    let w = weights.map(|w| simd.splat_f64s(w));
    for k in 0..out.len() {
        let mut even = simd.mul_f64s(w[0], a[k]);
        let mut odd = simd.mul_f64s(w[1], b[k]);
        even = fma(simd, w[2], c[k], even);
        odd = fma(simd, w[3], d[k], odd);
        even = fma(simd, w[4], e[k], even);
        odd = fma(simd, w[5], f[k], odd);
        even = fma(simd, w[6], g[k], even);
        odd = fma(simd, w[7], h[k], odd);
        out[k] = put(out[k], simd.add_f64s(even, odd));
    }
}

/// Points of one set, at most.
pub(crate) const MAX_POINTS: usize = 192;
