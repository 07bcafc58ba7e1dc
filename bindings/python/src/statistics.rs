//! Statistics of training items that can be merged.

use consilience::model::Statistics as Inner;
use consilience::{FitOptions, MethodConfig};
use pyo3::prelude::*;

use crate::data::{
    ItemWeights, Kind, Labels, Values, input_format, label_slice, outputs, prior_choice, schema,
    slice,
};
use crate::errors::{bad_settings, raise};
use crate::model::Model;
use crate::progress::watched;

/// Statistics of training items: what some methods need of them, in parts that can be merged.
#[pyclass(module = "consilience._core", eq)]
#[derive(Clone, PartialEq)]
pub(crate) struct Statistics {
    inner: Inner,
}

#[pymethods]
impl Statistics {
    /// Of no items.
    #[new]
    fn new(classifiers: Vec<String>, classes: Vec<String>) -> PyResult<Self> {
        Ok(Self { inner: Inner::new(schema(classifiers, classes)?) })
    }

    /// Adds items; a label below 0 is an item without one. Items of weight 0 do not count.
    #[pyo3(signature = (values, labels, kind, floor, weights=None))]
    #[allow(clippy::needless_pass_by_value, reason = "extracted arguments are owned")]
    fn add(
        &mut self,
        py: Python<'_>,
        values: Values<'_>,
        labels: Labels<'_>,
        kind: Kind,
        floor: f64,
        weights: Option<ItemWeights<'_>>,
    ) -> PyResult<()> {
        let schema = self.inner.schema();
        let input_format = input_format(&kind, floor)?;
        let values = slice(&values, schema)?;
        let labels = label_slice(&labels, values.len() / schema.width())?;
        let weights = weights.as_ref().map(|weights| weights.as_slice()).transpose()?;
        let new = watched(py, None, |_| {
            let outputs = outputs(schema, input_format, values, Some(labels))?;
            match weights {
                Some(weights) if weights.iter().all(|weight| *weight == 0.0) => {
                    Ok(Inner::new(schema.clone()))
                }
                Some(weights) => Inner::of(&outputs.with_weights(weights)?),
                None => Inner::of(&outputs),
            }
        })?;
        self.inner.merge(&new).map_err(|error| raise(&error))
    }

    /// Adds the statistics of other items.
    fn merge(&mut self, other: &Self) -> PyResult<()> {
        self.inner.merge(&other.inner).map_err(|error| raise(&error))
    }

    /// A copy.
    fn copy(&self) -> Self {
        self.clone()
    }

    /// Number of items.
    #[getter]
    fn n_items(&self) -> u64 {
        self.inner.n_items()
    }

    /// Number of items without a label.
    #[getter]
    fn n_unlabelled(&self) -> u64 {
        self.inner.n_unlabelled()
    }

    /// Labelled items of every class.
    #[getter]
    fn class_counts(&self) -> Vec<u64> {
        self.inner.class_counts().to_vec()
    }

    /// Reads statistics from JSON.
    #[staticmethod]
    fn from_json(text: &str) -> PyResult<Self> {
        Ok(Self { inner: Inner::from_json(text).map_err(|error| raise(&error))? })
    }

    /// The statistics as JSON.
    fn to_json(&self) -> String {
        self.inner.to_json()
    }

    /// A model fitted from the statistics; `options` are the method's options as JSON.
    #[pyo3(signature = (method, options, class_prior, floor, kind, progress=None))]
    #[allow(clippy::too_many_arguments, reason = "called by one place of the package")]
    #[allow(clippy::needless_pass_by_value, reason = "extracted arguments are owned")]
    fn fit(
        &self,
        py: Python<'_>,
        method: &str,
        options: &str,
        class_prior: &str,
        floor: f64,
        kind: Kind,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Model> {
        let options = serde_json::from_str(options).map_err(|error| bad_settings(&error))?;
        let method = MethodConfig::with_options(method, &options).map_err(|error| raise(&error))?;
        let class_prior = prior_choice(Some(class_prior))?.unwrap_or_default();
        let values = input_format(&kind, floor)?.kind;
        watched(py, progress.as_ref(), |progress| {
            let options = FitOptions { class_prior, floor, values, progress };
            consilience::Model::fit_statistics(method, &self.inner, &options)
        })
        .map(Model::from)
    }
}
