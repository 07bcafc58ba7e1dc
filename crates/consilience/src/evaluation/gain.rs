//! The gain of `auto` over simpler predictions, on items that the fits have not seen.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use super::constants::{CLEAR, FOLDS_OF_LARGE_FITS, LARGE_FIT, SIMILAR};
use super::sample_mean::{SampleMean, weighted_mean};
use super::scores::{Predictions, Weighting};
use super::single_classifiers;
use crate::data::class_prior::ClassPrior;
use crate::data::outputs::Outputs;
use crate::error::{Error, Result, quoted};
use crate::folds;
use crate::methods::Method;
use crate::methods::auto::{Auto, AutoFusion};
use crate::methods::independent::{IndependentFusion, SufficientStatistics};
use crate::methods::pools::{Pool, PoolKind};
use crate::methods::shares::EvidenceCovariance;
use crate::methods::{Fusion, fuse};
use crate::model::Model;
use crate::progress::{NoProgress, Progress};
use crate::text::aligned;
use consilience_numerics::parallel;

/// Options of [`gain`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GainSettings {
    /// Number of folds, from 2 to 100; 10 by default. The smallest class limits it to its number of
    /// items, and a large table with many classes to 3.
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
    /// `average`, `stacking`, `classifier:<name>` (the classifier's own outputs), `meta:<name>` (its
    /// meta classifier) or `auto:<name>` (`auto` fitted to that classifier alone).
    pub method: String,
    /// Log-loss in nats, out of fold where the baseline is fitted.
    pub log_loss: SampleMean,
    /// Gain of `auto` over the baseline on the same items: the baseline's log-loss minus that of
    /// `auto`.
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

/// The gain of `auto` over simpler predictions. [`Display`](fmt::Display) prints it as a table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Gain {
    /// Number of items.
    pub n_items: usize,
    /// Number of folds used; 0 if the items are new to the fitted model.
    pub folds: usize,
    /// Log-loss of `auto` in nats, out of fold.
    pub log_loss: SampleMean,
    /// All simpler predictions.
    pub baselines: Vec<Baseline>,
    /// The baseline with the smallest log-loss among single classifiers, recalibrated or not.
    pub best_single: Baseline,
    /// Number of independent classifiers with the same total evidence.
    pub effective_number: f64,
    /// Pairs of classifiers whose evidence has a correlation of 0.9 or more, most similar first.
    pub similar: Vec<SimilarPair>,
    /// The result in one sentence.
    pub verdict: String,
}

/// Estimates the gain of `auto` by cross-validation on labelled items, under the model's class
/// prior.
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
    let outputs = &*outputs.require_some_labels()?;
    let (labels, prior) = (outputs.require_labels()?, model.class_prior());
    let n_folds = limited(folds::usable(outputs, settings.folds)?, outputs);
    let methods = out_of_fold(outputs, &labels, prior, (n_folds, settings.seed), progress)?;
    let covariance = match model.evidence_covariance() {
        Some(covariance) => Cow::Borrowed(covariance),
        None => Cow::Owned(covariance_of(auto, outputs)?),
    };
    let weighting = settings.weighting.under(model.chosen_prior());
    Ok(summarise(&methods, outputs, &labels, (prior, weighting), n_folds, &covariance))
}

/// Fewer folds for fits that take long, so that the estimate does not take minutes.
fn limited(folds: usize, outputs: &Outputs) -> usize {
    let schema = outputs.schema();
    let size = [schema.n_classes(), schema.width()];
    if size.into_iter().fold(outputs.n_items(), usize::saturating_mul) > LARGE_FIT {
        return folds.min(FOLDS_OF_LARGE_FITS);
    }
    folds
}

/// The gain of a fitted `auto` on items that it was not fitted to, under the given class prior.
pub fn gain_on_new_items(
    model: &Model,
    outputs: &Outputs,
    prior: &ClassPrior,
    weighting: Weighting,
) -> Result<Gain> {
    let auto = require_auto(model)?;
    let outputs = &*outputs.require_some_labels()?;
    let labels = outputs.require_labels()?;
    let methods = predict(auto, outputs, prior)?;
    let covariance = covariance_of(auto, outputs)?;
    Ok(summarise(&methods, outputs, &labels, (prior, weighting), 0, &covariance))
}

/// The covariance of the evidence by the model's Dirichlets; without any, because the model was
/// fitted without labels, by those of the items themselves.
fn covariance_of(auto: &AutoFusion, outputs: &Outputs) -> Result<EvidenceCovariance> {
    if let Some(dirichlets) = auto.dirichlets() {
        return EvidenceCovariance::of(outputs, dirichlets.alpha());
    }
    let statistics = SufficientStatistics::of(outputs)?;
    let own = IndependentFusion::at_mode(Arc::clone(outputs.schema()), &statistics)?;
    EvidenceCovariance::of(outputs, own.alpha())
}

fn require_auto(model: &Model) -> Result<&AutoFusion> {
    match model.method() {
        Method::Auto(auto) => Ok(auto),
        _ => Err(Error::Unsupported {
            method: model.method_name(),
            cannot: "has no estimated gain: it is estimated for `auto` only".into(),
        }),
    }
}

fn summarise(
    methods: &[Predictions],
    outputs: &Outputs,
    labels: &[usize],
    (prior, weighting): (&ClassPrior, Weighting),
    folds: usize,
    covariance: &EvidenceCovariance,
) -> Gain {
    let mean = |losses: &[f64]| weighted_mean(losses, labels, prior, weighting);
    let losses: Vec<Vec<f64>> =
        methods.iter().map(|method| item_losses(method, labels, prior)).collect();
    let baseline = |(method, own): (&Predictions, &Vec<f64>)| {
        let gains: Vec<f64> = own.iter().zip(&losses[0]).map(|(a, b)| a - b).collect();
        let method = method.name.clone();
        Baseline { method, log_loss: mean(own), gain: mean(&gains) }
    };
    let baselines: Vec<Baseline> = methods.iter().zip(&losses).skip(1).map(baseline).collect();
    let best_single = baselines
        .iter()
        .filter(|baseline| baseline.method.contains(':'))
        .min_by(|a, b| a.log_loss.mean.total_cmp(&b.log_loss.mean))
        .expect("there is at least one classifier")
        .clone();
    let mut gain = Gain {
        n_items: outputs.n_items(),
        folds,
        log_loss: mean(&losses[0]),
        baselines,
        best_single,
        effective_number: covariance.effective_number(),
        similar: similar_pairs(outputs, covariance),
        verdict: String::new(),
    };
    gain.verdict = verdict(&gain, outputs.schema().n_classifiers());
    gain
}

/// The predictions of `auto` (first) and of all baselines. The predictions for an item come from
/// fits without that item.
fn out_of_fold(
    outputs: &Outputs,
    labels: &[usize],
    prior: &ClassPrior,
    (n_folds, seed): (usize, u64),
    progress: &dyn Progress,
) -> Result<Vec<Predictions>> {
    let n_classes = prior.probabilities().len();
    let folds = folds::stratified(labels, n_classes, n_folds, seed);
    progress.begin("estimating the gain", n_folds as u64);
    let parts = parallel::map(n_folds, |fold| -> Result<_> {
        progress.check()?;
        let (inside, outside) = folds::split(&folds, fold);
        let (train, test) = (outputs.select_items(&outside), outputs.select_items(&inside));
        let fitted = Auto { seed }.learn(&train, &NoProgress)?.fusion;
        let mut predictions = predict(&fitted, &test, prior)?;
        predictions.extend(recalibrated(&train, &test, prior, seed)?);
        progress.advance(1);
        Ok((inside, predictions))
    });
    let mut methods: Vec<Predictions> = Vec::new();
    for part in parts {
        let (inside, predictions) = part?;
        for (m, part) in predictions.into_iter().enumerate() {
            if methods.len() == m {
                let probabilities = vec![0.0; labels.len() * n_classes];
                methods.push(Predictions { name: part.name, probabilities });
            }
            for (item, row) in inside.iter().zip(part.probabilities.chunks_exact(n_classes)) {
                methods[m].probabilities[item * n_classes..][..n_classes].copy_from_slice(row);
            }
        }
    }
    Ok(methods)
}

/// `auto` fitted to each of several classifiers alone: recalibration without fusion.
fn recalibrated(
    train: &Outputs,
    test: &Outputs,
    prior: &ClassPrior,
    seed: u64,
) -> Result<Vec<Predictions>> {
    let names = train.schema().classifiers();
    let single = |(k, name): (usize, &String)| {
        let schema = Arc::new(train.schema().only(k));
        let (train, test) = (train.select(&schema)?, test.select(&schema)?);
        let fused = fuse(&Auto { seed }.learn(&train, &NoProgress)?.fusion, &test, prior)?;
        Ok(Predictions { name: format!("auto:{name}"), probabilities: fused.all().to_vec() })
    };
    if names.len() == 1 {
        return Ok(Vec::new());
    }
    names.iter().enumerate().map(single).collect()
}

/// The predictions of `auto`, the average, stacking, every classifier's own outputs and every meta
/// classifier, in this order.
fn predict(auto: &AutoFusion, outputs: &Outputs, prior: &ClassPrior) -> Result<Vec<Predictions>> {
    let schema = outputs.schema();
    let fused = |name: String, fusion: &dyn Fusion, outputs: &Outputs| -> Result<_> {
        let probabilities = fuse(fusion, outputs, prior)?.all().to_vec();
        Ok(Predictions { name, probabilities })
    };
    let n = schema.n_classifiers();
    let average = Pool::new(schema.clone(), PoolKind::Linear, vec![1.0 / n as f64; n])?;
    let mut methods =
        vec![fused("auto".into(), auto, outputs)?, fused("average".into(), &average, outputs)?];
    if let Some(stacking) = auto.stacking()? {
        methods.push(fused("stacking".into(), &stacking, outputs)?);
    }
    methods.extend(single_classifiers(outputs, prior));
    let Some(dirichlets) = auto.dirichlets() else { return Ok(methods) };
    for (k, name) in schema.classifiers().iter().enumerate() {
        let meta = dirichlets.meta(k)?;
        methods.push(fused(format!("meta:{name}"), &meta, &outputs.select(meta.schema())?)?);
    }
    Ok(methods)
}

fn item_losses(method: &Predictions, labels: &[usize], prior: &ClassPrior) -> Vec<f64> {
    let rows = method.probabilities.chunks_exact(prior.probabilities().len());
    rows.zip(labels).map(|(row, &label)| -row[label].max(f64::MIN_POSITIVE).ln()).collect()
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

/// The comparison with the best single classifier, and the most similar pair if there is one.
fn verdict(gain: &Gain, n_classifiers: usize) -> String {
    let Baseline { method, gain: SampleMean { mean, se }, .. } = &gain.best_single;
    let name = match method.split_once(':') {
        Some(("meta" | "auto", name)) => format!("`{name}` recalibrated"),
        Some((_, name)) => format!("`{name}`"),
        None => method.clone(),
    };
    // At least two significant digits of the standard error.
    let digits = if *se < 0.002 { 4 } else { 3 };
    let (size, n) = (format!("{:.digits$} ± {se:.digits$} nats", mean.abs()), gain.n_items);
    let mut text = if se.is_nan() {
        format!("the gain over {name} alone has no standard error: a class has a single item")
    } else if n_classifiers == 1 && *mean > CLEAR * se {
        format!("recalibrating gains {size} over the outputs of {name}")
    } else if *mean > CLEAR * se {
        format!("fusing these {n_classifiers} gains {size} over the best single one, {name}")
    } else if *mean < -CLEAR * se {
        format!(
            "fusing these {n_classifiers} loses {size} against {name} alone on {n} items: use \
             {name} instead"
        )
    } else {
        format!(
            "no clear gain over {name} alone on {n} items ({mean:+.digits$} ± {se:.digits$} nats)"
        )
    };
    if let Some(SimilarPair { between: (a, b), .. }) = gain.similar.first() {
        let others = match gain.similar.len() - 1 {
            0 => String::new(),
            1 => " (and 1 other pair)".to_owned(),
            n => format!(" (and {n} other pairs)"),
        };
        text += &format!(
            "; classifiers {}{others} carry nearly the same information (effective number {:.1})",
            quoted(&[a.clone(), b.clone()]),
            gain.effective_number
        );
    }
    text
}

impl fmt::Display for Gain {
    /// A table of `auto`, the best single classifier, the average and stacking, then the verdict.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rows = vec![vec!["auto".into(), self.log_loss.to_string(), String::new()]];
        let best = ("best single: ", &self.best_single);
        let of_all = self.baselines.iter().filter(|baseline| !baseline.method.contains(':'));
        for (prefix, Baseline { method, log_loss, gain }) in
            std::iter::once(best).chain(of_all.map(|baseline| ("", baseline)))
        {
            rows.push(vec![format!("{prefix}{method}"), log_loss.to_string(), gain.to_string()]);
        }
        let items = match self.folds {
            0 => "log-loss on these items".to_owned(),
            folds => format!("log-loss out of fold, {folds} folds"),
        };
        let table = aligned(&["method", &items, "gain of auto"], &rows);
        write!(f, "{table}{}", self.verdict)
    }
}
