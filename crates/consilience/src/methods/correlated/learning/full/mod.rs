//! The posterior of everything that three and more classifiers share, α given.
//!
//! The likelihood of an item is an integral over many dimensions. At a centre δ₀ every item gets weighted points of its
//! integral, and these serve at all δ near it (`likelihood`); in coordinates in which every point is allowed (`constraints`) they
//! lead to the mode, the centre following. They do not reach all of the posterior: more than 99 % of what gammas would
//! tell is hidden, so that an item's log weights have a variance of about 100 d/n over it, n items and d shapes a class.
//! So the likelihood is asked for anew at some hundred places, a surface through its values and gradients (`surface`)
//! proposes draws, and the likelihood itself accepts them (`chains`).
//!
//! Prior: with η of every part, given the parts before it, as the logit of its share of what is left, `pooled` has
//! η ~ N(μ, 1), one μ for the common part and one for pairs, expit(μ) uniform; `uniform` has every share uniform. At least ½
//! (or a quarter of α) of every classifier's component is private: this is not for correlations near 1.

mod constraints;
mod delayed_acceptance;
mod gaussian_process;
mod posterior;
mod reweighted_likelihood;

use serde::{Deserialize, Serialize};

use super::all_pairs::{FittedPairs, PairsDraw};
use super::config::{Correlated, DeltaPrior};
use super::report::Summary;
use crate::data::outputs::Outputs;
use crate::error::{Error, Result};
use crate::methods::correlated::Structure;
use crate::methods::independent::Alpha;
use crate::progress::Progress;
use crate::sampling::diagnostics::Diagnostics;
use crate::sampling::{Target, find_mode};
use crate::warning::Warning;
use delayed_acceptance::{DelayedAcceptance, SharedSample};
use posterior::{FullPosterior, ReweightingSummary};

/// Centres that the climb has at the most, and the rise of the log posterior that ends it.
const CENTRES: usize = 6;
const SMALL_RISE: f64 = 0.2;
/// Shared shapes of a class at the most: a surface over more has too few places to rest on.
const MOST_SHAPES: usize = 60;
/// More densities than this part without an error to believe, and the likelihood is not to be trusted.
const MOST_UNRESOLVED: f64 = 0.01;
/// With fewer accepted draws than this the surfaces are no good.
const POOR_ACCEPTANCE: f64 = 0.2;

/// The posterior of what three and more classifiers share, in numbers; parts are the common one, then the pairs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SharedReport {
    /// The worst diagnostics over all elements of δ.
    pub worst: Diagnostics,
    /// Share of proposed draws that the likelihood accepted.
    pub acceptance: f64,
    /// DelayedAcceptance.
    pub chains: usize,
    /// Draws of each chain; at most 300 are made.
    pub draws: usize,
    /// Posterior standard deviations, `sd[part][class]`, with the uncertainty of α.
    pub sd: Vec<Vec<Vec<f64>>>,
    /// Ends of the central 90 % intervals, likewise.
    pub interval: Vec<Vec<Vec<[f64; 2]>>>,
    /// Mean effective share of an item's points where the climb ended.
    pub effective_points: f64,
    /// Estimated error of the log likelihood of all items, a mean over proposed draws.
    pub likelihood_error: f64,
    /// Standard deviation, over proposed draws, of the log likelihood less what chains propose by.
    pub surrogate_error: f64,
    /// Items that had all outputs but no usable points.
    pub left_out: usize,
}

/// What a fit of all shared shapes gives.
#[derive(Debug, Clone, PartialEq)]
pub struct FittedShared {
    /// Posterior means, `delta[part][j]`: the common part, then the pairs in the order of the pairs' fit.
    pub delta: Vec<Vec<Vec<f64>>>,
    /// The posterior in numbers.
    pub report: SharedReport,
    /// The draws kept; `delta` as above.
    pub draws: Vec<PairsDraw>,
    /// What a user should know.
    pub warnings: Vec<Warning>,
}

impl Correlated {
    /// Learns all shared shapes of three and more classifiers, given α and where to start.
    ///
    /// Only items with all outputs count. The exact density is used, so that private shapes must not be near 0.
    pub fn fit_shared(
        &self,
        outputs: &Outputs,
        pairs: &FittedPairs,
        structure: Structure,
        progress: &dyn Progress,
    ) -> Result<FittedShared> {
        if self.delta_prior == DeltaPrior::Paper {
            return Err(Error::parameter(
                "delta prior",
                "pooled or uniform with `posterior`",
                "paper",
            ));
        }
        let mut posterior = FullPosterior::new(outputs, pairs, structure, self.delta_prior)?;
        if posterior.width() > MOST_SHAPES {
            return Err(Error::Unsupported {
                method: "correlated".into(),
                cannot: format!(
                    "cannot draw all that is shared: every class has {} shared shapes, and at most \
                     {MOST_SHAPES} can be followed; use `two-step`",
                    posterior.width()
                ),
            });
        }
        let split = pairs.split(structure);
        let start: Vec<_> = std::iter::once(split.common).chain(split.pairs).collect();
        let mut point = posterior.point(&pairs.alpha, &start);
        progress.begin("climbing to the mode", CENTRES as u64);
        let mut height = f64::NEG_INFINITY;
        let mut centre = 0;
        let (mode, at_mode, lost) = loop {
            progress.check()?;
            let target = posterior.at(&pairs.alpha, &point, self.seed)?;
            let mode = find_mode(&target, &point);
            let found = target.ln_density(&mode.point, &mut vec![0.0; point.len()]);
            let rise = found - height;
            (centre, height) = (centre + 1, found);
            progress.advance(1);
            if rise < SMALL_RISE || centre == CENTRES {
                break (mode, target.in_numbers(), target.lost());
            }
            point = mode.point;
        };
        posterior.drop(&lost);
        let chains = DelayedAcceptance {
            posterior: &posterior,
            alpha: &pairs.alpha,
            settings: self.chain_settings(),
            seed: self.seed,
            progress,
        };
        let sampled = chains.run(mode)?;
        Ok(self.conclude_shared(&posterior, &at_mode, pairs, &sampled))
    }

    fn conclude_shared(
        &self,
        posterior: &FullPosterior,
        at_mode: &ReweightingSummary,
        pairs: &FittedPairs,
        SharedSample { draws, spread, noise, unresolved }: &SharedSample,
    ) -> FittedShared {
        // The mean given α is allowed: the constraints are convex. Spread and kept draws have the draws of α under them.
        let n = draws.len();
        let alpha = |i: usize| {
            let all = &pairs.alpha_draws;
            if all.is_empty() { &pairs.alpha } else { &all[i * all.len() / n] }
        };
        let rows = |alpha: &Alpha, i: usize| posterior.delta(alpha, draws.draw(i)).concat();
        let given = Summary::of((0..n).map(|i| rows(&pairs.alpha, i)), draws.n_chains());
        let carried = Summary::of((0..n).map(|i| rows(alpha(i), i)), draws.n_chains());
        let n_kept = self.keep_draws.min(n);
        let kept = |i: usize| {
            let i = i * n / n_kept;
            PairsDraw { alpha: alpha(i).clone(), delta: posterior.delta(alpha(i), draws.draw(i)) }
        };
        let report = SharedReport {
            worst: given.worst,
            acceptance: draws.acceptance(),
            chains: draws.n_chains(),
            draws: n / draws.n_chains(),
            sd: by_part(&carried.sd, posterior.n_classes),
            interval: by_part(&carried.interval, posterior.n_classes),
            effective_points: at_mode.effective,
            likelihood_error: *noise,
            surrogate_error: *spread,
            left_out: at_mode.left_out,
        };
        FittedShared {
            delta: by_part(&given.mean, posterior.n_classes),
            warnings: warnings(&report, *unresolved),
            report,
            draws: (0..n_kept).map(kept).collect(),
        }
    }
}

fn warnings(report: &SharedReport, unresolved: f64) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if report.worst.are_poor(report.chains) {
        let Diagnostics { r_hat, ess_bulk, ess_tail } = report.worst;
        warnings.push(Warning::convergence(format!(
            "the chains of what is shared have not converged (R-hat {r_hat:.3}, bulk ESS \
             {ess_bulk:.0}, tail ESS {ess_tail:.0}); do not trust them, try more chains or `two-step`"
        )));
    }
    if !(report.acceptance > POOR_ACCEPTANCE) {
        warnings.push(Warning::convergence(format!(
            "the posterior of what is shared is not followed well ({:.0} % of the proposed draws were \
             accepted): its mean can be trusted more than its spread",
            100.0 * report.acceptance
        )));
    }
    if unresolved > MOST_UNRESOLVED {
        warnings.push(Warning::convergence(format!(
            "{:.0} % of the densities behind what is shared could not be resolved, since nearly nothing is \
             private: do not trust its posterior, use `two-step`",
            100.0 * unresolved
        )));
    }
    if report.left_out > 0 {
        warnings.push(Warning::data(format!(
            "{} items were left out of what is shared: their densities could not be resolved",
            report.left_out
        )));
    }
    warnings
}

/// Rows of all parts, those of a part after those of another.
fn by_part<T: Clone>(rows: &[Vec<T>], n_classes: usize) -> Vec<Vec<Vec<T>>> {
    rows.chunks(n_classes).map(<[Vec<T>]>::to_vec).collect()
}
