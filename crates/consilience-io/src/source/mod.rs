//! Sources: files and streams as batches of cells.

mod csv_file;
mod ipc;
mod json_lines;
mod parquet_file;

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use arrow_schema::DataType;

use crate::batch::Batch;
use crate::error::{Error, Result};
use crate::location::{Format, Location};

pub(crate) use json_lines::json_text;

/// A table read batch by batch.
pub(crate) trait Source: Send {
    /// Names of the columns.
    fn names(&self) -> &Arc<[String]>;

    /// The next rows, at most `most` and at least one; `None` at the end.
    fn next_batch(&mut self, most: usize) -> Result<Option<Batch>>;

    /// The columns without rows.
    fn empty_batch(&self) -> Batch;

    /// Bytes read so far, or an estimate where the format is read out of order.
    fn bytes_read(&self) -> u64;

    /// The type of a column, where the format has types.
    fn data_type(&self, _column: usize) -> Option<&DataType> {
        None
    }

    /// Reads only these columns where that saves work; others may still come.
    fn select(&mut self, _columns: &[usize]) {}
}

/// An opened input.
pub(crate) enum Input {
    /// A regular file, which can be read twice and from the end.
    File(File),
    /// Anything else.
    Stream(Box<dyn Read + Send>),
}

impl Input {
    pub(crate) fn open(location: &Location) -> Result<Self> {
        let path = match location {
            Location::Standard => return Ok(Self::Stream(Box::new(io::stdin()))),
            Location::Path(path) => path,
        };
        let cannot = |reason| Error::io("read", location, reason);
        let file = File::open(path).map_err(cannot)?;
        let kind = file.metadata().map_err(cannot)?.file_type();
        if kind.is_dir() {
            return Err(cannot(io::ErrorKind::IsADirectory.into()));
        }
        Ok(if kind.is_file() { Self::File(file) } else { Self::Stream(Box::new(file)) })
    }

    /// A file of the same content: a stream is copied into an unnamed temporary file.
    pub(crate) fn into_file(self, name: &str) -> Result<File> {
        let mut stream = match self {
            Self::File(file) => return Ok(file),
            Self::Stream(stream) => stream,
        };
        let cannot = |reason| Error::io("make a temporary copy of", name, reason);
        let mut file = tempfile::tempfile().map_err(cannot)?;
        io::copy(&mut stream, &mut file).map_err(|reason| Error::io("read", name, reason))?;
        file.seek(SeekFrom::Start(0)).map_err(cannot)?;
        Ok(file)
    }

    /// Size of a regular file.
    pub(crate) fn len(&self) -> Option<u64> {
        match self {
            Self::File(file) => file.metadata().ok().map(|metadata| metadata.len()),
            Self::Stream(_) => None,
        }
    }

    fn into_read(self) -> Box<dyn Read + Send> {
        match self {
            Self::File(file) => Box::new(file),
            Self::Stream(stream) => stream,
        }
    }
}

/// Opens a table; `name` is for messages, `first` the size of the first batch where the format
/// needs to look ahead.
pub(crate) fn open(
    input: Input,
    format: Format,
    name: &str,
    first: usize,
) -> Result<Box<dyn Source>> {
    Ok(match format {
        Format::Csv => Box::new(csv_file::CsvSource::open(input.into_read(), name)?),
        Format::JsonLines => {
            Box::new(json_lines::JsonSource::open(input.into_read(), name, first)?)
        }
        Format::Parquet => {
            Box::new(parquet_file::ParquetSource::open(input.into_file(name)?, name)?)
        }
        Format::Arrow => ipc::open(input, name)?,
    })
}

/// The columns of an Arrow schema without rows.
fn empty_columns(names: &Arc<[String]>, schema: &arrow_schema::SchemaRef) -> Batch {
    let columns = arrow_array::RecordBatch::new_empty(Arc::clone(schema));
    Batch::columns(Arc::clone(names), 0, columns)
}

fn names_of(schema: &arrow_schema::Schema) -> Arc<[String]> {
    schema.fields().iter().map(|field| field.name().clone()).collect()
}

/// Runs a step of Arrow's or Parquet's reader, which panics on some damaged files (lengths that
/// reach beyond a buffer): to the user that is a damaged file like any other.
fn guard<T>(name: &str, step: impl FnOnce() -> T) -> Result<T> {
    GUARDED.set(true);
    let done = panic::catch_unwind(AssertUnwindSafe(step));
    GUARDED.set(false);
    done.map_err(|_| Error::Malformed {
        name: name.to_owned(),
        problem: "the file is damaged".into(),
        hint: Some(DAMAGED),
    })
}

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Whether a panic of this thread would be caught and become an error of a damaged file: a
/// program's panic hook then has nothing to say.
pub fn is_guarded() -> bool {
    GUARDED.get()
}

const DAMAGED: &str = "the file may be cut off, damaged or of another format";
