//! The wide layout: one row per item, one column per classifier and class.

use std::collections::HashMap;
use std::sync::Arc;

use consilience::{OutputsBuilder, Schema};

use crate::arrow_cells;
use crate::batch::{Batch, LABEL, column_names};
use crate::error::{Error, Result, quoted};
use crate::header::{check_unique, other_classifiers};
use crate::hint::Hint;
use crate::location::Layout;
use crate::source::Source;
use crate::text::parse_number;

/// Reader of the rows of a wide table.
pub(crate) struct Wide {
    table: String,
    schema: Arc<Schema>,
    /// The column of every value, classifier by classifier.
    columns: Vec<usize>,
    /// The column of labels, if labels are read.
    label: Option<usize>,
    classes: Names,
    /// Classifiers of the table that the schema does not have.
    pub(crate) unknown_classifiers: Vec<String>,
    numeric: Arc<[bool]>,
    /// The values of a batch, row by row.
    raw: Vec<f64>,
}

impl Wide {
    /// Finds the columns of the classifiers and classes.
    pub(crate) fn new(
        table: &str,
        source: &dyn Source,
        schema: &Arc<Schema>,
        labels: Labels,
    ) -> Result<Self> {
        check_unique(table, source.names())?;
        let needed: Vec<String> = column_names(schema).collect();
        check_distinct(table, &needed)?;
        let indices: HashMap<&str, usize> =
            source.names().iter().map(String::as_str).zip(0..).collect();
        let find = |name: &String| match indices.get(name.as_str()) {
            Some(&column) => Ok(column),
            None => find_column(table, source, name, || wide_hint(schema)),
        };
        let columns: Vec<usize> = needed.iter().map(find).collect::<Result<_>>()?;
        for &column in &columns {
            check_type(table, source, column, Use::Number)?;
        }
        let label = indices.get(LABEL).copied().filter(|_| labels != Labels::Ignored);
        if let Some(label) = label {
            check_type(table, source, label, Use::Name)?;
        }
        let mut numeric = vec![false; source.names().len()];
        for &column in &columns {
            numeric[column] = true;
        }
        Ok(Self {
            table: table.to_owned(),
            schema: Arc::clone(schema),
            columns,
            label,
            classes: Names::new(schema.classes()),
            unknown_classifiers: other_classifiers(source.names(), schema),
            numeric: numeric.into(),
            raw: Vec::new(),
        })
    }

    /// The columns that are read, for sources that can skip the others.
    pub(crate) fn needed(&self) -> Vec<usize> {
        self.columns.iter().copied().chain(self.label).collect()
    }

    /// Marks the columns of a batch that hold probabilities.
    pub(crate) fn mark(&self, batch: &mut Batch) {
        batch.mark_numeric(&self.numeric);
    }

    /// Adds the items of a batch; an error is that of the first bad row.
    pub(crate) fn read(&mut self, batch: &Batch, builder: &mut OutputsBuilder) -> Result<()> {
        let width = self.columns.len();
        self.raw.resize(batch.n_rows() * width, 0.0);
        let bad = batch.fill_numbers(&self.columns, &mut self.raw).err();
        let good = bad.map_or(batch.n_rows(), |(row, _)| row);
        let (labels, unknown) = self.labels(batch, good);
        let known = unknown.as_ref().map_or(good, |(row, _)| *row);
        builder.reserve(known);
        let before = builder.n_items();
        let label = |row: usize| labels.get(row).copied().flatten();
        builder.push_all(&self.raw[..known * width], label).map_err(|cause| match &cause {
            consilience::Error::InvalidOutput { item, .. } => {
                self.rejected(batch, item - before, cause)
            }
            _ => cause.into(),
        })?;
        if let Some((_, error)) = unknown {
            return Err(error);
        }
        bad.map_or(Ok(()), |(row, column)| Err(not_a_number(&self.table, batch, row, column)))
    }

    /// The labels of the first rows of a batch, and the row and error of the first unknown one; empty if no labels are
    /// read.
    fn labels(&self, batch: &Batch, n_rows: usize) -> (Vec<Option<usize>>, Option<(usize, Error)>) {
        let mut labels = Vec::new();
        let Some(column) = self.label else { return (labels, None) };
        let texts = batch.texts(column);
        for row in 0..n_rows {
            match texts.get(row).map(|text| self.label(batch, row, column, text)).transpose() {
                Ok(label) => labels.push(label),
                Err(error) => return (labels, Some((row, error))),
            }
        }
        (labels, None)
    }

    fn label(&self, batch: &Batch, row: usize, column: usize, text: &[u8]) -> Result<usize> {
        self.classes
            .get(text)
            .ok_or_else(|| unknown_label(&self.table, batch, row, column, text, &self.schema))
    }

    fn rejected(&self, batch: &Batch, row: usize, cause: consilience::Error) -> Error {
        let consilience::Error::InvalidOutput { classifier, class, .. } = &cause else {
            return cause.into();
        };
        let n_classes = self.schema.n_classes();
        let first = self.schema.classifier_index(classifier).unwrap_or(0) * n_classes;
        let columns = match class {
            Some(class) => &self.columns[first + class..=first + class],
            None => &self.columns[first..first + n_classes],
        };
        let names = columns.iter().map(|&column| batch.names[column].clone()).collect();
        Error::Rejected {
            position: batch.position(&self.table, row, names).into(),
            values: columns.iter().map(|&column| batch.show(row, column)).collect(),
            cause: Box::new(cause),
        }
    }
}

/// What is done with the column of labels.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Labels {
    /// It is not looked at.
    Ignored,
    /// Labels are read where they are known.
    Read,
}

/// What a column is needed for.
#[derive(Clone, Copy)]
pub(crate) enum Use {
    Number,
    Name,
}

/// Checks that the type of a column suits its use.
pub(crate) fn check_type(
    table: &str,
    source: &dyn Source,
    column: usize,
    needed_for: Use,
) -> Result<()> {
    let Some(data_type) = source.data_type(column) else {
        return Ok(());
    };
    let (fits, cannot) = match needed_for {
        Use::Number => (arrow_cells::is_numeric(data_type), "cannot be read as probabilities"),
        Use::Name => (arrow_cells::is_writable(data_type), "cannot be read as names"),
    };
    if fits {
        return Ok(());
    }
    Err(Error::ColumnType {
        name: table.to_owned(),
        column: source.names()[column].clone(),
        data_type: data_type.to_string(),
        cannot,
    })
}

/// The index of a column that must exist.
pub(crate) fn find_column<H: Into<Hint>>(
    table: &str,
    source: &dyn Source,
    name: &str,
    hint: impl FnOnce() -> H,
) -> Result<usize> {
    source.names().iter().position(|column| column == name).ok_or_else(|| {
        Error::header(
            table,
            format!("there is no column `{name}`; the columns are {}", quoted(source.names())),
            hint(),
        )
    })
}

fn wide_hint(schema: &Schema) -> Hint {
    let needed = format!(
        "a wide table needs a column `<classifier>_<class>` for every classifier ({}) and class \
         ({})",
        quoted(schema.classifiers()),
        quoted(schema.classes())
    );
    Hint::OtherLayout { needed: needed.into(), other: Layout::Long }
}

/// Checks that a table has a column of labels.
pub(crate) fn check_labelled(table: &str, source: &dyn Source) -> Result<()> {
    find_column(table, source, LABEL, || consilience::Hint::LabelSomeItems).map(drop)
}

pub(crate) fn missing_label(table: &str, batch: &Batch, row: usize, column: usize) -> Error {
    let position = batch.position(table, row, vec![batch.names[column].clone()]);
    Error::MissingLabel { position: position.into() }
}

fn check_distinct(table: &str, needed: &[String]) -> Result<()> {
    check_unique(table, needed).map_err(|_| {
        Error::header(
            table,
            format!("classifiers and classes share a column: {}", quoted(needed)),
            "rename classifiers or classes so that every column can be read in only one way",
        )
    })
}

pub(crate) fn not_a_number(table: &str, batch: &Batch, row: usize, column: usize) -> Error {
    let shown = batch.show(row, column);
    let hint = if is_fraction(&shown) {
        "fractional odds a/b are decimal odds of 1 + a/b"
    } else {
        "numbers have a decimal point; a missing output is an empty cell or null"
    };
    Error::Cell {
        position: batch.position(table, row, vec![batch.names[column].clone()]).into(),
        problem: format!("`{shown}` is not a number"),
        hint: Some(hint.into()),
    }
}

/// Whether a cell, which may be quoted as in JSON, is two numbers around a `/`.
fn is_fraction(cell: &str) -> bool {
    let is_number = |part: &str| parse_number(part.as_bytes()).is_some_and(f64::is_finite);
    let parts = cell.trim_matches('"').split_once('/');
    parts.is_some_and(|(one, other)| is_number(one) && is_number(other))
}

pub(crate) fn unknown_label(
    table: &str,
    batch: &Batch,
    row: usize,
    column: usize,
    text: &[u8],
    schema: &Schema,
) -> Error {
    Error::Rejected {
        position: batch.position(table, row, vec![batch.names[column].clone()]).into(),
        values: Vec::new(),
        cause: Box::new(consilience::Error::UnknownLabel {
            item: row,
            label: String::from_utf8_lossy(text).into_owned(),
            classes: schema.classes().to_vec(),
        }),
    }
}

/// A lookup of names.
pub(crate) struct Names {
    few: Vec<Box<[u8]>>,
    many: HashMap<Box<[u8]>, usize>,
    /// The names that are whole numbers, without their fraction; `None` if two are the same number.
    numbers: HashMap<Box<[u8]>, Option<usize>>,
}

/// Up to this many names are compared one by one, which is faster than hashing.
const FEW: usize = 8;

impl Names {
    pub(crate) fn new(names: &[String]) -> Self {
        let bytes = || names.iter().map(|name| name.as_bytes().into());
        let mut numbers: HashMap<Box<[u8]>, Option<usize>> = HashMap::new();
        for (index, name) in names.iter().enumerate() {
            if let Some(number) = whole_number(name.as_bytes()) {
                numbers
                    .entry(number.into())
                    .and_modify(|twice| *twice = None)
                    .or_insert(Some(index));
            }
        }
        let (few, many) = match names.len() {
            0..=FEW => (bytes().collect(), HashMap::new()),
            _ => (Vec::new(), bytes().zip(0..).collect()),
        };
        Self { few, many, numbers }
    }

    /// The index of a name. If there is none, `1.0` and `1` are the same name, because data frames
    /// write whole numbers as floats where some are missing.
    pub(crate) fn get(&self, name: &[u8]) -> Option<usize> {
        let exact = match self.few.as_slice() {
            [] => self.many.get(name).copied(),
            few => few.iter().position(|known| **known == *name),
        };
        exact.or_else(|| *self.numbers.get(whole_number(name)?)?)
    }
}

/// The digits of a whole number, with its sign and without a fraction of zeros.
pub(crate) fn whole_number(name: &[u8]) -> Option<&[u8]> {
    let digits = match name.iter().position(|byte| *byte == b'.') {
        None => name,
        Some(point) => {
            let zeros = &name[point + 1..];
            if zeros.is_empty() || zeros.iter().any(|byte| *byte != b'0') {
                return None;
            }
            &name[..point]
        }
    };
    let unsigned = digits.strip_prefix(b"-").unwrap_or(digits);
    (!unsigned.is_empty() && unsigned.iter().all(u8::is_ascii_digit)).then_some(digits)
}
