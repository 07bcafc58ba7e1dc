//! The posterior of everything that three and more sources share, given α. Experimental.
//!
//! Its calibration was checked by simulation for three sources, two classes and 30 items per class, with
//! the `pooled` prior and known α (`experiments/many/calibration_summary.csv`). Nothing is known of its
//! calibration beyond that.
//!
//! The likelihood of an item is an integral over many dimensions. Every item's integral is estimated
//! from points drawn at a centre δ₀, and the same points are reweighted for other δ near it
//! (`reweighted_likelihood`). This is enough to search the mode, with a new centre after every search,
//! in coordinates that satisfy all constraints (`constraints`). It does not reach the whole posterior:
//! over it the log weights of an item have a variance of about 100 d/n for n items and d shapes per
//! class. Therefore the likelihood is evaluated anew at some hundred points, a Gaussian process is
//! fitted to its values and gradients (`gaussian_process`), chains on it propose draws, and the
//! likelihood accepts or rejects them (`sampling`).
//!
//! Prior: η of every part is the logit of its share of what earlier parts have left. With `pooled`,
//! η ~ N(μ, 1) with one μ for the common part and one for pairs, expit(μ) uniform. With `uniform`, every
//! share is uniform. At least ½ (or a quarter of α) of every component is private to its source, which
//! excludes correlations near 1.

mod constraints;
mod gaussian_process;
mod posterior;
mod reweighted_likelihood;
mod sampling;

use serde::{Deserialize, Serialize};

use super::all_pairs::FittedPairs;
use super::config::{Correlated, DeltaPrior};
use super::constants::full::{MOST_CENTRES, MOST_SHAPES, MOST_UNRESOLVED, SMALL_GAIN};
use super::delayed_acceptance::{Correction, NoisyValue};
use super::report::{Summary, chain_warnings};
use crate::data::outputs::Outputs;
use crate::error::{Error, Result};
use crate::methods::Draw;
use crate::methods::correlated::Structure;
use crate::methods::independent::Alpha;
use crate::progress::Progress;
use crate::sampling::diagnostics::Diagnostics;
use crate::sampling::{Draws, Mode, Target, find_mode};
use crate::warning::Warning;
use posterior::{FullPosterior, ReweightingSummary};
use sampling::SharedSampler;

/// A summary of the experimental posterior of what three and more sources share. Parts are the common
/// one, then those of pairs.
///
/// Calibrated for three sources, two classes and 30 items per class only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SharedReport {
    /// The worst diagnostics over all elements of δ.
    pub worst: Diagnostics,
    /// Share of proposed draws that the likelihood accepted.
    pub acceptance: f64,
    /// Number of chains.
    pub chains: usize,
    /// Draws per chain, at most 300.
    pub draws: usize,
    /// Posterior standard deviations, `sd[part][class]`, including the uncertainty of α.
    pub sd: Vec<Vec<Vec<f64>>>,
    /// Ends of the central 90 % intervals, likewise.
    pub interval: Vec<Vec<Vec<[f64; 2]>>>,
    /// Mean effective share of the items' points at the end of the mode search.
    pub effective_points: f64,
    /// Estimated error of the log likelihood of all items, averaged over proposed draws.
    pub likelihood_error: f64,
    /// Standard deviation of likelihood − surrogate over proposed draws, in log units.
    pub surrogate_error: f64,
    /// Items with all outputs whose densities could not be resolved.
    pub left_out: usize,
}

/// The fitted posterior of all shared shapes. Experimental.
#[derive(Debug, Clone, PartialEq)]
pub struct FittedShared {
    /// Posterior means, `delta[part][j]`: the common part, then the pairs in the order of the pairs' fit.
    pub delta: Vec<Vec<Vec<f64>>>,
    /// A summary of the posterior.
    pub report: SharedReport,
    /// The draws kept; `delta` as above.
    pub draws: Vec<Draw>,
    /// Warnings about the data and the chains.
    pub warnings: Vec<Warning>,
}

/// The mode with what is known about it.
struct FoundMode {
    mode: Mode,
    summary: ReweightingSummary,
    /// Indices of the items left out, by class.
    left_out: Vec<Vec<usize>>,
}

impl Correlated {
    /// Learns the posterior of all shared shapes of three and more sources, given α and the fits of
    /// pairs. Experimental: see [`SharedReport`].
    ///
    /// Only items with all outputs are used. The exact density is used, so that private shapes must not
    /// be near 0.
    pub fn fit_shared(
        &self,
        outputs: &Outputs,
        pairs: &FittedPairs,
        structure: Structure,
        progress: &dyn Progress,
    ) -> Result<FittedShared> {
        if self.delta_prior == DeltaPrior::Paper {
            let requirement = "pooled or uniform with `posterior`";
            return Err(Error::parameter("delta prior", requirement, "paper"));
        }
        let mut posterior = FullPosterior::new(outputs, pairs, structure, self.delta_prior)?;
        if posterior.width() > MOST_SHAPES {
            return Err(Error::Unsupported {
                method: "correlated".into(),
                cannot: format!(
                    "cannot learn the posterior of everything that is shared: there are {} shared \
                     shapes per class, and at most {MOST_SHAPES} are supported; use the inference \
                     `two-step`",
                    posterior.width()
                ),
            });
        }
        let start = posterior.point(&pairs.alpha, &pairs.shared_parts(structure).into_all());
        let found = self.search_shared_mode(&posterior, &pairs.alpha, start, progress)?;
        posterior.leave_out(&found.left_out);
        let sampler = SharedSampler {
            posterior: &posterior,
            alpha: &pairs.alpha,
            settings: self.chain_settings(),
            seed: self.seed,
            progress,
        };
        let sampled = sampler.sample(found.mode)?;
        Ok(self.conclude_shared(&posterior, &found.summary, pairs, &sampled))
    }

    /// Searches the mode, each time by points drawn at the last one found.
    fn search_shared_mode(
        &self,
        posterior: &FullPosterior,
        alpha: &Alpha,
        mut point: Vec<f64>,
        progress: &dyn Progress,
    ) -> Result<FoundMode> {
        progress.begin("searching the mode", MOST_CENTRES as u64);
        let mut highest = f64::NEG_INFINITY;
        for centre in 1.. {
            progress.check()?;
            let target = posterior.at(alpha, &point, self.seed)?;
            let mode = find_mode(&target, &point);
            let value = target.ln_density(&mode.point, &mut vec![0.0; point.len()]);
            progress.advance(1);
            if value - highest < SMALL_GAIN || centre == MOST_CENTRES {
                let left_out = target.left_out();
                return Ok(FoundMode { mode, summary: target.summary(), left_out });
            }
            (point, highest) = (mode.point, value);
        }
        unreachable!("the last centre returns")
    }

    fn conclude_shared(
        &self,
        posterior: &FullPosterior,
        summary: &ReweightingSummary,
        pairs: &FittedPairs,
        (draws, correction): &(Draws, Correction),
    ) -> FittedShared {
        // The mean given α satisfies the constraints, which are convex. Standard deviations, intervals and
        // kept draws use draws of α.
        let n = draws.len();
        let alpha = |i: usize| {
            let all = &pairs.alpha_draws;
            if all.is_empty() { &pairs.alpha } else { &all[i * all.len() / n] }
        };
        let rows = |alpha: &Alpha, i: usize| posterior.delta(alpha, draws.draw(i)).concat();
        let of = (n, draws.n_chains());
        let found = Summary::new(of, |i| rows(&pairs.alpha, i), |i| rows(alpha(i), i));
        let n_kept = self.keep_draws.min(n);
        let kept = |i: usize| {
            let i = i * n / n_kept;
            Draw { alpha: alpha(i).clone(), delta: posterior.delta(alpha(i), draws.draw(i)) }
        };
        let n_proposals = correction.weights.len() as f64;
        let over_proposals =
            |f: fn(&NoisyValue) -> f64| correction.weights.iter().map(f).sum::<f64>() / n_proposals;
        let unresolved = over_proposals(|weight| weight.n_unresolved as f64)
            / (posterior.n_items() as f64).max(1.0);
        let report = SharedReport {
            worst: found.worst,
            acceptance: correction.acceptance,
            chains: draws.n_chains(),
            draws: n / draws.n_chains(),
            sd: by_part(&found.sd, posterior.n_classes),
            interval: by_part(&found.interval, posterior.n_classes),
            effective_points: summary.effective,
            likelihood_error: over_proposals(|weight| weight.variance).sqrt(),
            surrogate_error: correction.spread(),
            left_out: summary.n_left_out,
        };
        FittedShared {
            delta: by_part(&found.mean, posterior.n_classes),
            warnings: warnings(&report, unresolved),
            report,
            draws: (0..n_kept).map(kept).collect(),
        }
    }
}

fn warnings(report: &SharedReport, unresolved: f64) -> Vec<Warning> {
    let mut warnings = vec![Warning::convergence(
        "the posterior of everything that three and more sources share is experimental: its \
         calibration was checked for three sources, two classes and 30 items per class only"
            .to_string(),
    )];
    let of = ("the shared shapes", "more chains or the inference `two-step`");
    let worst = (report.worst, report.chains);
    warnings.extend(chain_warnings(of, Some(report.acceptance), worst));
    if unresolved > MOST_UNRESOLVED {
        warnings.push(Warning::convergence(format!(
            "{:.0} % of the densities could not be resolved, because nearly nothing is private: the \
             posterior of the shared shapes is unreliable; use the inference `two-step`",
            100.0 * unresolved
        )));
    }
    if report.left_out > 0 {
        warnings.push(Warning::data(format!(
            "{} items were not used for the posterior of the shared shapes, because their densities \
             could not be resolved",
            report.left_out
        )));
    }
    warnings
}

/// Groups the rows of all parts by part.
fn by_part<T: Clone>(rows: &[Vec<T>], n_classes: usize) -> Vec<Vec<Vec<T>>> {
    rows.chunks(n_classes).map(<[Vec<T>]>::to_vec).collect()
}
