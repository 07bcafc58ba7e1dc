//! Splits what every pair shares into a part common to all sources and parts of pairs.
//!
//! The fit of a pair gives its total tₖₘ. In the full model the total is the sum of the common part and
//! the pair's own part. Every split has the same distributions of pairs, and data hardly distinguish
//! them (the log likelihood of 200 items changes by about 1). One split is therefore chosen, component by
//! component:
//!
//! ```text
//! common c = min over pairs of t,   eₖₘ = tₖₘ − c,   eₖₘ ← eₖₘ · min(rₖ, rₘ),   rₖ = min(1, (αₖ − c) / Σₘ eₖₘ)
//! ```
//!
//! The last step keeps every private shape αₖ − c − Σₘ eₖₘ at 0 or above. It is needed if the full model
//! cannot represent all pairs, for example if one source shares most of its α with each of two others
//! that share little with each other.

use super::all_pairs::FittedPairs;
use crate::methods::Draw;
use crate::methods::correlated::Structure;
use crate::methods::independent::Alpha;

/// The shared shapes of the full model.
#[derive(Debug, Clone, PartialEq)]
pub struct SharedParts {
    /// The part common to all sources, `common[j]` when the true class is j.
    pub common: Vec<Vec<f64>>,
    /// The parts of pairs, `pairs[p][j]`; none for [`Structure::Common`].
    pub pairs: Vec<Vec<Vec<f64>>>,
    /// The smallest share of a pair's total, summed over components, that the full model represents: 1
    /// if nothing had to be scaled.
    pub kept: f64,
}

impl SharedParts {
    /// The common part, followed by the parts of pairs.
    pub(crate) fn into_all(self) -> Vec<Vec<Vec<f64>>> {
        std::iter::once(self.common).chain(self.pairs).collect()
    }
}

impl FittedPairs {
    /// The full model with these pairs, as far as it can represent them; `full` or `common`.
    ///
    /// For `common` the common part is the mean of the pairs' totals, at most the smallest α.
    pub fn shared_parts(&self, structure: Structure) -> SharedParts {
        let totals: Vec<&Vec<Vec<f64>>> = self.pairs.iter().map(|pair| &pair.delta).collect();
        shared_parts(&self.alpha, &self.between(), &totals, structure)
    }

    /// The same for a draw.
    pub fn shared_parts_of_draw(&self, draw: &Draw, structure: Structure) -> SharedParts {
        let totals: Vec<&Vec<Vec<f64>>> = draw.delta.iter().collect();
        shared_parts(&draw.alpha, &self.between(), &totals, structure)
    }

    fn between(&self) -> Vec<(usize, usize)> {
        self.pairs.iter().map(|pair| pair.between).collect()
    }
}

fn shared_parts(
    alpha: &Alpha,
    between: &[(usize, usize)],
    totals: &[&Vec<Vec<f64>>],
    structure: Structure,
) -> SharedParts {
    let (n_classes, n_pairs) = (alpha[0].len(), between.len());
    let rows = || vec![vec![0.0; n_classes]; n_classes];
    let full = structure != Structure::Common;
    let mut all = SharedParts {
        common: rows(),
        pairs: if full { vec![rows(); n_pairs] } else { Vec::new() },
        kept: 1.0,
    };
    for j in 0..n_classes {
        for l in 0..n_classes {
            let bounds: Vec<f64> = alpha.iter().map(|rows| rows[j][l]).collect();
            let each: Vec<f64> = totals.iter().map(|rows| rows[j][l]).collect();
            if full {
                let (common, pairs) = one_component(&bounds, between, &each);
                all.common[j][l] = common;
                all.pairs.iter_mut().zip(pairs).for_each(|(rows, e)| rows[j][l] = e);
            } else {
                let least = bounds.iter().copied().fold(f64::INFINITY, f64::min);
                all.common[j][l] = (each.iter().sum::<f64>() / n_pairs as f64).min(least);
            }
        }
        let sum = |row: &[f64]| row.iter().sum::<f64>();
        for (rows, pairs) in totals.iter().zip(&all.pairs) {
            let held = sum(&all.common[j]) + sum(&pairs[j]);
            all.kept = all.kept.min(held / sum(&rows[j]).max(f64::MIN_POSITIVE));
        }
    }
    all
}

/// The common part of one component and the parts of pairs.
fn one_component(alpha: &[f64], between: &[(usize, usize)], totals: &[f64]) -> (f64, Vec<f64>) {
    let common = totals.iter().copied().fold(f64::INFINITY, f64::min);
    let rest: Vec<f64> = totals.iter().map(|t| t - common).collect();
    let room = |k: usize| {
        let own = between.iter().zip(&rest).filter(|((a, b), _)| *a == k || *b == k);
        let wanted: f64 = own.map(|(_, e)| e).sum();
        let left = (alpha[k] - common).max(0.0);
        if wanted > left { left / wanted } else { 1.0 }
    };
    let rooms: Vec<f64> = (0..alpha.len()).map(room).collect();
    let scaled = between.iter().zip(&rest).map(|(&(a, b), e)| e * rooms[a].min(rooms[b]));
    (common, scaled.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const THREE: [(usize, usize); 3] = [(0, 1), (0, 2), (1, 2)];

    #[test]
    fn totals_that_fit_are_kept() {
        // α = 5 each: common part 1, parts of pairs 1, 0.5 and 0
        let (common, pairs) = one_component(&[5.0; 3], &THREE, &[2.0, 1.5, 1.0]);
        assert_eq!((common, pairs), (1.0, vec![1.0, 0.5, 0.0]));
    }

    /// Classifier 0 shares nine tenths with each of two that share two tenths: 0.7 + 0.7 beyond the common part have to
    /// go into 0.8, so that each becomes 0.4.
    #[test]
    fn totals_that_do_not_fit_are_scaled() {
        let (common, pairs) = one_component(&[1.0; 3], &THREE, &[0.9, 0.9, 0.2]);
        assert_eq!(common, 0.2);
        for (found, expected) in pairs.iter().zip([0.4, 0.4, 0.0]) {
            assert!((found - expected).abs() < 1e-15, "{pairs:?}");
        }
    }

    proptest! {
        /// No private shape is negative, and no pair shares more than was learned.
        #[test]
        fn every_split_is_possible(
            alpha in proptest::collection::vec(0.01f64..50.0, 4),
            shares in proptest::collection::vec(0.0f64..=1.0, 6),
        ) {
            let between: Vec<_> = (0..4).flat_map(|b| (0..b).map(move |a| (a, b))).collect();
            let total = |(&(a, b), s): (&(usize, usize), &f64)| s * alpha[a].min(alpha[b]);
            let totals: Vec<f64> = between.iter().zip(&shares).map(total).collect();
            let (common, pairs) = one_component(&alpha, &between, &totals);
            for (k, a) in alpha.iter().enumerate() {
                let own = between.iter().zip(&pairs).filter(|((i, j), _)| *i == k || *j == k);
                let used = common + own.map(|(_, e)| e).sum::<f64>();
                prop_assert!(used <= a * (1.0 + 1e-12));
            }
            for (e, t) in pairs.iter().zip(&totals) {
                prop_assert!(*e >= 0.0 && common + e <= t * (1.0 + 1e-12));
            }
        }
    }
}
