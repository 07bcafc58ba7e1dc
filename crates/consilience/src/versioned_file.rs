//! What the files of all models have in common: versioned JSON, read and written as a whole.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

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

/// Writes a file that appears when it is complete; an existing file is replaced and keeps its group and permissions.
pub(crate) fn save(path: &Path, text: &str) -> Result<()> {
    write_whole(path, text.as_bytes()).map_err(|error| Error::file(path, &error))
}

/// Writes to a temporary file beside the target and renames it. Symbolic links are followed; devices and pipes
/// are written directly.
fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let existing = match fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => return fs::write(path, bytes),
        Ok(metadata) => {
            // A file without permission to write must not be replaced either.
            OpenOptions::new().write(true).open(path)?;
            Some(metadata)
        }
        Err(_) => None,
    };
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let (mut file, temporary) = create_beside(&target)?;
    // Access comes first: otherwise, what is written could be read by others meanwhile.
    let written = existing
        .map_or(Ok(()), |existing| keep_access(&file, &existing))
        .and_then(|()| file.write_all(bytes))
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&temporary, &target));
    if written.is_err() {
        let _ = fs::remove_file(&temporary); // the first error is the one to report
    }
    written
}

/// Gives a file the group, where that is allowed, and the permissions of the file that it will replace.
fn keep_access(file: &File, existing: &fs::Metadata) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, fchown};
        let _ = fchown(file, None, Some(existing.gid()));
    }
    file.set_permissions(existing.permissions())
}

/// A new file in the folder of the target, with the first free number in its name.
fn create_beside(target: &Path) -> io::Result<(File, PathBuf)> {
    let mut number = 0;
    loop {
        let path = target.with_file_name(format!(".consilience-{number}.tmp"));
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            file => return file.map(|file| (file, path)),
        }
    }
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

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    /// Whoever has the old file open, or another name of it, keeps the old content: it is never half-written.
    #[test]
    fn a_file_is_replaced_as_a_whole() {
        let folder = std::env::temp_dir().join(format!("consilience-save-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        let at = |name: &str| folder.join(name);
        fs::write(at("model.json"), "old").unwrap();
        fs::set_permissions(at("model.json"), fs::Permissions::from_mode(0o640)).unwrap();
        fs::hard_link(at("model.json"), at("old.json")).unwrap();
        symlink("model.json", at("link.json")).unwrap();
        save(&at("link.json"), "new").unwrap();
        assert_eq!(fs::read_to_string(at("model.json")).unwrap(), "new");
        assert_eq!(fs::read_to_string(at("old.json")).unwrap(), "old");
        assert_eq!(fs::metadata(at("model.json")).unwrap().permissions().mode() & 0o777, 0o640);
        assert!(fs::symlink_metadata(at("link.json")).unwrap().is_symlink());
        assert!(save(&at("no folder/model.json"), "new").is_err());
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 3, "no temporary file is left");
        fs::remove_dir_all(&folder).unwrap();
    }
}
