//! A fitted model as a whole: method, class prior, and how it came about.

mod consistency;
mod describe;
mod estimate;
mod file;
mod fit;
mod fuse;
mod legacy;
mod sources;
mod statistics;
mod strict;
mod training;
mod unlabelled;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::data::class_prior::{ClassPrior, PriorChoice};
use crate::data::input_format::{InputFormat, ValueKind};
use crate::data::outputs::Outputs;
use crate::data::schema::Schema;
use crate::error::{Error, Result};
use crate::methods::correlated::learning::SharedReport;
use crate::methods::correlated::{
    CorrelatedMethod, CorrelatedParameters, PairInsight, effective_number,
};
use crate::methods::independent::{IndependentFusion, PosteriorReport, SufficientStatistics};
use crate::methods::shares::{EvidenceCovariance, InsightIntervals};
use crate::methods::{Draw, Method, MethodConfig, PairPosterior};
use crate::simulation::Truth;

pub use fit::FitOptions;
pub use fuse::{FuseOptions, FusionRule};
pub use statistics::Statistics;
pub use training::Training;
pub use unlabelled::Unlabelled;

/// A model that can be saved, loaded, inspected and fused with.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    schema: Arc<Schema>,
    class_prior: ClassPrior,
    method: Method,
    settings: Option<Settings>,
    training: Option<Training>,
    /// What a front end needs to read new data alike; the library keeps it as it is.
    estimator: Option<Map<String, Value>>,
    posterior: Option<PosteriorReport>,
    pair_posteriors: Vec<PairPosterior>,
    shared_posterior: Option<SharedReport>,
    draws: Vec<Draw>,
}

/// The settings a model was fitted with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Version of the software.
    pub software: String,
    /// Probabilities below it were raised to it.
    pub floor: f64,
    /// The kind of the values that the outputs were read from.
    #[serde(default, skip_serializing_if = "is_probabilities")]
    pub values: ValueKind,
    /// The class prior that was asked for.
    pub class_prior: PriorChoice,
    /// The method and its options.
    pub fit: MethodConfig,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_probabilities(values: &ValueKind) -> bool {
    *values == ValueKind::Probabilities
}

impl Settings {
    fn to_json(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(settings)) => settings,
            _ => unreachable!("settings are a JSON object"),
        }
    }
}

impl Model {
    /// A model from parameters alone.
    pub fn new(method: Method, class_prior: ClassPrior) -> Result<Self> {
        let schema = Arc::clone(method.fitted().schema());
        if class_prior.probabilities().len() != schema.n_classes() {
            return Err(Error::mismatch(
                "class prior and classes",
                schema.n_classes(),
                class_prior.probabilities().len(),
            ));
        }
        Ok(Self {
            schema,
            class_prior,
            method,
            settings: None,
            training: None,
            estimator: None,
            posterior: None,
            pair_posteriors: Vec::new(),
            shared_posterior: None,
            draws: Vec::new(),
        })
    }

    /// The correlated model with known parameters, observed exactly.
    pub fn from_truth(truth: &Truth) -> Result<Self> {
        let parameters = CorrelatedParameters::new(truth.schema(), truth.classes(), 0.0)?;
        let class_prior = ClassPrior::uniform(truth.schema().n_classes());
        Self::new(Method::Correlated(CorrelatedMethod::Joint(parameters)), class_prior)
    }

    /// Classifiers and classes.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// The class prior that it was fitted with.
    pub fn class_prior(&self) -> &ClassPrior {
        &self.class_prior
    }

    /// The choice of that class prior, where it is known.
    pub fn chosen_prior(&self) -> Option<&PriorChoice> {
        self.settings.as_ref().map(|settings| &settings.class_prior)
    }

    /// The method with its parameters.
    pub fn method(&self) -> &Method {
        &self.method
    }

    /// The method's name, as `auto` or `meta:<classifier>`.
    pub fn method_name(&self) -> String {
        self.method.name()
    }

    /// The settings it was fitted with, if it was.
    pub fn settings(&self) -> Option<&Settings> {
        self.settings.as_ref()
    }

    /// How the training outputs were read, for new tables: their floor and kind of values.
    pub fn input_format(&self) -> InputFormat {
        let default = InputFormat::default();
        self.settings.as_ref().map_or(default, |settings| InputFormat {
            kind: settings.values,
            floor: settings.floor,
            ..default
        })
    }

    /// What it was fitted on, if it was.
    pub fn training(&self) -> Option<&Training> {
        self.training.as_ref()
    }

    /// Whether the labelled items are those that it was fitted on: as many of every class, with the
    /// same sums of logarithms, which are exact.
    pub fn is_fitted_on(&self, outputs: &Outputs) -> Result<bool> {
        let Some(training) = &self.training else { return Ok(false) };
        if outputs.n_labelled() == 0 || training.statistics.class_counts() != outputs.class_counts()
        {
            return Ok(false);
        }
        Ok(SufficientStatistics::of(&outputs.labelled())? == training.statistics)
    }

    /// The description of the front end's estimator, if one was [kept](Self::with_estimator).
    pub fn estimator(&self) -> Option<&Map<String, Value>> {
        self.estimator.as_ref()
    }

    /// The same model with a description of the estimator that reads its data, which the model file
    /// keeps under `estimator`. The library does not look at it.
    #[must_use]
    pub fn with_estimator(mut self, estimator: Option<Map<String, Value>>) -> Self {
        self.estimator = estimator;
        self
    }

    /// The posterior of the margins in numbers, where it was sampled.
    pub fn posterior(&self) -> Option<&PosteriorReport> {
        self.posterior.as_ref()
    }

    /// The posteriors of what pairs of classifiers share, where they were sampled.
    pub fn pair_posteriors(&self) -> &[PairPosterior] {
        &self.pair_posteriors
    }

    /// The posterior of all that three and more classifiers share, where it was sampled.
    pub fn shared_posterior(&self) -> Option<&SharedReport> {
        self.shared_posterior.as_ref()
    }

    /// Posterior draws kept.
    pub fn draws(&self) -> &[Draw] {
        &self.draws
    }

    /// The Dirichlets of every classifier and class; none for methods without any.
    pub fn margins(&self) -> Result<Option<IndependentFusion>> {
        self.method.fitted().margins()
    }

    /// The correlations between pairs of classifiers that the model implies; none for methods
    /// that treat classifiers as independent or do not model their outputs.
    pub fn implied_correlations(&self) -> Result<Option<Vec<PairInsight>>> {
        self.method.fitted().implied_correlations(&self.class_prior)
    }

    /// The effective number of independent classifiers: from the evidence that they gave on
    /// the training items, or else from the correlations that the model implies.
    pub fn effective_number(&self) -> Result<Option<f64>> {
        if let Some(covariance) = self.evidence_covariance() {
            return Ok(Some(covariance.effective_number()));
        }
        let Some(pairs) = self.implied_correlations()? else { return Ok(None) };
        let mean = pairs.iter().map(|pair| pair.mean).sum::<f64>() / (pairs.len() as f64).max(1.0);
        Ok(Some(effective_number(self.schema.n_classifiers(), mean)))
    }

    /// The covariance of the classifiers' evidence on the training items, where it is known.
    pub fn evidence_covariance(&self) -> Option<&EvidenceCovariance> {
        let own = self.method.fitted().evidence_covariance();
        own.or_else(|| self.training.as_ref()?.evidence_covariance.as_ref())
    }

    /// The independent share of every classifier; groups of [copies](Self::copies) divide theirs
    /// equally.
    pub fn shares(&self) -> Option<Vec<f64>> {
        self.evidence_covariance().map(EvidenceCovariance::divided_shares)
    }

    /// Groups of classifiers with nearly the same evidence on the training items: correlations of
    /// 0.95 or more.
    pub fn copies(&self) -> Vec<Vec<usize>> {
        self.evidence_covariance().map_or_else(Vec::new, EvidenceCovariance::copies)
    }

    /// 90 % intervals of shares, influences, effective number and correlations of evidence; none for
    /// models without labelled training items and for very large ones.
    pub fn insight_intervals(&self) -> Option<&InsightIntervals> {
        self.training.as_ref()?.insight_intervals.as_ref()
    }

    /// What every classifier contributes on average that the others do not, in nats: its strength
    /// (the expected evidence of one output for the true class against another) times its
    /// independent share. Shares come from the evidence on training items, or else from the
    /// correlations that the model implies; none for methods that are not made of Dirichlets.
    pub fn influences(&self) -> Result<Option<Vec<f64>>> {
        let margins = self.margins()?.filter(|_| self.method.fitted().is_made_of_dirichlets());
        let Some(margins) = margins else { return Ok(None) };
        let strengths = margins.strengths(&self.class_prior)?;
        let shares = match self.shares() {
            Some(shares) => shares,
            None => match self.implied_correlations()? {
                Some(pairs) => {
                    EvidenceCovariance::of_correlations(strengths.len(), &pairs).divided_shares()
                }
                None => vec![1.0; strengths.len()],
            },
        };
        Ok(Some(strengths.iter().zip(shares).map(|(strength, share)| strength * share).collect()))
    }

    /// The meta classifier of every classifier: the model's own Dirichlets, or the posterior mode
    /// given its training statistics; none for a model without either, or whose training items lack
    /// a class.
    pub fn meta_classifiers(&self) -> Result<Vec<IndependentFusion>> {
        let margins = match (self.margins()?, &self.training) {
            (Some(margins), _) => margins,
            (None, None) => return Ok(Vec::new()),
            // A pool can be fitted where a class has no items.
            (None, Some(training)) if training.statistics.require_all(&self.schema).is_err() => {
                return Ok(Vec::new());
            }
            (None, Some(training)) => {
                IndependentFusion::at_mode(Arc::clone(&self.schema), &training.statistics)?
            }
        };
        margins.metas()
    }

    /// The distribution of the outputs that the model stands for, for simulation.
    pub fn truth(&self) -> Result<Truth> {
        self.method.fitted().truth().map_err(|why| {
            Error::unsupported(self.method_name(), format!("cannot be simulated: {why}"))
        })
    }
}
