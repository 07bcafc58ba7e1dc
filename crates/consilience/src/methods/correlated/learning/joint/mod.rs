//! Learning α and δ together: the full posterior of both.
//!
//! From the two-step fit a region of every class's parameters is known; the coupling of the pairs ([`coupling`]) is evaluated at
//! designed points there and replaced by a polynomial; chains on it find a better region, and so on. Then the
//! chains proper run ([`chain`]), each draw with one exact coupling a class.

mod chain;
mod coordinates;
mod coupling;

use nalgebra::DMatrix;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use super::config::DeltaPrior;
use super::margins::Margin;
use super::mode_search::{PosteriorMode, factorise};
use super::pair_likelihood::ClassLikelihood;
use super::polynomial_surrogate::Region;
use crate::error::Result;
use crate::progress::Progress;
use crate::sampling::{ChainSettings, Draws, Mode, find_mode};
use chain::{Chain, Explored, ln_prior};
use consilience_numerics::parallel;
use coupling::{ClassData, Coupling, CouplingPoint, degree, n_points};

/// Draws on the polynomials that tell the next region.
const EXPLORING_DRAWS: usize = 400;
/// Rounds of exploring at the most, the first with degree 2.
const MAX_ROUNDS: usize = 4;
/// Draws at which a polynomial is checked.
const CHECKS: usize = 8;
/// Spread of exact − polynomial coupling that is small enough: then three of four proposals are accepted or more.
const SMALL_SPREAD: f64 = 0.4;
/// Draws of the first, rough approximation.
const ROUGH_DRAWS: usize = 400;
/// Random streams for exploring begin here, far from those of the chains.
const EXPLORING_STREAM: u64 = 1 << 40;

/// What is sampled.
pub(super) struct JointTarget {
    pub(super) classes: Vec<(ClassLikelihood, [Margin; 2])>,
    pub(super) prior: DeltaPrior,
}

/// A class while it is being explored.
struct Exploration {
    data: ClassData,
    known: Vec<CouplingPoint>,
    region: Region,
    used: usize,
}

impl JointTarget {
    /// Draws around the mode of δ given the margins: ln α¹, ln α² and η of class after class, then μ where the prior is
    /// pooled.
    pub(super) fn sample(
        self,
        top: &PosteriorMode,
        settings: &ChainSettings,
        seed: u64,
        progress: &dyn Progress,
    ) -> Result<Draws> {
        let classes = self.explore(top, seed, progress)?;
        let sweeps = settings.n_chains * (settings.n_warmup + settings.n_draws);
        progress.begin("drawing α and δ", sweeps as u64);
        let chains = parallel::map(settings.n_chains, |index| {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            rng.set_stream(index as u64);
            let mut chain = Chain::start(&classes, self.prior);
            (0..settings.n_warmup).for_each(|_| chain.explore(&mut rng));
            chain.measure()?;
            let mut draws = Vec::with_capacity(settings.n_draws);
            for _ in 0..settings.n_draws {
                progress.check()?;
                chain.advance(&mut rng)?;
                draws.push(self.outer_point(&chain));
                progress.advance(1);
            }
            Ok((draws, chain.acceptance()))
        });
        let chains = chains.into_iter().collect::<Result<Vec<_>>>()?;
        let acceptance = chains.iter().map(|(_, rate)| rate).sum::<f64>() / chains.len() as f64;
        let draws = chains.into_iter().map(|(draws, _)| draws).collect();
        Ok(Draws::from_chains(draws, acceptance))
    }

    fn outer_point(&self, chain: &Chain<'_>) -> Vec<f64> {
        let mut point: Vec<f64> =
            chain.points().iter().flat_map(|point| coordinates::to_margins(point)).collect();
        if self.prior == DeltaPrior::Pooled {
            point.push(chain.mu());
        }
        point
    }

    /// Regions and polynomials of all classes.
    fn explore(
        &self,
        top: &PosteriorMode,
        seed: u64,
        progress: &dyn Progress,
    ) -> Result<Vec<Explored>> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(EXPLORING_STREAM);
        let mut exploration: Vec<Exploration> =
            (0..self.classes.len()).map(|j| self.rough(j, top, &mut rng)).collect();
        let mut mu = top.point.get(self.classes.len().pow(2)).copied().unwrap_or(0.0);
        progress.begin("learning the polynomials", MAX_ROUNDS as u64);
        for round in 0.. {
            let mut explored = self.polynomials(&mut exploration, round, mu, progress)?;
            explored.iter_mut().for_each(|class| class.tune(self.prior, mu, &mut rng));
            let mut chain = Chain::start(&explored, self.prior);
            let mut draws = vec![Vec::new(); explored.len()];
            for i in 0..EXPLORING_DRAWS + EXPLORING_DRAWS / 4 {
                chain.explore(&mut rng);
                if i >= EXPLORING_DRAWS / 4 {
                    draws.iter_mut().zip(chain.points()).for_each(|(d, p)| d.push(p.clone()));
                }
            }
            mu = chain.mu();
            progress.advance(1);
            let mut spread = Vec::new();
            for ((exploration, class), draws) in exploration.iter_mut().zip(&explored).zip(&draws) {
                spread.push(check(exploration, class, draws, progress)?);
            }
            let good = round > 0 && spread.iter().all(|s| *s < SMALL_SPREAD);
            if good || round + 1 == MAX_ROUNDS {
                return Ok(explored);
            }
            for (exploration, draws) in exploration.iter_mut().zip(&draws) {
                // a chain that hardly moved knows no region
                if n_different(draws) > EXPLORING_DRAWS / 4 {
                    let (centre, covariance) = moments(draws);
                    exploration.region = Region::new(&centre, &covariance);
                }
            }
        }
        unreachable!("the last round returns")
    }

    /// A first region: margins as if independent, η given their mode.
    fn rough(&self, class: usize, top: &PosteriorMode, rng: &mut ChaCha8Rng) -> Exploration {
        let (likelihood, margins) = &self.classes[class];
        let width = likelihood.bound().len();
        let eta = top.point[class * width..(class + 1) * width].to_vec();
        let start = likelihood.alpha().map(|row| row.iter().map(|a| a.ln()).collect::<Vec<_>>());
        let modes = [0, 1].map(|k| find_mode(margins[k].target(), &start[k]));
        let covariance = top.curvature.inverse();
        let block = covariance.view((class * width, class * width), (width, width)).into_owned();
        let factor = factorise(&block).l();
        let draws: Vec<Vec<f64>> = (0..ROUGH_DRAWS)
            .map(|_| {
                let mut normals = || {
                    let one = || -> f64 { StandardNormal.sample(rng) };
                    nalgebra::DVector::from_iterator(width, std::iter::repeat_with(one).take(width))
                };
                let ln_alpha = [0, 1].map(|k: usize| {
                    let mut z = normals();
                    modes[k].curvature.l_dirty().tr_solve_lower_triangular_mut(&mut z);
                    z.iter().zip(&modes[k].point).map(|(z, m)| z + m).collect::<Vec<f64>>()
                });
                let z = &factor * normals();
                let eta: Vec<f64> = eta.iter().zip(&z).map(|(eta, z)| eta + z).collect();
                coordinates::from_margins([&ln_alpha[0], &ln_alpha[1]], &eta)
            })
            .collect();
        let (centre, covariance) = moments(&draws);
        let data = ClassData { likelihood: likelihood.clone(), margins: margins.clone() };
        Exploration { data, known: Vec::new(), region: Region::new(&centre, &covariance), used: 0 }
    }

    /// Evaluates more points and fits a polynomial for every class.
    fn polynomials(
        &self,
        exploration: &mut [Exploration],
        round: usize,
        mu: f64,
        progress: &dyn Progress,
    ) -> Result<Vec<Explored>> {
        let mut explored = Vec::new();
        for class in exploration {
            let dimension = class.region.centre.len();
            let degree = if round == 0 { 2 } else { degree(dimension) };
            let needed = n_points(dimension, degree);
            let more = if round < 2 { needed } else { needed / 2 };
            for point in class.region.design(class.used, class.used + more) {
                progress.check()?;
                class.known.push(class.data.with_slopes(&point)?);
            }
            class.used += more;
            let heights: Vec<f64> =
                class.known.iter().map(|known| self.height(class, known, mu)).collect();
            let coupling = Coupling::fit(&class.known, &heights, &class.region, degree);
            let factor = &class.region.factor;
            let covariance = factor * factor.transpose();
            let curvature = factorise(&factorise(&covariance).inverse());
            let point = class.region.centre.iter().copied().collect();
            let mode = Mode { point, curvature, converged: true };
            explored.push(Explored { data: class.data.clone(), coupling, mode, step: 1.0 });
        }
        Ok(explored)
    }

    /// The log posterior where the coupling is known.
    fn height(&self, class: &Exploration, known: &CouplingPoint, mu: f64) -> f64 {
        let mut unused = vec![0.0; known.point.len()];
        let margins = class.data.ln_margins(&known.point, &mut unused);
        margins + known.value + ln_prior(self.prior, &known.point, mu, &mut unused)
    }
}

/// Compares polynomial and coupling at some draws, which are then known as well.
fn check(
    exploration: &mut Exploration,
    class: &Explored,
    draws: &[Vec<f64>],
    progress: &dyn Progress,
) -> Result<f64> {
    let mut offs = Vec::new();
    for i in 0..CHECKS {
        progress.check()?;
        let point = &draws[(2 * i + 1) * draws.len() / (2 * CHECKS)];
        let known = class.data.with_slopes(point)?;
        offs.push(known.value - class.coupling.value(point, &mut vec![0.0; point.len()]));
        exploration.known.push(known);
    }
    let mean = offs.iter().sum::<f64>() / CHECKS as f64;
    let square = offs.iter().map(|off| (off - mean).powi(2)).sum::<f64>();
    Ok((square / (CHECKS - 1) as f64).sqrt())
}

fn n_different(draws: &[Vec<f64>]) -> usize {
    draws.windows(2).filter(|pair| pair[0] != pair[1]).count()
}

/// Mean and covariance.
fn moments(draws: &[Vec<f64>]) -> (Vec<f64>, DMatrix<f64>) {
    let (n, d) = (draws.len() as f64, draws[0].len());
    let mut mean = vec![0.0; d];
    for draw in draws {
        mean.iter_mut().zip(draw).for_each(|(mean, x)| *mean += x / n);
    }
    let covariance = DMatrix::from_fn(d, d, |l, m| {
        draws.iter().map(|x| (x[l] - mean[l]) * (x[m] - mean[m])).sum::<f64>() / (n - 1.0)
    });
    (mean, covariance)
}
