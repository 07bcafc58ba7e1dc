//! The meta classifier: the independent model of one classifier alone.
//!
//! ```text
//! P(t=j|x) ∝ pⱼ Dir(x; αⱼ)
//! ```
//!
//! It recalibrates the classifier: the fused probability is the one that the classifier's outputs
//! deserve, given its outputs on the training items.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::independent::{Independent, IndependentFusion};
use super::method::Draw;
use super::{Block, Fit, FitMethod, FittedMethod, Fusion, MethodOption, TrainingSet};
use crate::data::class_prior::ClassPrior;
use crate::data::outputs::Items;
use crate::data::schema::Schema;
use crate::error::{Error, Result};
use crate::export::{Scoring, Value as FormulaValue};
use crate::model::Model;
use crate::simulation::Truth;

/// Options of `meta:<classifier>`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Meta {
    /// Name of the classifier.
    pub classifier: String,
    /// Options of its Dirichlets.
    #[serde(flatten)]
    pub dirichlets: Independent,
}

impl Meta {
    /// The meta classifier of a classifier, with default options.
    pub fn of(classifier: impl Into<String>) -> Self {
        Self { classifier: classifier.into(), ..Self::default() }
    }
}

impl FitMethod for Meta {
    type Fitted = MetaFusion;

    const OPTIONS: &'static [MethodOption] = Independent::OPTIONS;

    fn needs_every_class(&self) -> bool {
        self.dirichlets.needs_every_class()
    }

    fn needs_items(&self) -> bool {
        self.dirichlets.needs_items()
    }

    fn fit_method(&self, data: &TrainingSet<'_>) -> Result<Fit<MetaFusion>> {
        Ok(self.dirichlets.fit_method(data)?.map(MetaFusion))
    }

    fn update_method(
        &self,
        fitted: &MetaFusion,
        data: &TrainingSet<'_>,
    ) -> Option<Result<Fit<MetaFusion>>> {
        let updated = self.dirichlets.update_method(&fitted.0, data)?;
        Some(updated.map(|fit| fit.map(MetaFusion)))
    }

    fn read_parameters(schema: Arc<Schema>, parameters: Value) -> Result<MetaFusion> {
        if schema.n_classifiers() != 1 {
            return Err(Error::InvalidModel("a meta classifier has one classifier".into()));
        }
        Independent::read_parameters(schema, parameters).map(MetaFusion)
    }

    fn classifier(&self) -> Option<&str> {
        Some(&self.classifier)
    }
}

/// A fitted meta classifier.
#[derive(Debug, Clone, PartialEq)]
pub struct MetaFusion(IndependentFusion);

impl MetaFusion {
    /// Name of the classifier.
    pub fn classifier(&self) -> &str {
        &self.0.schema().classifiers()[0]
    }
}

impl FittedMethod for MetaFusion {
    fn file_parameters(&self) -> Value {
        self.0.file_parameters()
    }

    fn margins(&self) -> Result<Option<IndependentFusion>> {
        self.0.margins()
    }

    fn has_posterior(&self) -> bool {
        true
    }

    fn rule_of_draw(&self, draw: &Draw) -> Result<Box<dyn Fusion>> {
        self.0.rule_of_draw(draw)
    }

    fn describe(&self, model: &Model) -> Result<String> {
        self.0.describe(model)
    }

    fn ln_joint_formula(&self, scoring: &mut Scoring) -> Result<FormulaValue, &'static str> {
        self.0.ln_joint_formula(scoring)
    }

    fn truth(&self) -> Result<Truth, &'static str> {
        self.0.truth()
    }
}

impl Fusion for MetaFusion {
    fn schema(&self) -> &Arc<Schema> {
        self.0.schema()
    }

    fn ln_joint(&self, items: &Items<'_>, prior: &ClassPrior, block: &mut Block) {
        self.0.ln_joint(items, prior, block);
    }

    fn ln_density(&self, items: &Items<'_>, block: &mut Block) -> Result<()> {
        self.0.ln_density(items, block)
    }

    fn items_per_task(&self) -> usize {
        self.0.items_per_task()
    }
}
