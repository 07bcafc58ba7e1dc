//! Tables that speak the Arrow stream interface (polars, pyarrow, duckdb and others): their columns as rows.

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::types::{
    ArrowPrimitiveType, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, DecimalType,
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, PrimitiveArray, RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, DataType, Field, SchemaRef};
use consilience_numerics::parallel;
use numpy::{PyArray2, PyArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::errors::ConsilienceError;

/// Rows that are written at a time, so that they stay in the cache while one column after the other goes into them.
const ROWS: usize = 1024;

/// A table read once from its stream; its memory stays where it is.
#[pyclass(module = "consilience._core", frozen)]
pub(crate) struct Table {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

#[pymethods]
impl Table {
    #[new]
    fn new(table: &Bound<'_, PyAny>) -> PyResult<Self> {
        let reader = stream(table)?;
        let schema = reader.schema();
        let batches = reader.collect::<Result<Vec<_>, _>>().map_err(|error| broken(&error))?;
        Ok(Self { schema, batches })
    }

    /// The names of all columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    /// Some columns as rows of doubles, n × columns; NaN where null.
    #[allow(clippy::needless_pass_by_value, reason = "extracted arguments are owned")]
    fn rows<'py>(
        &self,
        py: Python<'py>,
        names: Vec<String>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let place = |name: &String| self.schema.index_of(name).map_err(|error| broken(&error));
        let places = names.iter().map(place).collect::<PyResult<Vec<usize>>>()?;
        places.iter().try_for_each(|place| require_numbers(self.schema.field(*place)))?;
        let n = self.batches.iter().map(RecordBatch::num_rows).sum();
        let rows = PyArray2::zeros(py, [n, names.len()], false);
        let mut writing = rows.readwrite();
        let values = writing.as_slice_mut()?;
        py.detach(|| self.fill(&places, values)).map_err(|error| broken(&error))?;
        drop(writing);
        Ok(rows)
    }
}

impl Table {
    fn fill(&self, places: &[usize], mut rows: &mut [f64]) -> Result<(), ArrowError> {
        for batch in &self.batches {
            let columns = places.iter().map(|&place| plain(batch.column(place)));
            let columns = columns.collect::<Result<Vec<_>, _>>()?;
            let (own, rest) = rows.split_at_mut(batch.num_rows() * places.len());
            fill_rows(&columns, own)?;
            rows = rest;
        }
        Ok(())
    }
}

/// An error that names a column whose values are not numbers.
fn require_numbers(field: &Field) -> PyResult<()> {
    let values = match field.data_type() {
        DataType::Dictionary(_, values) => values,
        other => other,
    };
    if values.is_numeric() || values.is_null() {
        return Ok(());
    }
    Err(ConsilienceError::new_err(format!(
        "column `{}` of outputs must hold numbers, not {values}",
        field.name()
    )))
}

/// The stream behind a table.
fn stream(table: &Bound<'_, PyAny>) -> PyResult<RecordBatchStreamReader> {
    let capsule = table.call_method0("__arrow_c_stream__")?;
    let capsule = capsule
        .cast::<PyCapsule>()
        .map_err(|_| PyTypeError::new_err("`__arrow_c_stream__` must return a capsule"))?;
    let pointer = capsule.pointer_checked(Some(c"arrow_array_stream"))?;
    // SAFETY: by the Arrow PyCapsule interface a capsule of this name holds an `ArrowArrayStream`; the reader moves it
    // out and leaves a released one behind, which the capsule's destructor passes over.
    #[allow(unsafe_code, reason = "the Arrow stream interface is one of C pointers")]
    let reader = unsafe {
        RecordBatchStreamReader::from_raw(pointer.as_ptr().cast::<FFI_ArrowArrayStream>())
    };
    reader.map_err(|error| broken(&error))
}

fn broken(error: &ArrowError) -> PyErr {
    ConsilienceError::new_err(match error {
        ArrowError::CastError(message) | ArrowError::SchemaError(message) => message.clone(),
        other => other.to_string(),
    })
}

/// The array with dictionary codes replaced by their values.
fn plain(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    match array.as_any_dictionary_opt() {
        Some(dictionary) => arrow_select::take::take(dictionary.values(), dictionary.keys(), None),
        None => Ok(ArrayRef::clone(array)),
    }
}

/// Writes columns into rows, pieces of them spread over threads.
fn fill_rows(columns: &[ArrayRef], rows: &mut [f64]) -> Result<(), ArrowError> {
    let width = columns.len();
    parallel::for_each(rows.chunks_mut(ROWS * width).collect(), |piece, rows| {
        for (place, column) in columns.iter().enumerate() {
            let part = column.slice(piece * ROWS, rows.len() / width);
            fill(&part, rows.iter_mut().skip(place).step_by(width))?;
        }
        Ok(())
    })
}

/// Writes the numbers of a column into every slot, NaN where null.
fn fill<'a>(array: &dyn Array, slots: impl Iterator<Item = &'a mut f64>) -> Result<(), ArrowError> {
    match array.data_type() {
        DataType::Float64 => convert(slots, array.as_primitive::<Float64Type>(), |x| x),
        DataType::Float32 => convert(slots, array.as_primitive::<Float32Type>(), f64::from),
        DataType::Float16 => convert(slots, array.as_primitive::<Float16Type>(), f64::from),
        DataType::Int8 => convert(slots, array.as_primitive::<Int8Type>(), f64::from),
        DataType::Int16 => convert(slots, array.as_primitive::<Int16Type>(), f64::from),
        DataType::Int32 => convert(slots, array.as_primitive::<Int32Type>(), f64::from),
        DataType::Int64 => convert(slots, array.as_primitive::<Int64Type>(), |x| x as f64),
        DataType::UInt8 => convert(slots, array.as_primitive::<UInt8Type>(), f64::from),
        DataType::UInt16 => convert(slots, array.as_primitive::<UInt16Type>(), f64::from),
        DataType::UInt32 => convert(slots, array.as_primitive::<UInt32Type>(), f64::from),
        DataType::UInt64 => convert(slots, array.as_primitive::<UInt64Type>(), |x| x as f64),
        DataType::Decimal32(..) => decimals(slots, array.as_primitive::<Decimal32Type>()),
        DataType::Decimal64(..) => decimals(slots, array.as_primitive::<Decimal64Type>()),
        DataType::Decimal128(..) => decimals(slots, array.as_primitive::<Decimal128Type>()),
        DataType::Decimal256(..) => decimals(slots, array.as_primitive::<Decimal256Type>()),
        DataType::Null => slots.for_each(|slot| *slot = f64::NAN),
        other => {
            let message = format!("a column of outputs must hold numbers, not {other}");
            return Err(ArrowError::CastError(message));
        }
    }
    Ok(())
}

/// Writes decimals as the nearest doubles.
fn decimals<'a, T: DecimalType>(
    slots: impl Iterator<Item = &'a mut f64>,
    array: &PrimitiveArray<T>,
) {
    for (row, slot) in slots.enumerate() {
        let text = array.is_valid(row).then(|| array.value_as_string(row));
        *slot = text.and_then(|text| text.parse().ok()).unwrap_or(f64::NAN);
    }
}

fn convert<'a, T: ArrowPrimitiveType>(
    slots: impl Iterator<Item = &'a mut f64>,
    array: &PrimitiveArray<T>,
    number: impl Fn(T::Native) -> f64,
) {
    if array.null_count() == 0 {
        slots.zip(array.values()).for_each(|(slot, &value)| *slot = number(value));
    } else {
        slots.zip(array).for_each(|(slot, value)| *slot = value.map_or(f64::NAN, &number));
    }
}
