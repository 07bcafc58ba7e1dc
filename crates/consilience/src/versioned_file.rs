//! What the files of all models have in common: versioned JSON, read and written as a whole.

use std::path::Path;

use crate::error::{Error, Result};

/// The version of the files that are written, and the only one that is read.
pub(crate) const VERSION: u32 = 1;

/// Reads a file; errors of `read` name it.
pub(crate) fn load<T>(path: &Path, read: impl FnOnce(&str) -> Result<T>) -> Result<T> {
    let text = std::fs::read_to_string(path).map_err(|error| Error::file(path, &error))?;
    read(&text).map_err(|error| Error::File {
        path: path.display().to_string(),
        reason: error.to_string(),
    })
}

/// Writes a file, which is replaced.
pub(crate) fn save(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).map_err(|error| Error::file(path, &error))
}

/// Checks the fields `format` and `version` of a file.
pub(crate) fn check_format(format: &str, version: u32, expected: &str) -> Result<()> {
    if format != expected {
        return Err(Error::model(format!("`format` is `{format}`, not `{expected}`")));
    }
    if version != VERSION {
        return Err(Error::model(format!(
            "it has version {version}, and this program reads version {VERSION}"
        )));
    }
    Ok(())
}
