//! Minimisation of smooth convex functions of many variables.

use std::collections::VecDeque;

use consilience_numerics::optimise::Minimum;

/// Number of past steps that approximate the curvature. Nocedal & Wright recommend 3 to 20.
const MEMORY: usize = 10;

/// Armijo's constant: the share of the decrease predicted by the slope that a step must reach.
const DECREASE: f64 = 1e-4;

/// Relative rounding error of a value that is a sum of many terms; changes below it are judged by
/// the slope. Hager & Zhang use 1e-6; a sum of a million terms has an error of about 1e-13.
const VALUE_NOISE: f64 = 1e-10;

/// Minimises a strictly convex function by limited-memory BFGS with a halving line search (Armijo's
/// rule, or its form in slopes where the decrease of the value is lost in rounding).
///
/// `objective` returns the value and writes the gradient. Strict convexity keeps the approximate
/// curvature positive without Wolfe's second condition. The search ends when every entry of the
/// gradient is at most `tolerance` in size.
///
/// # References
/// - Nocedal & Wright, *Numerical Optimization*, 2nd ed. 2006, algorithms 7.4 and 7.5.
/// - Hager & Zhang, SIAM Journal on Optimization 16, 2005: the rule in slopes, equation (4.1).
pub(crate) fn lbfgs(
    start: &[f64],
    objective: impl FnMut(&[f64], &mut [f64]) -> f64,
    tolerance: f64,
    max_steps: usize,
) -> Minimum {
    lbfgs_from(start, objective, None, tolerance, max_steps)
}

/// Multiplies a vector by an approximate inverse Hessian, in place.
pub(crate) type InverseHessian<'a> = &'a dyn Fn(&mut [f64]);

/// The same with an approximate inverse Hessian.
pub(crate) fn lbfgs_from(
    start: &[f64],
    mut objective: impl FnMut(&[f64], &mut [f64]) -> f64,
    inverse: Option<InverseHessian<'_>>,
    tolerance: f64,
    max_steps: usize,
) -> Minimum {
    let mut point = start.to_vec();
    let mut gradient = vec![0.0; point.len()];
    let mut value = objective(&point, &mut gradient);
    let mut history = History::default();
    for _ in 0..max_steps {
        if gradient.iter().all(|g| g.abs() <= tolerance) {
            return Minimum { point, value, converged: true };
        }
        let direction = history.direction(&gradient, inverse);
        let slope = dot(&direction, &gradient);
        let mut new_gradient = vec![0.0; point.len()];
        let scale = 1.0 + value.abs();
        let mut length = 1.0;
        let (new, new_value) = loop {
            let new: Vec<f64> = point.iter().zip(&direction).map(|(x, d)| x + length * d).collect();
            let new_value = objective(&new, &mut new_gradient);
            let decreased =
                new_value <= value + DECREASE * length * slope + 4.0 * f64::EPSILON * scale;
            // For a quadratic function the same condition; slopes have no rounding error to speak of.
            let level = new_value <= value + VALUE_NOISE * scale
                && dot(&direction, &new_gradient) <= (2.0 * DECREASE - 1.0) * slope;
            if decreased || level {
                break (new, new_value);
            }
            length *= 0.5;
            if length < 1e-12 {
                return Minimum { point, value, converged: false };
            }
        };
        history.add(&point, &new, &gradient, &new_gradient);
        (point, value, gradient) = (new, new_value, new_gradient);
    }
    Minimum { point, value, converged: false }
}

/// A step s, the change y of the gradient along it, and s·y.
struct Pair {
    step: Vec<f64>,
    change: Vec<f64>,
    product: f64,
}

#[derive(Default)]
struct History(VecDeque<Pair>);

impl History {
    fn add(&mut self, old: &[f64], new: &[f64], old_gradient: &[f64], new_gradient: &[f64]) {
        let difference =
            |a: &[f64], b: &[f64]| -> Vec<f64> { a.iter().zip(b).map(|(a, b)| a - b).collect() };
        let (step, change) = (difference(new, old), difference(new_gradient, old_gradient));
        let product = dot(&step, &change);
        if product > 1e-12 * dot(&change, &change).sqrt() * dot(&step, &step).sqrt() {
            self.0.push_back(Pair { step, change, product });
        }
        if self.0.len() > MEMORY {
            self.0.pop_front();
        }
    }

    /// Minus the approximate inverse Hessian times the gradient, by the two-loop recursion.
    fn direction(&self, gradient: &[f64], inverse: Option<InverseHessian<'_>>) -> Vec<f64> {
        let mut direction: Vec<f64> = gradient.iter().map(|g| -g).collect();
        let last = self.0.back();
        if last.is_none() && inverse.is_none() {
            // No curvature is known yet: a step of length at most one.
            let norm = dot(gradient, gradient).sqrt().max(1.0);
            direction.iter_mut().for_each(|d| *d /= norm);
            return direction;
        }
        let mut shares = Vec::with_capacity(self.0.len());
        for pair in self.0.iter().rev() {
            let share = dot(&pair.step, &direction) / pair.product;
            add_multiple(&mut direction, -share, &pair.change);
            shares.push(share);
        }
        if let Some(inverse) = inverse {
            inverse(&mut direction);
        } else if let Some(last) = last {
            let scale = last.product / dot(&last.change, &last.change);
            direction.iter_mut().for_each(|d| *d *= scale);
        }
        for (pair, share) in self.0.iter().zip(shares.iter().rev()) {
            let back = dot(&pair.change, &direction) / pair.product;
            add_multiple(&mut direction, share - back, &pair.step);
        }
        direction
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn add_multiple(target: &mut [f64], factor: f64, source: &[f64]) {
    target.iter_mut().zip(source).for_each(|(t, s)| *t += factor * s);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Σ cᵢ (√(1 + (xᵢ − aᵢ)²) − 1) + 5(Σ(xᵢ − aᵢ))² has its minimum 0 at a; its curvatures span five
    /// decades.
    #[test]
    fn finds_the_minimum_of_a_badly_scaled_convex_function() {
        let n = 40;
        let centre = |i: usize| (i as f64 * 0.7).sin();
        let scale = |i: usize| 10f64.powf(5.0 * i as f64 / (n - 1) as f64);
        let objective = |x: &[f64], gradient: &mut [f64]| {
            let total: f64 = x.iter().enumerate().map(|(i, x)| x - centre(i)).sum();
            let mut value = 5.0 * total * total;
            for (i, x) in x.iter().enumerate() {
                let off = x - centre(i);
                let root = off.hypot(1.0);
                value += scale(i) * off * off / (root + 1.0);
                gradient[i] = scale(i) * off / root + 10.0 * total;
            }
            value
        };
        let found = lbfgs(&vec![3.0; n], objective, 1e-6, 5000);
        assert!(found.converged, "{}", found.value);
        assert!((0..n).all(|i| (found.point[i] - centre(i)).abs() < 1e-5), "{found:?}");
    }
    /// A value of about 1 with an error of 1e-13 in place of 1e-16, as a sum of many terms has. The
    /// minimum is found by the gradient, without long searches along a line.
    #[test]
    fn noise_in_the_value_does_not_prolong_the_search() {
        let mut evaluations = 0;
        let objective = |x: &[f64], gradient: &mut [f64]| {
            evaluations += 1;
            let mut value = 1.0 + 1e-13 * (f64::from(evaluations) * 2.3).sin();
            for (i, (x, g)) in x.iter().zip(gradient.iter_mut()).enumerate() {
                let weight = 1.0 + i as f64;
                value += 0.5 * weight * x * x;
                *g = weight * x;
            }
            value
        };
        let found = lbfgs(&[1.0; 20], objective, 1e-9, 5000);
        assert!(found.converged);
        assert!(evaluations < 60, "{evaluations}");
    }
}
