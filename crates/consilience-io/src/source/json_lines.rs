//! JSON lines: one object a line; values are kept as they are spelt.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::io::{BufRead, BufReader, Read};
use std::ops::Range;
use std::sync::Arc;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::Source;
use crate::batch::{Batch, Notation};
use crate::error::{Error, Place, Result};
use crate::text::Cells;

/// Bytes asked from the system at a time.
const BUFFER: usize = 1 << 17;

/// JSON lines under way. The columns are the keys of all objects of the first batch.
pub(super) struct JsonSource {
    name: String,
    names: Arc<[String]>,
    reader: BufReader<Box<dyn Read + Send>>,
    /// Lines read ahead to learn the keys, with their numbers.
    ahead: VecDeque<(u64, Vec<u8>)>,
    row: Row,
    line: u64,
    rows: u64,
    bytes: u64,
}

impl JsonSource {
    pub(super) fn open(input: Box<dyn Read + Send>, name: &str, first: usize) -> Result<Self> {
        let mut source = Self {
            name: name.to_owned(),
            names: Arc::new([]),
            reader: BufReader::with_capacity(BUFFER, input),
            ahead: VecDeque::new(),
            row: Row { learn: true, ..Row::default() },
            line: 0,
            rows: 0,
            bytes: 0,
        };
        let mut text = Vec::new();
        while source.ahead.len() < first && source.read_line(&mut text)? {
            source.row.read(&text).map_err(|problem| source.refuse(source.ahead.len(), problem))?;
            source.ahead.push_back((source.line, std::mem::take(&mut text)));
        }
        source.row.learn = false;
        source.names = source.row.names.as_slice().into();
        Ok(source)
    }

    /// The next line that is not blank; false at the end.
    fn read_line(&mut self, text: &mut Vec<u8>) -> Result<bool> {
        loop {
            text.clear();
            let n = self.reader.read_until(b'\n', text);
            let n = n.map_err(|reason| Error::io("read", &self.name, reason))?;
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

    fn refuse(&self, row: usize, problem: RowProblem) -> Error {
        let (problem, hint) = problem.describe();
        Error::Cell {
            place: Box::new(Place {
                table: self.name.clone(),
                row: row as u64 + 1,
                line: Some(self.line),
                columns: Vec::new(),
            }),
            problem,
            hint,
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
        while cells.lines.len() < most {
            let line = if let Some((line, ahead)) = self.ahead.pop_front() {
                text = ahead;
                line
            } else if self.read_line(&mut text)? {
                self.line
            } else {
                break;
            };
            if let Err(problem) = self.row.read(&text) {
                return Err(self.refuse(usize::try_from(self.rows).unwrap_or(usize::MAX), problem));
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

/// One object taken apart: its values by column.
#[derive(Default)]
struct Row {
    names: Vec<String>,
    places: HashMap<String, usize>,
    /// Whether unknown keys become new columns.
    learn: bool,
    values: Vec<u8>,
    /// Where the value of each column lies in `values`.
    slots: Vec<Option<Range<usize>>>,
    refused: Option<RowProblem>,
}

/// Why a line was refused.
enum RowProblem {
    Json(String),
    UnknownKey(String),
    DuplicateKey(String),
}

impl RowProblem {
    fn describe(self) -> (String, Option<&'static str>) {
        match self {
            Self::Json(error) => (
                format!("not a JSON object: {error}"),
                Some("every line holds one object; missing values are null"),
            ),
            Self::UnknownKey(key) => (
                format!("key `{key}` does not occur in the first rows"),
                Some("give every key, if only with null, in the first object"),
            ),
            Self::DuplicateKey(key) => (format!("key `{key}` comes twice"), None),
        }
    }
}

impl Row {
    fn read(&mut self, line: &[u8]) -> Result<(), RowProblem> {
        self.values.clear();
        self.slots.fill(None);
        let mut deserializer = serde_json::Deserializer::from_slice(line);
        let read = (&mut *self).deserialize(&mut deserializer).and_then(|()| deserializer.end());
        let own = self.refused.take();
        read.map_err(|error| own.unwrap_or_else(|| RowProblem::Json(without_line(&error))))
    }

    fn push_to(&self, cells: &mut Cells) {
        for slot in &self.slots {
            cells.push(slot.as_ref().map_or(&[], |range| &self.values[range.clone()]));
        }
    }

    /// The column of a key; `expected` is tried first, since objects are mostly alike.
    fn place(&mut self, key: &str, expected: usize) -> Result<usize, RowProblem> {
        let place = match self.names.get(expected) {
            Some(name) if name == key => expected,
            _ => match self.places.get(key) {
                Some(&place) => place,
                None if self.learn => self.add(key),
                None => return Err(RowProblem::UnknownKey(key.to_owned())),
            },
        };
        if self.slots[place].is_some() {
            return Err(RowProblem::DuplicateKey(key.to_owned()));
        }
        Ok(place)
    }

    fn add(&mut self, key: &str) -> usize {
        self.names.push(key.to_owned());
        self.slots.push(None);
        self.places.insert(key.to_owned(), self.names.len() - 1);
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
            let place = match self.place(&key, expected) {
                Ok(place) => place,
                Err(problem) => {
                    self.refused = Some(problem);
                    return Err(A::Error::custom("refused"));
                }
            };
            let start = self.values.len();
            self.values.extend_from_slice(value.get().as_bytes());
            self.slots[place] = Some(start..self.values.len());
            expected = place + 1;
        }
        Ok(())
    }
}

/// A key, borrowed where it has no escapes.
#[derive(serde::Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

/// serde's message without "at line 1 column 5", which counts within the line.
fn without_line(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or_default().to_owned()
}

/// A JSON value as plain text: strings without quotes and escapes, nothing for null.
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
