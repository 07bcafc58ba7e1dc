//! CSV sink: cells that were read from CSV are written unchanged.

use std::io::Write;

use crate::arrow_cells;
use crate::batch::{Batch, Body, Notation};
use crate::error::{Error, Result};
use crate::source::json_text;
use crate::text::push_number;
use crate::whole::Output;
use crate::writer::{Added, AddedValues};

use super::{BUFFER, Sink, writable_columns};

/// A CSV file being written.
pub(super) struct CsvSink {
    output: Output,
    buffer: Vec<u8>,
    started: bool,
    cell: Vec<u8>,
}

impl CsvSink {
    pub(super) fn new(output: Output) -> Self {
        let buffer = Vec::with_capacity(BUFFER + BUFFER / 8);
        Self { output, buffer, started: false, cell: Vec::new() }
    }

    fn header(&mut self, carried: &Batch, added: &[Added]) {
        let start = self.buffer.len();
        for name in carried.names() {
            push_cell(&mut self.buffer, name.as_bytes());
        }
        for column in added {
            push_cell(&mut self.buffer, column.name.as_bytes());
        }
        end_row(&mut self.buffer, start);
    }

    fn row(
        &mut self,
        carried: &Batch,
        columns: &[arrow_array::ArrayRef],
        added: &[Added],
        row: usize,
    ) {
        let start = self.buffer.len();
        self.carried_cells(carried, columns, row);
        for column in added {
            match column.values {
                AddedValues::Numbers(numbers) => {
                    push_number(&mut self.buffer, numbers[row]);
                    self.buffer.push(b',');
                }
                AddedValues::Counts(counts) => {
                    push_cell(&mut self.buffer, counts[row].to_string().as_bytes());
                }
                _ => {
                    let text = column.values.text(row).unwrap_or_default();
                    push_cell(&mut self.buffer, text.as_bytes());
                }
            }
        }
        end_row(&mut self.buffer, start);
    }

    fn carried_cells(&mut self, carried: &Batch, columns: &[arrow_array::ArrayRef], row: usize) {
        let (cells, notation) = match &carried.body {
            Body::Text { cells, notation, .. } => (cells, *notation),
            Body::Columns(_) => {
                for array in columns {
                    self.cell.clear();
                    arrow_cells::push_text(array, row, &mut self.cell);
                    push_cell(&mut self.buffer, &self.cell);
                }
                return;
            }
        };
        if let Some(text) = cells.verbatim_row(row) {
            self.buffer.extend_from_slice(text);
            self.buffer.push(b',');
            return;
        }
        for column in 0..carried.names().len() {
            match notation {
                Notation::Plain => push_cell(&mut self.buffer, cells.get(row, column)),
                Notation::Json => push_cell(&mut self.buffer, &json_text(cells.get(row, column))),
            }
        }
    }

    fn flush_buffer(&mut self) -> Result<()> {
        let written = self.output.write_all(&self.buffer);
        self.buffer.clear();
        written.map_err(|reason| Error::io("write", self.output.name(), reason))
    }
}

/// Writes a cell and a comma, with quotes where they are needed to read the cell back.
fn push_cell(out: &mut Vec<u8>, cell: &[u8]) {
    let special = |byte: &u8| matches!(byte, b',' | b'"' | b'\n' | b'\r');
    if cell.iter().any(special) {
        out.push(b'"');
        for &byte in cell {
            if byte == b'"' {
                out.push(b'"');
            }
            out.push(byte);
        }
        out.push(b'"');
    } else {
        out.extend_from_slice(cell);
    }
    out.push(b',');
}

/// Replaces the last comma of a row by a line end. A row of one empty cell gets quotes, because
/// blank lines are skipped in reading.
fn end_row(out: &mut Vec<u8>, start: usize) {
    out.pop();
    if out.len() == start {
        out.extend_from_slice(b"\"\"");
    }
    out.push(b'\n');
}

impl Sink for CsvSink {
    fn write(&mut self, carried: &Batch, added: &[Added]) -> Result<()> {
        if carried.names().is_empty() && added.is_empty() {
            return Ok(());
        }
        let columns = writable_columns(carried, self.output.name())?;
        if !std::mem::replace(&mut self.started, true) {
            self.header(carried, added);
        }
        for row in 0..carried.n_rows() {
            self.row(carried, &columns, added, row);
            if self.buffer.len() >= BUFFER {
                self.flush_buffer()?;
            }
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<Output> {
        self.flush_buffer()?;
        Ok(self.output)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_get_quotes_only_where_needed_and_read_back_the_same() {
        let cells = ["plain", " spaced ", "", "a,b", "say \"x\"", "two\nlines", "cr\r", "é"];
        let mut out = Vec::new();
        for cell in cells {
            push_cell(&mut out, cell.as_bytes());
        }
        end_row(&mut out, 0);
        assert!(out.starts_with(b"plain, spaced ,,\"a,b\",\"say \"\"x\"\"\","));
        let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(&out[..]);
        let record = reader.records().next().unwrap().unwrap();
        assert_eq!(record.iter().collect::<Vec<_>>(), cells);
        let mut lone = Vec::new();
        push_cell(&mut lone, b"");
        end_row(&mut lone, 0);
        assert_eq!(lone, b"\"\"\n");
    }
}
