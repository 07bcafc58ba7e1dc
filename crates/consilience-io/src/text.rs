//! Cells of text: their storage, and reading and writing of numbers.

use std::io::{self, Write};

use crate::decimal::parse_decimal;

/// Most bytes of a row of text, and of a batch of such rows. It stops a quote that is never closed,
/// or a file without line ends, from taking all memory.
pub(crate) const MOST_TEXT: usize = 1 << 26;

/// Most cells of a batch: every cell takes some bytes of memory, even if it takes none in the file.
const MOST_CELLS: usize = 1 << 23;

/// Rows of cells as in a text file, in one block of memory; a byte follows every cell.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cells {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    width: usize,
    /// The line, from 1, in which each row began in the file; empty where unknown.
    pub(crate) lines: Vec<u64>,
    /// Whether each row is stored exactly as in a CSV file; empty where none is.
    verbatim: Vec<bool>,
}

/// The size of a table.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Extent {
    bytes: usize,
    rows: usize,
}

impl Cells {
    /// An empty table of `width` columns.
    pub(crate) fn new(width: usize) -> Self {
        Self { width, ..Self::default() }
    }

    /// The same with room for as many cells as another table has and a few more bytes.
    pub(crate) fn with_extent_of(width: usize, other: Extent) -> Self {
        let Extent { bytes, rows } = other;
        Self {
            bytes: Vec::with_capacity(bytes + bytes / 8),
            ends: Vec::with_capacity(rows * width),
            width,
            lines: Vec::with_capacity(rows),
            verbatim: Vec::with_capacity(rows),
        }
    }

    /// The size of this table.
    pub(crate) fn extent(&self) -> Extent {
        Extent { bytes: self.bytes.len(), rows: self.lines.len() }
    }

    /// Number of complete rows.
    pub(crate) fn n_rows(&self) -> usize {
        self.ends.len().checked_div(self.width).unwrap_or(0)
    }

    /// Whether there are enough rows for a batch, or as much text or as many cells as one may have.
    pub(crate) fn is_full(&self, most_rows: usize) -> bool {
        self.lines.len() >= most_rows
            || self.bytes.len() >= MOST_TEXT
            || self.ends.len() >= MOST_CELLS
    }

    /// Adds a cell to the current row.
    pub(crate) fn push(&mut self, cell: &[u8]) {
        self.push_with(|bytes| bytes.extend_from_slice(cell));
    }

    /// Adds a cell that `write` appends.
    pub(crate) fn push_with(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        write(&mut self.bytes);
        self.ends.push(self.bytes.len());
        self.bytes.push(b',');
    }

    /// Adds a row of CSV from its concatenated cells, the end of each, and its line in the file.
    pub(crate) fn push_record(&mut self, bytes: &[u8], ends: &[usize], line: u64) {
        let mut start = 0;
        for &end in ends {
            self.push(&bytes[start..end]);
            start = end;
        }
        self.lines.push(line);
        self.verbatim.push(false);
    }

    /// Adds the first line of `text` unchanged, if it is a whole row of CSV without quotes: returns its length with its
    /// end, and its number of cells. Adds nothing if it is empty or anything else.
    pub(crate) fn push_line(&mut self, text: &[u8], line: u64) -> Option<(usize, usize)> {
        let before = self.ends.len();
        let Some(end) = self.push_ends(text).filter(|end| *end > 0) else {
            self.ends.truncate(before);
            return None;
        };
        self.bytes.extend_from_slice(&text[..end]);
        self.ends.push(self.bytes.len());
        self.bytes.push(b',');
        self.lines.push(line);
        self.verbatim.push(true);
        let line_end = if text[end] == b'\r' { 2 } else { 1 };
        Some((end + line_end, self.ends.len() - before))
    }

    /// Adds the ends of all cells of the first line of `text` but the last one, whose end is returned; `None` if there
    /// is a quote or a lone CR before the end of the line, or no end. Looks at eight bytes at a time, which is faster than a search for every
    /// separator.
    fn push_ends(&mut self, text: &[u8]) -> Option<usize> {
        let start = self.bytes.len();
        let (words, rest) = text.as_chunks::<8>();
        let mut at = 0;
        for word in words {
            let mut marks = below_minus(u64::from_le_bytes(*word));
            while marks != 0 {
                let place = at + (marks.trailing_zeros() / 8) as usize;
                match text[place] {
                    b',' => self.ends.push(start + place),
                    b'\n' | b'\r' | b'"' => return line_end(text, place),
                    _ => {}
                }
                marks &= marks - 1;
            }
            at += 8;
        }
        for place in at..at + rest.len() {
            match text[place] {
                b',' => self.ends.push(start + place),
                b'\n' | b'\r' | b'"' => return line_end(text, place),
                _ => {}
            }
        }
        None
    }

    /// One cell.
    pub(crate) fn get(&self, row: usize, column: usize) -> &[u8] {
        self.row(row).get(column)
    }

    /// The cells of one row.
    #[inline]
    pub(crate) fn row(&self, row: usize) -> Row<'_> {
        let first = row * self.width;
        let ends = &self.ends[first..first + self.width];
        Row { bytes: &self.bytes, start: self.start(first), ends }
    }

    /// A whole row as CSV without its line end, where it is stored so.
    pub(crate) fn verbatim_row(&self, row: usize) -> Option<&[u8]> {
        let last = (row + 1) * self.width - 1;
        let verbatim = self.verbatim.get(row).copied().unwrap_or(false);
        verbatim.then(|| &self.bytes[self.start(row * self.width)..self.ends[last]])
    }

    fn start(&self, cell: usize) -> usize {
        if cell == 0 { 0 } else { self.ends[cell - 1] + 1 }
    }
}

/// The cells of one row.
#[derive(Clone, Copy)]
pub(crate) struct Row<'a> {
    bytes: &'a [u8],
    start: usize,
    ends: &'a [usize],
}

impl<'a> Row<'a> {
    /// One cell.
    #[inline]
    pub(crate) fn get(&self, column: usize) -> &'a [u8] {
        let start = if column == 0 { self.start } else { self.ends[column - 1] + 1 };
        &self.bytes[start..self.ends[column]]
    }
}

/// The place of a line feed, or of a CR before one; `None` at a quote and at another CR.
fn line_end(text: &[u8], place: usize) -> Option<usize> {
    match text[place] {
        b'\n' => Some(place),
        b'\r' => (text.get(place + 1) == Some(&b'\n')).then_some(place),
        _ => None,
    }
}

/// The highest bits of the bytes of a word that are below `-`: those of separators, quotes and line ends, but of no
/// digit, letter or point, nor of other characters than ASCII.
fn below_minus(word: u64) -> u64 {
    const EACH: u64 = 0x0101_0101_0101_0101;
    const HIGHEST: u64 = 0x80 * EACH;
    // No byte borrows from the next one, because its highest bit is set.
    !((word | HIGHEST) - u64::from(b'-') * EACH) & !word & HIGHEST
}

/// Reads a number; an empty cell, `NaN`, `NA` and `null` are NaN. `None` if it is not a number.
pub(crate) fn parse_number(cell: &[u8]) -> Option<f64> {
    if let Some(number) = parse_decimal(cell).or_else(|| fast_float2::parse(cell).ok()) {
        return Some(number);
    }
    let trimmed = cell.trim_ascii();
    if trimmed.is_empty() || is_missing_word(trimmed) {
        return Some(f64::NAN);
    }
    fast_float2::parse(trimmed).ok()
}

fn is_missing_word(word: &[u8]) -> bool {
    [&b"nan"[..], b"na", b"null"].iter().any(|known| word.eq_ignore_ascii_case(known))
}

/// Writes a number in its shortest exact form; NaN is written as nothing, infinity as `inf`.
pub(crate) fn push_number(out: &mut Vec<u8>, number: f64) {
    if number.is_finite() {
        out.extend_from_slice(zmij::Buffer::new().format_finite(number).as_bytes());
    } else if !number.is_nan() {
        out.extend_from_slice(if number > 0.0 { b"inf" } else { b"-inf" });
    }
}

/// Writes a number as JSON; NaN and infinity are written as `null`.
pub(crate) fn push_json_number(out: &mut Vec<u8>, number: f64) {
    if number.is_finite() {
        push_number(out, number);
    } else {
        out.extend_from_slice(b"null");
    }
}

/// Writes text as a JSON string.
pub(crate) fn push_json_string(out: &mut Vec<u8>, text: &str) {
    serde_json::to_writer(&mut *out, text).expect("text always serialises into memory");
}

/// Writes a value by its `Display`, such as an integer.
pub(crate) fn push_display(out: &mut Vec<u8>, value: impl std::fmt::Display) {
    let written: io::Result<()> = write!(out, "{value}");
    written.expect("writing into memory cannot fail");
}

/// Whether the text is a number in JSON notation, which can be copied unchanged.
pub(crate) fn is_json_number(text: &[u8]) -> bool {
    let after_digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut rest = text.strip_prefix(b"-").unwrap_or(text);
    let whole = after_digits(rest);
    if whole == 0 || (whole > 1 && rest[0] == b'0') {
        return false;
    }
    rest = &rest[whole..];
    if let Some(fraction) = rest.strip_prefix(b".") {
        let digits = after_digits(fraction);
        if digits == 0 {
            return false;
        }
        rest = &fraction[digits..];
    }
    if let [b'e' | b'E', exponent @ ..] = rest {
        let exponent = exponent.strip_prefix(b"+").unwrap_or(exponent);
        let exponent = exponent.strip_prefix(b"-").unwrap_or(exponent);
        return !exponent.is_empty() && after_digits(exponent) == exponent.len();
    }
    rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_with_spaces_and_missing_words() {
        for (cell, number) in
            [("0.25", 0.25), (" 1e-3\t", 1e-3), ("-0", -0.0), ("+.5", 0.5), ("inf", f64::INFINITY)]
        {
            assert_eq!(parse_number(cell.as_bytes()), Some(number), "{cell}");
        }
        for cell in ["", "  ", "NaN", "nan", "NA", " null ", "Null"] {
            assert!(parse_number(cell.as_bytes()).unwrap().is_nan(), "{cell}");
        }
        for cell in ["x", "0,5", "1.2.3", "0.5 0.5", "--1", "true", "none"] {
            assert_eq!(parse_number(cell.as_bytes()), None, "{cell}");
        }
    }

    #[test]
    fn numbers_are_written_in_their_shortest_form() {
        let text = |number, push: fn(&mut Vec<u8>, f64)| {
            let mut out = Vec::new();
            push(&mut out, number);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(text(0.1 + 0.2, push_number), "0.30000000000000004");
        assert_eq!(text(f64::NAN, push_number), "");
        assert_eq!(text(f64::NEG_INFINITY, push_number), "-inf");
        assert_eq!(text(f64::INFINITY, push_json_number), "null");
        assert_eq!(text(1e-300, push_json_number), "1e-300");
    }

    proptest::proptest! {
        /// There are as many digits as in the standard library, the fewest that identify a number. The last one may
        /// differ: of two candidates at the same distance either is right.
        #[test]
        fn numbers_have_no_superfluous_digits(bits in proptest::num::u64::ANY) {
            let number = f64::from_bits(bits);
            let mut out = Vec::new();
            push_number(&mut out, number);
            if number.is_finite() {
                let text = String::from_utf8(out).unwrap();
                proptest::prop_assert_eq!(text.parse::<f64>().unwrap().to_bits(), bits);
                let digits = |text: &str| {
                    let digits: String = text.split('e').next().unwrap().replace(['-', '.'], "");
                    digits.trim_matches('0').to_owned()
                };
                proptest::prop_assert_eq!(digits(&text).len(), digits(&format!("{number:e}")).len());
            }
        }
    }

    #[test]
    fn json_numbers_are_distinguished_from_other_notations() {
        for number in ["0", "-0", "0.5", "12", "1e5", "1.25E-07", "-3e+2"] {
            assert!(is_json_number(number.as_bytes()), "{number}");
        }
        for other in ["", "-", ".5", "1.", "+1", "01", "1e", "1e+", " 1", "inf", "NaN", "0x1"] {
            assert!(!is_json_number(other.as_bytes()), "{other}");
        }
    }

    #[test]
    fn cells_keep_their_bytes() {
        let mut cells = Cells::new(2);
        for cell in ["a", "", "", "bc"] {
            cells.push(cell.as_bytes());
        }
        assert_eq!(cells.n_rows(), 2);
        assert_eq!((cells.get(0, 0), cells.get(0, 1)), (&b"a"[..], &b""[..]));
        assert_eq!((cells.get(1, 0), cells.get(1, 1)), (&b""[..], &b"bc"[..]));
    }
}
