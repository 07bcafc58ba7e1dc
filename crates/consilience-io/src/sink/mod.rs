//! Sinks: write batches of cells and computed columns to files.

#[cfg(feature = "columnar")]
mod columnar;
mod csv_file;
mod json_lines;

use crate::arrow_cells;
use crate::batch::{Batch, Body};
use crate::error::{Error, Result};
use crate::location::Format;
use crate::whole::Output;
use crate::writer::Added;

/// Number of bytes of text that are written at once: no fewer than the output's own buffer has, which are then not copied
/// to it.
const BUFFER: usize = 1 << 17;

/// A table being written. The first batch determines the columns.
pub(crate) trait Sink: Send {
    /// Writes rows.
    fn write(&mut self, carried: &Batch, added: &[Added]) -> Result<()>;

    /// Writes the remaining bytes and returns the output.
    fn finish(self: Box<Self>) -> Result<Output>;
}

/// Opens a table to be written; `name` is used in messages.
#[cfg_attr(feature = "columnar", allow(unused_variables, clippy::unnecessary_wraps))]
pub(crate) fn create(output: Output, format: Format, name: &str) -> Result<Box<dyn Sink>> {
    Ok(match format {
        Format::Csv => Box::new(csv_file::CsvSink::new(output)),
        Format::JsonLines => Box::new(json_lines::JsonSink::new(output)),
        #[cfg(feature = "columnar")]
        Format::Parquet | Format::Arrow => Box::new(columnar::ColumnarSink::new(output, format)),
        #[cfg(not(feature = "columnar"))]
        Format::Parquet | Format::Arrow => {
            return Err(Error::FormatLeftOut { name: name.to_owned() });
        }
    })
}

/// The columns of a batch as arrays whose cells can be written as text; empty for batches of text.
fn writable_columns(carried: &Batch, name: &str) -> Result<Vec<arrow_array::ArrayRef>> {
    let Body::Columns(batch) = &carried.body else {
        return Ok(Vec::new());
    };
    let columns = batch.columns().iter().zip(carried.names()).map(|(array, column)| {
        if !arrow_cells::is_writable(array.data_type()) {
            return Err(Error::ColumnType {
                name: name.to_owned(),
                column: column.clone(),
                data_type: array.data_type().to_string(),
                cannot: "cannot be written as text",
            });
        }
        arrow_cells::plain(array).map_err(|error| Error::malformed(name, error.to_string()))
    });
    columns.collect()
}
