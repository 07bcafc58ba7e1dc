//! A fitted model as a whole: method, class prior, and how it came about.

mod file;
mod fit;
mod parameters;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::class_prior::{ClassPrior, PriorChoice};
use crate::distributions::CorrelatedDirichlet;
use crate::error::{Error, Result};
use crate::fusion::Fusion;
use crate::fusion::independent::{
    Alpha, IndependentConfig, IndependentFusion, Inference, PosteriorPredictive, PosteriorReport,
    SufficientStatistics,
};
use crate::fusion::pools::{Pool, Weights};
use crate::schema::Schema;
use crate::simulation::Truth;
use crate::warning::Warning;

pub use fit::{FitConfig, MethodChoice};
pub use parameters::CorrelatedParameters;

/// A model that can be saved, loaded, inspected and fused with.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    schema: Arc<Schema>,
    class_prior: ClassPrior,
    method: Method,
    settings: Option<Settings>,
    training: Option<Training>,
    posterior: Option<PosteriorReport>,
    draws: Vec<Alpha>,
}

/// The method with its parameters.
#[derive(Debug, Clone, PartialEq)]
pub enum Method {
    /// An opinion pool.
    Pool(Pool),
    /// The independent fusion model.
    Independent(IndependentFusion),
    /// One classifier's meta classifier: the independent model of that classifier alone.
    Meta(IndependentFusion),
    /// The paper's correlated model.
    Correlated(CorrelatedParameters),
}

/// The settings a model was fitted with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Version of the software.
    pub software: String,
    /// Probabilities below it were raised to it.
    pub floor: f64,
    /// The class prior that was asked for.
    pub class_prior: PriorChoice,
    /// A pool's weights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights: Option<Weights>,
    /// The Dirichlet fits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub independent: Option<IndependentConfig>,
}

/// What a model was fitted on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Training {
    /// Values that were raised to the floor.
    pub raised: u64,
    /// All that later updates need.
    pub statistics: SufficientStatistics,
    /// What the user was warned of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
}

impl Model {
    /// A model from parameters alone.
    pub fn new(method: Method, class_prior: ClassPrior) -> Result<Self> {
        let schema = method.schema();
        if class_prior.probabilities().len() != schema.n_classes() {
            return Err(Error::Mismatch {
                what: "class prior and classes",
                expected: schema.n_classes().to_string(),
                found: class_prior.probabilities().len().to_string(),
            });
        }
        Ok(Self {
            schema,
            class_prior,
            method,
            settings: None,
            training: None,
            posterior: None,
            draws: Vec::new(),
        })
    }

    /// Classifiers and classes.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// The class prior that it was fitted with.
    pub fn class_prior(&self) -> &ClassPrior {
        &self.class_prior
    }

    /// The class prior asked for, or the model's own.
    pub fn prior(&self, choice: Option<&PriorChoice>) -> Result<ClassPrior> {
        let counts = self.training.as_ref().map(|training| training.statistics.class_counts());
        match choice {
            None => Ok(self.class_prior.clone()),
            Some(choice) => choice.resolve(self.schema.classes(), counts),
        }
    }

    /// The method with its parameters.
    pub fn method(&self) -> &Method {
        &self.method
    }

    /// The method's name as on the command line.
    pub fn method_name(&self) -> String {
        match &self.method {
            Method::Pool(pool) => pool.kind().name().into(),
            Method::Independent(_) => "independent".into(),
            Method::Meta(meta) => format!("meta:{}", meta.schema().classifiers()[0]),
            Method::Correlated(_) => "correlated".into(),
        }
    }

    /// The settings it was fitted with, if it was.
    pub fn settings(&self) -> Option<&Settings> {
        self.settings.as_ref()
    }

    /// What it was fitted on, if it was.
    pub fn training(&self) -> Option<&Training> {
        self.training.as_ref()
    }

    /// The posterior in numbers, where it was sampled.
    pub fn posterior(&self) -> Option<&PosteriorReport> {
        self.posterior.as_ref()
    }

    /// Posterior draws kept.
    pub fn draws(&self) -> &[Alpha] {
        &self.draws
    }

    /// The rule for fusing.
    pub fn fusion(&self) -> Result<&dyn Fusion> {
        match &self.method {
            Method::Pool(pool) => Ok(pool),
            Method::Independent(fusion) | Method::Meta(fusion) => Ok(fusion),
            Method::Correlated(parameters) => match parameters.fusion() {
                Some(fusion) => Ok(fusion),
                None => Err(Error::Unsupported {
                    method: self.method_name(),
                    cannot: format!(
                        "fuses two classifiers so far, not {}",
                        self.schema.n_classifiers()
                    ),
                }),
            },
        }
    }

    /// The rule for fusing by averaging over the posterior draws.
    pub fn predictive(&self) -> Result<PosteriorPredictive> {
        match &self.method {
            Method::Independent(_) | Method::Meta(_) => {
                PosteriorPredictive::new(&self.schema, &self.draws)
            }
            _ => Err(Error::Unsupported {
                method: self.method_name(),
                cannot: "has no posterior predictive".into(),
            }),
        }
    }

    /// The meta classifier of every classifier: the model's own Dirichlets, or the posterior mode
    /// given its training statistics; none for a pool written by hand.
    pub fn meta_classifiers(&self) -> Result<Vec<IndependentFusion>> {
        let metas = |fusion: &IndependentFusion| {
            (0..fusion.alpha().len()).map(|k| fusion.meta(k)).collect::<Result<Vec<_>>>()
        };
        match (&self.method, &self.training) {
            (Method::Independent(fusion) | Method::Meta(fusion), _) => metas(fusion),
            (Method::Correlated(parameters), _) => metas(&parameters.margins()?),
            (Method::Pool(_), None) => Ok(Vec::new()),
            (Method::Pool(_), Some(training)) => {
                let config =
                    IndependentConfig { inference: Inference::Map, ..IndependentConfig::default() };
                let fitted =
                    config.fit(&self.schema, &training.statistics, &crate::watch::Unwatched)?;
                metas(&fitted.fusion)
            }
        }
    }

    /// The distribution of the outputs that the model stands for, for simulation.
    pub fn truth(&self) -> Result<Truth> {
        match &self.method {
            Method::Pool(pool) => Err(Error::Unsupported {
                method: pool.kind().name().into(),
                cannot: "cannot be simulated: a pool does not model the classifiers".into(),
            }),
            Method::Correlated(parameters) => parameters.truth(),
            Method::Independent(fusion) | Method::Meta(fusion) => {
                let class = |j: usize| {
                    let margins = fusion.alpha().iter().map(|rows| rows[j].clone()).collect();
                    CorrelatedDirichlet::new(margins, None, Vec::new())
                };
                let classes = (0..self.schema.n_classes()).map(class).collect::<Result<_>>()?;
                Truth::new(Arc::clone(&self.schema), classes)
            }
        }
    }
}

impl Method {
    fn schema(&self) -> Arc<Schema> {
        Arc::clone(match self {
            Self::Pool(pool) => pool.schema(),
            Self::Independent(fusion) | Self::Meta(fusion) => fusion.schema(),
            Self::Correlated(parameters) => parameters.schema(),
        })
    }
}
