//! What a model was fitted on: the facts that a report prints and an update needs.

use serde::{Deserialize, Serialize};

use super::unlabelled::Unlabelled;
use crate::data::class_prior::{ClassPrior, PriorChoice};
use crate::data::outputs::Outputs;
use crate::error::{Error, Result};
use crate::methods::correlated::learning::ObservedPair;
use crate::methods::independent::SufficientStatistics;
use crate::methods::shares::{EvidenceCovariance, InsightIntervals};
use crate::warning::Warning;

/// What a model was fitted on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Training {
    /// Values that were raised to the floor.
    pub raised: u64,
    /// Summary of the labelled items: all that later updates need.
    pub statistics: SufficientStatistics,
    /// Summary of the items without a label.
    #[serde(default, skip_serializing_if = "Unlabelled::is_empty")]
    pub unlabelled: Unlabelled,
    /// How the classifiers' evidence varied together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence_covariance: Option<EvidenceCovariance>,
    /// Intervals of shares, influence, effective number and correlations of evidence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub insight_intervals: Option<InsightIntervals>,
    /// How the outputs of pairs of correlated classifiers were correlated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub observed_correlations: Vec<ObservedPair>,
    /// What the user was warned of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
}

impl Training {
    /// Facts about the items of a fit, of which `labelled` are those with a label.
    pub(super) fn new(all: &Outputs, labelled: &Outputs) -> Result<Self> {
        let mut training = Self {
            raised: 0,
            statistics: SufficientStatistics::empty(all.schema()),
            unlabelled: Unlabelled::default(),
            evidence_covariance: None,
            insight_intervals: None,
            observed_correlations: Vec::new(),
            warnings: Vec::new(),
        };
        training.add(all, labelled)?;
        Ok(training)
    }

    /// Adds items, of which `labelled` are those with a label. The warnings are those of the new
    /// items.
    pub(super) fn add(&mut self, all: &Outputs, labelled: &Outputs) -> Result<()> {
        if all.n_items() == 0 {
            return Err(Error::NoItems);
        }
        if labelled.n_items() > 0 {
            self.statistics.add(labelled)?;
        }
        self.unlabelled.add(all);
        self.raised += all.n_raised() as u64;
        self.warnings = all.doubts().warnings();
        Ok(())
    }

    /// Number of items with a label.
    pub fn n_labelled(&self) -> u64 {
        self.statistics.class_counts().iter().sum()
    }

    /// Number of items without a label.
    pub fn n_unlabelled(&self) -> u64 {
        self.unlabelled.n_items()
    }

    /// The class prior that was asked for.
    pub(super) fn resolve(&self, prior: &PriorChoice, classes: &[String]) -> Result<ClassPrior> {
        prior.resolve(classes, Some(&self.statistics.class_weights()))
    }
}
