//! Coordinates of the shared shapes that satisfy all constraints.
//!
//! In one component the parts, first the common one and then those of pairs, are taken one after the
//! other from what is left of their members' α:
//!
//! ```text
//! δᵢ = bᵢ expit(ηᵢ),   bᵢ = min over members k of what earlier parts have left of αₖ − min(½, αₖ/4)
//! ```
//!
//! The parts of a source therefore never exceed its α, and at least ½ (or a quarter of α) stays
//! private. The map is continuous, and smooth except where two members have equal amounts left.

use crate::methods::correlated::learning::constants::full::{LARGEST_ETA, LEAST_PRIVATE};
use crate::methods::correlated::learning::pair_likelihood::expit;

/// The constraints of one component: its parts and the α that they are taken from.
#[derive(Debug, Clone)]
pub(super) struct Constraints<'a> {
    /// The sources that share each part.
    pub(super) members: &'a [Vec<usize>],
    /// α of every source.
    pub(super) alpha: Vec<f64>,
}

/// The shared shapes of one component at a point, with what their gradients need.
pub(super) struct SharedShapes {
    pub(super) delta: Vec<f64>,
    bounds: Vec<f64>,
    /// The member whose remainder is the bound.
    nearest: Vec<usize>,
}

impl Constraints<'_> {
    /// The part of α that every source may share.
    fn budget(&self) -> Vec<f64> {
        self.alpha.iter().map(|a| a - (0.25 * a).min(LEAST_PRIVATE)).collect()
    }

    pub(super) fn shapes(&self, eta: &[f64]) -> SharedShapes {
        let mut rest = self.budget();
        let (mut delta, mut bounds, mut nearest) = (Vec::new(), Vec::new(), Vec::new());
        for (members, eta) in self.members.iter().zip(eta) {
            let near = least(members, &rest);
            let bound = rest[near].max(0.0);
            let own = bound * expit(*eta);
            members.iter().for_each(|&k| rest[k] -= own);
            delta.push(own);
            bounds.push(bound);
            nearest.push(near);
        }
        SharedShapes { delta, bounds, nearest }
    }

    /// η of given shapes, at most [`LARGEST_ETA`] from 0.
    pub(super) fn eta(&self, delta: &[f64]) -> Vec<f64> {
        let mut rest = self.budget();
        let mut eta = Vec::new();
        for (members, delta) in self.members.iter().zip(delta) {
            let bound = rest[least(members, &rest)].max(f64::MIN_POSITIVE);
            let share = (delta / bound).clamp(0.0, 1.0);
            let own = (share / (1.0 - share)).ln().clamp(-LARGEST_ETA, LARGEST_ETA);
            // subtract the shape of the clamped coordinate, so that later parts fit
            let taken = bound * expit(own);
            members.iter().for_each(|&k| rest[k] -= taken);
            eta.push(own);
        }
        eta
    }

    /// The gradient in η of a function with this gradient in δ.
    pub(super) fn gradient_in_eta(
        &self,
        shapes: &SharedShapes,
        eta: &[f64],
        gradient: &[f64],
        out: &mut [f64],
    ) {
        // the derivative with respect to each member's remainder
        let mut rest = vec![0.0; self.alpha.len()];
        for i in (0..eta.len()).rev() {
            let through: f64 = self.members[i].iter().map(|&k| rest[k]).sum();
            let slope = gradient[i] - through;
            let p = expit(eta[i]);
            out[i] = slope * shapes.bounds[i] * p * expit(-eta[i]);
            rest[shapes.nearest[i]] += slope * p;
        }
    }
}

/// The member with the smallest remainder.
fn least(members: &[usize], rest: &[f64]) -> usize {
    let smaller = |a: usize, b: usize| if rest[b] < rest[a] { b } else { a };
    members.iter().copied().reduce(smaller).expect("a part has members")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn members() -> Vec<Vec<usize>> {
        vec![vec![0, 1, 2], vec![0, 1], vec![0, 2], vec![1, 2]]
    }

    proptest! {
        #[test]
        fn every_point_satisfies_the_constraints(
            alpha in proptest::collection::vec(0.01f64..50.0, 3),
            eta in proptest::collection::vec(-30.0f64..30.0, 4),
        ) {
            let members = members();
            let delta = Constraints { members: &members, alpha: alpha.clone() }.shapes(&eta).delta;
            for (k, a) in alpha.iter().enumerate() {
                let own = members.iter().zip(&delta).filter(|(m, _)| m.contains(&k));
                let sum: f64 = own.map(|(_, d)| d).sum();
                prop_assert!(sum <= a - (0.25 * a).min(LEAST_PRIVATE) + 1e-12 * a);
            }
            prop_assert!(delta.iter().all(|d| *d >= 0.0));
        }
    }

    #[test]
    fn gradients_agree_with_differences_and_shapes_come_back() {
        let members = members();
        let constraints = Constraints { members: &members, alpha: vec![5.0, 4.0, 6.5] };
        let (eta, weights) = ([0.3, -0.8, 0.4, 1.1], [1.0, -2.0, 0.5, 3.0]);
        let value = |eta: &[f64]| -> f64 {
            constraints.shapes(eta).delta.iter().zip(weights).map(|(d, w)| w * d * d).sum()
        };
        let shapes = constraints.shapes(&eta);
        let gradient: Vec<f64> =
            shapes.delta.iter().zip(weights).map(|(d, w)| 2.0 * w * d).collect();
        let mut found = [0.0; 4];
        constraints.gradient_in_eta(&shapes, &eta, &gradient, &mut found);
        for i in 0..4 {
            let moved = |by: f64| {
                let mut eta = eta;
                eta[i] += by;
                value(&eta)
            };
            let difference = (moved(1e-5) - moved(-1e-5)) / 2e-5;
            assert!((found[i] - difference).abs() < 1e-6, "{i}: {} {difference}", found[i]);
        }
        for (a, b) in constraints.eta(&shapes.delta).iter().zip(eta) {
            assert!((a - b).abs() < 1e-9);
        }
    }
}
