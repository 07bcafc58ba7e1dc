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

/// The walker of one chain.
pub(super) struct Hmc<'a, T> {
    target: &'a T,
    mode: &'a Mode,
    step: f64,
    z: DVector<f64>,
    state: State,
    accepted: usize,
    tried: usize,
}

/// A place with its log density and gradient, both in the whitened coordinates.
struct State {
    point: Vec<f64>,
    ln_density: f64,
    gradient: DVector<f64>,
}

impl<'a, T: Target> Hmc<'a, T> {
    /// Starts at a draw from the normal approximation.
    pub(super) fn start<R: Rng + ?Sized>(target: &'a T, mode: &'a Mode, rng: &mut R) -> Self {
        let d = target.dimension();
        let mut z = normals(d, rng);
        let mut state = State::at(target, mode, &z);
        while !state.ln_density.is_finite() {
            z *= 0.5;
            state = State::at(target, mode, &z);
        }
        let step = 0.9 * (d as f64).powf(-0.25);
        Self { target, mode, step, z, state, accepted: 0, tried: 0 }
    }

    /// Moves on by one draw.
    pub(super) fn advance<R: Rng + ?Sized>(&mut self, rng: &mut R) {
        let momentum = normals(self.z.len(), rng);
        let length = LENGTH * rng.random_range(0.8..1.2);
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a small count
        let steps = (length / self.step).ceil().max(1.0) as usize;
        let (z, state, new_momentum) =
            self.leapfrog(momentum.clone(), length / steps as f64, steps);
        let energy_drop = (state.ln_density - 0.5 * new_momentum.norm_squared())
            - (self.state.ln_density - 0.5 * momentum.norm_squared());
        self.tried += 1;
        if rng.random::<f64>().ln() < energy_drop {
            (self.z, self.state) = (z, state);
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
        &self.state.point
    }

    /// Share of accepted proposals since the last adaptation.
    pub(super) fn acceptance(&self) -> f64 {
        self.accepted as f64 / (self.tried as f64).max(1.0)
    }

    fn leapfrog(
        &self,
        mut momentum: DVector<f64>,
        step: f64,
        steps: usize,
    ) -> (DVector<f64>, State, DVector<f64>) {
        let mut z = self.z.clone();
        momentum.axpy(0.5 * step, &self.state.gradient, 1.0);
        for i in 1..=steps {
            z.axpy(step, &momentum, 1.0);
            let state = State::at(self.target, self.mode, &z);
            let kick = if i == steps { 0.5 * step } else { step };
            momentum.axpy(kick, &state.gradient, 1.0);
            if i == steps || !state.ln_density.is_finite() {
                return (z, state, momentum);
            }
        }
        unreachable!("there is at least one step and the last one returns")
    }
}

impl State {
    /// point = mode + L⁻ᵀ z, so ∇_z = L⁻¹ ∇.
    fn at(target: &impl Target, mode: &Mode, z: &DVector<f64>) -> Self {
        let factor = mode.curvature.l_dirty();
        let mut shift = z.clone();
        factor.tr_solve_lower_triangular_mut(&mut shift);
        let point: Vec<f64> = mode.point.iter().zip(&shift).map(|(m, s)| m + s).collect();
        let mut gradient = DVector::zeros(z.len());
        let ln_density = target.ln_density(&point, gradient.as_mut_slice());
        factor.solve_lower_triangular_mut(&mut gradient);
        Self { point, ln_density, gradient }
    }
}

fn normals<R: Rng + ?Sized>(n: usize, rng: &mut R) -> DVector<f64> {
    DVector::from_fn(n, |_, _| StandardNormal.sample(rng))
}
