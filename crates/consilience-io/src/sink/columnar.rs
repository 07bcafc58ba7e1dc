//! Parquet and Arrow IPC sinks: columns keep their types; cells of text become text or numbers.

use std::error::Error as StdError;
use std::io;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray, UInt64Array};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{DataType, Schema as ArrowSchema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
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

/// Fewest rows from which it is judged whether numbers look random.
const FEWEST_RANDOM: usize = 100;

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

    /// Starts the file with its first rows, unless it was started before.
    fn start(&mut self, batch: &RecordBatch) -> Result<()> {
        if !matches!(self.state, State::Waiting { .. }) {
            return Ok(());
        }
        let state = std::mem::replace(&mut self.state, State::Broken);
        let State::Waiting { output, format } = state else {
            return Ok(());
        };
        let schema = batch.schema_ref();
        self.state = if format == Format::Parquet {
            check_types(&self.name, schema)?;
            let properties = Some(properties(batch));
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
        self.start(&batch)?;
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
        self.start(&RecordBatch::new_empty(Arc::new(ArrowSchema::empty())))?;
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

/// Numbers are written without dictionaries: probabilities rarely repeat, and building dictionaries takes long.
///
/// Numbers that [look random](looks_random) are not compressed, and their smallest and largest values are not recorded:
/// compression would take long and save little, and every part of the file has values from the whole range.
fn properties(first_rows: &RecordBatch) -> WriterProperties {
    let mut builder = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(ROW_GROUP));
    let columns = first_rows.schema_ref().fields().iter().zip(first_rows.columns());
    for (field, values) in columns {
        if !field.data_type().is_floating() {
            continue;
        }
        let path = ColumnPath::from(field.name().as_str());
        builder = builder.set_column_dictionary_enabled(path.clone(), false);
        if looks_random(values) {
            builder = builder
                .set_column_compression(path.clone(), Compression::UNCOMPRESSED)
                .set_column_statistics_enabled(path, EnabledStatistics::None);
        }
    }
    builder.build()
}

/// Whether the doubles of a column, of which there must be [enough](FEWEST_RANDOM), have no pattern by which they could be
/// compressed: 98 % of them differ in their upper 32 bits. Numbers of five digits do not.
fn looks_random(values: &ArrayRef) -> bool {
    let Some(doubles) = values.as_primitive_opt::<Float64Type>() else { return false };
    let mut upper: Vec<u64> = doubles.iter().flatten().map(|x| x.to_bits() >> 32).collect();
    upper.sort_unstable();
    upper.dedup();
    doubles.len() >= FEWEST_RANDOM && 100 * upper.len() >= 98 * doubles.len()
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
        AddedValues::Numbers(numbers) if !numbers.iter().any(|number| number.is_nan()) => {
            Arc::new(Float64Array::from(numbers.to_vec()))
        }
        AddedValues::Numbers(numbers) => {
            let numbers = numbers.iter().map(|&number| (!number.is_nan()).then_some(number));
            Arc::new(numbers.collect::<Float64Array>())
        }
        AddedValues::Counts(counts) => Arc::new(UInt64Array::from(counts.to_vec())),
        _ => {
            let texts = (0..values.len()).map(|row| values.text(row).unwrap_or_default());
            Arc::new(StringArray::from_iter_values(texts))
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn looks_random_as(value: impl Fn(usize) -> Option<f64>) -> bool {
        looks_random(&(Arc::new((0..8192).map(value).collect::<Float64Array>()) as ArrayRef))
    }

    #[test]
    fn numbers_with_few_digits_in_order_or_repeated_do_not_look_random() {
        let random = |i: usize| f64::fract((i as f64).sqrt() * 1234.567);
        let rounded = |digits: f64| move |i| Some((random(i) * digits).round() / digits);
        assert!(looks_random_as(|i| Some(random(i))));
        assert!(!looks_random_as(rounded(1e4)) && looks_random_as(rounded(1e7)));
        assert!(!looks_random_as(|i| Some(1.7e9 + i as f64)));
        assert!(!looks_random_as(|i| Some(random(i % 1000))));
        assert!(!looks_random_as(|i| (!i.is_multiple_of(10)).then(|| random(i))));
        let few = (0..99).map(|i| Some(random(i))).collect::<Float64Array>();
        assert!(!looks_random(&(Arc::new(few) as ArrayRef)));
        assert!(!looks_random(&(Arc::new(StringArray::from(vec!["0.25"])) as ArrayRef)));
    }
}
