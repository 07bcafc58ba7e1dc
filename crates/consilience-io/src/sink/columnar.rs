//! Parquet and Arrow IPC sinks: columns keep their types; cells of text become text or numbers.

use std::error::Error as StdError;
use std::io;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray, UInt64Array};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{DataType, Schema as ArrowSchema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use parquet::schema::types::ColumnPath;

use crate::arrow_cells;
use crate::batch::{Batch, Body, Notation, record_batch};
use crate::error::{Error, Result};
use crate::location::Format;
use crate::source::json_text;
use crate::text::{Cells, parse_number};
use crate::whole::Output;
use crate::writer::{Added, AddedValues};

use super::Sink;

/// Number of rows per Parquet row group, which is kept in memory until it is full.
const ROW_GROUP: usize = 1 << 17;

/// A Parquet or Arrow file being written.
pub(super) struct ColumnarSink {
    name: String,
    state: State,
}

enum State {
    /// Nothing has been written, so the schema is not known.
    Waiting {
        output: Output,
        format: Format,
    },
    Parquet(Box<ArrowWriter<Output>>),
    Arrow(Box<FileWriter<Output>>),
    /// The output was lost by an error.
    Broken,
}

impl ColumnarSink {
    pub(super) fn new(output: Output, format: Format) -> Self {
        Self { name: output.name().to_owned(), state: State::Waiting { output, format } }
    }

    /// Starts the file, unless it was started before; the first `n_carried` columns are those of the input.
    fn start(&mut self, schema: &SchemaRef, n_carried: usize) -> Result<()> {
        if !matches!(self.state, State::Waiting { .. }) {
            return Ok(());
        }
        let state = std::mem::replace(&mut self.state, State::Broken);
        let State::Waiting { output, format } = state else {
            return Ok(());
        };
        self.state = if format == Format::Parquet {
            check_types(&self.name, schema)?;
            let properties = Some(properties(schema, n_carried));
            let writer = ArrowWriter::try_new(output, Arc::clone(schema), properties);
            State::Parquet(Box::new(writer.map_err(|error| write_error(&self.name, &error))?))
        } else {
            let writer = FileWriter::try_new(output, schema);
            State::Arrow(Box::new(writer.map_err(|error| write_error(&self.name, &error))?))
        };
        Ok(())
    }

    fn to_batch(&self, carried: &Batch, added: &[Added]) -> Result<RecordBatch> {
        let names = carried.names().iter().cloned();
        let names: Vec<String> =
            names.chain(added.iter().map(|column| column.name.clone().into_owned())).collect();
        let mut columns = match &carried.body {
            Body::Columns(batch) => self.typed_columns(batch)?,
            Body::Text { cells, notation, numeric } => {
                let convert = |(column, &numeric): (usize, &bool)| {
                    to_array(cells, column, *notation, numeric).map_err(|row| Error::Cell {
                        position: carried
                            .position(&self.name, row, vec![names[column].clone()])
                            .into(),
                        problem: "the cell cannot be written into this format".into(),
                        hint: Some("text must be UTF-8".into()),
                    })
                };
                numeric.iter().enumerate().map(convert).collect::<Result<Vec<_>>>()?
            }
        };
        columns.extend(added.iter().map(|column| added_array(&column.values)));
        Ok(with_metadata(record_batch(&names, columns), carried))
    }

    /// In an Arrow file all batches of a column share one dictionary. Batches that were read one
    /// by one have different dictionaries, so their values are written instead.
    fn typed_columns(&self, batch: &RecordBatch) -> Result<Vec<ArrayRef>> {
        let hydrate = match &self.state {
            State::Waiting { format, .. } => *format == Format::Arrow,
            State::Arrow(_) => true,
            State::Parquet(_) | State::Broken => false,
        };
        if !hydrate {
            return Ok(batch.columns().to_vec());
        }
        let columns = batch.columns().iter().map(arrow_cells::plain);
        columns.collect::<Result<_, _>>().map_err(|error| write_error(&self.name, &error))
    }
}

impl Sink for ColumnarSink {
    fn write(&mut self, carried: &Batch, added: &[Added]) -> Result<()> {
        let batch = self.to_batch(carried, added)?;
        self.start(&batch.schema(), carried.names().len())?;
        if batch.num_rows() == 0 {
            return Ok(());
        }
        match &mut self.state {
            State::Parquet(writer) => writer.write(&batch).map_err(|e| write_error(&self.name, &e)),
            State::Arrow(writer) => writer.write(&batch).map_err(|e| write_error(&self.name, &e)),
            State::Waiting { .. } | State::Broken => Ok(()),
        }
    }

    fn finish(mut self: Box<Self>) -> Result<Output> {
        self.start(&Arc::new(ArrowSchema::empty()), 0)?;
        match self.state {
            State::Parquet(writer) => writer.into_inner().map_err(|e| write_error(&self.name, &e)),
            State::Arrow(writer) => writer.into_inner().map_err(|e| write_error(&self.name, &e)),
            State::Waiting { .. } | State::Broken => {
                Err(Error::malformed(&self.name, "the file could not be started"))
            }
        }
    }
}

/// Checks that Parquet has all types; its writer would panic.
fn check_types(name: &str, schema: &SchemaRef) -> Result<()> {
    match schema.fields().iter().find(|field| !fits_parquet(field.data_type())) {
        None => Ok(()),
        Some(field) => Err(Error::ColumnType {
            name: name.to_owned(),
            column: field.name().clone(),
            data_type: field.data_type().to_string(),
            cannot: "cannot be written as Parquet",
        }),
    }
}

/// Numbers are written without dictionaries: probabilities rarely repeat, and building
/// dictionaries takes half of the time of writing. Computed numbers are not compressed: their last
/// digits are as good as random, so that compression would cost time and save little.
fn properties(schema: &SchemaRef, n_carried: usize) -> WriterProperties {
    let builder = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(ROW_GROUP));
    let floats = schema.fields().iter().enumerate();
    floats
        .filter(|(_, field)| field.data_type().is_floating())
        .fold(builder, |builder, (place, field)| {
            let path = ColumnPath::from(field.name().as_str());
            let builder = builder.set_column_dictionary_enabled(path.clone(), false);
            if place < n_carried {
                return builder;
            }
            builder.set_column_compression(path, Compression::UNCOMPRESSED)
        })
        .build()
}

/// Keeps the metadata of the input columns, such as extension types of a data frame.
fn with_metadata(batch: RecordBatch, carried: &Batch) -> RecordBatch {
    let Body::Columns(original) = &carried.body else {
        return batch;
    };
    let schema = original.schema();
    let fields: Vec<_> = batch
        .schema()
        .fields()
        .iter()
        .enumerate()
        .map(|(index, field)| match schema.fields().get(index) {
            Some(original) => {
                Arc::new(field.as_ref().clone().with_metadata(original.metadata().clone()))
            }
            None => Arc::clone(field),
        })
        .collect();
    let schema = Arc::new(ArrowSchema::new(fields));
    batch.with_schema(schema).expect("only metadata differs")
}

/// A column of text as Float64 if it is numeric, otherwise as Utf8; the error is the row of a
/// cell that cannot be converted.
fn to_array(
    cells: &Cells,
    column: usize,
    notation: Notation,
    numeric: bool,
) -> Result<ArrayRef, usize> {
    let text = |row| match notation {
        Notation::Plain => std::borrow::Cow::Borrowed(cells.get(row, column)),
        Notation::Json => json_text(cells.get(row, column)),
    };
    let rows = 0..cells.n_rows();
    if numeric {
        let number = |row| {
            let number = parse_number(&text(row)).ok_or(row)?;
            Ok((!number.is_nan()).then_some(number))
        };
        return Ok(Arc::new(rows.map(number).collect::<Result<Float64Array, usize>>()?));
    }
    let mut builder = arrow_array::builder::StringBuilder::new();
    for row in rows {
        let text = text(row);
        match std::str::from_utf8(&text).map_err(|_| row)? {
            "" => builder.append_null(),
            text => builder.append_value(text),
        }
    }
    Ok(Arc::new(builder.finish()))
}

fn added_array(values: &AddedValues) -> ArrayRef {
    match values {
        AddedValues::Numbers(numbers) => {
            let numbers = numbers.iter().map(|&number| (!number.is_nan()).then_some(number));
            Arc::new(numbers.collect::<Float64Array>())
        }
        AddedValues::Counts(counts) => Arc::new(UInt64Array::from(counts.to_vec())),
        _ => Arc::new((0..values.len()).map(|row| values.text(row)).collect::<StringArray>()),
    }
}

/// The error of the operating system, if it is the cause, so that a broken pipe is recognised.
fn write_error(name: &str, error: &(dyn StdError + 'static)) -> Error {
    let mut cause = Some(error);
    while let Some(layer) = cause {
        if let Some(reason) = layer.downcast_ref::<io::Error>() {
            let copy = reason.raw_os_error().map_or_else(
                || io::Error::new(reason.kind(), reason.to_string()),
                io::Error::from_raw_os_error,
            );
            return Error::io("write", name, copy);
        }
        cause = layer.source();
    }
    Error::malformed(name, format!("cannot be written: {error}"))
}

/// Whether columns of this type can be written into a Parquet file.
fn fits_parquet(data_type: &DataType) -> bool {
    match data_type {
        DataType::Union(..) => false,
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _)
        | DataType::RunEndEncoded(_, item) => fits_parquet(item.data_type()),
        DataType::Struct(fields) => fields.iter().all(|field| fits_parquet(field.data_type())),
        DataType::Dictionary(_, values) => fits_parquet(values),
        _ => true,
    }
}
