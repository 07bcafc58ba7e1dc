//! DelayedAcceptance on surfaces that follow the likelihood, corrected by the likelihood itself.
//!
//! One surface a class stands for its log likelihood. Chains on them say where the posterior is; there, and in a wider
//! ("hot") version of it, the likelihood is asked for and the surfaces are fitted again, until both agree. What disagreement is
//! left is taken out by Metropolis' rule: some trajectories on the surfaces, a reversible kernel of their posterior, propose,
//! and the likelihood decides (Christen & Fox 2005). Draws are then from the posterior however far the surfaces are off; where they
//! are far off few proposals are accepted, and diagnostics tell.

use nalgebra::DMatrix;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::constraints::{FARTHEST, SharedShapes};
use super::gaussian_process::{GaussianProcess, LengthScales, NoisyEvaluation};
use super::posterior::FullPosterior;
use super::reweighted_likelihood::{ReweightedClass, places};
use crate::error::{Error, Result};
use crate::methods::correlated::learning::polynomial_surrogate::Region;
use crate::methods::correlated::learning::surrogate_sampling::{
    block, moments, narrowed, spread, widened,
};
use crate::methods::independent::Alpha;
use crate::progress::Progress;
use crate::sampling::{ChainSettings, Draws, Mode, Target, hmc_steps, sample};
use consilience_numerics::parallel;

/// Rounds of fitting and checking, and the spread of likelihood − surface over all classes at which they end.
const ROUNDS: std::ops::RangeInclusive<usize> = 4..=8;
const SMALL_SPREAD: f64 = 0.25;
/// Points of a first design for every coordinate of a class.
const DESIGN: usize = 3;
/// Draws of a round at which every class is checked, and as many hot ones that are known from then on.
const CHECKS: usize = 16;
/// The likelihood's power in the hot posterior.
const HOT: f64 = 0.4;
/// Draws of every chain on surfaces in a round; every so many are kept.
const SCOUTS: usize = 150;
const THINNING: usize = 8;
/// Corrected draws of every chain at the most, those before them that are dropped, and trajectories that make a proposal.
const CORRECTED: usize = 300;
const SETTLING: usize = 15;
const TRAJECTORIES: usize = 6;
/// Acceptance of trajectories from which on their steps are small enough.
const GOOD_ACCEPTANCE: f64 = 0.6;
/// The surface is written in √(δ + this): its natural scale, and smooth down to δ = 0.
const NEAR_ZERO: f64 = 0.01;

/// Draws with what is known of their errors.
pub(super) struct SharedSample {
    pub(super) draws: Draws,
    /// Standard deviation of likelihood − surfaces over the proposals.
    pub(super) spread: f64,
    /// Error of the log likelihood, a mean over the proposals.
    pub(super) noise: f64,
    /// Share of densities that were not resolved.
    pub(super) unresolved: f64,
}

/// A proposal.
struct Weighted {
    /// Log likelihood − surfaces.
    ln_weight: f64,
    /// Square of the log likelihood's error, and items that are not resolved.
    variance: f64,
    unresolved: usize,
}

/// One corrected chain: its draws, all proposals, and how many were accepted.
struct Corrected {
    draws: Vec<Vec<f64>>,
    weighted: Vec<Weighted>,
    accepted: usize,
}

/// How chains run.
pub(super) struct DelayedAcceptance<'a> {
    pub(super) posterior: &'a FullPosterior,
    pub(super) alpha: &'a Alpha,
    pub(super) settings: ChainSettings,
    pub(super) seed: u64,
    pub(super) progress: &'a dyn Progress,
}

/// Everything that belongs to one class's surface.
struct ClassProcess {
    known: Vec<NoisyEvaluation>,
    surface: GaussianProcess,
    spread: f64,
}

impl DelayedAcceptance<'_> {
    /// Draws from the posterior around its mode.
    pub(super) fn run(&self, top: Mode) -> Result<SharedSample> {
        let mut mode = Mode { curvature: narrowed(&top.curvature.l()), ..top };
        let classes = self.posterior.n_classes;
        self.progress.begin("following the likelihood", (ROUNDS.end() * classes) as u64);
        let covariance = mode.curvature.inverse();
        let first = |j: usize| self.first(j, &mode.point, &covariance);
        let mut states = (0..classes).map(first).collect::<Result<Vec<_>>>()?;
        for round in 1..=*ROUNDS.end() {
            let draws = self.scout(&states, &mode, 1.0, round)?;
            let hot = self.scout(&states, &mode, HOT, round)?;
            for (j, state) in states.iter_mut().enumerate() {
                self.check(j, state, &draws, &hot)?;
            }
            mode = widened(&draws, mode.converged);
            self.refit(&mut states, &draws);
            let off = states.iter().map(|state| state.spread.powi(2)).sum::<f64>().sqrt();
            if round >= *ROUNDS.start() && off < SMALL_SPREAD {
                break;
            }
        }
        let draws = self.scout(&states, &mode, 1.0, 0)?;
        self.corrected(&states, &widened(&draws, mode.converged), &draws)
    }

    fn eta<'b>(&self, class: usize, point: &'b [f64]) -> &'b [f64] {
        let width = self.posterior.width();
        &point[class * width..(class + 1) * width]
    }

    /// Shapes of a class in the surface's coordinates.
    fn place(&self, class: usize, eta: &[f64]) -> Vec<f64> {
        on_surface(&places(&self.posterior.constraints(self.alpha, class), eta))
    }

    /// Value and gradient, from the same random numbers everywhere: errors are alike.
    fn evaluated(&self, class: usize, point: &[f64]) -> Result<NoisyEvaluation> {
        self.progress.check()?;
        let near: Vec<f64> =
            self.eta(class, point).iter().map(|e| e.clamp(-FARTHEST, FARTHEST)).collect();
        let constraints = self.posterior.constraints(self.alpha, class);
        let items = &self.posterior.items[class];
        let at = ReweightedClass::new(constraints, items, &near, (self.class_seed(class), 0.0))?;
        let place = self.place(class, &near);
        let evaluation = at.evaluate(&near, None);
        let exact = items.ln_likelihood(&at.constraints, &near, self.class_seed(class))?.value;
        let value = if at.lost.is_empty() { exact } else { f64::NEG_INFINITY };
        let along = |slopes: &[f64]| slopes.iter().zip(&place).map(|(s, v)| 2.0 * v * s).collect();
        let (gradient, noise) = (along(&evaluation.slopes), along(&at.slope_noise()));
        let ln_posterior = value + self.posterior.ln_class_prior(class, point);
        Ok(NoisyEvaluation { place, value, gradient, noise, ln_posterior })
    }

    fn class_seed(&self, class: usize) -> u64 {
        self.seed.wrapping_add((class as u64) << 32)
    }

    fn first(
        &self,
        class: usize,
        centre: &[f64],
        covariance: &DMatrix<f64>,
    ) -> Result<ClassProcess> {
        let width = self.posterior.width();
        let region = Region::new(self.eta(class, centre), &block(covariance, class, width));
        let mut known = vec![self.evaluated(class, centre)?];
        for eta in region.design(0, DESIGN * width) {
            let mut point = centre.to_vec();
            point[class * width..(class + 1) * width].copy_from_slice(&eta);
            known.push(self.evaluated(class, &point)?);
        }
        if !known.iter().any(|known| known.value.is_finite()) {
            return Err(unresolved());
        }
        let surface = GaussianProcess::fit(&known, LengthScales::of(&known, &known[0].place));
        Ok(ClassProcess { known, surface, spread: f64::INFINITY })
    }

    /// Draws by the surfaces alone, their likelihood to some power.
    fn scout(
        &self,
        states: &[ClassProcess],
        mode: &Mode,
        power: f64,
        round: usize,
    ) -> Result<Draws> {
        let target = SurrogatePosterior { chains: self, states, mode, power };
        let one = ChainSettings { n_chains: 1, n_warmup: SCOUTS, n_draws: THINNING * SCOUTS };
        let seed = self.seed.wrapping_add(round as u64) ^ power.to_bits();
        let runs = parallel::map(self.settings.n_chains, |c| {
            sample(&target, mode, &one, seed, c as u64, self.progress)
        });
        let runs = runs.into_iter().collect::<Result<Vec<_>>>()?;
        let acceptance = runs.iter().map(Draws::acceptance).sum::<f64>() / runs.len() as f64;
        let chain = |run: &Draws| {
            let kept = (THINNING - 1..run.len()).step_by(THINNING);
            kept.map(|i| run.draw(i).to_vec()).collect()
        };
        Ok(Draws::from_chains(runs.iter().map(chain).collect(), acceptance))
    }

    /// Compares a surface with the likelihood at some draws. These and some hot ones are known from then on.
    fn check(
        &self,
        class: usize,
        state: &mut ClassProcess,
        draws: &Draws,
        hot: &Draws,
    ) -> Result<()> {
        let mut offs = Vec::new();
        let some = |all: &Draws, i: usize| (2 * i + 1) * all.len() / (2 * CHECKS);
        for i in 0..CHECKS {
            let known = self.evaluated(class, draws.draw(some(draws, i)))?;
            let guess = state.surface.value(&known.place, &mut vec![0.0; known.place.len()]);
            offs.push(known.value - guess);
            state.known.push(known);
            state.known.push(self.evaluated(class, hot.draw(some(hot, i)))?);
        }
        offs.retain(|off| off.is_finite());
        state.spread = if offs.len() > 2 { spread(&offs) } else { f64::INFINITY };
        self.progress.advance(1);
        Ok(())
    }

    fn refit(&self, states: &mut [ClassProcess], draws: &Draws) {
        let surfaces = parallel::map(states.len(), |j| {
            let centre = moments(&draws.mapped(|point| self.place(j, self.eta(j, point)))).0;
            let known = &states[j].known;
            GaussianProcess::fit(known, LengthScales::of(known, &centre))
        });
        states.iter_mut().zip(surfaces).for_each(|(state, surface)| state.surface = surface);
    }

    /// Compares the likelihood with the surfaces.
    fn weighted(&self, states: &[ClassProcess], point: &[f64]) -> Result<Weighted> {
        let mut all = Weighted { ln_weight: 0.0, variance: 0.0, unresolved: 0 };
        for (j, state) in states.iter().enumerate() {
            self.progress.check()?;
            let (eta, constraints) =
                (self.eta(j, point), self.posterior.constraints(self.alpha, j));
            let exact =
                self.posterior.items[j].ln_likelihood(&constraints, eta, self.class_seed(j))?;
            let place = self.place(j, eta);
            all.ln_weight += exact.value - state.surface.value(&place, &mut vec![0.0; place.len()]);
            all.variance += exact.variance;
            all.unresolved += exact.unresolved;
        }
        if all.ln_weight.is_nan() {
            all.ln_weight = f64::NEG_INFINITY;
        }
        Ok(all)
    }

    /// Chains of the posterior itself, each from a draw by the surfaces.
    fn corrected(
        &self,
        states: &[ClassProcess],
        mode: &Mode,
        draws: &Draws,
    ) -> Result<SharedSample> {
        let target = SurrogatePosterior { chains: self, states, mode, power: 1.0 };
        let (n_chains, kept) = (self.settings.n_chains, self.settings.n_draws.min(CORRECTED));
        self.progress.begin("correcting the draws", (n_chains * (kept + SETTLING)) as u64);
        let scale = self.scale(&target, draws);
        let runs = parallel::map(n_chains, |c| {
            let start = draws.draw((c + 1) * draws.len() / n_chains - 1);
            self.one_corrected(&target, start, (kept, scale), (n_chains + c) as u64)
        });
        let runs = runs.into_iter().collect::<Result<Vec<_>>>()?;
        let accepted: usize = runs.iter().map(|run| run.accepted).sum();
        let weighted: Vec<&Weighted> = runs.iter().flat_map(|run| &run.weighted).collect();
        let (n, items) = (weighted.len() as f64, self.posterior.n_items() as f64);
        let mean = |f: fn(&Weighted) -> f64| weighted.iter().map(|w| f(w)).sum::<f64>() / n;
        let weights = weighted.iter().map(|w| w.ln_weight).filter(|weight| weight.is_finite());
        let spread = spread(&weights.collect::<Vec<_>>());
        let noise = mean(|w| w.variance).sqrt();
        let unresolved = mean(|w| w.unresolved as f64) / items.max(1.0);
        let chains = runs.into_iter().map(|run| run.draws).collect();
        let draws = Draws::from_chains(chains, accepted as f64 / n);
        Ok(SharedSample { draws, spread, noise, unresolved })
    }

    fn one_corrected(
        &self,
        target: &SurrogatePosterior<'_>,
        start: &[f64],
        (kept, scale): (usize, f64),
        stream: u64,
    ) -> Result<Corrected> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        rng.set_stream(stream);
        let mut current = start.to_vec();
        let mut weight = self.weighted(target.states, start)?.ln_weight;
        let (mut draws, mut weighted, mut accepted) = (Vec::new(), Vec::new(), 0);
        for i in 0..SETTLING + kept {
            let steps = (TRAJECTORIES, scale);
            let (next, _) = hmc_steps(target, target.mode, &current, steps, &mut rng);
            let proposed = self.weighted(target.states, &next)?;
            if rng.random::<f64>().ln() < proposed.ln_weight - weight {
                accepted += usize::from(next != current);
                (current, weight) = (next, proposed.ln_weight);
            } else if weight == f64::NEG_INFINITY {
                // the start was no place of the posterior: anywhere is as good, but not for long
                current = next;
                if i >= SETTLING {
                    return Err(unresolved());
                }
            }
            weighted.push(proposed);
            draws.push(current.clone());
            self.progress.advance(1);
        }
        Ok(Corrected { draws: draws.split_off(SETTLING), weighted, accepted })
    }

    /// How much smaller than usual the steps of trajectories have to be.
    fn scale(&self, target: &SurrogatePosterior<'_>, draws: &Draws) -> f64 {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        let mut acceptance = |scale: f64| {
            let starts = (0..8).map(|i| draws.draw(i * draws.len() / 8));
            let one = |start: &[f64]| hmc_steps(target, target.mode, start, (8, scale), &mut rng).1;
            starts.map(one).sum::<f64>() / 8.0
        };
        let smaller = [1.0, 0.5, 0.25];
        smaller.into_iter().find(|scale| acceptance(*scale) > GOOD_ACCEPTANCE).unwrap_or(0.125)
    }
}

/// Shapes, component by component, in the surface's coordinates.
fn on_surface(places: &[SharedShapes]) -> Vec<f64> {
    places.iter().flat_map(|p| &p.delta).map(|d| (d + NEAR_ZERO).sqrt()).collect()
}

fn unresolved() -> Error {
    Error::Unsupported {
        method: "correlated".into(),
        cannot: "cannot draw all that is shared: the items leave it so open that too many densities within \
                 reach cannot be resolved; use `two-step`"
            .into(),
    }
}

/// Prior plus surfaces.
struct SurrogatePosterior<'a> {
    chains: &'a DelayedAcceptance<'a>,
    states: &'a [ClassProcess],
    mode: &'a Mode,
    power: f64,
}

impl Target for SurrogatePosterior<'_> {
    fn dimension(&self) -> usize {
        self.chains.posterior.dimension()
    }

    fn ln_density(&self, point: &[f64], gradient: &mut [f64]) -> f64 {
        let posterior = self.chains.posterior;
        let mut sum = posterior.ln_prior(point, gradient);
        let (width, parts) = (posterior.width(), posterior.members.len());
        let (mut slopes, mut own) = (vec![0.0; width], vec![0.0; width]);
        for (j, state) in self.states.iter().enumerate() {
            let eta = self.chains.eta(j, point);
            let constraints = posterior.constraints(self.chains.alpha, j);
            let places = places(&constraints, eta);
            let v = on_surface(&places);
            sum += self.power * state.surface.value(&v, &mut slopes);
            slopes.iter_mut().zip(&v).for_each(|(s, v)| *s *= 0.5 * self.power / v);
            for (l, (constraints, place)) in constraints.iter().zip(&places).enumerate() {
                let part = l * parts..(l + 1) * parts;
                constraints.pull_back(
                    place,
                    &eta[part.clone()],
                    &slopes[part.clone()],
                    &mut own[part],
                );
            }
            let all = &mut gradient[j * width..(j + 1) * width];
            all.iter_mut().zip(&own).for_each(|(g, s)| *g += s);
        }
        sum
    }

    fn curvature(&self, _: &[f64]) -> DMatrix<f64> {
        let l = self.mode.curvature.l();
        &l * l.transpose()
    }
}
