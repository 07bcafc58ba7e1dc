//! Votes: labels from many sources, what they say about items, and models of the sources.

use consilience::votes::{self, HeldOut, VoteConfig, VotesBuilder, compare_votes};
use consilience::{Error, Progress, Result};
use numpy::{
    IntoPyArray, PyArray1, PyArray2, PyArray3, PyArrayMethods, PyReadonlyArray2,
    PyUntypedArrayMethods,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Map, Value, json};

use crate::errors::{bad_settings, raise};
use crate::progress::watched;

/// Votes between two looks at signals.
const STEP: usize = 1 << 16;

/// Probabilities of all classes, items × classes, and the warnings as JSON.
type Predicted<'py> = (Bound<'py, PyArray2<f64>>, String);

/// A checked table of votes.
#[pyclass(module = "consilience._core", frozen)]
pub(crate) struct Votes {
    votes: votes::Votes,
}

#[pymethods]
impl Votes {
    /// `codes` has one row per vote: the places of its item, source and label in the lists of
    /// names. A label below 0 is no vote, unless `probabilities` has those of all classes.
    #[new]
    #[pyo3(signature = (items, sources, labels, codes, probabilities, gold, classes=None))]
    #[allow(clippy::too_many_arguments, reason = "called by one place of the package")]
    #[allow(clippy::needless_pass_by_value, reason = "extracted arguments are owned")]
    fn new(
        py: Python<'_>,
        items: Vec<String>,
        sources: Vec<String>,
        labels: Vec<String>,
        codes: PyReadonlyArray2<'_, i64>,
        probabilities: Option<PyReadonlyArray2<'_, f64>>,
        gold: Vec<(String, String)>,
        classes: Option<Vec<String>>,
    ) -> PyResult<Self> {
        let probabilities = probabilities.as_ref();
        let rows = Rows {
            names: [&items, &sources, &labels],
            codes: codes.as_slice()?,
            width: probabilities.map_or(0, |rows| rows.shape()[1]),
            probabilities: probabilities.map_or(Ok(&[][..]), |rows| rows.as_slice())?,
        };
        let votes = watched(py, None, |progress| rows.build(&gold, classes.as_deref(), progress))?;
        Ok(Self { votes })
    }

    #[getter]
    fn items(&self) -> Vec<&str> {
        self.votes.items().iter().map(|name| &**name).collect()
    }

    #[getter]
    fn sources(&self) -> Vec<&str> {
        self.votes.sources().iter().map(|name| &**name).collect()
    }

    #[getter]
    fn classes(&self) -> Vec<String> {
        self.votes.classes().to_vec()
    }

    /// Number of votes on every item.
    fn counts<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        let counts = (0..self.votes.n_items()).map(|item| whole(self.votes.votes_on(item)));
        counts.collect::<Vec<i64>>().into_pyarray(py)
    }

    /// Fits a method; `options` are its options as JSON.
    #[pyo3(signature = (method, options, progress=None))]
    #[allow(clippy::needless_pass_by_value, reason = "extracted arguments are owned")]
    fn fit(
        &self,
        py: Python<'_>,
        method: &str,
        options: &str,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Aggregation> {
        let config = config(method, options)?;
        let result =
            watched(py, progress.as_ref(), |progress| config.fit_with(&self.votes, progress))?;
        Ok(Aggregation { result })
    }

    /// Scores of methods as JSON: by cross-validation of the gold labels in so many folds, or, if
    /// `held_out` has labels by item, on those items.
    #[pyo3(signature = (methods, folds, held_out, seed, progress=None))]
    #[allow(clippy::needless_pass_by_value, reason = "extracted arguments are owned")]
    fn compare(
        &self,
        py: Python<'_>,
        methods: Vec<(String, String)>,
        folds: usize,
        held_out: Vec<(String, String)>,
        seed: u64,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<String> {
        let configs = methods.iter().map(|(method, options)| config(method, options));
        let configs = configs.collect::<PyResult<Vec<VoteConfig>>>()?;
        let held_out = if held_out.is_empty() {
            HeldOut::Folds { folds, seed }
        } else {
            let mut labels = vec![None; self.votes.n_items()];
            let set = |(item, label): &(String, String)| {
                self.votes.set_label(&mut labels, item, label).map_err(|error| raise(&error))
            };
            held_out.iter().try_for_each(set)?;
            HeldOut::Labels(labels)
        };
        let found = watched(py, progress.as_ref(), |progress| {
            compare_votes(&self.votes, &held_out, &configs, progress)
        })?;
        Ok(json!(found).to_string())
    }
}

/// Votes in the form in which Python passes them.
struct Rows<'a> {
    names: [&'a [String]; 3],
    codes: &'a [i64],
    /// Number of probabilities per vote: none, that of its label, or those of all classes.
    width: usize,
    probabilities: &'a [f64],
}

impl Rows<'_> {
    fn build(
        &self,
        gold: &[(String, String)],
        classes: Option<&[String]>,
        progress: &dyn Progress,
    ) -> Result<votes::Votes> {
        let mut builder = match classes {
            Some(classes) => VotesBuilder::with_classes(classes)?,
            None => VotesBuilder::new(),
        };
        for row in 0..self.codes.len() / 3 {
            if row.is_multiple_of(STEP) {
                progress.check()?;
            }
            self.push(row, classes, &mut builder)?;
        }
        gold.iter().try_for_each(|(item, label)| builder.gold(item, label))?;
        builder.finish()
    }

    fn push(
        &self,
        row: usize,
        classes: Option<&[String]>,
        builder: &mut VotesBuilder,
    ) -> Result<()> {
        let [item, source, label] =
            std::array::from_fn(|place| self.name(place, self.codes[3 * row + place]));
        let (Some(item), Some(source)) = (item, source) else { return Err(Error::NoVotes) };
        let own = &self.probabilities[row * self.width..(row + 1) * self.width];
        let known = !own.is_empty() && own.iter().all(|p| !p.is_nan());
        match label {
            Some(label) => {
                let place = match self.width {
                    1 => Some(0),
                    _ => classes.and_then(|all| all.iter().position(|class| class == label)),
                };
                let probability = place.filter(|_| known).map(|place| own[place]);
                builder.push_with_probability(item, source, label, probability)
            }
            None if known && self.width > 1 => builder.push_distribution(item, source, own),
            None => builder.add_item(item).map(drop),
        }
    }

    fn name(&self, place: usize, code: i64) -> Option<&str> {
        self.names[place].get(usize::try_from(code).ok()?).map(String::as_str)
    }
}

/// Labels of items from votes, and what was learned about the sources.
#[pyclass(module = "consilience._core", frozen)]
pub(crate) struct Aggregation {
    pub(crate) result: votes::Aggregation,
}

#[pymethods]
impl Aggregation {
    #[getter]
    fn model(&self) -> VoteModel {
        VoteModel { model: self.result.model().clone() }
    }

    /// Class probabilities, items × classes.
    fn probabilities<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let votes = self.result.votes();
        let table = PyArray1::from_slice(py, self.result.table());
        table.reshape([votes.n_items(), votes.n_classes()])
    }

    /// The effective number of votes on every item.
    fn effective_votes<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        let items = 0..self.result.votes().n_items();
        let each = items.map(|item| self.result.effective_votes(item));
        each.collect::<Vec<f64>>().into_pyarray(py)
    }

    /// The columns of the table of sources; classes are numbers.
    fn sources<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let mut table = SourceColumns::default();
        self.result.sources().for_each(|report| table.push(&report));
        table.into_dict(py)
    }

    /// P(label | class), sources × classes × labels.
    fn confusion<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray3<f64>>> {
        let k = self.result.classes().len();
        let rows = self.result.sources().flat_map(|report| report.confusion.concat());
        let rows: Vec<f64> = rows.collect();
        let n = rows.len() / (k * k);
        rows.into_pyarray(py).reshape([n, k, k])
    }

    /// The report as JSON, without the sources.
    fn report(&self) -> String {
        self.result.to_json().to_string()
    }

    /// The report for a person.
    fn summary(&self) -> String {
        self.result.to_string()
    }
}

/// The table of sources by column.
#[derive(Default)]
struct SourceColumns {
    votes: Vec<i64>,
    numbers: [Vec<f64>; 6],
    worst_class: Vec<i64>,
    bias_label: Vec<i64>,
    guessing: Vec<bool>,
}

const NUMBERS: [&str; 6] =
    ["accuracy", "accuracy_low", "accuracy_high", "strength", "worst_accuracy", "bias"];

impl SourceColumns {
    fn push(&mut self, report: &votes::SourceReport) {
        self.votes.push(whole(report.votes));
        let values = [
            report.accuracy.value,
            report.accuracy.low,
            report.accuracy.high,
            report.strength,
            report.right[report.worst_class].value,
            report.bias.excess,
        ];
        self.numbers.iter_mut().zip(values).for_each(|(column, value)| column.push(value));
        self.worst_class.push(whole(report.worst_class));
        self.bias_label.push(whole(report.bias.label));
        self.guessing.push(report.guesses);
    }

    fn into_dict(self, py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
        let table = PyDict::new(py);
        table.set_item("votes", self.votes.into_pyarray(py))?;
        for (name, column) in NUMBERS.iter().zip(self.numbers) {
            table.set_item(name, column.into_pyarray(py))?;
        }
        table.set_item("worst_class", self.worst_class.into_pyarray(py))?;
        table.set_item("bias_label", self.bias_label.into_pyarray(py))?;
        table.set_item("guessing", self.guessing.into_pyarray(py))?;
        Ok(table)
    }
}

/// What was learned about sources: what `aggregate --model` writes and `fuse` reads.
#[pyclass(module = "consilience._core", frozen)]
pub(crate) struct VoteModel {
    model: votes::VoteModel,
}

#[pymethods]
impl VoteModel {
    /// Whether a text is that of a vote model's file.
    #[staticmethod]
    fn is_file(text: &str) -> bool {
        votes::VoteModel::is_file(text)
    }

    /// Reads the text of a model file.
    #[staticmethod]
    fn from_json(py: Python<'_>, text: &str) -> PyResult<Self> {
        let model = py.detach(|| votes::VoteModel::from_json(text));
        Ok(Self { model: model.map_err(|error| raise(&error))? })
    }

    /// The text of the model file; `estimator` is JSON that the file keeps.
    #[pyo3(signature = (estimator=None))]
    fn to_json(&self, estimator: Option<&str>) -> PyResult<String> {
        let Some(estimator) = estimator else { return Ok(self.model.to_json()) };
        let estimator = serde_json::from_str(estimator).map_err(|error| bad_settings(&error))?;
        Ok(self.model.clone().with_estimator(estimator).to_json())
    }

    /// Method, options, classes, ρ and what the file keeps of the estimator, as JSON.
    fn description(&self) -> String {
        let model = &self.model;
        let file = json!({
            "settings": model.config(), "classes": model.classes(), "rho": model.rho(),
            "estimator": model.estimator(),
        });
        file.to_string()
    }

    /// Names, numbers of votes and accuracies with their 90 % intervals of the sources.
    fn sources<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let model = &self.model;
        let table = PyDict::new(py);
        let names: Vec<&str> = model.sources().iter().map(|name| &**name).collect();
        let all = || (0..names.len()).map(|source| model.source(source));
        let votes: Vec<i64> = all().map(|(votes, _)| whole(votes)).collect();
        let column = |of: fn(votes::Interval) -> f64| -> Vec<f64> {
            all().map(|(_, accuracy)| of(accuracy)).collect()
        };
        let columns = [column(|a| a.value), column(|a| a.low), column(|a| a.high)];
        table.set_item("source", names)?;
        table.set_item("votes", votes.into_pyarray(py))?;
        for (name, column) in NUMBERS.iter().zip(columns) {
            table.set_item(name, column.into_pyarray(py))?;
        }
        Ok(table)
    }

    /// Class probabilities of new items from the votes on them.
    fn predict<'py>(&self, py: Python<'py>, votes: &Votes) -> PyResult<Predicted<'py>> {
        let (n, k) = (votes.votes.n_items(), self.model.classes().len());
        let found = watched(py, None, |_| self.model.predict(&votes.votes))?;
        let table = PyArray1::from_slice(py, found.table()).reshape([n, k])?;
        Ok((table, json!(found.warnings).to_string()))
    }

    /// Scores on the gold labels of votes, beside the baselines, as JSON.
    #[pyo3(signature = (votes, progress=None))]
    #[allow(clippy::needless_pass_by_value, reason = "extracted arguments are owned")]
    fn evaluate(
        &self,
        py: Python<'_>,
        votes: &Votes,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<String> {
        let found =
            watched(py, progress.as_ref(), |progress| self.model.evaluate(&votes.votes, progress))?;
        Ok(json!(found).to_string())
    }

    fn __reduce__(slf: &Bound<'_, Self>) -> PyResult<(Py<PyAny>, (String,))> {
        let read = slf.get_type().getattr("from_json")?.unbind();
        Ok((read, (slf.get().model.to_json(),)))
    }

    fn __repr__(&self) -> String {
        let (sources, classes) = (self.model.sources().len(), self.model.classes().len());
        let method = self.model.config().name();
        format!("<vote model `{method}` of {sources} sources and {classes} classes>")
    }
}

/// A method with options as JSON.
fn config(method: &str, options: &str) -> PyResult<VoteConfig> {
    let options: Map<String, Value> =
        serde_json::from_str(options).map_err(|error| bad_settings(&error))?;
    let start: VoteConfig = method.parse().map_err(|error| raise(&error))?;
    let set = |config: VoteConfig, (name, value): (String, Value)| match name.as_str() {
        // Methods without random numbers have no seed.
        "seed" => Ok(config.with_seed(value.as_u64().unwrap_or(0))),
        name => config.with_option(name, value),
    };
    options.into_iter().try_fold(start, set).map_err(|error| raise(&error))
}

fn whole(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}
