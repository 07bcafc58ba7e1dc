//! Summaries of the posterior of δ, and warnings about it.

use serde::{Deserialize, Serialize};

use super::constants::correction::POOR_ACCEPTANCE;
use super::constants::pair::FEW_ITEMS;
use super::delta_posterior::DeltaPosterior;
use super::mode_search::ModeSearch;
use super::pair_likelihood::ClassLikelihood;
use super::pair_sampling::PairSample;
use crate::data::schema::Schema;
use crate::sampling::Draws;
use crate::sampling::diagnostics::{Diagnostics, quantile};
use crate::warning::Warning;

/// A summary of the posterior of δ.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeltaReport {
    /// The worst diagnostics over all elements of δ.
    pub worst: Diagnostics,
    /// Mean share of accepted trajectories.
    pub acceptance: f64,
    /// Number of chains.
    pub chains: usize,
    /// Draws per chain; fewer than asked for if they were corrected.
    pub draws: usize,
    /// Posterior standard deviations, shaped like `delta`, including the uncertainty of α.
    pub delta_sd: Vec<Vec<f64>>,
    /// Ends of the central 90 % intervals, shaped like `delta`, including the uncertainty of α.
    pub delta_interval: Vec<Vec<[f64; 2]>>,
    /// Standard deviation of likelihood − surrogate in log units, over eight draws per class; over all proposals
    /// if the draws were corrected. Eight draws miss rare errors at the edge of the posterior: in 16 simulated
    /// cases the standard deviation over 100 other draws was 1 to 35 times as large (median 3.5).
    pub surrogate_error: f64,
    /// Share of proposals that the likelihood accepted, if the surrogate error was so large that the
    /// draws had to be corrected.
    pub correction: Option<f64>,
    /// Estimated error of a class's log likelihood ratio between two points.
    pub likelihood_error: f64,
    /// How much lower another mode of the log posterior is, if one was found.
    pub other_mode: Option<f64>,
}

/// Draws with what is known of their errors.
pub(super) struct PairDraws {
    pub(super) sampled: PairSample,
    pub(super) likelihood_error: f64,
    pub(super) other_mode: Option<f64>,
}

/// The draw with the smallest sum of η, which is far from the mode.
pub(super) fn lowest(posterior: &DeltaPosterior<'_>, draws: &Draws) -> usize {
    let height = |i: &usize| draws.draw(*i)[..posterior.n_eta()].iter().sum::<f64>();
    (0..draws.len()).min_by(|a, b| height(a).total_cmp(&height(b))).unwrap_or(0)
}

/// Moments, intervals and diagnostics of a table of draws.
pub(super) struct Summary {
    pub(super) mean: Vec<Vec<f64>>,
    pub(super) sd: Vec<Vec<f64>>,
    pub(super) interval: Vec<Vec<[f64; 2]>>,
    pub(super) worst: Diagnostics,
}

impl Summary {
    /// From `n` draws of a table: means and diagnostics given the point estimate of α, the rest with draws
    /// of α.
    pub(super) fn new(
        (n, n_chains): (usize, usize),
        given_alpha: impl Fn(usize) -> Vec<Vec<f64>>,
        with_alpha: impl Fn(usize) -> Vec<Vec<f64>>,
    ) -> Self {
        let Self { mean, worst, .. } = Self::of((0..n).map(given_alpha), n_chains);
        Self { mean, worst, ..Self::of((0..n).map(with_alpha), n_chains) }
    }

    /// From draws of a table, chain by chain.
    fn of(tables: impl Iterator<Item = Vec<Vec<f64>>>, n_chains: usize) -> Self {
        let (mut width, mut elements) = (1, Vec::<Vec<f64>>::new());
        for table in tables {
            width = table[0].len();
            elements.resize(table.len() * width, Vec::new());
            elements.iter_mut().zip(table.iter().flatten()).for_each(|(e, d)| e.push(*d));
        }
        let mean = |e: &Vec<f64>| e.iter().sum::<f64>() / e.len() as f64;
        let sd = elements.iter().map(|e| {
            let centre = mean(e);
            (e.iter().map(|d| (d - centre).powi(2)).sum::<f64>() / (e.len() as f64 - 1.0)).sqrt()
        });
        let interval = elements.iter().map(|e| [quantile(e, 0.05), quantile(e, 0.95)]);
        Self {
            sd: rows(sd, width),
            interval: rows(interval, width),
            mean: rows(elements.iter().map(mean), width),
            worst: Diagnostics::worst_of(&elements, n_chains).expect("there are elements"),
        }
    }

    pub(super) fn report(self, drawn: &PairDraws) -> DeltaReport {
        let PairSample { draws, spread, correction } = &drawn.sampled;
        DeltaReport {
            worst: self.worst,
            acceptance: draws.acceptance(),
            chains: draws.n_chains(),
            draws: draws.len() / draws.n_chains(),
            delta_sd: self.sd,
            delta_interval: self.interval,
            surrogate_error: *spread,
            correction: *correction,
            likelihood_error: drawn.likelihood_error,
            other_mode: drawn.other_mode,
        }
    }
}

fn rows<T: Clone>(values: impl Iterator<Item = T>, width: usize) -> Vec<Vec<T>> {
    values.collect::<Vec<_>>().chunks(width).map(<[T]>::to_vec).collect()
}

/// Warnings about classes with few items or with exact ties.
pub(super) fn pair_warnings(schema: &Schema, posterior: &DeltaPosterior<'_>) -> Vec<Warning> {
    let of = |(name, class): (&String, &ClassLikelihood<'_>)| {
        let (n, poles) = (class.n_items(), class.n_poles());
        let few = (n < FEW_ITEMS && class.is_resolved()).then(|| {
            Warning::data(format!(
                "class `{name}` has {n} training items with both classifiers: its shared shapes \
                 depend mostly on the prior"
            ))
        });
        let unbounded = (poles > 0).then(|| {
            Warning::data(format!(
                "class `{name}` has {poles} items with tied outputs, so that the exact likelihood \
                 grows without bound as δ approaches its bound and the fit is unreliable; use a \
                 resolution above 0"
            ))
        });
        [few, unbounded].into_iter().flatten()
    };
    schema.classes().iter().zip(&posterior.classes).flat_map(of).collect()
}

/// Warnings about chains of some quantities, with what to do against poor ones: the share of proposed draws
/// that the likelihood accepted, if it corrected them, and the worst diagnostics.
pub(super) fn chain_warnings(
    (of, cure): (&str, &str),
    accepted: Option<f64>,
    (worst, n_chains): (Diagnostics, usize),
) -> Vec<Warning> {
    let poor_surrogate = accepted.filter(|accepted| !(*accepted > POOR_ACCEPTANCE)).map(|accepted| {
        format!(
            "the surrogate of the posterior of {of} is poor ({:.0} % of the proposed draws were \
             accepted): posterior means are more reliable than standard deviations",
            100.0 * accepted
        )
    });
    let Diagnostics { r_hat, ess_bulk, ess_tail } = worst;
    let poor_chains = worst.are_poor(n_chains).then(|| {
        format!(
            "the chains of {of} have not converged (R-hat {r_hat:.3}, bulk ESS {ess_bulk:.0}, tail \
             ESS {ess_tail:.0}); use {cure}"
        )
    });
    poor_surrogate.into_iter().chain(poor_chains).map(Warning::convergence).collect()
}

/// Warnings about the mode search.
pub(super) fn mode_warnings(search: &ModeSearch) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if !search.mode.converged {
        warnings.push(Warning::convergence(
            "the search for the mode of δ has not converged".to_string(),
        ));
    }
    if let Some(gap) = search.other_mode {
        warnings.push(Warning::convergence(format!(
            "the posterior of δ has two modes, {gap:.1} log units apart: the fit describes only \
             the higher one"
        )));
    }
    warnings
}
