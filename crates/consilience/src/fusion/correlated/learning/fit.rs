//! Learning the correlated model of two classifiers from labelled outputs.

use serde::{Deserialize, Serialize};

use super::chains::{SMALL_SPREAD, Sampled, likelihood_error, sample_posterior};
use super::climb::{Top, find_top};
use super::config::{CorrelatedConfig, CorrelatedInference, DeltaSampler};
use super::gibbs::{GibbsClass, GibbsTarget};
use super::items::PairItems;
use super::likelihood::ClassLikelihood;
use super::posterior::Posterior;
use crate::error::{Error, Result};
use crate::fusion::Fusion;
use crate::fusion::independent::{Alpha, FittedIndependent, PosteriorReport, SufficientStatistics};
use crate::outputs::Outputs;
use crate::sampling::diagnostics::Diagnostics;
use crate::schema::Schema;
use crate::warning::Warning;
use crate::watch::Watch;

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

/// The posterior of δ in numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeltaReport {
    /// The worst diagnostics over all elements of δ.
    pub worst: Diagnostics,
    /// Mean share of accepted proposals.
    pub acceptance: f64,
    /// Chains.
    pub chains: usize,
    /// Draws of each chain.
    pub draws: usize,
    /// Posterior standard deviations, shaped like `delta`.
    pub delta_sd: Vec<Vec<f64>>,
    /// Ends of the central 90 % intervals, shaped like `delta`.
    pub delta_interval: Vec<Vec<[f64; 2]>>,
    /// The largest over classes of the standard deviation of exact − surrogate log likelihood.
    pub surrogate_error: f64,
    /// Estimated error of a class's log likelihood itself, as a difference between two points.
    pub likelihood_error: f64,
    /// How much lower another mode of the posterior is, where one was found.
    pub other_mode: Option<f64>,
}

/// Fewer pairs than this in a class say little of δ.
const FEW_PAIRS: usize = 10;

impl CorrelatedConfig {
    /// Learns α and δ of two classifiers.
    ///
    /// Items with one classifier only count for α alone.
    ///
    /// # Example
    /// ```
    /// use consilience::fusion::correlated::learning::{CorrelatedConfig, CorrelatedInference};
    /// use consilience::{Unwatched, simulation::Preset};
    ///
    /// let outputs = Preset::Sim2.truth(0.5)?.simulate(60, 1)?;
    /// let config =
    ///     CorrelatedConfig { inference: CorrelatedInference::Map, ..CorrelatedConfig::default() };
    /// let fitted = config.fit_pair(&outputs, &Unwatched)?;
    /// // the truth is 6, 4, 4
    /// assert!((2.0..10.0).contains(&fitted.delta[0][0]));
    /// # Ok::<(), consilience::Error>(())
    /// ```
    pub fn fit_pair(&self, outputs: &Outputs, watch: &dyn Watch) -> Result<FittedPair> {
        self.check()?;
        Self::check_supported(outputs.schema())?;
        let statistics = SufficientStatistics::of(outputs)?;
        let margins = self.margins().fit(outputs.schema(), &statistics, watch)?;
        let mut posterior = self.posterior(outputs, margins.fusion.alpha())?;
        let mut warnings = margins.warnings.clone();
        warnings.extend(pair_warnings(outputs.schema(), &posterior));
        if self.inference == CorrelatedInference::Joint {
            return self.fit_joint(outputs.schema(), &statistics, posterior, warnings, watch);
        }
        if self.sampler == DeltaSampler::Gibbs {
            let sampled = self.augment(&posterior, watch)?;
            let drawn = Drawn { sampled, likelihood_error: 0.0, other_mode: None };
            return Ok(self.conclude(margins, &posterior, &drawn, warnings));
        }
        watch.begin("climbing to the mode", 1);
        let quick = self.inference == CorrelatedInference::Map;
        let (top, other_mode) = find_top(&mut posterior, quick, watch)?;
        watch.advance(1);
        warnings.extend(mode_warnings(&top, other_mode));
        if quick {
            let delta = posterior.delta(&top.point);
            return Ok(assemble(margins, delta, None, Vec::new(), warnings));
        }
        let chains = (&self.chain_settings(), self.seed);
        let sampled = sample_posterior(&posterior, &top, chains, watch)?;
        let far = sampled.draws.draw(lowest(&posterior, &sampled));
        let likelihood_error = likelihood_error(&posterior, &top.point, far)?;
        let drawn = Drawn { sampled, likelihood_error, other_mode };
        Ok(self.conclude(margins, &posterior, &drawn, warnings))
    }

    /// Draws by data augmentation instead of the likelihood.
    fn augment(&self, posterior: &Posterior, watch: &dyn Watch) -> Result<Sampled> {
        let class = |class| GibbsClass::new(class, None);
        let classes = posterior.classes.iter().map(class).collect();
        let target = GibbsTarget { classes, prior: self.delta_prior, resolution: self.resolution };
        let draws = target.sample(&self.chain_settings(), self.seed, watch)?;
        Ok(Sampled { draws, spread: vec![0.0; posterior.classes.len()] })
    }

    /// Everything that follows from the draws.
    fn conclude(
        &self,
        margins: FittedIndependent,
        posterior: &Posterior,
        drawn: &Drawn,
        mut warnings: Vec<Warning>,
    ) -> FittedPair {
        let summary = Summary::new(posterior, &drawn.sampled, self.chains);
        let delta = summary.mean.clone();
        let report = self.report(summary, drawn);
        let schema = margins.fusion.schema();
        warnings.extend(self.chain_warnings(schema, &drawn.sampled, &report));
        let draws = self.kept(posterior, &margins, &drawn.sampled);
        assemble(margins, delta, Some(report), draws, warnings)
    }

    pub(super) fn report(&self, summary: Summary, drawn: &Drawn) -> DeltaReport {
        DeltaReport {
            worst: summary.worst,
            acceptance: drawn.sampled.draws.acceptance(),
            chains: self.chains,
            draws: self.draws,
            delta_sd: summary.sd,
            delta_interval: summary.interval,
            surrogate_error: drawn.sampled.spread.iter().copied().fold(0.0, f64::max),
            likelihood_error: drawn.likelihood_error,
            other_mode: drawn.other_mode,
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

    fn posterior(&self, outputs: &Outputs, alpha: &Alpha) -> Result<Posterior> {
        let items = PairItems::by_class(outputs)?;
        let class = |(j, items): (usize, PairItems)| {
            ClassLikelihood::new(items, [&alpha[0][j], &alpha[1][j]], self.resolution)
        };
        let classes = items.into_iter().enumerate().map(class).collect();
        Ok(Posterior { classes, prior: self.delta_prior })
    }

    /// Kept draws: every draw of α with the drawn shares δ/b of its own bounds, so that all are legal.
    fn kept(
        &self,
        posterior: &Posterior,
        margins: &FittedIndependent,
        sampled: &Sampled,
    ) -> Vec<PairDraw> {
        let one = |i: usize| {
            let alpha = margins.draws.get(i).unwrap_or(margins.fusion.alpha()).clone();
            let draw = sampled.draws.draw(i * sampled.draws.len() / self.keep_draws);
            let mut delta = posterior.delta(draw);
            for (j, row) in delta.iter_mut().enumerate() {
                for (l, value) in row.iter_mut().enumerate() {
                    let bound = alpha[0][j][l].min(alpha[1][j][l]);
                    *value *= bound / posterior.classes[j].bound()[l];
                }
            }
            PairDraw { alpha, delta }
        };
        (0..self.keep_draws).map(one).collect()
    }

    pub(super) fn chain_warnings(
        &self,
        schema: &Schema,
        sampled: &Sampled,
        report: &DeltaReport,
    ) -> Vec<Warning> {
        let mut warnings = Vec::new();
        for (class, spread) in schema.classes().iter().zip(&sampled.spread) {
            if !(*spread < 3.0 * SMALL_SPREAD) {
                warnings.push(Warning::convergence(format!(
                    "the posterior of δ for class `{class}` is known only roughly (its log density \
                     is off by {spread:.2}); its mean can be trusted more than its spread"
                )));
            }
        }
        if report.worst.are_poor(self.chains) {
            let Diagnostics { r_hat, ess_bulk, ess_tail } = report.worst;
            warnings.push(Warning::convergence(format!(
                "the chains of δ have not converged (R-hat {r_hat:.3}, bulk ESS {ess_bulk:.0}, \
                 tail ESS {ess_tail:.0}); do not trust them, try more draws or `map`"
            )));
        }
        warnings
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

/// Draws with what is known of their errors.
pub(super) struct Drawn {
    pub(super) sampled: Sampled,
    pub(super) likelihood_error: f64,
    pub(super) other_mode: Option<f64>,
}

/// The draw with the smallest sum of η: far from the mode.
fn lowest(posterior: &Posterior, sampled: &Sampled) -> usize {
    let height = |i: &usize| sampled.draws.draw(*i)[..posterior.n_eta()].iter().sum::<f64>();
    (0..sampled.draws.len()).min_by(|a, b| height(a).total_cmp(&height(b))).unwrap_or(0)
}

/// Draws of a table of elements in numbers.
pub(super) struct Summary {
    pub(super) mean: Vec<Vec<f64>>,
    pub(super) sd: Vec<Vec<f64>>,
    pub(super) interval: Vec<Vec<[f64; 2]>>,
    pub(super) worst: Diagnostics,
}

impl Summary {
    fn new(posterior: &Posterior, sampled: &Sampled, n_chains: usize) -> Self {
        let draws = &sampled.draws;
        let tables = (0..draws.len()).map(|i| posterior.delta(draws.draw(i)));
        Self::of(tables, n_chains)
    }

    /// Of draws of a table.
    pub(super) fn of(tables: impl Iterator<Item = Vec<Vec<f64>>>, n_chains: usize) -> Self {
        let (mut width, mut elements) = (1, Vec::new());
        for table in tables {
            width = table[0].len();
            elements.resize(table.len() * width, Vec::new());
            let flat = table.iter().flatten();
            elements.iter_mut().zip(flat).for_each(|(e, d): (&mut Vec<f64>, _)| e.push(*d));
        }
        let n = elements[0].len() as f64;
        let mean: Vec<f64> = elements.iter().map(|e| e.iter().sum::<f64>() / n).collect();
        let sd = elements.iter().zip(&mean).map(|(e, mean)| {
            (e.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt()
        });
        let quantile = crate::sampling::diagnostics::quantile;
        let interval = elements.iter().map(|e| [quantile(e, 0.05), quantile(e, 0.95)]);
        Self {
            sd: rows(sd, width),
            interval: rows(interval, width),
            mean: rows(mean.iter().copied(), width),
            worst: Diagnostics::worst_of(&elements, n_chains).expect("there are elements"),
        }
    }
}

fn rows<T: Clone>(values: impl Iterator<Item = T>, width: usize) -> Vec<Vec<T>> {
    values.collect::<Vec<_>>().chunks(width).map(<[T]>::to_vec).collect()
}

fn pair_warnings(schema: &Schema, posterior: &Posterior) -> Vec<Warning> {
    let few = |(name, class): (&String, &ClassLikelihood)| {
        let n = class.n_items();
        (n < FEW_PAIRS).then(|| {
            Warning::data(format!(
                "class `{name}` has {n} training items with both classifiers: what they share \
                 rests mostly on the prior"
            ))
        })
    };
    schema.classes().iter().zip(&posterior.classes).filter_map(few).collect()
}

pub(super) fn mode_warnings(top: &Top, other: Option<f64>) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if !top.converged {
        warnings
            .push(Warning::convergence("the climb to the mode of δ has not converged".to_string()));
    }
    if let Some(gap) = other {
        warnings.push(Warning::convergence(format!(
            "the posterior of δ has two modes, {gap:.1} log units apart: the fit describes the \
             higher one only"
        )));
    }
    warnings
}
