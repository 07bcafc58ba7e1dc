//! Cells of Arrow arrays as numbers, text and JSON, without the large dependency on Arrow's casts.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type,
    DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType, DurationSecondType,
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray};
use arrow_schema::{ArrowError, DataType, TimeUnit};

use crate::dates::{push_date, push_duration, push_time, push_time_of_day};
use crate::text::{parse_number, push_display, push_json_number, push_json_string, push_number};

/// Calls `$body` with `$array` downcast to its integer type, or evaluates `$other`.
macro_rules! with_integers {
    ($array:ident, $other:expr, $body:expr) => {
        match $array.data_type() {
            DataType::Int8 => $body($array.as_primitive::<Int8Type>()),
            DataType::Int16 => $body($array.as_primitive::<Int16Type>()),
            DataType::Int32 => $body($array.as_primitive::<Int32Type>()),
            DataType::Int64 => $body($array.as_primitive::<Int64Type>()),
            DataType::UInt8 => $body($array.as_primitive::<UInt8Type>()),
            DataType::UInt16 => $body($array.as_primitive::<UInt16Type>()),
            DataType::UInt32 => $body($array.as_primitive::<UInt32Type>()),
            DataType::UInt64 => $body($array.as_primitive::<UInt64Type>()),
            _ => $other,
        }
    };
}

/// Whether columns of this type can be read as probabilities.
pub(crate) fn is_numeric(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => is_numeric(values),
        other => other.is_numeric() || is_text(other),
    }
}

/// Whether columns of this type can be written as text and JSON, and used as labels.
pub(crate) fn is_writable(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => is_writable(values),
        DataType::Boolean
        | DataType::Date32
        | DataType::Date64
        | DataType::Time32(_)
        | DataType::Time64(_)
        | DataType::Duration(_)
        | DataType::Timestamp(..) => true,
        other => is_numeric(other) || is_binary(other),
    }
}

fn is_binary(data_type: &DataType) -> bool {
    use DataType::{Binary, BinaryView, FixedSizeBinary, LargeBinary};
    matches!(data_type, Binary | BinaryView | FixedSizeBinary(_) | LargeBinary)
}

fn is_text(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Null)
}

/// The array with dictionary codes replaced by their values.
pub(crate) fn plain(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    match array.as_any_dictionary_opt() {
        Some(dictionary) => arrow_select::take::take(dictionary.values(), dictionary.keys(), None),
        None => Ok(ArrayRef::clone(array)),
    }
}

/// The bytes that the values of a column take once each row has its own; 0 for types whose values cannot be long or are
/// stored row by row.
pub(crate) fn written_bytes(array: &dyn Array) -> u64 {
    let bytes = |values: &dyn Array, row: usize| {
        let length = match values.data_type() {
            _ if values.is_null(row) => 0,
            data_type if is_text(data_type) => text_at(values, row).len(),
            data_type if is_binary(data_type) => bytes_at(values, row).len(),
            _ => 0,
        };
        length as u64
    };
    if matches!(array.data_type(), DataType::Utf8View | DataType::BinaryView) {
        return (0..array.len()).map(|row| bytes(array, row)).sum();
    }
    let Some(dictionary) = array.as_any_dictionary_opt() else { return 0 };
    let values = dictionary.values();
    if values.is_empty() || !(is_text(values.data_type()) || is_binary(values.data_type())) {
        return 0;
    }
    let keys = dictionary.normalized_keys().into_iter().enumerate();
    keys.filter(|(row, _)| !array.is_null(*row)).map(|(_, key)| bytes(values, key)).sum()
}

/// Writes the numbers of a column to `out[offset]`, `out[offset + stride]` and so on, NaN for
/// null; the error is the first row that is not a number.
pub(crate) fn fill_numbers(
    array: &dyn Array,
    out: &mut [f64],
    offset: usize,
    stride: usize,
) -> Result<(), usize> {
    let slots = out.iter_mut().skip(offset).step_by(stride);
    match array.data_type() {
        DataType::Float64 => fill(slots, array.as_primitive::<Float64Type>(), |value| value),
        DataType::Float32 => fill(slots, array.as_primitive::<Float32Type>(), f64::from),
        DataType::Float16 => fill(slots, array.as_primitive::<Float16Type>(), Into::into),
        data_type if data_type.is_integer() => fill_integers(slots, array),
        _ => return fill_parsed(slots, array),
    }
    Ok(())
}

fn fill<'a, T: ArrowPrimitiveType>(
    slots: impl Iterator<Item = &'a mut f64>,
    array: &PrimitiveArray<T>,
    convert: impl Fn(T::Native) -> f64,
) {
    if array.null_count() == 0 {
        slots.zip(array.values()).for_each(|(slot, &value)| *slot = convert(value));
    } else {
        slots.zip(array).for_each(|(slot, value)| *slot = value.map_or(f64::NAN, &convert));
    }
}

fn fill_integers<'a>(slots: impl Iterator<Item = &'a mut f64>, array: &dyn Array) {
    fn convert<'a, T: ArrowPrimitiveType<Native: TryInto<i128>>>(
        slots: impl Iterator<Item = &'a mut f64>,
        array: &PrimitiveArray<T>,
    ) {
        fill(slots, array, |value| value.try_into().map_or(f64::NAN, |integer| integer as f64));
    }
    with_integers!(array, (), |array| convert(slots, array));
}

fn fill_parsed<'a>(
    slots: impl Iterator<Item = &'a mut f64>,
    array: &dyn Array,
) -> Result<(), usize> {
    let mut text = Vec::new();
    for (row, slot) in slots.enumerate().take(array.len()) {
        text.clear();
        push_text(array, row, &mut text);
        *slot = parse_number(&text).ok_or(row)?;
    }
    Ok(())
}

/// Appends a cell as text: numbers in their shortest exact form, null and NaN as nothing.
/// The array must be [plain] and [writable](is_writable).
pub(crate) fn push_text(array: &dyn Array, row: usize, out: &mut Vec<u8>) {
    if array.is_null(row) {
        return;
    }
    match array.data_type() {
        DataType::Float64 => push_number(out, array.as_primitive::<Float64Type>().value(row)),
        DataType::Float32 => push_f32(out, array.as_primitive::<Float32Type>().value(row)),
        DataType::Float16 => {
            push_number(out, array.as_primitive::<Float16Type>().value(row).to_f64());
        }
        DataType::Boolean => push_display(out, array.as_boolean().value(row)),
        DataType::Date32 => push_date(out, array.as_primitive::<Date32Type>().value(row).into()),
        DataType::Date64 => {
            let milliseconds = array.as_primitive::<Date64Type>().value(row);
            push_date(out, milliseconds.div_euclid(86_400_000));
        }
        DataType::Timestamp(unit, zone) => {
            push_time(out, ticks(array, *unit, row), *unit, zone.is_some());
        }
        DataType::Time32(unit) | DataType::Time64(unit) => {
            push_time_of_day(out, clock(array, *unit, row), *unit);
        }
        DataType::Duration(unit) => push_duration(out, duration(array, *unit, row), *unit),
        data_type if data_type.is_decimal() => push_decimal(array, row, out),
        data_type if is_binary(data_type) => push_binary(out, bytes_at(array, row)),
        data_type if data_type.is_integer() => push_integer(array, row, out),
        _ => out.extend_from_slice(text_at(array, row).as_bytes()),
    }
}

/// Appends a cell as JSON. The array must be [plain] and [writable](is_writable).
pub(crate) fn push_json(array: &dyn Array, row: usize, out: &mut Vec<u8>) {
    let start = out.len();
    if array.is_null(row) || *array.data_type() == DataType::Null {
        out.extend_from_slice(b"null");
    } else if is_text(array.data_type()) {
        push_json_string(out, text_at(array, row));
    } else if array.data_type().is_temporal() || is_binary(array.data_type()) {
        let mut text = Vec::new();
        push_text(array, row, &mut text);
        push_json_string(out, &String::from_utf8_lossy(&text));
    } else {
        push_text(array, row, out);
        if matches!(&out[start..], b"" | b"inf" | b"-inf") {
            out.truncate(start);
            push_json_number(out, f64::NAN);
        }
    }
}

fn ticks(array: &dyn Array, unit: TimeUnit, row: usize) -> i64 {
    match unit {
        TimeUnit::Second => array.as_primitive::<TimestampSecondType>().value(row),
        TimeUnit::Millisecond => array.as_primitive::<TimestampMillisecondType>().value(row),
        TimeUnit::Microsecond => array.as_primitive::<TimestampMicrosecondType>().value(row),
        TimeUnit::Nanosecond => array.as_primitive::<TimestampNanosecondType>().value(row),
    }
}

fn clock(array: &dyn Array, unit: TimeUnit, row: usize) -> i64 {
    match unit {
        TimeUnit::Second => array.as_primitive::<Time32SecondType>().value(row).into(),
        TimeUnit::Millisecond => array.as_primitive::<Time32MillisecondType>().value(row).into(),
        TimeUnit::Microsecond => array.as_primitive::<Time64MicrosecondType>().value(row),
        TimeUnit::Nanosecond => array.as_primitive::<Time64NanosecondType>().value(row),
    }
}

fn duration(array: &dyn Array, unit: TimeUnit, row: usize) -> i64 {
    match unit {
        TimeUnit::Second => array.as_primitive::<DurationSecondType>().value(row),
        TimeUnit::Millisecond => array.as_primitive::<DurationMillisecondType>().value(row),
        TimeUnit::Microsecond => array.as_primitive::<DurationMicrosecondType>().value(row),
        TimeUnit::Nanosecond => array.as_primitive::<DurationNanosecondType>().value(row),
    }
}

fn push_decimal(array: &dyn Array, row: usize, out: &mut Vec<u8>) {
    let text = match array.data_type() {
        DataType::Decimal32(..) => array.as_primitive::<Decimal32Type>().value_as_string(row),
        DataType::Decimal64(..) => array.as_primitive::<Decimal64Type>().value_as_string(row),
        DataType::Decimal128(..) => array.as_primitive::<Decimal128Type>().value_as_string(row),
        _ => array.as_primitive::<Decimal256Type>().value_as_string(row),
    };
    out.extend_from_slice(text.as_bytes());
}

fn bytes_at(array: &dyn Array, row: usize) -> &[u8] {
    match array.data_type() {
        DataType::Binary => array.as_binary::<i32>().value(row),
        DataType::LargeBinary => array.as_binary::<i64>().value(row),
        DataType::BinaryView => array.as_binary_view().value(row),
        _ => array.as_fixed_size_binary().value(row),
    }
}

/// Bytes as text if they are UTF-8, as older programs store text, otherwise in hexadecimal.
fn push_binary(out: &mut Vec<u8>, bytes: &[u8]) {
    if std::str::from_utf8(bytes).is_ok() {
        out.extend_from_slice(bytes);
        return;
    }
    out.extend_from_slice(b"0x");
    bytes.iter().for_each(|byte| push_display(out, format_args!("{byte:02x}")));
}

fn push_f32(out: &mut Vec<u8>, value: f32) {
    if value.is_finite() {
        out.extend_from_slice(zmij::Buffer::new().format_finite(value).as_bytes());
    } else {
        push_number(out, f64::from(value));
    }
}

fn push_integer(array: &dyn Array, row: usize, out: &mut Vec<u8>) {
    fn push<T: ArrowPrimitiveType<Native: std::fmt::Display>>(
        array: &PrimitiveArray<T>,
        row: usize,
        out: &mut Vec<u8>,
    ) {
        push_display(out, array.value(row));
    }
    with_integers!(array, (), |array| push(array, row, out));
}

fn text_at(array: &dyn Array, row: usize) -> &str {
    match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().value(row),
        DataType::LargeUtf8 => array.as_string::<i64>().value(row),
        DataType::Utf8View => array.as_string_view().value(row),
        _ => "",
    }
}

/// Appends a cell as a class name: like [`push_text`], but without the `.0` of whole numbers
/// stored as floats, which is how data frames store integers with missing values, and nothing for
/// NaN.
pub(crate) fn push_name(array: &dyn Array, row: usize, out: &mut Vec<u8>) {
    let start = out.len();
    push_text(array, row, out);
    if array.data_type().is_floating() {
        match &out[start..] {
            b"NaN" => out.truncate(start),
            text if text.ends_with(b".0") => out.truncate(out.len() - 2),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{
        BooleanArray, DictionaryArray, Float32Array, Float64Array, Int16Array, NullArray,
        StringArray, StringViewArray, UInt64Array,
    };

    use super::*;

    fn texts(
        array: impl Array + 'static,
        push: fn(&dyn Array, usize, &mut Vec<u8>),
    ) -> Vec<String> {
        let array = plain(&(Arc::new(array) as ArrayRef)).unwrap();
        assert!(is_writable(array.data_type()));
        let text = |row| {
            let mut out = Vec::new();
            push(&array, row, &mut out);
            String::from_utf8(out).unwrap()
        };
        (0..array.len()).map(text).collect()
    }

    fn numbers(array: &dyn Array) -> Result<Vec<f64>, usize> {
        let mut out = vec![7.0; array.len() * 2];
        fill_numbers(array, &mut out, 1, 2)?;
        assert!(out.iter().step_by(2).all(|untouched| untouched.to_bits() == 7f64.to_bits()));
        Ok(out.into_iter().skip(1).step_by(2).collect())
    }

    #[test]
    fn every_writable_type_becomes_text_and_json() {
        let floats =
            || Float64Array::from(vec![Some(0.1), None, Some(f64::NAN), Some(f64::INFINITY)]);
        assert_eq!(texts(floats(), push_text), ["0.1", "", "", "inf"]);
        assert_eq!(texts(floats(), push_json), ["0.1", "null", "null", "null"]);
        assert_eq!(texts(Float32Array::from(vec![0.7]), push_text), ["0.7"]);
        assert_eq!(texts(Int16Array::from(vec![Some(-3), None]), push_json), ["-3", "null"]);
        assert_eq!(texts(UInt64Array::from(vec![u64::MAX]), push_text), ["18446744073709551615"]);
        assert_eq!(texts(BooleanArray::from(vec![true]), push_json), ["true"]);
        assert_eq!(texts(StringViewArray::from(vec!["a\"b"]), push_json), [r#""a\"b""#]);
        assert_eq!(texts(NullArray::new(1), push_json), ["null"]);
        let dictionary: DictionaryArray<Int8Type> =
            [Some("x"), None, Some("x")].into_iter().collect();
        assert_eq!(texts(dictionary, push_text), ["x", "", "x"]);
    }

    #[test]
    fn whole_floats_are_names_without_a_fraction() {
        let labels = Float64Array::from(vec![Some(1.0), None, Some(0.5), Some(f64::NAN)]);
        assert_eq!(texts(labels, push_name), ["1", "", "0.5", ""]);
    }

    #[test]
    fn numbers_come_from_floats_integers_and_text() {
        assert_eq!(numbers(&Float32Array::from(vec![0.5])), Ok(vec![0.5]));
        assert_eq!(numbers(&Int16Array::from(vec![1, 0])), Ok(vec![1.0, 0.0]));
        assert_eq!(numbers(&StringArray::from(vec!["0.25", " 1 "])), Ok(vec![0.25, 1.0]));
        assert_eq!(numbers(&StringArray::from(vec!["0.25", "x"])), Err(1));
        assert!(numbers(&Float64Array::from(vec![None, Some(1.0)])).unwrap()[0].is_nan());
        assert!(numbers(&NullArray::new(1)).unwrap()[0].is_nan());
    }
}
