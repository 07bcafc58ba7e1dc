//! CSV: comma-separated cells under a header, with quotes where needed.

use std::io::Read;
use std::sync::Arc;

use csv::{ByteRecord, ErrorKind, ReaderBuilder};

use super::Source;
use crate::batch::{Batch, Notation};
use crate::error::{Error, Place, Result};
use crate::text::Cells;

/// Bytes asked from the system at a time.
const BUFFER: usize = 1 << 17;

/// A CSV table under way.
pub(super) struct CsvSource {
    name: String,
    names: Arc<[String]>,
    reader: csv::Reader<Box<dyn Read + Send>>,
    record: ByteRecord,
    rows: u64,
}

impl CsvSource {
    pub(super) fn open(input: Box<dyn Read + Send>, name: &str) -> Result<Self> {
        let mut reader = ReaderBuilder::new()
            .buffer_capacity(BUFFER)
            .from_reader(input);
        let header = reader
            .byte_headers()
            .map_err(|error| translate(error, name, 0))?;
        if header.is_empty() {
            return Err(Error::Malformed {
                name: name.to_owned(),
                problem: "the file is empty: there is no header".into(),
                hint: Some("the first line names the columns"),
            });
        }
        let names = header.iter().map(|cell| {
            String::from_utf8(cell.to_vec())
                .map_err(|_| Error::malformed(name, "the header is not UTF-8"))
        });
        let names = names.collect::<Result<Vec<_>>>()?.into();
        Ok(Self {
            name: name.to_owned(),
            names,
            reader,
            record: ByteRecord::new(),
            rows: 0,
        })
    }
}

impl Source for CsvSource {
    fn names(&self) -> &Arc<[String]> {
        &self.names
    }

    fn next_batch(&mut self, most: usize) -> Result<Option<Batch>> {
        let first_row = self.rows;
        let mut cells = Cells::new(self.names.len());
        while cells.lines.len() < most {
            let more = self.reader.read_byte_record(&mut self.record);
            if !more.map_err(|error| translate(error, &self.name, self.rows))? {
                break;
            }
            cells.push_record(&self.record);
            self.rows += 1;
        }
        let batch = (!cells.lines.is_empty())
            .then(|| Batch::text(Arc::clone(&self.names), first_row, cells, Notation::Plain));
        Ok(batch)
    }

    fn empty_batch(&self) -> Batch {
        Batch::text(
            Arc::clone(&self.names),
            0,
            Cells::new(self.names.len()),
            Notation::Plain,
        )
    }

    fn bytes_read(&self) -> u64 {
        self.reader.position().byte()
    }
}

fn translate(error: csv::Error, name: &str, rows: u64) -> Error {
    match error.into_kind() {
        ErrorKind::Io(reason) => Error::io("read", name, reason),
        ErrorKind::UnequalLengths {
            pos,
            expected_len,
            len,
        } => Error::Cell {
            place: Box::new(Place {
                table: name.to_owned(),
                row: rows + 1,
                line: pos.map(|position| position.line()),
                columns: Vec::new(),
            }),
            problem: format!("found {len} cells where the header has {expected_len}"),
            hint: Some("every row needs a cell for every column, if only an empty one"),
        },
        other => Error::malformed(name, format!("cannot be read as CSV: {other:?}")),
    }
}
