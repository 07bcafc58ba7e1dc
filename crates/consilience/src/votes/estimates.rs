//! What is known about sources and class shares after a fit.

use super::auto::errors::WrongLabels;
use super::auto::sources::{Hits, logistic};
use super::core::block_sums;
use super::table::Votes;
pub use crate::evaluation::Interval;

/// The standard normal quantile of 0.95: half the width of a 90 % interval.
pub(super) const NINETY: f64 = 1.644_853_626_951_472_7;

impl Interval {
    /// The interval of a probability, from mean and standard deviation of its logit.
    pub(super) fn of_logit(mean: f64, sd: f64) -> Self {
        Self {
            value: logistic(mean),
            low: logistic(mean - NINETY * sd),
            high: logistic(mean + NINETY * sd),
        }
    }

    /// The interval of a probability from its mean and variance, symmetric on the logit scale.
    pub(super) fn of_moments(mean: f64, variance: f64) -> Self {
        let slope = mean * (1.0 - mean);
        if !(slope > 0.0) {
            return Self { value: mean, low: mean, high: mean };
        }
        let interval = Self::of_logit((mean / (1.0 - mean)).ln(), variance.max(0.0).sqrt() / slope);
        Self { value: mean, ..interval }
    }
}

/// Mean and standard deviation of logits, and the votes they rest on.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Estimates {
    /// Logit of the probability of being right, sources × K.
    pub(super) x: Vec<f64>,
    /// Its standard deviation.
    pub(super) sd: Vec<f64>,
    /// Logit of the accuracy over all classes, and its standard deviation, by source.
    pub(super) accuracy: Vec<(f64, f64)>,
    /// Counts n(cell, j), fractional.
    pub(super) counts: Vec<f64>,
    /// Concentrations of the wrong labels.
    pub(super) wrong: WrongLabels,
    /// Shares of the classes.
    pub(super) shares: Vec<Interval>,
}

impl Estimates {
    /// Estimates from Dirichlet rows: counts n(cell, j) on top of a prior with `hit` for the right
    /// label and `miss` for every other one.
    pub(super) fn of_dirichlets(
        votes: &Votes,
        counts: Vec<f64>,
        (hit, miss): (f64, f64),
        totals: &[f64],
    ) -> Self {
        let k = votes.n_classes();
        let hits = Hits::of(votes, &counts);
        let shares = share_intervals(&[(1.0, totals.to_vec())]);
        let prior = hit + (k as f64 - 1.0) * miss;
        let row = |at: usize| {
            let (a, total) = (hits.right[at] + hit, hits.all[at] + prior);
            let mean = a / total;
            (mean, mean * (1.0 - mean) / (total + 1.0))
        };
        let logit = |mean: f64, variance: f64| {
            let mean = mean.clamp(1e-12, 1.0 - 1e-12);
            ((mean / (1.0 - mean)).ln(), variance.sqrt() / (mean * (1.0 - mean)))
        };
        let rows: Vec<(f64, f64)> = (0..hits.all.len()).map(row).collect();
        let accuracy = rows.chunks_exact(k).map(|rows| {
            let weighted = rows.iter().zip(&shares);
            let (mean, variance) = weighted.fold((0.0, 0.0), |(m, v), (row, share)| {
                (m + share.value * row.0, v + share.value * share.value * row.1)
            });
            logit(mean, variance)
        });
        let accuracy = accuracy.collect();
        let (x, sd): (Vec<f64>, Vec<f64>) =
            rows.iter().map(|&(mean, variance)| logit(mean, variance)).unzip();
        Self { x, sd, accuracy, counts, wrong: WrongLabels::constant(k, miss), shares }
    }

    /// P(label | class) of a source, one row per class.
    pub(super) fn confusion(&self, votes: &Votes, source: usize) -> Vec<Vec<f64>> {
        let k = votes.n_classes();
        let mut errors = vec![vec![0.0; k]; k];
        for cell in votes.cells_of(source) {
            for (j, row) in errors.iter_mut().enumerate() {
                row[votes.cell_label(cell)] = self.counts[cell * k + j];
            }
        }
        for (j, row) in errors.iter_mut().enumerate() {
            let right = logistic(self.x[source * k + j]);
            row[j] = 0.0;
            self.wrong.spread(j, row);
            row.iter_mut().for_each(|p| *p *= 1.0 - right);
            row[j] = right;
        }
        errors
    }
}

/// Class shares from a mixture of Dirichlet(totals + 1) with weights.
pub(super) fn share_intervals(mixture: &[(f64, Vec<f64>)]) -> Vec<Interval> {
    let k = mixture[0].1.len();
    let moments = |j: usize| {
        let each = mixture.iter().map(|(weight, totals)| {
            let all = totals.iter().sum::<f64>() + k as f64;
            let mean = (totals[j] + 1.0) / all;
            (*weight, mean, mean * (1.0 - mean) / (all + 1.0))
        });
        mixed_moments(each)
    };
    (0..k).map(moments).map(|(mean, variance)| Interval::of_moments(mean, variance)).collect()
}

/// Mean and variance of a mixture of distributions with weight, mean and variance each.
pub(super) fn mixed_moments(parts: impl Iterator<Item = (f64, f64, f64)> + Clone) -> (f64, f64) {
    let total: f64 = parts.clone().map(|(weight, ..)| weight).sum();
    let mean = parts.clone().map(|(weight, mean, _)| weight * mean).sum::<f64>() / total;
    let squares = parts.map(|(weight, m, variance)| weight * (variance + (m - mean).powi(2)));
    (mean, squares.sum::<f64>() / total)
}

/// Σ q(1 − q) over the votes of every source, sources × K: how uncertain the classes of its items
/// are.
pub(super) fn uncertainty(votes: &Votes, q: &[f64]) -> Vec<f64> {
    let k = votes.n_classes();
    let spread: Vec<f64> = q.iter().map(|q| q * (1.0 - q)).collect();
    let mut sums = vec![0.0; votes.n_sources() * k];
    super::core::for_rows(&mut sums, k, |source, row| {
        for cell in votes.cells_of(source) {
            super::core::add_rows(row, &spread, votes.cell_items(cell));
        }
    });
    sums
}

/// The share of votes that were cast by sources that nearly always give the same label.
pub(super) fn one_label_share(votes: &Votes) -> f64 {
    let cast = block_sums(votes.n_sources(), 1, |sources, sums| {
        for source in sources {
            let all = votes.votes_of(source);
            let most = votes.cells_of(source).map(|cell| votes.cell_range(cell).len()).max();
            if all >= 10 && most.unwrap_or(0) as f64 > 0.97 * all as f64 {
                sums[0] += all as f64;
            }
        }
    });
    cast[0] / votes.n_votes() as f64
}
