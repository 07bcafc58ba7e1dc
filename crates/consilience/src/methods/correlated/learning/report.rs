//! The posterior of δ in numbers, and what a user should know about it.

use serde::{Deserialize, Serialize};

use super::alpha_uncertainty::AlphaDraws;
use super::delta_posterior::DeltaPosterior;
use super::mode_search::PosteriorMode;
use super::pair_likelihood::ClassLikelihood;
use super::surrogate_sampling::PairSample;
use crate::data::schema::Schema;
use crate::sampling::Draws;
use crate::sampling::diagnostics::{Diagnostics, quantile};
use crate::warning::Warning;

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
    /// Draws of each chain; corrected ones are fewer than asked for.
    pub draws: usize,
    /// DeltaPosterior standard deviations, shaped like `delta`, with the uncertainty of α.
    pub delta_sd: Vec<Vec<f64>>,
    /// Ends of the central 90 % intervals, shaped like `delta`, with the uncertainty of α.
    pub delta_interval: Vec<Vec<[f64; 2]>>,
    /// Standard deviation, over the draws, of exact − surrogate log posterior.
    pub surrogate_error: f64,
    /// Where that is more than a little, draws are corrected by Metropolis' rule with the exact
    /// log likelihood: the share of accepted ones.
    pub correction: Option<f64>,
    /// Estimated error of a class's log likelihood itself, as a difference between two points.
    pub likelihood_error: f64,
    /// How much lower another mode of the posterior is, where one was found.
    pub other_mode: Option<f64>,
}

/// Fewer pairs than this in a class say little of δ.
const FEW_PAIRS: usize = 10;
/// A correction that accepts fewer than this is no good.
const POOR_CORRECTION: f64 = 0.3;

/// Draws with what is known of their errors.
pub(super) struct PairDraws {
    pub(super) sampled: PairSample,
    pub(super) likelihood_error: f64,
    pub(super) other_mode: Option<f64>,
}

/// The draw with the smallest sum of η: far from the mode.
pub(super) fn lowest(posterior: &DeltaPosterior, draws: &Draws) -> usize {
    let height = |i: &usize| draws.draw(*i)[..posterior.n_eta()].iter().sum::<f64>();
    (0..draws.len()).min_by(|a, b| height(a).total_cmp(&height(b))).unwrap_or(0)
}

/// Draws of a table in numbers.
pub(super) struct Summary {
    pub(super) mean: Vec<Vec<f64>>,
    pub(super) sd: Vec<Vec<f64>>,
    pub(super) interval: Vec<Vec<[f64; 2]>>,
    pub(super) worst: Diagnostics,
}

impl Summary {
    /// Of draws of δ: means and diagnostics at the point estimate of α, the rest with draws of α.
    pub(super) fn new(posterior: &DeltaPosterior, draws: &Draws, margins: &AlphaDraws) -> Self {
        let n = draws.len();
        let given = (0..n).map(|i| posterior.delta(draws.draw(i)));
        let carried = (0..n).map(|i| margins.draw(posterior, i, n, draws.draw(i)).delta);
        let carried = Self::of(carried, draws.n_chains());
        let Self { mean, worst, .. } = Self::of(given, draws.n_chains());
        Self { mean, worst, ..carried }
    }

    /// Of draws of a table, chain by chain.
    pub(super) fn of(tables: impl Iterator<Item = Vec<Vec<f64>>>, n_chains: usize) -> Self {
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
        let PairSample { draws, spread, corrected } = &drawn.sampled;
        DeltaReport {
            worst: self.worst,
            acceptance: draws.acceptance(),
            chains: draws.n_chains(),
            draws: draws.len() / draws.n_chains(),
            delta_sd: self.sd,
            delta_interval: self.interval,
            surrogate_error: *spread,
            correction: *corrected,
            likelihood_error: drawn.likelihood_error,
            other_mode: drawn.other_mode,
        }
    }
}

fn rows<T: Clone>(values: impl Iterator<Item = T>, width: usize) -> Vec<Vec<T>> {
    values.collect::<Vec<_>>().chunks(width).map(<[T]>::to_vec).collect()
}

/// What the items are too few, or too much alike, to tell.
pub(super) fn pair_warnings(schema: &Schema, posterior: &DeltaPosterior) -> Vec<Warning> {
    let of = |(name, class): (&String, &ClassLikelihood)| {
        let (n, poles) = (class.n_items(), class.n_poles());
        let few = (n < FEW_PAIRS).then(|| {
            Warning::data(format!(
                "class `{name}` has {n} training items with both classifiers: what they share \
                 rests mostly on the prior"
            ))
        });
        let unbounded = (poles > 0).then(|| {
            Warning::data(format!(
                "class `{name}` has {poles} items whose outputs tie, so that the exact likelihood \
                 grows without bound as δ approaches its bound and no fit can be trusted; give a \
                 resolution above 0"
            ))
        });
        [few, unbounded].into_iter().flatten()
    };
    schema.classes().iter().zip(&posterior.classes).flat_map(of).collect()
}

/// What the chains tell of themselves.
pub(super) fn chain_warnings(report: &DeltaReport) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if let Some(accepted) = report.correction.filter(|accepted| *accepted < POOR_CORRECTION) {
        warnings.push(Warning::convergence(format!(
            "the posterior of δ is far from what its chains could follow (a correction accepts \
             {:.0} % of their draws): its mean can be trusted more than its spread",
            100.0 * accepted
        )));
    }
    if report.worst.are_poor(report.chains) {
        let Diagnostics { r_hat, ess_bulk, ess_tail } = report.worst;
        warnings.push(Warning::convergence(format!(
            "the chains of δ have not converged (R-hat {r_hat:.3}, bulk ESS {ess_bulk:.0}, \
             tail ESS {ess_tail:.0}); do not trust them, try more draws or `map`"
        )));
    }
    warnings
}

/// What the climb found.
pub(super) fn mode_warnings(top: &PosteriorMode, other: Option<f64>) -> Vec<Warning> {
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
