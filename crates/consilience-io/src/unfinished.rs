//! Temporary files of outputs that are not finished.
//!
//! They are removed when an output is dropped. A program that ends at once, without dropping
//! anything, calls [`remove_unfinished`] before.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::{NamedTempFile, TempPath};

/// The paths of all temporary files. Files are created, renamed and removed under this lock.
static PATHS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn paths() -> MutexGuard<'static, Vec<PathBuf>> {
    PATHS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The temporary file of an output.
pub(crate) struct Unfinished {
    path: Option<TempPath>,
}

impl Unfinished {
    /// Creates a temporary file. The path is kept apart from the file, so that errors of writing
    /// do not name it.
    pub(crate) fn create(
        create: impl FnOnce() -> io::Result<NamedTempFile>,
    ) -> io::Result<(File, Self)> {
        let mut paths = paths();
        let (file, path) = create()?.into_parts();
        paths.push(path.to_path_buf());
        Ok((file, Self { path: Some(path) }))
    }

    /// Moves the file to its final path.
    pub(crate) fn persist(mut self, target: &Path) -> io::Result<()> {
        let mut paths = paths();
        let Some(path) = self.path.take() else { return Ok(()) };
        paths.retain(|known| *known != *path);
        path.persist(target).map_err(|error| error.error)
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some(path) = self.path.take() {
            let mut paths = paths();
            paths.retain(|known| *known != *path);
            drop(path);
        }
    }
}

/// Removes the temporary files of all outputs that are not finished. The program must end after
/// this: other threads that begin or finish an output wait for ever.
pub fn remove_unfinished() {
    let paths = paths();
    for path in paths.iter() {
        let _ = fs::remove_file(path); // it may be gone already; an error here has no reader
    }
    std::mem::forget(paths);
}
