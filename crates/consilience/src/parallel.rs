//! Spreading independent pieces of work over threads, results always in order.

#[cfg(feature = "parallel")]
use rayon::prelude::*;

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
/// hands each pair of pieces to `f` with its number.
#[cfg(feature = "parallel")]
pub(crate) fn for_each_piece(
    a: &mut [f64],
    b: &mut [f64],
    (first, second): (usize, usize),
    f: impl Fn(usize, &mut [f64], &mut [f64]) + Sync + Send,
) {
    let pieces = a.par_chunks_mut(first).zip(b.par_chunks_mut(second)).enumerate();
    pieces.for_each(|(i, (a, b))| f(i, a, b));
}

/// Cuts two slices into as many pieces (`first` and `second` long, the last may be shorter) and
/// hands each pair of pieces to `f` with its number.
#[cfg(not(feature = "parallel"))]
pub(crate) fn for_each_piece(
    a: &mut [f64],
    b: &mut [f64],
    (first, second): (usize, usize),
    f: impl Fn(usize, &mut [f64], &mut [f64]),
) {
    let pieces = a.chunks_mut(first).zip(b.chunks_mut(second)).enumerate();
    pieces.for_each(|(i, (a, b))| f(i, a, b));
}
