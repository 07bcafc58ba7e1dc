//! Convergence diagnostics of draws: R-hat and effective sample sizes.
//!
//! # References
//! Vehtari, Gelman, Simpson, Carpenter, Bürkner, "Rank-normalization, folding, and localization:
//! an improved R-hat for assessing convergence of MCMC", Bayesian Analysis 16(2), 2021.
//! <https://doi.org/10.1214/20-BA1221>. Numbers in brackets are its equations.

use serde::{Deserialize, Serialize};

pub(crate) use super::constants::ESS_PER_CHAIN_LIMIT;
use super::constants::R_HAT_LIMIT;
use consilience_numerics::special::normal_quantile;

/// Convergence diagnostics of one quantity, or the worst over several quantities.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Diagnostics {
    /// Potential scale reduction: 1 where the chains agree.
    pub r_hat: f64,
    /// Effective sample size for the middle of the distribution.
    pub ess_bulk: f64,
    /// Effective sample size for its 5 % and 95 % quantiles.
    pub ess_tail: f64,
}

impl Diagnostics {
    /// Diagnostics of the draws of one quantity, ordered by chain.
    pub fn of(draws: &[f64], n_chains: usize) -> Self {
        Self::with_scores(draws, n_chains, &normal_scores(draws.len()))
    }

    /// The worst diagnostics over several quantities with the same number of draws; `None` without
    /// quantities.
    pub fn worst_of(quantities: &[Vec<f64>], n_chains: usize) -> Option<Self> {
        let scores = normal_scores(quantities.first()?.len());
        let each = quantities.iter().map(|draws| Self::with_scores(draws, n_chains, &scores));
        each.reduce(Self::worst)
    }

    fn with_scores(draws: &[f64], n_chains: usize, scores: &[f64]) -> Self {
        let order = sorted_order(draws);
        let quantile = |level| interpolate(draws.len(), level, |rank| draws[order[rank]]);
        let median = quantile(0.5);
        let folded: Vec<f64> = draws.iter().map(|x| (x - median).abs()).collect();
        let ranks = rank_normalised(draws, &order, scores);
        let folded_ranks = rank_normalised(&folded, &sorted_order(&folded), scores);
        let tail = |limit: f64| {
            let below: Vec<f64> = draws.iter().map(|x| f64::from(u8::from(*x <= limit))).collect();
            split_ess(&below, n_chains)
        };
        Self {
            r_hat: split_r_hat(&ranks, n_chains).max(split_r_hat(&folded_ranks, n_chains)),
            ess_bulk: split_ess(&ranks, n_chains),
            ess_tail: tail(quantile(0.05)).min(tail(quantile(0.95))),
        }
    }

    /// The worse of both values of each diagnostic.
    #[must_use]
    pub fn worst(self, other: Self) -> Self {
        Self {
            r_hat: self.r_hat.max(other.r_hat),
            ess_bulk: self.ess_bulk.min(other.ess_bulk),
            ess_tail: self.ess_tail.min(other.ess_tail),
        }
    }

    /// Whether any diagnostic is beyond its limit.
    pub fn are_poor(&self, n_chains: usize) -> bool {
        let enough = ESS_PER_CHAIN_LIMIT * n_chains as f64;
        !(self.r_hat <= R_HAT_LIMIT && self.ess_bulk >= enough && self.ess_tail >= enough)
    }
}

fn sorted_order(draws: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..draws.len()).collect();
    order.sort_unstable_by(|&a, &b| draws[a].total_cmp(&draws[b]));
    order
}

/// The normal score of a rank from 1 to n (14).
fn normal_score(rank: f64, n: usize) -> f64 {
    normal_quantile((rank - 0.375) / (n as f64 + 0.25))
}

/// The normal scores of all ranks; they are the same for all quantities with n draws.
fn normal_scores(n: usize) -> Vec<f64> {
    (1..=n).map(|rank| normal_score(rank as f64, n)).collect()
}

/// The normal score of every draw; tied draws have the score of their mean rank.
fn rank_normalised(draws: &[f64], order: &[usize], scores: &[f64]) -> Vec<f64> {
    let mut normalised = vec![0.0; draws.len()];
    let mut start = 0;
    while start < order.len() {
        let tied = order[start..].iter().take_while(|&&i| draws[i] == draws[order[start]]).count();
        let score = match tied {
            1 => scores[start],
            _ => normal_score(start as f64 + 0.5 * (tied as f64 + 1.0), draws.len()),
        };
        order[start..start + tied].iter().for_each(|&i| normalised[i] = score);
        start += tied;
    }
    normalised
}

/// The quantile of unsorted values, by linear interpolation between order statistics.
pub(crate) fn quantile(values: &[f64], level: f64) -> f64 {
    let order = sorted_order(values);
    interpolate(values.len(), level, |rank| values[order[rank]])
}

/// The quantile by linear interpolation between order statistics.
fn interpolate(n: usize, level: f64, sorted: impl Fn(usize) -> f64) -> f64 {
    let position = level * (n - 1) as f64;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // an index
    let low = position.floor() as usize;
    let high = (low + 1).min(n - 1);
    sorted(low) + (position - low as f64) * (sorted(high) - sorted(low))
}

/// The two halves of every chain, with their means and variances.
struct Halves<'a> {
    chains: Vec<&'a [f64]>,
    means: Vec<f64>,
    /// W, the mean variance within the halves (2).
    within: f64,
    /// The pooled estimate of the variance (3).
    pooled: f64,
}

impl<'a> Halves<'a> {
    fn new(draws: &'a [f64], n_chains: usize) -> Self {
        let half = draws.len() / n_chains / 2;
        let chains: Vec<&[f64]> = draws
            .chunks_exact(draws.len() / n_chains)
            .flat_map(|chain| [&chain[..half], &chain[chain.len() - half..]])
            .collect();
        let means: Vec<f64> = chains.iter().map(|chain| mean(chain)).collect();
        let within =
            mean(&chains.iter().zip(&means).map(|(c, m)| variance(c, *m)).collect::<Vec<_>>());
        let n = half as f64;
        let between = variance(&means, mean(&means));
        Self { chains, within, pooled: (n - 1.0) / n * within + between, means }
    }
}

/// Split R-hat (4).
fn split_r_hat(draws: &[f64], n_chains: usize) -> f64 {
    let halves = Halves::new(draws, n_chains);
    // Constant draws have no variance, neither within nor between chains.
    if halves.pooled == 0.0 { 1.0 } else { (halves.pooled / halves.within).sqrt() }
}

/// Effective sample size of the split chains (10), with Geyer's initial monotone sequence.
fn split_ess(draws: &[f64], n_chains: usize) -> f64 {
    let halves = Halves::new(draws, n_chains);
    let n = halves.chains[0].len();
    let total = (n * halves.chains.len()) as f64;
    if halves.pooled == 0.0 {
        return total;
    }
    let correlation = |lag: usize| {
        let chains = halves.chains.iter().zip(&halves.means);
        let covariance = mean(&chains.map(|(c, m)| autocovariance(c, *m, lag)).collect::<Vec<_>>());
        1.0 - (halves.within - covariance) / halves.pooled
    };
    let mut sum = 0.0;
    let mut smallest_pair = f64::INFINITY;
    for lag in (0..n.saturating_sub(1)).step_by(2) {
        let even = if lag == 0 { 1.0 } else { correlation(lag) };
        let pair = (even + correlation(lag + 1)).min(smallest_pair);
        if !(pair > 0.0) {
            break;
        }
        smallest_pair = pair;
        sum += pair;
    }
    // Antithetic chains can have more than one effective draw per draw; this bounds the gain.
    let time = (2.0 * sum - 1.0).max(1.0 / total.log10());
    total / time
}

fn autocovariance(chain: &[f64], mean: f64, lag: usize) -> f64 {
    let products = chain.iter().zip(&chain[lag..]).map(|(a, b)| (a - mean) * (b - mean));
    products.sum::<f64>() / (chain.len() - 1) as f64
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn variance(values: &[f64], mean: f64) -> f64 {
    values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (values.len() as f64 - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand::rngs::ChaCha8Rng;
    use rand_distr::{Distribution, StandardNormal};

    /// Four chains of an autoregression xₜ = φ xₜ₋₁ + √(1−φ²) εₜ.
    fn autoregression(phi: f64, n: usize) -> Vec<f64> {
        let mut draws = Vec::new();
        for chain in 0..4 {
            let mut rng = ChaCha8Rng::seed_from_u64(19);
            rng.set_stream(chain);
            let mut x: f64 = StandardNormal.sample(&mut rng);
            for _ in 0..n {
                let noise: f64 = StandardNormal.sample(&mut rng);
                x = phi * x + (1.0 - phi * phi).sqrt() * noise;
                draws.push(x);
            }
        }
        draws
    }

    /// The exact effective sample size of an autoregression is n (1−φ)/(1+φ).
    #[test]
    fn effective_sample_size_of_an_autoregression_agrees_with_theory() {
        for phi in [-0.5, 0.0, 0.5, 0.9] {
            let draws = autoregression(phi, 5000);
            let expected = 20_000.0 * (1.0 - phi) / (1.0 + phi);
            let got = Diagnostics::of(&draws, 4);
            assert!((got.ess_bulk / expected - 1.0).abs() < 0.15, "φ = {phi}: {got:?}");
            assert!(got.r_hat < 1.01 && got.ess_tail > 0.2 * expected.min(20_000.0));
        }
    }

    #[test]
    fn chains_that_differ_in_location_or_scale_are_poor() {
        let good = autoregression(0.0, 500);
        let shifted = |chain: usize| if chain == 0 { 1.0 } else { 0.0 };
        let moved: Vec<f64> = good.iter().enumerate().map(|(i, x)| x + shifted(i / 500)).collect();
        let scaled: Vec<f64> =
            good.iter().enumerate().map(|(i, x)| if i < 500 { 4.0 * x } else { *x }).collect();
        assert!(!Diagnostics::of(&good, 4).are_poor(4));
        assert!(Diagnostics::of(&moved, 4).are_poor(4));
        assert!(Diagnostics::of(&scaled, 4).are_poor(4));
        assert!(!Diagnostics::of(&[2.5; 2000], 4).are_poor(4));
    }

    #[test]
    fn quantiles_interpolate_between_order_statistics() {
        assert_eq!(quantile(&[3.0, 1.0, 2.0, 4.0], 0.5), 2.5);
        assert_eq!(quantile(&[1.0], 0.95), 1.0);
    }
}
