//! Arrays of Python as outputs of the library.

use std::sync::Arc;

use consilience::{
    DEFAULT_FLOOR, Intake, Outputs, OutputsBuilder, PriorChoice, Result, Schema, ValueKind, Watch,
};
use numpy::{PyReadonlyArray1, PyReadonlyArray3, PyUntypedArrayMethods};
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::errors::{ConsilienceError, bad_settings, raise};

/// Items × classifiers × classes.
pub(crate) type Values<'py> = PyReadonlyArray3<'py, f64>;

/// Classes by their place.
pub(crate) type Labels<'py> = PyReadonlyArray1<'py, i64>;

/// What raw values are, and what small ones are raised to.
pub(crate) fn intake(kind: &str, floor: f64) -> PyResult<Intake> {
    let kind =
        serde_json::from_value::<ValueKind>(kind.into()).map_err(|error| bad_settings(&error))?;
    Ok(Intake { kind, floor })
}

/// The class prior asked for, in its JSON form.
pub(crate) fn prior_choice(json: Option<&str>) -> PyResult<Option<PriorChoice>> {
    json.map(serde_json::from_str).transpose().map_err(|error| bad_settings(&error))
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
    intake: Intake,
    (values, labels): (&[f64], &[i64]),
    weights: Option<&[f64]>,
) -> Result<Outputs> {
    let outputs = outputs(schema, intake, values, Some(labels))?;
    match weights {
        Some(weights) => outputs.with_weights(weights),
        None => Ok(outputs),
    }
}

/// Checked outputs with labels where they are known (negative: unknown).
pub(crate) fn outputs(
    schema: &Arc<Schema>,
    intake: Intake,
    values: &[f64],
    labels: Option<&[i64]>,
) -> Result<Outputs> {
    let mut builder = OutputsBuilder::new(Arc::clone(schema), intake)?;
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

/// Checks items and works on them in pieces that stay in the cache, spread over threads; `work`
/// writes `n_classes` numbers and an error an item.
pub(crate) fn in_pieces(
    (schema, intake, values): (&Arc<Schema>, Intake, &[f64]),
    items_per_piece: usize,
    (rows, errors): (&mut [f64], &mut [f64]),
    watch: &dyn Watch,
    work: impl Fn(&Outputs, (&mut [f64], &mut [f64])) -> Result<()> + Sync,
) -> Result<()> {
    let pieces = values
        .par_chunks(items_per_piece * schema.width())
        .zip(rows.par_chunks_mut(items_per_piece * schema.n_classes()))
        .zip(errors.par_chunks_mut(items_per_piece))
        .enumerate();
    // Every thread checks into memory of its own, piece after piece.
    let builder = || OutputsBuilder::new(Arc::clone(schema), intake);
    pieces.try_for_each_init(builder, |builder, (piece, ((values, rows), errors))| {
        watch.check()?;
        let builder = builder.as_mut().map_err(|error| error.clone())?;
        builder.clear();
        builder
            .push_all(values, |_| None)
            .map_err(|error| at_item(error, piece * items_per_piece))?;
        work(builder.outputs(), (rows, errors))
    })
}

/// The same error, its item counted from the beginning of the whole.
fn at_item(error: consilience::Error, start: usize) -> consilience::Error {
    match error {
        consilience::Error::InvalidOutput { item, classifier, class, problem } => {
            consilience::Error::InvalidOutput { item: item + start, classifier, class, problem }
        }
        other => other,
    }
}

/// The floor that a model was fitted with.
pub(crate) fn floor_of(model: &consilience::Model) -> f64 {
    model.settings().map_or(DEFAULT_FLOOR, |settings| settings.floor)
}

/// Names of classifiers and classes.
pub(crate) fn schema(classifiers: Vec<String>, classes: Vec<String>) -> PyResult<Arc<Schema>> {
    Ok(Arc::new(Schema::new(classifiers, classes).map_err(|error| raise(&error))?))
}
