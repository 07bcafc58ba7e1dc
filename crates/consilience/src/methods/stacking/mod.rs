//! Stacking: multinomial logistic regression on the logarithms of all outputs.
//!
//! ```text
//! P(t|x) ∝ pₜ exp(cₜ + Σₖⱼ Wₜₖⱼ gᵏⱼ),   g = ln max(x, 1e-3), renormalised after the floor
//! ```
//!
//! The discriminative twin of the independent model, which is linear in ln x as well: here the
//! coefficients are free, so that classifiers with similar outputs share their weight. The weights of
//! standardised logarithms have a normal prior. Class frequencies are kept out of W and c, so that
//! the class prior p can be changed without refitting. Logarithms of absent classifiers are filled
//! in ([`FillParameters`]); without any output the answer is the class prior.

mod config;
mod describe;
mod fill;
mod fit;
pub(super) mod logs;
pub(super) mod scoring;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use config::{ClassBalance, Ridge, Stacking};
pub(super) use describe::describe_logistic;
pub use fit::FittedStacking;
pub(super) use fit::{LabelledItems, POOL_MAY_BE_BETTER, logistic_parameters};
pub use logs::FillParameters;
pub(super) use logs::{Filler, LogTable, floored_logs, linear_floor};

use super::log_linear::LogLinear;
use super::{Block, FitDetails, FittedMethod, Fusion};
use crate::data::class_prior::ClassPrior;
use crate::data::outputs::Items;
use crate::data::schema::Schema;
use crate::error::{Error, Result};
use crate::formula::{Scoring, Value as FormulaValue};
use crate::simulation::Truth;
use serde_json::{Value, json};

/// A linear predictor of every class: Vₜ = cₜ + Σₖⱼ Wₜₖⱼ gᵏⱼ.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogisticParameters {
    /// cₜ.
    pub bias: Vec<f64>,
    /// Wₜₖⱼ at `[t][k][j]`.
    pub weights: Vec<Vec<Vec<f64>>>,
}

/// The parameters of stacking.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StackingParameters {
    /// The linear predictors.
    pub logistic: LogisticParameters,
    /// Fills in absent classifiers; by the mean of those present if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fill: Option<FillParameters>,
}

/// Stacking with its parameters.
///
/// # Example
/// ```
/// use consilience::{Stacking, simulation::Preset};
///
/// let truth = Preset::Sim2.truth(0.5)?;
/// let model = Stacking::default().fit(&truth.simulate(200, 1)?)?;
/// let fused = model.fuse(&truth.simulate(10, 2)?)?;
/// assert_eq!(fused.n_items(), 30);
/// # Ok::<(), consilience::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct StackingFusion {
    schema: Arc<Schema>,
    logistic: Logistic,
    filler: Filler,
}

impl StackingFusion {
    /// Checks shape and range of the parameters.
    pub fn new(schema: Arc<Schema>, parameters: StackingParameters) -> Result<Self> {
        let logistic = Logistic::new(&schema, parameters.logistic)?;
        let filler = Filler::new(&schema, parameters.fill)?;
        Ok(Self { schema, logistic, filler })
    }

    /// The parameters.
    pub fn parameters(&self) -> StackingParameters {
        StackingParameters {
            logistic: self.logistic.parameters.clone(),
            fill: self.filler.parameters().cloned(),
        }
    }
}

impl FittedMethod for StackingFusion {
    fn file_parameters(&self) -> Value {
        json!(self.parameters())
    }

    fn describe(&self, _: &FitDetails<'_>) -> Result<String> {
        Ok(describe_logistic(&self.schema, &self.parameters().logistic))
    }

    fn ln_joint_formula(&self, scoring: &mut Scoring) -> Result<FormulaValue, &'static str> {
        let logs = scoring::filled_logs(&self.filler, scoring);
        let predictor = scoring::predictor(&self.logistic.parameters, scoring, logs);
        let joint = scoring.formula.add(predictor, scoring.ln_prior);
        Ok(scoring.or_prior(joint))
    }

    fn truth(&self) -> Result<Truth, &'static str> {
        Err("it predicts classes and does not model the classifiers")
    }
}

impl Fusion for StackingFusion {
    fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    fn ln_joint(&self, items: &Items<'_>, prior: &ClassPrior, block: &mut Block) {
        block.add_per_class(prior.ln());
        block.load_logs(items);
        block.raise_logs(items, linear_floor(items.n_classes()));
        self.logistic.evidence.add_to(block);
        for_incomplete(items, &self.filler, |item, incomplete| {
            let mut joint = prior.ln().to_vec();
            let size = match &incomplete {
                None => 1.0,
                Some(Incomplete { logs, .. }) => self.logistic.add_to(logs, &mut joint),
            };
            block.set_item(item, &joint, FILL_ERROR * size);
        });
    }

    fn ln_density(&self, _: &Items<'_>, _: &mut Block) -> Result<()> {
        Err(Error::unsupported(
            "stacking",
            "has no density: a regression does not model the classifiers",
        ))
    }
}

/// Relative error of predictors whose logarithms were partly filled in: the covariance of the
/// present ones has a condition of at most some 1e4, thanks to its ridge.
pub(super) const FILL_ERROR: f64 = 1e-12;

/// An item of which some classifiers are absent.
pub(super) struct Incomplete {
    pub(super) present: Vec<bool>,
    /// All logarithms, the absent ones filled in.
    pub(super) logs: Vec<f64>,
}

/// Hands every item with absent classifiers to `f`: `None` if all of them are.
pub(super) fn for_incomplete(
    items: &Items<'_>,
    filler: &Filler,
    mut f: impl FnMut(usize, Option<Incomplete>),
) {
    if !items.any_missing() {
        return;
    }
    let (k, j) = (items.n_classifiers(), items.n_classes());
    for item in 0..items.len() {
        let present: Vec<bool> = (0..k).map(|c| items.output(item, c).is_some()).collect();
        if present.iter().all(|p| *p) {
            continue;
        }
        if !present.contains(&true) {
            f(item, None);
            continue;
        }
        let mut logs = vec![0.0; k * j];
        for (c, output) in items.present(item) {
            floored_logs(output, &mut logs[c * j..][..j]);
        }
        filler.fill(&present, &mut logs);
        f(item, Some(Incomplete { present, logs }));
    }
}

/// Linear predictors, ready for use.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Logistic {
    pub(super) parameters: LogisticParameters,
    pub(super) evidence: LogLinear,
}

/// Largest size of a coefficient; larger ones are a mistake, and would overflow.
pub(super) const LARGEST_COEFFICIENT: f64 = 1e6;

impl Logistic {
    pub(super) fn new(schema: &Schema, parameters: LogisticParameters) -> Result<Self> {
        let (k, j) = (schema.n_classifiers(), schema.n_classes());
        let LogisticParameters { bias, weights } = &parameters;
        let fits = bias.len() == j
            && weights.len() == j
            && weights.iter().all(|row| row.len() == k && row.iter().all(|w| w.len() == j));
        if !fits {
            return Err(Error::mismatch(
                "shapes of `logistic` and the model",
                format!("{j} biases and weights of {j} × {k} × {j}"),
                format!("{} biases and {} rows", bias.len(), weights.len()),
            ));
        }
        let all = bias.iter().chain(weights.iter().flatten().flatten());
        if let Some(value) = all.copied().find(|value| !(value.abs() <= LARGEST_COEFFICIENT)) {
            return Err(Error::parameter("logistic", "numbers of at most 1e6 in size", value));
        }
        // `LogLinear` keeps a constant for every classifier; the bias goes with the first.
        let mut constants = vec![0.0; k * j];
        constants[..j].copy_from_slice(bias);
        let coefficients = (0..k).flat_map(|k| weights.iter().flat_map(move |row| row[k].clone()));
        let size = bias.iter().fold(0.0f64, |max, b| max.max(b.abs()));
        let evidence = LogLinear::new(j, constants, coefficients.collect(), size);
        Ok(Self { parameters, evidence })
    }

    /// Adds V to `joint` for one item's logarithms; returns the size of its terms.
    pub(super) fn add_to(&self, logs: &[f64], joint: &mut [f64]) -> f64 {
        let LogisticParameters { bias, weights } = &self.parameters;
        let mut largest = 1.0f64;
        for ((joint, bias), rows) in joint.iter_mut().zip(bias).zip(weights) {
            let terms = || rows.iter().flatten().zip(logs).map(|(w, g)| w * g);
            *joint += bias + terms().sum::<f64>();
            largest = largest.max(bias.abs() + terms().map(f64::abs).sum::<f64>());
        }
        largest
    }
}
