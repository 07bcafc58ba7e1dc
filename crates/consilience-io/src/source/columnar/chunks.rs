//! Parts of a stored input at any position, for Arrow and Parquet files.

use std::io::Read;

use bytes::Bytes;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::reader::{ChunkReader, Length};

use crate::input::Stored;

impl Stored {
    /// Checks that a damaged file does not ask for bytes beyond its end.
    fn check(&self, start: u64, length: u64) -> ParquetResult<()> {
        let size = self.len();
        if start.checked_add(length).is_some_and(|end| end <= size) {
            return Ok(());
        }
        Err(ParquetError::EOF(format!(
            "{length} bytes at position {start} are needed, but the file has {size}"
        )))
    }
}

impl Length for Stored {
    fn len(&self) -> u64 {
        Self::len(self)
    }
}

/// Reads at the end of a file after which reading fails. A damaged length makes the decoder of headers skip
/// billions of elements that are not there, each with a read of nothing.
const MOST_AT_END: usize = 1000;

/// A reader that fails if it is asked again and again for bytes after the end.
struct Bounded {
    inner: Box<dyn Read>,
    at_end: usize,
}

impl Read for Bounded {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.at_end += usize::from(n == 0 && !buffer.is_empty());
        if self.at_end > MOST_AT_END {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        Ok(n)
    }
}

impl ChunkReader for Stored {
    type T = Box<dyn Read>;

    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        self.check(start, 0)?;
        let inner: Box<dyn Read> = match self {
            Self::File(file) => Box::new(file.get_read(start)?),
            Self::Bytes(bytes) => Box::new(bytes.get_read(start)?),
        };
        Ok(Box::new(Bounded { inner, at_end: 0 }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        self.check(start, length as u64)?;
        match self {
            Self::File(file) => file.get_bytes(start, length),
            Self::Bytes(bytes) => bytes.get_bytes(start, length),
        }
    }
}
