//! Arrow IPC source: the file format and the stream format, distinguished by their first bytes.

use std::fs::File;
use std::io::{BufReader, Cursor, Read, Seek, SeekFrom};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::{ArrowError, DataType, SchemaRef};

use super::{DAMAGED, Input, Source, empty_columns, guard, names_of};
use crate::batch::Batch;
use crate::error::{Error, Result};

/// The first bytes of the file format; the stream format begins differently.
const FILE_MAGIC: &[u8] = b"ARROW1";

/// Opens a file or a stream. The file format is read from its end, so it is copied first if it
/// comes from a stream.
pub(super) fn open(input: Input, name: &str) -> Result<Box<dyn Source>> {
    let cannot = |reason| Error::io("read", name, reason);
    let total = input.len();
    let mut magic = Vec::new();
    match input {
        Input::File(mut file) => {
            file.by_ref().take(6).read_to_end(&mut magic).map_err(cannot)?;
            file.seek(SeekFrom::Start(0)).map_err(cannot)?;
            check_not_empty(&magic, name)?;
            if magic == FILE_MAGIC {
                open_file(file, name, total.unwrap_or(0))
            } else {
                open_stream(file, name)
            }
        }
        Input::Stream(mut stream) => {
            stream.by_ref().take(6).read_to_end(&mut magic).map_err(cannot)?;
            check_not_empty(&magic, name)?;
            let is_file = magic == FILE_MAGIC;
            let whole = Cursor::new(magic).chain(stream);
            if is_file {
                let file = Input::Stream(Box::new(whole)).into_file(name)?;
                let total = file.metadata().map_err(cannot)?.len();
                open_file(file, name, total)
            } else {
                open_stream(whole, name)
            }
        }
    }
}

fn check_not_empty(magic: &[u8], name: &str) -> Result<()> {
    match magic {
        [] => Err(Error::malformed(name, "the file is empty")),
        _ => Ok(()),
    }
}

fn open_file(file: File, name: &str, total_bytes: u64) -> Result<Box<dyn Source>> {
    let reader = guard(name, || FileReader::try_new_buffered(file, None))?
        .map_err(|error| read_error(name, &error))?;
    let (schema, n_batches) = (reader.schema(), reader.num_batches() as u64);
    let progress = move |_: &FileReader<BufReader<File>>, batches: u64| {
        total_bytes * batches.min(n_batches) / n_batches.max(1)
    };
    Ok(Box::new(IpcSource::new(name, schema, reader, Box::new(progress))))
}

fn open_stream<R: Read + Send + 'static>(stream: R, name: &str) -> Result<Box<dyn Source>> {
    let counted = Counted { inner: stream, bytes: 0 };
    let reader = guard(name, || StreamReader::try_new_buffered(counted, None))?
        .map_err(|error| read_error(name, &error))?;
    let schema = reader.schema();
    let progress =
        |reader: &StreamReader<BufReader<Counted<R>>>, _: u64| reader.get_ref().get_ref().bytes;
    Ok(Box::new(IpcSource::new(name, schema, reader, Box::new(progress))))
}

/// The number of bytes that a reader has read, given its number of batches.
type Progress<R> = Box<dyn Fn(&R, u64) -> u64 + Send>;

/// Record batches being read; those in the file may be larger than those requested.
struct IpcSource<R> {
    name: String,
    names: Arc<[String]>,
    schema: SchemaRef,
    reader: R,
    progress: Progress<R>,
    batches: u64,
    rows: u64,
    rest: Option<RecordBatch>,
}

impl<R> IpcSource<R> {
    fn new(name: &str, schema: SchemaRef, reader: R, progress: Progress<R>) -> Self {
        Self {
            name: name.to_owned(),
            names: names_of(&schema),
            schema,
            reader,
            progress,
            batches: 0,
            rows: 0,
            rest: None,
        }
    }
}

impl<R> Source for IpcSource<R>
where
    R: Iterator<Item = Result<RecordBatch, ArrowError>> + Send,
{
    fn names(&self) -> &Arc<[String]> {
        &self.names
    }

    fn next_batch(&mut self, most: usize) -> Result<Option<Batch>> {
        let columns = loop {
            match self.rest.take() {
                Some(rest) if rest.num_rows() > 0 => break rest,
                _ => {}
            }
            match guard(&self.name, || self.reader.next())? {
                None => return Ok(None),
                Some(batch) => {
                    self.rest = Some(batch.map_err(|error| read_error(&self.name, &error))?);
                }
            }
            self.batches += 1;
        };
        let n = columns.num_rows().min(most);
        self.rest = Some(columns.slice(n, columns.num_rows() - n));
        let first_row = self.rows;
        self.rows += n as u64;
        Ok(Some(Batch::columns(Arc::clone(&self.names), first_row, columns.slice(0, n))))
    }

    fn empty_batch(&self) -> Batch {
        empty_columns(&self.names, &self.schema)
    }

    fn bytes_read(&self) -> u64 {
        (self.progress)(&self.reader, self.batches)
    }

    fn data_type(&self, column: usize) -> Option<&DataType> {
        Some(self.schema.field(column).data_type())
    }
}

/// A stream that counts the bytes read.
struct Counted<R> {
    inner: R,
    bytes: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.bytes += n as u64;
        Ok(n)
    }
}

fn read_error(name: &str, error: &ArrowError) -> Error {
    Error::Malformed {
        name: name.to_owned(),
        problem: format!("cannot be read as Arrow IPC: {error}"),
        hint: Some(DAMAGED.into()),
    }
}
