//! Fusing with a model.

use std::borrow::Cow;

use super::{Model, Training};
use crate::data::class_prior::{ClassPrior, PriorChoice};
use crate::data::outputs::Outputs;
use crate::error::{Error, Result};
use crate::methods::{Fused, Fusion, PosteriorPredictive, fuse_with};
use crate::progress::{NoProgress, Progress};
use consilience_numerics::parallel;

/// Options of fusing.
#[derive(Clone)]
pub struct FuseOptions<'a> {
    /// The class prior, if not the model's own. `estimate` is that of the items to be fused, all of
    /// which must be given at once.
    pub class_prior: Option<PriorChoice>,
    /// Whether to average over the posterior draws kept in the model instead of fusing with their
    /// mean.
    pub predictive: bool,
    /// Progress reporting and cancellation.
    pub progress: &'a dyn Progress,
}

impl Default for FuseOptions<'_> {
    fn default() -> Self {
        Self { class_prior: None, predictive: false, progress: &NoProgress }
    }
}

impl Model {
    /// Fuses the outputs of new items under the model's class prior.
    ///
    /// Classifiers may come in another order, and there may be more than the model has.
    pub fn fuse(&self, outputs: &Outputs) -> Result<Fused> {
        self.fuse_with(outputs, &FuseOptions::default())
    }

    /// Fuses the outputs of new items under another class prior or over posterior draws.
    ///
    /// # Example
    /// ```
    /// use consilience::{FuseOptions, PriorChoice, methods::auto::Auto, simulation::Preset};
    ///
    /// let truth = Preset::Sim2.truth(0.5)?;
    /// let model = Auto::default().fit(&truth.simulate(200, 1)?)?;
    /// let class_prior = Some(PriorChoice::Given(vec![0.5, 0.3, 0.2]));
    /// let options = FuseOptions { class_prior, ..FuseOptions::default() };
    /// let fused = model.fuse_with(&truth.simulate(1, 2)?, &options)?;
    /// assert!((fused.probabilities(0).iter().sum::<f64>() - 1.0).abs() < 1e-12);
    /// # Ok::<(), consilience::Error>(())
    /// ```
    pub fn fuse_with(&self, outputs: &Outputs, options: &FuseOptions<'_>) -> Result<Fused> {
        let prior = self.prior_for(outputs, options)?;
        let rule = self.rule(options.predictive)?;
        fuse_with(rule.fusion(), &*self.own_outputs(outputs)?, &prior, options.progress)
    }

    /// The outputs of the model's classifiers, in its order.
    pub(crate) fn own_outputs<'a>(&self, outputs: &'a Outputs) -> Result<Cow<'a, Outputs>> {
        if outputs.schema() == self.schema() {
            return Ok(Cow::Borrowed(outputs));
        }
        outputs.select(self.schema()).map(Cow::Owned)
    }

    /// The class prior that was asked for, or the model's own. `estimate` is an error: see
    /// [`prior_for`](Self::prior_for).
    pub fn prior(&self, choice: Option<&PriorChoice>) -> Result<ClassPrior> {
        let counts = self.training.as_ref().map(Training::class_frequencies);
        match choice {
            None => Ok(self.class_prior.clone()),
            Some(choice) => choice.resolve(self.schema.classes(), counts.as_deref()),
        }
    }

    /// The fusion rule at the point estimate.
    pub fn fusion(&self) -> &dyn Fusion {
        self.method.fitted()
    }

    /// The fusion rule: at the point estimate, or averaged over the posterior draws.
    pub fn rule(&self, predictive: bool) -> Result<FusionRule<'_>> {
        if predictive {
            self.predictive().map(FusionRule::Predictive)
        } else {
            Ok(FusionRule::Estimate(self.fusion()))
        }
    }

    /// The fusion rule averaged over the posterior draws kept in the model.
    pub fn predictive(&self) -> Result<PosteriorPredictive> {
        let fitted = self.method.fitted();
        if !fitted.has_posterior() {
            return Err(Error::unsupported(self.method_name(), "has no posterior predictive"));
        }
        let rules = parallel::map(self.draws.len(), |i| fitted.rule_of_draw(&self.draws[i]));
        PosteriorPredictive::new(rules.into_iter().collect::<Result<_>>()?)
    }
}

/// A fusion rule of a model.
pub enum FusionRule<'a> {
    /// At the point estimate of the parameters.
    Estimate(&'a dyn Fusion),
    /// Averaged over posterior draws of the parameters.
    Predictive(PosteriorPredictive),
}

impl FusionRule<'_> {
    /// The rule as such.
    pub fn fusion(&self) -> &dyn Fusion {
        match self {
            Self::Estimate(fusion) => *fusion,
            Self::Predictive(predictive) => predictive,
        }
    }
}
