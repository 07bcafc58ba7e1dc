//! Hamiltonian Monte Carlo in coordinates where the posterior is nearly standard normal.
//!
//! The coordinates are whitened with the curvature at the mode. For a standard normal target, a
//! trajectory of length π/2 gives an independent draw. The posteriors of this crate are close enough
//! to normal for fixed settings: step size 0.9·d^(−1/4), and randomised trajectory lengths to avoid
//! resonances. Warm-up halves the step size if too few proposals are accepted.

use nalgebra::DVector;
use rand::{Rng, RngExt};
use rand_distr::{Distribution, StandardNormal};

use super::constants::{FIRST_STEP, LOW_ACCEPTANCE, MOST_HALVINGS, TRAJECTORY_LENGTH};
use super::{Mode, Target};

/// The state of one chain, with its buffers.
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

/// A point in whitened coordinates z and in the target's own coordinates, with its log density and
/// the gradient in z.
#[derive(Clone)]
struct State {
    z: DVector<f64>,
    point: DVector<f64>,
    ln_density: f64,
    gradient: DVector<f64>,
}

impl<'a, T: Target> Hmc<'a, T> {
    /// Starts at a draw from the normal approximation, or nearer to the mode if the density is 0 there.
    pub(super) fn start<R: Rng + ?Sized>(target: &'a T, mode: &'a Mode, rng: &mut R) -> Self {
        let d = target.dimension();
        let mut z = DVector::zeros(d);
        fill_with_normals(&mut z, rng);
        let mut current = State::new(z, target, mode);
        for _ in 0..MOST_HALVINGS {
            if current.ln_density.is_finite() {
                break;
            }
            current.z *= 0.5;
            current.update(target, mode);
        }
        Self::from_state(target, mode, current)
    }

    /// Starts at a point with positive density.
    fn start_at(target: &'a T, mode: &'a Mode, point: &[f64]) -> Self {
        let d = target.dimension();
        let off = DVector::from_iterator(d, point.iter().zip(&mode.point).map(|(x, m)| x - m));
        let z = mode.curvature.l().tr_mul(&off);
        Self::from_state(target, mode, State::new(z, target, mode))
    }

    fn from_state(target: &'a T, mode: &'a Mode, current: State) -> Self {
        let (step, proposal) = (first_step(target.dimension()), current.clone());
        let momentum = DVector::zeros(target.dimension());
        Self { target, mode, step, current, proposal, momentum, accepted: 0, tried: 0 }
    }

    /// Makes one draw.
    pub(super) fn advance<R: Rng + ?Sized>(&mut self, rng: &mut R) {
        fill_with_normals(&mut self.momentum, rng);
        let energy = self.current.ln_density - 0.5 * self.momentum.norm_squared();
        let length = TRAJECTORY_LENGTH * rng.random_range(0.8..1.2);
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

    /// Halves the step size if too few proposals were accepted since the last call.
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

    /// Moves the proposal along a trajectory from the current point; stops where the density is 0.
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
    fn new(z: DVector<f64>, target: &impl Target, mode: &Mode) -> Self {
        let zeros = DVector::zeros(z.len());
        let mut state = Self { z, point: zeros.clone(), ln_density: 0.0, gradient: zeros };
        state.update(target, mode);
        state
    }

    /// Recomputes everything from z: point = mode + L⁻ᵀ z, hence ∇_z = L⁻¹ ∇.
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
    FIRST_STEP * (dimension as f64).powf(-0.25)
}

/// Makes `n_steps` draws from a point with positive density, with `scale` times the usual step size.
/// The kernel is reversible, so that it can serve as a proposal. Returns the last point and the share
/// of accepted trajectories.
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
