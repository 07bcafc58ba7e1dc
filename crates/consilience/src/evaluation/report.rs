//! A model's scores beside those of its single classifiers.

use serde::Serialize;

use super::bootstrap::{BootstrapSettings, Scored, with_intervals};
use super::scores::{Predictions, ScoreSet, Weighting};
use crate::data::class_prior::ClassPrior;
use crate::data::outputs::Outputs;
use crate::error::Result;
use crate::methods::independent::IndependentFusion;
use crate::methods::{Fusion, fuse};
use crate::model::Model;
use crate::progress::Progress;

/// How to evaluate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EvaluationSettings {
    /// How items count.
    pub weighting: Weighting,
    /// How to resample for intervals.
    pub bootstrap: BootstrapSettings,
}

/// Scores of the fused result, of every classifier as it is and of its meta classifier.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Evaluation {
    /// Number of items.
    pub n_items: usize,
    /// Items of every class.
    pub class_counts: Vec<u64>,
    /// Names of the classes.
    pub classes: Vec<String>,
    /// How items count.
    pub weighting: Weighting,
    /// The class prior in force.
    pub class_prior: Vec<f64>,
    /// One row a method, the model first.
    pub methods: Vec<EvaluatedMethod>,
}

/// One method's scores.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EvaluatedMethod {
    /// Its name: the model's method, `classifier:<name>` or `meta:<name>`.
    pub method: String,
    /// Over all items.
    pub overall: ScoreSet<Scored>,
    /// For each class: its own items (calibration: its probability over all items).
    pub per_class: Vec<ScoreSet<Scored>>,
}

/// Evaluates a model on labelled items. `fusion` is the model's own or its posterior predictive.
pub fn evaluate(
    model: &Model,
    fusion: &dyn Fusion,
    outputs: &Outputs,
    prior: &ClassPrior,
    settings: &EvaluationSettings,
    progress: &dyn Progress,
) -> Result<Evaluation> {
    let mut methods = vec![Predictions {
        name: model.method_name(),
        probabilities: fuse(fusion, outputs, prior)?.all().to_vec(),
    }];
    methods.extend(single_classifiers(outputs, prior));
    for meta in meta_classifiers(model, outputs, prior)? {
        // A meta classifier's own model has been scored already.
        if methods.iter().all(|method| method.name != meta.name) {
            methods.push(meta);
        }
    }
    evaluate_all(methods, outputs, prior, settings, progress)
}

/// Scores any predictions for the same labelled items.
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
        class_counts: outputs.class_counts(),
        classes: outputs.schema().classes().to_vec(),
        weighting: *weighting,
        class_prior: prior.probabilities().to_vec(),
        methods: rows.collect(),
    })
}

/// Every classifier as it is, named `classifier:<name>`.
pub fn single_classifiers(outputs: &Outputs, prior: &ClassPrior) -> Vec<Predictions> {
    let names = outputs.schema().classifiers().iter().enumerate();
    names
        .map(|(k, name)| Predictions {
            name: format!("classifier:{name}"),
            probabilities: single(outputs, k, prior),
        })
        .collect()
}

/// Every classifier's meta classifier, named `meta:<name>`.
pub fn meta_classifiers(
    model: &Model,
    outputs: &Outputs,
    prior: &ClassPrior,
) -> Result<Vec<Predictions>> {
    let predict = |meta: IndependentFusion| {
        let own = outputs.select(meta.schema())?;
        Ok(Predictions {
            name: format!("meta:{}", meta.schema().classifiers()[0]),
            probabilities: fuse(&meta, &own, prior)?.all().to_vec(),
        })
    };
    model.meta_classifiers()?.into_iter().map(predict).collect()
}

/// One classifier's outputs as predictions; the class prior where it is missing.
fn single(outputs: &Outputs, classifier: usize, prior: &ClassPrior) -> Vec<f64> {
    let output = |item| outputs.output(item, classifier).unwrap_or(prior.probabilities());
    (0..outputs.n_items()).flat_map(output).copied().collect()
}
