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
