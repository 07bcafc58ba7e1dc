//! The gain of `auto` over simpler predictions, on items that the fits have not seen.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use super::constants::SIMILAR;
use super::out_of_fold::{
    Fold, Folds, Losses, baselines, best_singles, limited, recalibrated, sample, usable,
};
use super::report::meta_predictions;
use super::sample_mean::{SampleMean, weighted_mean};
use super::scores::{Predictions, Weighting};
use super::verdict::verdict;
use super::{meta_classifiers, single_classifiers};
use crate::data::class_prior::ClassPrior;
use crate::data::outputs::Outputs;
use crate::error::{Error, Result};
use crate::folds;
use crate::methods::Fusion;
use crate::methods::Method;
use crate::methods::auto::AutoFusion;
use crate::methods::independent::{IndependentFusion, SufficientStatistics};
use crate::methods::pools::{Pool, PoolKind};
use crate::methods::shares::{EvidenceCovariance, LEVEL, insight_intervals};
use crate::model::Model;
use crate::progress::{NoProgress, Progress};
use crate::text::aligned;

/// Options of [`gain`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GainSettings {
    /// Number of folds, from 2 to 100; 10 by default. The smallest class limits it to its number of
    /// items, 1000 items limit it to 5, and a large table with many classes to 3.
    pub folds: usize,
    /// How items are weighted.
    pub weighting: Weighting,
    /// Seed of all folds.
    pub seed: u64,
}

impl Default for GainSettings {
    fn default() -> Self {
        Self { folds: 10, weighting: Weighting::default(), seed: 0 }
    }
}

/// A prediction that is simpler than `auto`, with its log-loss.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Baseline {
    /// `average`, `geometric-pool`, `linear-pool:greedy`, `log-pool:non-negative`, `stacking` (if
    /// `auto` has its logistic part), `bcc` (if all outputs are votes), `classifier:<name>` (the classifier's own outputs), `meta:<name>`
    /// (its meta classifier) or `auto:<name>` (`auto` fitted to that classifier alone; of the two
    /// classifiers with the smallest log-loss without it).
    pub method: String,
    /// Log-loss in nats, out of fold where the baseline is fitted.
    pub log_loss: SampleMean,
    /// Gain of the method over the baseline on the same items: the baseline's log-loss minus the
    /// method's.
    pub gain: SampleMean,
}

/// Two classifiers with nearly the same evidence.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SimilarPair {
    /// Their names.
    pub between: (String, String),
    /// Correlation of their evidence within true classes.
    pub correlation: f64,
}

/// The gain of `auto`, or of another fitted method, over simpler predictions.
/// [`Display`](fmt::Display) prints it as a table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Gain {
    /// The method whose gain this is.
    pub method: String,
    /// Number of items that are scored.
    pub n_items: usize,
    /// Number of labelled items of the table, if only a part of them is fitted and scored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampled_from: Option<usize>,
    /// Number of folds used; 0 if the items are new to the fitted model.
    pub folds: usize,
    /// Log-loss of the method in nats; out of fold if there are folds.
    pub log_loss: SampleMean,
    /// All simpler predictions.
    pub baselines: Vec<Baseline>,
    /// The baseline with the smallest log-loss among single classifiers, recalibrated or not.
    pub best_single: Baseline,
    /// Number of independent classifiers with the same total evidence; NaN if it is not known.
    pub effective_number: f64,
    /// Its 90 % interval; none for very large tables.
    pub effective_number_interval: Option<[f64; 2]>,
    /// Pairs of classifiers whose evidence has a correlation of 0.9 or more, most similar first.
    pub similar: Vec<SimilarPair>,
    /// The result in one sentence.
    pub verdict: String,
}

/// The outputs without those of classifiers that the fit has left out.
fn with_classifiers_of<'a>(model: &Model, outputs: &'a Outputs) -> Result<Cow<'a, Outputs>> {
    if outputs.schema().classifiers() == model.schema().classifiers() {
        return Ok(Cow::Borrowed(outputs));
    }
    outputs.select(model.schema()).map(Cow::Owned)
}

/// Estimates the gain of `auto` by cross-validation on labelled items, under the model's class
/// prior. Of more than 100 000 items a random part is used; every class has its share of it, but at
/// least 100 of its items. Classifiers whose outputs are all in one fold are left out.
///
/// `model` is a fit of `auto` to these items. Its covariance of evidence yields the effective
/// number of classifiers and the similar pairs; all log-losses come from fits to the other folds.
///
/// # Example
/// ```
/// use consilience::evaluation::{GainSettings, gain};
/// use consilience::{NoProgress, methods::auto::Auto, simulation::Preset};
///
/// let outputs = Preset::Sim2.truth(0.0)?.simulate(200, 1)?;
/// let model = Auto::default().fit(&outputs)?;
/// let gain = gain(&model, &outputs, &GainSettings::default(), &NoProgress)?;
/// assert!(gain.best_single.gain.mean > 0.1, "{gain}");
/// # Ok::<(), consilience::Error>(())
/// ```
pub fn gain(
    model: &Model,
    outputs: &Outputs,
    settings: &GainSettings,
    progress: &dyn Progress,
) -> Result<Gain> {
    let auto = require_auto(model)?;
    let outputs = with_classifiers_of(model, outputs)?;
    let outputs = outputs.require_some_labels()?;
    let part = sample(&outputs, settings.seed);
    let sampled_from = (part.n_items() < outputs.n_items()).then_some(outputs.n_items());
    let labels = part.require_labels()?;
    let n_folds = limited(folds::usable(&part, settings.folds)?, &part);
    let of_items = folds::stratified(&labels, part.schema().n_classes(), n_folds, settings.seed);
    let part = usable(part, &of_items)?;
    let prior = model.class_prior();
    let folds = Folds { outputs: &part, prior, of_items, number: n_folds, progress };
    let mut methods = folds.losses("estimating the gain", baselines)?;
    if part.schema().n_classifiers() > 1 {
        let best = best_singles(&methods, &part);
        let recalibrated = |fold: &Fold<'_>| recalibrated(&best, fold);
        methods.extend(folds.losses("recalibrating single classifiers", recalibrated)?);
    }
    let covariance = match model.evidence_covariance() {
        Some(covariance) => Cow::Borrowed(covariance),
        None => Cow::Owned(covariance_of(auto, &outputs, progress)?),
    };
    let weighting = settings.weighting.under(model.chosen_prior());
    let interval = match model.insight_intervals() {
        Some(intervals) => Some(intervals.effective_number),
        None => interval(auto, &outputs, &covariance, progress)?,
    };
    let gain = summarise(&methods, &part, &labels, (prior, weighting), Some(&covariance));
    Ok(Gain { folds: n_folds, sampled_from, ..gain }.with_interval(interval, &part))
}

/// The gain of a fitted `auto` on items that it was not fitted to, under the given class prior.
/// Baselines that are not part of the fitted model and would have to be fitted are left out: greedy
/// selection, the non-negative log pool, `bcc` and recalibration by `auto`.
pub fn gain_on_new_items(
    model: &Model,
    outputs: &Outputs,
    prior: &ClassPrior,
    weighting: Weighting,
) -> Result<Gain> {
    let auto = require_auto(model)?;
    let outputs = &*outputs.require_some_labels()?;
    let covariance = covariance_of(auto, outputs, &NoProgress)?;
    let methods = predict(auto, outputs, prior)?;
    let gain = gain_of(&methods, outputs, prior, weighting, Some(&covariance))?;
    let interval = interval(auto, outputs, &covariance, &NoProgress)?;
    Ok(gain.with_interval(interval, outputs))
}

/// Predictions that are simpler than a model and need no fit of their own: the average, the
/// geometric pool, the stacking that is part of `auto`, every classifier's own outputs and its meta
/// classifier.
pub fn simpler_predictions(
    model: &Model,
    outputs: &Outputs,
    prior: &ClassPrior,
) -> Result<Vec<Predictions>> {
    let stacking = match model.method() {
        Method::Auto(auto) => auto.stacking()?,
        _ => None,
    };
    let stacking = stacking.as_ref().map(|stacking| stacking as &dyn Fusion);
    let mut methods = combinations(stacking, outputs, prior)?;
    methods.extend(meta_classifiers(model, outputs, prior)?);
    Ok(methods)
}

/// The gain of the first of several predictions over all others, on items that all have a label.
/// The covariance of the classifiers' evidence, where it is known, yields the effective number and
/// the similar pairs.
pub fn gain_of(
    methods: &[Predictions],
    outputs: &Outputs,
    prior: &ClassPrior,
    weighting: Weighting,
    covariance: Option<&EvidenceCovariance>,
) -> Result<Gain> {
    let labels = outputs.require_labels()?;
    let losses = methods.iter().map(|method| Losses::of(method, &labels, prior));
    let losses: Vec<Losses> = losses.collect();
    Ok(summarise(&losses, outputs, &labels, (prior, weighting), covariance))
}

/// The covariance of the evidence by the model's Dirichlets; without any, because the model was
/// fitted without labels, by those of the items themselves.
fn covariance_of(
    auto: &AutoFusion,
    outputs: &Outputs,
    progress: &dyn Progress,
) -> Result<EvidenceCovariance> {
    if let Some(dirichlets) = auto.dirichlets() {
        return EvidenceCovariance::of(outputs, dirichlets.alpha(), progress);
    }
    let statistics = SufficientStatistics::of(outputs)?;
    let own = IndependentFusion::at_mode(Arc::clone(outputs.schema()), &statistics)?;
    EvidenceCovariance::of(outputs, own.alpha(), progress)
}

/// The 90 % interval of the effective number on these items, given the model's Dirichlets.
fn interval(
    auto: &AutoFusion,
    outputs: &Outputs,
    covariance: &EvidenceCovariance,
    progress: &dyn Progress,
) -> Result<Option<[f64; 2]>> {
    let Some(dirichlets) = auto.dirichlets() else { return Ok(None) };
    let alpha = dirichlets.alpha();
    let found = insight_intervals(LEVEL, outputs, covariance, alpha, None, progress)?;
    Ok(found.map(|found| found.effective_number))
}

impl Gain {
    /// The same with an interval of the effective number.
    fn with_interval(mut self, interval: Option<[f64; 2]>, outputs: &Outputs) -> Self {
        self.effective_number_interval = interval;
        self.verdict = verdict(&self, outputs.schema().n_classifiers());
        self
    }
}

fn require_auto(model: &Model) -> Result<&AutoFusion> {
    match model.method() {
        Method::Auto(auto) => Ok(auto),
        _ => Err(Error::unsupported(
            model.method_name(),
            "has no estimated gain: it is estimated for `auto` only",
        )),
    }
}

fn summarise(
    methods: &[Losses],
    outputs: &Outputs,
    labels: &[usize],
    (prior, weighting): (&ClassPrior, Weighting),
    covariance: Option<&EvidenceCovariance>,
) -> Gain {
    let mean = |losses: &[f64]| weighted_mean(losses, labels, prior, weighting);
    let baseline = |Losses { name, values }: &Losses| {
        let gains: Vec<f64> = values.iter().zip(&methods[0].values).map(|(a, b)| a - b).collect();
        Baseline { method: name.clone(), log_loss: mean(values), gain: mean(&gains) }
    };
    let baselines: Vec<Baseline> = methods.iter().skip(1).map(baseline).collect();
    let best_single = baselines
        .iter()
        .filter(|baseline| baseline.single().is_some())
        .min_by(|a, b| a.log_loss.mean.total_cmp(&b.log_loss.mean))
        .expect("there is at least one classifier")
        .clone();
    let mut gain = Gain {
        method: methods[0].name.clone(),
        n_items: outputs.n_items(),
        sampled_from: None,
        folds: 0,
        log_loss: mean(&methods[0].values),
        baselines,
        best_single,
        effective_number: covariance.map_or(f64::NAN, EvidenceCovariance::effective_number),
        effective_number_interval: None,
        similar: covariance.map_or_else(Vec::new, |own| similar_pairs(outputs, own)),
        verdict: String::new(),
    };
    gain.verdict = verdict(&gain, outputs.schema().n_classifiers());
    gain
}

/// The classifier of `classifier:<name>`, `meta:<name>` or `auto:<name>`.
pub(super) fn single_of(method: &str) -> Option<&str> {
    match method.split_once(':') {
        Some(("classifier" | "meta" | "auto", name)) => Some(name),
        _ => None,
    }
}

impl Baseline {
    /// The classifier, if the prediction uses a single one.
    pub fn single(&self) -> Option<&str> {
        single_of(&self.method)
    }
}

/// The predictions of `auto`, the average, the geometric pool, stacking, every classifier's own
/// outputs and every meta classifier, in this order.
pub(super) fn predict(
    auto: &AutoFusion,
    outputs: &Outputs,
    prior: &ClassPrior,
) -> Result<Vec<Predictions>> {
    let mut methods = vec![Predictions::of("auto", auto, outputs, prior)?];
    let stacking = auto.stacking()?;
    let stacking = stacking.as_ref().map(|stacking| stacking as &dyn Fusion);
    methods.extend(combinations(stacking, outputs, prior)?);
    if let Some(dirichlets) = auto.dirichlets() {
        methods.extend(meta_predictions(dirichlets.metas()?, outputs, prior)?);
    }
    Ok(methods)
}

/// The average, the geometric pool, stacking if it is given, and every classifier's own outputs.
fn combinations(
    stacking: Option<&dyn Fusion>,
    outputs: &Outputs,
    prior: &ClassPrior,
) -> Result<Vec<Predictions>> {
    let schema = outputs.schema();
    let n = schema.n_classifiers();
    let pool = |kind| Pool::new(schema.clone(), kind, vec![1.0 / n as f64; n]);
    let mut methods = vec![Predictions::of("average", &pool(PoolKind::Linear)?, outputs, prior)?];
    if n > 1 {
        let geometric = pool(PoolKind::Logarithmic)?;
        methods.push(Predictions::of("geometric-pool", &geometric, outputs, prior)?);
    }
    if let Some(stacking) = stacking {
        methods.push(Predictions::of("stacking", stacking, outputs, prior)?);
    }
    methods.extend(single_classifiers(outputs, prior));
    Ok(methods)
}

fn similar_pairs(outputs: &Outputs, covariance: &EvidenceCovariance) -> Vec<SimilarPair> {
    let names = outputs.schema().classifiers();
    let pairs = (0..names.len()).flat_map(|a| (a + 1..names.len()).map(move |b| (a, b)));
    let mut similar: Vec<SimilarPair> = pairs
        .map(|(a, b)| SimilarPair {
            between: (names[a].clone(), names[b].clone()),
            correlation: covariance.correlation(a, b),
        })
        .filter(|pair| pair.correlation >= SIMILAR)
        .collect();
    similar.sort_by(|a, b| b.correlation.total_cmp(&a.correlation));
    similar
}

impl fmt::Display for Gain {
    /// A table of `auto`, the best single classifier and all simpler combinations, then the verdict.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let own = self.method.clone();
        let mut rows = vec![vec![own, self.log_loss.to_string(), String::new()]];
        let best = ("best single: ", &self.best_single);
        let of_all = self.baselines.iter().filter(|baseline| baseline.single().is_none());
        for (prefix, Baseline { method, log_loss, gain }) in
            std::iter::once(best).chain(of_all.map(|baseline| ("", baseline)))
        {
            rows.push(vec![format!("{prefix}{method}"), log_loss.to_string(), gain.to_string()]);
        }
        let part = match self.sampled_from {
            Some(all) => format!(" of {} of {all} items", self.n_items),
            None => String::new(),
        };
        let items = match self.folds {
            0 => "log-loss on these items".to_owned(),
            folds => format!("log-loss out of fold, {folds} folds{part}"),
        };
        let table = aligned(&["method", &items, &format!("gain of {}", self.method)], &rows);
        write!(f, "{table}{}", self.verdict)
    }
}
