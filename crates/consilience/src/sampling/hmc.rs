//! Hamiltonian Monte Carlo in coordinates where the posterior is nearly a standard normal.
//!
//! After whitening with the curvature at the mode, a trajectory of length π/2 turns a standard
//! normal into an independent draw. The posteriors here are close enough to that for a fixed
//! recipe: step 0.9·d^(−1/4), lengths jittered so that no direction resonates, and a step that
//! only shrinks, during warm-up, if too few proposals are accepted.

use nalgebra::DVector;
use rand::{Rng, RngExt};
use rand_distr::{Distribution, StandardNormal};

use super::{Mode, Target};

/// Trajectory length: a quarter turn of the standard normal's orbit.
const LENGTH: f64 = std::f64::consts::FRAC_PI_2;

/// Acceptance below which warm-up halves the step.
const LOW_ACCEPTANCE: f64 = 0.6;

/// The walker of one chain. All buffers live as long as the chain.
pub(super) struct Hmc<'a, T> {
    target: &'a T,
    mode: &'a Mode,
    step: f64,
    current: State,
    proposal: State,
    momentum: DVector<f64>,
    accepted: usize,
    tried: usize,
}

/// A place: whitened coordinates z, the target's own coordinates, log density and gradient in z.
#[derive(Clone)]
struct State {
    z: DVector<f64>,
    point: DVector<f64>,
    ln_density: f64,
    gradient: DVector<f64>,
}

impl<'a, T: Target> Hmc<'a, T> {
    /// Starts at a draw from the normal approximation.
    pub(super) fn start<R: Rng + ?Sized>(target: &'a T, mode: &'a Mode, rng: &mut R) -> Self {
        let d = target.dimension();
        let zeros = DVector::zeros(d);
        let mut current = State {
            z: zeros.clone(),
            point: zeros.clone(),
            ln_density: 0.0,
            gradient: zeros.clone(),
        };
        fill_with_normals(&mut current.z, rng);
        current.update(target, mode);
        while !current.ln_density.is_finite() {
            current.z *= 0.5;
            current.update(target, mode);
        }
        let step = first_step(d);
        let proposal = current.clone();
        Self { target, mode, step, current, proposal, momentum: zeros, accepted: 0, tried: 0 }
    }

    /// Starts at a place of positive density.
    fn start_at(target: &'a T, mode: &'a Mode, point: &[f64]) -> Self {
        let d = target.dimension();
        let zeros = DVector::zeros(d);
        let off = DVector::from_iterator(d, point.iter().zip(&mode.point).map(|(x, m)| x - m));
        let z = mode.curvature.l().tr_mul(&off);
        let mut current =
            State { z, point: zeros.clone(), ln_density: 0.0, gradient: zeros.clone() };
        current.update(target, mode);
        let (step, proposal) = (first_step(d), current.clone());
        Self { target, mode, step, current, proposal, momentum: zeros, accepted: 0, tried: 0 }
    }

    /// Moves on by one draw.
    pub(super) fn advance<R: Rng + ?Sized>(&mut self, rng: &mut R) {
        fill_with_normals(&mut self.momentum, rng);
        let energy = self.current.ln_density - 0.5 * self.momentum.norm_squared();
        let length = LENGTH * rng.random_range(0.8..1.2);
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a small count
        let steps = (length / self.step).ceil().max(1.0) as usize;
        self.leapfrog(length / steps as f64, steps);
        let new_energy = self.proposal.ln_density - 0.5 * self.momentum.norm_squared();
        self.tried += 1;
        if rng.random::<f64>().ln() < new_energy - energy {
            std::mem::swap(&mut self.current, &mut self.proposal);
            self.accepted += 1;
        }
    }

    /// To be called now and then during warm-up.
    pub(super) fn adapt(&mut self) {
        if (self.accepted as f64) < LOW_ACCEPTANCE * self.tried as f64 {
            self.step *= 0.5;
        }
        (self.accepted, self.tried) = (0, 0);
    }

    /// The current draw in the target's own coordinates.
    pub(super) fn point(&self) -> &[f64] {
        self.current.point.as_slice()
    }

    /// Share of accepted proposals since the last adaptation.
    pub(super) fn acceptance(&self) -> f64 {
        self.accepted as f64 / (self.tried as f64).max(1.0)
    }

    /// Moves the proposal along a trajectory from the current place; gives up where the density
    /// vanishes.
    fn leapfrog(&mut self, step: f64, steps: usize) {
        self.proposal.z.copy_from(&self.current.z);
        self.momentum.axpy(0.5 * step, &self.current.gradient, 1.0);
        for i in 1..=steps {
            self.proposal.z.axpy(step, &self.momentum, 1.0);
            self.proposal.update(self.target, self.mode);
            if !self.proposal.ln_density.is_finite() {
                return;
            }
            let kick = if i == steps { 0.5 * step } else { step };
            self.momentum.axpy(kick, &self.proposal.gradient, 1.0);
        }
    }
}

impl State {
    /// Follows z: point = mode + L⁻ᵀ z, so ∇_z = L⁻¹ ∇.
    fn update(&mut self, target: &impl Target, mode: &Mode) {
        let factor = mode.curvature.l_dirty();
        self.point.copy_from(&self.z);
        factor.tr_solve_lower_triangular_mut(&mut self.point);
        self.point.iter_mut().zip(&mode.point).for_each(|(point, mode)| *point += mode);
        self.ln_density = target.ln_density(self.point.as_slice(), self.gradient.as_mut_slice());
        factor.solve_lower_triangular_mut(&mut self.gradient);
    }
}

fn first_step(dimension: usize) -> f64 {
    0.9 * (dimension as f64).powf(-0.25)
}

/// Some trajectories from a place of positive density, with steps `scale` times the usual ones: a reversible kernel, so
/// that it may serve as the proposal of another. Returns the end and the share of accepted trajectories.
pub(crate) fn hmc_steps<T: Target, R: Rng + ?Sized>(
    target: &T,
    mode: &Mode,
    point: &[f64],
    (n_steps, scale): (usize, f64),
    rng: &mut R,
) -> (Vec<f64>, f64) {
    let mut walker = Hmc::start_at(target, mode, point);
    walker.step *= scale;
    (0..n_steps).for_each(|_| walker.advance(rng));
    (walker.point().to_vec(), walker.acceptance())
}

fn fill_with_normals<R: Rng + ?Sized>(values: &mut DVector<f64>, rng: &mut R) {
    values.iter_mut().for_each(|value| *value = StandardNormal.sample(rng));
}
