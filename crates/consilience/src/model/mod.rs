//! A fitted model as a whole: method, class prior, and how it came about.

mod extras;
mod file;
mod fit;
mod rivals;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::data::class_prior::{ClassPrior, PriorChoice};
use crate::data::schema::Schema;
use crate::error::{Error, Result};
use crate::methods::auto::{Auto, AutoFusion};
use crate::methods::bcc::{Bcc, BccFusion};
use crate::methods::correlated::learning::{Correlated, DeltaReport, ObservedPair, SharedReport};
use crate::methods::correlated::{PairInsight, Structure, effective_number};
use crate::methods::discounted::DiscountedFusion;
use crate::methods::independent::{
    Alpha, Independent, IndependentFusion, PosteriorReport, SufficientStatistics,
};
use crate::methods::logit_normal::{LogitNormal, LogitNormalFusion};
use crate::methods::normal_mixture::{NormalMixture, NormalMixtureFusion};
use crate::methods::pools::{Pool, Weights};
use crate::methods::shares::EvidenceCovariance;
use crate::methods::stacking::{Stacking, StackingFusion};
use crate::methods::{Fusion, PosteriorPredictive};
use crate::simulation::Truth;
use crate::warning::Warning;
use consilience_numerics::parallel;
use correlated_dirichlet::CorrelatedDirichlet;

pub use crate::methods::correlated::{CorrelatedParameters, TreeParameters};
pub use fit::{FitConfig, MethodChoice};

/// A model that can be saved, loaded, inspected and fused with.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    schema: Arc<Schema>,
    class_prior: ClassPrior,
    method: Method,
    settings: Option<Settings>,
    training: Option<Training>,
    posterior: Option<PosteriorReport>,
    pair_posteriors: Vec<PairPosterior>,
    shared_posterior: Option<SharedReport>,
    draws: Vec<Draw>,
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
    /// The independent model with shares.
    Discounted(DiscountedFusion),
    /// The paper's correlated model.
    Correlated(CorrelatedParameters),
    /// The correlated model as a tree of pairs.
    Tree(TreeParameters),
    /// Logistic regression on logarithms.
    Stacking(StackingFusion),
    /// Exponents of outputs and evidence, averaged with stacking.
    Auto(Box<AutoFusion>),
    /// One normal distribution of all log-ratios a class.
    LogitNormal(LogitNormalFusion),
    /// Mixtures of normal distributions of all log-ratios.
    NormalMixture(NormalMixtureFusion),
    /// Confusion matrices of hard decisions.
    Bcc(BccFusion),
}

/// One draw from the posterior.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Draw {
    /// The margins.
    pub alpha: Alpha,
    /// What classifiers share: `delta[p][j]` of the p-th pair when the true class is j; of the
    /// paper's model of more than two, what all share first, then every pair's own part. Empty for
    /// methods that take classifiers for independent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub delta: Vec<Vec<Vec<f64>>>,
}

/// The posterior of what two classifiers share, in numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PairPosterior {
    /// The two classifiers.
    pub between: [String; 2],
    /// Their δ.
    pub delta: DeltaReport,
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
    pub independent: Option<Independent>,
    /// The correlated model's fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlated: Option<Correlated>,
    /// How more than two correlated classifiers are joined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structure: Option<Structure>,
    /// The fit of stacking.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stacking: Option<Stacking>,
    /// The fit of `auto`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto: Option<Auto>,
    /// The fit of `logit-normal`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logit_normal: Option<LogitNormal>,
    /// The fit of `normal-mixture`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub normal_mixture: Option<NormalMixture>,
    /// The fit of `bcc`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bcc: Option<Bcc>,
}

/// What a model was fitted on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Training {
    /// Values that were raised to the floor.
    pub raised: u64,
    /// All that later updates need.
    pub statistics: SufficientStatistics,
    /// How the classifiers' evidence varied together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence_covariance: Option<EvidenceCovariance>,
    /// How the outputs of pairs of correlated classifiers were correlated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub observed_correlations: Vec<ObservedPair>,
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
            pair_posteriors: Vec::new(),
            shared_posterior: None,
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
        let counts = self.training.as_ref().map(|training| training.statistics.class_weights());
        match choice {
            None => Ok(self.class_prior.clone()),
            Some(choice) => choice.resolve(self.schema.classes(), counts.as_deref()),
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
            Method::Discounted(_) => "discounted".into(),
            Method::Correlated(_) | Method::Tree(_) => "correlated".into(),
            Method::Stacking(_) => "stacking".into(),
            Method::Auto(_) => "auto".into(),
            Method::LogitNormal(_) => "logit-normal".into(),
            Method::NormalMixture(_) => "normal-mixture".into(),
            Method::Bcc(_) => "bcc".into(),
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

    /// The rule for fusing.
    pub fn fusion(&self) -> Result<&dyn Fusion> {
        match &self.method {
            Method::Pool(pool) => Ok(pool),
            Method::Independent(fusion) | Method::Meta(fusion) => Ok(fusion),
            Method::Discounted(fusion) => Ok(fusion),
            Method::Tree(parameters) => Ok(parameters.fusion()),
            Method::Stacking(fusion) => Ok(fusion),
            Method::Auto(fusion) => Ok(&**fusion),
            Method::LogitNormal(fusion) => Ok(fusion),
            Method::NormalMixture(fusion) => Ok(fusion),
            Method::Bcc(fusion) => Ok(fusion),
            Method::Correlated(parameters) => Ok(parameters.fusion()),
        }
    }

    /// The rule for fusing by averaging over the posterior draws.
    pub fn predictive(&self) -> Result<PosteriorPredictive> {
        let schema = || Arc::clone(&self.schema);
        let rule: &(dyn Fn(&Draw) -> Result<Box<dyn Fusion>> + Sync) = match &self.method {
            Method::Pool(_)
            | Method::Discounted(_)
            | Method::Stacking(_)
            | Method::Auto(_)
            | Method::LogitNormal(_)
            | Method::NormalMixture(_)
            | Method::Bcc(_) => {
                return Err(Error::Unsupported {
                    method: self.method_name(),
                    cannot: "has no posterior predictive".into(),
                });
            }
            Method::Independent(_) | Method::Meta(_) => {
                &|draw| Ok(Box::new(IndependentFusion::new(schema(), draw.alpha.clone())?))
            }
            Method::Correlated(parameters) => &|draw| parameters.drawn(draw),
            Method::Tree(parameters) => &|draw| Ok(Box::new(parameters.drawn(draw)?)),
        };
        let rules = parallel::map(self.draws.len(), |i| rule(&self.draws[i]));
        PosteriorPredictive::new(rules.into_iter().collect::<Result<_>>()?)
    }

    /// The Dirichlets of every classifier and class; none for methods without any.
    pub fn margins(&self) -> Result<Option<IndependentFusion>> {
        match &self.method {
            Method::Pool(_)
            | Method::Stacking(_)
            | Method::LogitNormal(_)
            | Method::NormalMixture(_)
            | Method::Bcc(_) => Ok(None),
            Method::Independent(fusion) | Method::Meta(fusion) => Ok(Some(fusion.clone())),
            Method::Auto(fusion) => Ok(Some(fusion.dirichlets().clone())),
            Method::Discounted(fusion) => Ok(Some(fusion.margins().clone())),
            Method::Correlated(parameters) => parameters.margins().map(Some),
            Method::Tree(parameters) => parameters.margins().map(Some),
        }
    }

    /// The correlations that the model implies between pairs; none where it implies nothing.
    pub fn implied_correlations(&self) -> Result<Option<Vec<PairInsight>>> {
        match &self.method {
            Method::Correlated(parameters) => parameters.pairs(&self.class_prior).map(Some),
            Method::Tree(parameters) => parameters.pairs(&self.class_prior).map(Some),
            _ => Ok(None),
        }
    }

    /// How many independent classifiers the sources are worth: from the evidence that they gave on
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
        match &self.method {
            Method::Discounted(fusion) => Some(fusion.covariance()),
            _ => self.training.as_ref()?.evidence_covariance.as_ref(),
        }
    }

    /// What every classifier contributes on average that the others do not, in nats: its strength
    /// (the expected evidence of one output for the true class against another) times its
    /// independent share. Shares come from the evidence on training items, or else from the
    /// correlations that the model implies; none for methods that are not made of Dirichlets.
    pub fn influences(&self) -> Result<Option<Vec<f64>>> {
        let margins = match &self.method {
            Method::Auto(_) => None, // its weights are not those of Dirichlets
            _ => self.margins()?,
        };
        let Some(margins) = margins else { return Ok(None) };
        let strengths = margins.strengths(&self.class_prior)?;
        let shares = match self.evidence_covariance() {
            Some(covariance) => covariance.shares(|_| true),
            None => match self.implied_correlations()? {
                Some(pairs) => {
                    EvidenceCovariance::of_correlations(strengths.len(), &pairs).shares(|_| true)
                }
                None => vec![1.0; strengths.len()],
            },
        };
        Ok(Some(strengths.iter().zip(shares).map(|(strength, share)| strength * share).collect()))
    }

    /// The meta classifier of every classifier: the model's own Dirichlets, or the posterior mode
    /// given its training statistics; none for a model without either.
    pub fn meta_classifiers(&self) -> Result<Vec<IndependentFusion>> {
        let margins = match (self.margins()?, &self.training) {
            (Some(margins), _) => margins,
            (None, None) => return Ok(Vec::new()),
            (None, Some(training)) => {
                IndependentFusion::at_mode(Arc::clone(&self.schema), &training.statistics)?
            }
        };
        (0..margins.alpha().len()).map(|k| margins.meta(k)).collect()
    }

    /// The distribution of the outputs that the model stands for, for simulation.
    pub fn truth(&self) -> Result<Truth> {
        let cannot = |why: &str| Error::Unsupported {
            method: self.method_name(),
            cannot: format!("cannot be simulated: {why}"),
        };
        match &self.method {
            Method::Pool(_) => Err(cannot("a pool does not model the classifiers")),
            Method::Discounted(_) => Err(cannot("it has no density")),
            Method::Stacking(_) | Method::Auto(_) => {
                Err(cannot("it predicts classes and does not model the classifiers"))
            }
            Method::Bcc(_) => Err(cannot("it models decisions, not outputs")),
            Method::LogitNormal(_) | Method::NormalMixture(_) => {
                Err(cannot("only Dirichlets are drawn from"))
            }
            Method::Tree(parameters) => Ok(Truth::of_tree(parameters.fusion().clone())),
            Method::Correlated(parameters) => parameters.truth(),
            Method::Independent(fusion) | Method::Meta(fusion) => {
                let class = |j: usize| {
                    let margins = fusion.alpha().iter().map(|rows| rows[j].clone()).collect();
                    Ok(CorrelatedDirichlet::new(margins, None, Vec::new())?)
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
            Self::Discounted(fusion) => fusion.schema(),
            Self::Correlated(parameters) => parameters.schema(),
            Self::Tree(parameters) => parameters.schema(),
            Self::Stacking(fusion) => fusion.schema(),
            Self::Auto(fusion) => fusion.schema(),
            Self::LogitNormal(fusion) => fusion.schema(),
            Self::NormalMixture(fusion) => fusion.schema(),
            Self::Bcc(fusion) => fusion.schema(),
        })
    }
}
