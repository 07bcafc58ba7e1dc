//! Scores, reliability and confusion on the items that have a label.

use consilience::evaluation::{
    BootstrapSettings, CalibrationCurve, CalibrationEvent, Evaluation, EvaluationSettings, Gain,
    Interval, Predictions, calibration_curve, evaluate_all, gain_of, simpler_predictions,
};
use consilience::methods::shares::EvidenceCovariance;
use consilience::{Outputs, Result};
use serde::Serialize;

use crate::agreement::arg_max;
use crate::report::Study;

/// Scores and reliability on the items that have a label.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Labelled {
    /// The gain of fusing over simpler predictions.
    pub gain: Gain,
    /// Scores of the fused result, of simple combinations, of every source and of the best single
    /// source if it is a recalibrated one, with 95 % intervals.
    pub scores: Evaluation,
    /// Bootstrap replicates of the intervals.
    pub replicates: usize,
    /// Reliability of the fused result (first) and of every source.
    pub reliability: Vec<SourceReliability>,
    /// One row per class.
    pub classes: Vec<ClassRow>,
    /// Number of items by true class (rows) and most probable class of the fused result (columns).
    pub confusion: Vec<Vec<u64>>,
}

/// The reliability of the fused result or of one source.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SourceReliability {
    /// The method, or the name of the source.
    pub name: String,
    /// Index of the source; none for the fused result.
    pub source: Option<usize>,
    /// The curve of the most probable class (first) and of every class, if there are at most ten.
    pub curves: Vec<ReliabilityOf>,
}

/// The reliability of one event.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReliabilityOf {
    /// Index of the class; none for the most probable class.
    pub class: Option<usize>,
    /// The curve.
    pub curve: CalibrationCurve,
}

/// Scores of the fused result on one class.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClassRow {
    /// Index of the class.
    pub class: usize,
    /// Number of items.
    pub items: u64,
    /// Number of items for which the class is the most probable one.
    pub predicted: u64,
    /// Share of the items of the class for which it is the most probable one.
    pub recall: Interval,
    /// Share of the items for which the class is the most probable one whose true class it is.
    pub precision: f64,
    /// Log-loss of its items in nats.
    pub log_loss: Interval,
    /// Expected calibration error of the probability of the class.
    pub ece: Interval,
}

/// Most bootstrap replicates, and scored items in all replicates and methods together.
const REPLICATES: usize = 1000;
const LARGEST_BOOTSTRAP: usize = 10_000_000;
const FEWEST_REPLICATES: usize = 100;

/// Most classes with curves of their own, and most sources with curves for every class.
const CLASS_CURVES: usize = 10;
const SOURCE_CURVES: usize = 30;

impl Labelled {
    /// None if no item has a label.
    pub(crate) fn of(
        study: &Study<'_>,
        covariance: Option<&EvidenceCovariance>,
    ) -> Result<Option<Self>> {
        let n_labelled = study.outputs.n_labelled();
        if n_labelled == 0 {
            return Ok(None);
        }
        let outputs = study.outputs.labelled();
        let labels = outputs.require_labels()?;
        let j = study.classes().len();
        let fused = Predictions { name: study.model.method_name(), probabilities: fused(study) };
        let simpler = simpler_predictions(study.model, &outputs, study.prior)?;
        let methods: Vec<Predictions> = std::iter::once(fused).chain(simpler).collect();
        let gain = gain_of(&methods, &outputs, study.prior, study.weighting, covariance)?;
        let reliability = reliability(study, &methods[0], &outputs, &labels)?;
        let confusion = confusion(&methods[0].probabilities, &labels, j);
        let shown = |name: &str| !name.starts_with("meta:") || name == gain.best_single.method;
        let scored: Vec<Predictions> =
            methods.into_iter().filter(|method| shown(&method.name)).collect();
        let replicates =
            (LARGEST_BOOTSTRAP / (n_labelled * scored.len())).clamp(FEWEST_REPLICATES, REPLICATES);
        let settings = EvaluationSettings {
            weighting: study.weighting,
            bootstrap: BootstrapSettings { replicates, seed: study.options.seed },
        };
        let scores =
            evaluate_all(scored, &outputs, study.prior, &settings, study.options.progress)?;
        let scores = Evaluation { n_unlabelled: study.n_items() - n_labelled, ..scores };
        let classes = class_rows(&scores, &confusion);
        Ok(Some(Self { gain, scores, replicates, reliability, classes, confusion }))
    }
}

/// The fused probabilities of the labelled items.
fn fused(study: &Study<'_>) -> Vec<f64> {
    let labelled = (0..study.n_items()).filter(|item| study.outputs.label(*item).is_some());
    labelled.flat_map(|item| study.fused.probabilities(item)).copied().collect()
}

fn confusion(probabilities: &[f64], labels: &[usize], n_classes: usize) -> Vec<Vec<u64>> {
    let mut counts = vec![vec![0; n_classes]; n_classes];
    for (row, &label) in probabilities.chunks_exact(n_classes).zip(labels) {
        counts[label][arg_max(row)] += 1;
    }
    counts
}

fn class_rows(scores: &Evaluation, confusion: &[Vec<u64>]) -> Vec<ClassRow> {
    let row = |class: usize| {
        let own = &scores.methods[0].per_class[class];
        let predicted: u64 = confusion.iter().map(|row| row[class]).sum();
        ClassRow {
            class,
            items: scores.class_counts[class],
            predicted,
            recall: own.accuracy,
            precision: confusion[class][class] as f64 / predicted as f64,
            log_loss: own.log_loss,
            ece: own.ece,
        }
    };
    (0..confusion.len()).map(row).collect()
}

fn reliability(
    study: &Study<'_>,
    fused: &Predictions,
    outputs: &Outputs,
    labels: &[usize],
) -> Result<Vec<SourceReliability>> {
    let n_sources = study.sources().len();
    let mut found = vec![SourceReliability {
        name: fused.name.clone(),
        source: None,
        curves: curves(study, fused, labels, true)?,
    }];
    for (k, name) in study.sources().iter().enumerate() {
        study.options.progress.check()?;
        let present: Vec<usize> =
            (0..outputs.n_items()).filter(|item| outputs.output(*item, k).is_some()).collect();
        let own = |item: &usize| outputs.output(*item, k).into_iter().flatten().copied();
        let predictions = Predictions {
            name: name.clone(),
            probabilities: present.iter().flat_map(own).collect(),
        };
        let labels: Vec<usize> = present.iter().map(|&item| labels[item]).collect();
        let curves = if labels.is_empty() {
            Vec::new()
        } else {
            curves(study, &predictions, &labels, n_sources <= SOURCE_CURVES)?
        };
        found.push(SourceReliability { name: name.clone(), source: Some(k), curves });
    }
    Ok(found)
}

/// The curve of the most probable class, and those of every class if they are wanted and few.
fn curves(
    study: &Study<'_>,
    predictions: &Predictions,
    labels: &[usize],
    every_class: bool,
) -> Result<Vec<ReliabilityOf>> {
    let n_classes = study.classes().len();
    let listed = if every_class && n_classes <= CLASS_CURVES { n_classes } else { 0 };
    let events = std::iter::once(None).chain((0..listed).map(Some));
    let of = |class: Option<usize>| {
        let event = class.map_or(CalibrationEvent::MostProbable, CalibrationEvent::Class);
        let (prior, weighting) = (study.prior, study.weighting);
        let seed = study.options.seed;
        let curve = calibration_curve(predictions, labels, prior, weighting, event, seed)?;
        Ok(ReliabilityOf { class, curve })
    };
    events.map(of).collect()
}
