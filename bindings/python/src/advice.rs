//! Which items to label next, and which sources to drop.

use consilience::evaluation::{AdviceSettings, SourceSettings, Weighting};
use pyo3::prelude::*;
use serde_json::json;

use crate::data::{Kind, Labels, Values, label_slice, outputs};
use crate::model::Model;
use crate::progress::watched;

/// Advice as JSON, as `advise --format json` prints it, and as text. A label below 0 is an item
/// without one. `sources` are folds, tolerance, prices and whether every item counts alike; none if
/// they are not wanted.
#[pyfunction]
#[pyo3(signature = (model, values, labels, kind, class_prior, n_labels, sources, seed, progress=None))]
#[allow(clippy::too_many_arguments, reason = "called by one place of the package")]
#[allow(clippy::needless_pass_by_value, reason = "extracted arguments are owned")]
#[allow(clippy::type_complexity, reason = "plain values that cross the border")]
pub(crate) fn advise(
    py: Python<'_>,
    model: PyRef<'_, Model>,
    values: Values<'_>,
    labels: Labels<'_>,
    kind: Kind,
    class_prior: Option<&str>,
    n_labels: usize,
    sources: Option<(usize, f64, Vec<(String, f64)>, bool)>,
    seed: u64,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<(String, String)> {
    let prior = model.prior(py, &values, &kind, class_prior, false)?;
    let (input_format, values) = model.raw(&values, &kind)?;
    let model = &model.model;
    let labels = label_slice(&labels, values.len() / model.schema().width())?;
    let sources = sources.map(|(folds, tolerance, prices, score_items)| SourceSettings {
        folds,
        weighting: if score_items { Weighting::Items } else { Weighting::ClassPrior },
        tolerance,
        prices,
        seed,
    });
    let settings = AdviceSettings { labels: n_labels, sources };
    let advice = watched(py, progress.as_ref(), |progress| {
        let outputs = outputs(model.schema(), input_format, values, Some(labels))?;
        let fusion = model.fusion();
        consilience::evaluation::advise(model, fusion, &outputs, &prior, &settings, progress)
    })?;
    let mut value = json!(advice);
    value["labels"]["note"] = advice.labels.sentence().into();
    if let Some(sources) = &advice.sources {
        value["sources"]["note"] = sources.sentence().into();
    }
    Ok((value.to_string(), advice.to_string()))
}
