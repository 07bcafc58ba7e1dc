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

impl ChunkReader for Stored {
    type T = Box<dyn Read>;

    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        self.check(start, 0)?;
        Ok(match self {
            Self::File(file) => Box::new(file.get_read(start)?),
            Self::Bytes(bytes) => Box::new(bytes.get_read(start)?),
        })
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        self.check(start, length as u64)?;
        match self {
            Self::File(file) => file.get_bytes(start, length),
            Self::Bytes(bytes) => bytes.get_bytes(start, length),
        }
    }
}
