//! Learning the weights.

use std::sync::Arc;

use nalgebra::DMatrix;
use serde_json::Value;

use super::config::{ClassBalance, OPTIONS, Ridge, Stacking};
use super::logit::{LogitPosterior, SharedFeatures};
use super::{LogTable, LogisticParameters, StackingFusion, StackingParameters};
use crate::data::class_prior::ClassPrior;
use crate::data::outputs::Outputs;
use crate::data::schema::Schema;
use crate::error::{Error, Result};
use crate::folds;
use crate::methods::{Fit, FitMethod, MethodOption, TrainingSet, fuse, read};
use crate::warning::Warning;

/// The result of fitting stacking.
#[derive(Debug, Clone, PartialEq)]
pub struct FittedStacking {
    /// The fitted rule.
    pub fusion: StackingFusion,
    /// The prior standard deviation that was used.
    pub sd: f64,
    /// Warnings for the user.
    pub warnings: Vec<Warning>,
}

/// Candidates of the ridge, and folds to choose among them.
const SDS: [f64; 5] = [0.1, 0.3, 1.0, 3.0, 10.0];
const RIDGE_FOLDS: usize = 5;

impl FitMethod for Stacking {
    type Fitted = StackingFusion;

    const OPTIONS: &'static [MethodOption] = OPTIONS;

    fn fit_method(&self, data: &TrainingSet<'_>) -> Result<Fit<StackingFusion>> {
        let FittedStacking { fusion, warnings, .. } = self.learn(data.outputs)?;
        Ok(Fit::new(fusion, warnings))
    }

    fn read_parameters(schema: Arc<Schema>, parameters: Value) -> Result<StackingFusion> {
        StackingFusion::new(schema, read(parameters)?)
    }
}

impl Stacking {
    /// Fits the rule to labelled outputs.
    #[doc(hidden)]
    pub fn learn(&self, outputs: &Outputs) -> Result<FittedStacking> {
        self.check()?;
        let training = LabelledItems::new(outputs)?;
        let sd = match self.ridge {
            Ridge::Sd(sd) => sd,
            Ridge::CrossValidated => self.choose_sd(&training)?,
        };
        let (fusion, converged) = self.fit_with(&training, sd)?;
        let mut warnings =
            training.few_items_warning(POOL_MAY_BE_BETTER).into_iter().collect::<Vec<_>>();
        if !converged {
            let message = "the fit of the stacking weights stopped before its optimum";
            warnings.push(Warning::convergence(message.into()));
        }
        Ok(FittedStacking { fusion, sd, warnings })
    }

    fn fit_with(&self, training: &LabelledItems, sd: f64) -> Result<(StackingFusion, bool)> {
        let schema = training.outputs.schema();
        let table = LogTable::new(&training.outputs)?;
        let (logistic, converged) = fit_logistic(&table.logs, training, self.balance, sd);
        let fill = table.filler.parameters().cloned();
        let parameters = StackingParameters { logistic, fill };
        Ok((StackingFusion::new(Arc::clone(schema), parameters)?, converged))
    }

    /// The candidate with the smallest out-of-fold log-loss, classes weighted equally; the default
    /// where the classes are too small for folds.
    fn choose_sd(&self, training: &LabelledItems) -> Result<f64> {
        let n_classes = training.class_weights.len();
        if training.outputs.class_counts().iter().any(|count| *count < 2) {
            return Ok(1.0);
        }
        let folds = folds::stratified(&training.labels, n_classes, RIDGE_FOLDS, self.seed);
        let prior = ClassPrior::uniform(n_classes);
        let mut losses = [0.0; SDS.len()];
        for fold in 0..RIDGE_FOLDS {
            let (inside, outside) = folds::split(&folds, fold);
            if inside.is_empty() {
                continue;
            }
            let part = LabelledItems::new(&training.outputs.select_items(&outside))?;
            let held_out = training.outputs.select_items(&inside);
            for (loss, sd) in losses.iter_mut().zip(SDS) {
                let fused = fuse(&self.fit_with(&part, sd)?.0, &held_out, &prior)?;
                for (i, &item) in inside.iter().enumerate() {
                    let label = training.labels[item];
                    let p = fused.probabilities(i)[label].max(f64::MIN_POSITIVE);
                    *loss -= training.weights[item] * p.ln() / training.class_weights[label];
                }
            }
        }
        let best = (0..SDS.len()).min_by(|&a, &b| losses[a].total_cmp(&losses[b]));
        Ok(best.map_or(1.0, |best| SDS[best]))
    }
}

/// Labelled items that have at least one output each.
pub(in crate::methods) struct LabelledItems {
    pub(in crate::methods) outputs: Outputs,
    pub(in crate::methods) labels: Vec<usize>,
    /// The weight of every item, and of all items of every class, none 0.
    pub(in crate::methods) weights: Vec<f64>,
    pub(in crate::methods) class_weights: Vec<f64>,
}

/// A class with fewer items causes a warning.
const FEW_ITEMS: f64 = 10.0;

impl LabelledItems {
    /// Leaves out items without any output; an error names a class without such items.
    pub(in crate::methods) fn new(outputs: &Outputs) -> Result<Self> {
        outputs.require_labels()?;
        let counts = outputs.class_counts();
        let training = Self::informative(outputs);
        if let Some(class) = training.class_weights.iter().position(|weight| *weight == 0.0) {
            let name = outputs.schema().classes()[class].clone();
            return Err(match counts[class] {
                0 => Error::EmptyClass { class: name },
                _ => Error::NoOutputs { class: name },
            });
        }
        Ok(training)
    }

    /// Leaves out items without a label or without any output. Classes may be empty.
    pub(in crate::methods) fn informative(outputs: &Outputs) -> Self {
        let all = outputs.all();
        let usable =
            |item: &usize| outputs.label(*item).is_some() && all.present(*item).next().is_some();
        let informative: Vec<usize> = (0..all.len()).filter(usable).collect();
        let outputs = if informative.len() == outputs.n_items() {
            outputs.clone()
        } else {
            outputs.select_items(&informative)
        };
        let (weights, class_weights) = (outputs.weights(), outputs.class_weights());
        let labels = (0..outputs.n_items()).filter_map(|item| outputs.label(item)).collect();
        Self { outputs, labels, weights, class_weights }
    }

    pub(in crate::methods) fn schema(&self) -> &Arc<Schema> {
        self.outputs.schema()
    }

    /// ln of the share of every class, half an item added to each.
    pub(in crate::methods) fn ln_shares(&self) -> Vec<f64> {
        let n: f64 = self.class_weights.iter().map(|weight| weight + 0.5).sum();
        self.class_weights.iter().map(|weight| ((weight + 0.5) / n).ln()).collect()
    }

    /// A warning that names the classes with few items and the `consequence`.
    pub(in crate::methods) fn few_items_warning(&self, consequence: &str) -> Option<Warning> {
        let named = self.schema().classes().iter().zip(&self.class_weights);
        let few: Vec<String> = named
            .filter(|(_, count)| **count < FEW_ITEMS)
            .map(|(class, count)| format!("`{class}` ({count})"))
            .collect();
        (!few.is_empty()).then(|| {
            let few = few.join(", ");
            Warning::data(format!(
                "fewer than {FEW_ITEMS} training items in class {few}: {consequence}"
            ))
        })
    }
}

/// The consequence of few items for a method that learns from labels alone.
pub(in crate::methods) const POOL_MAY_BE_BETTER: &str =
    "with so few, `auto` or a plain pool may predict better";

/// Fits the linear predictors on logarithms, K·J × n, whose weights are N(0, `sd`²) after
/// standardising; biases are N(0, 1). Returns them for the logarithms as they are, and whether the
/// search ended at its optimum.
pub(in crate::methods) fn fit_logistic(
    logs: &DMatrix<f64>,
    training: &LabelledItems,
    balance: ClassBalance,
    sd: f64,
) -> (LogisticParameters, bool) {
    let width = logs.nrows();
    let n_classes = training.class_weights.len();
    let (features, moments) = standardised(logs, &training.weights);
    let design = SharedFeatures::new(features, n_classes);
    let (offsets, weights) = match balance {
        ClassBalance::Offset => (training.ln_shares(), training.weights.clone()),
        ClassBalance::Weights => {
            let equal = training.weights.iter().sum::<f64>() / n_classes as f64;
            let items = training.weights.iter().zip(&training.labels);
            let weight =
                |(weight, label): (&f64, &usize)| weight * (equal / training.class_weights[*label]);
            (vec![0.0; n_classes], items.map(weight).collect())
        }
    };
    let mut precisions = vec![sd.powi(-2); width + 1];
    precisions[width] = 1.0;
    let posterior = LogitPosterior {
        design: &design,
        labels: &training.labels,
        weights: &weights,
        offsets: &offsets,
        means: vec![0.0; (width + 1) * n_classes],
        precisions: precisions.repeat(n_classes),
    };
    let (theta, converged) = posterior.solve();
    let (mut bias, mut rows) = (Vec::new(), Vec::new());
    for theta in theta.chunks_exact(width + 1) {
        let raw: Vec<f64> = theta.iter().zip(&moments).map(|(w, (_, scale))| w / scale).collect();
        bias.push(theta[width] - raw.iter().zip(&moments).map(|(w, (m, _))| w * m).sum::<f64>());
        rows.push(raw.chunks_exact(n_classes).map(<[f64]>::to_vec).collect());
    }
    (LogisticParameters { bias, weights: rows }, converged)
}

/// Smaller standard deviations of logarithms count as this: a nearly constant logarithm divided by
/// its tiny deviation would get a huge coefficient.
const SMALLEST_DEVIATION: f64 = 0.1;

/// (g − mean) / standard deviation, n × (K·J + 1) with a last column of ones, and the mean and
/// deviation of every logarithm.
fn standardised(logs: &DMatrix<f64>, weights: &[f64]) -> (DMatrix<f64>, Vec<(f64, f64)>) {
    let (width, n) = logs.shape();
    let total = weights.iter().sum::<f64>();
    let mut features = DMatrix::from_element(n, width + 1, 1.0);
    let mut moments = Vec::with_capacity(width);
    for (f, row) in logs.row_iter().enumerate() {
        let counted = || row.iter().zip(weights);
        let mean = counted().map(|(g, w)| w * g).sum::<f64>() / total;
        let variance = counted().map(|(g, w)| w * (g - mean).powi(2)).sum::<f64>() / total;
        let scale = variance.sqrt().max(SMALLEST_DEVIATION);
        features.column_mut(f).iter_mut().zip(&row).for_each(|(z, g)| *z = (g - mean) / scale);
        moments.push((mean, scale));
    }
    (features, moments)
}
