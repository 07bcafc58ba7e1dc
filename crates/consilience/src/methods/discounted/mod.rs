//! The independent model with every classifier weighted by its independent share.
//!
//! ```text
//! P(t=j|x) ∝ pⱼ ∏ₖ Dir(xᵏ; αᵏⱼ)^wₖ
//! ```
//!
//! with the shares w of [`EvidenceCovariance`]: copies of a classifier change nothing, independent
//! classifiers count in full. For an item with missing outputs the shares are those among the
//! classifiers present. It repairs the independent model's double counting at no cost, but it has
//! no density: differences between correlated classifiers, which are evidence where the correlated
//! model is right, are lost.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::independent::{Alpha, Independent, IndependentFusion, describe_dirichlets};
use super::log_linear::{self, LogLinear};
use super::presence::{ByPresence, presence};
use super::shares::EvidenceCovariance;
use super::{
    Block, Fit, FitDetails, FitMethod, FittedMethod, Fusion, MethodOption, TrainingSet, read,
};
use crate::data::class_prior::ClassPrior;
use crate::data::outputs::Items;
use crate::data::schema::Schema;
use crate::error::{Error, Result};
use crate::formula::{MOST_TABULATED, Matrix, Scoring, Value as FormulaValue};
use crate::simulation::Truth;

/// Options of `discounted`: those of the independent model.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Discounted(pub Independent);

impl FitMethod for Discounted {
    type Fitted = DiscountedFusion;

    const OPTIONS: &'static [MethodOption] = Independent::OPTIONS;
    const NEEDS_SEVERAL: bool = true;

    fn needs_every_class(&self) -> bool {
        true
    }

    fn needs_every_output(&self) -> bool {
        true
    }

    fn fit_method(&self, data: &TrainingSet<'_>) -> Result<Fit<DiscountedFusion>> {
        // Draws are not kept: the shares belong to the point estimate.
        let options = Independent { keep_draws: 0, ..self.0.clone() };
        let fit = options.fit_method(data)?;
        let covariance = EvidenceCovariance::of(data.outputs, fit.fitted.alpha(), data.progress)?;
        let fitted = DiscountedFusion::new(fit.fitted, covariance)?;
        Ok(Fit { fitted, report: fit.report })
    }

    fn read_parameters(schema: Arc<Schema>, parameters: Value) -> Result<DiscountedFusion> {
        let Parameters { alpha, covariance } = read(parameters)?;
        DiscountedFusion::new(IndependentFusion::new(schema, alpha)?, covariance)
    }
}

/// The form in the model file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    alpha: Alpha,
    covariance: EvidenceCovariance,
}

/// Dirichlets and the covariance of the evidence that they give.
#[derive(Debug, Clone, PartialEq)]
pub struct DiscountedFusion {
    margins: IndependentFusion,
    covariance: EvidenceCovariance,
    /// Shares among all classifiers.
    shares: Vec<f64>,
    /// The evidence weighted with these shares.
    complete: LogLinear,
}

impl DiscountedFusion {
    /// From Dirichlets and the covariance of their evidence.
    pub fn new(margins: IndependentFusion, covariance: EvidenceCovariance) -> Result<Self> {
        let n = margins.alpha().len();
        if covariance.n_classifiers() != n {
            return Err(Error::mismatch(
                "rows of `covariance` and classifiers",
                n,
                covariance.n_classifiers(),
            ));
        }
        let shares = covariance.shares(|_| true);
        let complete = margins.weighted_evidence(&shares);
        Ok(Self { margins, covariance, shares, complete })
    }

    /// The Dirichlets.
    pub fn margins(&self) -> &IndependentFusion {
        &self.margins
    }

    /// The covariance of the evidence.
    pub fn covariance(&self) -> &EvidenceCovariance {
        &self.covariance
    }

    /// The share of every classifier.
    pub fn shares(&self) -> &[f64] {
        &self.shares
    }
}

impl FittedMethod for DiscountedFusion {
    fn file_parameters(&self) -> Value {
        let alpha = self.margins.alpha().clone();
        json!(Parameters { alpha, covariance: self.covariance.clone() })
    }

    fn margins(&self) -> Result<Option<IndependentFusion>> {
        Ok(Some(self.margins.clone()))
    }

    fn evidence_covariance(&self) -> Option<&EvidenceCovariance> {
        Some(&self.covariance)
    }

    fn describe(&self, details: &FitDetails<'_>) -> Result<String> {
        describe_dirichlets(details, &self.margins)
    }

    fn ln_joint_formula(&self, scoring: &mut Scoring) -> Result<FormulaValue, &'static str> {
        let n = scoring.n_classifiers;
        let weights = if n <= MOST_TABULATED {
            let shares = |set: usize| self.covariance.shares(|k| set >> k & 1 == 1);
            let table: Vec<f64> = (0..1 << n).flat_map(shares).collect();
            scoring.formula.by_presence(Matrix::new(n, table), scoring.present)
        } else {
            // Without a table, items with missing outputs get no result.
            let f = &mut scoring.formula;
            let (shares, nan) = (f.constant(Matrix::column(&self.shares)), f.number(f64::NAN));
            let all = f.number(n as f64);
            let is_complete = f.is_at_least(scoring.n_present, all);
            f.select(is_complete, shares, nan)
        };
        let f = &mut scoring.formula;
        let logs = f.ln(scoring.outputs);
        let evidence = self.margins.evidence().formula(f, logs);
        let evidence = f.multiply(weights, evidence);
        let sum = scoring.sum_over_classifiers(evidence);
        Ok(scoring.formula.add(sum, scoring.ln_prior))
    }

    fn truth(&self) -> Result<Truth, &'static str> {
        Err("it has no density")
    }
}

impl Fusion for DiscountedFusion {
    fn schema(&self) -> &Arc<Schema> {
        self.margins.schema()
    }

    fn ln_joint(&self, items: &Items<'_>, prior: &ClassPrior, block: &mut Block) {
        if !items.any_missing() {
            block.add_per_class(prior.ln());
            return log_linear::add_evidence(&self.complete, items, block);
        }
        // items that lack the same classifiers have the same shares
        let mut rules: ByPresence<LogLinear> = ByPresence::default();
        let mut one = Block::default();
        for item in 0..items.len() {
            let present = presence(items, item);
            let rule = rules.get(&present, || {
                let shares = self.covariance.shares(|k| present[k]);
                self.margins.weighted_evidence(&shares)
            });
            let part = items.range(item..item + 1);
            one.reset(&part);
            log_linear::add_evidence(rule, &part, &mut one);
            block.copy_item(item, &one);
        }
        block.add_per_class(prior.ln());
    }

    fn ln_density(&self, _: &Items<'_>, _: &mut Block) -> Result<()> {
        Err(Error::unsupported("discounted", "has no density: weighted evidence is none"))
    }
}
