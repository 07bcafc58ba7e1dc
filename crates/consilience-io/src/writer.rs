//! Writer of tables: input columns and added columns; an incomplete file never appears.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::batch::Batch;
use crate::error::{Error, Result};
use crate::location::{Format, Location};
use crate::sink::{self, Sink};
use crate::whole::Output;

/// A column to write after the input columns.
#[derive(Debug, Clone)]
pub struct Added<'a> {
    /// Its name.
    pub name: Cow<'a, str>,
    /// Its values, one per row of the batch.
    pub values: AddedValues<'a>,
}

/// The values of an added column.
#[derive(Debug, Clone, Copy)]
pub enum AddedValues<'a> {
    /// Numbers; NaN is written as an empty cell or null.
    Numbers(&'a [f64]),
    /// Whole numbers.
    Counts(&'a [u64]),
    /// Names, by their indices in a list.
    Names {
        /// The index of each row's name.
        index: &'a [u32],
        /// The names.
        names: &'a [String],
    },
    /// Any text.
    Text(&'a [String]),
}

impl AddedValues<'_> {
    /// Number of values.
    pub fn len(&self) -> usize {
        match self {
            Self::Numbers(values) => values.len(),
            Self::Counts(values) => values.len(),
            Self::Names { index, .. } => index.len(),
            Self::Text(values) => values.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The text of a row, if the column holds text.
    pub(crate) fn text(&self, row: usize) -> Option<&str> {
        match self {
            Self::Numbers(_) | Self::Counts(_) => None,
            Self::Names { index, names } => Some(&names[index[row] as usize]),
            Self::Text(values) => Some(&values[row]),
        }
    }
}

/// Writer of a table in batches; a file appears under its name only when it is finished.
pub struct TableWriter {
    name: String,
    sink: Box<dyn Sink>,
    /// Names of the columns; `None` before the first batch.
    columns: Option<Vec<String>>,
}

impl TableWriter {
    /// Opens an output in the given format or, without one, that of the extension; CSV for standard
    /// output.
    pub fn create(location: &Location, format: Option<Format>) -> Result<Self> {
        let format = Format::choose_written(format, location)?;
        let output = Output::create(location)?;
        let name = location.output_name();
        let sink = sink::create(output, format, &name)?;
        Ok(Self { name, sink, columns: None })
    }

    /// Writes rows: the input columns, then the added ones. Every batch must have the same columns;
    /// a batch without rows writes the header.
    ///
    /// # Panics
    /// If an index of [`AddedValues::Names`] is out of range.
    pub fn write(&mut self, carried: &Batch, added: &[Added]) -> Result<()> {
        self.check_columns(carried, added)?;
        for column in added {
            if column.values.len() != carried.n_rows() {
                return Err(consilience::Error::Mismatch {
                    what: "rows of the input columns and added columns",
                    expected: carried.n_rows().to_string(),
                    found: format!("{} of `{}`", column.values.len(), column.name),
                }
                .into());
            }
        }
        self.sink.write(carried, added)
    }

    /// Completes the table and moves it to its path.
    pub fn finish(self) -> Result<()> {
        self.sink.finish()?.finish()
    }

    fn check_columns(&mut self, carried: &Batch, added: &[Added]) -> Result<()> {
        let names =
            || carried.names().iter().map(String::as_str).chain(added.iter().map(|c| &*c.name));
        match &self.columns {
            Some(known) if known.iter().map(String::as_str).eq(names()) => Ok(()),
            Some(known) => Err(consilience::Error::Mismatch {
                what: "columns of the batches of a table",
                expected: crate::error::quoted(known),
                found: crate::error::quoted(&names().collect::<Vec<_>>()),
            }
            .into()),
            None => {
                let names: Vec<String> = names().map(str::to_owned).collect();
                let (carried, added) = names.split_at(carried.names().len());
                let mut seen: HashSet<&String> = carried.iter().collect();
                for name in added {
                    if !seen.insert(name) {
                        let (name, column) = (self.name.clone(), name.clone());
                        return Err(Error::ColumnExists { name, column });
                    }
                }
                self.columns = Some(names);
                Ok(())
            }
        }
    }
}

impl std::fmt::Debug for TableWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TableWriter")
            .field("name", &self.name)
            .field("columns", &self.columns)
            .finish_non_exhaustive()
    }
}
