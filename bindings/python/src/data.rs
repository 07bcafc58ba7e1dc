//! Arrays of Python as outputs of the library.

use std::sync::Arc;

use consilience::{Error, InputFormat, Outputs, OutputsBuilder, PriorChoice, Result, Schema};
use numpy::{PyReadonlyArray1, PyReadonlyArray3, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::errors::{ConsilienceError, raise};

/// Items × classifiers × classes.
pub(crate) type Values<'py> = PyReadonlyArray3<'py, f64>;

/// Classes by their place.
pub(crate) type Labels<'py> = PyReadonlyArray1<'py, i64>;

/// The kind of the raw values, and how much their sums may differ from 1.
pub(crate) type Kind = (String, f64);

/// How raw values are read.
pub(crate) fn input_format((kind, sum_tolerance): &Kind, floor: f64) -> PyResult<InputFormat> {
    let kind = kind.parse().map_err(|error| raise(&error))?;
    Ok(InputFormat { kind, floor, sum_tolerance: *sum_tolerance })
}

/// The class prior from its JSON form.
pub(crate) fn prior_choice(json: Option<&str>) -> PyResult<Option<PriorChoice>> {
    let known = "empirical, uniform, estimate or one weight per class";
    let unknown = |json: &str| Error::parameter("class_prior", known, json.trim_matches('"'));
    let read = |json| serde_json::from_str(json).map_err(|_| raise(&unknown(json)));
    json.map(read).transpose()
}

/// Contiguous memory is read where it is.
pub(crate) fn slice<'a>(values: &'a Values<'_>, schema: &Schema) -> PyResult<&'a [f64]> {
    let expected = (schema.n_classifiers(), schema.n_classes());
    let shape = values.shape();
    if (shape[1], shape[2]) != expected {
        return Err(ConsilienceError::new_err(format!(
            "expected an array of items × {} classifiers × {} classes, got {} × {} × {}",
            expected.0, expected.1, shape[0], shape[1], shape[2]
        )));
    }
    Ok(values.as_slice()?)
}

/// What every item counts.
pub(crate) type ItemWeights<'py> = PyReadonlyArray1<'py, f64>;

/// Checked outputs with labels, each counting as often as its weight says, or once.
pub(crate) fn training(
    schema: &Arc<Schema>,
    input_format: InputFormat,
    (values, labels): (&[f64], &[i64]),
    weights: Option<&[f64]>,
) -> Result<Outputs> {
    let outputs = outputs(schema, input_format, values, Some(labels))?;
    match weights {
        Some(weights) => outputs.with_weights(weights),
        None => Ok(outputs),
    }
}

/// Checked outputs with labels where they are known (negative: unknown).
pub(crate) fn outputs(
    schema: &Arc<Schema>,
    input_format: InputFormat,
    values: &[f64],
    labels: Option<&[i64]>,
) -> Result<Outputs> {
    let mut builder = OutputsBuilder::new(Arc::clone(schema), input_format)?;
    let label = |item: usize| labels.and_then(|labels| usize::try_from(labels[item]).ok());
    builder.push_all(values, label)?;
    Ok(builder.finish())
}

/// As many labels as items.
pub(crate) fn label_slice<'a>(labels: &'a Labels<'_>, n_items: usize) -> PyResult<&'a [i64]> {
    let labels = labels.as_slice()?;
    if labels.len() == n_items {
        return Ok(labels);
    }
    Err(ConsilienceError::new_err(format!(
        "numbers of items and labels do not match: expected {n_items}, found {}",
        labels.len()
    )))
}

/// Room for results that numpy leaves as it finds it: no one pays for zeros that are overwritten,
/// and large arrays come in large pages.
pub(crate) fn room<'py, T>(
    py: Python<'py>,
    shape: impl IntoPyObject<'py>,
) -> PyResult<Bound<'py, T>>
where
    T: pyo3::PyTypeCheck,
{
    Ok(py.import("numpy")?.call_method1("empty", (shape,))?.cast_into::<T>()?)
}

/// The floor that a model was fitted with.
pub(crate) fn floor_of(model: &consilience::Model) -> f64 {
    model.input_format().floor
}

/// Names of classifiers and classes.
pub(crate) fn schema(classifiers: Vec<String>, classes: Vec<String>) -> PyResult<Arc<Schema>> {
    Ok(Arc::new(Schema::new(classifiers, classes).map_err(|error| raise(&error))?))
}
