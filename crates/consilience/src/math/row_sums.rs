//! Division of rows by their sums, eight rows at a time.

use pulp::{Simd, WithSimd};

use super::transpose::LANES;
use consilience_numerics::instructions::instructions;

/// The condition for a plain row, which needs no correction but division by its sum: all entries are
/// at least `least`, and the sum is within `tolerance` of 1.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plain {
    pub(crate) least: f64,
    pub(crate) tolerance: f64,
}

impl Plain {
    /// Divides rows of `width` values by their sums, in groups of eight, and returns the number of
    /// rows written. It stops before the first group with a row that is not plain. Sums are added
    /// from left to right.
    ///
    /// Widths without an unrolled loop are not supported and return 0. With an unrolled loop, the
    /// cost of a group is little more than that of the memory access.
    pub(crate) fn divide(self, raw: &[f64], divided: &mut [f64], width: usize) -> usize {
        if raw.len() < LANES * width {
            return 0;
        }
        instructions().dispatch(Divide { plain: self, raw, divided, width })
    }

    /// Divides one row by its sum if it is plain; returns whether it is.
    #[inline(always)]
    pub(crate) fn divide_one(self, row: &mut [f64]) -> bool {
        let sum: f64 = row.iter().sum();
        // NaN counts as too low. Counting avoids branches.
        let low = row.iter().filter(|value| !(**value >= self.least)).count();
        let plain = low == 0 && (sum - 1.0).abs() <= self.tolerance;
        if plain {
            row.iter_mut().for_each(|value| *value /= sum);
        }
        plain
    }
}

struct Divide<'a> {
    plain: Plain,
    raw: &'a [f64],
    divided: &'a mut [f64],
    width: usize,
}

impl WithSimd for Divide<'_> {
    type Output = usize;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> usize {
        let Self { plain, raw, divided, width } = self;
        match width {
            2 => divide(simd, plain, raw, divided, 2),
            3 => divide(simd, plain, raw, divided, 3),
            4 => divide(simd, plain, raw, divided, 4),
            5 => divide(simd, plain, raw, divided, 5),
            6 => divide(simd, plain, raw, divided, 6),
            10 => divide(simd, plain, raw, divided, 10),
            _ => 0,
        }
    }
}

#[inline(always)]
fn divide<S: Simd>(simd: S, plain: Plain, raw: &[f64], divided: &mut [f64], width: usize) -> usize {
    let groups = raw.chunks_exact(LANES * width).zip(divided.chunks_exact_mut(LANES * width));
    let n_groups = groups.len();
    for (group, (raw, divided)) in groups.enumerate() {
        let Some(sums) = plain_sums(simd, plain, raw, width) else { return group * LANES };
        for (row, sum) in divided.chunks_exact_mut(width).zip(sums) {
            row.fill(sum);
        }
        let divided = S::as_mut_simd_f64s(divided).0;
        for (value, raw) in divided.iter_mut().zip(S::as_simd_f64s(raw).0) {
            *value = simd.div_f64s(*raw, *value);
        }
    }
    n_groups * LANES
}

/// The sums of eight rows, if all are plain.
#[inline(always)]
fn plain_sums<S: Simd>(simd: S, plain: Plain, raw: &[f64], width: usize) -> Option<[f64; LANES]> {
    let (mut sums, mut lows) = ([0.0; LANES], [f64::INFINITY; LANES]);
    let (sum, low) = (S::as_mut_simd_f64s(&mut sums).0, S::as_mut_simd_f64s(&mut lows).0);
    for class in 0..width {
        let column: [f64; LANES] = std::array::from_fn(|row| raw[row * width + class]);
        for ((sum, low), x) in sum.iter_mut().zip(low.iter_mut()).zip(S::as_simd_f64s(&column).0) {
            *sum = simd.add_f64s(*sum, *x);
            *low = simd.min_f64s(*low, *x);
        }
    }
    let (zero, one) = (simd.splat_f64s(0.0), simd.splat_f64s(1.0));
    let (least, tolerance) = (simd.splat_f64s(plain.least), simd.splat_f64s(plain.tolerance));
    for (low, sum) in low.iter_mut().zip(sum.iter()) {
        let off = simd.abs_f64s(simd.sub_f64s(*sum, one));
        // The minimum may drop a NaN, but the sum keeps it, and comparisons with NaN are false.
        let high = simd.less_than_or_equal_f64s(least, *low);
        let plain = simd.and_m64s(high, simd.less_than_or_equal_f64s(off, tolerance));
        *low = simd.select_f64s(plain, zero, one);
    }
    let failed = lows.iter().fold(0, |any, low| any | low.to_bits());
    (failed == 0).then_some(sums)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sums, differences and quotients are correctly rounded in both versions, so their bits agree.
    /// One bad row stops its whole group.
    #[test]
    fn groups_agree_with_single_rows_and_stop_at_a_bad_row() {
        let plain = Plain { least: 1e-3, tolerance: 1e-6 };
        for width in [2, 3, 4, 5, 6, 10] {
            let row = |i: usize| {
                let parts: Vec<f64> =
                    (0..width).map(|l| 1.0 + ((7 * i + 3 * l) % 11) as f64).collect();
                let sum: f64 = parts.iter().sum::<f64>() * (1.0 + 4e-7);
                parts.into_iter().map(move |part| part / sum).collect::<Vec<f64>>()
            };
            let raw: Vec<f64> = (0..27).flat_map(row).collect();
            let mut expected = raw.clone();
            assert!(expected.chunks_exact_mut(width).all(|row| plain.divide_one(row)));
            let mut divided = vec![0.0; raw.len()];
            assert_eq!(plain.divide(&raw, &mut divided, width), 24);
            assert_eq!(divided[..24 * width], expected[..24 * width]);
            for (bad, value) in (0..24 * width).flat_map(|bad| {
                [f64::NAN, 9e-4, -0.5, 1.5, f64::INFINITY].map(move |value| (bad, value))
            }) {
                let mut raw = raw.clone();
                raw[bad] = value;
                let group = bad / width / LANES * LANES;
                assert_eq!(plain.divide(&raw, &mut divided, width), group, "{value} at {bad}");
            }
        }
    }

    #[test]
    fn other_widths_and_fewer_than_eight_rows_are_not_divided() {
        let plain = Plain { least: 0.0, tolerance: 1e-6 };
        assert_eq!(plain.divide(&[1.0 / 7.0; 70], &mut [0.0; 70], 7), 0);
        assert_eq!(plain.divide(&[0.5; 14], &mut [0.0; 14], 2), 0);
    }
}
