//! A progress bar on the terminal, and stopping when asked to.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use consilience::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::error::Failure;
use crate::output::Messages;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Whether nothing needs to be tidied up, so that an interruption may end the program at once.
static STOPPABLE: AtomicBool = AtomicBool::new(false);

/// On the first Ctrl-C or termination signal, long work stops at its next step and unfinished
/// files are removed; a second one ends the program at once.
pub(crate) fn catch_interrupts() -> Result<(), Failure> {
    ctrlc::set_handler(|| {
        let again = INTERRUPTED.swap(true, Ordering::SeqCst);
        if again || STOPPABLE.load(Ordering::SeqCst) {
            stop();
        }
    })
    .map_err(|error| Failure::message(format!("cannot handle interruptions: {error}")))
}

/// Ends the program at once, without the temporary files of unfinished outputs.
///
/// The handler of a signal and the work that it interrupts may both get here: the second one waits
/// in `remove_unfinished` while the first one prints the message and ends the program.
pub(crate) fn stop() -> ! {
    consilience_io::remove_unfinished();
    Messages::failure(&consilience::Error::Interrupted.into());
    std::process::exit(130);
}

/// Does work that leaves nothing behind and may take long, such as waiting for input: an
/// interruption ends the program in the midst of it.
pub(crate) fn stoppable<T>(work: impl FnOnce() -> T) -> T {
    let before = STOPPABLE.swap(true, Ordering::SeqCst);
    if INTERRUPTED.load(Ordering::SeqCst) {
        stop();
    }
    let done = work();
    STOPPABLE.store(before, Ordering::SeqCst);
    done
}

/// A progress bar on standard error, drawn only on a terminal.
pub(crate) struct TerminalProgress {
    quiet: bool,
    unit: Unit,
    bar: Mutex<ProgressBar>,
}

/// What a bar counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Steps of a computation.
    Steps,
    /// Bytes of a file.
    Bytes,
}

impl TerminalProgress {
    pub(crate) fn new(quiet: bool, unit: Unit) -> Self {
        Self { quiet, unit, bar: Mutex::new(ProgressBar::hidden()) }
    }

    fn bar(&self) -> std::sync::MutexGuard<'_, ProgressBar> {
        self.bar.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Moves a bar of bytes to a position.
    pub(crate) fn set(&self, position: u64) {
        self.bar().set_position(position);
    }
}

impl Drop for TerminalProgress {
    fn drop(&mut self) {
        self.bar().finish_and_clear();
    }
}

impl Progress for TerminalProgress {
    fn begin(&self, task: &str, total: u64) {
        let template = match self.unit {
            Unit::Steps => "{msg} {wide_bar} {pos}/{len} {eta}",
            Unit::Bytes => "{msg} {wide_bar} {bytes}/{total_bytes} {eta}",
        };
        let style = ProgressStyle::with_template(template).expect("the template is well-formed");
        let target =
            if self.quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(Some(total), target).with_style(style);
        bar.set_message(task.to_owned());
        let mut current = self.bar();
        current.finish_and_clear();
        *current = bar;
    }

    fn advance(&self, steps: u64) {
        self.bar().inc(steps);
    }

    fn is_interrupted(&self) -> bool {
        INTERRUPTED.load(Ordering::SeqCst)
    }
}
