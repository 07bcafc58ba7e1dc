//! Vector loops that make tables.

use pulp::{Simd, WithSimd};

use super::constants::LARGEST_EXPONENT;
use consilience_numerics::vector::{exp, fma, ln};

/// Rows of a matrix begin at multiples of this many numbers, so that they consist of whole vectors.
pub(crate) const ROW_UNIT: usize = 8;

/// out = ln Σᵢ wᵢ rowᵢ over the rows of a matrix.
pub(crate) struct SumRows<'a> {
    pub(crate) weights: &'a [f64],
    /// Row i begins at i times the length of `out`, which is a multiple of [`ROW_UNIT`].
    pub(crate) rows: &'a [f64],
    pub(crate) out: &'a mut [f64],
}

impl WithSimd for SumRows<'_> {
    type Output = ();

    /// A sum of 0 becomes ln 1e-300.
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (rows, _) = S::as_simd_f64s(self.rows);
        let (out, rest) = S::as_mut_simd_f64s(self.out);
        assert!(rest.is_empty(), "rows consist of whole vectors");
        let mut from = 0;
        while from < out.len() {
            from += match out.len() - from {
                8.. => block::<S, 8>(simd, self.weights, rows, from, out),
                4.. => block::<S, 4>(simd, self.weights, rows, from, out),
                2.. => block::<S, 2>(simd, self.weights, rows, from, out),
                _ => block::<S, 1>(simd, self.weights, rows, from, out),
            };
        }
        let tiny = simd.splat_f64s(1e-300);
        for sum in out {
            *sum = ln(simd, simd.max_f64s(*sum, tiny));
        }
    }
}

/// Writes Σ weight · row of N vectors from the index `from` on, whose sums stay in registers; returns N.
#[inline(always)]
fn block<S: Simd, const N: usize>(
    simd: S,
    weights: &[f64],
    rows: &[S::f64s],
    from: usize,
    out: &mut [S::f64s],
) -> usize {
    let mut sums = [simd.splat_f64s(0.0); N];
    for (&weight, row) in weights.iter().zip(rows.chunks_exact(out.len())) {
        if weight != 0.0 {
            let (w, row) = (simd.splat_f64s(weight), &row[from..from + N]);
            let mut k = 0;
            while k < N {
                sums[k] = fma(simd, w, row[k], sums[k]);
                k += 1;
            }
        }
    }
    out[from..from + N].copy_from_slice(&sums);
    N
}

/// Rows of e^((m − typical) · away) over a list of m, one row per `away`; at most e^[`LARGEST_EXPONENT`], and 0 below 1e-250,
/// because arithmetic with numbers below 1e-308 is a hundred times slower.
pub(crate) struct Powers<'a> {
    pub(crate) masses: &'a [f64],
    pub(crate) typical: f64,
    pub(crate) away: &'a [f64],
    /// Row i begins at i times the number of masses.
    pub(crate) out: &'a mut [f64],
}

impl WithSimd for Powers<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (masses, tail) = S::as_simd_f64s(self.masses);
        let typical = simd.splat_f64s(self.typical);
        let [most, least, zero] = [LARGEST_EXPONENT, 1e-250, 0.0].map(|x| simd.splat_f64s(x));
        for (row, &away) in self.out.chunks_exact_mut(self.masses.len()).zip(self.away) {
            let (row, rest) = S::as_mut_simd_f64s(row);
            let factor = simd.splat_f64s(away);
            for (out, &m) in row.iter_mut().zip(masses) {
                let exponent = simd.mul_f64s(simd.sub_f64s(m, typical), factor);
                let power = exp(simd, simd.min_f64s(exponent, most));
                *out = simd.select_f64s(simd.less_than_f64s(power, least), zero, power);
            }
            for (out, m) in rest.iter_mut().zip(tail) {
                let power = ((m - self.typical) * away).min(LARGEST_EXPONENT).exp();
                *out = if power < 1e-250 { 0.0 } else { power };
            }
        }
    }
}

/// values = factor · exp(values − reference).
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

/// values = factor · exp(values − largest), 0 where the exponential is below `least`; whole vectors.
pub(crate) struct Terms<'a> {
    pub(crate) factor: f64,
    pub(crate) largest: f64,
    pub(crate) least: f64,
    pub(crate) values: &'a mut [f64],
}

impl WithSimd for Terms<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (values, _) = S::as_mut_simd_f64s(self.values);
        let [factor, largest, least, zero] =
            [self.factor, self.largest, self.least, 0.0].map(|x| simd.splat_f64s(x));
        for value in values {
            let power = exp(simd, simd.sub_f64s(*value, largest));
            let term = simd.mul_f64s(factor, power);
            *value = simd.select_f64s(simd.less_than_f64s(power, least), zero, term);
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

/// Σ factor · exp(log + tilt · v − largest).
pub(crate) struct SumAround<'a> {
    pub(crate) logs: &'a [f64],
    pub(crate) v: &'a [f64],
    pub(crate) factors: &'a [f64],
    pub(crate) tilt: f64,
    pub(crate) largest: f64,
}

impl WithSimd for SumAround<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        let (logs, logs_end) = S::as_simd_f64s(self.logs);
        let (v, v_end) = S::as_simd_f64s(self.v);
        let (factors, factors_end) = S::as_simd_f64s(self.factors);
        let (tilt, largest) = (simd.splat_f64s(self.tilt), simd.splat_f64s(self.largest));
        let mut sum = simd.splat_f64s(0.0);
        for ((&log, &v), &factor) in logs.iter().zip(v).zip(factors) {
            let exponent = simd.sub_f64s(fma(simd, tilt, v, log), largest);
            sum = fma(simd, factor, exp(simd, exponent), sum);
        }
        let mut total = simd.reduce_sum_f64s(sum);
        for ((log, v), factor) in logs_end.iter().zip(v_end).zip(factors_end) {
            total += factor * (log + self.tilt * v - self.largest).exp();
        }
        total
    }
}
