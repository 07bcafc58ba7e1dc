//! The worth of every source beyond the others: the log-loss that the fit without it adds.
//!
//! All log-losses are out of fold, of refits of the model's method with and without the source, on
//! the same folds. Dropping is decided in two steps. A source whose loss is clearly positive is
//! kept. The others are dropped one after another, the least valuable first, as long as the loss of
//! dropping all of them together is at most the tolerance at the upper end of its 95 % interval: of
//! two copies, each of which is worth nothing beside the other, one stays.

use std::sync::Arc;

use serde::Serialize;

use super::super::compare::Difference;
use super::super::constants::NORMAL_975;
use super::super::sample_mean::{SampleMean, weighted_mean};
use super::super::scores::{Weighting, log_loss};
use crate::data::class_prior::ClassPrior;
use crate::data::outputs::Outputs;
use crate::data::schema::Schema;
use crate::error::{Error, Result, quoted};
use crate::folds;
use crate::methods::{MethodConfig, fuse};
use crate::model::Model;
use crate::progress::{CancelOnly, Progress};
use consilience_numerics::parallel;

/// Options of [`advise_sources`].
#[derive(Debug, Clone, PartialEq)]
pub struct SourceSettings {
    /// Number of folds, from 2 to 100; 5 by default. The smallest class limits it to its number of
    /// items.
    pub folds: usize,
    /// How items are weighted.
    pub weighting: Weighting,
    /// The largest loss of log-loss that dropping sources may cost, in nats; 0.01 by default.
    pub tolerance: f64,
    /// The price of one output of a source, by name, in any unit.
    pub prices: Vec<(String, f64)>,
    /// Seed of the folds.
    pub seed: u64,
}

impl Default for SourceSettings {
    fn default() -> Self {
        let weighting = Weighting::default();
        Self { folds: 5, weighting, tolerance: 0.01, prices: Vec::new(), seed: 0 }
    }
}

/// What to do with a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SourceDecision {
    /// Dropping it costs log-loss: the whole 95 % interval of its worth is above 0, or that of its
    /// worth beyond the sources that stay.
    Keep,
    /// It can be dropped, together with all other sources that are to be dropped.
    Drop,
    /// There are too few labelled items to decide.
    Undecided,
}

/// The worth of one source.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SourceWorth {
    /// Name of the classifier.
    pub classifier: String,
    /// Log-loss without the source minus log-loss with all sources, in nats per item.
    pub worth: Difference,
    /// Its price per output.
    pub price: Option<f64>,
    /// Worth divided by price; none if the price is 0.
    pub worth_per_price: Option<f64>,
    /// What to do.
    pub decision: SourceDecision,
}

/// What dropping several sources costs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Dropped {
    /// Names of the classifiers.
    pub classifiers: Vec<String>,
    /// Log-loss without all of them minus log-loss with all sources, in nats per item.
    pub loss: Difference,
    /// The sum of their prices, where all are known.
    pub saved: Option<f64>,
}

/// The worth of every source, and which to drop.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SourceAdvice {
    /// Number of labelled items.
    pub n_items: usize,
    /// Number of folds used.
    pub folds: usize,
    /// Largest loss that dropping may cost.
    pub tolerance: f64,
    /// Log-loss with all sources, out of fold, in nats.
    pub log_loss: SampleMean,
    /// All sources, the most valuable first.
    pub sources: Vec<SourceWorth>,
    /// The sources to drop, taken together; none if there are none.
    pub dropped: Option<Dropped>,
}

/// Estimates what each source is worth beyond the others, on the labelled items of a table. Items
/// without a label join every fit.
///
/// # Example
/// ```
/// use consilience::evaluation::{SourceSettings, advise_sources};
/// use consilience::{Auto, NoProgress, simulation::Preset};
///
/// let outputs = Preset::Sim2.truth(0.0)?.simulate(100, 1)?;
/// let model = Auto::default().fit(&outputs)?;
/// let advice = advise_sources(&model, &outputs, &SourceSettings::default(), &NoProgress)?;
/// assert!(advice.sources.iter().all(|source| source.worth.low > 0.0));
/// assert!(advice.dropped.is_none());
/// # Ok::<(), consilience::Error>(())
/// ```
pub fn advise_sources(
    model: &Model,
    outputs: &Outputs,
    settings: &SourceSettings,
    progress: &dyn Progress,
) -> Result<SourceAdvice> {
    let config = config_of(model)?;
    let outputs = outputs.select(model.schema())?;
    let prices = prices(&settings.prices, model.schema())?;
    if !(settings.tolerance >= 0.0) || settings.tolerance.is_infinite() {
        return Err(Error::parameter("tolerance", "finite and at least 0", settings.tolerance));
    }
    let (unlabelled, labelled) = (outputs.unlabelled(), outputs.require_some_labels()?);
    let labels = labelled.require_labels()?;
    let number = folds::usable(&labelled, settings.folds)?;
    let n_classes = model.schema().n_classes();
    let refits = Refits {
        config,
        labelled: &labelled,
        unlabelled: &unlabelled,
        folds: folds::stratified(&labels, n_classes, number, settings.seed),
        number,
        labels,
        prior: model.class_prior(),
        weighting: settings.weighting.under(model.chosen_prior()),
        progress,
    };
    let k = model.schema().n_classifiers();
    let every: Vec<Vec<usize>> =
        std::iter::once(Vec::new()).chain((0..k).map(|source| vec![source])).collect();
    let losses = refits.losses("refitting without each source", &every)?;
    let worth: Vec<Difference> =
        losses[1..].iter().map(|without| refits.difference(without, &losses[0])).collect();
    let choice = Choice { refits: &refits, all: &losses[0], single: &losses[1..], worth: &worth };
    let (decisions, dropped) = choice.decide(&prices, settings.tolerance)?;
    let names = model.schema().classifiers();
    Ok(SourceAdvice {
        n_items: refits.labels.len(),
        folds: number,
        tolerance: settings.tolerance,
        log_loss: refits.mean(&losses[0]),
        sources: by_worth(names, &worth, &prices, &decisions),
        dropped: dropped.map(|(sources, loss)| Dropped {
            saved: sources.iter().map(|&source| prices[source]).sum(),
            classifiers: sources.iter().map(|&source| names[source].clone()).collect(),
            loss,
        }),
    })
}

/// One row per source, the most valuable first.
fn by_worth(
    names: &[String],
    worth: &[Difference],
    prices: &[Option<f64>],
    decisions: &[SourceDecision],
) -> Vec<SourceWorth> {
    let row = |source: usize| SourceWorth {
        classifier: names[source].clone(),
        worth: worth[source],
        price: prices[source],
        worth_per_price: prices[source]
            .filter(|price| *price > 0.0)
            .map(|price| worth[source].mean / price),
        decision: decisions[source],
    };
    let mut sources: Vec<SourceWorth> = (0..names.len()).map(row).collect();
    sources.sort_by(|a, b| b.worth.mean.total_cmp(&a.worth.mean));
    sources
}

/// The method and options of a model that can be fitted without one of its sources.
fn config_of(model: &Model) -> Result<&MethodConfig> {
    let k = model.schema().n_classifiers();
    let cannot = |cannot: &str| Err(Error::unsupported(model.method_name(), cannot));
    let Some(settings) = model.settings() else {
        let reason = "it has no `settings`, so it cannot be fitted again without a source";
        return Err(Error::InvalidModel(reason.into()));
    };
    let config = &settings.fit;
    match config {
        _ if k < 2 => cannot("of a single classifier has no source to drop"),
        _ if config.classifier().is_some() => cannot("uses one classifier only"),
        _ if k == 2 && config.needs_several() => {
            cannot("cannot be fitted to the one classifier that would be left; use `auto`")
        }
        _ => Ok(config),
    }
}

/// The price of every source.
fn prices(given: &[(String, f64)], schema: &Schema) -> Result<Vec<Option<f64>>> {
    let mut prices = vec![None; schema.n_classifiers()];
    for (name, price) in given {
        let Some(source) = schema.classifier_index(name) else {
            return Err(Error::mismatch(
                "prices and classifiers",
                quoted(schema.classifiers()),
                format!("`{name}`"),
            ));
        };
        if !(*price >= 0.0) || price.is_infinite() {
            return Err(Error::parameter(
                format!("price of `{name}`"),
                "finite and at least 0",
                price,
            ));
        }
        prices[source] = Some(*price);
    }
    Ok(prices)
}

/// Fits of one method to the same folds with different sources.
struct Refits<'a> {
    config: &'a MethodConfig,
    labelled: &'a Outputs,
    unlabelled: &'a Outputs,
    labels: Vec<usize>,
    /// The fold of every labelled item.
    folds: Vec<usize>,
    number: usize,
    prior: &'a ClassPrior,
    weighting: Weighting,
    progress: &'a dyn Progress,
}

impl Refits<'_> {
    /// The out-of-fold log-loss of every item, without each set of sources.
    fn losses(&self, task: &str, without: &[Vec<usize>]) -> Result<Vec<Vec<f64>>> {
        let tasks = without.len() * self.number;
        self.progress.begin(task, tasks as u64);
        let parts = parallel::map(tasks, |task| -> Result<_> {
            self.progress.check()?;
            let part = self.fold(task % self.number, &without[task / self.number])?;
            self.progress.advance(1);
            Ok(part)
        });
        let mut losses = vec![vec![0.0; self.labels.len()]; without.len()];
        for (task, part) in parts.into_iter().enumerate() {
            for (item, loss) in part? {
                losses[task / self.number][item] = loss;
            }
        }
        Ok(losses)
    }

    /// The items of a fold with their log-losses by a fit to the others.
    fn fold(&self, fold: usize, without: &[usize]) -> Result<Vec<(usize, f64)>> {
        let schema = self.labelled.schema();
        let kept = (0..schema.n_classifiers()).filter(|source| !without.contains(source));
        let kept: Vec<&String> = kept.map(|source| &schema.classifiers()[source]).collect();
        let schema = Arc::new(Schema::new(kept, schema.classes())?);
        let (inside, outside) = folds::split(&self.folds, fold);
        let mut train = self.labelled.select_items(&outside).select(&schema)?;
        if self.unlabelled.n_items() > 0 {
            train.append(self.unlabelled.select(&schema)?)?;
        }
        let progress = CancelOnly(self.progress);
        let model = Model::fit_under(self.config.clone(), &train, self.prior, &progress)?;
        let test = self.labelled.select_items(&inside).select(model.schema())?;
        let fused = fuse(model.fusion(), &test, self.prior)?;
        let loss = |(i, &item): (usize, &usize)| {
            (item, log_loss(fused.probabilities(i), self.labels[item]))
        };
        Ok(inside.iter().enumerate().map(loss).collect())
    }

    fn mean(&self, values: &[f64]) -> SampleMean {
        weighted_mean(values, &self.labels, self.prior, self.weighting)
    }

    /// The mean of the paired differences, with its 95 % interval.
    fn difference(&self, losses: &[f64], from: &[f64]) -> Difference {
        let differences: Vec<f64> = losses.iter().zip(from).map(|(a, b)| a - b).collect();
        Difference::of(self.mean(&differences), NORMAL_975)
    }
}

/// What is known when sources are chosen.
struct Choice<'a> {
    refits: &'a Refits<'a>,
    /// Losses with all sources.
    all: &'a [f64],
    /// Losses without each source.
    single: &'a [Vec<f64>],
    worth: &'a [Difference],
}

impl Choice<'_> {
    /// The decision for every source, and those to drop with their common loss.
    #[allow(clippy::type_complexity, reason = "two results of one pass")]
    fn decide(
        &self,
        prices: &[Option<f64>],
        tolerance: f64,
    ) -> Result<(Vec<SourceDecision>, Option<(Vec<usize>, Difference)>)> {
        let is_clear = |worth: &Difference| worth.low > 0.0;
        let first =
            |worth| if is_clear(worth) { SourceDecision::Keep } else { SourceDecision::Undecided };
        let mut decisions: Vec<SourceDecision> = self.worth.iter().map(first).collect();
        let mut dropped: Vec<usize> = Vec::new();
        let (mut losses, mut loss) = (self.all.to_vec(), None);
        for source in self.in_order(prices) {
            let too_much = self.worth[source].high > tolerance;
            let is_last = dropped.len() + 1 == self.worth.len();
            if too_much || is_last || decisions[source] == SourceDecision::Keep {
                continue;
            }
            let with = [&dropped[..], &[source]].concat();
            let without = if dropped.is_empty() {
                self.single[source].clone()
            } else {
                self.refits
                    .losses("refitting without several sources", std::slice::from_ref(&with))?
                    .remove(0)
            };
            let together = self.refits.difference(&without, self.all);
            if together.high <= tolerance {
                decisions[source] = SourceDecision::Drop;
                (dropped, losses, loss) = (with, without, Some(together));
            } else if is_clear(&self.refits.difference(&without, &losses)) {
                decisions[source] = SourceDecision::Keep;
            }
        }
        Ok((decisions, loss.map(|loss| (dropped, loss))))
    }

    /// The sources in the order in which they are tried: by worth or, if every price is known, by
    /// the largest plausible worth (the upper end of the interval) per price; the least first.
    fn in_order(&self, prices: &[Option<f64>]) -> Vec<usize> {
        let priced = prices.iter().all(Option::is_some);
        let value = |source: usize| match (self.worth[source], prices[source]) {
            (worth, Some(price)) if priced && price > 0.0 => worth.high.max(0.0) / price,
            (_, Some(_)) if priced => f64::INFINITY,
            (worth, _) => worth.mean,
        };
        let mut order: Vec<usize> = (0..self.worth.len()).collect();
        order.sort_by(|a, b| value(*a).total_cmp(&value(*b)));
        order
    }
}
