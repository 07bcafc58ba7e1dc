//! Parquet source, read one row group at a time.

use std::sync::Arc;

use arrow_schema::{DataType, SchemaRef};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};

use super::{DAMAGED, empty_columns, guard, names_of};
use crate::batch::Batch;
use crate::error::{Error, Result};
use crate::input::Stored;
use crate::source::Source;

/// A Parquet file being read; the reader is created for the first batch.
pub(in crate::source) struct ParquetSource {
    name: String,
    names: Arc<[String]>,
    schema: SchemaRef,
    builder: Option<ParquetRecordBatchReaderBuilder<Stored>>,
    reader: Option<ParquetRecordBatchReader>,
    rows: u64,
    total_rows: u64,
    total_bytes: u64,
}

impl ParquetSource {
    pub(in crate::source) fn open(file: Stored, name: &str) -> Result<Self> {
        let size = file.len();
        if size == 0 {
            return Err(Error::malformed(name, "the file is empty"));
        }
        let builder = guard(name, || ParquetRecordBatchReaderBuilder::try_new(file))?
            .map_err(|error| read_error(name, &error))?;
        check_codecs(builder.metadata(), name)?;
        let schema = Arc::clone(builder.schema());
        Ok(Self {
            name: name.to_owned(),
            names: names_of(&schema),
            schema,
            total_rows: u64::try_from(builder.metadata().file_metadata().num_rows()).unwrap_or(0),
            builder: Some(builder),
            reader: None,
            rows: 0,
            total_bytes: size,
        })
    }

    fn start(&mut self, most: usize) -> Result<()> {
        if let Some(builder) = self.builder.take() {
            let reader = guard(&self.name, || builder.with_batch_size(most).build())?;
            self.reader = Some(reader.map_err(|error| read_error(&self.name, &error))?);
        }
        Ok(())
    }
}

impl Source for ParquetSource {
    fn names(&self) -> &Arc<[String]> {
        &self.names
    }

    fn next_batch(&mut self, most: usize) -> Result<Option<Batch>> {
        self.start(most)?;
        let columns = match guard(&self.name, || self.reader.as_mut().and_then(Iterator::next))? {
            None => return Ok(None),
            Some(Err(error)) => return Err(read_error(&self.name, &error.into())),
            Some(Ok(columns)) => columns,
        };
        let first_row = self.rows;
        self.rows += columns.num_rows() as u64;
        Batch::read(&self.name, &self.names, first_row, columns).map(Some)
    }

    fn empty_batch(&self) -> Batch {
        empty_columns(&self.names, &self.schema)
    }

    fn bytes_read(&self) -> u64 {
        let share = self.rows as f64 / self.total_rows.max(1) as f64;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share")]
        let bytes = (share * self.total_bytes as f64) as u64;
        bytes
    }

    fn data_type(&self, column: usize) -> Option<&DataType> {
        Some(self.schema.field(column).data_type())
    }

    fn select(&mut self, columns: &[usize]) {
        if let Some(builder) = self.builder.take() {
            let mask = ProjectionMask::roots(builder.parquet_schema(), columns.iter().copied());
            self.builder = Some(builder.with_projection(mask));
            let mut kept = columns.to_vec();
            kept.sort_unstable();
            kept.dedup();
            self.schema = Arc::new(self.schema.project(&kept).expect("the columns exist"));
            self.names = names_of(&self.schema);
        }
    }
}

/// Checks that all codecs are supported; the Parquet reader itself would only name a feature.
fn check_codecs(metadata: &ParquetMetaData, name: &str) -> Result<()> {
    for column in metadata.row_groups().iter().flat_map(RowGroupMetaData::columns) {
        let codec = match column.compression() {
            Compression::BROTLI(_) => "brotli",
            Compression::LZO => "lzo",
            _ => continue,
        };
        return Err(Error::Malformed {
            name: name.to_owned(),
            problem: format!("the Parquet codec {codec} is not supported"),
            hint: Some("write the file with zstd, snappy, gzip or lz4, or uncompressed".into()),
        });
    }
    Ok(())
}

fn read_error(name: &str, error: &ParquetError) -> Error {
    Error::Malformed {
        name: name.to_owned(),
        problem: format!("cannot be read as Parquet: {}", describe(error)),
        hint: Some(DAMAGED.into()),
    }
}

/// The message without the prefix of the parquet crate.
fn describe(error: &ParquetError) -> String {
    match error {
        ParquetError::General(text) | ParquetError::NYI(text) | ParquetError::EOF(text) => {
            text.clone()
        }
        other => other.to_string(),
    }
}
