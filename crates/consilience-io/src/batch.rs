//! Batches: consecutive rows of a table with their cells as they were read, in any format.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch, RecordBatchOptions, StringArray};
use arrow_schema::{Field, Schema as ArrowSchema};
use consilience::Outputs;

use crate::arrow_cells;
use crate::error::{Error, Position, Result};
use crate::source::json_text;
use crate::text::{Cells, parse_number};

/// The name of the column of true classes.
pub(crate) const LABEL: &str = "label";

/// Most bytes that the values of a column may take in a batch. A dictionary, or views of text, can refer to one long
/// value from every row.
const MOST_WRITTEN: u64 = 1 << 28;

/// The input columns of some items, to be written next to computed columns.
#[derive(Debug, Clone)]
pub struct Batch {
    pub(crate) names: Arc<[String]>,
    /// Number of rows of the table before this batch.
    pub(crate) first_row: u64,
    pub(crate) body: Body,
}

/// The cells of a batch as they were read.
#[derive(Debug, Clone)]
pub(crate) enum Body {
    /// Cells of CSV, or values of JSON as they are written there (empty where a key is missing).
    Text { cells: Cells, notation: Notation, numeric: Arc<[bool]> },
    /// Columns of Parquet and Arrow.
    Columns(RecordBatch),
}

/// The notation of cells in a text file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Notation {
    Plain,
    Json,
}

impl Notation {
    /// The number in a cell, which may be quoted in JSON.
    fn number(self, cell: &[u8]) -> Option<f64> {
        match self {
            Self::Json if cell.first() == Some(&b'"') => parse_number(&json_text(cell)),
            _ => parse_number(cell),
        }
    }
}

impl Batch {
    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        match &self.body {
            Body::Text { cells, .. } => cells.n_rows(),
            Body::Columns(columns) => columns.num_rows(),
        }
    }

    /// Names of the columns.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    pub(crate) fn text(
        names: Arc<[String]>,
        first_row: u64,
        cells: Cells,
        notation: Notation,
    ) -> Self {
        let numeric = vec![false; names.len()].into();
        Self { names, first_row, body: Body::Text { cells, notation, numeric } }
    }

    pub(crate) fn columns(names: Arc<[String]>, first_row: u64, columns: RecordBatch) -> Self {
        Self { names, first_row, body: Body::Columns(columns) }
    }

    /// A batch of columns that were read. A column is refused if its values, each written out for every row that refers
    /// to it, take too much memory.
    pub(crate) fn read(
        table: &str,
        names: &Arc<[String]>,
        first_row: u64,
        columns: RecordBatch,
    ) -> Result<Self> {
        let long = |array: &ArrayRef| arrow_cells::written_bytes(array) > MOST_WRITTEN;
        let Some(place) = columns.columns().iter().position(long) else {
            return Ok(Self::columns(Arc::clone(names), first_row, columns));
        };
        Err(Error::Malformed {
            name: table.to_owned(),
            problem: format!(
                "the values of column `{}` take more than {MOST_WRITTEN} bytes in {} rows",
                names[place],
                columns.num_rows()
            ),
            hint: Some("remove or shorten the values; the file may also be damaged".into()),
        })
    }

    /// Marks the columns of text that hold probabilities, to be written as numbers.
    pub(crate) fn mark_numeric(&mut self, marks: &Arc<[bool]>) {
        if let Body::Text { numeric, .. } = &mut self.body {
            *numeric = Arc::clone(marks);
        }
    }

    /// The position of cells of one row.
    pub(crate) fn position(&self, table: &str, row: usize, columns: Vec<String>) -> Position {
        let line = match &self.body {
            Body::Text { cells, .. } => cells.lines.get(row).copied(),
            Body::Columns(_) => None,
        };
        Position { table: table.to_owned(), row: self.first_row + row as u64 + 1, line, columns }
    }

    /// Writes the numbers of some columns to `out`, row by row. The error is the row and column of
    /// the first cell that is not a number; all rows before it are written.
    pub(crate) fn fill_numbers(
        &self,
        columns: &[usize],
        out: &mut [f64],
    ) -> Result<(), (usize, usize)> {
        match &self.body {
            Body::Columns(batch) => {
                let mut bad = Ok(());
                for (offset, &column) in columns.iter().enumerate() {
                    let array = arrow_cells::plain(batch.column(column))
                        .expect("dictionaries were checked when the file was read");
                    if let Err(row) = arrow_cells::fill_numbers(&array, out, offset, columns.len())
                    {
                        bad = bad.map_err(|first: (usize, usize)| first.min((row, column)));
                        bad = bad.and(Err((row, column)));
                    }
                }
                bad
            }
            Body::Text { cells, notation, .. } => {
                for (row, slots) in out.chunks_exact_mut(columns.len()).enumerate() {
                    let own = cells.row(row);
                    for (slot, &column) in slots.iter_mut().zip(columns) {
                        let number = notation.number(own.get(column));
                        *slot = number.ok_or((row, column))?;
                    }
                }
                Ok(())
            }
        }
    }

    /// A column as names, such as labels.
    pub(crate) fn texts(&self, column: usize) -> Texts<'_> {
        let mut decoded = Cells::new(1);
        match &self.body {
            Body::Text { cells, notation: Notation::Plain, .. } => {
                return Texts::Borrowed { cells, column };
            }
            Body::Text { cells, notation: Notation::Json, .. } => {
                for row in 0..cells.n_rows() {
                    decoded.push(&json_text(cells.get(row, column)));
                }
            }
            Body::Columns(batch) => {
                let array = arrow_cells::plain(batch.column(column))
                    .expect("dictionaries were checked when the file was read");
                for row in 0..batch.num_rows() {
                    decoded.push_with(|out| arrow_cells::push_name(&array, row, out));
                }
            }
        }
        Texts::Owned(decoded)
    }

    /// The cells of a column by its name as text; none if there is no such column.
    pub fn text_column(&self, name: &str) -> Option<Vec<String>> {
        let column = self.names.iter().position(|own| own == name)?;
        let texts = self.texts(column);
        let text = |row| String::from_utf8_lossy(texts.get(row).unwrap_or_default()).into_owned();
        Some((0..self.n_rows()).map(text).collect())
    }

    /// A cell as it is written in the file, for messages.
    pub(crate) fn show(&self, row: usize, column: usize) -> String {
        let mut text = Vec::new();
        match &self.body {
            Body::Text { cells, .. } => text.extend_from_slice(cells.get(row, column)),
            Body::Columns(batch) => {
                if let Ok(array) = arrow_cells::plain(batch.column(column)) {
                    arrow_cells::push_text(&array, row, &mut text);
                }
            }
        }
        String::from_utf8_lossy(&text).into_owned()
    }

    /// A batch with columns of several batches, each made of its own (batch, row) pairs.
    pub(crate) fn gather(
        table: &str,
        batches: &[Arc<Self>],
        picks: &[(usize, &[(usize, usize)])],
    ) -> Result<Self> {
        let first = &batches[0];
        let names: Arc<[String]> =
            picks.iter().map(|&(column, _)| first.names[column].clone()).collect();
        match &first.body {
            Body::Text { notation, .. } => {
                let mut gathered = Cells::new(picks.len());
                for item in 0..picks.first().map_or(0, |(_, rows)| rows.len()) {
                    for &(column, rows) in picks {
                        let (batch, row) = rows[item];
                        if let Body::Text { cells, .. } = &batches[batch].body {
                            gathered.push(cells.get(row, column));
                        }
                    }
                }
                Ok(Self::text(names, 0, gathered, *notation))
            }
            Body::Columns(_) => {
                let columns = picks.iter().map(|&(column, rows)| interleave(batches, column, rows));
                let columns: Vec<ArrayRef> = columns
                    .collect::<Result<_, _>>()
                    .map_err(|error| Error::malformed(table, error.to_string()))?;
                Self::read(table, &names, 0, record_batch(&names, columns))
            }
        }
    }
}

fn interleave(
    batches: &[Arc<Batch>],
    column: usize,
    rows: &[(usize, usize)],
) -> Result<ArrayRef, arrow_schema::ArrowError> {
    let arrays = batches.iter().filter_map(|batch| match &batch.body {
        Body::Columns(columns) => Some(columns.column(column).as_ref()),
        Body::Text { .. } => None,
    });
    arrow_select::interleave::interleave(&arrays.collect::<Vec<_>>(), rows)
}

/// A record batch of named columns of one length.
pub(crate) fn record_batch(names: &[String], columns: Vec<ArrayRef>) -> RecordBatch {
    let fields = names.iter().zip(&columns);
    let fields: Vec<Field> =
        fields.map(|(name, column)| Field::new(name, column.data_type().clone(), true)).collect();
    let options =
        RecordBatchOptions::new().with_row_count(Some(columns.first().map_or(0, |c| c.len())));
    RecordBatch::try_new_with_options(Arc::new(ArrowSchema::new(fields)), columns, &options)
        .expect("the columns have the types of their own fields and one length")
}

/// A column read as names; empty cells and nulls have none.
pub(crate) enum Texts<'a> {
    Borrowed { cells: &'a Cells, column: usize },
    Owned(Cells),
}

impl Texts<'_> {
    pub(crate) fn get(&self, row: usize) -> Option<&[u8]> {
        let text = match self {
            Self::Borrowed { cells, column } => cells.get(row, *column),
            Self::Owned(cells) => cells.get(row, 0),
        };
        (!text.is_empty()).then_some(text)
    }
}

/// Outputs as a wide table: the column `label`, if any item has a label, then the columns
/// `<classifier>_<class>`. Missing outputs are empty.
///
/// # Panics
/// If the range ends beyond the last item.
pub fn batch_of(outputs: &Outputs, range: Range<usize>) -> Batch {
    let schema = outputs.schema();
    let mut names = Vec::with_capacity(schema.width() + 1);
    let mut columns: Vec<ArrayRef> = Vec::with_capacity(schema.width() + 1);
    let n_items = outputs.n_items();
    if n_items == 0 || (0..n_items).any(|item| outputs.label(item).is_some()) {
        let label = |item| outputs.label(item).map(|class: usize| schema.classes()[class].as_str());
        names.push(LABEL.to_owned());
        columns.push(Arc::new(range.clone().map(label).collect::<StringArray>()));
    }
    let values = outputs.items(range.clone()).values();
    for (index, name) in column_names(schema).enumerate() {
        let column = values.iter().skip(index).step_by(schema.width());
        let column: Float64Array =
            column.map(|&value| (!value.is_nan()).then_some(value)).collect();
        names.push(name);
        columns.push(Arc::new(column));
    }
    let batch = record_batch(&names, columns);
    Batch::columns(names.into(), range.start as u64, batch)
}

/// A batch of one column of names.
pub fn names_batch<'a>(name: &str, values: impl Iterator<Item = &'a str>) -> Batch {
    let column: ArrayRef = Arc::new(values.map(Some).collect::<StringArray>());
    let names = vec![name.to_owned()];
    let batch = record_batch(&names, vec![column]);
    Batch::columns(names.into(), 0, batch)
}

/// `<classifier>_<class>` for every classifier and class, in the order of an item's values.
pub(crate) fn column_names(schema: &consilience::Schema) -> impl Iterator<Item = String> + '_ {
    schema.classifiers().iter().flat_map(|classifier| {
        schema.classes().iter().map(move |class| format!("{classifier}_{class}"))
    })
}
