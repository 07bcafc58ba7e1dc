//! Maps and loops over threads, with results in order.
//!
//! A process that was forked from one with threads has none of them and would wait for them for
//! ever. Such a process computes on the calling thread.

#[cfg(feature = "parallel")]
use std::sync::atomic::{AtomicU32, Ordering};

#[cfg(feature = "parallel")]
use rayon::prelude::*;

/// The process that has the threads; 0 before they are started.
#[cfg(feature = "parallel")]
static OWNER: AtomicU32 = AtomicU32::new(0);

/// Whether the threads belong to another process, of which this one is a copy.
#[cfg(feature = "parallel")]
fn is_forked() -> bool {
    let this = std::process::id();
    let owner = OWNER.compare_exchange(0, this, Ordering::SeqCst, Ordering::SeqCst);
    owner.is_err_and(|owner| owner != this)
}

/// f(0), f(1), …, f(n−1), computed in any order.
#[cfg(feature = "parallel")]
pub fn map<T: Send>(n: usize, f: impl Fn(usize) -> T + Sync + Send) -> Vec<T> {
    if is_forked() {
        return (0..n).map(f).collect();
    }
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
    // One piece is not worth waking a thread.
    if pieces.len() == 1 || is_forked() {
        return pieces.into_iter().enumerate().try_for_each(|(i, piece)| f(i, piece));
    }
    let all: Vec<Result<(), E>> =
        pieces.into_par_iter().enumerate().map(|(i, piece)| f(i, piece)).collect();
    all.into_iter().collect()
}

/// Calls `f` on every piece of work with its index. Stops at the first error.
#[cfg(not(feature = "parallel"))]
pub fn for_each<T, E>(pieces: Vec<T>, f: impl Fn(usize, T) -> Result<(), E>) -> Result<(), E> {
    pieces.into_iter().enumerate().try_for_each(|(i, piece)| f(i, piece))
}

/// Largest number of threads per processor. Results do not depend on the number of threads, so
/// threads without processors only cost memory.
#[cfg(feature = "parallel")]
const THREADS_PER_PROCESSOR: usize = 4;

/// The number of threads to use: as many as `wanted`, but no more than four per processor.
#[cfg(feature = "parallel")]
pub fn at_most(wanted: usize) -> usize {
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    wanted.clamp(1, THREADS_PER_PROCESSOR * processors)
}

/// The number of threads that the environment variable `RAYON_NUM_THREADS` asks for.
#[cfg(feature = "parallel")]
pub fn asked_for() -> Option<usize> {
    let text = std::env::var("RAYON_NUM_THREADS").ok()?;
    text.parse().ok().filter(|threads| *threads > 0)
}

/// Starts the threads, before any other function of this module is used; an error if they cannot
/// be started or have been already.
#[cfg(feature = "parallel")]
pub fn start(threads: usize) -> Result<(), String> {
    is_forked(); // from now on they belong to this process
    let builder = rayon::ThreadPoolBuilder::new().num_threads(threads);
    builder.build_global().map_err(|error| error.to_string())
}

#[cfg(all(test, feature = "parallel"))]
mod tests {
    use super::*;

    /// In a fork, which a test cannot make safely, the owner is another process.
    #[test]
    fn a_process_without_the_threads_computes_alone() {
        assert!(!is_forked());
        let owner = OWNER.swap(u32::MAX, Ordering::SeqCst);
        assert!(is_forked());
        let here = std::thread::current().id();
        let threads = map(64, |_| std::thread::current().id());
        OWNER.store(owner, Ordering::SeqCst);
        assert!(threads.iter().all(|thread| *thread == here));
    }

    #[test]
    fn no_more_threads_are_used_than_the_machine_can_run() {
        assert_eq!((at_most(0), at_most(1)), (1, 1));
        assert!(at_most(usize::MAX) <= 4 * 4096, "{}", at_most(usize::MAX));
    }
}
