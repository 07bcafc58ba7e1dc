//! The density at a finite resolution: sequential adapted importance sampling.
//!
//! Every ln G^k_l is observed with an error N(0, ε²/2); then ln G^k_l − ln G^m_l carries N(0, ε²), as the resolution of two
//! classifiers does. (There the smaller of the two is held fixed; here every one is blurred. The two conventions differ by about
//! .02 in ln f at ε = .03.) No walls are left, private shapes may be 0, and
//!
//! ```text
//! f = Π_kl 1/x_kl ∫ Π_k dln s_k Π_l E_D[ Π_k h_kl(s_k x_kl | B_kl) ],   B_kl = Σ_{S∋k} D_Sl,
//! ```
//!
//! with h of [`Blurred`]. A point is drawn in order: totals from a normal law with heavier tails; then in every class the common
//! gamma and the pairs', each from its conditional density given what came before, in which all that is still to
//! come counts as private. That stand-in is exact for the last gamma, and what it misses before is in the weights.
//!
//! The law of the totals comes from pilots on the model in which all pairs count as private: given the totals, it needs one integral
//! a class, taken on the [`Ladder`], so that its pilots carry no noise of their own.

use nalgebra::DMatrix;

use super::block::{Block, Component};
use super::blur::Blurred;
use super::centre::Centre;
use super::ladder::{Ladder, Member};
use super::points::{REPLICATES, uniforms};
use super::replicates::Replicates;
use super::{Estimate, Goal};
use consilience_numerics::special::{ln_gamma, normal_quantile};

/// Points of a replicate to begin with.
const FIRST: usize = 8;
/// A point here costs as much as this many where ε = 0, and so many fewer are spent.
const COSTS: usize = 512;
/// Pilot rounds at the most, and their points.
const PILOTS: usize = 3;
const PILOT_POINTS: usize = 64;
/// The share of effective points from which on a further pilot is not worth its cost.
const SETTLED: f64 = 0.5;
/// Normal variables n are stretched to n(1 + n²/HEAVY): tails about those of Student's t with 8 degrees of freedom.
const HEAVY: f64 = 20.0;

/// Memory that evaluations reuse.
#[derive(Debug, Default)]
pub(super) struct SequentialScratch {
    ladder: Ladder,
    members: Vec<Member>,
    shared: Vec<f64>,
    ln_y: Vec<f64>,
    uniforms: Vec<f64>,
    pub(super) replicates: Replicates,
}

impl SequentialScratch {
    /// Begins class l: what was seen, and nothing shared yet.
    fn begin(&mut self, l: usize, x: &[Vec<f64>], totals: &[f64]) {
        self.ln_y.clear();
        self.ln_y.extend(totals.iter().zip(x).map(|(t, x)| t + x[l].ln()));
        self.shared.clear();
        self.shared.resize(totals.len(), 0.0);
    }
}

/// One class: its factors, and h of every classifier after every factor.
#[derive(Debug, Clone)]
struct Class {
    component: Component,
    /// −ln Γ(δ) of every factor.
    ln_gammas: Vec<f64>,
    /// By factor, third classifiers that its choice concerns.
    ahead: Vec<Vec<Ahead>>,
    /// `after[i][k]`: what is not yet drawn after the first i factors counts as private.
    after: Vec<Vec<Blurred>>,
}

/// The regime of a finite resolution for one block of classifiers.
#[derive(Debug, Clone)]
pub(super) struct Sequential {
    block: Block,
    classes: Vec<Class>,
    sigma: f64,
}

/// A classifier m outside a pair {i, j} that shares later factors with its members.
///
/// What the pair leaves of y_i is to be made up of later factors, some of them m's: with little that is private, a choice that
/// leaves i and j too much or too little for what m shows can no longer be repaired. The later factor of i and m takes of the
/// rest a Beta share f, so ln y_m is about normal, with the mean and variance that follow from the shares'. A guide for the
/// proposal only; nothing depends on its being exact.
#[derive(Debug, Clone)]
struct Ahead {
    classifier: usize,
    /// (i, mean of f, variance of f) of the pair's members that share a later factor with m.
    shares: Vec<(usize, f64, f64)>,
    /// Shape of all else that m will get.
    other: f64,
}

impl Ahead {
    fn of(component: &Component, i: usize) -> Vec<Self> {
        let pair = &component.factors[i].members;
        if pair.len() != 2 {
            return Vec::new();
        }
        let later = || component.factors.iter().skip(i + 1);
        let total = |k: usize| {
            component.private[k]
                + later().filter(|f| f.members.contains(&k)).map(|f| f.shape).sum::<f64>()
        };
        let about = |m: usize| {
            let share = |&k: &usize| {
                let factor = later().find(|f| f.members.contains(&k) && f.members.contains(&m))?;
                let (own, all) = (factor.shape, total(k));
                let mean = own / all;
                Some((k, mean, mean * (1.0 - mean) / (all + 1.0), own))
            };
            let shares: Vec<_> = pair.iter().filter_map(share).collect();
            let other = total(m) - shares.iter().map(|s| s.3).sum::<f64>();
            let shares = shares.into_iter().map(|(k, mean, variance, _)| (k, mean, variance));
            Self { classifier: m, shares: shares.collect(), other: other.max(0.0) }
        };
        let outside = (0..component.private.len()).filter(|m| !pair.contains(m));
        outside.map(about).filter(|a| !a.shares.is_empty()).collect()
    }

    /// About ln of the density of ln y_m when the pair's factor is d.
    fn ln_density(&self, d: f64, ln_y: &[f64], shared: &[f64], sigma: f64) -> f64 {
        let mut mean = shared[self.classifier] + self.other;
        let mut variance = self.other;
        for &(k, share, spread) in &self.shares {
            let rest = (ln_y[k].exp() - shared[k] - d).max(0.0);
            mean += share * rest;
            variance += spread * rest * rest;
        }
        let seen = ln_y[self.classifier].exp();
        // Some width always: the guide must not be sharper than it knows.
        variance += 4.0 * sigma * sigma * seen * seen;
        -0.5 * (seen - mean).powi(2) / variance - 0.5 * variance.ln()
    }
}

/// A normal law with heavier tails for ln s.
struct TotalsLaw {
    mean: Vec<f64>,
    lower: DMatrix<f64>,
}

impl Sequential {
    pub(super) fn new(block: Block, epsilon: f64) -> Self {
        let sigma = epsilon * std::f64::consts::FRAC_1_SQRT_2;
        let classes = block.components.iter().map(|c| Class::new(c, sigma)).collect();
        Self { block, classes, sigma }
    }

    /// ln f at `x[k][l]`, the outputs of the block's classifiers.
    pub(super) fn ln_density(
        &self,
        x: &[Vec<f64>],
        goal: &Goal,
        scratch: &mut SequentialScratch,
    ) -> Estimate {
        // Points cost little beside their weights here: every item has its own.
        let seed = goal.seed.wrapping_add(goal.item);
        let Some(law) = self.totals_law(x, seed, scratch) else { return Estimate::UNKNOWN };
        let constant = -x.iter().flatten().map(|x| x.ln()).sum::<f64>();
        let dimensions =
            self.block.len() + self.classes.iter().map(|c| c.ln_gammas.len()).sum::<usize>();
        scratch.replicates.clear();
        let (mut done, mut upto) = (0, FIRST);
        loop {
            for replicate in 0..REPLICATES {
                for point in done..upto {
                    let weight = self.weight(x, &law, seed, replicate, point, dimensions, scratch);
                    scratch.replicates.push(replicate, &[weight]);
                }
            }
            let (_, error) = scratch.replicates.mean();
            done = upto;
            upto *= 2;
            if error <= goal.tolerance || upto * REPLICATES > goal.most_points / COSTS {
                return scratch.replicates.estimate(constant);
            }
        }
    }

    /// The log weight of a point.
    #[allow(clippy::too_many_arguments, reason = "names a point of a sequence")]
    fn weight(
        &self,
        x: &[Vec<f64>],
        law: &TotalsLaw,
        seed: u64,
        replicate: usize,
        point: usize,
        dimensions: usize,
        scratch: &mut SequentialScratch,
    ) -> f64 {
        let mut u = std::mem::take(&mut scratch.uniforms);
        u.resize(dimensions, 0.0);
        uniforms(seed, dimensions, replicate, point, |i, value| u[i] = value);
        let (totals, mut sum) = law.draw(&u);
        let mut rest = &u[totals.len()..];
        for (l, class) in self.classes.iter().enumerate() {
            let (own, later) = rest.split_at(class.ln_gammas.len());
            rest = later;
            sum += class.weight(l, x, &totals, self.sigma, own, scratch);
        }
        scratch.uniforms = u;
        sum
    }

    /// ln of the merged model's integrand at totals e^θ.
    fn merged(&self, x: &[Vec<f64>], totals: &[f64], scratch: &mut SequentialScratch) -> f64 {
        let classes = self.classes.iter().enumerate();
        classes.map(|(l, class)| class.merged(l, x, totals, self.sigma, scratch)).sum()
    }

    /// Mean and covariance of ln s under the merged model, by a few rounds of weighting.
    fn totals_law(
        &self,
        x: &[Vec<f64>],
        seed: u64,
        scratch: &mut SequentialScratch,
    ) -> Option<TotalsLaw> {
        let mut law = self.first_law(x)?;
        let n = self.block.len();
        for round in 0..PILOTS {
            let mut points = Vec::with_capacity(PILOT_POINTS);
            let mut u = vec![0.0; n];
            for point in 0..PILOT_POINTS {
                // Streams beyond those of the replicates.
                uniforms(seed, n, (round + 1) * 1024, point, |i, value| u[i] = value);
                let (totals, ln_volume) = law.draw(&u);
                let weight = ln_volume + self.merged(x, &totals, scratch);
                points.push((totals, if weight.is_nan() { f64::NEG_INFINITY } else { weight }));
            }
            let effective;
            (law, effective) = law.updated(&points)?;
            if effective > SETTLED * PILOT_POINTS as f64 {
                break;
            }
        }
        Some(law)
    }

    /// From the centre of the density without noise, widened by the noise.
    fn first_law(&self, x: &[Vec<f64>]) -> Option<TotalsLaw> {
        let centre = Centre::find(&self.block, x)?;
        let n = self.block.len();
        let mut precision = DMatrix::<f64>::zeros(n, n);
        (0..n).for_each(|k| precision[(k, k)] = centre.curvature.totals[k]);
        for (shared, between) in centre.curvature.shared.iter().zip(&centre.curvature.between) {
            if shared.nrows() > 0 {
                precision -= between.tr_mul(&shared.clone().cholesky()?.solve(between));
            }
        }
        let mut covariance = precision.cholesky()?.inverse();
        (0..n).for_each(|k| covariance[(k, k)] += 4.0 * self.sigma * self.sigma);
        let lower = (covariance * 1.5).cholesky()?.l();
        Some(TotalsLaw { mean: centre.totals.iter().map(|s| s.ln()).collect(), lower })
    }
}

impl Class {
    fn new(component: &Component, sigma: f64) -> Self {
        let n_factors = component.factors.len();
        let shape = |i: usize, k: usize| {
            let later = component.factors.iter().skip(i).filter(|f| f.members.contains(&k));
            component.private[k] + later.map(|f| f.shape).sum::<f64>()
        };
        let row = |i: usize| {
            (0..component.private.len()).map(|k| Blurred::new(shape(i, k), sigma)).collect()
        };
        Self {
            ln_gammas: component.factors.iter().map(|f| -ln_gamma(f.shape)).collect(),
            ahead: (0..n_factors).map(|i| Ahead::of(component, i)).collect(),
            after: (0..=n_factors).map(row).collect(),
            component: component.clone(),
        }
    }

    /// ln h of classifier k after i factors.
    fn ln_h(&self, i: usize, k: usize, ln_y: f64, shared: f64) -> f64 {
        if shared > 0.0 {
            self.after[i][k].ln_density(ln_y, shared)
        } else {
            self.after[i][k].ln_density_alone(ln_y)
        }
    }

    /// Tabulates the conditional density of factor i in u = ln D.
    fn tabulate(&self, i: usize, sigma: f64, scratch: &mut SequentialScratch) {
        let factor = &self.component.factors[i];
        let SequentialScratch { ladder, members, shared, ln_y, .. } = scratch;
        members.clear();
        members.extend(factor.members.iter().map(|&k| Member { ln_y: ln_y[k], shared: shared[k] }));
        let prior = |u: f64, d: f64| factor.shape * u - d + self.ln_gammas[i];
        ladder.fill(members, sigma, factor.shape, |u| {
            let d = u.exp();
            let each = factor.members.iter().zip(members.iter());
            let seen = each.map(|(&k, m)| self.ln_h(i + 1, k, m.ln_y, m.shared + d));
            let ahead = self.ahead[i].iter().map(|a| a.ln_density(d, ln_y, shared, sigma));
            prior(u, d) + seen.sum::<f64>() + ahead.sum::<f64>()
        });
    }

    /// Draws all factors and returns ln of the integrand over the law they were drawn from.
    fn weight(
        &self,
        l: usize,
        x: &[Vec<f64>],
        totals: &[f64],
        sigma: f64,
        uniforms: &[f64],
        scratch: &mut SequentialScratch,
    ) -> f64 {
        scratch.begin(l, x, totals);
        let mut sum = 0.0;
        for (i, (factor, &p)) in self.component.factors.iter().zip(uniforms).enumerate() {
            self.tabulate(i, sigma, scratch);
            let Some((u, ln_law)) = scratch.ladder.draw(p) else { return f64::NEG_INFINITY };
            let d = u.max(-600.0).exp();
            sum += factor.shape * u - d + self.ln_gammas[i] - ln_law;
            factor.members.iter().for_each(|&k| scratch.shared[k] += d);
        }
        let last = self.component.factors.len();
        let seen =
            (0..totals.len()).map(|k| self.ln_h(last, k, scratch.ln_y[k], scratch.shared[k]));
        sum + seen.sum::<f64>()
    }

    /// The merged model: the first factor integrated, all others counted as private.
    fn merged(
        &self,
        l: usize,
        x: &[Vec<f64>],
        totals: &[f64],
        sigma: f64,
        scratch: &mut SequentialScratch,
    ) -> f64 {
        scratch.begin(l, x, totals);
        let Some(factor) = self.component.factors.first() else {
            return (0..totals.len()).map(|k| self.ln_h(0, k, scratch.ln_y[k], 0.0)).sum();
        };
        self.tabulate(0, sigma, scratch);
        let others = (0..totals.len()).filter(|k| !factor.members.contains(k));
        let others: f64 = others.map(|k| self.ln_h(1, k, scratch.ln_y[k], 0.0)).sum();
        scratch.ladder.ln_integral() + others
    }
}

impl TotalsLaw {
    /// θ = ln s from the first uniforms, and minus its log density.
    fn draw(&self, u: &[f64]) -> (Vec<f64>, f64) {
        let n = self.mean.len();
        let mut ln_volume = 0.5 * (2.0 * std::f64::consts::PI).ln() * n as f64;
        let mut stretched = vec![0.0; n];
        for (k, stretched) in stretched.iter_mut().enumerate() {
            let v = normal_quantile(u[k]);
            let square = v * v;
            *stretched = v * (1.0 + square / HEAVY);
            ln_volume += 0.5 * square + (1.0 + 3.0 * square / HEAVY).ln() + self.lower[(k, k)].ln();
        }
        let theta = |k: usize| {
            self.mean[k] + (0..=k).map(|j| self.lower[(k, j)] * stretched[j]).sum::<f64>()
        };
        ((0..n).map(theta).collect(), ln_volume)
    }

    /// The law with the weighted points' mean and covariance; where few points carry the weight, theirs
    /// is mixed with the old one. Also the number of points that carried it.
    fn updated(self, points: &[(Vec<f64>, f64)]) -> Option<(Self, f64)> {
        let n = self.mean.len();
        let top = points.iter().map(|p| p.1).fold(f64::NEG_INFINITY, f64::max);
        if !top.is_finite() {
            return None;
        }
        // Weights are tempered until a fair number of points share them.
        let mut power = 1.0;
        let (weights, effective) = loop {
            let weights: Vec<f64> = points.iter().map(|p| (power * (p.1 - top)).exp()).collect();
            let sum: f64 = weights.iter().sum();
            let square: f64 = weights.iter().map(|w| w * w).sum();
            let effective = sum * sum / square;
            if effective > 4.0 * n as f64 || power < 0.05 {
                break (weights.iter().map(|w| w / sum).collect::<Vec<_>>(), effective);
            }
            power *= 0.7;
        };
        let mean: Vec<f64> =
            (0..n).map(|k| points.iter().zip(&weights).map(|(p, w)| w * p.0[k]).sum()).collect();
        let mut covariance = DMatrix::<f64>::zeros(n, n);
        for ((theta, _), weight) in points.iter().zip(&weights) {
            for i in 0..n {
                for j in 0..n {
                    covariance[(i, j)] += weight * (theta[i] - mean[i]) * (theta[j] - mean[j]);
                }
            }
        }
        let old = &self.lower * self.lower.transpose();
        let kept = (2.0 / effective).min(0.3);
        covariance = covariance * (1.0 - kept) + old * kept;
        let lower = covariance.cholesky()?.l();
        Some((Self { mean, lower }, effective))
    }
}
