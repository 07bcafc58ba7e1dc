//! Spreading independent pieces of work over threads, results always in order.

#[cfg(feature = "parallel")]
use rayon::prelude::*;

use crate::error::Result;

/// f(0), f(1), …, f(n−1), computed in any order.
#[cfg(feature = "parallel")]
pub(crate) fn map<T: Send>(n: usize, f: impl Fn(usize) -> T + Sync + Send) -> Vec<T> {
    (0..n).into_par_iter().map(f).collect()
}

/// f(0), f(1), …, f(n−1).
#[cfg(not(feature = "parallel"))]
pub(crate) fn map<T>(n: usize, f: impl Fn(usize) -> T) -> Vec<T> {
    (0..n).map(f).collect()
}

/// Cuts two slices into as many pieces (`first` and `second` long, the last may be shorter) and
/// hands each pair of pieces to `f` with its number; ends early with one of the errors, if any.
#[cfg(feature = "parallel")]
pub(crate) fn for_each_piece(
    a: &mut [f64],
    b: &mut [f64],
    (first, second): (usize, usize),
    f: impl Fn(usize, &mut [f64], &mut [f64]) -> Result<()> + Sync + Send,
) -> Result<()> {
    let pieces = a.par_chunks_mut(first).zip(b.par_chunks_mut(second)).enumerate();
    pieces.try_for_each(|(i, (a, b))| f(i, a, b))
}

/// Cuts two slices into as many pieces (`first` and `second` long, the last may be shorter) and
/// hands each pair of pieces to `f` with its number; ends early with one of the errors, if any.
#[cfg(not(feature = "parallel"))]
pub(crate) fn for_each_piece(
    a: &mut [f64],
    b: &mut [f64],
    (first, second): (usize, usize),
    f: impl Fn(usize, &mut [f64], &mut [f64]) -> Result<()>,
) -> Result<()> {
    let mut pieces = a.chunks_mut(first).zip(b.chunks_mut(second)).enumerate();
    pieces.try_for_each(|(i, (a, b))| f(i, a, b))
}
