//! The page about a model and its sources.

use consilience_report::{Report, ReportOptions};
use pyo3::prelude::*;

use crate::data::{
    Kind, Labels, Values, floor_of, input_format, label_slice, outputs, prior_choice, slice,
};
use crate::model::Model;
use crate::progress::watched;
use crate::votes::Aggregation;

/// The report on a model and items: its JSON and its page. Negative labels are unknown.
#[pyfunction]
#[pyo3(signature = (
    model, values, labels, kind, class_prior, predictive, title, data, items, seed, progress=None
))]
#[allow(clippy::too_many_arguments, reason = "called by one place of the package")]
#[allow(clippy::needless_pass_by_value, reason = "extracted arguments are owned")]
pub(crate) fn report(
    py: Python<'_>,
    model: &Bound<'_, Model>,
    values: Values<'_>,
    labels: Labels<'_>,
    kind: Kind,
    class_prior: Option<&str>,
    predictive: bool,
    title: Option<String>,
    data: Option<String>,
    items: usize,
    seed: u64,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<(String, String)> {
    let model = &model.get().model;
    let schema = model.schema();
    let input_format = input_format(&kind, floor_of(model))?;
    let values = slice(&values, schema)?;
    let labels = label_slice(&labels, values.len() / schema.width())?;
    let class_prior = prior_choice(class_prior)?;
    let report = watched(py, progress.as_ref(), |progress| {
        let outputs = outputs(schema, input_format, values, Some(labels))?;
        let cases = items;
        let options = ReportOptions { title, data, class_prior, predictive, cases, seed, progress };
        Report::of(model, &outputs, &options)
    })?;
    Ok((report.to_json().to_string(), report.html()))
}

/// The report on aggregated votes: its JSON and its page.
#[pyfunction]
#[pyo3(signature = (result, title, data, items))]
pub(crate) fn report_of_votes(
    py: Python<'_>,
    result: &Bound<'_, Aggregation>,
    title: Option<String>,
    data: Option<String>,
    items: usize,
) -> (String, String) {
    let result = &result.get().result;
    let page = || {
        let options = ReportOptions { title, data, cases: items, ..ReportOptions::default() };
        let report = Report::of_votes(result, &options);
        (report.to_json().to_string(), report.html())
    };
    py.detach(page)
}
