//! JSON lines source: one object per line; values are kept as they are written.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::io::{BufRead, BufReader, Read};
use std::ops::Range;
use std::sync::Arc;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::{Source, check_width};
use crate::batch::{Batch, Notation};
use crate::error::{Error, Position, Result};
use crate::text::{Cells, MOST_TEXT};

/// A file of JSON lines being read. The columns are the keys of all objects of the first batch.
pub(super) struct JsonSource {
    name: String,
    names: Arc<[String]>,
    reader: BufReader<Box<dyn Read + Send>>,
    /// Lines that were read in advance to find the keys, with their numbers.
    ahead: VecDeque<(u64, Vec<u8>)>,
    row: Row,
    line: u64,
    rows: u64,
    bytes: u64,
}

impl JsonSource {
    pub(super) fn open(
        reader: BufReader<Box<dyn Read + Send>>,
        name: &str,
        first: usize,
    ) -> Result<Self> {
        let mut source = Self {
            name: name.to_owned(),
            names: Arc::new([]),
            reader,
            ahead: VecDeque::new(),
            row: Row { learn: true, ..Row::default() },
            line: 0,
            rows: 0,
            bytes: 0,
        };
        let (mut text, mut n_bytes) = (Vec::new(), 0);
        while source.ahead.len() < first && n_bytes < MOST_TEXT && source.read_line(&mut text)? {
            n_bytes += text.len();
            source
                .row
                .read(&text)
                .map_err(|problem| source.rejected(source.ahead.len(), problem))?;
            check_width(name, &source.row.names)?;
            source.ahead.push_back((source.line, std::mem::take(&mut text)));
        }
        source.row.learn = false;
        source.names = source.row.names.as_slice().into();
        if source.names.is_empty() && !source.ahead.is_empty() {
            return Err(source.rejected(0, RowProblem::NoKeys));
        }
        Ok(source)
    }

    /// The next line that is not blank; false at the end.
    fn read_line(&mut self, text: &mut Vec<u8>) -> Result<bool> {
        loop {
            text.clear();
            let n = self.reader.by_ref().take(MOST_TEXT as u64 + 1).read_until(b'\n', text);
            let n = n.map_err(|reason| Error::io("read", &self.name, reason))?;
            if n > MOST_TEXT {
                self.line += 1;
                let row = usize::try_from(self.rows).unwrap_or(usize::MAX) + self.ahead.len();
                return Err(self.rejected(row, RowProblem::TooLong));
            }
            if n == 0 {
                return Ok(false);
            }
            if self.line == 0 && text.starts_with(b"\xef\xbb\xbf") {
                text.drain(..3);
            }
            self.bytes += n as u64;
            self.line += 1;
            if !text.trim_ascii().is_empty() {
                return Ok(true);
            }
        }
    }

    fn rejected(&self, row: usize, problem: RowProblem) -> Error {
        let (problem, hint) = problem.describe();
        Error::Cell {
            position: Box::new(Position {
                table: self.name.clone(),
                row: row as u64 + 1,
                line: Some(self.line),
                columns: Vec::new(),
            }),
            problem,
            hint: hint.map(Into::into),
        }
    }
}

impl Source for JsonSource {
    fn names(&self) -> &Arc<[String]> {
        &self.names
    }

    fn next_batch(&mut self, most: usize) -> Result<Option<Batch>> {
        let first_row = self.rows;
        let mut cells = Cells::new(self.names.len());
        let mut text = Vec::new();
        while !cells.is_full(most) {
            let line = if let Some((line, ahead)) = self.ahead.pop_front() {
                text = ahead;
                line
            } else if self.read_line(&mut text)? {
                self.line
            } else {
                break;
            };
            if let Err(problem) = self.row.read(&text) {
                return Err(
                    self.rejected(usize::try_from(self.rows).unwrap_or(usize::MAX), problem)
                );
            }
            self.row.push_to(&mut cells);
            cells.lines.push(line);
            self.rows += 1;
        }
        let batch = (!cells.lines.is_empty())
            .then(|| Batch::text(Arc::clone(&self.names), first_row, cells, Notation::Json));
        Ok(batch)
    }

    fn empty_batch(&self) -> Batch {
        Batch::text(Arc::clone(&self.names), 0, Cells::new(self.names.len()), Notation::Json)
    }

    fn bytes_read(&self) -> u64 {
        self.bytes
    }
}

/// The values of one object by column.
#[derive(Default)]
struct Row {
    names: Vec<String>,
    columns: HashMap<String, usize>,
    /// Whether unknown keys become new columns.
    learn: bool,
    values: Vec<u8>,
    /// The range of each column's value in `values`.
    slots: Vec<Option<Range<usize>>>,
    rejected: Option<RowProblem>,
}

/// Why a line was rejected.
enum RowProblem {
    Json(String),
    UnknownKey(String),
    DuplicateKey(String),
    NoKeys,
    TooLong,
}

impl RowProblem {
    fn describe(self) -> (String, Option<&'static str>) {
        match self {
            Self::Json(error) => (
                format!("not a JSON object: {error}"),
                Some("every line must hold one object; missing values are null"),
            ),
            Self::UnknownKey(key) => (
                format!("key `{key}` does not occur in the first rows"),
                Some("give every key in the first object, with null where there is no value"),
            ),
            Self::DuplicateKey(key) => (format!("key `{key}` occurs twice"), None),
            Self::NoKeys => (
                "the object has no keys".into(),
                Some("give every column in the first object, with null where there is no value"),
            ),
            Self::TooLong => (
                format!("the line has more than {MOST_TEXT} bytes"),
                Some("every line must hold one object; a JSON file of another form is not read"),
            ),
        }
    }
}

impl Row {
    fn read(&mut self, line: &[u8]) -> Result<(), RowProblem> {
        self.values.clear();
        self.slots.fill(None);
        let mut deserializer = serde_json::Deserializer::from_slice(line);
        let read = (&mut *self).deserialize(&mut deserializer).and_then(|()| deserializer.end());
        let own = self.rejected.take();
        read.map_err(|error| own.unwrap_or_else(|| RowProblem::Json(without_line(&error))))
    }

    fn push_to(&self, cells: &mut Cells) {
        for slot in &self.slots {
            cells.push(slot.as_ref().map_or(&[], |range| &self.values[range.clone()]));
        }
    }

    /// The column of a key; `expected` is tried first, because most objects have the same keys.
    fn column_of(&mut self, key: &str, expected: usize) -> Result<usize, RowProblem> {
        let column = match self.names.get(expected) {
            Some(name) if name == key => expected,
            _ => match self.columns.get(key) {
                Some(&column) => column,
                None if self.learn => self.add(key),
                None => return Err(RowProblem::UnknownKey(key.to_owned())),
            },
        };
        if self.slots[column].is_some() {
            return Err(RowProblem::DuplicateKey(key.to_owned()));
        }
        Ok(column)
    }

    fn add(&mut self, key: &str) -> usize {
        self.names.push(key.to_owned());
        self.slots.push(None);
        self.columns.insert(key.to_owned(), self.names.len() - 1);
        self.names.len() - 1
    }
}

impl<'de> DeserializeSeed<'de> for &mut Row {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for &mut Row {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut expected = 0;
        while let Some(Key(key)) = map.next_key::<Key>()? {
            let value: &RawValue = map.next_value()?;
            let column = match self.column_of(&key, expected) {
                Ok(column) => column,
                Err(problem) => {
                    self.rejected = Some(problem);
                    return Err(A::Error::custom("rejected"));
                }
            };
            let start = self.values.len();
            self.values.extend_from_slice(value.get().as_bytes());
            self.slots[column] = Some(start..self.values.len());
            expected = column + 1;
        }
        Ok(())
    }
}

/// A key, borrowed if it has no escapes.
#[derive(serde::Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

/// The message of serde without "at line 1 column 5", which counts within the line.
fn without_line(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or_default().to_owned()
}

/// A JSON value as plain text: strings without quotes and escapes, null as nothing.
pub(crate) fn json_text(value: &[u8]) -> Cow<'_, [u8]> {
    match value {
        b"null" => Cow::Borrowed(&[]),
        [b'"', inner @ .., b'"'] if !inner.contains(&b'\\') => Cow::Borrowed(inner),
        [b'"', ..] => match serde_json::from_slice::<String>(value) {
            Ok(text) => Cow::Owned(text.into_bytes()),
            Err(_) => Cow::Borrowed(value),
        },
        other => Cow::Borrowed(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_become_plain_text() {
        assert_eq!(&*json_text(b"null"), b"");
        assert_eq!(&*json_text(br#""a b""#), b"a b");
        assert_eq!(&*json_text(br#""\u00e9\"""#), "é\"".as_bytes());
        assert_eq!(&*json_text(b"0.50"), b"0.50");
    }
}
