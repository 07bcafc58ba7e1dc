//! Minimisation of smooth convex functions over convex sets.

/// The result of a minimisation.
#[derive(Debug, Clone, PartialEq)]
pub struct Minimum {
    /// The best point.
    pub point: Vec<f64>,
    /// The value there.
    pub value: f64,
    /// Whether the projected gradient fell below the tolerance.
    pub converged: bool,
}

/// Number of recent values that the nonmonotone line search compares with.
const MEMORY: usize = 10;

/// Minimises a function of a few variables by spectral projected gradients.
///
/// `objective` returns the value and writes the gradient; `project` maps a point to the nearest
/// point of the convex set. The search stops when a unit projected step moves no coordinate by more than `tolerance`.
///
/// # References
/// Birgin, Martínez, Raydan, "Nonmonotone spectral projected gradient methods on convex sets",
/// SIAM J. Optim. 10(4), 2000. <https://doi.org/10.1137/S1052623497330963>
pub fn projected_gradient(
    start: &[f64],
    mut objective: impl FnMut(&[f64], &mut [f64]) -> f64,
    project: impl Fn(&mut [f64]),
    tolerance: f64,
    max_steps: usize,
) -> Minimum {
    let mut point = start.to_vec();
    project(&mut point);
    let mut gradient = vec![0.0; point.len()];
    let mut value = objective(&point, &mut gradient);
    let mut recent = vec![value];
    let mut spectral = 1.0;
    for _ in 0..max_steps {
        let unit = projected_step(&point, &gradient, 1.0, &project);
        if unit.iter().all(|d| d.abs() <= tolerance) {
            return Minimum { point, value, converged: true };
        }
        let direction = projected_step(&point, &gradient, spectral, &project);
        let slope: f64 = direction.iter().zip(&gradient).map(|(d, g)| d * g).sum();
        let ceiling = recent.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut new_gradient = vec![0.0; point.len()];
        let mut length = 1.0;
        let new = loop {
            let new: Vec<f64> = point.iter().zip(&direction).map(|(x, d)| x + length * d).collect();
            let new_value = objective(&new, &mut new_gradient);
            if new_value <= ceiling + 1e-4 * length * slope || length < 1e-12 {
                value = new_value;
                break new;
            }
            length *= 0.5;
        };
        spectral = spectral_step(&point, &new, &gradient, &new_gradient);
        (point, gradient) = (new, new_gradient);
        recent.push(value);
        if recent.len() > MEMORY {
            recent.remove(0);
        }
    }
    Minimum { point, value, converged: false }
}

fn projected_step(
    point: &[f64],
    gradient: &[f64],
    length: f64,
    project: &impl Fn(&mut [f64]),
) -> Vec<f64> {
    let mut step: Vec<f64> = point.iter().zip(gradient).map(|(x, g)| x - length * g).collect();
    project(&mut step);
    step.iter_mut().zip(point).for_each(|(s, x)| *s -= x);
    step
}

/// Barzilai and Borwein's step s·s / s·y.
fn spectral_step(old: &[f64], new: &[f64], old_gradient: &[f64], new_gradient: &[f64]) -> f64 {
    let moved: Vec<f64> = new.iter().zip(old).map(|(a, b)| a - b).collect();
    let change = new_gradient.iter().zip(old_gradient).map(|(a, b)| a - b);
    let curvature: f64 = moved.iter().zip(change).map(|(s, y)| s * y).sum();
    let square: f64 = moved.iter().map(|s| s * s).sum();
    if curvature > 0.0 { (square / curvature).clamp(1e-10, 1e10) } else { 1e10 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simplex;

    /// f = ½ Σ cᵢ (xᵢ − aᵢ)².
    fn quadratic(x: &[f64], gradient: &mut [f64]) -> f64 {
        let mut value = 0.0;
        for (i, (c, a)) in [(1.0, 0.9), (100.0, 0.2), (1e4, -0.3)].into_iter().enumerate() {
            gradient[i] = c * (x[i] - a);
            value += 0.5 * c * (x[i] - a).powi(2);
        }
        value
    }

    #[test]
    fn finds_the_free_and_the_constrained_minimum() {
        let free = projected_gradient(&[0.0; 3], quadratic, |_| {}, 1e-10, 1000);
        assert!(free.converged && free.value < 1e-18);
        let bound = projected_gradient(&[1.0, 0.0, 0.0], quadratic, simplex::project, 1e-12, 1000);
        // x₃ = 0 and, for the others, x₁ − 0.9 = 100 (x₂ − 0.2) with x₁ + x₂ = 1.
        let x2 = (0.1 + 20.0) / 101.0;
        let expected = [1.0 - x2, x2, 0.0];
        assert!(bound.converged, "{bound:?}");
        assert!(bound.point.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9), "{bound:?}");
    }
}
