//! CSV source: comma-separated cells below a header, with quotes where needed.
//!
//! It uses `csv-core`, the parser inside `csv`, instead of `csv` itself, whose line numbers are
//! wrong if lines end in CR LF or are blank. Messages about cells name the line.

use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;

use csv_core::ReadRecordResult;

use super::{MOST_COLUMNS, NARROWER, Source};
use crate::batch::{Batch, Notation};
use crate::error::{Error, Position, Result};
use crate::text::{Cells, Extent, MOST_TEXT};

/// A CSV table being read.
pub(super) struct CsvSource {
    name: String,
    names: Arc<[String]>,
    records: Records,
    rows: u64,
    /// The size of the last batch. The next one takes memory for as much at once.
    extent: Extent,
}

impl CsvSource {
    pub(super) fn open(input: Text, name: &str) -> Result<Self> {
        let mut records = Records::new(input);
        let mut header = Cells::new(1);
        let n_cells = records.read_any(&mut header).map_err(|bad| bad.in_row(name, None))?;
        if n_cells == 0 {
            return Err(Error::Malformed {
                name: name.to_owned(),
                problem: "the file is empty: there is no header".into(),
                hint: Some("the first line must name the columns".into()),
            });
        }
        let names = (0..n_cells).map(|cell| {
            String::from_utf8(header.get(cell, 0).to_vec()).map_err(|_| not_utf8(name))
        });
        let names: Arc<[String]> = names.collect::<Result<Vec<_>>>()?.into();
        check_separator(name, &names)?;
        Ok(Self { name: name.to_owned(), names, records, rows: 0, extent: Extent::default() })
    }

    fn ragged(&self, line: Option<u64>, found: usize) -> Error {
        Error::Cell {
            position: Box::new(Position {
                table: self.name.clone(),
                row: self.rows + 1,
                line,
                columns: Vec::new(),
            }),
            problem: format!("found {found} cells where the header has {}", self.names.len()),
            hint: Some("every row needs a cell for every column; it may be empty".into()),
        }
    }
}

impl Source for CsvSource {
    fn names(&self) -> &Arc<[String]> {
        &self.names
    }

    fn next_batch(&mut self, most: usize) -> Result<Option<Batch>> {
        let first_row = self.rows;
        let mut cells = Cells::with_extent_of(self.names.len(), self.extent);
        while !cells.is_full(most) {
            let read = self.records.read(&mut cells);
            match read.map_err(|bad| bad.in_row(&self.name, Some(self.rows + 1)))? {
                0 => break,
                n if n == self.names.len() => self.rows += 1,
                n => return Err(self.ragged(cells.lines.last().copied(), n)),
            }
        }
        self.extent = cells.extent();
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

fn not_utf8(name: &str) -> Error {
    let hint = "write the file as UTF-8; \"Unicode text\" of some programs is UTF-16";
    Error::header(name, "the header is not UTF-8", hint)
}

/// Checks that the columns are not separated by something else.
fn check_separator(name: &str, columns: &[String]) -> Result<()> {
    let [only] = columns else {
        return Ok(());
    };
    let found = [(';', "semicolons"), ('\t', "tabs"), ('|', "vertical bars")];
    match found.into_iter().find(|(separator, _)| only.contains(*separator)) {
        None => Ok(()),
        Some((_, separators)) => Err(Error::Malformed {
            name: name.to_owned(),
            problem: format!("the columns are separated by {separators}, not by commas"),
            hint: Some("write the file with commas, and numbers with a decimal point".into()),
        }),
    }
}

/// Text to be read.
type Text = BufReader<Box<dyn Read + Send>>;

/// Why a record cannot be read.
enum Bad {
    Io(io::Error),
    /// A quote that begins in this record, which begins in this line, has no end.
    Unclosed(u64),
    /// The record that begins in this line is longer than [`MOST_TEXT`].
    TooLong(u64),
    /// The record that begins in this line has more than [`MOST_COLUMNS`] cells.
    TooWide(u64),
}

impl From<io::Error> for Bad {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl Bad {
    /// The error of a row, or of the header.
    fn in_row(self, table: &str, row: Option<u64>) -> Error {
        let mut hint = "close every quote; a quote inside a quoted cell is written twice";
        let (line, problem) = match self {
            Self::Io(reason) => return Error::io("read", table, reason),
            Self::Unclosed(line) => (line, "a quote is not closed".to_owned()),
            Self::TooLong(line) => (line, format!("the row has more than {MOST_TEXT} bytes")),
            Self::TooWide(line) => {
                hint = NARROWER;
                (line, format!("the row has more than {MOST_COLUMNS} cells"))
            }
        };
        let hint = Some(hint.into());
        let Some(row) = row else {
            let problem = format!("header (line {line}): {problem}");
            return Error::Malformed { name: table.to_owned(), problem, hint };
        };
        let position = Position { table: table.to_owned(), row, line: Some(line), columns: vec![] };
        Error::Cell { position: position.into(), problem, hint }
    }
}

/// The records of a CSV file. Lines without quotes are split at their commas, which is twice as
/// fast as the parser; all others are parsed.
struct Records {
    input: Text,
    parser: csv_core::Reader,
    bytes: Vec<u8>,
    ends: Vec<usize>,
    consumed: u64,
    /// The line that is read next.
    line: u64,
}

impl Records {
    fn new(input: Text) -> Self {
        Self {
            input,
            parser: csv_core::Reader::new(),
            bytes: vec![0; 1024],
            ends: vec![0; 64],
            consumed: 0,
            line: 1,
        }
    }

    /// Adds the next record; returns its number of cells, 0 at the end.
    fn read(&mut self, cells: &mut Cells) -> Result<usize, Bad> {
        match self.read_clean(cells)? {
            0 => self.read_any(cells),
            n => Ok(n),
        }
    }

    /// Adds the next line if it is a whole record without quotes; otherwise reads nothing.
    fn read_clean(&mut self, cells: &mut Cells) -> io::Result<usize> {
        let Some((length, n_cells)) = cells.push_line(self.input.fill_buf()?, self.line) else {
            return Ok(0);
        };
        self.input.consume(length);
        self.consumed += length as u64;
        self.line += 1;
        Ok(n_cells)
    }

    /// Adds the next record with the parser, which skips blank lines.
    fn read_any(&mut self, cells: &mut Cells) -> Result<usize, Bad> {
        let (mut n_bytes, mut n_cells, mut last) = (0, 0, 0);
        self.parser.set_line(self.line);
        let at_end = loop {
            let input = self.input.fill_buf()?;
            let at_end = input.is_empty();
            // At the end of the file, a line feed ends the last record, unless it is inside
            // quotes, where it is kept.
            let text = if at_end { b"\n" } else { input };
            let line = self.parser.line();
            let (bytes, ends) = (&mut self.bytes[n_bytes..], &mut self.ends[n_cells..]);
            let (result, n_in, n_out, n_ends) = self.parser.read_record(text, bytes, ends);
            n_cells += n_ends;
            if at_end {
                self.parser.set_line(line);
            } else {
                last = input[..n_in].last().copied().unwrap_or(last);
                self.input.consume(n_in);
                self.consumed += n_in as u64;
                n_bytes += n_out;
            }
            match result {
                ReadRecordResult::Record => break at_end,
                // Separators take no bytes, so the cells have their own limit.
                ReadRecordResult::OutputEndsFull if n_cells > MOST_COLUMNS => {
                    return Err(Bad::TooWide(self.first_line(n_bytes, false)));
                }
                ReadRecordResult::OutputEndsFull => self.ends.resize(self.ends.len() * 2, 0),
                ReadRecordResult::OutputFull if n_bytes > MOST_TEXT => {
                    return Err(Bad::TooLong(self.first_line(n_bytes, false)));
                }
                ReadRecordResult::OutputFull => self.bytes.resize(self.bytes.len() * 2, 0),
                _ if !at_end => {}
                _ if n_out == 0 => return Ok(0),
                _ => return Err(Bad::Unclosed(self.first_line(n_bytes, false))),
            }
        };
        let first_line = self.first_line(n_bytes, last == b'\n' && !at_end);
        self.line = self.parser.line();
        cells.push_record(&self.bytes[..n_bytes], &self.ends[..n_cells], first_line);
        self.finish_line_end(last)?;
        Ok(n_cells)
    }

    /// The line in which the record began that the parser has just read: before the line feeds
    /// inside its quotes and, if it is `ended` by one, before that too.
    fn first_line(&self, n_bytes: usize, ended: bool) -> u64 {
        let inside = memchr::memchr_iter(b'\n', &self.bytes[..n_bytes]).count() as u64;
        self.parser.line() - inside - u64::from(ended)
    }

    /// Reads the LF after a CR, where the parser stops.
    fn finish_line_end(&mut self, last: u8) -> io::Result<()> {
        if last == b'\r' && self.input.fill_buf()?.first() == Some(&b'\n') {
            self.input.consume(1);
            self.consumed += 1;
            self.line += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns a few bytes per call, as pipes may.
    struct Drip(Vec<u8>, usize);

    impl Read for Drip {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let n = self.1.min(self.0.len()).min(buffer.len());
            buffer[..n].copy_from_slice(&self.0[..n]);
            self.0.drain(..n);
            Ok(n)
        }
    }

    /// The records, and whether a quote at the end is not closed.
    fn ours(text: &str, drip: usize) -> (Vec<Vec<Vec<u8>>>, bool) {
        let drip: Box<dyn Read + Send> = Box::new(Drip(text.as_bytes().to_vec(), drip));
        let mut records = Records::new(BufReader::new(drip));
        let mut found = Vec::new();
        loop {
            let mut cells = Cells::new(1);
            match records.read(&mut cells) {
                Ok(0) => return (found, false),
                Err(Bad::Unclosed(_)) => return (found, true),
                Err(Bad::Io(_) | Bad::TooLong(_) | Bad::TooWide(_)) => {
                    panic!("the text is short and in memory")
                }
                Ok(n) => found.push((0..n).map(|cell| cells.get(cell, 0).to_vec()).collect()),
            }
        }
    }

    fn theirs(text: &str) -> Vec<Vec<Vec<u8>>> {
        let mut builder = csv::ReaderBuilder::new();
        let reader = builder.flexible(true).has_headers(false).from_reader(text.as_bytes());
        let records = reader.into_byte_records().map(Result::unwrap);
        records.map(|record| record.iter().map(<[u8]>::to_vec).collect()).collect()
    }

    proptest! {
        #[test]
        fn the_fast_path_reads_what_the_parser_reads(
            text in "([ab1é +,\r\n\"]|\r\n|,1|-0.25|\"a\"){0,40}",
            drip in prop_oneof![1usize..6, Just(1000)],
        ) {
            let (ours, unclosed) = ours(&text, drip);
            let mut theirs = theirs(&text);
            if unclosed {
                theirs.pop();
            }
            prop_assert_eq!(ours, theirs);
        }
    }
}
