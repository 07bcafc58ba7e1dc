//! Readers of tables: whole tables with unknown columns, or chunks of tables with known ones.

use std::collections::HashSet;
use std::sync::Arc;

use consilience::{InputFormat, Outputs, OutputsBuilder, Schema};

use crate::batch::{Batch, LABEL};
use crate::error::{Error, Result};
use crate::header::{self, Known};
use crate::input::{Input, from_start};
use crate::location::{Format, Layout, Location};
use crate::long::{self, Distinct, Long};
use crate::room::Room;
use crate::source::{self, Source};
use crate::wide::{Labels, Use, Wide, check_labelled, check_type, whole_number};

/// Options for reading a table.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadOptions {
    /// The format; by default that of the file's extension, or CSV for standard input.
    pub format: Option<Format>,
    /// The layout; by default wide.
    pub layout: Layout,
    /// The kind of the values and the floor.
    pub input_format: InputFormat,
    /// The classes in order; by default those found in the table.
    pub classes: Option<Vec<String>>,
    /// Whether the table must have a column of labels, in which cells may be empty; by default
    /// false.
    pub needs_labels: bool,
    /// Whether labels are not read, so that they may be anything; by default false.
    pub ignores_labels: bool,
    /// Whether the caller keeps all items, so that a small file with very many items is
    /// refused; by default false. [`read_outputs`] keeps them always.
    pub keeps_all: bool,
    /// Number of items per chunk, at least 1; by default 8192.
    pub chunk_items: usize,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            format: None,
            layout: Layout::Wide,
            input_format: InputFormat::default(),
            classes: None,
            needs_labels: false,
            ignores_labels: false,
            keeps_all: false,
            chunk_items: 8192,
        }
    }
}

impl ReadOptions {
    fn labels(&self) -> Labels {
        match (self.needs_labels, self.ignores_labels) {
            (false, true) => Labels::Ignored,
            _ => Labels::Read,
        }
    }
}

/// Items with the input columns of the table.
#[derive(Debug, Clone)]
pub struct Chunk {
    /// The checked outputs, and labels where known.
    pub outputs: Outputs,
    /// The input columns: all of a wide table, `item` and `label` of a long one.
    pub carried: Batch,
}

/// Reads a whole table, with or without labels, and finds its classifiers and classes.
///
/// The classes are those of `options.classes`. Without them, the classes of a wide table are those
/// of the label column or else the suffixes that all classifiers share. The suffixes are also used
/// if some items have no label and the labels do not cover the columns. The classes of a long table
/// are those of the `class` column. Classes are found in a separate pass over the file, so
/// that memory is needed only for the result; a stream is first copied to a temporary file.
pub fn read_outputs(location: &Location, options: &ReadOptions) -> Result<Outputs> {
    read_outputs_from(Input::open(location, options.format)?, options)
}

/// [Reads a whole table](read_outputs) from an open input; `options.format` is not used.
pub fn read_outputs_from(mut input: Input, options: &ReadOptions) -> Result<Outputs> {
    check_layout(&input.name, options.layout)?;
    let (name, format) = (input.name.clone(), input.format);
    let room = Room::new(&name, input.content.len());
    let chunk = options.chunk_items.max(1);
    let mut stored = None;
    if options.layout == Layout::Long || options.classes.is_none() {
        let twice = input.content.into_stored(&name)?;
        input.content = from_start(&twice, &name)?;
        stored = Some(twice);
    }
    let mut source = source::open(input, chunk)?;
    if source.names().is_empty() {
        return Err(Error::NoItems { name });
    }
    if options.needs_labels {
        check_labelled(&name, source.as_ref())?;
    }
    let schema = Arc::new(discover(&name, source.as_mut(), options)?);
    if let Some(stored) = stored {
        drop(source);
        let content = from_start(&stored, &name)?;
        source = source::open(Input { name: name.clone(), format, content }, chunk)?;
    }
    let mut builder = OutputsBuilder::new(Arc::clone(&schema), options.input_format)?;
    let labels = options.labels();
    match options.layout {
        Layout::Wide => {
            let needed = Wide::new(&name, source.as_ref(), &schema, labels)?.needed();
            source.select(&needed);
            let mut wide = Wide::new(&name, source.as_ref(), &schema, labels)?;
            while let Some(batch) = source.next_batch(chunk)? {
                wide.read(&batch, &mut builder)?;
                check_room(&room, builder.n_items(), &schema, source.as_ref())?;
            }
        }
        Layout::Long | Layout::WideLabels => {
            let mut long = Long::new(&name, source.as_ref(), &schema, labels)?;
            while long.fill(source.as_mut(), &mut builder, chunk)? > 0 {
                check_room(&room, builder.n_items(), &schema, source.as_ref())?;
            }
        }
    }
    match builder.n_items() {
        0 => Err(Error::NoItems { name }),
        _ => Ok(builder.finish()),
    }
}

/// Checks that so many items, with their labels, may be kept.
fn check_room(room: &Room, n_items: usize, schema: &Schema, source: &dyn Source) -> Result<()> {
    let item = (schema.width() + 1) * size_of::<f64>();
    room.check(n_items, n_items.saturating_mul(item), source.bytes_read())
}

/// Refuses the layout that only votes have.
fn check_layout(table: &str, layout: Layout) -> Result<()> {
    if layout != Layout::WideLabels {
        return Ok(());
    }
    let hint = "labels without probabilities are votes; tables of probabilities are wide or long";
    Err(Error::header(table, "the layout wide-labels is for votes", hint))
}

/// The classifiers and classes of a table; may read the source to its end.
fn discover(table: &str, source: &mut dyn Source, options: &ReadOptions) -> Result<Schema> {
    let chunk = options.chunk_items.max(1);
    if options.layout == Layout::Long {
        return long::discover(table, source, options.classes.as_deref(), chunk);
    }
    let columns = Arc::clone(source.names());
    if let Some(classes) = &options.classes {
        return header::resolve(table, &columns, &Known::Given(classes));
    }
    header::check_unique(table, &columns)?;
    let found = distinct_labels(table, source, chunk)?;
    let labels = as_in_header(&columns, found.names);
    if labels.is_empty() {
        return header::resolve(table, &columns, &Known::Nothing);
    }
    let by_label = header::resolve(table, &columns, &Known::Labels(&labels));
    if by_label.is_ok() || !found.any_empty {
        return by_label;
    }
    // A class may be among the unlabelled items only.
    match header::resolve(table, &columns, &Known::Nothing) {
        Ok(schema) if labels.iter().all(|(name, _)| schema.class_index(name).is_some()) => {
            Ok(schema)
        }
        _ => by_label,
    }
}

fn distinct_labels(table: &str, source: &mut dyn Source, chunk: usize) -> Result<Distinct> {
    let position = |source: &dyn Source| source.names().iter().position(|name| name == LABEL);
    let Some(label) = position(source) else {
        return Ok(Distinct::default());
    };
    check_type(table, source, label, Use::Name)?;
    source.select(&[label]);
    let label = position(source).expect("the column was selected");
    let mut labels = Distinct::default();
    while let Some(batch) = source.next_batch(chunk)? {
        labels.add(table, &batch, label)?;
    }
    Ok(labels)
}

/// The labels as the columns spell them: `1.0` as `1` if a column ends in `_1` and none in `_1.0`,
/// and the other way round.
fn as_in_header(columns: &[String], labels: Vec<(String, u64)>) -> Vec<(String, u64)> {
    // A whole number has no `_`, so that it can only follow the last one of a column.
    let ends: HashSet<&str> =
        columns.iter().filter_map(|column| Some(column.rsplit_once('_')?.1)).collect();
    let mut found: Vec<(String, u64)> = Vec::with_capacity(labels.len());
    let mut known = HashSet::with_capacity(labels.len());
    for (label, row) in labels {
        let number = whole_number(label.as_bytes()).and_then(|n| std::str::from_utf8(n).ok());
        let spellings = number.map(|number| [number.to_owned(), format!("{number}.0")]);
        let spelled = match spellings {
            Some(spellings) if !ends.contains(label.as_str()) => {
                spellings.into_iter().find(|name| ends.contains(name.as_str()))
            }
            _ => None,
        };
        let name = spelled.unwrap_or(label);
        if known.insert(name.clone()) {
            found.push((name, row));
        }
    }
    found
}

/// Reader of a table whose classifiers and classes are known, in chunks and bounded memory.
///
/// Columns may be in any order. The other columns of a wide table are passed on unchanged.
pub struct TableReader {
    source: Box<dyn Source>,
    rows: Rows,
    builder: OutputsBuilder,
    chunk_items: usize,
    total_bytes: Option<u64>,
    n_items: usize,
    /// Limits the items, if all are kept.
    room: Option<Room>,
}

/// The layout of the rows.
enum Rows {
    Wide(Box<Wide>),
    Long(Box<Long>),
    /// An empty file of JSON lines, which has no columns and no items.
    Nothing,
}

impl TableReader {
    /// Opens a table and finds the columns of `schema`; `options.classes` is not used.
    pub fn open(location: &Location, schema: &Arc<Schema>, options: &ReadOptions) -> Result<Self> {
        Self::new(Input::open(location, options.format)?, schema, options)
    }

    /// A reader of an open input; `options.format` and `options.classes` are not used.
    pub fn new(input: Input, schema: &Arc<Schema>, options: &ReadOptions) -> Result<Self> {
        check_layout(&input.name, options.layout)?;
        let (name, format) = (input.name.clone(), input.format);
        let chunk_items = options.chunk_items.max(1);
        let total_bytes = input.content.len();
        let source = source::open(input, chunk_items)?;
        let labels = options.labels();
        if options.needs_labels && !source.names().is_empty() {
            check_labelled(&name, source.as_ref())?;
        }
        let rows = match options.layout {
            _ if format == Format::JsonLines && source.names().is_empty() => Rows::Nothing,
            Layout::Wide => {
                Rows::Wide(Box::new(Wide::new(&name, source.as_ref(), schema, labels)?))
            }
            Layout::Long | Layout::WideLabels => {
                Rows::Long(Box::new(Long::new(&name, source.as_ref(), schema, labels)?))
            }
        };
        let builder = OutputsBuilder::new(Arc::clone(schema), options.input_format)?;
        let room = options.keeps_all.then(|| Room::new(&name, total_bytes));
        Ok(Self { source, rows, builder, chunk_items, total_bytes, n_items: 0, room })
    }

    /// The next items, `None` at the end; never an empty chunk.
    pub fn next_chunk(&mut self) -> Result<Option<Chunk>> {
        let carried = match &mut self.rows {
            Rows::Nothing => return Ok(None),
            Rows::Wide(wide) => {
                let Some(mut batch) = self.source.next_batch(self.chunk_items)? else {
                    return Ok(None);
                };
                wide.mark(&mut batch);
                wide.read(&batch, &mut self.builder)?;
                batch
            }
            Rows::Long(long) => {
                match long.fill(self.source.as_mut(), &mut self.builder, self.chunk_items)? {
                    0 => return Ok(None),
                    _ => long.carried()?,
                }
            }
        };
        self.n_items += self.builder.n_items();
        if let Some(room) = &self.room {
            let schema = self.builder.outputs().schema();
            check_room(room, self.n_items, schema, self.source.as_ref())?;
        }
        Ok(Some(Chunk { outputs: self.builder.take(), carried }))
    }

    /// The input columns without rows, to write the header of a table without items.
    pub fn empty_batch(&self) -> Result<Batch> {
        match &self.rows {
            Rows::Nothing => Ok(self.source.empty_batch()),
            Rows::Wide(wide) => {
                let mut batch = self.source.empty_batch();
                wide.mark(&mut batch);
                Ok(batch)
            }
            Rows::Long(long) => long.carried_empty(self.source.as_ref()),
        }
    }

    /// Classifiers with a column for every class that the schema does not have. They are not used.
    pub fn unknown_classifiers(&self) -> &[String] {
        match &self.rows {
            Rows::Wide(wide) => &wide.unknown_classifiers,
            Rows::Long(_) | Rows::Nothing => &[],
        }
    }

    /// Number of bytes read so far; for Parquet estimated from the rows.
    pub fn bytes_read(&self) -> u64 {
        self.source.bytes_read()
    }

    /// Size of the input in bytes, where it is known.
    pub fn total_bytes(&self) -> Option<u64> {
        self.total_bytes
    }
}

impl std::fmt::Debug for TableReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TableReader")
            .field("columns", self.source.names())
            .field("bytes_read", &self.bytes_read())
            .finish_non_exhaustive()
    }
}
