//! The Bayesian pool: many linear and geometric pools, weighted by the likelihood of the labels.
//!
//! The plain linear and the plain geometric pool have a part of the prior; the rest belongs to
//! pools with other weights and temperatures. Averaging over them needs no fit, so that one label
//! per class already helps and few labels do little harm.

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rand_distr::StandardNormal;

use super::features::MeanOutputs;
use super::linear::LN_TEMPERATURE;
use super::members::{Layer, LinearRule, Rule};
use super::temperature::Temperatures;
use crate::error::Result;
use crate::math::aligned::AlignedBuffer;
use crate::math::columns::{add_scaled, dot, ln_all, ln_sums};
use crate::methods::regression::{Blocks, ItemBlock};
use crate::progress::Progress;
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

/// The likelihoods of up to `KEPT_ITEMS` items are kept, 13 MB. Of more items, at least `FEW_ITEMS`
/// evenly spread ones come first: particles that are less probable than the best by exp(`HOPELESS`)
/// on this part are not computed for the others, where they would fall further behind.
const KEPT_ITEMS: usize = 8192;
const FEW_ITEMS: usize = 2048;
const HOPELESS: f64 = 200.0;

impl Pools {
    /// Without labels: half the linear and half the geometric pool.
    pub(super) fn without_labels(means: &MeanOutputs, plain: Temperatures) -> Vec<(f64, Rule)> {
        let weights = equal_weights(means.order.len());
        let pools = [(true, plain.linear), (false, plain.geometric)];
        pools.map(|(linear, a)| (0.5, rule(linear, &weights, a, means))).to_vec()
    }

    /// Weights the pools by the likelihood of the items.
    pub(super) fn new(
        (means, offsets): (&MeanOutputs, &[f64]),
        plain: Temperatures,
        blocks: &Blocks<'_>,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let weights = weight_sets(&means.order);
        let particles = particles(plain);
        let table = Table { weights: &weights, particles: &particles, means, offsets };
        let prior: Vec<f64> = particles.iter().map(|p| p.prior.ln()).collect();
        let all: Vec<usize> = (0..particles.len()).collect();
        let (totals, scores) = if blocks.n_items() <= KEPT_ITEMS {
            let found = table.likelihoods((blocks, true), &all, progress)?;
            let totals = total(&found, &all, &prior);
            let kept = at_least(&totals, largest(&totals) - NEGLIGIBLE);
            (totals.clone(), scores(&found, &totals, &kept))
        } else {
            table.of_many(blocks, &prior, progress)?
        };
        let mut probabilities = totals;
        simplex::softmax(&mut probabilities);
        Ok(Self { weights, particles, probabilities, scores })
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

fn largest(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

/// The places of values above a limit.
fn at_least(values: &[f64], limit: f64) -> Vec<usize> {
    (0..values.len()).filter(|&s| values[s] > limit).collect()
}

/// The log posterior of all particles up to a constant, −∞ for those that are not among `particles`.
fn total(found: &[Likelihoods], particles: &[usize], prior: &[f64]) -> Vec<f64> {
    let mut totals = vec![f64::NEG_INFINITY; prior.len()];
    for (place, &s) in particles.iter().enumerate() {
        totals[s] = prior[s];
        for piece in found {
            totals[s] += piece.totals[place];
        }
    }
    totals
}

/// The log scores of the items by the posterior without them; `kept` are places in `totals`.
fn scores(found: &[Likelihoods], totals: &[f64], kept: &[usize]) -> Vec<f64> {
    found.iter().flat_map(|piece| piece.scores(totals, kept)).collect()
}

/// How likelihoods are computed.
struct Table<'a> {
    weights: &'a [Vec<f64>],
    particles: &'a [Particle],
    means: &'a MeanOutputs,
    /// ln of the share of every class among the labels.
    offsets: &'a [f64],
}

/// The log likelihoods of the items of some blocks.
struct Likelihoods {
    /// Of all items together, by particle.
    totals: Vec<f64>,
    /// Block by block, particle by particle: a number per item.
    values: Vec<f64>,
    /// The number of items and how often each is left out, padded to the length of a column, for every block.
    blocks: Vec<(usize, Vec<f64>)>,
    room: PoolRoom,
}

/// Buffers for the evidence of one pool with temperature 1.
#[derive(Default)]
struct PoolRoom {
    /// J columns.
    pooled: AlignedBuffer,
    /// That of the items' own classes, and the offsets of these.
    own: Vec<f64>,
    offsets: Vec<f64>,
}

impl Table<'_> {
    /// The log posterior of all particles up to a constant, and the leave-one-out scores, of many items.
    fn of_many(
        &self,
        blocks: &Blocks<'_>,
        prior: &[f64],
        progress: &dyn Progress,
    ) -> Result<(Vec<f64>, Vec<f64>)> {
        let all: Vec<usize> = (0..prior.len()).collect();
        let step = blocks.n_items() / FEW_ITEMS;
        let part = self.likelihoods((&blocks.every(step, progress)?, false), &all, progress)?;
        let part = total(&part, &all, prior);
        let promising = at_least(&part, largest(&part) - HOPELESS * step as f64);
        let found = self.likelihoods((blocks, false), &promising, progress)?;
        let totals = total(&found, &promising, prior);
        let kept = at_least(&totals, largest(&totals) - NEGLIGIBLE);
        let found = self.likelihoods((blocks, true), &kept, progress)?;
        let of_kept: Vec<f64> = kept.iter().map(|&s| totals[s]).collect();
        let places: Vec<usize> = (0..kept.len()).collect();
        Ok((totals, scores(&found, &of_kept, &places)))
    }

    /// Of some particles, for pieces of the table in order; those of every item are kept if `keep`.
    fn likelihoods(
        &self,
        (blocks, keep): (&Blocks<'_>, bool),
        particles: &[usize],
        progress: &dyn Progress,
    ) -> Result<Vec<Likelihoods>> {
        let new = || Likelihoods {
            totals: vec![0.0; particles.len()],
            values: Vec::new(),
            blocks: Vec::new(),
            room: PoolRoom::default(),
        };
        blocks.pieces(particles.len(), progress, new, |block, found| {
            if !keep {
                found.values.clear();
                found.blocks.clear();
            }
            self.add_block(block, particles, found);
        })
    }

    fn add_block(&self, block: &ItemBlock, particles: &[usize], found: &mut Likelihoods) {
        let stride = block.stride;
        let first = found.values.len();
        found.values.resize(first + particles.len() * stride, 0.0);
        let units = block.weights.iter().map(|weight| weight.min(1.0)).collect();
        found.blocks.push((block.labels.len(), units));
        let PoolRoom { pooled, own, offsets } = &mut found.room;
        pooled.resize(self.offsets.len() * stride);
        offsets.clear();
        offsets.extend(block.labels.iter().map(|label| self.offsets[*label as usize]));
        offsets.resize(stride, 0.0);
        let mut loaded = None;
        for (place, &s) in particles.iter().enumerate() {
            let Particle { linear, weights, temperature, .. } = self.particles[s];
            let wanted = (linear, &self.weights[weights]);
            if loaded != Some(wanted) {
                self.pool(block, wanted, pooled);
                own.clear();
                let places = block.labels.iter().enumerate();
                own.extend(places.map(|(i, label)| pooled[*label as usize * stride + i]));
                own.resize(stride, 0.0);
                loaded = Some(wanted);
            }
            let values = &mut found.values[first + place * stride..][..stride];
            ln_sums(pooled, temperature, self.offsets, values);
            for ((value, own), offset) in values.iter_mut().zip(&*own).zip(&*offsets) {
                *value = temperature * own + offset - *value;
            }
            found.totals[place] += dot(values, &block.weights);
        }
    }

    /// The evidence for every class of a pool with temperature 1.
    fn pool(&self, block: &ItemBlock, (linear, weights): (bool, &Vec<f64>), pooled: &mut [f64]) {
        let features = if linear { &block.probabilities } else { &block.outputs };
        pooled.fill(0.0);
        for (weight, source) in weights.iter().zip(features.chunks_exact(pooled.len())) {
            add_scaled(pooled, *weight, source);
        }
        if linear {
            ln_all(pooled);
            for (column, ln) in pooled.chunks_exact_mut(block.stride).zip(&self.means.ln_all) {
                column.iter_mut().for_each(|value| *value -= ln);
            }
        }
    }
}

impl Likelihoods {
    /// The log scores of the items by the posterior without them, from some particles.
    fn scores(&self, totals: &[f64], kept: &[usize]) -> Vec<f64> {
        let mut scores = Vec::new();
        let mut rest = &self.values[..];
        for (n_items, units) in &self.blocks {
            let stride = units.len();
            let (values, others) = rest.split_at(totals.len() * stride);
            rest = others;
            let own = |s: usize| &values[s * stride..][..stride];
            let mut joint = vec![0.0; kept.len() * stride];
            let mut without = vec![0.0; kept.len() * stride];
            for (place, &s) in kept.iter().enumerate() {
                for i in 0..stride {
                    let rest = totals[s] - units[i] * own(s)[i];
                    without[place * stride + i] = rest;
                    joint[place * stride + i] = rest + own(s)[i];
                }
            }
            let (mut above, mut below) = (vec![0.0; stride], vec![0.0; stride]);
            let none = vec![0.0; kept.len()];
            ln_sums(&joint, 1.0, &none, &mut above);
            ln_sums(&without, 1.0, &none, &mut below);
            scores.extend(above.iter().zip(&below).map(|(a, b)| a - b).take(*n_items));
        }
        scores
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
