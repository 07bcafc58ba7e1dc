//! Sources: read files and streams as batches of cells.

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

/// A table that is read in batches.
pub(crate) trait Source: Send {
    /// Names of the columns.
    fn names(&self) -> &Arc<[String]>;

    /// The next rows, at least one and at most `most`; `None` at the end.
    fn next_batch(&mut self, most: usize) -> Result<Option<Batch>>;

    /// The columns without rows.
    fn empty_batch(&self) -> Batch;

    /// Number of bytes read so far, estimated for formats that are not read in order.
    fn bytes_read(&self) -> u64;

    /// The type of a column, where the format has types.
    fn data_type(&self, _column: usize) -> Option<&DataType> {
        None
    }

    /// Restricts reading to these columns, where that saves work; other columns may remain.
    fn select(&mut self, _columns: &[usize]) {}
}

/// An open input.
pub(crate) enum Input {
    /// A regular file, which can be read more than once and from its end.
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

    /// The input as a file; a stream is copied to an unnamed temporary file.
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

/// Opens a table. `name` is used in messages; `first` is the number of rows from which formats
/// without a header find their columns.
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

/// Runs a step of the Arrow or Parquet reader and reports a panic as a damaged file. Both readers
/// panic on some damaged files, for example if a length exceeds a buffer.
fn guard<T>(name: &str, step: impl FnOnce() -> T) -> Result<T> {
    GUARDED.set(true);
    let done = panic::catch_unwind(AssertUnwindSafe(step));
    GUARDED.set(false);
    done.map_err(|_| Error::Malformed {
        name: name.to_owned(),
        problem: "the file is damaged".into(),
        hint: Some(DAMAGED.into()),
    })
}

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Whether a panic of this thread would be caught and reported as a damaged file. The panic hook
/// of a program should print nothing then.
pub fn is_guarded() -> bool {
    GUARDED.get()
}

const DAMAGED: &str = "the file may be incomplete, damaged or of another format";
