//! The weights of the mixture's members.

use super::members::{Member, Rule};
use consilience_numerics::simplex;
use consilience_numerics::special::normal_quantile;

/// Draws of the sums of scores.
const DRAWS: usize = 200;

/// Weights of members from their leave-one-out log scores (pseudo-BMA+, Yao et al. 2018): the mean
/// of ωₕ ∝ (prior weight)ₕ exp(Sₕ) over normal draws of the sums of scores S, whose covariance is
/// that of sums of as many items. The draws are fixed and fill space evenly.
pub(super) fn pseudo_bma(prior: &[f64], scores: &[Vec<f64>], weights: &[f64]) -> Vec<f64> {
    let h = prior.len();
    let total: f64 = weights.iter().sum();
    let sum = |scores: &[f64]| scores.iter().zip(weights).map(|(s, w)| w * s).sum::<f64>();
    let sums: Vec<f64> = scores.iter().map(|scores| sum(scores)).collect();
    let centred = |a: usize, i: usize| scores[a][i] - sums[a] / total;
    let covariance = |a: usize, b: usize| {
        let terms = weights.iter().enumerate();
        terms.map(|(i, w)| w * centred(a, i) * centred(b, i)).sum::<f64>()
    };
    let covariance: Vec<Vec<f64>> =
        (0..h).map(|a| (0..h).map(|b| covariance(a, b)).collect()).collect();
    let root = cholesky(&covariance);
    let mut mean = vec![0.0; h];
    for draw in 0..DRAWS {
        let z: Vec<f64> =
            (0..h).map(|a| normal_quantile(radical_inverse(draw + 1, PRIMES[a]))).collect();
        let mut weights: Vec<f64> = (0..h)
            .map(|a| {
                let noise = root[a].iter().zip(&z).map(|(l, z)| l * z).sum::<f64>();
                prior[a].ln() + sums[a] + noise
            })
            .collect();
        simplex::softmax(&mut weights);
        mean.iter_mut().zip(weights).for_each(|(mean, w)| *mean += w / DRAWS as f64);
    }
    mean
}

/// Bases of the Halton sequence, one per member.
const PRIMES: [usize; 8] = [2, 3, 5, 7, 11, 13, 17, 19];

/// The digits of `n` in `base`, mirrored at the point: a number of the Halton sequence.
fn radical_inverse(mut n: usize, base: usize) -> f64 {
    let (mut value, mut unit) = (0.0, 1.0);
    while n > 0 {
        unit /= base as f64;
        value += unit * (n % base) as f64;
        n /= base;
    }
    value
}

/// The lower Cholesky factor of a positive semidefinite matrix.
fn cholesky(matrix: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let n = matrix.len();
    let mut root = vec![vec![0.0; n]; n];
    for a in 0..n {
        for b in 0..=a {
            let sum: f64 = (0..b).map(|c| root[a][c] * root[b][c]).sum();
            let rest = matrix[a][b] - sum;
            root[a][b] = match a == b {
                true => rest.max(0.0).sqrt(),
                // A vanishing pivot belongs to a row that depends on those before.
                false if root[b][b] <= 1e-7 * matrix[b][b].sqrt() => 0.0,
                false => rest / root[b][b],
            };
        }
    }
    root
}

/// The share of the weight that may be dropped with the smallest members.
const DROPPED: f64 = 0.005;

/// The members without the smallest ones, whose weights add up to at most [`DROPPED`].
pub(super) fn prune(mut rules: Vec<(f64, Rule)>) -> Vec<Member> {
    let total: f64 = rules.iter().map(|(weight, _)| weight).sum();
    let mut sorted: Vec<f64> = rules.iter().map(|(weight, _)| *weight).collect();
    sorted.sort_by(f64::total_cmp);
    let mut dropped = 0.0;
    let smallest = sorted.into_iter().find(|weight| {
        dropped += weight;
        dropped > DROPPED * total
    });
    // Members with equal weights but for rounding are kept or dropped together.
    let smallest = smallest.unwrap_or(0.0) * (1.0 - 1e-6);
    rules.retain(|(weight, _)| *weight >= smallest);
    let kept: f64 = rules.iter().map(|(weight, _)| weight).sum();
    rules.into_iter().map(|(weight, rule)| Member { weight: weight / kept, rule }).collect()
}
