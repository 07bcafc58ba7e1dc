//! Chains on the polynomials, checked against the likelihood and repeated until both agree.

use nalgebra::{Cholesky, DMatrix, Dyn};

use super::climb::{Top, factorise};
use super::posterior::Posterior;
use super::prior;
use super::surrogate::{Known, Region, Surrogate, n_points};
use crate::error::Result;
use crate::sampling::{ChainSettings, Draws, Mode, Target, sample};
use crate::watch::Watch;

/// Spread of exact − surrogate log likelihood, per class, that is small enough.
pub(super) const SMALL_SPREAD: f64 = 0.1;
/// Draws at which a class is checked.
const CHECKS: usize = 8;
/// Rounds of fitting and checking at the most.
const MAX_ROUNDS: usize = 6;
/// Acceptance from which on the draws tell where the posterior is.
const TRUSTED_ACCEPTANCE: f64 = 0.5;
/// Precision added in every direction: where the posterior is flat, chains move by 2 at a time.
const LEAST_PRECISION: f64 = 0.25;
/// Items whose grid values are compared with adaptive quadrature.
const COMPARED: usize = 80;

/// Draws with the polynomials' errors.
pub(super) struct Sampled {
    pub(super) draws: Draws,
    /// Standard deviation of exact − surrogate log likelihood over the posterior, by class.
    pub(super) spread: Vec<f64>,
}

/// Everything that belongs to one class's polynomial.
struct ClassState {
    known: Vec<Known>,
    region: Region,
    surrogate: Surrogate,
    /// Points of the design used so far.
    used: usize,
    spread: f64,
}

/// Draws from the posterior around its mode.
pub(super) fn sample_posterior(
    posterior: &Posterior,
    top: &Top,
    (settings, seed): (&ChainSettings, u64),
    watch: &dyn Watch,
) -> Result<Sampled> {
    watch.begin("learning the polynomials", posterior.classes.len() as u64);
    let mut mode = Mode {
        point: top.point.clone(),
        curvature: narrowed(&top.curvature.l()),
        converged: top.converged,
    };
    let covariance = mode.curvature.inverse();
    let mut states = (0..posterior.classes.len())
        .map(|j| first_state(posterior, j, top, &covariance, watch))
        .collect::<Result<Vec<_>>>()?;
    for round in 0.. {
        let target = SurrogatePosterior { posterior, states: &states, mode: &mode };
        let draws = sample(&target, &mode, settings, seed, 0);
        for (j, state) in states.iter_mut().enumerate() {
            if !(state.spread < SMALL_SPREAD) {
                watch.check()?;
                check(posterior, j, state, &draws, round)?;
            }
        }
        let good = states.iter().all(|state| state.spread < SMALL_SPREAD);
        if good || round + 1 == MAX_ROUNDS {
            let spread = states.iter().map(|state| state.spread).collect();
            return Ok(Sampled { draws, spread });
        }
        if draws.acceptance() > TRUSTED_ACCEPTANCE {
            mode = widened(&draws, mode.converged);
        }
        for (j, state) in states.iter_mut().enumerate() {
            if !(state.spread < SMALL_SPREAD) {
                refit(posterior, j, state, &mode)?;
            }
        }
    }
    unreachable!("the last round returns")
}

/// ln prior of one class's η given μ at the mode.
fn ln_prior(posterior: &Posterior, class: usize, eta: &[f64], mu: f64) -> f64 {
    let bounds = posterior.classes[class].bound();
    eta.iter()
        .zip(bounds)
        .map(|(eta, bound)| prior::element(posterior.prior, *eta, *bound, mu).value)
        .sum()
}

fn evaluate(posterior: &Posterior, class: usize, eta: &[f64], mu: f64) -> Result<Known> {
    let evaluation = posterior.classes[class].evaluate(eta)?;
    Ok(Known::new(eta, evaluation, ln_prior(posterior, class, eta, mu)))
}

fn mu(posterior: &Posterior, point: &[f64]) -> f64 {
    point.get(posterior.n_eta()).copied().unwrap_or(0.0)
}

fn block(matrix: &DMatrix<f64>, class: usize, width: usize) -> DMatrix<f64> {
    matrix.view((class * width, class * width), (width, width)).into_owned()
}

fn first_state(
    posterior: &Posterior,
    class: usize,
    top: &Top,
    covariance: &DMatrix<f64>,
    watch: &dyn Watch,
) -> Result<ClassState> {
    let width = posterior.width();
    let centre = posterior.eta(class, &top.point);
    let region = Region::new(centre, &block(covariance, class, width));
    let used = n_points(width);
    let mut known = Vec::new();
    let points = std::iter::once(centre.to_vec()).chain(region.design(0, used));
    for eta in points {
        watch.check()?;
        known.push(evaluate(posterior, class, &eta, mu(posterior, &top.point))?);
    }
    watch.advance(1);
    let surrogate = Surrogate::fit(&known, &region);
    Ok(ClassState { known, region, surrogate, used, spread: f64::INFINITY })
}

/// Compares the polynomial with the likelihood at some draws, which are then known as well.
fn check(
    posterior: &Posterior,
    class: usize,
    state: &mut ClassState,
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
    let mean = offs.iter().sum::<f64>() / CHECKS as f64;
    let square = offs.iter().map(|off| (off - mean).powi(2)).sum::<f64>();
    state.spread = (square / (CHECKS - 1) as f64).sqrt();
    Ok(())
}

/// Moves the region to where the draws are, adds points there and fits again.
fn refit(posterior: &Posterior, class: usize, state: &mut ClassState, mode: &Mode) -> Result<()> {
    let width = posterior.width();
    let covariance = mode.curvature.inverse();
    let centre = posterior.eta(class, &mode.point);
    state.region = Region::new(centre, &block(&covariance, class, width));
    let more = n_points(width) / 2;
    for eta in state.region.design(state.used, state.used + more) {
        state.known.push(evaluate(posterior, class, &eta, mu(posterior, &mode.point))?);
    }
    state.used += more;
    state.surrogate = Surrogate::fit(&state.known, &state.region);
    Ok(())
}

/// The curvature with Cholesky factor L, no direction wider than chains can use.
fn narrowed(factor: &DMatrix<f64>) -> Cholesky<f64, Dyn> {
    let d = factor.nrows();
    factorise(&(factor * factor.transpose() + DMatrix::identity(d, d) * LEAST_PRECISION))
}

/// The draws' mean and precision, for the next chains.
fn widened(draws: &Draws, converged: bool) -> Mode {
    let (n, d) = (draws.len(), draws.draw(0).len());
    let coordinates: Vec<Vec<f64>> = (0..d).map(|l| draws.coordinate(l)).collect();
    let point: Vec<f64> = coordinates.iter().map(|x| x.iter().sum::<f64>() / n as f64).collect();
    let covariance = DMatrix::from_fn(d, d, |l, m| {
        let pairs = coordinates[l].iter().zip(&coordinates[m]);
        pairs.map(|(a, b)| (a - point[l]) * (b - point[m])).sum::<f64>() / (n - 1) as f64
    });
    let curvature = factorise(&factorise(&covariance).inverse());
    Mode { point, curvature, converged }
}

/// How far grid and adaptive quadrature disagree on the difference between two points, from some
/// items, scaled to all of them; 0 where no grids are used.
pub(super) fn likelihood_error(posterior: &Posterior, a: &[f64], b: &[f64]) -> Result<f64> {
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
    posterior: &'a Posterior,
    states: &'a [ClassState],
    mode: &'a Mode,
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
