//! Replicates of shares, influence and correlations under random weights of the items.
//!
//! The Bayesian bootstrap of Rubin (1981): every item has a random weight with mean 1 and
//! variance 1. Both the covariance of the evidence and the Dirichlets that the evidence comes
//! from follow the weights; the Dirichlets by one Newton step from their mode, with the Fisher
//! information I,
//!
//! ```text
//! δα = I⁻¹ δ(mean of ln x),   I = diag ψ′(α) − ψ′(Σα) 11'
//! ```

use nalgebra::DMatrix;
use rand_distr::{Distribution, Exp1};

use super::groups::{GroupSums, Sums};
use super::{EvidenceCovariance, divided};
use crate::data::class_prior::ClassPrior;
use crate::math::random::stream;
use crate::methods::independent::{Alpha, strength};
use consilience_numerics::special::trigamma;
use correlated_dirichlet::sample_ln_gamma;

/// Seed of all random weights: intervals are a function of the data.
pub(super) const SEED: u64 = 0x5ead;

/// Largest |δ ln α| of a replicate's strength, where the Newton step is far too long.
const LONGEST_STEP: f64 = 3.0;

/// Everything that a replicate is computed from.
pub(super) struct Replicates<'a> {
    pub(super) sums: GroupSums,
    pub(super) alpha: &'a Alpha,
    /// How the Dirichlet of classifier k and class j follows its mean logarithms, at k·J + j.
    pub(super) steps: Vec<NewtonStep>,
    /// The class prior of the strengths; none if there is no influence.
    pub(super) prior: Option<&'a ClassPrior>,
    /// Shares from which every search begins.
    pub(super) start: Vec<f64>,
    pub(super) copies: Vec<Vec<usize>>,
}

impl Replicates<'_> {
    /// The statistics of one replicate, in the order of [`statistics`].
    pub(super) fn draw(&self, replicate: usize) -> Vec<f64> {
        let sums = self.sums.weighted(&self.weights(replicate));
        let (k, j) = (self.sums.n_classifiers, self.sums.n_classes);
        let mut slopes = Vec::with_capacity(k * j * j);
        let mut strengths = Vec::new();
        for (classifier, rows) in self.alpha.iter().enumerate() {
            let steps: Vec<Vec<f64>> = (0..j)
                .map(|t| self.steps[classifier * j + t].of(&sums.mean(classifier, t, j)))
                .collect();
            slopes.extend(centred(rows, &steps));
            strengths.extend(self.prior.map(|prior| moved_strength(rows, &steps, prior)));
        }
        let covariance = EvidenceCovariance { matrix: covariance(&sums, &slopes, (k, j)) };
        let shares = divided(covariance.shares_from(Some(&self.start), |_| true), &self.copies);
        statistics(&covariance, &shares, &strengths)
    }

    fn weights(&self, replicate: usize) -> Vec<f64> {
        let mut rng = stream(SEED, replicate as u64);
        let mut weight = |shape: &f64| {
            if *shape == 1.0 {
                return Exp1.sample(&mut rng);
            }
            sample_ln_gamma(*shape, &mut rng).exp() / shape
        };
        self.sums.shapes().iter().map(&mut weight).collect()
    }
}

/// Effective number, shares, influences (if there are strengths) and Fisher's z of the correlations
/// of all pairs (k, m) with m < k.
pub(super) fn statistics(
    covariance: &EvidenceCovariance,
    shares: &[f64],
    strengths: &[f64],
) -> Vec<f64> {
    let mut values = vec![shares.iter().sum::<f64>()];
    values.extend(shares);
    values.extend(strengths.iter().zip(shares).map(|(strength, share)| strength * share));
    let pairs = (0..shares.len()).flat_map(|k| (0..k).map(move |m| (k, m)));
    values.extend(pairs.map(|(k, m)| fisher_z(covariance.correlation(k, m))));
    values
}

/// atanh r, finite for copies.
fn fisher_z(r: f64) -> f64 {
    r.clamp(-1.0 + f64::EPSILON, 1.0 - f64::EPSILON).atanh()
}

/// The change of a Dirichlet with the mean logarithms: I⁻¹ by the Sherman–Morrison formula.
pub(super) struct NewtonStep {
    /// 1/ψ′(αₗ).
    inverse: Vec<f64>,
    /// ψ′(Σα) / (1 − ψ′(Σα) Σ 1/ψ′(αₗ)).
    factor: f64,
}

impl NewtonStep {
    pub(super) fn new(alpha: &[f64]) -> Self {
        let inverse: Vec<f64> = alpha.iter().map(|a| 1.0 / trigamma(*a)).collect();
        let common = trigamma(alpha.iter().sum());
        let rest = 1.0 - common * inverse.iter().sum::<f64>();
        Self { inverse, factor: common / rest.max(f64::EPSILON) }
    }

    fn of(&self, change: &[f64]) -> Vec<f64> {
        let own: Vec<f64> = self.inverse.iter().zip(change).map(|(d, m)| d * m).collect();
        let common = self.factor * own.iter().sum::<f64>();
        own.iter().zip(&self.inverse).map(|(own, d)| own + d * common).collect()
    }
}

/// The slopes of the evidence for every class t in the logarithms, J × J: α + δα minus its mean
/// over t.
fn centred(rows: &[Vec<f64>], steps: &[Vec<f64>]) -> Vec<f64> {
    let n = rows.len();
    let moved = |t: usize, l: usize| rows[t][l] + steps[t][l];
    let means: Vec<f64> =
        (0..n).map(|l| (0..n).map(|t| moved(t, l)).sum::<f64>() / n as f64).collect();
    (0..n).flat_map(|t| means.iter().enumerate().map(move |(l, mean)| moved(t, l) - mean)).collect()
}

/// The strength at α e^(δα/α), which is positive.
fn moved_strength(rows: &[Vec<f64>], steps: &[Vec<f64>], prior: &ClassPrior) -> f64 {
    let moved = |(a, step): (&f64, &f64)| a * (step / a).clamp(-LONGEST_STEP, LONGEST_STEP).exp();
    let row = |(row, steps): (&Vec<f64>, &Vec<f64>)| row.iter().zip(steps).map(moved).collect();
    strength(&rows.iter().zip(steps).map(row).collect::<Vec<Vec<f64>>>(), prior)
}

/// Σₜ (βₖₜ·ℓₖ)(βₘₜ·ℓₘ) summed over items, for slopes β; divided by the items with both outputs.
fn covariance(sums: &Sums, slopes: &[f64], (k, j): (usize, usize)) -> DMatrix<f64> {
    let slope = |k: usize, t: usize| &slopes[(k * j + t) * j..][..j];
    let mut matrix = DMatrix::zeros(k, k);
    let mut projected = vec![0.0; j];
    for (a, b) in (0..k).flat_map(|a| (0..=a).map(move |b| (a, b))) {
        let mut sum = 0.0;
        for l in 0..j {
            projected.fill(0.0);
            for m in 0..j {
                let product = sums.product(a * j + l, b * j + m);
                (0..j).for_each(|t| projected[t] += product * slope(b, t)[m]);
            }
            sum += (0..j).map(|t| slope(a, t)[l] * projected[t]).sum::<f64>();
        }
        matrix[(a, b)] = sum / sums.pair_weight(a, b);
    }
    for a in 0..k {
        matrix[(a, a)] = matrix[(a, a)].max(f64::MIN_POSITIVE);
        for b in 0..a {
            let largest = matrix[(a, a)].sqrt() * matrix[(b, b)].sqrt();
            matrix[(a, b)] = matrix[(a, b)].clamp(-largest, largest);
            matrix[(b, a)] = matrix[(a, b)];
        }
    }
    matrix
}
