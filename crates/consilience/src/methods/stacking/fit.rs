//! Learning the weights.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;

use super::config::{ClassBalance, OPTIONS, Ridge, Stacking};
use super::{LogTable, LogisticParameters, StackingFusion, StackingParameters};
use crate::data::class_prior::ClassPrior;
use crate::data::outputs::Outputs;
use crate::data::schema::Schema;
use crate::error::{Error, Result};
use crate::folds;
use crate::methods::regression::{Blocks, LogMoments, LogisticRegression};
use crate::methods::{Fit, FitMethod, MethodOption, TrainingSet, fuse, read};
use crate::progress::{NoProgress, Progress};
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
        let FittedStacking { fusion, warnings, .. } =
            self.learn_with(data.outputs, data.progress)?;
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
        self.learn_with(outputs, &NoProgress)
    }

    fn learn_with(&self, outputs: &Outputs, progress: &dyn Progress) -> Result<FittedStacking> {
        self.check()?;
        let training = LabelledItems::new(outputs)?;
        let sd = match self.ridge {
            Ridge::Sd(sd) => sd,
            Ridge::CrossValidated => self.choose_sd(&training, progress)?,
        };
        let table = LogTable::new(&training.outputs, &training.outputs, progress)?;
        let (fusion, converged) = self.fit_with(&table, &training, sd, progress)?;
        let mut warnings =
            training.few_items_warning(POOL_MAY_BE_BETTER).into_iter().collect::<Vec<_>>();
        if !converged {
            let message = "the fit of the stacking weights stopped before its optimum";
            warnings.push(Warning::convergence(message.into()));
        }
        Ok(FittedStacking { fusion, sd, warnings })
    }

    fn fit_with(
        &self,
        table: &LogTable<'_>,
        training: &LabelledItems<'_>,
        sd: f64,
        progress: &dyn Progress,
    ) -> Result<(StackingFusion, bool)> {
        let schema = training.outputs.schema();
        let (logistic, converged) = fit_logistic(table, training, self.balance, sd, progress)?;
        let fill = table.filler.parameters().cloned();
        let parameters = StackingParameters { logistic, fill };
        Ok((StackingFusion::new(Arc::clone(schema), parameters)?, converged))
    }

    /// The candidate with the smallest out-of-fold log-loss, classes weighted equally; the default
    /// where the classes are too small for folds.
    fn choose_sd(&self, training: &LabelledItems<'_>, progress: &dyn Progress) -> Result<f64> {
        let n_classes = training.class_weights.len();
        if training.outputs.class_counts().iter().any(|count| *count < 2) {
            return Ok(1.0);
        }
        let labels = training.outputs.require_labels()?;
        let folds = folds::stratified(&labels, n_classes, RIDGE_FOLDS, self.seed);
        let prior = ClassPrior::uniform(n_classes);
        let mut losses = [0.0; SDS.len()];
        for fold in 0..RIDGE_FOLDS {
            let (inside, outside) = folds::split(&folds, fold);
            if inside.is_empty() {
                continue;
            }
            let part = training.outputs.select_items(&outside);
            let part = LabelledItems::new(&part)?;
            let table = LogTable::new(&part.outputs, &part.outputs, progress)?;
            let held_out = training.outputs.select_items(&inside);
            for (loss, sd) in losses.iter_mut().zip(SDS) {
                let (fusion, _) = self.fit_with(&table, &part, sd, progress)?;
                let fused = fuse(&fusion, &held_out, &prior)?;
                for (i, &item) in inside.iter().enumerate() {
                    let label = labels[item];
                    let p = fused.probabilities(i)[label].max(f64::MIN_POSITIVE);
                    let weight = training.outputs.weight(item);
                    *loss -= weight * p.ln() / training.class_weights[label];
                }
            }
        }
        let best = (0..SDS.len()).min_by(|&a, &b| losses[a].total_cmp(&losses[b]));
        Ok(best.map_or(1.0, |best| SDS[best]))
    }
}

/// Labelled items that have at least one output each.
pub(in crate::methods) struct LabelledItems<'a> {
    pub(in crate::methods) outputs: Cow<'a, Outputs>,
    /// The weight of all items of every class.
    pub(in crate::methods) class_weights: Vec<f64>,
}

/// A class with fewer items causes a warning.
const FEW_ITEMS: f64 = 10.0;

impl<'a> LabelledItems<'a> {
    /// Leaves out items without any output; an error names a class without such items.
    pub(in crate::methods) fn new(outputs: &'a Outputs) -> Result<Self> {
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
    pub(in crate::methods) fn informative(outputs: &'a Outputs) -> Self {
        let all = outputs.all();
        let usable =
            |item: &usize| outputs.label(*item).is_some() && all.present(*item).next().is_some();
        let outputs = if (0..all.len()).all(|item| usable(&item)) {
            Cow::Borrowed(outputs)
        } else {
            let informative: Vec<usize> = (0..all.len()).filter(usable).collect();
            Cow::Owned(outputs.select_items(&informative))
        };
        Self { class_weights: outputs.class_weights(), outputs }
    }

    /// The class of an item.
    pub(in crate::methods) fn label(&self, item: usize) -> usize {
        self.outputs.label(item).expect("all items have labels")
    }

    /// Number of items.
    pub(in crate::methods) fn len(&self) -> usize {
        self.outputs.n_items()
    }

    /// The sum of all weights.
    pub(in crate::methods) fn total_weight(&self) -> f64 {
        self.class_weights.iter().sum()
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

/// Fits the linear predictors on logarithms, whose weights are N(0, `sd`²) after standardising;
/// biases are N(0, 1). Returns them for the logarithms as they are, and whether the search ended at
/// its optimum.
fn fit_logistic(
    table: &LogTable<'_>,
    training: &LabelledItems<'_>,
    balance: ClassBalance,
    sd: f64,
    progress: &dyn Progress,
) -> Result<(LogisticParameters, bool)> {
    let blocks = Blocks::new(table, 1, progress)?;
    let moments = LogMoments::of(&blocks, progress)?;
    let n_classes = training.class_weights.len();
    let regression = LogisticRegression::new(moments, n_classes, sd);
    let (offsets, blocks) = match balance {
        ClassBalance::Offset => (training.ln_shares(), blocks),
        ClassBalance::Weights => {
            let equal = training.total_weight() / n_classes as f64;
            let factors = training.class_weights.iter().map(|weight| equal / weight).collect();
            (vec![0.0; n_classes], Blocks::weighted(table, 1, factors, progress)?)
        }
    };
    let fitted = regression.fit(&blocks, &offsets, progress)?;
    Ok((logistic_parameters(&regression, &fitted.theta, n_classes), fitted.converged))
}

/// The predictors on logarithms as they are.
pub(in crate::methods) fn logistic_parameters(
    regression: &LogisticRegression,
    theta: &[f64],
    n_classes: usize,
) -> LogisticParameters {
    let of_classes = theta.chunks_exact(theta.len() / n_classes);
    let (bias, rows): (Vec<f64>, Vec<Vec<f64>>) =
        of_classes.map(|theta| regression.moments().raw(theta)).unzip();
    let of_sources = |row: Vec<f64>| row.chunks_exact(n_classes).map(<[f64]>::to_vec).collect();
    LogisticParameters { bias, weights: rows.into_iter().map(of_sources).collect() }
}
