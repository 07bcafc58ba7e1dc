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

/// Hands each piece of work to `f` with its number; ends with the error of the first piece that has one, whichever thread was
/// faster.
#[cfg(feature = "parallel")]
pub(crate) fn for_each<T: Send>(
    pieces: Vec<T>,
    f: impl Fn(usize, T) -> Result<()> + Sync + Send,
) -> Result<()> {
    let all: Vec<Result<()>> =
        pieces.into_par_iter().enumerate().map(|(i, piece)| f(i, piece)).collect();
    all.into_iter().collect()
}

/// Hands each piece of work to `f` with its number; ends early with the first error, if any.
#[cfg(not(feature = "parallel"))]
pub(crate) fn for_each<T>(pieces: Vec<T>, f: impl Fn(usize, T) -> Result<()>) -> Result<()> {
    pieces.into_iter().enumerate().try_for_each(|(i, piece)| f(i, piece))
}
