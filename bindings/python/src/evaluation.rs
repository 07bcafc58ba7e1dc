//! Scores of any probabilities, and all methods beside each other.

use consilience::evaluation::compare::{
    CompareSettings, GivenPredictions, Protocol, TestSize, compare_with, named_methods,
    quick_methods, splits as divide,
};
use consilience::evaluation::{Predictions, Weighting};
use consilience::{ClassPrior, MethodConfig};
use numpy::{PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use serde_json::json;

use crate::data::{
    Kind, Labels, Values, input_format, label_slice, outputs, prior_choice, schema, slice,
};
use crate::errors::{ConsilienceError, raise};
use crate::progress::watched;

/// Scores overall, then of every class, as JSON. Without a class prior every item counts alike.
#[pyfunction]
#[pyo3(signature = (probabilities, labels, class_prior=None))]
#[allow(clippy::needless_pass_by_value, reason = "extracted arguments are owned")]
pub(crate) fn score(
    py: Python<'_>,
    probabilities: PyReadonlyArray2<'_, f64>,
    labels: Labels<'_>,
    class_prior: Option<Vec<f64>>,
) -> PyResult<String> {
    let n_classes = probabilities.shape()[1];
    let labels = label_slice(&labels, probabilities.shape()[0])?;
    let class = |label: &i64| usize::try_from(*label).ok().filter(|label| *label < n_classes);
    let labels: Option<Vec<usize>> = labels.iter().map(class).collect();
    let labels =
        labels.ok_or_else(|| ConsilienceError::new_err("a label is none of the classes"))?;
    let (prior, weighting) = match class_prior {
        None => (ClassPrior::uniform(n_classes), Weighting::Items),
        Some(given) => {
            (ClassPrior::new(&given).map_err(|error| raise(&error))?, Weighting::ClassPrior)
        }
    };
    let probabilities = probabilities.as_slice()?;
    let predictions = Predictions { name: String::new(), probabilities: probabilities.to_vec() };
    let scores =
        py.detach(|| consilience::evaluation::score(&predictions, &labels, &prior, weighting));
    Ok(json!(scores.map_err(|error| raise(&error))?).to_string())
}

/// Methods on the same items, as JSON. `folds` are (folds, repeats), `splits`, if given, (splits,
/// share of test items).
#[pyfunction]
#[pyo3(signature = (
    values, labels, classifiers, classes, kind, floor, methods, class_prior, folds, splits,
    at_mode, score_items, seed, progress=None, given=Vec::new()
))]
#[allow(clippy::too_many_arguments, reason = "called by one place of the package")]
#[allow(clippy::needless_pass_by_value, reason = "extracted arguments are owned")]
pub(crate) fn compare(
    py: Python<'_>,
    values: Values<'_>,
    labels: Labels<'_>,
    classifiers: Vec<String>,
    classes: Vec<String>,
    kind: Kind,
    floor: f64,
    methods: Option<Vec<String>>,
    class_prior: &str,
    folds: (usize, usize),
    splits: Option<(usize, f64)>,
    at_mode: bool,
    score_items: bool,
    seed: u64,
    progress: Option<Bound<'_, PyAny>>,
    given: Vec<(String, Vec<Given<'_>>, f64, f64)>,
) -> PyResult<String> {
    let (schema, input_format) = (schema(classifiers, classes)?, input_format(&kind, floor)?);
    let values = slice(&values, &schema)?;
    let labels = label_slice(&labels, values.len() / schema.width())?;
    let settings = settings(folds, splits, class_prior, score_items, seed)?;
    let adapt = |config: &MethodConfig| {
        let config = config.with_seed(seed);
        if at_mode { config.at_mode() } else { config }
    };
    let candidates = match methods {
        None => {
            let n_labelled = labels.iter().filter(|label| **label >= 0).count();
            quick_methods(&schema, n_labelled, adapt)
        }
        Some(names) => named_methods(&schema, &names, adapt).map_err(|error| raise(&error))?,
    };
    let given: Vec<GivenPredictions> =
        given.into_iter().map(predictions).collect::<PyResult<_>>()?;
    let comparison = watched(py, progress.as_ref(), |progress| {
        let outputs = outputs(&schema, input_format, values, Some(labels))?;
        compare_with(&outputs, &candidates, &given, &settings, progress)
    })?;
    Ok(json!(comparison).to_string())
}

/// Predictions for the test items of a split, or the message of an error.
#[derive(FromPyObject)]
pub(crate) enum Given<'py> {
    Probabilities(PyReadonlyArray2<'py, f64>),
    Failure(String),
}

fn predictions(
    (name, splits, fit_seconds, fuse_seconds): (String, Vec<Given<'_>>, f64, f64),
) -> PyResult<GivenPredictions> {
    let split = |own: Given<'_>| match own {
        Given::Probabilities(own) => Ok(Ok(own.as_slice()?.to_vec())),
        Given::Failure(message) => Ok(Err(message)),
    };
    let splits = splits.into_iter().map(split).collect::<PyResult<_>>()?;
    Ok(GivenPredictions { name, splits, fit_seconds, fuse_seconds })
}

fn settings(
    folds: (usize, usize),
    splits: Option<(usize, f64)>,
    class_prior: &str,
    score_items: bool,
    seed: u64,
) -> PyResult<CompareSettings> {
    Ok(CompareSettings {
        protocol: match splits {
            None => Protocol::Folds { folds: folds.0, repeats: folds.1 },
            Some((splits, share)) => Protocol::Splits { splits, test: TestSize::Share(share) },
        },
        class_prior: prior_choice(Some(class_prior))?.unwrap_or_default(),
        weighting: if score_items { Weighting::Items } else { Weighting::ClassPrior },
        seed,
    })
}

/// The training and test items of every split of a comparison, as places among the labelled items.
#[pyfunction]
#[allow(clippy::type_complexity, reason = "pairs of lists")]
#[allow(clippy::needless_pass_by_value, reason = "extracted arguments are owned")]
pub(crate) fn compare_splits(
    labels: Labels<'_>,
    n_classes: usize,
    folds: (usize, usize),
    splits: Option<(usize, f64)>,
    seed: u64,
) -> PyResult<Vec<(Vec<usize>, Vec<usize>)>> {
    let settings = settings(folds, splits, "\"empirical\"", true, seed)?;
    let classes = (0..n_classes).map(|j| j.to_string()).collect();
    let schema = schema(vec!["c1".into()], classes)?;
    let labels = labels.as_slice()?;
    let values = vec![1.0 / n_classes as f64; labels.len() * n_classes];
    let format = input_format(&("probabilities".into(), 1e-6), consilience::DEFAULT_FLOOR)?;
    let outputs = outputs(&schema, format, &values, Some(labels)).map_err(|error| raise(&error))?;
    divide(&outputs, &settings).map_err(|error| raise(&error))
}
