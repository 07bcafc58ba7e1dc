//! From a table of labelled outputs to a model.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::Deserialize;

use super::{Draw, Method, Model, Settings, Training};
use crate::data::class_prior::{ClassPrior, PriorChoice};
use crate::data::input_format::DEFAULT_FLOOR;
use crate::data::outputs::Outputs;
use crate::data::schema::Schema;
use crate::error::{Error, Result};
use crate::methods::auto::Auto;
use crate::methods::bcc::Bcc;
use crate::methods::correlated::Structure;
use crate::methods::correlated::learned::Learned;
use crate::methods::correlated::learning::{Correlated, ObservedPair, default_resolution};
use crate::methods::discounted::DiscountedFusion;
use crate::methods::independent::{Alpha, Independent, SufficientStatistics};
use crate::methods::logit_normal::LogitNormal;
use crate::methods::normal_mixture::NormalMixture;
use crate::methods::pools::{Pool, PoolKind, Weights, fit_weights};
use crate::methods::shares::EvidenceCovariance;
use crate::methods::stacking::Stacking;
use crate::progress::Progress;
use crate::warning::Warning;

/// Which method to fit.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(try_from = "String")]
pub enum MethodChoice {
    /// `opinion-pool`
    OpinionPool,
    /// `linear-pool`
    LinearPool,
    /// `log-pool`
    LogPool,
    /// `independent`
    Independent,
    /// `meta:<classifier>`
    Meta(String),
    /// `discounted`
    Discounted,
    /// `correlated`
    Correlated,
    /// `stacking`
    Stacking,
    /// `auto`
    #[default]
    Auto,
    /// `logit-normal`
    LogitNormal,
    /// `normal-mixture`
    NormalMixture,
    /// `bcc`
    Bcc,
}

/// All methods but the meta classifiers, by name.
const METHODS: [(&str, MethodChoice); 11] = [
    ("auto", MethodChoice::Auto),
    ("stacking", MethodChoice::Stacking),
    ("correlated", MethodChoice::Correlated),
    ("independent", MethodChoice::Independent),
    ("discounted", MethodChoice::Discounted),
    ("logit-normal", MethodChoice::LogitNormal),
    ("normal-mixture", MethodChoice::NormalMixture),
    ("bcc", MethodChoice::Bcc),
    ("opinion-pool", MethodChoice::OpinionPool),
    ("linear-pool", MethodChoice::LinearPool),
    ("log-pool", MethodChoice::LogPool),
];

impl MethodChoice {
    /// All methods but the meta classifiers, of which there is one for every classifier.
    pub fn named() -> impl Iterator<Item = Self> {
        METHODS.into_iter().map(|(_, method)| method)
    }
}

impl FromStr for MethodChoice {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if let Some(("meta", classifier)) = text.split_once(':')
            && !classifier.is_empty()
        {
            return Ok(Self::Meta(classifier.into()));
        }
        let found = METHODS.iter().find(|(name, _)| *name == text);
        found.map(|(_, method)| method.clone()).ok_or_else(|| {
            Error::parameter(
                "method",
                "auto, stacking, correlated, independent, discounted, logit-normal, \
                 normal-mixture, bcc, meta:<classifier>, opinion-pool, linear-pool or log-pool",
                text,
            )
        })
    }
}

impl fmt::Display for MethodChoice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Self::Meta(classifier) = self {
            return write!(formatter, "meta:{classifier}");
        }
        let named = METHODS.iter().find(|(_, method)| method == self);
        formatter.write_str(named.expect("every method has a name").0)
    }
}

impl TryFrom<String> for MethodChoice {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

/// Everything that a fit can be told; what is left out in its JSON form is as by default.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FitConfig {
    /// The method.
    pub method: MethodChoice,
    /// The class prior of the model.
    pub class_prior: PriorChoice,
    /// A pool's weights.
    pub weights: Weights,
    /// The Dirichlet fits of the independent model and of meta classifiers.
    pub independent: Independent,
    /// The correlated model's fit, its own Dirichlets among it.
    pub correlated: Correlated,
    /// How more than two correlated classifiers are joined.
    pub structure: Structure,
    /// The resolution of correlated classifiers' outputs, instead of the one in `correlated`; by
    /// default 0.03, and 0.1 from four classifiers on, where errors of many pairs add up (equal
    /// copies count once). The paper's model of three and more fuses with the exact density where
    /// its private shapes allow.
    pub resolution: Option<f64>,
    /// The fit of stacking.
    pub stacking: Stacking,
    /// The fit of `auto`.
    pub auto: Auto,
    /// The fit of `logit-normal`.
    pub logit_normal: LogitNormal,
    /// The fit of `normal-mixture`. Its published variant has the class frequencies of the training
    /// items for a class prior: for the published result choose [`PriorChoice::Empirical`].
    pub normal_mixture: NormalMixture,
    /// The fit of `bcc`.
    pub bcc: Bcc,
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
            independent: Independent::default(),
            correlated: Correlated::default(),
            structure: Structure::default(),
            resolution: None,
            stacking: Stacking::default(),
            auto: Auto::default(),
            logit_normal: LogitNormal::default(),
            normal_mixture: NormalMixture::default(),
            bcc: Bcc::default(),
            floor: DEFAULT_FLOOR,
        }
    }
}

impl FitConfig {
    /// The same settings with one seed for everything random.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.independent.seed = seed;
        self.correlated.seed = seed;
        self.correlated.independent.seed = seed;
        self.stacking.seed = seed;
        self.auto.seed = seed;
        self.normal_mixture.seed = seed;
        self
    }

    /// Whether another class prior would give another fit. It does with a pool's learned weights
    /// alone; all else learns what outputs tell of the classes, apart from how frequent they are.
    pub fn depends_on_class_prior(&self) -> bool {
        let weighted = matches!(self.method, MethodChoice::LinearPool | MethodChoice::LogPool);
        weighted && matches!(self.weights, Weights::Simplex | Weights::Free)
    }

    /// Fits a model.
    ///
    /// # Example
    /// ```
    /// use consilience::{FitConfig, NoProgress, fusion::fuse, simulation::Preset};
    ///
    /// let truth = Preset::Sim2.truth(0.5)?;
    /// let model = FitConfig::default().fit(&truth.simulate(200, 1)?, &NoProgress)?;
    /// let fused = fuse(model.fusion()?, &truth.simulate(1, 2)?, model.class_prior())?;
    /// assert_eq!(fused.n_items(), 3);
    /// # Ok::<(), consilience::Error>(())
    /// ```
    pub fn fit(&self, outputs: &Outputs, progress: &dyn Progress) -> Result<Model> {
        self.check_weights(outputs)?;
        let outputs = self.restrict(outputs)?;
        let statistics = SufficientStatistics::of(&outputs)?;
        let raised = outputs.n_raised() as u64;
        let training = Training {
            raised,
            statistics,
            evidence_covariance: None,
            observed_correlations: Vec::new(),
            warnings: Vec::new(),
        };
        match self.method {
            MethodChoice::Independent | MethodChoice::Meta(_) => {
                self.fit_dirichlets(outputs.schema(), training, progress)
            }
            MethodChoice::Discounted => self.fit_discounted(&outputs, training, progress),
            MethodChoice::Correlated => self.fit_correlated(&outputs, training, progress),
            MethodChoice::Stacking => self.fit_stacking(&outputs, training),
            MethodChoice::Auto => self.fit_auto(&outputs, training, progress),
            MethodChoice::LogitNormal => self.fit_logit_normal(&outputs, training),
            MethodChoice::NormalMixture => self.fit_normal_mixture(&outputs, training, progress),
            MethodChoice::Bcc => self.fit_bcc(&outputs, training),
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
            resolution: settings.correlated.as_ref().map(|correlated| correlated.resolution),
            correlated: settings.correlated.clone().unwrap_or_default(),
            structure: settings.structure.unwrap_or_default(),
            stacking: settings.stacking.clone().unwrap_or_default(),
            auto: settings.auto.clone().unwrap_or_default(),
            logit_normal: settings.logit_normal.clone().unwrap_or_default(),
            normal_mixture: settings.normal_mixture.clone().unwrap_or_default(),
            bcc: settings.bcc.clone().unwrap_or_default(),
            floor: settings.floor,
        })
    }

    /// Not every fit can count an item more or less than once.
    fn check_weights(&self, outputs: &Outputs) -> Result<()> {
        let cannot = matches!(
            self.method,
            MethodChoice::Correlated | MethodChoice::LogitNormal | MethodChoice::NormalMixture
        );
        if cannot && outputs.is_weighted() {
            return Err(Error::Unsupported {
                method: self.method.to_string(),
                cannot: "takes no weights of items: repeat an item that counts more than once"
                    .into(),
            });
        }
        Ok(())
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
        self.class_prior.resolve(classes, Some(&training.statistics.class_weights()))
    }

    fn settings(&self) -> Settings {
        let dirichlets = matches!(
            self.method,
            MethodChoice::Independent | MethodChoice::Meta(_) | MethodChoice::Discounted
        );
        let weighted = matches!(self.method, MethodChoice::LinearPool | MethodChoice::LogPool);
        Settings {
            software: env!("CARGO_PKG_VERSION").into(),
            floor: self.floor,
            class_prior: self.class_prior.clone(),
            weights: weighted.then(|| self.weights.clone()),
            independent: dirichlets.then(|| self.independent.clone()),
            correlated: None,
            structure: None,
            stacking: (self.method == MethodChoice::Stacking).then(|| self.stacking.clone()),
            auto: (self.method == MethodChoice::Auto).then(|| self.auto.clone()),
            logit_normal: (self.method == MethodChoice::LogitNormal)
                .then(|| self.logit_normal.clone()),
            normal_mixture: (self.method == MethodChoice::NormalMixture)
                .then(|| self.normal_mixture.clone()),
            bcc: (self.method == MethodChoice::Bcc).then(|| self.bcc.clone()),
        }
    }

    fn fit_dirichlets(
        &self,
        schema: &Arc<Schema>,
        mut training: Training,
        progress: &dyn Progress,
    ) -> Result<Model> {
        let fitted = self.independent.fit(schema, &training.statistics, progress)?;
        training.warnings = fitted.warnings;
        let class_prior = self.resolve_prior(&training, schema.classes())?;
        let method = match self.method {
            MethodChoice::Meta(_) => Method::Meta(fitted.fusion),
            _ => Method::Independent(fitted.fusion),
        };
        let draw = |alpha: Alpha| Draw { alpha, delta: Vec::new() };
        Ok(Model {
            settings: Some(self.settings()),
            training: Some(training),
            posterior: fitted.posterior,
            draws: fitted.draws.into_iter().map(draw).collect(),
            ..Model::new(method, class_prior)?
        })
    }

    fn fit_discounted(
        &self,
        outputs: &Outputs,
        mut training: Training,
        progress: &dyn Progress,
    ) -> Result<Model> {
        let schema = outputs.schema();
        // nothing averages over these draws: shares belong to the point estimate
        let config = Independent { keep_draws: 0, ..self.independent.clone() };
        let fitted = config.fit(schema, &training.statistics, progress)?;
        training.warnings = fitted.warnings;
        let class_prior = self.resolve_prior(&training, schema.classes())?;
        let covariance = EvidenceCovariance::of(outputs, fitted.fusion.alpha())?;
        let method = Method::Discounted(DiscountedFusion::new(fitted.fusion, covariance)?);
        Ok(Model {
            settings: Some(self.settings()),
            training: Some(training),
            posterior: fitted.posterior,
            ..Model::new(method, class_prior)?
        })
    }

    fn fit_correlated(
        &self,
        outputs: &Outputs,
        mut training: Training,
        progress: &dyn Progress,
    ) -> Result<Model> {
        let schema = outputs.schema();
        let resolution = self.resolution.unwrap_or_else(|| default_resolution(outputs));
        let config = Correlated { resolution, ..self.correlated.clone() };
        let class_prior = self.resolve_prior(&training, schema.classes())?;
        let two = schema.n_classifiers() == 2;
        let fitted = match self.structure.tree() {
            _ if two => Learned::pair(&config, outputs, progress)?,
            Some(kind) => Learned::tree(&config, kind, outputs, progress)?,
            None => {
                let exact = self.resolution.is_none();
                Learned::full(&config, (self.structure, exact), outputs, progress)?
            }
        };
        training.warnings = fitted.warnings;
        training.evidence_covariance = Some(EvidenceCovariance::of(outputs, &fitted.alpha)?);
        training.observed_correlations = ObservedPair::all(outputs)?;
        let observed = training.observed_correlations.iter();
        training.warnings.extend(observed.flat_map(|pair| pair.warnings(schema.classes())));
        let settings = Settings {
            correlated: Some(config),
            structure: (!two).then_some(self.structure),
            ..self.settings()
        };
        Ok(Model {
            settings: Some(settings),
            training: Some(training),
            posterior: fitted.posterior,
            pair_posteriors: fitted.pair_posteriors,
            shared_posterior: fitted.shared,
            draws: fitted.draws,
            ..Model::new(fitted.method, class_prior)?
        })
    }

    fn fit_stacking(&self, outputs: &Outputs, mut training: Training) -> Result<Model> {
        let fitted = self.stacking.fit(outputs)?;
        training.warnings = fitted.warnings;
        self.model(Method::Stacking(fitted.fusion), training)
    }

    /// A model of a method whose fit leaves nothing but its parameters.
    pub(super) fn model(&self, method: Method, training: Training) -> Result<Model> {
        let class_prior = self.resolve_prior(&training, method.schema().classes())?;
        Ok(Model {
            settings: Some(self.settings()),
            training: Some(training),
            ..Model::new(method, class_prior)?
        })
    }

    fn fit_auto(
        &self,
        outputs: &Outputs,
        mut training: Training,
        progress: &dyn Progress,
    ) -> Result<Model> {
        let fitted = self.auto.fit(outputs, progress)?;
        training.warnings = fitted.warnings;
        let alpha = fitted.fusion.dirichlets().alpha();
        training.evidence_covariance = Some(EvidenceCovariance::of(outputs, alpha)?);
        self.model(Method::Auto(Box::new(fitted.fusion)), training)
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
    pub fn update(&self, outputs: &Outputs, progress: &dyn Progress) -> Result<Self> {
        let config = FitConfig::of(self)?;
        let mut training = self.training.clone().ok_or_else(|| {
            Error::InvalidModel("it has no training statistics, so it cannot be updated".into())
        })?;
        let outputs = outputs.select(&self.schema)?;
        training.statistics.merge(&SufficientStatistics::of(&outputs)?)?;
        training.raised += outputs.n_raised() as u64;
        let fitted = matches!(config.weights, Weights::Simplex | Weights::Free);
        let needs_all = |what: &str| Error::Unsupported {
            method: self.method_name(),
            cannot: format!(
                "cannot be updated: {what} all items, so fit again on old and new together"
            ),
        };
        match (&self.method, &config.method) {
            (Method::Pool(_), MethodChoice::LinearPool | MethodChoice::LogPool) if fitted => {
                Err(needs_all("fitted weights need"))
            }
            (Method::Correlated(_) | Method::Tree(_) | Method::Discounted(_), _) => {
                Err(needs_all("what classifiers share is learned from"))
            }
            (Method::Stacking(_) | Method::Auto(_), _) => {
                Err(needs_all("its weights are learned from"))
            }
            (Method::LogitNormal(_) | Method::NormalMixture(_), _) => {
                Err(needs_all("its distributions are learned from"))
            }
            (Method::Bcc(fusion), _) => {
                training.warnings.clear();
                config.model(Method::Bcc(fusion.updated(&outputs)?), training)
            }
            (Method::Pool(_), _) => {
                training.warnings.clear();
                config.fit_pool(&outputs, training)
            }
            _ => config.fit_dirichlets(&self.schema, training, progress),
        }
    }
}
