//! Maps and loops over threads, with results in order.

#[cfg(feature = "parallel")]
use rayon::prelude::*;

/// f(0), f(1), …, f(n−1), computed in any order.
#[cfg(feature = "parallel")]
pub fn map<T: Send>(n: usize, f: impl Fn(usize) -> T + Sync + Send) -> Vec<T> {
    (0..n).into_par_iter().map(f).collect()
}

/// f(0), f(1), …, f(n−1).
#[cfg(not(feature = "parallel"))]
pub fn map<T>(n: usize, f: impl Fn(usize) -> T) -> Vec<T> {
    (0..n).map(f).collect()
}

/// Calls `f` on every piece of work with its index. Returns the error of the first piece that failed, by index.
#[cfg(feature = "parallel")]
pub fn for_each<T: Send, E: Send>(
    pieces: Vec<T>,
    f: impl Fn(usize, T) -> Result<(), E> + Sync + Send,
) -> Result<(), E> {
    let all: Vec<Result<(), E>> =
        pieces.into_par_iter().enumerate().map(|(i, piece)| f(i, piece)).collect();
    all.into_iter().collect()
}

/// Calls `f` on every piece of work with its index. Stops at the first error.
#[cfg(not(feature = "parallel"))]
pub fn for_each<T, E>(pieces: Vec<T>, f: impl Fn(usize, T) -> Result<(), E>) -> Result<(), E> {
    pieces.into_iter().enumerate().try_for_each(|(i, piece)| f(i, piece))
}
