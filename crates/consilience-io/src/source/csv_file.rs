//! CSV: comma-separated cells under a header, with quotes where needed.
//!
//! Built on `csv-core`, the parser inside `csv`, and not on `csv` itself: that counts lines
//! wrongly where they end in CR LF or are blank, and every message of ours names the line.

use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;

use csv_core::ReadRecordResult;

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
    records: Records,
    rows: u64,
}

impl CsvSource {
    pub(super) fn open(input: Box<dyn Read + Send>, name: &str) -> Result<Self> {
        let mut records = Records::new(input);
        if !records.advance().map_err(|reason| Error::io("read", name, reason))? {
            return Err(Error::Malformed {
                name: name.to_owned(),
                problem: "the file is empty: there is no header".into(),
                hint: Some("the first line names the columns"),
            });
        }
        let mut header = Cells::new(records.n_cells);
        header.push_record(records.bytes(), records.ends(), 1);
        let names = (0..records.n_cells).map(|column| {
            String::from_utf8(header.get(0, column).to_vec())
                .map_err(|_| Error::malformed(name, "the header is not UTF-8"))
        });
        let names = names.collect::<Result<Vec<_>>>()?.into();
        Ok(Self { name: name.to_owned(), names, records, rows: 0 })
    }

    fn ragged(&self) -> Error {
        Error::Cell {
            place: Box::new(Place {
                table: self.name.clone(),
                row: self.rows + 1,
                line: Some(self.records.first_line()),
                columns: Vec::new(),
            }),
            problem: format!(
                "found {} cells where the header has {}",
                self.records.n_cells,
                self.names.len()
            ),
            hint: Some("every row needs a cell for every column, if only an empty one"),
        }
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
            if !self.records.advance().map_err(|reason| Error::io("read", &self.name, reason))? {
                break;
            }
            if self.records.n_cells != self.names.len() {
                return Err(self.ragged());
            }
            let line = self.records.first_line();
            cells.push_record(self.records.bytes(), self.records.ends(), line);
            self.rows += 1;
        }
        let batch = (!cells.lines.is_empty())
            .then(|| Batch::text(Arc::clone(&self.names), first_row, cells, Notation::Plain));
        Ok(batch)
    }

    fn empty_batch(&self) -> Batch {
        Batch::text(Arc::clone(&self.names), 0, Cells::new(self.names.len()), Notation::Plain)
    }

    fn bytes_read(&self) -> u64 {
        self.records.consumed
    }
}

/// The records of a CSV file, one at a time in a buffer that is used again.
struct Records {
    input: BufReader<Box<dyn Read + Send>>,
    parser: csv_core::Reader,
    bytes: Vec<u8>,
    ends: Vec<usize>,
    n_bytes: usize,
    n_cells: usize,
    consumed: u64,
    /// The last byte of the record: its line end, unless the file stopped without one.
    last: u8,
}

impl Records {
    fn new(input: Box<dyn Read + Send>) -> Self {
        Self {
            input: BufReader::with_capacity(BUFFER, input),
            parser: csv_core::Reader::new(),
            bytes: vec![0; 1024],
            ends: vec![0; 64],
            n_bytes: 0,
            n_cells: 0,
            consumed: 0,
            last: 0,
        }
    }

    /// Reads the next record; false at the end.
    fn advance(&mut self) -> io::Result<bool> {
        (self.n_bytes, self.n_cells) = (0, 0);
        loop {
            let input = self.input.fill_buf()?;
            let (result, n_in, n_out, n_ends) = self.parser.read_record(
                input,
                &mut self.bytes[self.n_bytes..],
                &mut self.ends[self.n_cells..],
            );
            if let Some(&last) = input[..n_in].last() {
                self.last = last;
            }
            self.input.consume(n_in);
            self.consumed += n_in as u64;
            self.n_bytes += n_out;
            self.n_cells += n_ends;
            match result {
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull => self.bytes.resize(self.bytes.len() * 2, 0),
                ReadRecordResult::OutputEndsFull => self.ends.resize(self.ends.len() * 2, 0),
                ReadRecordResult::Record => return Ok(true),
                ReadRecordResult::End => return Ok(false),
            }
        }
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.n_bytes]
    }

    fn ends(&self) -> &[usize] {
        &self.ends[..self.n_cells]
    }

    /// The line in which the record began: of the line feeds so far, take off those inside
    /// quotes and the one at its end, which of a CR LF is not yet read.
    fn first_line(&self) -> u64 {
        let inside: u64 = self.bytes().iter().map(|&byte| u64::from(byte == b'\n')).sum();
        self.parser.line() - inside - u64::from(self.last == b'\n')
    }
}
