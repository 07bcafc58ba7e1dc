//! Progress of long computations, printed line by line.

use std::sync::Mutex;

use consilience::Progress;

use crate::output::note;

/// Prints the name of every task and how much of it is done, at most ten lines per task.
#[derive(Default)]
pub(crate) struct Lines {
    task: Mutex<Task>,
}

#[derive(Default)]
struct Task {
    name: String,
    done: u64,
    total: u64,
}

impl Progress for Lines {
    fn begin(&self, task: &str, total: u64) {
        *self.task.lock().expect("no holder panics") = Task { name: task.into(), done: 0, total };
    }

    fn advance(&self, steps: u64) {
        let mut task = self.task.lock().expect("no holder panics");
        let tenths = |done: u64| 10 * done / task.total.max(1);
        let before = tenths(task.done);
        let after = tenths(task.done + steps);
        task.done += steps;
        if after > before {
            note(format_args!("  {}: {}/{}", task.name, task.done, task.total));
        }
    }
}
