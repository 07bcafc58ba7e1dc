//! A fitted model.

use consilience::evaluation::{
    BootstrapSettings, EvaluationSettings, GainSettings, PrevalenceTarget, Weighting, evaluate,
    gain, gain_on_new_items, prevalence,
};
use consilience::export::{ExportOptions, Precision};
use consilience::methods::shares::EvidenceCovariance;
use consilience::methods::{Fusion, Method, Rows, Source, explain, fuse_rows, ln_density_rows};
use consilience::model::FusionRule;
use consilience::{
    ClassPrior, FitOptions, FuseOptions, InputFormat, MethodConfig, PriorChoice, Progress,
};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArray3, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyType};
use serde_json::json;

use crate::data::{
    ItemWeights, Kind, Labels, Values, floor_of, input_format, label_slice, outputs, prior_choice,
    room, schema, slice, training,
};
use crate::errors::{bad_settings, raise};
use crate::progress::{at_once, watched};

/// The names of a method's options.
#[pyfunction]
pub(crate) fn method_options(method: &str) -> PyResult<Vec<&'static str>> {
    let config: MethodConfig = method.parse().map_err(|error| raise(&error))?;
    Ok(config.descriptions().iter().map(|option| option.name).collect())
}

/// Whether a method with some options as JSON needs labelled items.
#[pyfunction]
pub(crate) fn needs_labels(method: &str, options: &str) -> PyResult<bool> {
    let options = serde_json::from_str(options).map_err(|error| bad_settings(&error))?;
    let config = MethodConfig::with_options(method, &options).map_err(|error| raise(&error))?;
    Ok(config.needs_labels())
}

/// A fitted model: what `fit` of the command line writes and `fuse` reads.
#[pyclass(module = "consilience._core", frozen)]
pub(crate) struct Model {
    pub(crate) model: consilience::Model,
}

impl From<consilience::Model> for Model {
    fn from(model: consilience::Model) -> Self {
        Self { model }
    }
}

/// This part of a thread's task is computed at once: 256 items of most methods, four of `correlated` with two sources,
/// none of `correlated` with `structure="full"`.
const FEW: usize = 16;

type Fusing<'py> = PyResult<(Bound<'py, PyArray2<f64>>, Option<Bound<'py, PyArray1<f64>>>)>;

#[pymethods]
impl Model {
    /// Reads the text of a model file.
    #[new]
    fn new(py: Python<'_>, text: &str) -> PyResult<Self> {
        Self::from_json(py, text)
    }

    /// Fits a model; `options` are the method's options as JSON.
    #[staticmethod]
    #[pyo3(signature = (method, options, class_prior, floor, values, labels, classifiers, classes, kind, weights=None, progress=None))]
    #[allow(clippy::too_many_arguments, reason = "called by one place of the package")]
    #[allow(clippy::needless_pass_by_value, reason = "extracted arguments are owned")]
    fn fit(
        py: Python<'_>,
        method: &str,
        options: &str,
        class_prior: &str,
        floor: f64,
        values: Values<'_>,
        labels: Labels<'_>,
        classifiers: Vec<String>,
        classes: Vec<String>,
        kind: Kind,
        weights: Option<ItemWeights<'_>>,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let options = serde_json::from_str(options).map_err(|error| bad_settings(&error))?;
        let method = MethodConfig::with_options(method, &options).map_err(|error| raise(&error))?;
        let class_prior = prior_choice(Some(class_prior))?.unwrap_or_default();
        let schema = schema(classifiers, classes)?;
        let input_format = input_format(&kind, floor)?;
        let values = slice(&values, &schema)?;
        let labels = label_slice(&labels, values.len() / schema.width())?;
        let weights = weights.as_ref().map(|weights| weights.as_slice()).transpose()?;
        let model = watched(py, progress.as_ref(), |progress| {
            let outputs = training(&schema, input_format, (values, labels), weights)?;
            consilience::Model::fit_with(
                method,
                &outputs,
                &FitOptions { class_prior, floor, values: input_format.kind, progress },
            )
        })?;
        Ok(Self { model })
    }

    /// The model of old and new items together.
    #[pyo3(signature = (values, labels, kind, weights=None, progress=None))]
    #[allow(clippy::needless_pass_by_value, reason = "extracted arguments are owned")]
    fn update(
        &self,
        py: Python<'_>,
        values: Values<'_>,
        labels: Labels<'_>,
        kind: Kind,
        weights: Option<ItemWeights<'_>>,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let schema = self.model.schema();
        let (input_format, values) = self.raw(&values, &kind)?;
        let labels = label_slice(&labels, values.len() / schema.width())?;
        let weights = weights.as_ref().map(|weights| weights.as_slice()).transpose()?;
        let model = watched(py, progress.as_ref(), |progress| {
            self.model.update(&training(schema, input_format, (values, labels), weights)?, progress)
        })?;
        Ok(Self { model })
    }

    /// Reads the text of a model file.
    #[staticmethod]
    fn from_json(py: Python<'_>, text: &str) -> PyResult<Self> {
        let model = py.detach(|| consilience::Model::from_json(text));
        Ok(Self { model: model.map_err(|error| raise(&error))? })
    }

    /// The text of the model file; `estimator` is JSON that the file keeps.
    #[pyo3(signature = (estimator=None))]
    fn to_json(&self, estimator: Option<&str>) -> PyResult<String> {
        let Some(estimator) = estimator else { return Ok(self.model.to_json()) };
        let estimator = serde_json::from_str(estimator).map_err(|error| bad_settings(&error))?;
        Ok(self.model.clone().with_estimator(estimator).to_json())
    }

    /// What the model says of its classifiers, as JSON.
    fn insight(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| insight(&self.model)).map_err(|error| raise(&error))
    }

    /// Fused probabilities (n × J) and, if wanted, their errors (n).
    #[pyo3(signature = (values, kind, class_prior=None, predictive=false, errors=true))]
    #[allow(clippy::needless_pass_by_value, reason = "extracted arguments are owned")]
    fn fuse<'py>(
        &self,
        py: Python<'py>,
        values: Values<'_>,
        kind: Kind,
        class_prior: Option<&str>,
        predictive: bool,
        errors: bool,
    ) -> Fusing<'py> {
        let rule = self.rule(predictive)?;
        let prior = self.prior(py, &values, &kind, class_prior, predictive)?;
        self.by_item(py, rule.fusion(), (&values, &kind), errors, |source, rows, progress| {
            fuse_rows(rule.fusion(), source, &prior, rows, progress)
        })
    }

    /// Log densities of every class (n × J) and their errors (n).
    #[pyo3(signature = (values, kind, predictive=false))]
    #[allow(clippy::needless_pass_by_value, reason = "extracted arguments are owned")]
    fn density<'py>(
        &self,
        py: Python<'py>,
        values: Values<'_>,
        kind: Kind,
        predictive: bool,
    ) -> Fusing<'py> {
        let rule = self.rule(predictive)?;
        self.by_item(py, rule.fusion(), (&values, &kind), true, |source, rows, progress| {
            ln_density_rows(rule.fusion(), source, rows, progress)
        })
    }

    /// The evidence that each classifier adds, n × K × J.
    #[pyo3(signature = (values, kind, class_prior=None, predictive=false))]
    #[allow(clippy::needless_pass_by_value, reason = "extracted arguments are owned")]
    fn explain<'py>(
        &self,
        py: Python<'py>,
        values: Values<'_>,
        kind: Kind,
        class_prior: Option<&str>,
        predictive: bool,
    ) -> PyResult<Bound<'py, PyArray3<f64>>> {
        let schema = self.model.schema();
        let rule = self.rule(predictive)?;
        let prior = self.prior(py, &values, &kind, class_prior, predictive)?;
        let (input_format, values) = self.raw(&values, &kind)?;
        let evidence = watched(py, None, |progress| {
            let outputs = outputs(schema, input_format, values, None)?;
            explain(rule.fusion(), &outputs, &prior, progress)
        })?;
        let shape = [values.len() / schema.width(), schema.n_classifiers(), schema.n_classes()];
        evidence.into_pyarray(py).reshape(shape)
    }

    /// Scores on labelled items, as the JSON that `evaluate --format json` prints.
    #[pyo3(signature = (values, labels, kind, class_prior, predictive, score_items, bootstrap, seed))]
    #[allow(clippy::too_many_arguments, reason = "called by one place of the package")]
    #[allow(clippy::needless_pass_by_value, reason = "extracted arguments are owned")]
    fn evaluate(
        &self,
        py: Python<'_>,
        values: Values<'_>,
        labels: Labels<'_>,
        kind: Kind,
        class_prior: Option<&str>,
        predictive: bool,
        score_items: bool,
        bootstrap: usize,
        seed: u64,
    ) -> PyResult<String> {
        let schema = self.model.schema();
        let rule = self.rule(predictive)?;
        let prior = self.prior(py, &values, &kind, class_prior, predictive)?;
        let choice = prior_choice(class_prior)?;
        let choice = choice.as_ref().or_else(|| self.model.chosen_prior());
        let weighting = Weighting::ClassPrior.under(choice);
        let (input_format, values) = self.raw(&values, &kind)?;
        let labels = label_slice(&labels, values.len() / schema.width())?;
        let settings = EvaluationSettings {
            weighting: if score_items { Weighting::Items } else { weighting },
            bootstrap: BootstrapSettings { replicates: bootstrap, seed },
        };
        let (evaluation, gain, repeats_training) = watched(py, None, |progress| {
            let outputs = outputs(schema, input_format, values, Some(labels))?;
            let repeats_training = self.model.is_fitted_on(&outputs)?;
            let evaluation =
                evaluate(&self.model, rule.fusion(), &outputs, &prior, &settings, progress)?;
            let gain = match self.model.method() {
                // On the items of the fit, methods with many parameters look best.
                Method::Auto(_) if !repeats_training => {
                    Some(gain_on_new_items(&self.model, &outputs, &prior, settings.weighting)?)
                }
                _ => None,
            };
            Ok((evaluation, gain, repeats_training))
        })?;
        let mut value = json!(evaluation);
        value["repeats_training"] = json!(repeats_training);
        if let Some(gain) = gain {
            value["gain"] = json!(gain);
        }
        Ok(value.to_string())
    }

    /// The share of every class, as the JSON that `prevalence --format json` prints; a label below 0
    /// is an item without one.
    #[pyo3(signature = (values, labels, kind, class_prior, predictive, items))]
    #[allow(clippy::too_many_arguments, reason = "called by one place of the package")]
    #[allow(clippy::needless_pass_by_value, reason = "extracted arguments are owned")]
    fn prevalence(
        &self,
        py: Python<'_>,
        values: Values<'_>,
        labels: Labels<'_>,
        kind: Kind,
        class_prior: Option<&str>,
        predictive: bool,
        items: bool,
    ) -> PyResult<String> {
        let schema = self.model.schema();
        let rule = self.rule(predictive)?;
        let prior = self.prior(py, &values, &kind, class_prior, predictive)?;
        let (input_format, values) = self.raw(&values, &kind)?;
        let labels = label_slice(&labels, values.len() / schema.width())?;
        let target = if items { PrevalenceTarget::Items } else { PrevalenceTarget::Population };
        let found = watched(py, None, |progress| {
            let outputs = outputs(schema, input_format, values, Some(labels))?;
            prevalence(&self.model, rule.fusion(), &outputs, &prior, target, progress)
        })?;
        let mut value = json!(found);
        value["note"] = found.note().into();
        value["repeats_training"] = found.repeats_training().into();
        Ok(value.to_string())
    }

    /// What fusing with `auto` is worth beside simpler ways, in cross-validation, as JSON.
    #[pyo3(signature = (values, labels, kind, seed, progress=None))]
    #[allow(clippy::needless_pass_by_value, reason = "extracted arguments are owned")]
    fn worth(
        &self,
        py: Python<'_>,
        values: Values<'_>,
        labels: Labels<'_>,
        kind: Kind,
        seed: u64,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<String> {
        let schema = self.model.schema();
        let (input_format, values) = self.raw(&values, &kind)?;
        let labels = label_slice(&labels, values.len() / schema.width())?;
        let settings = GainSettings { seed, ..GainSettings::default() };
        let gain = watched(py, progress.as_ref(), |progress| {
            let outputs = outputs(schema, input_format, values, Some(labels))?;
            gain(&self.model, &outputs, &settings, progress)
        })?;
        Ok(json!(gain).to_string())
    }

    /// Items drawn from the model, class by class: values and labels.
    #[allow(clippy::type_complexity, reason = "a pair of arrays")]
    fn simulate<'py>(
        &self,
        py: Python<'py>,
        items_per_class: usize,
        seed: u64,
    ) -> PyResult<(Bound<'py, PyArray3<f64>>, Bound<'py, PyArray1<i64>>)> {
        let truth = self.model.truth().map_err(|error| raise(&error))?;
        crate::simulation::drawn(py, &truth, items_per_class, seed)
    }

    /// The model as an ONNX file.
    #[pyo3(signature = (kind, float32=false))]
    #[allow(clippy::needless_pass_by_value, reason = "extracted arguments are owned")]
    fn to_onnx<'py>(
        &self,
        py: Python<'py>,
        kind: Kind,
        float32: bool,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let precision = if float32 { Precision::Single } else { Precision::Double };
        let options = export_options(&kind)?;
        let bytes = py.detach(|| self.model.to_onnx(precision, &options));
        Ok(PyBytes::new(py, &bytes.map_err(|error| raise(&error))?))
    }

    /// The model as Python code without dependencies.
    #[allow(clippy::needless_pass_by_value, reason = "extracted arguments are owned")]
    fn to_python(&self, kind: Kind) -> PyResult<String> {
        self.model.to_python(&export_options(&kind)?).map_err(|error| raise(&error))
    }

    /// The type itself makes the model again: skops rebuilds nothing else.
    fn __reduce__(slf: &Bound<'_, Self>) -> (Py<PyType>, (String,)) {
        (slf.get_type().unbind(), (slf.get().model.to_json(),))
    }

    fn __repr__(&self) -> String {
        let schema = self.model.schema();
        format!(
            "<model `{}` of {} classifiers and {} classes>",
            self.model.method_name(),
            schema.n_classifiers(),
            schema.n_classes()
        )
    }
}

/// What an export takes.
fn export_options(kind: &Kind) -> PyResult<ExportOptions> {
    let InputFormat { kind, sum_tolerance, .. } = input_format(kind, 0.0)?;
    Ok(ExportOptions { kind, sum_tolerance })
}

impl Model {
    /// How numbers are read, and the numbers.
    pub(crate) fn raw<'a>(
        &self,
        values: &'a Values<'_>,
        kind: &Kind,
    ) -> PyResult<(InputFormat, &'a [f64])> {
        Ok((input_format(kind, floor_of(&self.model))?, slice(values, self.model.schema())?))
    }

    pub(crate) fn rule(&self, predictive: bool) -> PyResult<FusionRule<'_>> {
        self.model.rule(predictive).map_err(|error| raise(&error))
    }

    /// The class prior that was asked for; `estimate` is that of these items.
    pub(crate) fn prior(
        &self,
        py: Python<'_>,
        values: &Values<'_>,
        kind: &Kind,
        class_prior: Option<&str>,
        predictive: bool,
    ) -> PyResult<ClassPrior> {
        let class_prior = prior_choice(class_prior)?;
        if class_prior != Some(PriorChoice::Estimate) {
            return self.model.prior(class_prior.as_ref()).map_err(|error| raise(&error));
        }
        let (input_format, values) = self.raw(values, kind)?;
        watched(py, None, |progress| {
            let outputs = outputs(self.model.schema(), input_format, values, None)?;
            self.model.prior_for(&outputs, &FuseOptions { class_prior, predictive, progress })
        })
    }

    /// Results of `work` for every item; a few items are computed on this thread, because starting another one takes
    /// longer than they do.
    fn by_item<'py>(
        &self,
        py: Python<'py>,
        fusion: &dyn Fusion,
        (values, kind): (&Values<'_>, &Kind),
        errors_wanted: bool,
        work: impl FnOnce(Source<'_>, Rows<'_>, &dyn Progress) -> consilience::Result<()> + Send,
    ) -> Fusing<'py> {
        let schema = self.model.schema();
        let (input_format, values) = self.raw(values, kind)?;
        let n = values.len() / schema.width();
        let rows: Bound<'_, PyArray2<f64>> = room(py, (n, schema.n_classes()))?;
        let errors: Option<Bound<'_, PyArray1<f64>>> =
            errors_wanted.then(|| room(py, n)).transpose()?;
        let (mut writing, mut marking) =
            (rows.readwrite(), errors.as_ref().map(PyArrayMethods::readwrite));
        let errors_room = marking.as_mut().map(|errors| errors.as_slice_mut()).transpose()?;
        let results = Rows { values: writing.as_slice_mut()?, errors: errors_room };
        let source = Source::Raw { schema, input_format, values };
        if n <= fusion.items_per_task() / FEW {
            at_once(py, |progress| work(source, results, progress))?;
        } else {
            watched(py, None, |progress| work(source, results, progress))?;
        }
        drop((writing, marking));
        Ok((rows, errors))
    }
}

/// What the model says of its classifiers, as JSON.
fn insight(model: &consilience::Model) -> consilience::Result<String> {
    let margins = model.margins()?;
    let strengths =
        margins.as_ref().map(|margins| margins.strengths(model.class_prior())).transpose();
    let correlations = model.implied_correlations()?.map(|pairs| {
        let pair = |pair: consilience::methods::PairInsight| {
            json!({ "between": pair.between, "correlation": pair.correlation, "mean": pair.mean })
        };
        pairs.into_iter().map(pair).collect::<Vec<_>>()
    });
    Ok(json!({
        "method": model.method_name(),
        "alpha": margins.map(|margins| margins.alpha().clone()),
        "correlations": correlations,
        "effective_number": model.effective_number()?,
        "shares": model.shares(),
        "influences": model.influences()?,
        "copies": model.copies(),
        "evidence_correlation": model.evidence_covariance().map(EvidenceCovariance::correlations),
        "intervals": model.insight_intervals(),
        "strengths": strengths?,
    })
    .to_string())
}
