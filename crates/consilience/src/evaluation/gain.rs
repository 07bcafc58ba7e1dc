//! What fusing is worth: `auto` on items that it has not seen, beside simpler answers.

use serde::Serialize;

use super::estimate::{Estimate, estimate};
use super::scores::{Predictions, Weighting};
use super::single_classifiers;
use crate::data::class_prior::ClassPrior;
use crate::data::outputs::Outputs;
use crate::error::{Result, quoted};
use crate::folds;
use crate::methods::auto::{Auto, AutoFusion};
use crate::methods::pools::{Pool, PoolKind};
use crate::methods::shares::EvidenceCovariance;
use crate::methods::{Fusion, fuse};
use crate::progress::{NoProgress, Progress};
use consilience_numerics::parallel;

/// How the worth is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GainSettings {
    /// Folds, 2 to 100; no more than the smallest class has items; 10 by default.
    pub folds: usize,
    /// How items count.
    pub weighting: Weighting,
    /// Seed of all folds.
    pub seed: u64,
}

impl Default for GainSettings {
    fn default() -> Self {
        Self { folds: 10, weighting: Weighting::default(), seed: 0 }
    }
}

/// Something simpler than `auto`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rival {
    /// `average`, `stacking`, `classifier:<name>`, `meta:<name>` or `auto:<name>`, which is `auto`
    /// of that classifier alone.
    pub method: String,
    /// Its log-loss in nats, out of fold where it is fitted.
    pub log_loss: Estimate,
    /// What `auto` gains over it on the same items: its loss minus `auto`'s.
    pub gain: Estimate,
}

/// Two classifiers that say nearly the same.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Alike {
    /// Their names.
    pub between: (String, String),
    /// The correlation of their evidence within true classes.
    pub correlation: f64,
}

/// What fusing is worth.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Gain {
    /// Number of items.
    pub n_items: usize,
    /// Folds used; 0 on items that were not fitted to.
    pub folds: usize,
    /// The out-of-fold log-loss of `auto`.
    pub log_loss: Estimate,
    /// Everything simpler.
    pub rivals: Vec<Rival>,
    /// The rival with the smallest loss among single classifiers, as they are or recalibrated.
    pub best_single: Rival,
    /// How many independent classifiers these are worth, by the covariance of their evidence.
    pub effective_number: f64,
    /// Pairs of classifiers whose evidence has a correlation of .9 or more, the most alike first.
    pub alike: Vec<Alike>,
    /// All that in a sentence.
    pub verdict: String,
}

/// Pairs with a higher correlation are named.
const ALIKE: f64 = 0.9;

/// A gain of so many standard errors is seen.
const SEEN: f64 = 2.0;

/// Finds what fusing these labelled items is worth, by cross-validation.
///
/// # Example
/// ```
/// use consilience::evaluation::{GainSettings, worth};
/// use consilience::{ClassPrior, NoProgress, simulation::Preset};
///
/// let outputs = Preset::Sim2.truth(0.0)?.simulate(200, 1)?;
/// let worth = worth(&outputs, &ClassPrior::uniform(3), &GainSettings::default(), &NoProgress)?;
/// assert!(worth.best_single.gain.mean > 0.1, "{}", worth.verdict);
/// # Ok::<(), consilience::Error>(())
/// ```
pub fn worth(
    outputs: &Outputs,
    prior: &ClassPrior,
    settings: &GainSettings,
    progress: &dyn Progress,
) -> Result<Gain> {
    let labels = outputs.require_labels()?;
    let n_folds = folds::usable(outputs, settings.folds)?;
    let methods = out_of_fold(outputs, &labels, prior, (n_folds, settings.seed), progress)?;
    let fitted = Auto { seed: settings.seed }.learn(outputs, &NoProgress)?.fusion;
    let covariance = EvidenceCovariance::of(outputs, fitted.dirichlets().alpha())?;
    Ok(summarise(&methods, outputs, &labels, (prior, settings.weighting), n_folds, &covariance))
}

/// The same for a fitted rule on items that it was not fitted to.
pub fn worth_on_new_items(
    auto: &AutoFusion,
    outputs: &Outputs,
    prior: &ClassPrior,
    weighting: Weighting,
) -> Result<Gain> {
    let labels = outputs.require_labels()?;
    let methods = predict(auto, outputs, prior)?;
    let covariance = EvidenceCovariance::of(outputs, auto.dirichlets().alpha())?;
    Ok(summarise(&methods, outputs, &labels, (prior, weighting), 0, &covariance))
}

fn summarise(
    methods: &[Predictions],
    outputs: &Outputs,
    labels: &[usize],
    (prior, weighting): (&ClassPrior, Weighting),
    folds: usize,
    covariance: &EvidenceCovariance,
) -> Gain {
    let estimate = |losses: &[f64]| estimate(losses, labels, prior, weighting);
    let losses: Vec<Vec<f64>> =
        methods.iter().map(|method| item_losses(method, labels, prior)).collect();
    let rival = |(method, own): (&Predictions, &Vec<f64>)| {
        let gains: Vec<f64> = own.iter().zip(&losses[0]).map(|(a, b)| a - b).collect();
        let method = method.name.clone();
        Rival { method, log_loss: estimate(own), gain: estimate(&gains) }
    };
    let rivals: Vec<Rival> = methods.iter().zip(&losses).skip(1).map(rival).collect();
    let best_single = rivals
        .iter()
        .filter(|rival| rival.method.contains(':'))
        .min_by(|a, b| a.log_loss.mean.total_cmp(&b.log_loss.mean))
        .expect("there is at least one classifier")
        .clone();
    let mut worth = Gain {
        n_items: outputs.n_items(),
        folds,
        log_loss: estimate(&losses[0]),
        rivals,
        best_single,
        effective_number: covariance.effective_number(),
        alike: alike(outputs, covariance),
        verdict: String::new(),
    };
    worth.verdict = verdict(&worth, outputs.schema().n_classifiers());
    worth
}

/// The predictions of `auto` (first) and of everything simpler, for every item by fits that have
/// not seen it.
fn out_of_fold(
    outputs: &Outputs,
    labels: &[usize],
    prior: &ClassPrior,
    (n_folds, seed): (usize, u64),
    progress: &dyn Progress,
) -> Result<Vec<Predictions>> {
    let n_classes = prior.probabilities().len();
    let folds = folds::stratified(labels, n_classes, n_folds, seed);
    progress.begin("worth of fusing", n_folds as u64);
    let parts = parallel::map(n_folds, |fold| -> Result<_> {
        progress.check()?;
        let (inside, outside) = folds::split(&folds, fold);
        let (train, test) = (outputs.select_items(&outside), outputs.select_items(&inside));
        let fitted = Auto { seed }.learn(&train, &NoProgress)?.fusion;
        let mut predictions = predict(&fitted, &test, prior)?;
        predictions.extend(alone(&fitted, &train, &test, prior, seed)?);
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

/// `auto` fitted to every classifier alone, where there are several: what recalibrating gains
/// without any fusing. The meta classifier where one is absent from a whole class.
fn alone(
    auto: &AutoFusion,
    train: &Outputs,
    test: &Outputs,
    prior: &ClassPrior,
    seed: u64,
) -> Result<Vec<Predictions>> {
    let names = train.schema().classifiers();
    let single = |(k, name): (usize, &String)| {
        let meta = auto.dirichlets().meta(k)?;
        let (train, test) = (train.select(meta.schema())?, test.select(meta.schema())?);
        let fused = match (Auto { seed }.learn(&train, &NoProgress)) {
            Ok(fitted) => fuse(&fitted.fusion, &test, prior)?,
            Err(_) => fuse(&meta, &test, prior)?,
        };
        Ok(Predictions { name: format!("auto:{name}"), probabilities: fused.all().to_vec() })
    };
    if names.len() == 1 {
        return Ok(Vec::new());
    }
    names.iter().enumerate().map(single).collect()
}

/// `auto`, the plain average, stacking, then every classifier as it is and its meta classifier.
fn predict(auto: &AutoFusion, outputs: &Outputs, prior: &ClassPrior) -> Result<Vec<Predictions>> {
    let schema = outputs.schema();
    let fused = |name: String, fusion: &dyn Fusion, outputs: &Outputs| -> Result<_> {
        let probabilities = fuse(fusion, outputs, prior)?.all().to_vec();
        Ok(Predictions { name, probabilities })
    };
    let n = schema.n_classifiers();
    let average = Pool::new(schema.clone(), PoolKind::Linear, vec![1.0 / n as f64; n])?;
    let mut methods = vec![
        fused("auto".into(), auto, outputs)?,
        fused("average".into(), &average, outputs)?,
        fused("stacking".into(), &auto.stacking()?, outputs)?,
    ];
    methods.extend(single_classifiers(outputs, prior));
    for (k, name) in schema.classifiers().iter().enumerate() {
        let meta = auto.dirichlets().meta(k)?;
        methods.push(fused(format!("meta:{name}"), &meta, &outputs.select(meta.schema())?)?);
    }
    Ok(methods)
}

fn item_losses(method: &Predictions, labels: &[usize], prior: &ClassPrior) -> Vec<f64> {
    let rows = method.probabilities.chunks_exact(prior.probabilities().len());
    rows.zip(labels).map(|(row, &label)| -row[label].max(f64::MIN_POSITIVE).ln()).collect()
}

/// The pairs of classifiers that are nearly one.
fn alike(outputs: &Outputs, covariance: &EvidenceCovariance) -> Vec<Alike> {
    let names = outputs.schema().classifiers();
    let pairs = (0..names.len()).flat_map(|a| (a + 1..names.len()).map(move |b| (a, b)));
    let mut alike: Vec<Alike> = pairs
        .map(|(a, b)| Alike {
            between: (names[a].clone(), names[b].clone()),
            correlation: covariance.correlation(a, b),
        })
        .filter(|pair| pair.correlation >= ALIKE)
        .collect();
    alike.sort_by(|a, b| b.correlation.total_cmp(&a.correlation));
    alike
}

/// The worth in a sentence that a person can act on.
fn verdict(worth: &Gain, n_classifiers: usize) -> String {
    let Rival { method, gain: Estimate { mean, se }, .. } = &worth.best_single;
    let name = match method.split_once(':') {
        Some(("meta" | "auto", name)) => format!("`{name}` recalibrated"),
        Some((_, name)) => format!("`{name}`"),
        None => method.clone(),
    };
    // As many digits as the standard error has to say.
    let digits = if *se < 0.002 { 4 } else { 3 };
    let (size, n) = (format!("{:.digits$} ± {se:.digits$} nats", mean.abs()), worth.n_items);
    let mut text = if se.is_nan() {
        format!(
            "whether fusing gains anything over {name} alone cannot be seen: a class has one item"
        )
    } else if n_classifiers == 1 && *mean > SEEN * se {
        format!("recalibrating gains {size} over {name} as it is")
    } else if *mean > SEEN * se {
        format!("fusing these {n_classifiers} gains {size} over the best single one, {name}")
    } else if *mean < -SEEN * se {
        format!(
            "fusing these {n_classifiers} loses {size} against {name} alone on \
             {n} items: use that one"
        )
    } else {
        format!(
            "no gain over {name} alone can be seen on {n} items ({mean:+.digits$} ± {se:.digits$} nats)"
        )
    };
    if let Some(Alike { between: (a, b), .. }) = worth.alike.first() {
        let others = worth.alike.len() - 1;
        let others =
            if others > 0 { format!(" (and {others} other pairs)") } else { String::new() };
        text += &format!(
            "; classifiers {}{others} carry nearly the same information (effective number {:.1})",
            quoted(&[a.clone(), b.clone()]),
            worth.effective_number
        );
    }
    text
}
