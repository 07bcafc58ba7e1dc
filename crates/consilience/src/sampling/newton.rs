//! Damped Newton method for the mode of a log density.

use nalgebra::{Cholesky, DMatrix, DVector, Dyn};

use super::Target;
use super::constants::{
    LEAST_INCREASE, LONGEST_STEP, MAX_NEWTON_STEPS, SHORTEST_STEP, SMALL_INCREASE,
};

/// The mode of a log density and the curvature at it.
#[derive(Debug, Clone)]
pub(crate) struct Mode {
    /// Coordinates of the mode.
    pub(crate) point: Vec<f64>,
    /// Cholesky factor of the negative Hessian at the mode, or of its approximation.
    pub(crate) curvature: Cholesky<f64, Dyn>,
    /// Whether the last step was within rounding error.
    pub(crate) converged: bool,
}

/// Searches a mode from `start`, with the curvature at it.
pub(crate) fn find_mode(target: &impl Target, start: &[f64]) -> Mode {
    let (point, converged) = search_mode(target, start);
    let curvature = factorise(&target.curvature(&point));
    Mode { point, curvature, converged }
}

/// Searches a mode from `start`; whether the last step was within rounding error.
pub(crate) fn search_mode(target: &impl Target, start: &[f64]) -> (Vec<f64>, bool) {
    let mut point = start.to_vec();
    let mut gradient = vec![0.0; point.len()];
    let mut value = target.ln_density(&point, &mut gradient);
    let mut converged = false;
    for _ in 0..MAX_NEWTON_STEPS {
        let slopes = DVector::from_column_slice(&gradient);
        let mut direction = target.newton_step(&point, &slopes);
        let longest = direction.amax();
        if longest > LONGEST_STEP {
            direction *= LONGEST_STEP / longest;
        }
        let increase = direction.dot(&slopes);
        converged = increase <= SMALL_INCREASE * (1.0 + value.abs());
        if converged {
            point.iter_mut().zip(&direction).for_each(|(x, d)| *x += d);
        }
        if converged
            || !step_up(target, &mut point, &mut value, &mut gradient, &direction, increase)
        {
            break;
        }
    }
    (point, converged)
}

/// Halves the Newton step until the log density increases enough (Armijo's rule); false if it never
/// does.
fn step_up(
    target: &impl Target,
    point: &mut Vec<f64>,
    value: &mut f64,
    gradient: &mut Vec<f64>,
    direction: &DVector<f64>,
    slope: f64,
) -> bool {
    let mut length = 1.0;
    let mut new_gradient = vec![0.0; point.len()];
    while length > SHORTEST_STEP {
        let new: Vec<f64> = point.iter().zip(direction).map(|(x, d)| x + length * d).collect();
        let new_value = target.ln_density(&new, &mut new_gradient);
        if new_value >= *value + LEAST_INCREASE * length * slope {
            (*point, *value, *gradient) = (new, new_value, new_gradient);
            return true;
        }
        length *= 0.5;
    }
    false
}

/// The Cholesky factor of a symmetric matrix, with a ridge if the matrix is not positive definite.
/// For a matrix that is not finite, that of the identity: a curvature then leaves the gradient as the
/// direction of a step.
pub(crate) fn factorise(matrix: &DMatrix<f64>) -> Cholesky<f64, Dyn> {
    let mut ridge = 0.0;
    while ridge < 1e30 {
        let mut raised = matrix.clone();
        for l in 0..raised.nrows() {
            raised[(l, l)] += ridge * raised[(l, l)].abs().max(1e-6);
        }
        if let Some(factor) = raised.cholesky() {
            return factor;
        }
        ridge = if ridge == 0.0 { 1e-12 } else { ridge * 100.0 };
    }
    let identity = DMatrix::identity(matrix.nrows(), matrix.ncols());
    identity.cholesky().expect("the identity is positive definite")
}
