//! Coordinates of the shared shapes in which every real point is allowed.
//!
//! In one component the parts, the common one first and then the pairs, are taken one after the other from what is
//! left of their members' α:
//!
//! ```text
//! δᵢ = bᵢ expit(ηᵢ),   bᵢ = min over members k of what earlier parts have left of αₖ − min(½, αₖ/4)
//! ```
//!
//! so that Σ over the parts of a classifier never exceeds its α, and at least ½ (or a quarter of α) stays private: with less,
//! the exact density cannot be resolved. The map is continuous, and smooth but where two
//! members have the same left.

use crate::methods::correlated::learning::pair_likelihood::expit;

/// η of a centre is kept within this: shapes there are neither 0 nor all that is left.
pub(super) const FARTHEST: f64 = 6.0;

/// What stays private, unless a quarter of α is less.
const PRIVATE: f64 = 0.5;

/// One component's parts and the α that they are taken from.
#[derive(Debug, Clone)]
pub(super) struct Constraints<'a> {
    /// Who takes part in every part.
    pub(super) members: &'a [Vec<usize>],
    /// α of every classifier.
    pub(super) alpha: Vec<f64>,
}

/// The shapes at a point, and what their gradients need.
pub(super) struct SharedShapes {
    pub(super) delta: Vec<f64>,
    bounds: Vec<f64>,
    /// The member whose rest is the bound.
    nearest: Vec<usize>,
}

impl Constraints<'_> {
    /// What every classifier may share.
    fn budget(&self) -> Vec<f64> {
        self.alpha.iter().map(|a| a - (0.25 * a).min(PRIVATE)).collect()
    }

    pub(super) fn place(&self, eta: &[f64]) -> SharedShapes {
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

    /// η of given shapes, kept within reach.
    pub(super) fn eta(&self, delta: &[f64]) -> Vec<f64> {
        let mut rest = self.budget();
        let mut eta = Vec::new();
        for (members, delta) in self.members.iter().zip(delta) {
            let bound = rest[least(members, &rest)].max(f64::MIN_POSITIVE);
            let share = (delta / bound).clamp(0.0, 1.0);
            let own = (share / (1.0 - share)).ln().clamp(-FARTHEST, FARTHEST);
            // what is taken is what the coordinate says, so that later parts fit
            let taken = bound * expit(own);
            members.iter().for_each(|&k| rest[k] -= taken);
            eta.push(own);
        }
        eta
    }

    /// The gradient in η of a function with this gradient in δ.
    pub(super) fn pull_back(
        &self,
        place: &SharedShapes,
        eta: &[f64],
        gradient: &[f64],
        out: &mut [f64],
    ) {
        // by how much the function falls when a member's rest shrinks
        let mut rest = vec![0.0; self.alpha.len()];
        for i in (0..eta.len()).rev() {
            let through: f64 = self.members[i].iter().map(|&k| rest[k]).sum();
            let slope = gradient[i] - through;
            let p = expit(eta[i]);
            out[i] = slope * place.bounds[i] * p * expit(-eta[i]);
            rest[place.nearest[i]] += slope * p;
        }
    }
}

/// The member with the least left.
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
        fn every_point_is_legal(
            alpha in proptest::collection::vec(0.01f64..50.0, 3),
            eta in proptest::collection::vec(-30.0f64..30.0, 4),
        ) {
            let members = members();
            let delta = Constraints { members: &members, alpha: alpha.clone() }.place(&eta).delta;
            for (k, a) in alpha.iter().enumerate() {
                let own = members.iter().zip(&delta).filter(|(m, _)| m.contains(&k));
                let sum: f64 = own.map(|(_, d)| d).sum();
                prop_assert!(sum <= a - (0.25 * a).min(PRIVATE) + 1e-12 * a);
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
            constraints.place(eta).delta.iter().zip(weights).map(|(d, w)| w * d * d).sum()
        };
        let place = constraints.place(&eta);
        let gradient: Vec<f64> =
            place.delta.iter().zip(weights).map(|(d, w)| 2.0 * w * d).collect();
        let mut found = [0.0; 4];
        constraints.pull_back(&place, &eta, &gradient, &mut found);
        for i in 0..4 {
            let moved = |by: f64| {
                let mut eta = eta;
                eta[i] += by;
                value(&eta)
            };
            let difference = (moved(1e-5) - moved(-1e-5)) / 2e-5;
            assert!((found[i] - difference).abs() < 1e-6, "{i}: {} {difference}", found[i]);
        }
        for (a, b) in constraints.eta(&place.delta).iter().zip(eta) {
            assert!((a - b).abs() < 1e-9);
        }
    }
}
