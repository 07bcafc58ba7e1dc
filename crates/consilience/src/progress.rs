//! How long work tells of its progress and learns that it should stop.

use crate::error::{Error, Result};

/// Someone who watches long work. All methods do nothing by default.
pub trait Progress: Sync {
    /// A task of `total` steps begins.
    fn begin(&self, _task: &str, _total: u64) {}

    /// `steps` more are done; may be called from several threads.
    fn advance(&self, _steps: u64) {}

    /// Whether the work should stop as soon as it can.
    fn is_interrupted(&self) -> bool {
        false
    }

    /// An error if the work should stop.
    fn check(&self) -> Result<()> {
        if self.is_interrupted() { Err(Error::Interrupted) } else { Ok(()) }
    }
}

/// Nobody watches.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoProgress;

impl Progress for NoProgress {}

/// Hears only whether to stop: for parts of a task whose progress is shown as a whole.
pub(crate) struct CancelOnly<'a>(pub(crate) &'a dyn Progress);

impl Progress for CancelOnly<'_> {
    fn is_interrupted(&self) -> bool {
        self.0.is_interrupted()
    }
}
