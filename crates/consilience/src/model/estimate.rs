//! Class shares of unlabelled items, estimated from their fused probabilities.
//!
//! Fused probabilities f under a class prior p⁰ stand for likelihood ratios f/p⁰. The shares π of the
//! classes among the items maximise Σᵢ ln Σₜ πₜ fᵢₜ/p⁰ₜ. This function is concave, and its maximum is
//! the fixed point of the EM algorithm of Saerens et al. EM is slow where a share is near 0, so that
//! the maximum is found by projected gradients, with every share at least that of half an item.
//!
//! The estimate assumes that only the class frequencies differ between training items and these
//! items, and that the fused probabilities are calibrated.
//!
//! # References
//! Saerens, Latinne, Decaestecker, "Adjusting the outputs of a classifier to new a priori
//! probabilities: a simple procedure", Neural Computation 14, 2002.

use super::{FuseOptions, Model};
use crate::data::class_prior::{ClassPrior, PriorChoice};
use crate::data::outputs::Outputs;
use crate::error::{Error, Result};
use crate::progress::Progress;
use consilience_numerics::optimise::{Minimum, projected_gradient};
use consilience_numerics::{parallel, simplex};

/// Largest movement of a share by a projected gradient step at which the search ends.
const TOLERANCE: f64 = 1e-9;

/// Most steps of the search.
const MAX_STEPS: usize = 1000;

/// Items of which the sum is made in one piece, so that it does not depend on the number of threads.
const PIECE: usize = 4096;

/// A share is at least this many items, so that a class that no item seems to have stays possible.
const LEAST_ITEMS: f64 = 0.5;

impl ClassPrior {
    /// The class shares of items by maximum likelihood from their fused probabilities (n × J) under
    /// the class prior `under`: the limit of the EM algorithm of Saerens, Latinne & Decaestecker
    /// (2002).
    ///
    /// Assumes calibrated probabilities, and that the items differ from the training items in the
    /// frequencies of the classes only. Every share is at least ½/(n + J/2).
    ///
    /// # Example
    /// ```
    /// use consilience::{ClassPrior, NoProgress};
    /// // Outputs that are certain: the shares are the frequencies of the classes.
    /// let fused = [1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0];
    /// let shares = ClassPrior::estimated(&fused, &ClassPrior::uniform(2), &NoProgress)?;
    /// assert!((shares.probabilities()[0] - 0.75).abs() < 1e-6);
    /// # Ok::<(), consilience::Error>(())
    /// ```
    pub fn estimated(probabilities: &[f64], under: &Self, progress: &dyn Progress) -> Result<Self> {
        let n_items = probabilities.len() / under.probabilities().len();
        Self::estimated_from(probabilities, &vec![1.0; n_items], under, progress)
    }

    /// The same for items with weights.
    fn estimated_from(
        probabilities: &[f64],
        weights: &[f64],
        under: &Self,
        progress: &dyn Progress,
    ) -> Result<Self> {
        if weights.is_empty() {
            return Err(Error::NoItems);
        }
        let shares = Shares { probabilities, weights, under: under.probabilities() };
        progress.begin("estimating the class prior", 0);
        let found = shares.most_likely(progress);
        progress.check()?;
        Self::new(&found.point)
    }
}

/// The likelihood of class shares.
struct Shares<'a> {
    probabilities: &'a [f64],
    weights: &'a [f64],
    under: &'a [f64],
}

impl Shares<'_> {
    /// The shares of largest likelihood. After an interruption, the search ends where it is.
    fn most_likely(&self, progress: &dyn Progress) -> Minimum {
        let total: f64 = self.weights.iter().sum();
        let least = LEAST_ITEMS / (total + LEAST_ITEMS * self.under.len() as f64);
        let objective = |shares: &[f64], gradient: &mut [f64]| {
            gradient.fill(0.0);
            if progress.check().is_err() {
                return 0.0;
            }
            let loss = self.loss(shares, gradient);
            gradient.iter_mut().for_each(|slope| *slope /= total);
            loss / total
        };
        let project = |point: &mut [f64]| simplex::project_above(point, least);
        projected_gradient(self.under, objective, project, TOLERANCE, MAX_STEPS)
    }

    /// −Σᵢ wᵢ ln Σₜ πₜ fᵢₜ/p⁰ₜ and its gradient.
    fn loss(&self, shares: &[f64], gradient: &mut [f64]) -> f64 {
        let n_classes = shares.len();
        let ratios: Vec<f64> = shares.iter().zip(self.under).map(|(p, q)| p / q).collect();
        let pieces: Vec<&[f64]> = self.probabilities.chunks(PIECE * n_classes).collect();
        let sums = parallel::map(pieces.len(), |piece| {
            let (mut sums, mut loss) = (vec![0.0; n_classes], 0.0);
            let weights = &self.weights[piece * PIECE..];
            for (row, weight) in pieces[piece].chunks_exact(n_classes).zip(weights) {
                let joint = row.iter().zip(&ratios).map(|(f, ratio)| f * ratio);
                let total = joint.sum::<f64>().max(f64::MIN_POSITIVE);
                sums.iter_mut().zip(row).for_each(|(sum, f)| *sum += weight * f / total);
                loss -= weight * total.ln();
            }
            (sums, loss)
        });
        let mut loss = 0.0;
        for (sums, piece) in sums {
            let slopes = sums.iter().zip(self.under).map(|(sum, q)| sum / q);
            gradient.iter_mut().zip(slopes).for_each(|(gradient, slope)| *gradient -= slope);
            loss += piece;
        }
        loss
    }
}

impl Model {
    /// The class prior for some items: that asked for, or the model's own. `estimate` estimates it
    /// from these items, whatever their labels.
    pub fn prior_for(&self, outputs: &Outputs, options: &FuseOptions<'_>) -> Result<ClassPrior> {
        if options.class_prior != Some(PriorChoice::Estimate) {
            return self.prior(options.class_prior.as_ref());
        }
        let own = FuseOptions { class_prior: None, ..options.clone() };
        let fused = self.fuse_with(outputs, &own)?;
        let weights = outputs.weights();
        ClassPrior::estimated_from(fused.all(), &weights, &self.class_prior, options.progress)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::NoProgress;
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    /// Fused probabilities of random items; with a small `strength` they are all near the prior.
    fn problem(seed: u64) -> (Vec<f64>, ClassPrior, usize) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let n_classes = rng.random_range(2..=8);
        let strength = [0.1, 0.5, 1.0, 4.0][rng.random_range(0..4)];
        let n = rng.random_range(5..400);
        let weights: Vec<f64> = (0..n_classes).map(|_| rng.random_range(0.1..1.0)).collect();
        let prior = ClassPrior::new(&weights).unwrap();
        let mut fused = Vec::new();
        for _ in 0..n {
            let centre = rng.random_range(0..n_classes);
            let mut row: Vec<f64> = (0..n_classes)
                .map(|j| {
                    prior.ln()[j]
                        + strength
                            * (f64::from(u8::from(j == centre)) + rng.random_range(-0.5..0.5))
                })
                .collect();
            consilience_numerics::simplex::softmax(&mut row);
            fused.extend(row);
        }
        (fused, prior, n)
    }

    /// At the maximum, all shares above their bound have the same derivative of the likelihood, and
    /// none has a larger one (Karush, Kuhn, Tucker). This holds for no other point, because the
    /// likelihood is concave.
    #[test]
    fn the_estimate_is_the_point_of_largest_likelihood() {
        for seed in 0..200 {
            let (fused, prior, n) = problem(seed);
            let j = prior.probabilities().len();
            let (weights, under) = (vec![1.0; n], prior.probabilities());
            let shares = Shares { probabilities: &fused, weights: &weights, under };
            let found = shares.most_likely(&NoProgress);
            assert!(found.converged, "{seed}");
            let shares = found.point;
            let least = 0.5 / (n as f64 + 0.5 * j as f64);
            assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            let slope = |t: usize| {
                let slope = |row: &[f64]| {
                    let total: f64 = (0..j).map(|s| shares[s] * row[s] / under[s]).sum();
                    row[t] / under[t] / total / n as f64
                };
                fused.chunks_exact(j).map(slope).sum::<f64>()
            };
            let slopes: Vec<f64> = (0..j).map(slope).collect();
            let steepest = slopes.iter().copied().fold(0.0, f64::max);
            for (share, slope) in shares.iter().zip(&slopes) {
                assert!(*share >= least * (1.0 - 1e-12), "{seed}: {shares:?}");
                let free = *share > least * (1.0 + 1e-9);
                assert!(!free || steepest - slope < 1e-7, "{seed}: {slopes:?} {shares:?}");
            }
        }
    }

    /// Two classes: the maximum by comparing many points.
    #[test]
    fn two_classes_agree_with_a_search() {
        let (fused, prior) = ([0.9, 0.1, 0.6, 0.4, 0.1, 0.9, 0.2, 0.8, 0.75, 0.25], [0.4, 0.6]);
        let likelihood = |p: f64| -> f64 {
            fused.chunks(2).map(|f| (p * f[0] / prior[0] + (1.0 - p) * f[1] / prior[1]).ln()).sum()
        };
        let points = (1..200_000).map(|i| f64::from(i) / 200_000.0);
        let best = points.max_by(|a, b| likelihood(*a).total_cmp(&likelihood(*b))).unwrap();
        let prior = ClassPrior::new(&prior).unwrap();
        let got = ClassPrior::estimated(&fused, &prior, &NoProgress).unwrap();
        assert!((got.probabilities()[0] - best).abs() < 1e-5, "{got:?} {best}");
    }

    /// A class without a trace of an item gets half an item: here ½ of 4 + ½·2.
    #[test]
    fn a_class_that_no_item_has_stays_possible() {
        let fused = [0.99, 0.01].repeat(4);
        let got = ClassPrior::estimated(&fused, &ClassPrior::uniform(2), &NoProgress).unwrap();
        assert!((got.probabilities()[1] - 0.1).abs() < 1e-9, "{got:?}");
        assert!(ClassPrior::estimated(&[], &ClassPrior::uniform(2), &NoProgress).is_err());
    }
}
