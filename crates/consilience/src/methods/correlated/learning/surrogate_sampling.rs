//! Chains on the polynomials, checked against the likelihood and repeated until both agree.

use nalgebra::{Cholesky, DMatrix, Dyn};
use rand::rngs::ChaCha8Rng;
use rand::{Rng, RngExt, SeedableRng};

use super::delta_posterior::DeltaPosterior;
use super::mode_search::{PosteriorMode, factorise};
use super::polynomial_surrogate::{EvaluatedPoint, PolynomialSurrogate, Region, lifted, n_points};
use super::prior;
use crate::error::Result;
use crate::progress::Progress;
use crate::sampling::diagnostics::{Diagnostics, ESS_PER_CHAIN_LIMIT};
use crate::sampling::{ChainSettings, Draws, Mode, Target, sample};
use consilience_numerics::parallel;

/// Spread of exact − surrogate log likelihood, per class, at which refitting ends.
const SMALL_SPREAD: f64 = 0.02;
/// Spread over all classes from which on the draws are corrected.
const CORRECT_FROM: f64 = 0.06;
/// Draws of which a corrected chain is made.
const CORRECTED: usize = 600;
/// Draws at which a class is checked.
const CHECKS: usize = 8;
/// How many draws are made for one kept, at the most, where chains do not mix well.
const THINNING: usize = 20;
/// R-hat from which on effective sample sizes mean nothing.
const UNRELIABLE: f64 = 1.05;
/// Longer chains than this are not made for it.
const MOST_DRAWS: usize = 100_000;
/// Rounds of fitting and checking at the most.
const MAX_ROUNDS: usize = 8;
/// Acceptance from which on the draws tell where the posterior is.
const TRUSTED_ACCEPTANCE: f64 = 0.5;
/// Precision added in every direction: where the posterior is flat, chains move by 2 at a time.
const LEAST_PRECISION: f64 = 0.25;
/// Items whose grid values are compared with adaptive quadrature.
const COMPARED: usize = 80;

/// Draws with the polynomials' errors.
pub(super) struct PairSample {
    pub(super) draws: Draws,
    /// Standard deviation of exact − surrogate log posterior over the draws.
    pub(super) spread: f64,
    /// Acceptance of the correction, where there was one.
    pub(super) corrected: Option<f64>,
}

/// Everything that belongs to one class's polynomial.
struct ClassSurrogate {
    known: Vec<EvaluatedPoint>,
    region: Region,
    surrogate: PolynomialSurrogate,
    /// Points of the design used so far.
    used: usize,
    spread: f64,
}

/// Draws from the posterior around its mode.
pub(super) fn sample_posterior(
    posterior: &DeltaPosterior,
    top: &PosteriorMode,
    (settings, seed): (&ChainSettings, u64),
    progress: &dyn Progress,
) -> Result<PairSample> {
    progress.begin("learning the polynomials", posterior.classes.len() as u64);
    let mut mode = Mode {
        point: top.point.clone(),
        curvature: narrowed(&top.curvature.l()),
        converged: top.converged,
    };
    let covariance = mode.curvature.inverse();
    let mut states = (0..posterior.classes.len())
        .map(|j| first_state(posterior, j, top, &covariance, progress))
        .collect::<Result<Vec<_>>>()?;
    for round in 0.. {
        let target = SurrogatePosterior { posterior, states: &states, mode: &mode };
        let draws = sample(&target, &mode, settings, seed, 0, progress)?;
        for (j, state) in states.iter_mut().enumerate() {
            if !(state.spread < SMALL_SPREAD) {
                progress.check()?;
                check(posterior, j, state, &draws, round)?;
            }
        }
        let good = states.iter().all(|state| state.spread < SMALL_SPREAD);
        if good || round + 1 == MAX_ROUNDS {
            let spread = states.iter().map(|state| state.spread.powi(2)).sum::<f64>().sqrt();
            let target = SurrogatePosterior { posterior, states: &states, mode: &mode };
            let draws = longer(&target, draws, (settings, seed), progress)?;
            if spread < CORRECT_FROM {
                return Ok(PairSample { draws, spread, corrected: None });
            }
            return corrected(&target, &draws, seed, progress);
        }
        let trusted = draws.acceptance() > TRUSTED_ACCEPTANCE;
        if trusted {
            mode = widened(&draws, mode.converged);
        }
        for (j, state) in states.iter_mut().enumerate() {
            if !(state.spread < SMALL_SPREAD) {
                if trusted {
                    state.region = region_of(posterior, j, &draws);
                }
                refit(posterior, j, state, mu(posterior, &mode.point))?;
            }
        }
    }
    unreachable!("the last round returns")
}

/// The draws, or those of longer chains, thinned, where they do not mix: the polynomials cost little.
fn longer(
    target: &SurrogatePosterior<'_>,
    draws: Draws,
    (settings, seed): (&ChainSettings, u64),
    progress: &dyn Progress,
) -> Result<Draws> {
    let all: Vec<Vec<f64>> = (0..target.dimension()).map(|l| draws.coordinate(l)).collect();
    let thinning = match Diagnostics::worst_of(&all, settings.n_chains) {
        Some(worst) if worst.are_poor(settings.n_chains) => thinning(worst, settings.n_chains),
        _ => return Ok(draws),
    };
    if settings.n_draws * thinning > MOST_DRAWS {
        return Ok(draws);
    }
    let mode = widened(&draws, target.mode.converged);
    let longer = ChainSettings {
        n_warmup: settings.n_warmup * thinning,
        n_draws: settings.n_draws * thinning,
        ..*settings
    };
    let all = sample(target, &mode, &longer, seed, 0, progress)?;
    let kept: Vec<usize> = (0..all.len()).skip(thinning - 1).step_by(thinning).collect();
    Ok(all.chosen(&kept, all.acceptance()))
}

/// How many draws to make for one kept: enough for twice the effective draws that are asked for.
fn thinning(worst: Diagnostics, n_chains: usize) -> usize {
    let wanted = 2.0 * ESS_PER_CHAIN_LIMIT * n_chains as f64;
    let factor = wanted / worst.ess_bulk.min(worst.ess_tail);
    if worst.r_hat > UNRELIABLE || !factor.is_finite() {
        return THINNING;
    }
    // a small number, whatever the draws
    (2..THINNING).find(|&n| n as f64 >= factor).unwrap_or(THINNING)
}

/// A chain with the exact log likelihood whose proposals are the surrogate's draws.
///
/// Metropolis' rule for independent proposals; thinned draws are nearly that.
fn corrected(
    target: &SurrogatePosterior<'_>,
    draws: &Draws,
    seed: u64,
    progress: &dyn Progress,
) -> Result<PairSample> {
    let per_chain = (CORRECTED / draws.n_chains()).clamp(4, draws.len() / draws.n_chains());
    let n = per_chain * draws.n_chains();
    progress.begin("correcting the draws", n as u64);
    let index = |i: usize| i * draws.len() / n;
    let weights = parallel::map(n, |i| {
        progress.check()?;
        let weight = target.ln_weight(draws.draw(index(i)));
        progress.advance(1);
        weight
    });
    let weights = weights.into_iter().collect::<Result<Vec<f64>>>()?;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(draws.n_chains() as u64);
    let (chosen, accepted) = metropolis(&weights, draws.n_chains(), &mut rng);
    let chosen: Vec<usize> = chosen.into_iter().map(index).collect();
    let finite: Vec<f64> = weights.into_iter().filter(|weight| weight.is_finite()).collect();
    Ok(PairSample {
        draws: draws.chosen(&chosen, draws.acceptance()),
        spread: spread(&finite),
        corrected: Some(accepted as f64 / (n - draws.n_chains()) as f64),
    })
}

/// Standard deviation.
pub(super) fn spread(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt()
}

/// Metropolis' rule among independent proposals with known log weights: who is chosen, chain by
/// chain, and how many proposals were accepted.
fn metropolis<R: Rng>(weights: &[f64], n_chains: usize, rng: &mut R) -> (Vec<usize>, usize) {
    let per_chain = weights.len() / n_chains;
    let (mut chosen, mut accepted) = (Vec::with_capacity(weights.len()), 0);
    for first in (0..weights.len()).step_by(per_chain) {
        let mut current = first;
        chosen.push(current);
        for next in first + 1..first + per_chain {
            let rise = weights[next] - weights[current];
            if rng.random::<f64>().ln() < rise || weights[current] == f64::NEG_INFINITY {
                accepted += 1;
                current = next;
            }
            chosen.push(current);
        }
    }
    (chosen, accepted)
}

/// ln prior of one class's η given μ at the mode.
fn ln_prior(posterior: &DeltaPosterior, class: usize, eta: &[f64], mu: f64) -> f64 {
    let bounds = posterior.classes[class].bound();
    eta.iter()
        .zip(bounds)
        .map(|(eta, bound)| prior::element(posterior.prior, *eta, *bound, mu).value)
        .sum()
}

fn evaluate(
    posterior: &DeltaPosterior,
    class: usize,
    eta: &[f64],
    mu: f64,
) -> Result<EvaluatedPoint> {
    let evaluation = posterior.classes[class].evaluate(eta)?;
    Ok(EvaluatedPoint::new(eta, evaluation, ln_prior(posterior, class, eta, mu)))
}

fn mu(posterior: &DeltaPosterior, point: &[f64]) -> f64 {
    point.get(posterior.n_eta()).copied().unwrap_or(0.0)
}

pub(super) fn block(matrix: &DMatrix<f64>, class: usize, width: usize) -> DMatrix<f64> {
    matrix.view((class * width, class * width), (width, width)).into_owned()
}

fn first_state(
    posterior: &DeltaPosterior,
    class: usize,
    top: &PosteriorMode,
    covariance: &DMatrix<f64>,
    progress: &dyn Progress,
) -> Result<ClassSurrogate> {
    let width = posterior.width();
    let centre = posterior.eta(class, &top.point);
    let lifted: Vec<f64> = centre.iter().map(|x| lifted(*x)).collect();
    let region = Region::new(&lifted, &block(covariance, class, width));
    let used = n_points(width);
    let mut known = Vec::new();
    let points = std::iter::once(centre.to_vec()).chain(region.design(0, used));
    for eta in points {
        progress.check()?;
        known.push(evaluate(posterior, class, &eta, mu(posterior, &top.point))?);
    }
    progress.advance(1);
    let surrogate = PolynomialSurrogate::fit(&known, &region);
    Ok(ClassSurrogate { known, region, surrogate, used, spread: f64::INFINITY })
}

/// Compares the polynomial with the likelihood at some draws, which are then known as well.
fn check(
    posterior: &DeltaPosterior,
    class: usize,
    state: &mut ClassSurrogate,
    draws: &Draws,
    round: usize,
) -> Result<()> {
    let mut offs = Vec::new();
    for i in 0..CHECKS {
        // other places in every round
        let index = (2 * i * MAX_ROUNDS + 2 * round + 1) * draws.len() / (2 * CHECKS * MAX_ROUNDS);
        let point = draws.draw(index);
        let eta = posterior.eta(class, point);
        let known = evaluate(posterior, class, eta, mu(posterior, point))?;
        let guess = state.surrogate.value(eta, &mut vec![0.0; eta.len()]);
        offs.push(known.value - guess);
        state.known.push(known);
    }
    state.spread = spread(&offs);
    Ok(())
}

/// Where one class's draws are.
fn region_of(posterior: &DeltaPosterior, class: usize, draws: &Draws) -> Region {
    let width = posterior.width();
    let lifted =
        draws.mapped(|point| posterior.eta(class, point).iter().map(|x| lifted(*x)).collect());
    let (centre, covariance) = moments(&lifted);
    Region::new(&centre[..width], &covariance)
}

/// Adds points to a class's region and fits again.
fn refit(
    posterior: &DeltaPosterior,
    class: usize,
    state: &mut ClassSurrogate,
    mu: f64,
) -> Result<()> {
    let more = n_points(posterior.width()) / 2;
    for eta in state.region.design(state.used, state.used + more) {
        state.known.push(evaluate(posterior, class, &eta, mu)?);
    }
    state.used += more;
    state.surrogate = PolynomialSurrogate::fit(&state.known, &state.region);
    Ok(())
}

/// The curvature with Cholesky factor L, no direction wider than chains can use.
pub(super) fn narrowed(factor: &DMatrix<f64>) -> Cholesky<f64, Dyn> {
    let d = factor.nrows();
    factorise(&(factor * factor.transpose() + DMatrix::identity(d, d) * LEAST_PRECISION))
}

/// The draws' mean and precision, for the next chains.
pub(super) fn widened(draws: &Draws, converged: bool) -> Mode {
    let (point, covariance) = moments(draws);
    let curvature = factorise(&factorise(&covariance).inverse());
    Mode { point, curvature, converged }
}

/// Mean and covariance of draws.
pub(super) fn moments(draws: &Draws) -> (Vec<f64>, DMatrix<f64>) {
    let (n, d) = (draws.len(), draws.draw(0).len());
    let coordinates: Vec<Vec<f64>> = (0..d).map(|l| draws.coordinate(l)).collect();
    let mean: Vec<f64> = coordinates.iter().map(|x| x.iter().sum::<f64>() / n as f64).collect();
    let covariance = DMatrix::from_fn(d, d, |l, m| {
        let pairs = coordinates[l].iter().zip(&coordinates[m]);
        pairs.map(|(a, b)| (a - mean[l]) * (b - mean[m])).sum::<f64>() / (n - 1) as f64
    });
    (mean, covariance)
}

/// How far grid and adaptive quadrature disagree on the difference between two points, from some
/// items, scaled to all of them; 0 where no grids are used.
pub(super) fn likelihood_error(posterior: &DeltaPosterior, a: &[f64], b: &[f64]) -> Result<f64> {
    let mut worst = 0.0f64;
    for (j, class) in posterior.classes.iter().enumerate() {
        if !class.uses_grids() || class.n_items() == 0 {
            continue;
        }
        let every = class.n_items().div_ceil(COMPARED);
        let off = |point: &[f64]| -> Result<f64> {
            let eta = posterior.eta(j, point);
            Ok(class.partial(eta, every)? - class.adaptive(eta, every)?)
        };
        worst = worst.max((off(a)? - off(b)?).abs() * (every as f64).sqrt());
    }
    Ok(worst)
}

/// Prior plus polynomials.
struct SurrogatePosterior<'a> {
    posterior: &'a DeltaPosterior,
    states: &'a [ClassSurrogate],
    mode: &'a Mode,
}

impl SurrogatePosterior<'_> {
    /// Exact − surrogate log likelihood.
    fn ln_weight(&self, point: &[f64]) -> Result<f64> {
        let mut slopes = vec![0.0; self.posterior.width()];
        let mut sum = 0.0;
        for (j, state) in self.states.iter().enumerate() {
            let eta = self.posterior.eta(j, point);
            sum += self.posterior.classes[j].value(eta)? - state.surrogate.value(eta, &mut slopes);
        }
        Ok(sum)
    }
}

impl Target for SurrogatePosterior<'_> {
    fn dimension(&self) -> usize {
        self.posterior.dimension()
    }

    fn ln_density(&self, point: &[f64], gradient: &mut [f64]) -> f64 {
        let mut sum = self.posterior.ln_prior(point, gradient);
        let width = self.posterior.width();
        let mut slopes = vec![0.0; width];
        for (j, state) in self.states.iter().enumerate() {
            sum += state.surrogate.value(self.posterior.eta(j, point), &mut slopes);
            let own = &mut gradient[j * width..(j + 1) * width];
            own.iter_mut().zip(&slopes).for_each(|(g, s)| *g += s);
        }
        sum
    }

    fn curvature(&self, _: &[f64]) -> DMatrix<f64> {
        let l = self.mode.curvature.l();
        &l * l.transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_distr::{Distribution, StandardNormal};

    /// Proposals with a standard deviation of 1.5 for a standard normal target: the variance is 1
    /// within five standard errors (about 0.025 each for this acceptance).
    #[test]
    fn the_correction_turns_proposals_into_the_target() {
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        let normal = |rng: &mut ChaCha8Rng| -> f64 { StandardNormal.sample(rng) };
        let proposals: Vec<f64> = (0..8000).map(|_| 1.5 * normal(&mut rng)).collect();
        let weights: Vec<f64> =
            proposals.iter().map(|x| -0.5 * x * x + 0.5 * (x / 1.5).powi(2)).collect();
        let (chosen, accepted) = metropolis(&weights, 4, &mut rng);
        let square = chosen.iter().map(|i| proposals[*i].powi(2)).sum::<f64>() / 8000.0;
        assert!((square - 1.0).abs() < 0.12, "{square}");
        assert_eq!(chosen.len(), 8000);
        assert!((4000..8000).contains(&accepted), "{accepted}");
    }
}
