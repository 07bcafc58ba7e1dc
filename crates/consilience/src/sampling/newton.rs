//! Newton's method to the mode of a log density, damped so that every step goes up.

use nalgebra::{Cholesky, DMatrix, DVector, Dyn};

use super::Target;

/// The top of a log density and the curvature there.
#[derive(Debug, Clone)]
pub struct Mode {
    /// Where it is.
    pub point: Vec<f64>,
    /// Cholesky factor of the negative Hessian there (or of its approximation).
    pub curvature: Cholesky<f64, Dyn>,
    /// Whether the last step was as small as rounding allows.
    pub converged: bool,
}

/// More steps than any of our posteriors needs; a run that takes them all is reported.
const MAX_STEPS: usize = 200;

/// Predicted rise, relative to the log density, below which a last full step ends the climb.
/// Newton's method squares the distance with each step, so that step lands within rounding, where
/// comparing densities would say nothing any more.
const SMALL_RISE: f64 = 1e-10;

/// No coordinate moves further in one step: far from the mode the curvature may promise too much.
const LONGEST_STEP: f64 = 10.0;

/// Climbs from `start` to a mode.
pub fn find_mode(target: &impl Target, start: &[f64]) -> Mode {
    let mut point = start.to_vec();
    let mut gradient = vec![0.0; point.len()];
    let mut value = target.ln_density(&point, &mut gradient);
    let mut converged = false;
    for _ in 0..MAX_STEPS {
        let slopes = DVector::from_column_slice(&gradient);
        let mut direction = factorise(target, &point).solve(&slopes);
        let longest = direction.amax();
        if longest > LONGEST_STEP {
            direction *= LONGEST_STEP / longest;
        }
        let rise = direction.dot(&slopes);
        converged = rise <= SMALL_RISE * (1.0 + value.abs());
        if converged {
            point.iter_mut().zip(&direction).for_each(|(x, d)| *x += d);
        }
        if converged || !step_up(target, &mut point, &mut value, &mut gradient, &direction, rise) {
            break;
        }
    }
    let curvature = factorise(target, &point);
    Mode { point, curvature, converged }
}

/// Halves the Newton step until the density rises (Armijo's rule); false if it never does.
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
    while length > 1e-10 {
        let new: Vec<f64> = point.iter().zip(direction).map(|(x, d)| x + length * d).collect();
        let new_value = target.ln_density(&new, &mut new_gradient);
        if new_value >= *value + 1e-4 * length * slope {
            (*point, *value, *gradient) = (new, new_value, new_gradient);
            return true;
        }
        length *= 0.5;
    }
    false
}

fn factorise(target: &impl Target, point: &[f64]) -> Cholesky<f64, Dyn> {
    let curvature = target.curvature(point);
    let mut ridge = 0.0;
    loop {
        let mut matrix = curvature.clone();
        for l in 0..matrix.nrows() {
            matrix[(l, l)] += ridge * matrix[(l, l)].abs().max(1e-12);
        }
        if let Some(factor) = matrix.cholesky() {
            return factor;
        }
        ridge = if ridge == 0.0 { 1e-12 } else { ridge * 100.0 };
        if ridge > 1e30 {
            // Not finite: climb along the gradient instead.
            let identity = DMatrix::identity(curvature.nrows(), curvature.ncols());
            return identity.cholesky().expect("the identity is positive definite");
        }
    }
}
