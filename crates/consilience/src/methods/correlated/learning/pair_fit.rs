//! Learning the correlated model of two sources from labelled outputs.

use std::sync::Arc;

use super::alpha_uncertainty::AlphaDraws;
use super::config::{Correlated, CorrelatedInference};
use super::delta_posterior::DeltaPosterior;
use super::mode_search::{Effort, search_mode};
use super::pair_items::PairItems;
use super::pair_likelihood::ClassLikelihood;
use super::pair_sampling::PairSampler;
pub use super::report::DeltaReport;
use super::report::{PairDraws, Summary, chain_warnings, lowest, mode_warnings, pair_warnings};
use crate::data::outputs::Outputs;
use crate::data::schema::Schema;
use crate::error::{Error, Result};
use crate::methods::Draw;
use crate::methods::independent::{
    Alpha, FittedIndependent, IndependentFusion, PosteriorReport, SufficientStatistics,
};
use crate::progress::Progress;
use crate::warning::Warning;

/// The fitted correlated model of two sources.
#[derive(Debug, Clone, PartialEq)]
pub struct FittedPair {
    /// Dirichlet parameters, `alpha[k][j]` of source k when the true class is j.
    pub alpha: Alpha,
    /// Shared shapes, `delta[j]` when the true class is j: posterior means, or the mode.
    pub delta: Vec<Vec<f64>>,
    /// A summary of the posterior of α; none if only its mode was learned.
    pub alpha_posterior: Option<PosteriorReport>,
    /// A summary of the posterior of δ; none for `map`.
    pub delta_posterior: Option<DeltaReport>,
    /// The draws kept, each with one δ that is at most min(α¹, α²) of its draw.
    pub draws: Vec<Draw>,
    /// Warnings about the data and the chains.
    pub warnings: Vec<Warning>,
}

impl Correlated {
    /// Learns α and δ of two sources.
    ///
    /// Items with one output only are used for α alone.
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
        self.fit_pair_from(outputs, &SufficientStatistics::of(outputs)?, progress)
    }

    /// The same, given the sufficient statistics of the outputs.
    pub(crate) fn fit_pair_from(
        &self,
        outputs: &Outputs,
        statistics: &SufficientStatistics,
        progress: &dyn Progress,
    ) -> Result<FittedPair> {
        self.check()?;
        check_supported(outputs.schema())?;
        let dirichlets = self.learn_margins(outputs.schema(), statistics, progress)?;
        let counts = ItemCounts::of_pair(statistics, (0, 1), outputs.schema().n_classes());
        self.learn_delta(outputs, dirichlets, &counts, progress)
    }

    /// Learns δ given known α: `alpha[k][j]` of source k when the true class is j.
    ///
    /// Options that concern α have no effect.
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
        check_supported(outputs.schema())?;
        let known = FittedIndependent {
            fusion: IndependentFusion::new(Arc::clone(outputs.schema()), alpha)?,
            posterior: None,
            draws: Vec::new(),
            warnings: Vec::new(),
        };
        // without draws of α no counts are needed
        self.learn_delta(outputs, known, &ItemCounts(Vec::new()), progress)
    }

    /// Learns δ given the Dirichlets of both sources.
    pub(super) fn learn_delta(
        &self,
        outputs: &Outputs,
        mut dirichlets: FittedIndependent,
        counts: &ItemCounts,
        progress: &dyn Progress,
    ) -> Result<FittedPair> {
        let mut posterior = self.posterior(outputs, dirichlets.fusion.alpha(), progress)?;
        let mut warnings = std::mem::take(&mut dirichlets.warnings);
        warnings.extend(pair_warnings(outputs.schema(), &posterior));
        if self.inference == CorrelatedInference::Map {
            progress.begin("searching the mode", 1);
            let search = search_mode(&mut posterior, Effort::Quick)?;
            progress.advance(1);
            warnings.extend(mode_warnings(&search));
            let delta = posterior.delta(&search.mode.point);
            return Ok(assemble(dirichlets, delta, None, Vec::new(), warnings));
        }
        let drawn = self.draw_delta(&mut posterior, &mut warnings)?;
        let draws = &drawn.sampled.draws;
        let alpha_draws = std::mem::take(&mut dirichlets.draws);
        let alpha = dirichlets.fusion.alpha();
        let alpha_draws = AlphaDraws::new(&posterior, alpha, alpha_draws, counts, draws)?;
        let n = draws.len();
        let draw =
            |i: usize, n: usize, from: usize| alpha_draws.draw(&posterior, i, n, draws.draw(from));
        let summary = Summary::new(
            (n, draws.n_chains()),
            |i| posterior.delta(draws.draw(i)),
            |i| draw(i, n, i).delta.swap_remove(0),
        );
        let delta = summary.mean.clone();
        let report = summary.report(&drawn);
        let of = ("δ", "more draws or the inference `map`");
        warnings.extend(chain_warnings(of, report.correction, (report.worst, report.chains)));
        let kept = |i: usize| draw(i, self.keep_draws, i * n / self.keep_draws);
        let kept = (0..self.keep_draws).map(kept).collect();
        Ok(assemble(dirichlets, delta, Some(report), kept, warnings))
    }

    /// Draws δ by chains on a surrogate of the likelihood around the mode.
    pub(super) fn draw_delta(
        &self,
        posterior: &mut DeltaPosterior<'_>,
        warnings: &mut Vec<Warning>,
    ) -> Result<PairDraws> {
        let progress = posterior.progress;
        progress.begin("searching the mode", 1);
        let search = search_mode(posterior, Effort::Thorough)?;
        progress.advance(1);
        warnings.extend(mode_warnings(&search));
        let sampler = PairSampler { posterior, settings: self.chain_settings(), seed: self.seed };
        let sampled = sampler.sample(&search.mode)?;
        let far = sampled.draws.draw(lowest(posterior, &sampled.draws));
        let likelihood_error = posterior.likelihood_error(&search.mode.point, far)?;
        Ok(PairDraws { sampled, likelihood_error, other_mode: search.other_mode })
    }

    /// The posterior of δ given α.
    pub(super) fn posterior<'a>(
        &self,
        outputs: &Outputs,
        alpha: &Alpha,
        progress: &'a dyn Progress,
    ) -> Result<DeltaPosterior<'a>> {
        let items = PairItems::by_class(outputs)?;
        let class = |(j, items): (usize, PairItems)| {
            ClassLikelihood::new(items, [&alpha[0][j], &alpha[1][j]], self.resolution(), progress)
        };
        let classes = items.into_iter().enumerate().map(class).collect();
        Ok(DeltaPosterior::new(classes, self.delta_prior, progress))
    }
}

/// The number of items with an output of each of two sources, by class.
pub(super) struct ItemCounts(Vec<[f64; 2]>);

impl ItemCounts {
    /// From the sufficient statistics of all sources.
    pub(super) fn of_pair(
        statistics: &SufficientStatistics,
        (a, b): (usize, usize),
        n_classes: usize,
    ) -> Self {
        let class = |j: usize| [a, b].map(|k| statistics.count(k, j) as f64);
        Self((0..n_classes).map(class).collect())
    }

    pub(super) fn of_class(&self, class: usize) -> [f64; 2] {
        self.0[class]
    }
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

fn assemble(
    dirichlets: FittedIndependent,
    delta: Vec<Vec<f64>>,
    delta_posterior: Option<DeltaReport>,
    draws: Vec<Draw>,
    warnings: Vec<Warning>,
) -> FittedPair {
    FittedPair {
        alpha: dirichlets.fusion.alpha().clone(),
        delta,
        alpha_posterior: dirichlets.posterior,
        delta_posterior,
        draws,
        warnings,
    }
}
