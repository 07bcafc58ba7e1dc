//! From a table of labelled outputs to a model.

use std::str::FromStr;
use std::sync::Arc;

use super::{Method, Model, Settings, Training};
use crate::class_prior::{ClassPrior, PriorChoice};
use crate::error::{Error, Result};
use crate::fusion::independent::{IndependentConfig, SufficientStatistics};
use crate::fusion::pools::{Pool, PoolKind, Weights, fit_weights};
use crate::outputs::{DEFAULT_FLOOR, Outputs};
use crate::warning::Warning;
use crate::watch::Watch;

/// Which method to fit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum MethodChoice {
    /// `opinion-pool`
    OpinionPool,
    /// `linear-pool`
    LinearPool,
    /// `log-pool`
    LogPool,
    /// `independent`
    #[default]
    Independent,
    /// `meta:<classifier>`
    Meta(String),
}

impl FromStr for MethodChoice {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text.split_once(':') {
            Some(("meta", classifier)) if !classifier.is_empty() => {
                Ok(Self::Meta(classifier.into()))
            }
            None if text == "opinion-pool" => Ok(Self::OpinionPool),
            None if text == "linear-pool" => Ok(Self::LinearPool),
            None if text == "log-pool" => Ok(Self::LogPool),
            None if text == "independent" => Ok(Self::Independent),
            _ => Err(Error::parameter(
                "method",
                "opinion-pool, linear-pool, log-pool, independent or meta:<classifier>",
                text,
            )),
        }
    }
}

/// Everything that a fit can be told.
#[derive(Debug, Clone, PartialEq)]
pub struct FitConfig {
    /// The method.
    pub method: MethodChoice,
    /// The class prior of the model.
    pub class_prior: PriorChoice,
    /// A pool's weights.
    pub weights: Weights,
    /// The Dirichlet fits.
    pub independent: IndependentConfig,
    /// The floor that the outputs were read with; kept in the model, so that new data are read
    /// alike.
    pub floor: f64,
}

impl Default for FitConfig {
    fn default() -> Self {
        Self {
            method: MethodChoice::default(),
            class_prior: PriorChoice::default(),
            weights: Weights::default(),
            independent: IndependentConfig::default(),
            floor: DEFAULT_FLOOR,
        }
    }
}

impl FitConfig {
    /// Fits a model.
    ///
    /// # Example
    /// ```
    /// use consilience::{FitConfig, Unwatched, fusion::fuse, simulation::Preset};
    ///
    /// let truth = Preset::Sim2.truth(0.5)?;
    /// let model = FitConfig::default().fit(&truth.simulate(200, 1)?, &Unwatched)?;
    /// let fused = fuse(model.fusion()?, &truth.simulate(1, 2)?, model.class_prior())?;
    /// assert_eq!(fused.n_items(), 3);
    /// # Ok::<(), consilience::Error>(())
    /// ```
    pub fn fit(&self, outputs: &Outputs, watch: &dyn Watch) -> Result<Model> {
        let outputs = self.restrict(outputs)?;
        let statistics = SufficientStatistics::of(&outputs)?;
        let training =
            Training { raised: outputs.n_raised() as u64, statistics, warnings: Vec::new() };
        match self.method {
            MethodChoice::Independent | MethodChoice::Meta(_) => {
                self.fit_dirichlets(outputs.schema().clone(), training, watch)
            }
            _ => self.fit_pool(&outputs, training),
        }
    }

    /// The same settings for the method of a fitted model.
    fn of(model: &Model) -> Result<Self> {
        let settings = model.settings.as_ref().ok_or_else(|| {
            Error::InvalidModel("it does not say how it was fitted, so it cannot be updated".into())
        })?;
        Ok(Self {
            method: model.method_name().parse()?,
            class_prior: settings.class_prior.clone(),
            weights: settings.weights.clone().unwrap_or_default(),
            independent: settings.independent.clone().unwrap_or_default(),
            floor: settings.floor,
        })
    }

    /// A meta classifier looks at its own classifier only.
    fn restrict(&self, outputs: &Outputs) -> Result<Outputs> {
        let MethodChoice::Meta(name) = &self.method else {
            return Ok(outputs.clone());
        };
        let schema = outputs.schema();
        let place = schema.classifier_index(name).ok_or_else(|| Error::Mismatch {
            what: "classifiers",
            expected: format!("`{name}`"),
            found: crate::error::quoted(schema.classifiers()),
        })?;
        outputs.select(&Arc::new(schema.only(place)))
    }

    fn resolve_prior(&self, training: &Training, classes: &[String]) -> Result<ClassPrior> {
        self.class_prior.resolve(classes, Some(training.statistics.class_counts()))
    }

    fn settings(&self) -> Settings {
        let dirichlets = matches!(self.method, MethodChoice::Independent | MethodChoice::Meta(_));
        let weighted = matches!(self.method, MethodChoice::LinearPool | MethodChoice::LogPool);
        Settings {
            software: env!("CARGO_PKG_VERSION").into(),
            floor: self.floor,
            class_prior: self.class_prior.clone(),
            weights: weighted.then(|| self.weights.clone()),
            independent: dirichlets.then(|| self.independent.clone()),
        }
    }

    fn fit_dirichlets(
        &self,
        schema: Arc<crate::schema::Schema>,
        mut training: Training,
        watch: &dyn Watch,
    ) -> Result<Model> {
        let fitted = self.independent.fit(&schema, &training.statistics, watch)?;
        training.warnings = fitted.warnings;
        let class_prior = self.resolve_prior(&training, schema.classes())?;
        let method = match self.method {
            MethodChoice::Meta(_) => Method::Meta(fitted.fusion),
            _ => Method::Independent(fitted.fusion),
        };
        Ok(Model {
            schema,
            class_prior,
            method,
            settings: Some(self.settings()),
            training: Some(training),
            posterior: fitted.posterior,
            draws: fitted.draws,
        })
    }

    fn fit_pool(&self, outputs: &Outputs, mut training: Training) -> Result<Model> {
        let schema = Arc::clone(outputs.schema());
        training.statistics.require_all(&schema)?;
        let class_prior = self.resolve_prior(&training, schema.classes())?;
        let weighted = match self.method {
            MethodChoice::LinearPool => Some(PoolKind::Linear),
            MethodChoice::LogPool => Some(PoolKind::Logarithmic),
            _ => None,
        };
        let pool = if let Some(kind) = weighted {
            let fitted = fit_weights(kind, &self.weights, outputs, &class_prior)?;
            if !fitted.converged {
                training.warnings.push(Warning::convergence(
                    "the fit of the weights stopped before its minimum".into(),
                ));
            }
            fitted.pool
        } else {
            Pool::opinion(Arc::clone(&schema))
        };
        Ok(Model {
            settings: Some(self.settings()),
            training: Some(training),
            ..Model::new(Method::Pool(pool), class_prior)?
        })
    }
}

impl Model {
    /// The model that fitting on the old and the new items together would have given, to the
    /// last bit. Only for methods whose fit needs nothing but sufficient statistics.
    pub fn update(&self, outputs: &Outputs, watch: &dyn Watch) -> Result<Self> {
        let config = FitConfig::of(self)?;
        let mut training = self.training.clone().ok_or_else(|| {
            Error::InvalidModel("it has no training statistics, so it cannot be updated".into())
        })?;
        let outputs = outputs.select(&self.schema)?;
        training.statistics.merge(&SufficientStatistics::of(&outputs)?)?;
        training.raised += outputs.n_raised() as u64;
        let fitted = matches!(config.weights, Weights::Simplex | Weights::Free);
        match (&self.method, &config.method) {
            (Method::Pool(_), MethodChoice::LinearPool | MethodChoice::LogPool) if fitted => {
                Err(Error::Unsupported {
                    method: self.method_name(),
                    cannot: "cannot be updated: fitted weights need all items, so fit again on \
                             old and new together"
                        .into(),
                })
            }
            (Method::Pool(_), _) => {
                training.warnings.clear();
                config.fit_pool(&outputs, training)
            }
            _ => config.fit_dirichlets(Arc::clone(&self.schema), training, watch),
        }
    }
}
