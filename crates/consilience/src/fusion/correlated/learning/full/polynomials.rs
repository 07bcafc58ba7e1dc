//! Chains on polynomials that follow the likelihood, refitted with the chains' own points until both agree.

use nalgebra::DMatrix;

use super::legal::FARTHEST;
use super::likelihood::TiltedClass;
use super::{Chains, Problem};
use crate::error::{Error, Result};
use crate::fusion::correlated::learning::chains::{block, moments, narrowed, spread, widened};
use crate::fusion::correlated::learning::polynomial::n_terms;
use crate::fusion::correlated::learning::prior;
use crate::fusion::correlated::learning::surrogate::{Known, Region, Surrogate, lifted, n_points};
use crate::fusion::independent::Alpha;
use crate::sampling::{Draws, Mode, Target};
use crate::watch::Watch;

/// Spread of likelihood − polynomial, per class, at which refitting ends: the likelihood's own noise is of this size.
const SMALL_SPREAD: f64 = 0.15;
/// Rounds of fitting and checking at the most.
const MAX_ROUNDS: usize = 5;
/// Draws at which a class is checked.
const CHECKS: usize = 8;
/// Stands for the spread where there is nothing to compare: a number that a model file can hold.
const UNCOMPARED: f64 = 1e6;
/// The likelihood is not asked for shapes below this.
const LEAST_SHAPE: f64 = 1e-7;

/// Everything that belongs to one class's polynomial.
struct ClassState {
    known: Vec<Known>,
    region: Region,
    surrogate: Surrogate,
    /// Points of the design used so far.
    used: usize,
    spread: f64,
}

impl ClassState {
    /// Whether there are as many numbers as a polynomial of degree two needs.
    fn is_known_enough(&self, width: usize) -> bool {
        let finite = self.known.iter().filter(|known| known.value.is_finite()).count();
        finite * (width + 1) >= n_terms(width, 2)
    }
}

/// Draws from the posterior around its mode, and how far the polynomials are off.
pub(super) fn sample_shared(
    problem: &Problem,
    alpha: &Alpha,
    top: Mode,
    chains: &Chains,
    watch: &dyn Watch,
) -> Result<(Draws, f64)> {
    let mut mode = Mode { curvature: narrowed(&top.curvature.l()), ..top };
    let covariance = mode.curvature.inverse();
    watch.begin("following the likelihood", (MAX_ROUNDS * problem.n_classes) as u64);
    let class = |j: usize| {
        let fitter = Fitter { problem, alpha, class: j, seed: chains.seed };
        fitter.first(&mode.point, &covariance, watch)
    };
    let mut states = (0..problem.n_classes).map(class).collect::<Result<Vec<_>>>()?;
    // the draws of the round whose polynomials were nearest to the likelihood
    let mut best: Option<(Draws, f64)> = None;
    for round in 0..MAX_ROUNDS {
        let target = Followed { problem, states: &states, mode: &mode };
        let dimension = target.dimension();
        let enough = states.iter().all(|state| state.is_known_enough(problem.width()));
        if !(enough && target.ln_density(&mode.point, &mut vec![0.0; dimension]).is_finite()) {
            break;
        }
        let draws = chains.run(&target, &mode, watch)?;
        for (j, state) in states.iter_mut().enumerate() {
            let fitter = Fitter { problem, alpha, class: j, seed: chains.seed };
            fitter.check(state, &draws, round, watch)?;
        }
        let off = states.iter().map(|state| state.spread.powi(2)).sum::<f64>().sqrt();
        let good = states.iter().all(|state| state.spread < SMALL_SPREAD);
        if best.as_ref().is_none_or(|(_, least)| off < *least) {
            best = Some((draws.clone(), off));
        }
        if good {
            break;
        }
        mode = widened(&draws, mode.converged);
        for (j, state) in states.iter_mut().enumerate() {
            let fitter = Fitter { problem, alpha, class: j, seed: chains.seed };
            fitter.refit(state, &draws, watch)?;
        }
    }
    best.ok_or_else(|| Error::Unsupported {
        method: "correlated".into(),
        cannot:
            "cannot draw all that is shared: the items leave it so open that too many densities \
                 within reach cannot be resolved; use `two-step`"
                .into(),
    })
}

/// Fits one class's polynomial.
struct Fitter<'a> {
    problem: &'a Problem,
    alpha: &'a Alpha,
    class: usize,
    seed: u64,
}

impl Fitter<'_> {
    fn eta<'b>(&self, point: &'b [f64]) -> &'b [f64] {
        let width = self.problem.width();
        &point[self.class * width..(self.class + 1) * width]
    }

    /// Value and gradient by points drawn at the very place, the same random numbers everywhere: errors are alike.
    fn known(&self, eta: &[f64], point: &[f64], watch: &dyn Watch) -> Result<Known> {
        watch.check()?;
        // farther out nothing changes any more, and shapes of 0 leave no points to follow
        let eta: &[f64] = &eta.iter().map(|e| e.clamp(-FARTHEST, FARTHEST)).collect::<Vec<_>>();
        let legal = self.problem.legal(self.alpha, self.class);
        let unknown = || Known {
            eta: eta.to_vec(),
            value: f64::NEG_INFINITY,
            gradient: vec![0.0; eta.len()],
            ln_posterior: f64::NEG_INFINITY,
        };
        let parts = self.problem.members.len();
        let shapes = legal.iter().zip(eta.chunks_exact(parts)).flat_map(|(l, e)| l.place(e).delta);
        if shapes.fold(f64::INFINITY, f64::min) < LEAST_SHAPE {
            return Ok(unknown());
        }
        let seed = self.seed.wrapping_add((self.class as u64) << 32);
        let class = TiltedClass::new(legal, &self.problem.items[self.class], eta, (seed, 0.0))?;
        if !class.lost.is_empty() {
            return Ok(unknown());
        }
        let at = class.evaluate(eta, None);
        let prior = eta.iter().enumerate().map(|(i, eta)| {
            let mu = point.get(self.problem.mean_of(i)).copied().unwrap_or(0.0);
            prior::element(self.problem.prior, *eta, 1.0, mu).value
        });
        let ln_posterior = at.value + prior.sum::<f64>();
        Ok(Known { eta: eta.to_vec(), value: at.value, gradient: at.gradient, ln_posterior })
    }

    fn first(
        &self,
        point: &[f64],
        covariance: &DMatrix<f64>,
        watch: &dyn Watch,
    ) -> Result<ClassState> {
        let (centre, width) = (self.eta(point), self.problem.width());
        let lifted: Vec<f64> = centre.iter().map(|x| lifted(*x)).collect();
        let region = Region::new(&lifted, &block(covariance, self.class, width));
        let used = n_points(width);
        let points = std::iter::once(centre.to_vec()).chain(region.design(0, used));
        let known = points.map(|eta| self.known(&eta, point, watch)).collect::<Result<Vec<_>>>()?;
        watch.advance(1);
        let surrogate = Surrogate::fit(&known, &region);
        Ok(ClassState { known, region, surrogate, used, spread: f64::INFINITY })
    }

    /// Compares the polynomial with the likelihood at some draws, which are then known as well.
    fn check(
        &self,
        state: &mut ClassState,
        draws: &Draws,
        round: usize,
        watch: &dyn Watch,
    ) -> Result<()> {
        let mut offs = Vec::new();
        for i in 0..CHECKS {
            // other places in every round
            let place = 2 * i * MAX_ROUNDS + 2 * round + 1;
            let point = draws.draw(place * draws.len() / (2 * CHECKS * MAX_ROUNDS));
            let eta = self.eta(point);
            let known = self.known(eta, point, watch)?;
            offs.push(known.value - state.surrogate.value(&known.eta, &mut vec![0.0; eta.len()]));
            state.known.push(known);
        }
        offs.retain(|off| off.is_finite());
        state.spread = if offs.len() > 2 { spread(&offs) } else { UNCOMPARED };
        watch.advance(1);
        Ok(())
    }

    /// Adds points where the draws are and fits again.
    fn refit(&self, state: &mut ClassState, draws: &Draws, watch: &dyn Watch) -> Result<()> {
        let own = draws.mapped(|point| self.eta(point).iter().map(|x| lifted(*x)).collect());
        let (centre, covariance) = moments(&own);
        state.region = Region::new(&centre, &covariance);
        let more = n_points(self.problem.width()) / 2;
        for eta in state.region.design(state.used, state.used + more) {
            state.known.push(self.known(&eta, draws.draw(0), watch)?);
        }
        state.used += more;
        state.surrogate = Surrogate::fit(&state.known, &state.region);
        Ok(())
    }
}

/// Prior plus polynomials.
struct Followed<'a> {
    problem: &'a Problem,
    states: &'a [ClassState],
    mode: &'a Mode,
}

impl Target for Followed<'_> {
    fn dimension(&self) -> usize {
        self.problem.n_eta() + self.problem.n_means()
    }

    fn ln_density(&self, point: &[f64], gradient: &mut [f64]) -> f64 {
        let mut sum = self.problem.ln_prior(point, gradient);
        let width = self.problem.width();
        let mut slopes = vec![0.0; width];
        for (j, state) in self.states.iter().enumerate() {
            let own = j * width..(j + 1) * width;
            sum += state.surrogate.value(&point[own.clone()], &mut slopes);
            gradient[own].iter_mut().zip(&slopes).for_each(|(g, s)| *g += s);
        }
        sum
    }

    fn curvature(&self, _: &[f64]) -> DMatrix<f64> {
        let l = self.mode.curvature.l();
        &l * l.transpose()
    }
}
