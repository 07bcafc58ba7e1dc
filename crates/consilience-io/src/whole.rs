//! Complete files: written to a temporary file in the folder of the target, then renamed.
//!
//! A file that is replaced keeps its permissions and, where the system allows, its owner and
//! group. Symbolic links are followed. Other hard links keep the old content: writing through them
//! would make half-written files visible.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Stdout, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::error::{Error, Result};
use crate::location::{Location, descriptor};
use crate::unfinished::Unfinished;

/// Number of bytes that are written at once.
const BUFFER: usize = 1 << 17;

/// Largest number of symbolic links that are followed, as in the operating system.
const MOST_LINKS: usize = 40;

/// An output that appears when it is finished.
pub(crate) struct Output {
    name: String,
    kind: Kind,
}

enum Kind {
    Standard(BufWriter<Stdout>),
    /// Devices and pipes, which cannot be replaced.
    Direct(BufWriter<File>),
    /// File and temporary path are separate, so that errors do not name the temporary path.
    Whole {
        writer: BufWriter<File>,
        temporary: Unfinished,
        target: PathBuf,
    },
}

impl Output {
    /// Opens an output; a regular target is not changed before [`finish`](Self::finish).
    pub(crate) fn create(location: &Location) -> Result<Self> {
        let name = location.output_name();
        let kind = match location {
            Location::Standard => Ok(Kind::standard()),
            Location::Path(path) => Kind::create(path),
        };
        let kind = kind.map_err(|reason| Error::io("write", &name, reason))?;
        Ok(Self { name, kind })
    }

    /// Its name in messages.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Completes the file and moves it to its path.
    pub(crate) fn finish(self) -> Result<()> {
        self.kind.finish().map_err(|reason| Error::io("write", &self.name, reason))
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.kind {
            Kind::Standard(writer) => writer.write(bytes),
            Kind::Direct(writer) | Kind::Whole { writer, .. } => writer.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.kind {
            Kind::Standard(writer) => writer.flush(),
            Kind::Direct(writer) | Kind::Whole { writer, .. } => writer.flush(),
        }
    }
}

impl Kind {
    fn standard() -> Self {
        Self::Standard(BufWriter::with_capacity(BUFFER, io::stdout()))
    }

    fn create(path: &Path) -> io::Result<Self> {
        match descriptor(path) {
            Some(1) => return Ok(Self::standard()),
            Some(_) => {
                // Opening begins at the start of a file, which may have content.
                let file = OpenOptions::new().append(true).open(path)?;
                return Ok(Self::Direct(BufWriter::with_capacity(BUFFER, file)));
            }
            None => {}
        }
        let existing = match fs::metadata(path) {
            Ok(metadata) => Some(metadata),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        match &existing {
            Some(metadata) if metadata.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            Some(metadata) if !metadata.is_file() => {
                let file = OpenOptions::new().write(true).open(path)?;
                return Ok(Self::Direct(BufWriter::with_capacity(BUFFER, file)));
            }
            _ => {}
        }
        let target = behind_links(path)?;
        check_folder(folder_of(&target))?;
        let (file, temporary) = Unfinished::create(|| temporary_beside(&target))?;
        if let Some(existing) = existing {
            // A target without permission to write must not be replaced either.
            OpenOptions::new().write(true).open(&target)?;
            keep_owner(&file, &existing);
            file.set_permissions(existing.permissions())?;
        }
        Ok(Self::Whole { writer: BufWriter::with_capacity(BUFFER, file), temporary, target })
    }

    fn finish(self) -> io::Result<()> {
        match self {
            Self::Standard(mut writer) => writer.flush(),
            Self::Direct(mut writer) => writer.flush(),
            Self::Whole { writer, temporary, target } => {
                let file = writer.into_inner().map_err(io::IntoInnerError::into_error)?;
                file.sync_all()?;
                temporary.persist(&target)
            }
        }
    }
}

/// The file at the end of a chain of symbolic links, whether or not it exists.
fn behind_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_symlink() => {
                let link = fs::read_link(&path)?;
                path = folder_of(&path).join(link);
            }
            _ => return Ok(path),
        }
    }
    Err(io::Error::other("too many symbolic links"))
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Checks that the folder exists, to name it in the error.
fn check_folder(folder: &Path) -> io::Result<()> {
    match fs::metadata(folder) {
        Ok(metadata) if metadata.is_dir() => Ok(()),
        Ok(_) => Err(io::Error::other(format!("`{}` is not a folder", folder.display()))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let problem = format!("there is no folder `{}`", folder.display());
            Err(io::Error::new(io::ErrorKind::NotFound, problem))
        }
        Err(error) => Err(error),
    }
}

/// A new file in the target's folder, because a rename is atomic only within a file system. Its
/// permissions follow the umask, like those of any new file.
fn temporary_beside(target: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".consilience-").suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder_of(target)).map_err(without_path)
}

/// Gives the new file the owner and the group of the file that it will replace, as far as the system
/// allows: a user who is not privileged can keep the group only.
#[cfg(unix)]
fn keep_owner(file: &File, existing: &fs::Metadata) {
    use std::os::unix::fs::{MetadataExt, fchown};
    if fchown(file, Some(existing.uid()), Some(existing.gid())).is_err() {
        let _ = fchown(file, None, Some(existing.gid()));
    }
}

#[cfg(not(unix))]
fn keep_owner(_: &File, _: &fs::Metadata) {}

/// The system's error without the temporary file's name.
fn without_path(error: io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(_) => error,
        None => error.kind().into(),
    }
}

/// Checks that a file can be written, to fail before a long computation.
pub fn check_writable(location: &Location) -> Result<()> {
    let Location::Path(path) = location else {
        return Ok(());
    };
    match fs::metadata(path) {
        // Opening and closing a pipe would end the input of its reader.
        Ok(metadata) if !metadata.is_file() && !metadata.is_dir() => Ok(()),
        _ => Output::create(location).map(drop),
    }
}

/// Writes a small file, such as a model or report; it appears only when it is complete.
pub fn write_whole(location: &Location, bytes: &[u8]) -> Result<()> {
    let mut output = Output::create(location)?;
    output.write_all(bytes).map_err(|reason| Error::io("write", output.name(), reason))?;
    output.finish()
}
