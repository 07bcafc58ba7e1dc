//! Learning the correlated model of two classifiers from labelled outputs.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::alpha_uncertainty::AlphaDraws;
use super::config::{Correlated, CorrelatedInference, DeltaSampler};
use super::delta_posterior::DeltaPosterior;
use super::gibbs::{GibbsClass, GibbsTarget};
use super::mode_search::search_mode;
use super::pair_items::PairItems;
use super::pair_likelihood::ClassLikelihood;
pub use super::report::DeltaReport;
use super::report::{PairDraws, Summary, chain_warnings, lowest, mode_warnings, pair_warnings};
use super::surrogate_sampling::{PairSample, likelihood_error, moments, sample_posterior};
use crate::data::outputs::Outputs;
use crate::data::schema::Schema;
use crate::error::{Error, Result};
use crate::methods::independent::{
    Alpha, FittedIndependent, IndependentFusion, PosteriorReport, SufficientStatistics,
};
use crate::progress::Progress;
use crate::warning::Warning;

/// What a fit of two correlated classifiers gives.
#[derive(Debug, Clone, PartialEq)]
pub struct FittedPair {
    /// The margins, `alpha[k][j]` of classifier k when the true class is j.
    pub alpha: Alpha,
    /// What both share, `delta[j]` when the true class is j: posterior means, or the mode.
    pub delta: Vec<Vec<f64>>,
    /// The posterior of α in numbers; none where its mode was asked for.
    pub alpha_posterior: Option<PosteriorReport>,
    /// The posterior of δ in numbers; none for `map`.
    pub delta_posterior: Option<DeltaReport>,
    /// The draws kept.
    pub draws: Vec<PairDraw>,
    /// What a user should know.
    pub warnings: Vec<Warning>,
}

/// One draw of all parameters; δ is legal for this very α.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PairDraw {
    /// The margins, `alpha[k][j]`.
    pub alpha: Alpha,
    /// What both share, `delta[j]`.
    pub delta: Vec<Vec<f64>>,
}

impl Correlated {
    /// Learns α and δ of two classifiers.
    ///
    /// Items with one classifier only count for α alone.
    ///
    /// # Example
    /// ```
    /// use consilience::methods::correlated::learning::{Correlated, CorrelatedInference};
    /// use consilience::{NoProgress, simulation::Preset};
    ///
    /// let outputs = Preset::Sim2.truth(0.5)?.simulate(60, 1)?;
    /// let config =
    ///     Correlated { inference: CorrelatedInference::Map, ..Correlated::default() };
    /// let fitted = config.fit_pair(&outputs, &NoProgress)?;
    /// // the truth is 6, 4, 4
    /// assert!((2.0..10.0).contains(&fitted.delta[0][0]));
    /// # Ok::<(), consilience::Error>(())
    /// ```
    pub fn fit_pair(&self, outputs: &Outputs, progress: &dyn Progress) -> Result<FittedPair> {
        self.check()?;
        Self::check_supported(outputs.schema())?;
        let statistics = SufficientStatistics::of(outputs)?;
        let margins = self.margins().learn(outputs.schema(), &statistics, progress)?;
        self.learn(outputs, margins, &statistics, progress)
    }

    /// Learns δ where the margins are known: `alpha[k][j]` of classifier k when the true class is j.
    ///
    /// The settings of the margins' fit play no part.
    ///
    /// # Example
    /// ```
    /// use consilience::methods::correlated::learning::{Correlated, CorrelatedInference};
    /// use consilience::{NoProgress, simulation::Preset};
    ///
    /// let outputs = Preset::Sim2.truth(0.5)?.simulate(60, 1)?;
    /// let alpha = vec![Preset::Sim2.alpha().map(Vec::from).to_vec(); 2];
    /// let config =
    ///     Correlated { inference: CorrelatedInference::Map, ..Correlated::default() };
    /// let fitted = config.fit_pair_given_alpha(&outputs, alpha.clone(), &NoProgress)?;
    /// assert_eq!(fitted.alpha, alpha);
    /// # Ok::<(), consilience::Error>(())
    /// ```
    pub fn fit_pair_given_alpha(
        &self,
        outputs: &Outputs,
        alpha: Alpha,
        progress: &dyn Progress,
    ) -> Result<FittedPair> {
        self.check()?;
        Self::check_supported(outputs.schema())?;
        self.check_two_step("known margins")?;
        let statistics = SufficientStatistics::of(outputs)?;
        let known = FittedIndependent {
            fusion: IndependentFusion::new(Arc::clone(outputs.schema()), alpha)?,
            posterior: None,
            draws: Vec::new(),
            warnings: Vec::new(),
        };
        self.learn(outputs, known, &statistics, progress)
    }

    /// δ and its posterior, given the margins.
    pub(super) fn learn(
        &self,
        outputs: &Outputs,
        mut margins: FittedIndependent,
        statistics: &SufficientStatistics,
        progress: &dyn Progress,
    ) -> Result<FittedPair> {
        let schema = outputs.schema();
        let mut posterior = self.posterior(outputs, margins.fusion.alpha())?;
        let mut warnings = std::mem::take(&mut margins.warnings);
        warnings.extend(pair_warnings(schema, &posterior));
        if self.inference == CorrelatedInference::Joint {
            return self.fit_joint(schema, statistics, posterior, warnings, progress);
        }
        if self.sampler == DeltaSampler::Gibbs {
            let drawn = self.augment(&posterior, progress)?;
            // carrying α's uncertainty along asks the likelihood at the mean
            posterior.anchor(&moments(&drawn.sampled.draws).0)?;
            return self.conclude(margins, statistics, &posterior, &drawn, (warnings, progress));
        }
        progress.begin("climbing to the mode", 1);
        let quick = self.inference == CorrelatedInference::Map;
        let (top, other_mode) = search_mode(&mut posterior, quick, progress)?;
        progress.advance(1);
        warnings.extend(mode_warnings(&top, other_mode));
        if quick {
            let delta = posterior.delta(&top.point);
            return Ok(assemble(margins, delta, None, Vec::new(), warnings));
        }
        let chains = (&self.chain_settings(), self.seed);
        let sampled = sample_posterior(&posterior, &top, chains, progress)?;
        let far = sampled.draws.draw(lowest(&posterior, &sampled.draws));
        let likelihood_error = likelihood_error(&posterior, &top.point, far)?;
        let drawn = PairDraws { sampled, likelihood_error, other_mode };
        self.conclude(margins, statistics, &posterior, &drawn, (warnings, progress))
    }

    /// Draws by data augmentation instead of the likelihood; without any approximation.
    fn augment(&self, posterior: &DeltaPosterior, progress: &dyn Progress) -> Result<PairDraws> {
        let class = |class| GibbsClass::new(class, None);
        let classes = posterior.classes.iter().map(class).collect();
        let target =
            GibbsTarget { classes, prior: self.delta_prior, resolution: self.resolution() };
        let draws = target.sample(&self.chain_settings(), self.seed, progress)?;
        let sampled = PairSample { draws, spread: 0.0, corrected: None };
        Ok(PairDraws { sampled, likelihood_error: 0.0, other_mode: None })
    }

    /// Everything that follows from the draws of δ given α, α's uncertainty carried along.
    fn conclude(
        &self,
        mut margins: FittedIndependent,
        statistics: &SufficientStatistics,
        posterior: &DeltaPosterior,
        drawn: &PairDraws,
        (mut warnings, progress): (Vec<Warning>, &dyn Progress),
    ) -> Result<FittedPair> {
        let draws = &drawn.sampled.draws;
        let separate = std::mem::take(&mut margins.draws);
        let alpha = margins.fusion.alpha();
        let carried = AlphaDraws::new(posterior, (alpha, separate), statistics, draws, progress)?;
        let summary = Summary::new(posterior, draws, &carried);
        let delta = summary.mean.clone();
        let report = summary.report(drawn);
        warnings.extend(chain_warnings(&report));
        let kept = |i: usize| {
            let draw = draws.draw(i * draws.len() / self.keep_draws);
            carried.draw(posterior, i, self.keep_draws, draw)
        };
        let kept = (0..self.keep_draws).map(kept).collect();
        Ok(assemble(margins, delta, Some(report), kept, warnings))
    }

    /// Margins that are not learned with δ cannot be learned together with it.
    pub(super) fn check_two_step(&self, what: &str) -> Result<()> {
        if self.inference == CorrelatedInference::Joint {
            return Err(Error::Unsupported {
                method: "correlated".into(),
                cannot: format!("cannot learn α and δ together with {what}; use `two-step`"),
            });
        }
        Ok(())
    }

    fn check_supported(schema: &Schema) -> Result<()> {
        if schema.n_classifiers() != 2 {
            return Err(Error::Mismatch {
                what: "numbers of classifiers",
                expected: "2 to learn what a pair shares".into(),
                found: schema.n_classifiers().to_string(),
            });
        }
        Ok(())
    }

    pub(super) fn posterior(&self, outputs: &Outputs, alpha: &Alpha) -> Result<DeltaPosterior> {
        let items = PairItems::by_class(outputs)?;
        let class = |(j, items): (usize, PairItems)| {
            ClassLikelihood::new(items, [&alpha[0][j], &alpha[1][j]], self.resolution())
        };
        let classes = items.into_iter().enumerate().map(class).collect();
        Ok(DeltaPosterior { classes, prior: self.delta_prior })
    }
}

fn assemble(
    margins: FittedIndependent,
    delta: Vec<Vec<f64>>,
    delta_posterior: Option<DeltaReport>,
    draws: Vec<PairDraw>,
    warnings: Vec<Warning>,
) -> FittedPair {
    FittedPair {
        alpha: margins.fusion.alpha().clone(),
        delta,
        alpha_posterior: margins.posterior,
        delta_posterior,
        draws,
        warnings,
    }
}
