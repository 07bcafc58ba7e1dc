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
use super::{Fit, FitMethod, MethodOption, TrainingSet};
use crate::data::schema::Schema;
use crate::error::{Error, Result};

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
    type Fitted = IndependentFusion;

    const OPTIONS: &'static [MethodOption] = Independent::OPTIONS;

    fn needs_every_class(&self) -> bool {
        self.dirichlets.needs_every_class()
    }

    fn needs_items(&self) -> bool {
        self.dirichlets.needs_items()
    }

    fn fit_method(&self, data: &TrainingSet<'_>) -> Result<Fit<IndependentFusion>> {
        self.dirichlets.fit_method(data)
    }

    fn update_method(
        &self,
        fitted: &IndependentFusion,
        data: &TrainingSet<'_>,
    ) -> Option<Result<Fit<IndependentFusion>>> {
        self.dirichlets.update_method(fitted, data)
    }

    fn read_parameters(schema: Arc<Schema>, parameters: Value) -> Result<IndependentFusion> {
        if schema.n_classifiers() != 1 {
            return Err(Error::InvalidModel("a meta classifier has one classifier".into()));
        }
        Independent::read_parameters(schema, parameters)
    }

    fn classifier(&self) -> Option<&str> {
        Some(&self.classifier)
    }
}
