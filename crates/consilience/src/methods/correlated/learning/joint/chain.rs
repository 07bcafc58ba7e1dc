//! Chains of α and δ together: proposals by Hamiltonian trajectories on the polynomials, accepted or not by the exact
//! coupling (delayed acceptance), so that the polynomials' errors cost acceptance and nothing else.
//!
//! # References
//! Christen, Fox, "Markov chain Monte Carlo using an approximation", J. Comput. Graph. Stat. 14(4), 2005.
//! <https://doi.org/10.1198/106186005X76983>

use nalgebra::DMatrix;
use rand::rngs::ChaCha8Rng;
use rand::{Rng, RngExt};

use super::super::config::DeltaPrior;
use super::super::prior;
use super::coordinates::Component;
use super::coupling::{ClassData, Coupling};
use crate::error::Result;
use crate::sampling::{Mode, Target, hmc_steps, slice_step};

/// Trajectories between two evaluations of the coupling: a draw then hardly remembers the last.
const TRAJECTORIES: usize = 3;

/// One class with its polynomial and the scale of its trajectories.
pub(super) struct Explored {
    pub(super) data: ClassData,
    pub(super) coupling: Coupling,
    pub(super) mode: Mode,
    /// Steps of trajectories over the usual ones.
    pub(super) step: f64,
}

/// Trajectories that tell whether the step is small enough.
const PILOT: usize = 40;
/// Share of them that must be accepted.
const ENOUGH: f64 = 0.6;

impl Explored {
    /// Halves the step until enough trajectories are accepted.
    pub(super) fn tune(&mut self, prior: DeltaPrior, mu: f64, rng: &mut ChaCha8Rng) {
        for _ in 0..6 {
            let target = ClassTarget { class: self, prior, mu };
            let start = &self.mode.point;
            let (_, accepted) = hmc_steps(&target, &self.mode, start, (PILOT, self.step), rng);
            if accepted >= ENOUGH {
                return;
            }
            self.step *= 0.5;
        }
    }
}

/// What the polynomials make of the posterior of one class, given μ.
pub(super) struct ClassTarget<'a> {
    pub(super) class: &'a Explored,
    pub(super) prior: DeltaPrior,
    pub(super) mu: f64,
}

impl Target for ClassTarget<'_> {
    fn dimension(&self) -> usize {
        self.class.mode.point.len()
    }

    fn ln_density(&self, point: &[f64], gradient: &mut [f64]) -> f64 {
        let margins = self.class.data.ln_margins(point, gradient);
        let coupling = self.class.coupling.value(point, gradient);
        let sum = margins + coupling + ln_prior(self.prior, point, self.mu, gradient);
        if sum.is_finite() { sum } else { f64::NEG_INFINITY }
    }

    fn curvature(&self, _: &[f64]) -> DMatrix<f64> {
        let l = self.class.mode.curvature.l();
        &l * l.transpose()
    }
}

/// The log density of ζ given α and μ, from the prior of η; adds its gradient. The Jacobian, between ½ and 1, and the little
/// that the paper's prior gains by its bound are left out of the gradient, which only leads the trajectories.
pub(super) fn ln_prior(prior: DeltaPrior, point: &[f64], mu: f64, gradient: &mut [f64]) -> f64 {
    let width = point.len() / 3;
    let mut sum = 0.0;
    for l in 0..width {
        let c = Component::of(point, l);
        let (local, rate) = (prior::element(prior, c.eta(), c.bound(), mu), c.jacobian());
        sum += local.value + rate.ln();
        for k in 0..2 {
            gradient[k * width + l] += local.slope * c.eta_slope(k);
        }
        gradient[2 * width + l] += local.slope * rate;
    }
    sum
}

/// One chain.
pub(super) struct Chain<'a> {
    classes: &'a [Explored],
    prior: DeltaPrior,
    points: Vec<Vec<f64>>,
    /// Exact − polynomial coupling at the points, where it is asked for.
    offs: Vec<f64>,
    mu: f64,
    accepted: usize,
    tried: usize,
}

impl<'a> Chain<'a> {
    /// Starts at the centres.
    pub(super) fn start(classes: &'a [Explored], prior: DeltaPrior) -> Self {
        let points: Vec<Vec<f64>> = classes.iter().map(|c| c.mode.point.clone()).collect();
        let mu = mean_eta(&points);
        let offs = vec![0.0; classes.len()];
        Self { classes, prior, points, offs, mu, accepted: 0, tried: 0 }
    }

    /// Moves every class along trajectories, then μ; without asking for the exact coupling.
    pub(super) fn explore(&mut self, rng: &mut ChaCha8Rng) {
        for j in 0..self.classes.len() {
            self.points[j] = self.propose(j, rng);
        }
        self.move_mu(rng);
    }

    /// The same with the exact coupling's consent.
    pub(super) fn advance(&mut self, rng: &mut ChaCha8Rng) -> Result<()> {
        for j in 0..self.classes.len() {
            let proposal = self.propose(j, rng);
            let off = self.off(j, &proposal)?;
            self.tried += 1;
            if rng.random::<f64>().ln() < off - self.offs[j] {
                (self.points[j], self.offs[j]) = (proposal, off);
                self.accepted += 1;
            }
        }
        self.move_mu(rng);
        Ok(())
    }

    /// To be called before the first [`Chain::advance`].
    pub(super) fn measure(&mut self) -> Result<()> {
        self.offs =
            (0..self.classes.len()).map(|j| self.off(j, &self.points[j])).collect::<Result<_>>()?;
        (self.accepted, self.tried) = (0, 0);
        Ok(())
    }

    pub(super) fn acceptance(&self) -> f64 {
        self.accepted as f64 / (self.tried as f64).max(1.0)
    }

    /// Where the classes are.
    pub(super) fn points(&self) -> &[Vec<f64>] {
        &self.points
    }

    pub(super) fn mu(&self) -> f64 {
        self.mu
    }

    fn off(&self, class: usize, point: &[f64]) -> Result<f64> {
        let class = &self.classes[class];
        let guess = class.coupling.value(point, &mut vec![0.0; point.len()]);
        Ok(class.data.coupling(point)? - guess)
    }

    fn propose(&self, j: usize, rng: &mut ChaCha8Rng) -> Vec<f64> {
        let class = &self.classes[j];
        let target = ClassTarget { class, prior: self.prior, mu: self.mu };
        hmc_steps(&target, &class.mode, &self.points[j], (TRAJECTORIES, class.step), rng).0
    }

    fn move_mu<R: Rng + ?Sized>(&mut self, rng: &mut R) {
        if self.prior != DeltaPrior::Pooled {
            return;
        }
        let n: f64 = self.points.iter().map(|point| (point.len() / 3) as f64).sum();
        let mean = mean_eta(&self.points);
        self.mu = slice_step(self.mu, 3.0 / n.sqrt(), |mu| prior::ln_pooled(mu, mean, n), rng);
    }
}

fn mean_eta(points: &[Vec<f64>]) -> f64 {
    let etas =
        points.iter().flat_map(|point| (0..point.len() / 3).map(|l| Component::of(point, l).eta()));
    let (n, sum) = etas.fold((0.0, 0.0), |(n, sum), eta| (n + 1.0, sum + eta));
    sum / n
}
