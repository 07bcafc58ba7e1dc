//! CSV out: cells that came from CSV go back as they were.

use crate::arrow_cells;
use crate::batch::{Batch, Body, Notation};
use crate::error::{Error, Result};
use crate::source::json_text;
use crate::text::push_number;
use crate::whole::Output;
use crate::writer::{Added, AddedValues};

use super::{Sink, writable_columns};

/// A CSV file under way.
pub(super) struct CsvSink {
    name: String,
    writer: csv::Writer<Output>,
    started: bool,
    cell: Vec<u8>,
}

impl CsvSink {
    pub(super) fn new(output: Output) -> Self {
        let name = output.name().to_owned();
        Self { name, writer: csv::Writer::from_writer(output), started: false, cell: Vec::new() }
    }

    fn header(&mut self, carried: &Batch, added: &[Added]) -> csv::Result<()> {
        let names = carried.names().iter().map(String::as_str);
        self.writer.write_record(names.chain(added.iter().map(|column| &*column.name)))
    }

    fn row(
        &mut self,
        carried: &Batch,
        columns: &[arrow_array::ArrayRef],
        added: &[Added],
        row: usize,
    ) -> csv::Result<()> {
        match &carried.body {
            Body::Text { cells, notation, .. } => {
                for column in 0..carried.names().len() {
                    let cell = cells.get(row, column);
                    match notation {
                        Notation::Plain => self.writer.write_field(cell)?,
                        Notation::Json => self.writer.write_field(json_text(cell))?,
                    }
                }
            }
            Body::Columns(_) => {
                for array in columns {
                    self.cell.clear();
                    arrow_cells::push_text(array, row, &mut self.cell);
                    self.writer.write_field(&self.cell)?;
                }
            }
        }
        for column in added {
            self.cell.clear();
            match column.values {
                AddedValues::Numbers(numbers) => push_number(&mut self.cell, numbers[row]),
                _ => self.cell.extend(column.values.text(row).unwrap_or_default().bytes()),
            }
            self.writer.write_field(&self.cell)?;
        }
        self.writer.write_record(None::<&[u8]>)
    }

    fn refuse(&self, error: csv::Error) -> Error {
        match error.into_kind() {
            csv::ErrorKind::Io(reason) => Error::io("write", &self.name, reason),
            other => Error::malformed(&self.name, format!("cannot be written as CSV: {other:?}")),
        }
    }
}

impl Sink for CsvSink {
    fn write(&mut self, carried: &Batch, added: &[Added]) -> Result<()> {
        let columns = writable_columns(carried, &self.name)?;
        if !std::mem::replace(&mut self.started, true) {
            self.header(carried, added).map_err(|error| self.refuse(error))?;
        }
        for row in 0..carried.n_rows() {
            self.row(carried, &columns, added, row).map_err(|error| self.refuse(error))?;
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Output> {
        let name = self.name;
        self.writer.into_inner().map_err(|error| Error::io("write", name, error.into_error()))
    }
}
