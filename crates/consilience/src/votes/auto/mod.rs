//! The default method for votes: sources of different quality, a discount for errors that they
//! share, and gold labels where there are some.

pub(crate) mod discount;
pub(crate) mod errors;
pub(crate) mod fit;
mod report;
mod share;
pub(crate) mod sources;

use consilience_numerics::parallel;

use self::discount::Discount;
use self::errors::WrongLabels;
use self::fit::{PASSES, fit};
use self::sources::{Logits, Population, START};
use super::AutoVotes;
use super::core::{Core, States};
use super::dbcc;
use super::estimates::one_label_share;
use super::learned::{Learned, Part, probabilities};
use super::report::GoldCheck;
use super::weights::Weights;
use crate::error::{Error, Result};
use crate::folds::{split, stratified};
use crate::progress::{CancelOnly, Progress};
use crate::warning::Warning;

/// Confusion matrices are not used if sources of one label cast more than this share of the votes.
const MOST_ONE_LABEL: f64 = 0.5;

/// The regression on one-hot votes joins, with a share that its held-out probabilities set, if there
/// are at least this many gold labels, and twice as many as sources, and if a source votes on at
/// least this share of the gold items.
const DENSE_GOLD: usize = 50;
const DENSE_SHARE: f64 = 0.5;

/// ρ above this is no correlation but a mistake.
const MOST_RHO: f64 = 1000.0;

/// Scores of gold items from fits that did not use their labels.
struct OutOfFold {
    items: Vec<usize>,
    labels: Vec<usize>,
    folds: Vec<usize>,
    /// n × K.
    scores: Vec<f64>,
    votes: Vec<usize>,
}

pub(super) fn learn(
    core: &Core<'_>,
    options: &AutoVotes,
    progress: &dyn Progress,
) -> Result<Learned> {
    check(options)?;
    let prior = Discount::prior(options.rho);
    let n_folds = options.folds.min(core.gold.iter().flatten().count());
    progress.begin("learning sources", ((n_folds + 1) * PASSES + prior.rho.len()) as u64);
    let mut warnings = Vec::new();
    let one_label = one_label_share(core.votes);
    let base = if one_label > MOST_ONE_LABEL {
        warnings.push(one_label_warning(one_label));
        Base::votes(core)
    } else {
        Base::sources(core, progress)?
    };
    let held_out = OutOfFold::new(core, &base, options, progress)?;
    let discount = prior.learn(&held_out.scores, &held_out.votes, &held_out.labels);
    let around = (&base.logits, &base.population, &base.wrong);
    let (estimates, mut averaged) =
        report::estimates(core, &base.states.scores, &discount, around, progress)?;
    let mut losses = held_out.losses(core, &prior);
    let ln_prior = base.ln_prior;
    let mut parts = vec![Part { share: 1.0, ln_prior, weights: base.weights, discount }];
    if is_dense(core) {
        let settings = (options.folds, options.seed);
        let regression = dbcc::regression(core, settings, &CancelOnly(progress))?;
        let share = held_out.join(&mut losses, &regression.out_of_fold);
        parts[0].share = 1.0 - share;
        parts.push(regression.part(core, share));
        averaged = probabilities(core, &parts);
    }
    let check = (!losses.is_empty()).then(|| GoldCheck::new(&losses));
    Ok(Learned {
        probabilities: averaged,
        parts,
        estimates,
        passes: base.passes,
        converged: false,
        check,
        sampling: None,
        warnings,
    })
}

fn check(options: &AutoVotes) -> Result<()> {
    if let Some(rho) = options.rho
        && !(0.0..=MOST_RHO).contains(&rho)
    {
        return Err(Error::parameter("rho", "from 0 to 1000", rho));
    }
    if !(2..=100).contains(&options.folds) {
        return Err(Error::parameter("folds", "from 2 to 100", options.folds));
    }
    Ok(())
}

fn one_label_warning(share: f64) -> Warning {
    Warning::data(format!(
        "{:.0} % of the votes are from sources that nearly always give the same label; \
         the accuracy of such sources cannot be learned, so all votes count alike",
        100.0 * share
    ))
}

/// Whether gold labels are many and sources vote on most of those items.
fn is_dense(core: &Core<'_>) -> bool {
    let gold = (0..core.votes.n_items()).filter(|&item| core.gold[item].is_some());
    let (n, cast) = gold.fold((0, 0), |(n, cast), item| (n + 1, cast + core.votes.votes_on(item)));
    let sources = core.votes.n_sources();
    n >= DENSE_GOLD && n >= 2 * sources && cast as f64 >= DENSE_SHARE * n as f64 * sources as f64
}

/// Scores of items before the discount, and what they rest on.
struct Base {
    states: States,
    logits: Logits,
    population: Population,
    wrong: WrongLabels,
    weights: Weights,
    ln_prior: Vec<f64>,
    /// Passes over the votes; 0 if votes count alike.
    passes: usize,
}

impl Base {
    /// Sources of different quality.
    fn sources(core: &Core<'_>, progress: &dyn Progress) -> Result<Self> {
        let fit = fit(core, progress)?;
        Ok(Self {
            states: fit.states,
            logits: fit.logits,
            population: fit.population,
            wrong: fit.wrong,
            weights: fit.weights,
            ln_prior: fit.shares.iter().map(|p| p.ln()).collect(),
            passes: fit.passes,
        })
    }

    /// All votes alike, as of sources with an accuracy of 0.75.
    fn votes(core: &Core<'_>) -> Self {
        let k = core.votes.n_classes();
        let weights = Weights::constant(core.votes, START + (k as f64 - 1.0).ln());
        let ln_prior = vec![0.0; k];
        let mut states = core.start(1.0);
        core.update(&mut states, &ln_prior, |item, _, row| weights.add(core, item, row));
        Self {
            states,
            logits: Logits::start(core.votes.n_sources(), k),
            population: Population::start(k),
            wrong: WrongLabels::start(k),
            weights,
            ln_prior,
            passes: 0,
        }
    }
}

impl OutOfFold {
    /// Scores of gold items, each from a fit without the gold labels of its fold.
    fn new(
        core: &Core<'_>,
        base: &Base,
        options: &AutoVotes,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let k = core.votes.n_classes();
        let gold = core.gold.iter().enumerate();
        let (items, labels): (Vec<usize>, Vec<usize>) =
            gold.filter_map(|(item, label)| Some((item, (*label)?))).unzip();
        let n_folds = options.folds.min(labels.len());
        let folds = stratified(&labels, k, n_folds.max(1), options.seed);
        let mut scores = vec![0.0; items.len() * k];
        let copy = |scores: &mut Vec<f64>, i: usize, from: &[f64]| {
            scores[i * k..(i + 1) * k].copy_from_slice(&from[items[i] * k..][..k]);
        };
        if base.passes == 0 {
            (0..items.len()).for_each(|i| copy(&mut scores, i, &base.states.scores));
        } else {
            let fits: Vec<Result<_>> = parallel::map(n_folds, |fold| {
                let inside = split(&folds, fold).0;
                let mut gold = core.gold.to_vec();
                inside.iter().for_each(|&i| gold[items[i]] = None);
                let fit = fit(&Core { gold: &gold, ..*core }, progress)?;
                let mut own = Vec::with_capacity(inside.len() * k);
                let rows = inside.iter().map(|&i| &fit.states.scores[items[i] * k..][..k]);
                rows.for_each(|row| own.extend_from_slice(row));
                Ok((inside, own))
            });
            for fit in fits {
                let (inside, own) = fit?;
                for (i, row) in inside.into_iter().zip(own.chunks_exact(k)) {
                    scores[i * k..(i + 1) * k].copy_from_slice(row);
                }
            }
        }
        let votes = items.iter().map(|&item| core.votes_on(item)).collect();
        Ok(Self { items, labels, folds, scores, votes })
    }

    /// Log-losses of gold items: ours, with the discount learned from the other folds; of votes that
    /// count alike, discounted; and of ours without discount.
    fn losses(&self, core: &Core<'_>, prior: &Discount) -> Vec<[f64; 3]> {
        let k = core.votes.n_classes();
        let alike = Base::votes(&Core { gold: &vec![None; core.votes.n_items()], ..*core });
        let mut losses = vec![[0.0; 3]; self.labels.len()];
        let none = Discount::none();
        for fold in 0..self.n_folds() {
            let (inside, outside) = split(&self.folds, fold);
            let discount = self.learn_from(&outside, prior, k);
            for i in inside {
                let own = &self.scores[i * k..(i + 1) * k];
                let plain = &alike.states.scores[self.items[i] * k..][..k];
                for (loss, (scores, discount)) in
                    losses[i].iter_mut().zip([(own, &discount), (plain, prior), (own, &none)])
                {
                    let (mut p, mut one) = (vec![0.0; k], vec![0.0; k]);
                    discount.apply(scores, self.votes[i], &mut p, &mut one);
                    *loss = -p[self.labels[i]].max(super::report::FLOOR).ln();
                }
            }
        }
        losses
    }

    /// The share of the regression, given the probabilities that it has for gold labels out of fold.
    /// Our losses become those of the average, with the share that the other folds set.
    fn join(&self, losses: &mut [[f64; 3]], regression: &[f64]) -> f64 {
        let pairs: Vec<(f64, f64)> =
            losses.iter().zip(regression).map(|(loss, r)| ((-loss[0]).exp(), *r)).collect();
        for fold in 0..self.n_folds() {
            let (inside, outside) = split(&self.folds, fold);
            let others: Vec<(f64, f64)> = outside.iter().map(|&i| pairs[i]).collect();
            let share = share::share(&others);
            for i in inside {
                let (p, r) = pairs[i];
                losses[i][0] = -((1.0 - share) * p + share * r).ln();
            }
        }
        share::share(&pairs)
    }

    fn n_folds(&self) -> usize {
        self.folds.iter().max().map_or(0, |last| last + 1)
    }

    fn learn_from(&self, chosen: &[usize], prior: &Discount, k: usize) -> Discount {
        let rows = chosen.iter().flat_map(|&i| &self.scores[i * k..(i + 1) * k]);
        let scores: Vec<f64> = rows.copied().collect();
        let votes: Vec<usize> = chosen.iter().map(|&i| self.votes[i]).collect();
        let labels: Vec<usize> = chosen.iter().map(|&i| self.labels[i]).collect();
        prior.learn(&scores, &votes, &labels)
    }
}
