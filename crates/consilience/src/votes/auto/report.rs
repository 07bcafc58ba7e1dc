//! What is reported of sources: their accuracies given the discounted probabilities.
//!
//! Under independence, accuracies are too high and intervals too short. The counts are therefore
//! taken again with the discounted probabilities of every value of ρ that has some weight, and the
//! logits fitted to them. Mean and variance over ρ include the spread between its values.

use consilience_numerics::simplex;

use super::super::core::{Core, for_rows};
use super::super::estimates::{Estimates, share_intervals, uncertainty};
use super::discount::Discount;
use super::errors::WrongLabels;
use super::sources::{Hits, Logits, Population, logistic};
use crate::error::Result;
use crate::progress::Progress;

/// Values of ρ with less weight are left out.
const LEAST_WEIGHT: f64 = 0.01;

/// Rounds of Newton steps and hyperparameters for each value of ρ.
const ROUNDS: usize = 3;
const STEPS: usize = 4;

/// Weighted sums of means and of second moments, for the moments of a mixture.
struct Moments {
    weight: f64,
    first: Vec<f64>,
    second: Vec<f64>,
}

impl Moments {
    fn new(n: usize) -> Self {
        Self { weight: 0.0, first: vec![0.0; n], second: vec![0.0; n] }
    }

    /// Adds a distribution with a mean and a variance for every number.
    fn add(&mut self, weight: f64, moments: impl Iterator<Item = (f64, f64)>) {
        self.weight += weight;
        let sums = self.first.iter_mut().zip(&mut self.second);
        for ((first, second), (mean, variance)) in sums.zip(moments) {
            *first += weight * mean;
            *second += weight * (variance + mean * mean);
        }
    }

    /// Mean and standard deviation of every number.
    fn finish(self) -> Vec<(f64, f64)> {
        let each = self.first.iter().zip(&self.second).map(|(first, second)| {
            let mean = first / self.weight;
            (mean, (second / self.weight - mean * mean).max(0.0).sqrt())
        });
        each.collect()
    }
}

/// Estimates of sources and class shares, and the probabilities of all items averaged over ρ.
/// `scores` are those of a fit; the logits start from its.
pub(crate) fn estimates(
    core: &Core<'_>,
    scores: &[f64],
    discount: &Discount,
    (logits, population, wrong): (&Logits, &Population, &WrongLabels),
    progress: &dyn Progress,
) -> Result<(Estimates, Vec<f64>)> {
    let (votes, k) = (core.votes, core.votes.n_classes());
    let mut average = vec![0.0; scores.len()];
    let mut counts = vec![0.0; votes.n_cells() * k];
    let (mut each, mut overall) = (Moments::new(logits.x.len()), Moments::new(votes.n_sources()));
    let mut mixture = Vec::new();
    let kept = |weight: f64| weight >= LEAST_WEIGHT;
    let total: f64 = discount.weights.iter().filter(|w| kept(**w)).sum();
    for (m, &weight) in discount.weights.iter().enumerate() {
        progress.check()?;
        progress.advance(1);
        if weight > 0.0 {
            let q = probabilities(core, scores, discount, m);
            average.iter_mut().zip(&q).for_each(|(mean, q)| *mean += weight * q);
            if !kept(weight) {
                continue;
            }
            let own = core.counts(&q);
            counts.iter_mut().zip(&own).for_each(|(sum, n)| *sum += weight / total * n);
            let part = part(core, &q, &own, (logits, population));
            each.add(weight, part.logits.x.iter().copied().zip(part.logits.variance));
            overall.add(weight, part.accuracy.into_iter());
            mixture.push((weight, part.totals));
        }
    }
    let (x, sd) = each.finish().into_iter().unzip();
    let shares = share_intervals(&mixture);
    for_rows(&mut average, k, |_, row| simplex::normalise(row));
    let wrong = wrong.clone();
    let found = Estimates { x, sd, accuracy: overall.finish(), counts, wrong, shares };
    Ok((found, average))
}

/// The logits of one value of ρ.
struct Part {
    logits: Logits,
    /// Logit of the accuracy and its variance, by source.
    accuracy: Vec<(f64, f64)>,
    totals: Vec<f64>,
}

/// Probabilities of all items under one value of ρ.
fn probabilities(core: &Core<'_>, scores: &[f64], discount: &Discount, m: usize) -> Vec<f64> {
    let k = core.votes.n_classes();
    let mut q = vec![0.0; scores.len()];
    for_rows(&mut q, k, |item, row| match core.gold[item] {
        Some(label) => row[label] = 1.0,
        None => discount.apply_one(m, &scores[item * k..][..k], core.votes_on(item), row),
    });
    q
}

fn part(
    core: &Core<'_>,
    q: &[f64],
    counts: &[f64],
    (logits, population): (&Logits, &Population),
) -> Part {
    let (votes, k) = (core.votes, core.votes.n_classes());
    let hits = Hits::of(votes, counts);
    let (mut logits, mut population) = (logits.clone(), population.clone());
    // The covariances are those under the hyperparameters before the last update.
    let mut before = population.clone();
    for _ in 0..ROUNDS {
        before.clone_from(&population);
        population.learn(core, &mut logits, &hits, STEPS);
    }
    let totals = core.totals(q);
    let all = totals.iter().sum::<f64>() + k as f64;
    let shares: Vec<f64> = totals.iter().map(|n| (n + 1.0) / all).collect();
    let unsure = uncertainty(votes, q);
    let extra = |i: usize| 0.25 * logits.variance[i].powi(2) * unsure[i];
    let slope = |w: usize, j: usize| {
        let p = logistic(logits.x[w * k + j]);
        shares[j] * p * (1.0 - p)
    };
    let projected = before.projected_variances(&logits.x, &hits.all, slope);
    let accuracy = projected.into_iter().enumerate().map(|(w, variance)| {
        let mean: f64 = (0..k).map(|j| shares[j] * logistic(logits.x[w * k + j])).sum();
        let more: f64 = (0..k).map(|j| slope(w, j).powi(2) * extra(w * k + j)).sum();
        let scale = mean * (1.0 - mean);
        ((mean / (1.0 - mean)).ln(), (variance + more) / (scale * scale))
    });
    let accuracy = accuracy.collect();
    let variance = (0..logits.x.len()).map(|i| logits.variance[i] + extra(i)).collect();
    Part { logits: Logits { x: logits.x, variance }, accuracy, totals }
}
