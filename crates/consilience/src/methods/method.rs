//! What every fusion method provides: its options, its fit, and its form in the model file.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::bcc::Decisions;
use super::correlated::PairInsight;
use super::correlated::learning::{DeltaReport, ObservedPair, SharedReport};
use super::fusion::Fusion;
use super::independent::{Alpha, IndependentFusion, PosteriorReport, SufficientStatistics};
use super::shares::EvidenceCovariance;
use crate::data::class_prior::ClassPrior;
use crate::data::outputs::Outputs;
use crate::data::schema::Schema;
use crate::error::{Error, Result};
use crate::formula::{Scoring, Value as FormulaValue};
use crate::progress::Progress;
use crate::simulation::Truth;
use crate::warning::Warning;

/// An option of a method, described for command lines and other front ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MethodOption {
    /// Its name in the JSON form of the method's options.
    pub name: &'static str,
    /// The values that it takes, as a noun phrase such as "a number from 0 to 0.2".
    pub values: &'static str,
    /// What it sets, in one sentence.
    pub help: &'static str,
    /// The named values and their meanings, for an option that takes no others.
    pub choices: &'static [(&'static str, &'static str)],
}

impl MethodOption {
    /// An option whose values are numbers or lists.
    pub(crate) const fn new(name: &'static str, values: &'static str, help: &'static str) -> Self {
        Self { name, values, help, choices: &[] }
    }

    /// The same with named values.
    pub(crate) const fn with_choices(
        mut self,
        choices: &'static [(&'static str, &'static str)],
    ) -> Self {
        self.choices = choices;
        self
    }
}

/// Seed of the random numbers: an option of every method that draws any.
pub(crate) const SEED: MethodOption =
    MethodOption::new("seed", "a whole number", "Seed of the random numbers.");

/// The items that a method is fitted to.
#[derive(Clone, Copy)]
pub(crate) struct TrainingSet<'a> {
    /// The labelled items; none only for a method that [needs no labels](FitMethod::needs_labels).
    /// In an update these are the new items only.
    pub(crate) outputs: &'a Outputs,
    /// All items, labelled or not, in the order given; the same table as `outputs` if every item
    /// has a label.
    pub(crate) all: &'a Outputs,
    /// The sufficient statistics of the labelled items. In an update these cover old and new items.
    pub(crate) statistics: &'a SufficientStatistics,
    /// The decisions of the labelled items. In an update these cover the new items only.
    pub(crate) decisions: &'a Decisions,
    /// The class prior that the model will use.
    pub(crate) class_prior: &'a ClassPrior,
    /// Progress reporting and cancellation.
    pub(crate) progress: &'a dyn Progress,
}

impl TrainingSet<'_> {
    /// Names of classifiers and classes, for a fitted method to keep.
    pub(crate) fn schema(&self) -> Arc<Schema> {
        Arc::clone(self.all.schema())
    }
}

/// The options of a fusion method, which can be fitted.
pub(crate) trait FitMethod: Default + Serialize + DeserializeOwned {
    /// The fitted method.
    type Fitted: FittedMethod;

    /// Descriptions of all options, in the order in which they are shown.
    const OPTIONS: &'static [MethodOption];

    /// Whether the fit can weight items.
    const TAKES_WEIGHTS: bool = true;

    /// Whether the method models what several classifiers share, so that one alone is no use.
    const NEEDS_SEVERAL: bool = false;

    /// Whether the fit needs at least one labelled item.
    fn needs_labels(&self) -> bool {
        true
    }

    /// Whether every class needs labelled items. A method that checks its items itself may say no.
    fn needs_every_class(&self) -> bool {
        false
    }

    /// Whether a classifier can be used only if it has an output in every class that has items.
    /// Other classifiers are left out of the fit, with a warning.
    fn needs_every_output(&self) -> bool {
        false
    }

    /// Whether a classifier without an output for any item cannot be used. It is left out of the
    /// fit, with a warning.
    fn needs_some_output(&self) -> bool {
        self.needs_every_output()
    }

    /// Whether the fit needs the items themselves. If not, it uses the names, the statistics, the
    /// decisions and the class prior of a [`TrainingSet`] alone.
    fn needs_items(&self) -> bool {
        true
    }

    /// Fits the method.
    fn fit_method(&self, data: &TrainingSet<'_>) -> Result<Fit<Self::Fitted>>;

    /// Adds items to a fitted method; none if the fit needs all items at once.
    fn update_method(
        &self,
        _fitted: &Self::Fitted,
        _data: &TrainingSet<'_>,
    ) -> Option<Result<Fit<Self::Fitted>>> {
        None
    }

    /// Reads the fitted method from the `parameters` of a model file.
    fn read_parameters(schema: Arc<Schema>, parameters: Value) -> Result<Self::Fitted>;

    /// Whether another class prior would give another fit.
    fn depends_on_class_prior(&self) -> bool {
        false
    }

    /// The only classifier that the method uses, for a method of a single classifier.
    fn classifier(&self) -> Option<&str> {
        None
    }
}

/// What the description of a fitted method shows beside its own parameters.
#[derive(Clone, Copy)]
pub(crate) struct FitDetails<'a> {
    /// Names of classifiers and classes.
    pub(crate) schema: &'a Schema,
    /// The class prior of the model.
    pub(crate) class_prior: &'a ClassPrior,
    /// The posterior of the Dirichlets, where it was sampled.
    pub(crate) posterior: Option<&'a PosteriorReport>,
    /// The posteriors of what pairs of classifiers share.
    pub(crate) pair_posteriors: &'a [PairPosterior],
    /// The posterior of everything that three and more classifiers share.
    pub(crate) shared_posterior: Option<&'a SharedReport>,
    /// The correlations of outputs on the training items; none if there was no fit.
    pub(crate) observed_correlations: Option<&'a [ObservedPair]>,
}

/// A fitted method: a fusion rule that can be saved, inspected and, where it models the outputs,
/// simulated from.
pub(crate) trait FittedMethod: Fusion {
    /// The `parameters` of the model file; null if there are none.
    fn file_parameters(&self) -> Value;

    /// The parameters as text, for a person who inspects the model.
    fn describe(&self, _details: &FitDetails<'_>) -> Result<String> {
        Ok(String::new())
    }

    /// The Dirichlets of every classifier and class, for methods that have them.
    fn margins(&self) -> Result<Option<IndependentFusion>> {
        Ok(None)
    }

    /// Whether strengths and influences can be computed from the Dirichlets alone.
    fn is_made_of_dirichlets(&self) -> bool {
        true
    }

    /// The correlations between pairs of classifiers that the parameters imply.
    fn implied_correlations(&self, _prior: &ClassPrior) -> Result<Option<Vec<PairInsight>>> {
        Ok(None)
    }

    /// The covariance of the classifiers' evidence, for a method that fuses with it.
    fn evidence_covariance(&self) -> Option<&EvidenceCovariance> {
        None
    }

    /// Whether the method has a posterior that can be drawn from.
    fn has_posterior(&self) -> bool {
        false
    }

    /// The fusion rule of one posterior draw.
    fn rule_of_draw(&self, _draw: &Draw) -> Result<Box<dyn Fusion>> {
        Err(Error::InvalidModel("its method has no posterior, so it can have no draws".into()))
    }

    /// Checks that a draw has the shape of the parameters and lies in their range.
    fn check_draw(&self, draw: &Draw) -> Result<()> {
        IndependentFusion::new(Arc::clone(self.schema()), draw.alpha.clone()).map(|_| ())
    }

    /// Number of parts in the posterior of everything that several classifiers share.
    fn n_shared_parts(&self) -> usize {
        0
    }

    /// The unnormalised log posterior of every class (1 × J) as a formula, for exports; otherwise
    /// the reason why there is none.
    fn ln_joint_formula(&self, _scoring: &mut Scoring) -> Result<FormulaValue, &'static str> {
        Err("its rule is not written as a formula of sums and logarithms")
    }

    /// The distribution of the outputs; otherwise the reason why there is none.
    fn truth(&self) -> Result<Truth, &'static str> {
        Err("it does not model the outputs of the classifiers")
    }
}

/// The result of a fit: the fitted method and everything that was learned beside it.
#[derive(Debug)]
pub(crate) struct Fit<F> {
    /// The fitted method.
    pub(crate) fitted: F,
    /// Diagnostics, draws and warnings.
    pub(crate) report: FitReport,
}

impl<F> Fit<F> {
    /// A fit that gives nothing but the method and warnings.
    pub(crate) fn new(fitted: F, warnings: Vec<Warning>) -> Self {
        Self { fitted, report: FitReport { warnings, ..FitReport::default() } }
    }

    /// The same report with the fitted method wrapped.
    pub(crate) fn map<G>(self, wrap: impl FnOnce(F) -> G) -> Fit<G> {
        Fit { fitted: wrap(self.fitted), report: self.report }
    }
}

/// What a fit reports beside the fitted method.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct FitReport {
    /// Warnings for the user.
    pub(crate) warnings: Vec<Warning>,
    /// The posterior of the Dirichlets.
    pub(crate) posterior: Option<PosteriorReport>,
    /// The posteriors of what pairs of classifiers share.
    pub(crate) pair_posteriors: Vec<PairPosterior>,
    /// The posterior of everything that three and more classifiers share.
    pub(crate) shared_posterior: Option<SharedReport>,
    /// Posterior draws to keep.
    pub(crate) draws: Vec<Draw>,
    /// The covariance of the classifiers' evidence on the training items.
    pub(crate) evidence_covariance: Option<EvidenceCovariance>,
    /// The correlations of the outputs of pairs of classifiers on the training items.
    pub(crate) observed_correlations: Vec<ObservedPair>,
}

/// One draw from the posterior.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Draw {
    /// The Dirichlets of every classifier and class.
    pub alpha: Alpha,
    /// The shared shapes: `delta[p][j]` of the p-th pair when the true class is j. The paper's
    /// model of more than two classifiers has the part common to all first, then one per pair.
    /// Empty for methods that treat classifiers as independent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub delta: Vec<Vec<Vec<f64>>>,
}

/// The posterior of what two classifiers share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PairPosterior {
    /// The two classifiers.
    pub between: [String; 2],
    /// Their shared shapes δ.
    pub delta: DeltaReport,
}

/// Reads the parameters of a model file into the type that they have.
pub(crate) fn read<T: DeserializeOwned>(parameters: Value) -> Result<T> {
    serde_json::from_value(parameters)
        .map_err(|error| Error::InvalidModel(format!("`parameters`: {error}")))
}
