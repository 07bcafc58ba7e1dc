//! The density with log-normal noise: sequential importance sampling.
//!
//! Every ln G^k_l carries an error N(0, σ²), σ² = ε²/2. No boundaries remain, private shapes may be 0, and
//!
//! ```text
//! f = Π_kl 1/x_kl ∫ Π_k dln s_k Π_l E_D[ Π_k h_kl(s_k x_kl | B_kl) ],   B_kl = Σ_{S∋k} D_Sl,
//! ```
//!
//! with h of [`NoisyGamma`]. A point is drawn in this order: the totals from a normal distribution with heavier tails
//! ([`TotalsProposal`]); then, in every component, the common gamma and those of the pairs, each from its tabulated
//! conditional density given the earlier ones ([`TabulatedConditional`]). For the proposal, gammas that are drawn later
//! count as private. This is exact for the last gamma; the weights correct it for the others.
//!
//! The proposal of the totals is learned from pilot rounds on the merged model, in which the gammas of all pairs count
//! as private. Given the totals, the merged model needs one tabulated integral per component, so that the pilots'
//! weights carry no further noise.

mod conditional;
mod look_ahead;
mod noisy_gamma;
mod totals;

use super::Goal;
use super::constants::REPLICATES;
use super::constants::{
    FIRST_NOISY_POINTS, NOISY_POINT_COST, PILOT_SETTLED, TOTALS_PILOT_POINTS, TOTALS_PILOTS,
};
use super::group::{ComponentShapes, Group};
use super::mode::IntegrandMode;
use super::replicates::Replicates;
use super::sobol::uniforms;
use crate::Estimate;
use conditional::{Member, TabulatedConditional};
use consilience_numerics::special::ln_gamma;
use look_ahead::LookAhead;
use noisy_gamma::NoisyGamma;
use totals::TotalsProposal;

/// Buffers that evaluations reuse.
#[derive(Debug, Default)]
pub(super) struct NoisyScratch {
    conditional: TabulatedConditional,
    members: Vec<Member>,
    /// Per classifier, the sum of the shared gammas drawn so far.
    shared: Vec<f64>,
    /// Per classifier, ln of the observed gamma s_k x_kl.
    ln_y: Vec<f64>,
    uniforms: Vec<f64>,
    replicates: Replicates,
}

impl NoisyScratch {
    /// Starts component l with nothing drawn.
    fn begin(&mut self, l: usize, x: &[Vec<f64>], totals: &[f64]) {
        self.ln_y.clear();
        self.ln_y.extend(totals.iter().zip(x).map(|(t, x)| t + x[l].ln()));
        self.shared.clear();
        self.shared.resize(totals.len(), 0.0);
    }
}

/// The density integral, with noise, of one group of three or more classifiers.
#[derive(Debug, Clone)]
pub(super) struct NoisyIntegral {
    group: Group,
    components: Vec<ComponentIntegral>,
    /// Standard deviation of the noise of every ln G.
    sigma: f64,
}

impl NoisyIntegral {
    /// Prepares the tables for a noise of variance ε²/2.
    pub(super) fn new(group: Group, epsilon: f64) -> Self {
        let sigma = epsilon * std::f64::consts::FRAC_1_SQRT_2;
        let components =
            group.components.iter().map(|c| ComponentIntegral::new(c, sigma)).collect();
        Self { group, components, sigma }
    }

    /// ln f at `x[k][l]`, the outputs of the group's classifiers.
    pub(super) fn ln_density(
        &self,
        x: &[Vec<f64>],
        goal: &Goal,
        scratch: &mut NoisyScratch,
    ) -> Estimate {
        // Scrambling costs little beside the weights, so that every item has its own points.
        let seed = goal.seed.wrapping_add(goal.item);
        let Some(proposal) = self.totals_proposal(x, seed, scratch) else {
            return Estimate::UNRESOLVED;
        };
        let ln_constant = -x.iter().flatten().map(|x| x.ln()).sum::<f64>();
        scratch.replicates.clear();
        let (mut done, mut length) = (0, FIRST_NOISY_POINTS);
        loop {
            for replicate in 0..REPLICATES {
                for point in done..length {
                    self.draw_uniforms(seed, replicate, point, scratch);
                    let ln_weight = self.ln_weight(x, &proposal, scratch);
                    scratch.replicates.push(replicate, &[ln_weight]);
                }
            }
            let (_, error) = scratch.replicates.mean();
            done = length;
            length *= 2;
            if error <= goal.tolerance || length * REPLICATES > goal.max_points / NOISY_POINT_COST {
                return scratch.replicates.estimate(ln_constant);
            }
        }
    }

    /// Fills `scratch.uniforms` with the coordinates of a point: totals first, then the shared gammas.
    fn draw_uniforms(&self, seed: u64, replicate: usize, point: usize, scratch: &mut NoisyScratch) {
        let n_shared = self.components.iter().map(|c| c.ln_gammas.len()).sum::<usize>();
        let dimensions = self.group.len() + n_shared;
        scratch.uniforms.resize(dimensions, 0.0);
        uniforms(seed, dimensions, replicate, point, |i, u| scratch.uniforms[i] = u);
    }

    /// The log weight of the point in `scratch.uniforms`.
    fn ln_weight(
        &self,
        x: &[Vec<f64>],
        proposal: &TotalsProposal,
        scratch: &mut NoisyScratch,
    ) -> f64 {
        let uniforms = std::mem::take(&mut scratch.uniforms);
        let (totals, mut sum) = proposal.draw(&uniforms);
        let mut rest = &uniforms[totals.len()..];
        for (l, component) in self.components.iter().enumerate() {
            let (own, later) = rest.split_at(component.ln_gammas.len());
            rest = later;
            scratch.begin(l, x, &totals);
            sum += component.ln_weight(self.sigma, own, scratch);
        }
        scratch.uniforms = uniforms;
        sum
    }

    /// ln of the merged model's integrand at totals e^θ.
    fn ln_merged(&self, x: &[Vec<f64>], totals: &[f64], scratch: &mut NoisyScratch) -> f64 {
        let component = |(l, component): (usize, &ComponentIntegral)| {
            scratch.begin(l, x, totals);
            component.ln_merged(self.sigma, scratch)
        };
        self.components.iter().enumerate().map(component).sum()
    }

    /// The proposal for ln s, adapted to the merged model by a few pilot rounds.
    fn totals_proposal(
        &self,
        x: &[Vec<f64>],
        seed: u64,
        scratch: &mut NoisyScratch,
    ) -> Option<TotalsProposal> {
        let mode = IntegrandMode::find(&self.group, x)?;
        let mut proposal = TotalsProposal::at_mode(&mode, self.sigma)?;
        let n = self.group.len();
        for round in 0..TOTALS_PILOTS {
            let mut points = Vec::with_capacity(TOTALS_PILOT_POINTS);
            let mut u = vec![0.0; n];
            for point in 0..TOTALS_PILOT_POINTS {
                // Streams beyond those of the replicates.
                uniforms(seed, n, (round + 1) * 1024, point, |i, value| u[i] = value);
                let (totals, ln_volume) = proposal.draw(&u);
                let weight = ln_volume + self.ln_merged(x, &totals, scratch);
                points.push((totals, if weight.is_nan() { f64::NEG_INFINITY } else { weight }));
            }
            let effective;
            (proposal, effective) = proposal.updated(&points)?;
            if effective > PILOT_SETTLED * TOTALS_PILOT_POINTS as f64 {
                break;
            }
        }
        Some(proposal)
    }
}

/// One component: its shared gammas, and h of every classifier after each of them.
#[derive(Debug, Clone)]
struct ComponentIntegral {
    shapes: ComponentShapes,
    /// −ln Γ(δ) of every shared gamma.
    ln_gammas: Vec<f64>,
    /// Per shared gamma, the other classifiers that its value constrains.
    look_ahead: Vec<Vec<LookAhead>>,
    /// `after[i][k]`: h of classifier k when gammas from index i on count as private.
    after: Vec<Vec<NoisyGamma>>,
}

impl ComponentIntegral {
    fn new(shapes: &ComponentShapes, sigma: f64) -> Self {
        let n_shared = shapes.shared.len();
        let shape = |i: usize, k: usize| shapes.private[k] + shapes.shared_from(i, k).sum::<f64>();
        let row = |i: usize| {
            (0..shapes.private.len()).map(|k| NoisyGamma::new(shape(i, k), sigma)).collect()
        };
        Self {
            ln_gammas: shapes.shared.iter().map(|d| -ln_gamma(d.shape)).collect(),
            look_ahead: (0..n_shared).map(|i| LookAhead::of(shapes, i)).collect(),
            after: (0..=n_shared).map(row).collect(),
            shapes: shapes.clone(),
        }
    }

    /// ln h of classifier k after i shared gammas.
    fn ln_h(&self, i: usize, k: usize, ln_y: f64, shared: f64) -> f64 {
        if shared > 0.0 {
            self.after[i][k].ln_density(ln_y, shared)
        } else {
            self.after[i][k].ln_density_unshared(ln_y)
        }
    }

    /// Tabulates the conditional density of shared gamma i in u = ln D.
    fn tabulate(&self, i: usize, sigma: f64, scratch: &mut NoisyScratch) {
        let gamma = &self.shapes.shared[i];
        let NoisyScratch { conditional, members, shared, ln_y, .. } = scratch;
        members.clear();
        members.extend(gamma.members.iter().map(|&k| Member { ln_y: ln_y[k], shared: shared[k] }));
        let prior = |u: f64, d: f64| gamma.shape * u - d + self.ln_gammas[i];
        conditional.fill(members, sigma, gamma.shape, |u| {
            let d = u.exp();
            let each = gamma.members.iter().zip(members.iter());
            let seen = each.map(|(&k, m)| self.ln_h(i + 1, k, m.ln_y, m.shared + d));
            let ahead = self.look_ahead[i].iter().map(|a| a.ln_density(d, ln_y, shared, sigma));
            prior(u, d) + seen.sum::<f64>() + ahead.sum::<f64>()
        });
    }

    /// Draws all shared gammas and returns ln of the integrand over the density they were drawn from.
    fn ln_weight(&self, sigma: f64, uniforms: &[f64], scratch: &mut NoisyScratch) -> f64 {
        let mut sum = 0.0;
        for (i, (gamma, &p)) in self.shapes.shared.iter().zip(uniforms).enumerate() {
            self.tabulate(i, sigma, scratch);
            let Some((u, ln_proposal)) = scratch.conditional.draw(p) else {
                return f64::NEG_INFINITY;
            };
            let d = u.max(-600.0).exp();
            sum += gamma.shape * u - d + self.ln_gammas[i] - ln_proposal;
            gamma.members.iter().for_each(|&k| scratch.shared[k] += d);
        }
        let last = self.shapes.shared.len();
        let seen =
            (0..scratch.ln_y.len()).map(|k| self.ln_h(last, k, scratch.ln_y[k], scratch.shared[k]));
        sum + seen.sum::<f64>()
    }

    /// ln of the merged model's integrand: the first gamma integrated out, all others counted as private.
    fn ln_merged(&self, sigma: f64, scratch: &mut NoisyScratch) -> f64 {
        let n = scratch.ln_y.len();
        let Some(gamma) = self.shapes.shared.first() else {
            return (0..n).map(|k| self.ln_h(0, k, scratch.ln_y[k], 0.0)).sum();
        };
        self.tabulate(0, sigma, scratch);
        let others = (0..n).filter(|k| !gamma.members.contains(k));
        let others: f64 = others.map(|k| self.ln_h(1, k, scratch.ln_y[k], 0.0)).sum();
        scratch.conditional.ln_integral() + others
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CorrelatedDirichlet;
    use crate::pair::Scratch;

    /// Two classifiers with little noise: the sampler against the quadrature, which has another noise model. At ε =
    /// 0.01 and α = 9 the two models differ by less than 0.002.
    #[test]
    fn two_classifiers_agree_with_the_quadrature() {
        let (epsilon, outputs) = (0.01, [[0.5, 0.2, 0.3], [0.45, 0.24, 0.31], [0.4, 0.3, 0.3]]);
        for private in [1.0, 5.0] {
            let grown = |shape: f64| vec![1.5 * shape, shape, shape];
            let alpha = vec![grown(private + 5.0); 2];
            let both = CorrelatedDirichlet::new(alpha, Some(grown(5.0)), vec![]).unwrap();
            let pair = both.pair_density(0, 1).unwrap().with_resolution(epsilon).unwrap();
            let noisy = NoisyIntegral::new(Group::split(&both).remove(0), epsilon);
            let goal = Goal { tolerance: 2e-3, seed: 1, item: 0, max_points: 1 << 21 };
            for x in [[outputs[0], outputs[1]], [outputs[1], outputs[2]]] {
                let want = pair.ln_density(&x[0], &x[1], &mut Scratch::default());
                let x = x.map(|x| x.to_vec());
                let got = noisy.ln_density(&x, &goal, &mut NoisyScratch::default());
                let off = (got.ln_density - want.ln_density).abs();
                assert!(got.error <= 2e-3 && off < 2.0 * got.error + 2e-3, "{got:?}, {want:?}");
            }
        }
    }
}
