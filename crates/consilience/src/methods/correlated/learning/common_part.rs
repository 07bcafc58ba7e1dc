//! From what every pair shares to what all share and what pairs share beyond it.
//!
//! The exact density of two classifiers says how much a pair shares altogether, tₖₘ. In the paper's model that is the
//! common part and the pair's own. Every split of the totals into both has the same pair margins, and data hardly tell
//! them apart (the log likelihood of 200 items moves by about 1), so that one is chosen, component by component:
//!
//! ```text
//! common c = min over pairs of t,   eₖₘ = tₖₘ − c,   eₖₘ ← eₖₘ · min(rₖ, rₘ),   rₖ = min(1, (αₖ − c) / Σₘ eₖₘ)
//! ```
//!
//! The last step keeps every private shape αₖ − c − Σₘ eₖₘ at 0 or above. It is needed where no common part and pairs
//! have the learned pair margins: one classifier shares most of itself with each of two others that share little.

use super::all_pairs::{FittedPairs, PairsDraw};
use crate::methods::correlated::Structure;
use crate::methods::independent::Alpha;

/// The shared shapes of the paper's model.
#[derive(Debug, Clone, PartialEq)]
pub struct Split {
    /// What all share, `common[j]` when the true class is j.
    pub common: Vec<Vec<f64>>,
    /// What pairs share beyond it, `pairs[p][j]`; none for [`Structure::Common`].
    pub pairs: Vec<Vec<Vec<f64>>>,
    /// The smallest part of any pair's total, summed over components, that the model can hold: 1 where nothing had to
    /// be scaled.
    pub kept: f64,
}

impl FittedPairs {
    /// The paper's model with these pair margins, as far as it can have them; `full` or `common`.
    ///
    /// With a common part alone it is the mean of the pairs' totals, at most the smallest α.
    pub fn split(&self, structure: Structure) -> Split {
        let totals: Vec<&Vec<Vec<f64>>> = self.pairs.iter().map(|pair| &pair.delta).collect();
        split(&self.alpha, &self.between(), &totals, structure)
    }

    /// The same of a draw.
    pub fn split_draw(&self, draw: &PairsDraw, structure: Structure) -> Split {
        let totals: Vec<&Vec<Vec<f64>>> = draw.delta.iter().collect();
        split(&draw.alpha, &self.between(), &totals, structure)
    }

    fn between(&self) -> Vec<(usize, usize)> {
        self.pairs.iter().map(|pair| pair.between).collect()
    }
}

fn split(
    alpha: &Alpha,
    between: &[(usize, usize)],
    totals: &[&Vec<Vec<f64>>],
    structure: Structure,
) -> Split {
    let (n_classes, n_pairs) = (alpha[0].len(), between.len());
    let rows = || vec![vec![0.0; n_classes]; n_classes];
    let full = structure != Structure::Common;
    let mut all = Split {
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

/// The common part of one component and what is left of the pairs.
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
        // α = 5 each: 1 common, pairs 1, .5 and 0 beyond it
        let (common, pairs) = one_component(&[5.0; 3], &THREE, &[2.0, 1.5, 1.0]);
        assert_eq!((common, pairs), (1.0, vec![1.0, 0.5, 0.0]));
    }

    /// Classifier 0 shares nine tenths with each of two that share two tenths: .7 + .7 beyond the common part have to
    /// go into .8, so that each becomes .4.
    #[test]
    fn totals_that_do_not_fit_are_scaled() {
        let (common, pairs) = one_component(&[1.0; 3], &THREE, &[0.9, 0.9, 0.2]);
        assert_eq!(common, 0.2);
        for (found, expected) in pairs.iter().zip([0.4, 0.4, 0.0]) {
            assert!((found - expected).abs() < 1e-15, "{pairs:?}");
        }
    }

    proptest! {
        /// Whatever the pairs' totals, no private shape is negative, and no pair shares more than was learned.
        #[test]
        fn every_split_is_legal(
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
