//! Constants of the samplers and of their diagnostics.

use std::f64::consts::FRAC_PI_2;

/// R-hat above this limit is reported as poor; recommended by Vehtari et al. (2021).
pub(super) const R_HAT_LIMIT: f64 = 1.01;

/// An effective sample size per chain below this limit is reported as poor; recommended by Vehtari et
/// al. (2021).
pub(crate) const ESS_PER_CHAIN_LIMIT: f64 = 100.0;

/// Number of parts of the warm-up of Hamiltonian Monte Carlo; after each part the step size may be
/// halved.
pub(super) const ADAPTATIONS: usize = 5;

/// Mean trajectory length of Hamiltonian Monte Carlo: a quarter of an orbit of the standard normal
/// distribution, after which the new point is independent of the old one.
pub(super) const TRAJECTORY_LENGTH: f64 = FRAC_PI_2;

/// First step size of Hamiltonian Monte Carlo in one dimension; it shrinks with d^(−1/4), which keeps
/// the acceptance constant (Beskos et al. 2013, <https://doi.org/10.3150/12-BEJ414>).
pub(super) const FIRST_STEP: f64 = 0.9;

/// Share of accepted proposals below which warm-up halves the step size. The optimum of Hamiltonian
/// Monte Carlo is about 0.65 (Beskos et al. 2013).
pub(super) const LOW_ACCEPTANCE: f64 = 0.6;

/// Halvings of the distance from the mode to find a start with positive density: the last start is the
/// mode to within rounding error.
pub(super) const MOST_HALVINGS: usize = 60;

/// Largest number of Newton steps to a mode. The posteriors of this crate need far fewer; if all are
/// taken, the mode is reported as not converged.
pub(crate) const MAX_NEWTON_STEPS: usize = 200;

/// Predicted increase of the log density, relative to its size, below which Newton's method makes one
/// last full step. Each step squares the relative distance to the mode, so that the last one ends
/// within rounding error, where densities cannot be compared any more.
pub(crate) const SMALL_INCREASE: f64 = 1e-10;

/// Largest change of a coordinate in one Newton step: far from the mode, the curvature can predict
/// steps that are much too long.
pub(crate) const LONGEST_STEP: f64 = 10.0;

/// Armijo's constant: the part of the predicted increase that a step must reach, and the part of a
/// Newton step that is tried at last.
pub(crate) const LEAST_INCREASE: f64 = 1e-4;
pub(crate) const SHORTEST_STEP: f64 = 1e-10;
