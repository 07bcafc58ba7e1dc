//! JSON lines sink: numbers as numbers, JSON values unchanged.

use std::io::Write;

use crate::arrow_cells;
use crate::batch::{Batch, Body, Notation};
use crate::error::{Error, Result};
use crate::text::{is_json_number, parse_number, push_json_number, push_json_string};
use crate::whole::Output;
use crate::writer::{Added, AddedValues};

use super::{BUFFER, Sink, writable_columns};

/// A file of JSON lines being written.
pub(super) struct JsonSink {
    output: Output,
    buffer: Vec<u8>,
    /// `{"first":`, `,"second":` and so on.
    keys: Vec<Vec<u8>>,
}

impl JsonSink {
    pub(super) fn new(output: Output) -> Self {
        Self { output, buffer: Vec::with_capacity(BUFFER + BUFFER / 8), keys: Vec::new() }
    }

    fn set_keys(&mut self, carried: &Batch, added: &[Added]) {
        let names = carried.names().iter().map(String::as_str);
        let names = names.chain(added.iter().map(|column| &*column.name)).enumerate();
        self.keys = names
            .map(|(index, name)| {
                let mut key = vec![if index == 0 { b'{' } else { b',' }];
                push_json_string(&mut key, name);
                key.push(b':');
                key
            })
            .collect();
    }

    fn row(
        &mut self,
        carried: &Batch,
        columns: &[arrow_array::ArrayRef],
        added: &[Added],
        row: usize,
    ) -> Result<()> {
        let n_carried = carried.names().len();
        for column in 0..n_carried {
            self.buffer.extend_from_slice(&self.keys[column]);
            match &carried.body {
                Body::Columns(_) => {
                    arrow_cells::push_json(&columns[column], row, &mut self.buffer);
                }
                Body::Text { cells, notation, numeric } => {
                    let cell = cells.get(row, column);
                    let pushed = push_text_cell(&mut self.buffer, cell, *notation, numeric[column]);
                    pushed.ok_or_else(|| Error::Cell {
                        position: carried
                            .position(
                                self.output.name(),
                                row,
                                vec![carried.names()[column].clone()],
                            )
                            .into(),
                        problem: "the cell is not UTF-8 and cannot be written as JSON".into(),
                        hint: None,
                    })?;
                }
            }
        }
        for (column, key) in added.iter().zip(&self.keys[n_carried..]) {
            self.buffer.extend_from_slice(key);
            match column.values {
                AddedValues::Numbers(numbers) => push_json_number(&mut self.buffer, numbers[row]),
                AddedValues::Counts(counts) => {
                    self.buffer.extend_from_slice(counts[row].to_string().as_bytes());
                }
                _ => {
                    push_json_string(&mut self.buffer, column.values.text(row).unwrap_or_default());
                }
            }
        }
        self.buffer.extend_from_slice(if self.keys.is_empty() { b"{}\n" } else { b"}\n" });
        Ok(())
    }

    fn flush_buffer(&mut self) -> Result<()> {
        let written = self.output.write_all(&self.buffer);
        self.buffer.clear();
        written.map_err(|reason| Error::io("write", self.output.name(), reason))
    }
}

/// Writes a cell of a text file; `None` if it is not UTF-8.
fn push_text_cell(out: &mut Vec<u8>, cell: &[u8], notation: Notation, numeric: bool) -> Option<()> {
    match notation {
        _ if cell.is_empty() => out.extend_from_slice(b"null"),
        Notation::Json => out.extend_from_slice(cell),
        Notation::Plain if numeric && is_json_number(cell) => out.extend_from_slice(cell),
        Notation::Plain => match parse_number(cell).filter(|_| numeric) {
            Some(number) => push_json_number(out, number),
            None => push_json_string(out, std::str::from_utf8(cell).ok()?),
        },
    }
    Some(())
}

impl Sink for JsonSink {
    fn write(&mut self, carried: &Batch, added: &[Added]) -> Result<()> {
        let columns = writable_columns(carried, self.output.name())?;
        if self.keys.is_empty() {
            self.set_keys(carried, added);
        }
        for row in 0..carried.n_rows() {
            self.row(carried, &columns, added, row)?;
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
