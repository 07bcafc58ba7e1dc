//! Refuses commands that would overwrite a file that they read, or write one file twice.
//!
//! Two names are the same file if they lead to the same place on disk: through `./`, symbolic
//! links, hard links and redirected standard streams.

use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use consilience_io::Location;

use crate::error::Failure;

/// A file that a command reads.
pub(crate) struct Input<'a> {
    /// What it is in messages, such as "the data".
    pub(crate) what: &'static str,
    pub(crate) location: &'a Location,
    /// Whether an output may take its place: what is read is also written, or of no more use.
    pub(crate) replaceable: bool,
}

impl<'a> Input<'a> {
    pub(crate) fn new(what: &'static str, location: &'a Location) -> Self {
        Self { what, location, replaceable: false }
    }

    pub(crate) fn replaceable(what: &'static str, location: &'a Location) -> Self {
        Self { what, location, replaceable: true }
    }
}

/// Checks that the outputs of a command, each with what it is, are neither inputs nor each other.
pub(crate) fn check_distinct(
    inputs: &[Input<'_>],
    outputs: &[(&'static str, &Location)],
) -> Result<(), Failure> {
    for (i, (what, output)) in outputs.iter().enumerate() {
        let Some(place) = Place::of_output(output) else { continue };
        let earlier =
            outputs[..i].iter().find(|(_, other)| Place::of_output(other) == Some(place.clone()));
        let input = inputs.iter().find(|input| {
            let in_place = input.replaceable && **output != Location::Standard;
            !in_place && Place::of_input(input.location) == Some(place.clone())
        });
        if let Some(other) = earlier.map(|(what, _)| *what).or(input.map(|input| input.what)) {
            return Err(Failure::Message {
                message: format!("{what} and {other} are the same file, {}", output.output_name()),
                hint: Some("give the output a name of its own"),
            });
        }
    }
    Ok(())
}

/// Where a file is, whatever its name.
#[derive(Clone, PartialEq, Eq)]
enum Place {
    /// Standard output that is not redirected to a file.
    Standard,
    /// A file that exists: its device and number.
    #[cfg(unix)]
    Numbers(u64, u64),
    /// A file by its folder without links and its name.
    Path(PathBuf),
}

impl Place {
    /// None for devices and pipes, which keep nothing, and for files that cannot be found.
    fn of_input(location: &Location) -> Option<Self> {
        match location {
            Location::Standard => Self::of_stream(&io::stdin()),
            Location::Path(path) => Self::of_path(path),
        }
    }

    fn of_output(location: &Location) -> Option<Self> {
        match location {
            Location::Standard => Some(Self::of_stream(&io::stdout()).unwrap_or(Self::Standard)),
            Location::Path(path) => Self::of_path(path),
        }
    }

    fn of_path(path: &Path) -> Option<Self> {
        match fs::metadata(path) {
            Ok(metadata) if !metadata.is_file() => None,
            Ok(metadata) => Some(Self::of_file(&metadata, path)),
            Err(_) => {
                let target = behind_links(path);
                let folder = match target.parent() {
                    Some(folder) if folder != Path::new("") => folder,
                    _ => Path::new("."),
                };
                Some(Self::Path(folder.canonicalize().ok()?.join(target.file_name()?)))
            }
        }
    }

    #[cfg(unix)]
    fn of_file(metadata: &Metadata, _: &Path) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self::Numbers(metadata.dev(), metadata.ino())
    }

    #[cfg(not(unix))]
    fn of_file(_: &Metadata, path: &Path) -> Self {
        Self::Path(path.canonicalize().unwrap_or_else(|_| path.to_path_buf()))
    }

    /// The file that a standard stream is redirected to.
    #[cfg(unix)]
    fn of_stream(stream: &impl std::os::fd::AsFd) -> Option<Self> {
        let file = fs::File::from(stream.as_fd().try_clone_to_owned().ok()?);
        let metadata = file.metadata().ok().filter(Metadata::is_file)?;
        Some(Self::of_file(&metadata, Path::new("-")))
    }

    #[cfg(not(unix))]
    fn of_stream<S>(_: &S) -> Option<Self> {
        None
    }
}

/// The file that a chain of symbolic links ends at, whether or not it exists.
fn behind_links(path: &Path) -> PathBuf {
    let mut path = path.to_path_buf();
    for _ in 0..40 {
        let Ok(link) = fs::read_link(&path) else { break };
        path = path.parent().unwrap_or(Path::new("")).join(link);
    }
    path
}
