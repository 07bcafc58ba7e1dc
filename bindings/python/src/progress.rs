//! Long work on a thread of its own, while this one listens to Python.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use consilience::{Error, NoProgress, Progress, Result};
use pyo3::prelude::*;

use crate::errors::raise;

/// How often signals are looked for and progress is told.
const TICK: Duration = Duration::from_millis(50);

/// What the work tells, and what it is told.
#[derive(Default)]
struct Relay {
    interrupted: AtomicBool,
    task: Mutex<Option<(String, u64)>>,
    done: AtomicU64,
}

impl Progress for Relay {
    fn begin(&self, task: &str, total: u64) {
        let mut current = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        *current = Some((task.to_owned(), total));
        self.done.store(0, Ordering::SeqCst);
    }

    fn advance(&self, steps: u64) {
        self.done.fetch_add(steps, Ordering::SeqCst);
    }

    fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::SeqCst)
    }
}

impl Relay {
    /// Tells the callback where the work stands: `callback(task, done, total)`.
    fn report(&self, callback: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let (Some(callback), Some((task, total))) = (callback, task) {
            let done = self.done.load(Ordering::SeqCst).min(total);
            callback.call1((task, done, total))?;
        }
        Ok(())
    }
}

/// Does `work` with the interpreter released. A signal such as Ctrl-C, or an exception of
/// `progress`, stops it at its next step and is raised.
pub(crate) fn watched<T: Send>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&dyn Progress) -> Result<T> + Send,
) -> PyResult<T> {
    let relay = Relay::default();
    thread::scope(|scope| {
        let (sender, mut receiver) = sync_channel(1);
        let relay = &relay;
        let working = scope.spawn(move || sender.send(work(relay)));
        let listened = listen(py, &mut receiver, || {
            py.check_signals()?;
            relay.report(progress)
        });
        let result = match listened {
            Ok(Some(result)) => result.map_err(|error| raise(&error)),
            Ok(None) => Err(raise(&Error::Interrupted)), // replaced by the panic below
            Err(error) => {
                relay.interrupted.store(true, Ordering::SeqCst);
                Err(error)
            }
        };
        // The interpreter stays released until the work has seen that it should stop.
        if let Err(panic) = py.detach(|| working.join()) {
            std::panic::resume_unwind(panic);
        }
        if result.is_ok() {
            relay.report(progress)?;
        }
        result
    })
}

/// Does `work` that is too short to be interrupted, on this thread, with the interpreter released.
pub(crate) fn at_once<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&dyn Progress) -> Result<T> + Send,
) -> PyResult<T> {
    py.detach(|| work(&NoProgress)).map_err(|error| raise(&error))
}

/// Waits for the result and does something now and then; `None` if the work has panicked.
fn listen<T: Send>(
    py: Python<'_>,
    receiver: &mut Receiver<T>,
    mut tick: impl FnMut() -> PyResult<()>,
) -> PyResult<Option<T>> {
    loop {
        let waiting = &mut *receiver;
        match py.detach(move || waiting.recv_timeout(TICK)) {
            Ok(result) => return Ok(Some(result)),
            Err(RecvTimeoutError::Timeout) => tick()?,
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
        }
    }
}
