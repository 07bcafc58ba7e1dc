//! Progress reporting and cancellation for long computations.

use crate::error::{Error, Result};

/// Receives the progress of a long computation and can cancel it. By default every method does
/// nothing.
pub trait Progress: Sync {
    /// Called when a task of `total` steps begins.
    fn begin(&self, _task: &str, _total: u64) {}

    /// Called when `steps` more steps are done, possibly from several threads.
    fn advance(&self, _steps: u64) {}

    /// Whether the computation should stop.
    fn is_interrupted(&self) -> bool {
        false
    }

    /// Returns [`Error::Interrupted`] if the computation should stop.
    fn check(&self) -> Result<()> {
        if self.is_interrupted() { Err(Error::Interrupted) } else { Ok(()) }
    }
}

/// Ignores all progress and never cancels.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoProgress;

impl Progress for NoProgress {}

/// Passes on cancellation but not progress: for parts of a task that reports progress as a whole.
pub(crate) struct CancelOnly<'a>(pub(crate) &'a dyn Progress);

impl Progress for CancelOnly<'_> {
    fn is_interrupted(&self) -> bool {
        self.0.is_interrupted()
    }
}
