//! The Bayesian pool: many linear and geometric pools, weighted by the likelihood of the labels.
//!
//! The plain linear and the plain geometric pool have a part of the prior; the rest belongs to
//! pools with other weights and temperatures. Averaging over them needs no fit, so that one label
//! per class already helps and few labels do little harm.

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rand_distr::StandardNormal;

use super::features::{Features, MeanOutputs};
use super::linear::LN_TEMPERATURE;
use super::members::{Layer, LinearRule, Rule};
use consilience_numerics::log_space::log_sum_exp;
use consilience_numerics::simplex;
use consilience_numerics::special::normal_quantile;

/// The prior probability of the two plain pools together.
const PLAIN: f64 = 0.4;

/// Pools of each kind with equal weights, and with other weights. 32 of each kind are level with
/// 64 and 128 on nine real and simulated sets; 16 lose up to 0.04 with ten labels per class.
const PER_GROUP: usize = 32;

/// The prior standard deviation of ln a.
const LN_TEMPERATURE_SD: f64 = 1.0;

/// Weights and temperature of a pool.
struct Particle {
    /// Whether it is linear; otherwise it is geometric.
    linear: bool,
    weights: Vec<f64>,
    temperature: f64,
    prior: f64,
}

/// The posterior of the pools.
pub(super) struct Pools {
    particles: Vec<Particle>,
    /// The posterior probability of every particle.
    probabilities: Vec<f64>,
    /// The leave-one-out log scores of the mixture.
    pub(super) scores: Vec<f64>,
}

impl Pools {
    /// Without labels: half the linear and half the geometric pool.
    pub(super) fn without_labels(means: &MeanOutputs) -> Vec<(f64, Rule)> {
        let weights = vec![1.0 / means.order.len() as f64; means.order.len()];
        let plain = |linear: bool| {
            let particle =
                Particle { linear, weights: weights.clone(), temperature: 1.0, prior: 0.5 };
            (0.5, particle.rule(means))
        };
        vec![plain(true), plain(false)]
    }

    /// Weights the pools by the likelihood of the items of `scored`.
    pub(super) fn new(features: &Features, means: &MeanOutputs, scored: &[usize]) -> Self {
        let particles = particles(&means.order);
        let mut totals: Vec<f64> = particles.iter().map(|p| p.prior.ln()).collect();
        let mut likelihoods = vec![0.0; scored.len() * particles.len()];
        for (&item, row) in scored.iter().zip(likelihoods.chunks_exact_mut(particles.len())) {
            for ((ln, particle), total) in row.iter_mut().zip(&particles).zip(&mut totals) {
                *ln = particle.ln_likelihood(features, means, item);
                *total += features.weights[item] * *ln;
            }
        }
        let scores = scored.iter().zip(likelihoods.chunks_exact(particles.len()));
        let score = |(&item, row): (&usize, &[f64])| {
            let unit = features.unit(item);
            let rest: Vec<f64> = totals.iter().zip(row).map(|(t, ln)| t - unit * ln).collect();
            let joint: Vec<f64> = rest.iter().zip(row).map(|(t, ln)| t + ln).collect();
            log_sum_exp(&joint) - log_sum_exp(&rest)
        };
        let scores = scores.map(score).collect();
        simplex::softmax(&mut totals);
        Self { particles, probabilities: totals, scores }
    }

    /// All pools with their shares of `weight`.
    pub(super) fn rules(&self, weight: f64, means: &MeanOutputs) -> Vec<(f64, Rule)> {
        let shares = self.particles.iter().zip(&self.probabilities);
        shares.map(|(particle, p)| (weight * p, particle.rule(means))).collect()
    }
}

/// The plain pools, then those with equal weights and those with weights from Dirichlet(½, …, ½).
/// Temperatures are quantiles of their prior; weights are fixed random numbers that belong to
/// places in `order`.
fn particles(order: &[usize]) -> Vec<Particle> {
    let k = order.len();
    let equal = vec![1.0 / k as f64; k];
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    let mut pools = vec![(equal.clone(), 1.0, PLAIN / 2.0)];
    for i in 0..2 * PER_GROUP {
        let place = ((i % PER_GROUP) as f64 + 0.5) / PER_GROUP as f64;
        let ln_temperature = LN_TEMPERATURE + LN_TEMPERATURE_SD * normal_quantile(place);
        let weights = if i < PER_GROUP { equal.clone() } else { random_weights(order, &mut rng) };
        pools.push((weights, ln_temperature.exp(), (1.0 - PLAIN) / (4 * PER_GROUP) as f64));
    }
    let kind = |linear: bool| {
        pools.clone().into_iter().map(move |(weights, temperature, prior)| Particle {
            linear,
            weights,
            temperature,
            prior,
        })
    };
    kind(true).chain(kind(false)).collect()
}

/// Squares of normal numbers, normalised: a draw from Dirichlet(½, …, ½).
fn random_weights(order: &[usize], rng: &mut ChaCha8Rng) -> Vec<f64> {
    let mut weights = vec![0.0; order.len()];
    for &classifier in order {
        let z: f64 = rng.sample(StandardNormal);
        weights[classifier] = z * z + 1e-12;
    }
    simplex::normalise(&mut weights);
    weights
}

impl Particle {
    /// ln softmax(o + U) of an item's class.
    fn ln_likelihood(&self, features: &Features, means: &MeanOutputs, item: usize) -> f64 {
        let j = features.n_classes;
        let table = if self.linear { &features.probabilities } else { &features.outputs };
        let values = features.of_item(table, item);
        let predictor = |t: usize| {
            let own = values.iter().skip(t).step_by(j).zip(&self.weights);
            let mean = own.map(|(x, w)| w * x).sum::<f64>();
            let evidence =
                if self.linear { mean.max(f64::MIN_POSITIVE).ln() - means.ln_all[t] } else { mean };
            features.offsets[t] + self.temperature * evidence
        };
        let joint: Vec<f64> = (0..j).map(predictor).collect();
        joint[features.labels[item]] - log_sum_exp(&joint)
    }

    fn rule(&self, means: &MeanOutputs) -> Rule {
        let Self { linear, weights, temperature, .. } = self;
        if *linear {
            let bias = means.ln_all.iter().map(|ln| -temperature * ln).collect();
            let (exponent, weights) = (*temperature, weights.clone());
            return Rule::LinearPool(LinearRule { bias, exponent, weights });
        }
        let output_exponents: Vec<f64> = weights.iter().map(|w| temperature * w).collect();
        let bias = means.bias(&output_exponents);
        Rule::Layer(Layer { bias, output_exponents, ..Layer::default() })
    }
}
