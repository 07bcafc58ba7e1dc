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
use super::temperature::Temperatures;
use consilience_numerics::log_space::log_sum_exp;
use consilience_numerics::simplex;
use consilience_numerics::special::normal_quantile;

/// The prior probability of the two plain pools together. With 0.4, 12 of 97 cells of 14 sets
/// and seven numbers of labels (prototype, ten draws, 128 weighted pools) are worse than the better
/// plain pool by more than 0.02, with 0.5 nine; the mean log-losses differ by 0.0006.
const PLAIN: f64 = 0.5;

/// Pools of each kind with equal weights, which differ in their temperature.
const EQUAL: usize = 32;

/// Pools of each kind with other weights. On the same 14 sets, the mean log-loss with 32, 64, 128 and
/// 256 is 0.5772, 0.5758, 0.5752 and 0.5750; the time of fitting and fusing grows with their number.
const WEIGHTED: usize = 64;

/// The prior standard deviation of ln a.
const LN_TEMPERATURE_SD: f64 = 1.0;

/// A pool: its kind, weights and temperature.
struct Particle {
    /// Whether it is linear; otherwise it is geometric.
    linear: bool,
    /// Its weights, as a place in a list of weights.
    weights: usize,
    temperature: f64,
    prior: f64,
}

/// The posterior of the pools.
pub(super) struct Pools {
    weights: Vec<Vec<f64>>,
    particles: Vec<Particle>,
    /// The posterior probability of every particle.
    probabilities: Vec<f64>,
    /// The leave-one-out log scores of the mixture.
    pub(super) scores: Vec<f64>,
}

/// Particles that are less probable than the best by this factor, as a logarithm, are left out of
/// leave-one-out scores: no single item can make up for it.
const NEGLIGIBLE: f64 = 100.0;

impl Pools {
    /// Without labels: half the linear and half the geometric pool.
    pub(super) fn without_labels(means: &MeanOutputs, plain: Temperatures) -> Vec<(f64, Rule)> {
        let weights = equal_weights(means.order.len());
        let pools = [(true, plain.linear), (false, plain.geometric)];
        pools.map(|(linear, a)| (0.5, rule(linear, &weights, a, means))).to_vec()
    }

    /// Weights the pools by the likelihood of the items of `scored`.
    pub(super) fn new(
        features: &Features,
        means: &MeanOutputs,
        plain: Temperatures,
        scored: &[usize],
    ) -> Self {
        let weights = weight_sets(&means.order);
        let particles = particles(plain);
        let width = particles.len();
        let mut totals: Vec<f64> = particles.iter().map(|p| p.prior.ln()).collect();
        let mut likelihoods = vec![0.0; scored.len() * width];
        let mut evidence = ItemEvidence::new(&weights, features.n_classes);
        for (&item, row) in scored.iter().zip(likelihoods.chunks_exact_mut(width)) {
            evidence.load(features, means, item);
            for ((ln, particle), total) in row.iter_mut().zip(&particles).zip(&mut totals) {
                *ln = evidence.ln_likelihood(particle, features, item);
                *total += features.weights[item] * *ln;
            }
        }
        let largest = totals.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let kept: Vec<usize> = (0..width).filter(|&s| totals[s] > largest - NEGLIGIBLE).collect();
        let score = |(&item, row): (&usize, &[f64])| {
            let rest = |&s: &usize| totals[s] - features.unit(item) * row[s];
            let rest: Vec<f64> = kept.iter().map(rest).collect();
            let joint: Vec<f64> = rest.iter().zip(&kept).map(|(rest, &s)| rest + row[s]).collect();
            log_sum_exp(&joint) - log_sum_exp(&rest)
        };
        let scores = scored.iter().zip(likelihoods.chunks_exact(width)).map(score).collect();
        simplex::softmax(&mut totals);
        Self { weights, particles, probabilities: totals, scores }
    }

    /// All pools with their shares of `weight`.
    pub(super) fn rules(&self, weight: f64, means: &MeanOutputs) -> Vec<(f64, Rule)> {
        let shares = self.particles.iter().zip(&self.probabilities);
        let own = |(particle, p): (&Particle, &f64)| {
            let Particle { linear, weights, temperature, .. } = *particle;
            (weight * p, rule(linear, &self.weights[weights], temperature, means))
        };
        shares.map(own).collect()
    }
}

fn equal_weights(k: usize) -> Vec<f64> {
    vec![1.0 / k as f64; k]
}

/// Equal weights, then fixed draws from Dirichlet(½, …, ½) that belong to places in `order`.
fn weight_sets(order: &[usize]) -> Vec<Vec<f64>> {
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    let random = (0..WEIGHTED).map(|_| random_weights(order, &mut rng));
    std::iter::once(equal_weights(order.len())).chain(random).collect()
}

/// Of each kind: the plain pool, pools with equal weights, and pools with each of the other weights.
/// Temperatures of the latter two are quantiles of their prior.
fn particles(plain: Temperatures) -> Vec<Particle> {
    let kind = |linear: bool, temperature: f64| {
        let plain = Particle { linear, weights: 0, temperature, prior: PLAIN / 2.0 };
        let group = move |size: usize, weights: fn(usize) -> usize| {
            (0..size).map(move |i| Particle {
                linear,
                weights: weights(i),
                temperature: quantile(i, size),
                prior: (1.0 - PLAIN) / (4 * size) as f64,
            })
        };
        std::iter::once(plain).chain(group(EQUAL, |_| 0)).chain(group(WEIGHTED, |i| i + 1))
    };
    kind(true, plain.linear).chain(kind(false, plain.geometric)).collect()
}

/// The temperature at place `i` of `size` quantiles of the prior.
fn quantile(i: usize, size: usize) -> f64 {
    let place = (i as f64 + 0.5) / size as f64;
    (LN_TEMPERATURE + LN_TEMPERATURE_SD * normal_quantile(place)).exp()
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

/// The evidence of an item for every class by both kinds of pools with every set of weights, at
/// temperature 1.
struct ItemEvidence<'a> {
    weights: &'a [Vec<f64>],
    /// At (kind · sets + set) · J + class, linear pools first.
    values: Vec<f64>,
    joint: Vec<f64>,
}

impl<'a> ItemEvidence<'a> {
    fn new(weights: &'a [Vec<f64>], n_classes: usize) -> Self {
        let values = vec![0.0; 2 * weights.len() * n_classes];
        Self { weights, values, joint: vec![0.0; n_classes] }
    }

    fn load(&mut self, features: &Features, means: &MeanOutputs, item: usize) {
        let j = features.n_classes;
        let (linear, geometric) = self.values.split_at_mut(self.weights.len() * j);
        let probabilities = features.of_item(&features.probabilities, item);
        let outputs = features.of_item(&features.outputs, item);
        let mean = |values: &[f64], weights: &[f64], t: usize| {
            values.iter().skip(t).step_by(j).zip(weights).map(|(x, w)| w * x).sum::<f64>()
        };
        for (s, weights) in self.weights.iter().enumerate() {
            for t in 0..j {
                let pooled = mean(probabilities, weights, t).max(f64::MIN_POSITIVE);
                linear[s * j + t] = pooled.ln() - means.ln_all[t];
                geometric[s * j + t] = mean(outputs, weights, t);
            }
        }
    }

    /// ln softmax(o + U) of the item's class.
    fn ln_likelihood(&mut self, particle: &Particle, features: &Features, item: usize) -> f64 {
        let j = features.n_classes;
        let kind = if particle.linear { 0 } else { self.weights.len() };
        let values = &self.values[(kind + particle.weights) * j..][..j];
        for ((joint, offset), value) in self.joint.iter_mut().zip(&features.offsets).zip(values) {
            *joint = offset + particle.temperature * value;
        }
        self.joint[features.labels[item]] - log_sum_exp(&self.joint)
    }
}

fn rule(linear: bool, weights: &[f64], temperature: f64, means: &MeanOutputs) -> Rule {
    if linear {
        let bias = means.ln_all.iter().map(|ln| -temperature * ln).collect();
        return Rule::LinearPool(LinearRule {
            bias,
            exponent: temperature,
            weights: weights.to_vec(),
        });
    }
    let output_exponents: Vec<f64> = weights.iter().map(|w| temperature * w).collect();
    let bias = means.bias(&output_exponents);
    Rule::Layer(Layer { bias, output_exponents, ..Layer::default() })
}
