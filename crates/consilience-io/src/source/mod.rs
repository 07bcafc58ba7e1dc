//! Sources: read files and streams as batches of cells.

#[cfg(feature = "columnar")]
mod columnar;
mod csv_file;
mod json_lines;

use std::cell::Cell;
use std::sync::Arc;

use arrow_schema::DataType;

use crate::batch::Batch;
use crate::error::{Error, Result};
use crate::input::Input;
use crate::location::Format;

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

/// Most columns of a table. Every name takes about a kilobyte of memory until the outputs are found.
const MOST_COLUMNS: usize = 1_000_000;

/// Advice for tables with more columns.
const NARROWER: &str = "use the long layout for so many sources or classes";

/// Refuses tables with more columns than a reader takes.
fn check_width(table: &str, names: &[String]) -> Result<()> {
    if names.len() <= MOST_COLUMNS {
        return Ok(());
    }
    let problem = format!("the table has more than {MOST_COLUMNS} columns");
    Err(Error::header(table, problem, NARROWER))
}

/// Opens a table. `first` is the number of rows from which formats without a header find their
/// columns.
pub(crate) fn open(input: Input, first: usize) -> Result<Box<dyn Source>> {
    let Input { name, format, content } = input;
    let source: Box<dyn Source> = match format {
        Format::Csv => Box::new(csv_file::CsvSource::open(content.into_text(&name)?, &name)?),
        Format::JsonLines => {
            Box::new(json_lines::JsonSource::open(content.into_text(&name)?, &name, first)?)
        }
        #[cfg(feature = "columnar")]
        Format::Parquet => {
            Box::new(columnar::ParquetSource::open(content.into_stored(&name)?, &name)?)
        }
        #[cfg(feature = "columnar")]
        Format::Arrow => Box::new(columnar::IpcSource::open(content, &name)?),
        #[cfg(not(feature = "columnar"))]
        Format::Parquet | Format::Arrow => return Err(crate::Error::FormatLeftOut { name }),
    };
    check_width(&name, source.names())?;
    Ok(source)
}

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Whether a panic of this thread would be caught and reported as a damaged file. The panic hook
/// of a program should print nothing then.
pub fn is_guarded() -> bool {
    GUARDED.get()
}
