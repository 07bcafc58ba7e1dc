//! The wide layout: one row per item, one column per classifier and class.

use std::collections::HashMap;
use std::sync::Arc;

use consilience::{OutputsBuilder, Schema};

use crate::arrow_cells;
use crate::batch::{Batch, LABEL, column_names};
use crate::error::{Error, Result, quoted};
use crate::header::check_unique;
use crate::hint::Hint;
use crate::location::Layout;
use crate::source::Source;

/// Reader of the rows of a wide table.
pub(crate) struct Wide {
    table: String,
    schema: Arc<Schema>,
    /// The column of every value, classifier by classifier.
    columns: Vec<usize>,
    label: Option<usize>,
    needs_labels: bool,
    classes: Names,
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
        needs_labels: bool,
    ) -> Result<Self> {
        check_unique(table, source.names())?;
        let needed: Vec<String> = column_names(schema).collect();
        check_distinct(table, &needed)?;
        let hint = || wide_hint(schema);
        let columns = needed.iter().map(|name| find_column(table, source, name, hint));
        let columns: Vec<usize> = columns.collect::<Result<_>>()?;
        for &column in &columns {
            check_type(table, source, column, Use::Number)?;
        }
        let label = source.names().iter().position(|name| name == LABEL);
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
            needs_labels,
            classes: Names::new(schema.classes()),
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
        let labels = self.label.map(|column| (column, batch.texts(column)));
        builder.reserve(good);
        for (row, raw) in self.raw.chunks_exact(width).take(good).enumerate() {
            let label = match &labels {
                None => None,
                Some((column, texts)) => {
                    texts.get(row).map(|text| self.label(batch, row, *column, text)).transpose()?
                }
            };
            if let (None, true, Some((column, _))) = (label, self.needs_labels, &labels) {
                return Err(missing_label(&self.table, batch, row, *column));
            }
            builder.push_indexed(raw, label).map_err(|cause| self.rejected(batch, row, cause))?;
        }
        bad.map_or(Ok(()), |(row, column)| Err(not_a_number(&self.table, batch, row, column)))
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
    find_column(table, source, LABEL, || consilience::Hint::LabelItems).map(drop)
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
    Error::Cell {
        position: batch.position(table, row, vec![batch.names[column].clone()]).into(),
        problem: format!("`{}` is not a number", batch.show(row, column)),
        hint: Some(
            "numbers have a decimal point; a missing output is an empty cell or null".into(),
        ),
    }
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
}

/// Up to this many names are compared one by one, which is faster than hashing.
const FEW: usize = 8;

impl Names {
    pub(crate) fn new(names: &[String]) -> Self {
        let bytes = || names.iter().map(|name| name.as_bytes().into());
        if names.len() <= FEW {
            return Self { few: bytes().collect(), many: HashMap::new() };
        }
        Self { few: Vec::new(), many: bytes().zip(0..).collect() }
    }

    pub(crate) fn get(&self, name: &[u8]) -> Option<usize> {
        match self.few.as_slice() {
            [] => self.many.get(name).copied(),
            few => few.iter().position(|known| **known == *name),
        }
    }
}
