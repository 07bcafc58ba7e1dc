//! The share of every class among items, with intervals.
//!
//! By the model: the mean fused probability. With some labels: prediction-powered inference
//! (Angelopoulos et al., 2023) with a tuned weight λ of the predictions. With the mean f̄ over all N
//! items, and ȳ and f̄ₗ over the n labelled ones,
//!
//! ```text
//! θ = ȳ + λ (f̄ − f̄ₗ),   λ = Σ cov(y, f) / Σ var(f), from 0 to 1, summed over classes
//! ```
//!
//! One λ for all classes, so that the shares add up to 1. Its variance is (1/n − 1/N) var(y − λf)
//! for the share among these items, and θ(1−θ)/N more for the share in the population that they
//! were drawn from. The interval is that of Wilson (1927) for the number of labels that would give
//! the same variance. If hardly any label is of the class, or of another class, the residuals y − λf
//! are far from normal; the interval is then that of the labels alone, without the predictions.

use std::fmt;

use serde::Serialize;

use super::interval::Interval;
use crate::data::class_prior::ClassPrior;
use crate::data::outputs::Outputs;
use crate::error::{Error, Result};
use crate::methods::{Fused, Fusion, fuse_into};
use crate::model::Model;
use crate::progress::{NoProgress, Progress};
use crate::text::aligned;
use consilience_numerics::special::normal_quantile;

/// Coverage of the intervals.
const LEVEL: f64 = 0.95;

/// Items as by which the variance of calibrated predictions enters var(y − λf): without it, ten
/// labels of one class would have no variance.
const PRIOR_ITEMS: f64 = 2.0;

/// With fewer labels of a class than this, and a smaller share than [`RARE`], its interval rests on the
/// labels alone; the same holds for labels of other classes. With 3, the interval of a class of 3 %
/// under a wrong class prior covers 93 % at 100 labels, with 5 and 8 97 to 98 % (prototype, 600
/// tables).
const FEW: f64 = 5.0;

/// The share of labels below which a class can be rare: without it, ten labels would never use the
/// predictions.
const RARE: f64 = 0.15;

/// Fewest labels that correct the model.
const FEWEST_LABELS: u64 = 2;

/// What a share is a share of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PrevalenceTarget {
    /// The population that the items were drawn from.
    #[default]
    Population,
    /// The items of the table themselves.
    Items,
}

/// The shares of one class.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClassShare {
    /// The class.
    pub class: String,
    /// Mean fused probability. Its interval is right if the fused probabilities are calibrated.
    pub by_model: Interval,
    /// Corrected by the labelled items; none with fewer than two.
    pub corrected: Option<Interval>,
    /// Number of labelled items of the class.
    pub labelled: u64,
}

/// The share of every class. [`Display`](fmt::Display) prints a table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Prevalence {
    /// Nominal coverage of the intervals, 0.95.
    pub level: f64,
    /// What the shares are shares of.
    pub target: PrevalenceTarget,
    /// Number of items.
    pub n_items: u64,
    /// Number of items with a label.
    pub n_labelled: u64,
    /// Weight of the predictions in the corrected shares.
    pub lambda: Option<f64>,
    /// Labelled items that the model was fitted to, by class; empty if it is not known.
    pub fitted_on: Vec<u64>,
    /// The shares of every class.
    pub classes: Vec<ClassShare>,
}

impl Model {
    /// Estimates the share of every class in the population that the items were drawn from;
    /// [`prevalence`] has options.
    ///
    /// # Example
    /// ```
    /// use consilience::{Auto, simulation::Preset};
    ///
    /// let truth = Preset::Sim2.truth(0.5)?;
    /// let model = Auto::default().fit(&truth.simulate(100, 1)?)?;
    /// let found = model.prevalence(&truth.simulate(200, 2)?)?;
    /// assert!((found.classes[0].corrected.unwrap().value - 1.0 / 3.0).abs() < 1e-12);
    /// # Ok::<(), consilience::Error>(())
    /// ```
    pub fn prevalence(&self, outputs: &Outputs) -> Result<Prevalence> {
        let (outputs, target) = (self.own_outputs(outputs)?, PrevalenceTarget::default());
        prevalence(self, self.fusion(), &outputs, self.class_prior(), target, &NoProgress)
    }
}

/// Computes the share of every class under the given class prior. Items without a label are used,
/// too; labelled ones correct the model. [`Model::prevalence`] does so with default options.
///
/// The labelled items must be a random sample of the items, and the model must not have been fitted
/// to them: on its training items the model seems better than it is, and intervals are too short.
pub fn prevalence(
    model: &Model,
    fusion: &dyn Fusion,
    outputs: &Outputs,
    prior: &ClassPrior,
    target: PrevalenceTarget,
    progress: &dyn Progress,
) -> Result<Prevalence> {
    let mut sums = ShareSums::new(model.schema().n_classes());
    sums.add(fusion, outputs, prior, progress)?;
    sums.prevalence(model, target)
}

/// Sums over the items of a table, which may come in parts.
#[derive(Debug, Clone, Default)]
pub struct ShareSums {
    n_items: u64,
    classes: Vec<ClassSums>,
    fused: Fused,
}

/// Sums of one class: f is its fused probability, y is 1 for items of the class and 0 for others.
#[derive(Debug, Clone, Copy, Default)]
struct ClassSums {
    f: f64,
    f_squared: f64,
    labelled: u64,
    labelled_f: f64,
    labelled_f_squared: f64,
    yf: f64,
}

impl ShareSums {
    /// Sums over no items.
    pub fn new(n_classes: usize) -> Self {
        Self { classes: vec![ClassSums::default(); n_classes], ..Self::default() }
    }

    /// Adds items.
    pub fn add(
        &mut self,
        fusion: &dyn Fusion,
        outputs: &Outputs,
        prior: &ClassPrior,
        progress: &dyn Progress,
    ) -> Result<()> {
        let mut fused = std::mem::take(&mut self.fused);
        let done = fuse_into(fusion, outputs, prior, &mut fused, progress);
        if done.is_ok() {
            self.add_fused(outputs, &fused);
        }
        self.fused = fused;
        done
    }

    /// Adds items that are fused already.
    pub fn add_fused(&mut self, outputs: &Outputs, fused: &Fused) {
        self.n_items += outputs.n_items() as u64;
        for item in 0..outputs.n_items() {
            let label = outputs.label(item);
            let cells = self.classes.iter_mut().zip(fused.probabilities(item));
            for (class, (sums, f)) in cells.enumerate() {
                sums.f += f;
                sums.f_squared += f * f;
                if let Some(label) = label {
                    sums.labelled_f += f;
                    sums.labelled_f_squared += f * f;
                    sums.labelled += u64::from(label == class);
                    sums.yf += if label == class { *f } else { 0.0 };
                }
            }
        }
    }

    /// The shares with their intervals; an error without items.
    pub fn prevalence(&self, model: &Model, target: PrevalenceTarget) -> Result<Prevalence> {
        if self.n_items == 0 {
            return Err(Error::NoItems);
        }
        let n_labelled: u64 = self.classes.iter().map(|sums| sums.labelled).sum();
        let counts = Counts { all: self.n_items as f64, labelled: n_labelled as f64, target };
        let lambda = (n_labelled >= FEWEST_LABELS).then(|| self.lambda(counts));
        let share = |(class, sums): (&String, &ClassSums)| ClassShare {
            class: class.clone(),
            by_model: sums.by_model(counts),
            corrected: lambda.map(|lambda| sums.corrected(lambda, counts)),
            labelled: sums.labelled,
        };
        let fitted_on = model.training().map(|t| t.statistics.class_counts().to_vec());
        Ok(Prevalence {
            level: LEVEL,
            target,
            n_items: self.n_items,
            n_labelled,
            lambda,
            fitted_on: fitted_on.unwrap_or_default(),
            classes: model.schema().classes().iter().zip(&self.classes).map(share).collect(),
        })
    }

    /// The weight of the predictions that minimises the sum of the classes' variances.
    fn lambda(&self, counts: Counts) -> f64 {
        let n = counts.labelled;
        let covariance =
            |sums: &ClassSums| (sums.yf - sums.labelled as f64 * sums.labelled_f / n) / (n - 1.0);
        let covariances: f64 = self.classes.iter().map(covariance).sum();
        let variances: f64 = self.classes.iter().map(|sums| sums.variance(counts)).sum();
        if variances > 0.0 { (covariances / variances).clamp(0.0, 1.0) } else { 0.0 }
    }
}

/// Numbers of items, and what the shares are shares of.
#[derive(Clone, Copy)]
struct Counts {
    all: f64,
    labelled: f64,
    target: PrevalenceTarget,
}

impl ClassSums {
    /// The variance of the fused probability over all items.
    fn variance(&self, Counts { all, .. }: Counts) -> f64 {
        ((self.f_squared - self.f * self.f / all) / (all - 1.0).max(1.0)).max(0.0)
    }

    fn by_model(&self, counts: Counts) -> Interval {
        let value = self.f / counts.all;
        let variance = match counts.target {
            PrevalenceTarget::Population => self.variance(counts),
            PrevalenceTarget::Items => (self.f - self.f_squared).max(0.0) / counts.all,
        };
        let half = quantile() * (variance / counts.all).sqrt();
        Interval { value, low: (value - half).max(0.0), high: (value + half).min(1.0) }
    }

    fn corrected(&self, lambda: f64, counts: Counts) -> Interval {
        let Counts { all, labelled: n, target } = counts;
        let (y, f) = (self.labelled as f64, self.labelled_f);
        let value = y / n + lambda * (self.f / all - f / n);
        let squares = y - 2.0 * lambda * self.yf + lambda * lambda * self.labelled_f_squared;
        let residual = (squares - (y - lambda * f).powi(2) / n).max(0.0);
        let if_calibrated = (self.f - self.f_squared).max(0.0) / all
            + (1.0 - lambda).powi(2) * self.variance(counts);
        let variance = (residual + PRIOR_ITEMS * if_calibrated) / (n - 1.0 + PRIOR_ITEMS);
        let inner = value.clamp(0.5 / all, 1.0 - 0.5 / all);
        let of_labels = (1.0 / n - 1.0 / all).max(0.0);
        let of_items = match target {
            PrevalenceTarget::Population => 1.0 / all,
            PrevalenceTarget::Items => 0.0,
        };
        let [low, high] = if y.min(n - y) < FEW.min(RARE * n) {
            wilson(y / n, of_labels + of_items)
        } else {
            wilson(inner, of_labels * variance / (inner * (1.0 - inner)) + of_items)
        };
        let value = value.clamp(0.0, 1.0);
        Interval { value, low: low.min(value), high: high.max(value) }
    }
}

fn quantile() -> f64 {
    normal_quantile(0.5 + LEVEL / 2.0)
}

/// Wilson's interval of a share among as many labels as the inverse of `per_label`.
fn wilson(share: f64, per_label: f64) -> [f64; 2] {
    let a = quantile().powi(2) * per_label;
    let half = (share * (1.0 - share) * a + 0.25 * a * a).sqrt();
    [-half, half].map(|side| ((share + 0.5 * a + side) / (1.0 + a)).clamp(0.0, 1.0))
}

impl Prevalence {
    /// What the intervals rest on, in one or two sentences.
    pub fn note(&self) -> String {
        let of = match self.target {
            PrevalenceTarget::Population => "in the population that the items were drawn from",
            PrevalenceTarget::Items => "among these items",
        };
        match self.lambda {
            Some(lambda) => format!(
                "shares {of}, 95 % intervals; `corrected` by {} labelled items, which must be a \
                 random sample and unknown to the model (weight of the predictions {lambda:.2})",
                self.n_labelled
            ),
            None => format!(
                "shares {of}, 95 % intervals; without labels they trust the calibration of the model \
                 and account for the sampling of {} items only",
                self.n_items
            ),
        }
    }

    /// Whether the labelled items are as many in every class as those that the model was fitted to,
    /// and so are probably the same.
    pub fn repeats_training(&self) -> bool {
        let own: Vec<u64> = self.classes.iter().map(|class| class.labelled).collect();
        self.n_labelled > 0 && own == self.fitted_on
    }
}

impl fmt::Display for Prevalence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text =
            |share: &Interval| format!("{:.4} ({:.4}–{:.4})", share.value, share.low, share.high);
        let row = |class: &ClassShare| {
            let mut row = vec![class.class.clone(), text(&class.by_model)];
            if let Some(corrected) = &class.corrected {
                row.extend([text(corrected), class.labelled.to_string()]);
            }
            row
        };
        let rows: Vec<Vec<String>> = self.classes.iter().map(row).collect();
        let header: &[&str] = match self.lambda {
            Some(_) => &["class", "by the model", "corrected", "labelled"],
            None => &["class", "by the model"],
        };
        write!(f, "{}{}", aligned(header, &rows), self.note())
    }
}
