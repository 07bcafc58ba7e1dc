//! Scores of a model beside those of its single classifiers.

use std::fmt;

use serde::Serialize;

use super::bootstrap::{BootstrapSettings, with_intervals};
use super::interval::Interval;
use super::scores::{Predictions, ScoreSet, Weighting};
use crate::data::class_prior::ClassPrior;
use crate::data::outputs::Outputs;
use crate::error::Result;
use crate::methods::Fusion;
use crate::methods::independent::IndependentFusion;
use crate::model::Model;
use crate::progress::{NoProgress, Progress};
use crate::text::aligned;

/// Options of [`evaluate`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EvaluationSettings {
    /// How items are weighted.
    pub weighting: Weighting,
    /// The bootstrap of the intervals.
    pub bootstrap: BootstrapSettings,
}

/// Scores of several methods on the same items.
///
/// [`Display`](fmt::Display) prints a table of the overall scores; the alternate form `{:#}` adds
/// one table per class.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Evaluation {
    /// Number of items scored.
    pub n_items: usize,
    /// Number of items without a label, which are not scored.
    pub n_unlabelled: usize,
    /// Number of items per class.
    pub class_counts: Vec<u64>,
    /// Names of the classes.
    pub classes: Vec<String>,
    /// How items are weighted.
    pub weighting: Weighting,
    /// The class prior.
    pub class_prior: Vec<f64>,
    /// One row per method, the model first.
    pub methods: Vec<EvaluatedMethod>,
}

/// The scores of one method.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EvaluatedMethod {
    /// Name: the model's method, `classifier:<name>` or `meta:<name>`.
    pub method: String,
    /// Scores over all items, with 95 % bootstrap intervals.
    pub overall: ScoreSet<Interval>,
    /// Scores over the items of each class. The calibration error of a class is that of its
    /// probability over all items.
    pub per_class: Vec<ScoreSet<Interval>>,
}

impl Model {
    /// Scores the model, every classifier's own outputs and every meta classifier on the items that
    /// have a label, under the model's class prior and with 95 % intervals; [`evaluate`] has options.
    ///
    /// # Example
    /// ```
    /// use consilience::{Auto, simulation::Preset};
    ///
    /// let truth = Preset::Sim2.truth(0.5)?;
    /// let model = Auto::default().fit(&truth.simulate(100, 1)?)?;
    /// let evaluation = model.evaluate(&truth.simulate(100, 2)?)?;
    /// println!("{evaluation}");
    /// assert!(evaluation.methods[0].overall.log_loss.value < 0.8);
    /// # Ok::<(), consilience::Error>(())
    /// ```
    pub fn evaluate(&self, outputs: &Outputs) -> Result<Evaluation> {
        let weighting = Weighting::default().under(self.chosen_prior());
        let settings = EvaluationSettings { weighting, ..EvaluationSettings::default() };
        let outputs = self.own_outputs(outputs)?;
        evaluate(self, self.fusion(), &outputs, self.class_prior(), &settings, &NoProgress)
    }
}

/// Scores a model, every classifier's own outputs and every meta classifier on the items that have a
/// label. [`Model::evaluate`] does so with default options.
///
/// `fusion` is the model's own or its posterior predictive.
pub fn evaluate(
    model: &Model,
    fusion: &dyn Fusion,
    outputs: &Outputs,
    prior: &ClassPrior,
    settings: &EvaluationSettings,
    progress: &dyn Progress,
) -> Result<Evaluation> {
    let n_unlabelled = outputs.n_items() - outputs.n_labelled();
    let outputs = outputs.require_some_labels()?;
    let name = model.method_name();
    let mut methods = vec![Predictions::with_progress(name, fusion, &outputs, prior, progress)?];
    methods.extend(single_classifiers(&outputs, prior));
    for meta in meta_classifiers(model, &outputs, prior)? {
        // The model may itself be a meta classifier.
        if methods.iter().all(|method| method.name != meta.name) {
            methods.push(meta);
        }
    }
    let evaluation = evaluate_all(methods, &outputs, prior, settings, progress)?;
    Ok(Evaluation { n_unlabelled, ..evaluation })
}

/// Scores any predictions of the same items, all of them labelled.
pub fn evaluate_all(
    methods: Vec<Predictions>,
    outputs: &Outputs,
    prior: &ClassPrior,
    settings: &EvaluationSettings,
    progress: &dyn Progress,
) -> Result<Evaluation> {
    let labels = outputs.require_labels()?;
    let EvaluationSettings { weighting, bootstrap } = settings;
    let scores = with_intervals(&methods, &labels, prior, *weighting, bootstrap, progress)?;
    let rows = methods.into_iter().zip(scores).map(|(method, mut scores)| EvaluatedMethod {
        method: method.name,
        per_class: scores.split_off(1),
        overall: scores[0],
    });
    Ok(Evaluation {
        n_items: outputs.n_items(),
        n_unlabelled: 0,
        class_counts: outputs.class_counts(),
        classes: outputs.schema().classes().to_vec(),
        weighting: *weighting,
        class_prior: prior.probabilities().to_vec(),
        methods: rows.collect(),
    })
}

/// The outputs of every classifier as predictions, named `classifier:<name>`; the class prior where
/// an output is missing.
pub fn single_classifiers(outputs: &Outputs, prior: &ClassPrior) -> Vec<Predictions> {
    let names = outputs.schema().classifiers().iter().enumerate();
    names
        .map(|(k, name)| Predictions {
            name: format!("classifier:{name}"),
            probabilities: single(outputs, k, prior),
        })
        .collect()
}

/// The predictions of every meta classifier, named `meta:<name>`.
pub fn meta_classifiers(
    model: &Model,
    outputs: &Outputs,
    prior: &ClassPrior,
) -> Result<Vec<Predictions>> {
    meta_predictions(model.meta_classifiers()?, outputs, prior)
}

/// The predictions of given meta classifiers.
pub(super) fn meta_predictions(
    metas: Vec<IndependentFusion>,
    outputs: &Outputs,
    prior: &ClassPrior,
) -> Result<Vec<Predictions>> {
    let predict = |meta: IndependentFusion| {
        let name = format!("meta:{}", meta.schema().classifiers()[0]);
        Predictions::of(name, &meta, &outputs.select(meta.schema())?, prior)
    };
    metas.into_iter().map(predict).collect()
}

fn single(outputs: &Outputs, classifier: usize, prior: &ClassPrior) -> Vec<f64> {
    let output = |item| outputs.output(item, classifier).unwrap_or(prior.probabilities());
    (0..outputs.n_items()).flat_map(output).copied().collect()
}

const HEADER: [&str; 7] =
    ["method", "log-loss", "95 % interval", "Brier", "accuracy", "entropy", "calib. error"];

impl Evaluation {
    /// The cells of the overall table, header first: for tables in other formats.
    pub fn cells(&self) -> Vec<Vec<String>> {
        let header = HEADER.map(ToString::to_string).to_vec();
        let rows = self.methods.iter().map(|row| cells(&row.method, &row.overall));
        std::iter::once(header).chain(rows).collect()
    }

    /// The overall table as plain text.
    pub fn table(&self) -> String {
        let cells = self.cells();
        aligned(&cells[0], &cells[1..])
    }
}

impl fmt::Display for Evaluation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.table())?;
        if f.alternate() {
            for (j, (class, n)) in self.classes.iter().zip(&self.class_counts).enumerate() {
                let cells = |row: &EvaluatedMethod| cells(&row.method, &row.per_class[j]);
                let rows: Vec<Vec<String>> = self.methods.iter().map(cells).collect();
                write!(f, "\nclass {class} ({n} items)\n{}", aligned(&HEADER, &rows))?;
            }
        }
        let weighting = self.weighting.sentence(&self.classes, &self.class_prior);
        let items = items_sentence(self.n_items, self.n_unlabelled);
        writeln!(f, "\n{items} {weighting}")
    }
}

/// The number of items scored, and of those that are not.
fn items_sentence(n_items: usize, n_unlabelled: usize) -> String {
    match n_unlabelled {
        0 => format!("{n_items} items."),
        1 => format!("{n_items} items; 1 item without a label is not scored."),
        n => format!("{n_items} items; {n} items without a label are not scored."),
    }
}

fn cells(method: &str, scores: &ScoreSet<Interval>) -> Vec<String> {
    let number = |score: Interval| format!("{:.4}", score.value);
    let Interval { low, high, .. } = scores.log_loss;
    let interval = if low.is_nan() { "-".into() } else { format!("{low:.3} to {high:.3}") };
    let ScoreSet { log_loss, brier, accuracy, entropy, ece } = scores.map(number);
    vec![method.to_owned(), log_loss, interval, brier, accuracy, entropy, ece]
}
