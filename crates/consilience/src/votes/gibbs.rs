//! Blocked Gibbs sampling of `ibcc`: classes of all items, then all confusion matrices.
//!
//! Probabilities are averages of the conditional probabilities of the sweeps (Rao–Blackwell), not
//! of the sampled classes. A row of a confusion matrix needs one gamma draw per label that the
//! source used and one for all others together.

use consilience_numerics::{parallel, simplex};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Gamma};

use super::Ibcc;
use super::auto::discount::Discount;
use super::core::{Core, States};
use super::estimates::{Estimates, Interval, share_intervals};
use super::family::{DIAGONAL_PRIOR, Rule, iterate, row_weights};
use super::learned::{Learned, Part};
use crate::error::{Error, Result};
use crate::progress::{CancelOnly, Progress};
use crate::sampling::diagnostics::Diagnostics;
use crate::warning::Warning;

/// Passes of collapsed variational Bayes from which all chains start.
const START_PASSES: usize = 60;

/// Convergence is judged by the class shares and by the confusion matrices of this many sources,
/// those with the most votes.
const WATCHED: usize = 50;

/// Sums over the draws of one chain.
struct Chain {
    probabilities: Vec<f64>,
    counts: Vec<f64>,
    /// Diagonals of the confusion matrices, and their squares, sources × K.
    right: Vec<f64>,
    squares: Vec<f64>,
    /// Class shares, and their squares.
    shares: [Vec<f64>; 2],
    /// The draws of every watched quantity.
    watched: Vec<Vec<f64>>,
}

struct Sampler<'a> {
    core: Core<'a>,
    options: &'a Ibcc,
    start: &'a States,
    watched: &'a [usize],
}

fn gamma(shape: f64, rng: &mut ChaCha8Rng) -> f64 {
    let draw = Gamma::new(shape, 1.0).map_or(0.0, |gamma| gamma.sample(rng));
    draw.max(f64::MIN_POSITIVE)
}

impl Sampler<'_> {
    fn run(&self, number: u64, progress: &dyn Progress) -> Result<Chain> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.options.seed);
        rng.set_stream(number);
        let (votes, k) = (self.core.votes, self.core.votes.n_classes());
        let mut states = self.start.clone();
        let n_watched = k + self.watched.len() * k;
        let mut chain = Chain {
            probabilities: vec![0.0; states.q.len()],
            counts: vec![0.0; votes.n_cells() * k],
            right: vec![0.0; votes.n_sources() * k],
            squares: vec![0.0; votes.n_sources() * k],
            shares: [vec![0.0; k], vec![0.0; k]],
            watched: vec![Vec::new(); n_watched],
        };
        for sweep in 0..self.options.warmup + self.options.draws {
            progress.check()?;
            let classes = self.draw_classes(&states.q, &mut rng);
            let counts = self.core.counts(&classes);
            let (weights, right) = self.draw_rows(&counts, &mut rng);
            let mut shares: Vec<f64> =
                self.core.totals(&classes).iter().map(|n| gamma(n + 1.0, &mut rng)).collect();
            simplex::normalise(&mut shares);
            let ln_shares: Vec<f64> =
                shares.iter().map(|p| p.max(f64::MIN_POSITIVE).ln()).collect();
            let core = &self.core;
            core.update(&mut states, &ln_shares, |item, _, row| {
                core.add_weights(item, &weights, row);
            });
            if sweep >= self.options.warmup {
                chain.add(&states.q, &counts, &right, &shares, self.watched);
            }
            progress.advance(1);
        }
        Ok(chain)
    }

    /// One class per item, as rows of zeros and a one.
    fn draw_classes(&self, q: &[f64], rng: &mut ChaCha8Rng) -> Vec<f64> {
        let k = self.core.votes.n_classes();
        let mut classes = vec![0.0; q.len()];
        for (row, class) in q.chunks_exact(k).zip(classes.chunks_exact_mut(k)) {
            let mut left: f64 = rng.random();
            let found = row.iter().position(|p| {
                left -= p;
                left < 0.0
            });
            class[found.unwrap_or_else(|| simplex::arg_max(row))] = 1.0;
        }
        classes
    }

    /// Logarithms of the drawn confusion matrices by cell, and their diagonals.
    fn draw_rows(&self, counts: &[f64], rng: &mut ChaCha8Rng) -> (Vec<f64>, Vec<f64>) {
        let (votes, k) = (self.core.votes, self.core.votes.n_classes());
        let (hit, miss) = DIAGONAL_PRIOR;
        let mut weights = vec![0.0; counts.len()];
        let mut right = vec![0.0; votes.n_sources() * k];
        for source in 0..votes.n_sources() {
            for j in 0..k {
                let mut unused = hit + (k as f64 - 1.0) * miss;
                let mut sum = 0.0;
                let mut own = None;
                for cell in votes.cells_of(source) {
                    let is_own = votes.cell_label(cell) == j;
                    let a = if is_own { hit } else { miss };
                    unused -= a;
                    let draw = gamma(counts[cell * k + j] + a, rng);
                    weights[cell * k + j] = draw;
                    sum += draw;
                    own = if is_own { Some(draw) } else { own };
                }
                // The right label apart from the other unused ones, because it is reported.
                let hit_draw = own.unwrap_or_else(|| gamma(hit, rng));
                if own.is_none() {
                    unused -= hit;
                    sum += hit_draw;
                }
                sum += if unused > 0.5 * miss { gamma(unused, rng) } else { 0.0 };
                right[source * k + j] = hit_draw / sum;
                for cell in votes.cells_of(source) {
                    let value = &mut weights[cell * k + j];
                    *value = (*value / sum).max(f64::MIN_POSITIVE).ln();
                }
            }
        }
        (weights, right)
    }
}

fn add(sums: &mut [f64], values: &[f64]) {
    sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
}

impl Chain {
    fn add(&mut self, q: &[f64], counts: &[f64], right: &[f64], shares: &[f64], watched: &[usize]) {
        add(&mut self.probabilities, q);
        add(&mut self.counts, counts);
        add(&mut self.right, right);
        self.squares.iter_mut().zip(right).for_each(|(sum, p)| *sum += p * p);
        add(&mut self.shares[0], shares);
        self.shares[1].iter_mut().zip(shares).for_each(|(sum, p)| *sum += p * p);
        let k = shares.len();
        let rows = watched.iter().flat_map(|&source| &right[source * k..(source + 1) * k]);
        let values = shares.iter().chain(rows);
        self.watched.iter_mut().zip(values).for_each(|(draws, value)| draws.push(*value));
    }

    /// Adds the sums of another chain, and its draws after the draws so far.
    fn merge(mut self, other: &Self) -> Self {
        add(&mut self.probabilities, &other.probabilities);
        add(&mut self.counts, &other.counts);
        add(&mut self.right, &other.right);
        add(&mut self.squares, &other.squares);
        for (sums, more) in self.shares.iter_mut().zip(&other.shares) {
            add(sums, more);
        }
        self.watched.iter_mut().zip(&other.watched).for_each(|(all, more)| all.extend(more));
        self
    }
}

/// Mean and standard deviation of the logit of a probability, from its first two moments.
fn logit_moments(mean: f64, square: f64) -> (f64, f64) {
    let mean = mean.clamp(1e-12, 1.0 - 1e-12);
    let sd = (square - mean * mean).max(0.0).sqrt();
    ((mean / (1.0 - mean)).ln(), sd / (mean * (1.0 - mean)))
}

impl Chain {
    /// From sums to means.
    fn divide(&mut self, n: f64) {
        let [shares, share_squares] = &mut self.shares;
        let sums = [&mut self.probabilities, &mut self.counts, &mut self.right, &mut self.squares];
        for sums in sums.into_iter().chain([shares, share_squares]) {
            sums.iter_mut().for_each(|sum| *sum /= n);
        }
    }

    /// Estimates from the moments of the draws.
    fn estimates(&self, core: &Core<'_>, totals: &[f64]) -> Estimates {
        let k = core.votes.n_classes();
        let rows =
            Estimates::of_dirichlets(core.votes, self.counts.clone(), DIAGONAL_PRIOR, totals);
        let moments = self.right.iter().zip(&self.squares);
        let (x, sd) = moments.map(|(mean, square)| logit_moments(*mean, *square)).unzip();
        let [shares, share_squares] = &self.shares;
        let accuracy = self.right.chunks_exact(k).zip(self.squares.chunks_exact(k));
        let accuracy = accuracy.map(|(right, squares)| {
            let mean: f64 = right.iter().zip(shares).map(|(p, share)| share * p).sum();
            let terms = right.iter().zip(squares).zip(shares);
            let variance: f64 =
                terms.map(|((p, square), share)| share * share * (square - p * p)).sum();
            logit_moments(mean, mean * mean + variance)
        });
        let accuracy = accuracy.collect();
        let shares = shares.iter().zip(share_squares);
        let shares = shares.map(|(mean, square)| Interval::of_moments(*mean, square - mean * mean));
        Estimates { x, sd, accuracy, shares: shares.collect(), ..rows }
    }
}

fn check(options: &Ibcc) -> Result<()> {
    if !(1..=100).contains(&options.chains) {
        return Err(Error::parameter("chains", "from 1 to 100", options.chains));
    }
    if !(4..=1_000_000).contains(&options.draws) {
        return Err(Error::parameter("draws", "from 4 to 1 000 000", options.draws));
    }
    if options.warmup > 1_000_000 {
        return Err(Error::parameter("warmup", "up to 1 000 000", options.warmup));
    }
    Ok(())
}

/// The sources with the most votes.
fn most_active(core: &Core<'_>) -> Vec<usize> {
    let mut sources: Vec<usize> = (0..core.votes.n_sources()).collect();
    sources.sort_by_key(|&source| std::cmp::Reverse(core.votes.votes_of(source)));
    sources.truncate(WATCHED);
    sources
}

pub(super) fn learn(core: &Core<'_>, options: &Ibcc, progress: &dyn Progress) -> Result<Learned> {
    check(options)?;
    let n_chains = options.chains;
    progress.begin("sampling", (n_chains * (options.warmup + options.draws)) as u64);
    let start = iterate(core, Rule::Collapsed, START_PASSES, &CancelOnly(progress))?.states;
    let watched = most_active(core);
    let sampler = Sampler { core: *core, options, start: &start, watched: &watched };
    let chains = parallel::map(n_chains, |number| sampler.run(number as u64, progress));
    let chains: Vec<Chain> = chains.into_iter().collect::<Result<_>>()?;
    let merged = chains.into_iter().reduce(|sum, chain| sum.merge(&chain));
    let mut all = merged.expect("there is at least one chain");
    let n = (n_chains * options.draws) as f64;
    all.divide(n);
    let sampling = Diagnostics::worst_of(&all.watched, n_chains);
    let warnings = sampling.iter().filter(|d| d.are_poor(n_chains)).map(|d| {
        let message = format!(
            "the chains have not converged: R-hat {:.3}, effective sample size {:.0}",
            d.r_hat,
            d.ess_bulk.min(d.ess_tail)
        );
        Warning::convergence(message)
    });
    let warnings = warnings.collect();
    let totals = core.totals(&all.probabilities);
    let weights = row_weights(core, &all.counts, f64::ln, DIAGONAL_PRIOR);
    let ln_prior = share_intervals(&[(1.0, totals.clone())]).iter().map(|p| p.value.ln()).collect();
    let estimates = all.estimates(core, &totals);
    Ok(Learned {
        parts: vec![Part { share: 1.0, ln_prior, weights, discount: Discount::none() }],
        probabilities: all.probabilities,
        estimates,
        passes: n_chains * (options.warmup + options.draws),
        converged: sampling.is_some_and(|d| !d.are_poor(n_chains)),
        check: None,
        sampling,
        warnings,
    })
}
