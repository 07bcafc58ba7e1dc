//! Transposition between rows and columns, eight rows at a time.

use pulp::{Simd, WithSimd};

/// Number of doubles in the widest vector registers.
pub(crate) const LANES: usize = 8;

/// Copies row-major values into columns that are `stride` apart. A last group of fewer than eight
/// rows is filled up with zeros.
///
/// The compiler turns unrolled blocks of four columns and eight rows into shuffles: 1.3 ns for a row
/// of six values, against 3.4 ns with one store per value.
#[inline(always)]
pub(crate) fn to_columns(values: &[f64], width: usize, stride: usize, columns: &mut [f64]) {
    for first in (0..width / 4 * 4).step_by(4) {
        some_columns::<4>(values, width, first, stride, columns);
    }
    let rest = width / 4 * 4;
    match width % 4 {
        0 => {}
        1 => some_columns::<1>(values, width, rest, stride, columns),
        2 => some_columns::<2>(values, width, rest, stride, columns),
        _ => some_columns::<3>(values, width, rest, stride, columns),
    }
}

#[inline(always)]
fn some_columns<const N: usize>(
    values: &[f64],
    width: usize,
    first: usize,
    stride: usize,
    columns: &mut [f64],
) {
    // Loops instead of closures: closures would be compiled for the baseline processor.
    for (group, rows) in values.chunks(LANES * width).enumerate() {
        let mut turned = [[0.0; LANES]; N];
        if rows.len() == LANES * width {
            for item in 0..LANES {
                let row = &rows[item * width + first..][..N];
                for column in 0..N {
                    turned[column][item] = row[column];
                }
            }
        } else {
            for (item, row) in rows.chunks_exact(width).enumerate() {
                for column in 0..N {
                    turned[column][item] = row[first + column];
                }
            }
        }
        for (column, values) in turned.iter().enumerate() {
            columns[(first + column) * stride + group * LANES..][..LANES].copy_from_slice(values);
        }
    }
}

/// Kernel that copies columns, `stride` apart, into row-major memory.
pub(crate) struct ToRows<'a> {
    pub(crate) columns: &'a [f64],
    pub(crate) stride: usize,
    pub(crate) width: usize,
    pub(crate) rows: &'a mut [f64],
}

impl WithSimd for ToRows<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        let Self { columns, stride, width, rows } = self;
        // Rows with a length known to the compiler take a third of the time.
        match width {
            2 => fixed_rows::<2>(columns, stride, rows),
            3 => fixed_rows::<3>(columns, stride, rows),
            4 => fixed_rows::<4>(columns, stride, rows),
            5 => fixed_rows::<5>(columns, stride, rows),
            6 => fixed_rows::<6>(columns, stride, rows),
            _ => {
                for (item, row) in rows.chunks_exact_mut(width).enumerate() {
                    for (column, cell) in row.iter_mut().enumerate() {
                        *cell = columns[column * stride + item];
                    }
                }
            }
        }
    }
}

#[inline(always)]
fn fixed_rows<const N: usize>(columns: &[f64], stride: usize, rows: &mut [f64]) {
    let (rows, _) = rows.as_chunks_mut::<N>();
    let columns: [&[f64]; N] = std::array::from_fn(|c| &columns[c * stride..][..rows.len()]);
    for (item, row) in rows.iter_mut().enumerate() {
        for column in 0..N {
            row[column] = columns[column][item];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pulp::Arch;

    #[test]
    fn transposition_and_its_inverse_move_every_value_correctly() {
        for (n, width) in (0..20).flat_map(|n| (1..12).map(move |width| (n, width))) {
            let values: Vec<f64> = (0..n * width).map(|i| i as f64).collect();
            let stride = usize::next_multiple_of(n, LANES);
            let mut columns = vec![-1.0; stride * width];
            to_columns(&values, width, stride, &mut columns);
            for (index, found) in columns.iter().enumerate() {
                let (column, item) = (index / stride, index % stride);
                let expected = if item < n { (item * width + column) as f64 } else { 0.0 };
                assert_eq!(*found, expected, "{n} rows of {width}, column {column}, row {item}");
            }
            let mut rows = vec![-1.0; n * width];
            Arch::new().dispatch(ToRows { columns: &columns, stride, width, rows: &mut rows });
            assert_eq!(rows, values);
        }
    }
}
