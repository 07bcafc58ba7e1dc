//! Inputs: files, streams and bytes in memory, all read in the same way.

use std::env;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read, Seek, SeekFrom, Write};

use bytes::Bytes;

use crate::error::{Error, Result};
use crate::location::{Format, Location, descriptor};

/// Number of bytes that are read at once.
const BUFFER: usize = 1 << 17;

/// The first bytes of gzip.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// A table to be read, from a file, a stream or memory.
///
/// # Example
/// ```
/// use consilience_io::{Format, Input, ReadOptions, read_outputs_from};
/// let table = Input::from_bytes("the request", Format::Csv, "label,a_x,a_y\nx,0.7,0.3\ny,0.2,0.8\n");
/// let outputs = read_outputs_from(table, &ReadOptions::default())?;
/// assert_eq!(outputs.n_items(), 2);
/// # Ok::<(), consilience_io::Error>(())
/// ```
pub struct Input {
    pub(crate) name: String,
    pub(crate) format: Format,
    pub(crate) content: Content,
}

impl Input {
    /// Opens a file or standard input in the given format or, without one, that of the extension;
    /// CSV for standard input.
    pub fn open(location: &Location, format: Option<Format>) -> Result<Self> {
        let format = Format::choose(format, location)?;
        Ok(Self { name: location.to_string(), format, content: Content::open(location)? })
    }

    /// A table in memory; `name` is used in messages.
    pub fn from_bytes(name: impl Into<String>, format: Format, bytes: impl Into<Bytes>) -> Self {
        let content = Content::Stored(Stored::Bytes(bytes.into()));
        Self { name: name.into(), format, content }
    }

    /// A table in memory that came with a file's name, whose extension is the format.
    pub fn from_file_bytes(name: &str, bytes: impl Into<Bytes>) -> Result<Self> {
        let format = Format::choose(None, &Location::Path(name.into()))?;
        Ok(Self::from_bytes(name, format, bytes))
    }

    /// A stream, which is copied to a temporary file if it must be read twice or from its end;
    /// `name` is used in messages.
    pub fn from_read(
        name: impl Into<String>,
        format: Format,
        stream: impl Read + Send + 'static,
    ) -> Self {
        Self { name: name.into(), format, content: Content::Stream(Box::new(stream)) }
    }
}

impl std::fmt::Debug for Input {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Input")
            .field("name", &self.name)
            .field("format", &self.format)
            .finish_non_exhaustive()
    }
}

/// The bytes of an input.
pub(crate) enum Content {
    Stored(Stored),
    Stream(Box<dyn Read + Send>),
}

impl Content {
    fn open(location: &Location) -> Result<Self> {
        let path = match location {
            Location::Path(path) if descriptor(path) != Some(0) => path,
            _ => return Ok(Self::Stream(Box::new(io::stdin()))),
        };
        let cannot = |reason| Error::io("read", location, reason);
        let file = File::open(path).map_err(cannot)?;
        let kind = file.metadata().map_err(cannot)?.file_type();
        if kind.is_dir() {
            return Err(cannot(io::ErrorKind::IsADirectory.into()));
        }
        let stored = |file| Self::Stored(Stored::File(file));
        Ok(if kind.is_file() { stored(file) } else { Self::Stream(Box::new(file)) })
    }

    /// Size in bytes, where it is known.
    pub(crate) fn len(&self) -> Option<u64> {
        match self {
            Self::Stored(stored) => Some(stored.len()),
            Self::Stream(_) => None,
        }
    }

    /// The content in a form that can be read more than once; a stream is copied to an unnamed
    /// temporary file.
    pub(crate) fn into_stored(self, name: &str) -> Result<Stored> {
        match self {
            Self::Stored(stored) => Ok(stored),
            Self::Stream(stream) => copy_to_file(stream, name).map(Stored::File),
        }
    }

    /// The bytes in order.
    pub(crate) fn into_read(self) -> Box<dyn Read + Send> {
        match self {
            Self::Stored(Stored::File(file)) => Box::new(file),
            Self::Stored(Stored::Bytes(bytes)) => Box::new(Cursor::new(bytes)),
            Self::Stream(stream) => stream,
        }
    }

    /// The bytes of a text format in order, decompressed if they begin like gzip.
    pub(crate) fn into_text(self, name: &str) -> Result<BufReader<Box<dyn Read + Send>>> {
        let mut bytes = BufReader::with_capacity(BUFFER, self.into_read());
        let start = bytes.fill_buf().map_err(|reason| Error::io("read", name, reason))?;
        if !start.starts_with(&GZIP) {
            return Ok(bytes);
        }
        let text: Box<dyn Read + Send> = Box::new(flate2::bufread::MultiGzDecoder::new(bytes));
        Ok(BufReader::with_capacity(BUFFER, text))
    }
}

fn copy_to_file(mut stream: Box<dyn Read + Send>, name: &str) -> Result<File> {
    let cannot = |reason| Error::NoTemporaryCopy {
        name: name.to_owned(),
        folder: env::temp_dir().display().to_string(),
        reason,
    };
    let mut file = tempfile::tempfile().map_err(cannot)?;
    let mut buffer = vec![0; BUFFER];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => file.write_all(&buffer[..n]).map_err(cannot)?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Error::io("read", name, error)),
        }
    }
    file.seek(SeekFrom::Start(0)).map_err(cannot)?;
    Ok(file)
}

/// Bytes that can be read more than once and from any position.
pub(crate) enum Stored {
    /// A regular file.
    File(File),
    /// Memory.
    Bytes(Bytes),
}

/// The same bytes from their start. Handles of one file share their position, so earlier ones must
/// no longer be in use.
pub(crate) fn from_start(stored: &Stored, name: &str) -> Result<Content> {
    let file = match stored {
        Stored::Bytes(bytes) => return Ok(Content::Stored(Stored::Bytes(bytes.clone()))),
        Stored::File(file) => file.try_clone(),
    };
    let rewound = file.and_then(|mut file| file.seek(SeekFrom::Start(0)).map(|_| file));
    let file = rewound.map_err(|reason| Error::io("read", name, reason))?;
    Ok(Content::Stored(Stored::File(file)))
}

impl Stored {
    /// Size in bytes.
    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::File(file) => file.metadata().map_or(0, |metadata| metadata.len()),
            Self::Bytes(bytes) => bytes.len() as u64,
        }
    }
}
