//! Scores of any probabilities.

use consilience::ClassPrior;
use consilience::evaluation::{Predictions, Weighting};
use numpy::{PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use serde_json::json;

use crate::data::{Labels, label_slice};
use crate::errors::{ConsilienceError, raise};

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
