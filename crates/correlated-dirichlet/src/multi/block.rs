//! Classifiers that are connected by what they share, and their shapes class by class.

use crate::CorrelatedDirichlet;
use consilience_numerics::special::ln_gamma;

/// Shared shapes below this count as 0: a gamma of shape δ is above e^−30 with a chance of about 30δ, and where it is not, it
/// changes nothing.
const LEAST_SHARED: f64 = 1e-9;

/// A gamma that several classifiers share in one class.
#[derive(Debug, Clone)]
pub(super) struct Factor {
    /// Who shares it: indices within the block, ascending, two or more.
    pub(super) members: Vec<usize>,
    /// Its shape δ.
    pub(super) shape: f64,
}

/// One class of a block.
#[derive(Debug, Clone)]
pub(super) struct Component {
    /// What is shared: the common gamma first, then the pairs'. Shapes of 0 are left out.
    pub(super) factors: Vec<Factor>,
    /// Private shapes a, one a classifier.
    pub(super) private: Vec<f64>,
}

/// Classifiers none of which is independent of all the others.
///
/// Blocks are independent of each other, so that the density is the product of theirs; a block of one is a
/// Dirichlet, a block of two has an exact quadrature.
#[derive(Debug, Clone)]
pub(super) struct Block {
    /// Indices of the classifiers in the whole distribution.
    pub(super) classifiers: Vec<usize>,
    pub(super) components: Vec<Component>,
}

impl Block {
    /// The blocks of a distribution, in the order of their first classifiers.
    pub(super) fn split(distribution: &CorrelatedDirichlet) -> Vec<Self> {
        let n = distribution.n_classifiers();
        let positive = |delta: &[f64]| delta.iter().any(|&d| d >= LEAST_SHARED);
        // Label every classifier by the smallest one it is connected with.
        let mut label: Vec<usize> =
            (0..n).map(|k| if positive(distribution.common()) { 0 } else { k }).collect();
        for pair in distribution.pairs().iter().filter(|pair| positive(&pair.delta)) {
            let (a, b) = (label[pair.first], label[pair.second]);
            label.iter_mut().filter(|l| **l == a.max(b)).for_each(|l| *l = a.min(b));
        }
        let members = |first: usize| (0..n).filter(|&k| label[k] == first).collect::<Vec<_>>();
        (0..n)
            .map(members)
            .filter(|classifiers| !classifiers.is_empty())
            .map(|classifiers| Self::new(distribution, classifiers))
            .collect()
    }

    fn new(distribution: &CorrelatedDirichlet, classifiers: Vec<usize>) -> Self {
        let components = (0..distribution.n_classes())
            .map(|l| component(distribution, &classifiers, l))
            .collect();
        Self { classifiers, components }
    }

    /// Number of classifiers.
    pub(super) fn len(&self) -> usize {
        self.classifiers.len()
    }

    /// The classifier with the largest α, all classes together.
    pub(super) fn largest(&self) -> usize {
        let alpha = |k: usize| self.components.iter().map(|c| c.alpha(k)).sum::<f64>();
        (0..self.len()).max_by(|&a, &b| alpha(a).total_cmp(&alpha(b))).unwrap_or(0)
    }

    /// N, the sum of all shapes.
    pub(super) fn power(&self) -> f64 {
        self.shapes().sum()
    }

    fn shapes(&self) -> impl Iterator<Item = f64> {
        self.components
            .iter()
            .flat_map(|c| c.factors.iter().map(|f| f.shape).chain(c.private.iter().copied()))
    }

    /// Raises private shapes of 0 to `least`; whether there were any.
    pub(super) fn raise_private(&mut self, least: f64) -> bool {
        let zeros = self.components.iter_mut().flat_map(|c| &mut c.private).filter(|a| **a == 0.0);
        zeros.map(|a| *a = least).count() > 0
    }

    /// −Σ ln Γ over all shapes of the block.
    pub(super) fn ln_constant(&self) -> f64 {
        -self.shapes().filter(|&a| a > 0.0).map(ln_gamma).sum::<f64>()
    }
}

impl Component {
    /// αₖ of this class: the private shape and all that k shares.
    pub(super) fn alpha(&self, k: usize) -> f64 {
        let shared = self.factors.iter().filter(|f| f.members.contains(&k));
        self.private[k] + shared.map(|f| f.shape).sum::<f64>()
    }
}

fn component(distribution: &CorrelatedDirichlet, classifiers: &[usize], l: usize) -> Component {
    let place = |k: usize| classifiers.iter().position(|&c| c == k);
    let mut factors = Vec::new();
    if distribution.common()[l] >= LEAST_SHARED {
        let members = (0..classifiers.len()).collect();
        factors.push(Factor { members, shape: distribution.common()[l] });
    }
    for pair in distribution.pairs().iter().filter(|pair| pair.delta[l] >= LEAST_SHARED) {
        let (Some(a), Some(b)) = (place(pair.first), place(pair.second)) else { continue };
        let members = vec![a.min(b), a.max(b)];
        // A pair may have been given twice: sums of gammas are gammas of the summed shape. What a pair shares
        // when there are no more than two is common to all.
        match factors.iter_mut().find(|f: &&mut Factor| f.members == members) {
            Some(factor) => factor.shape += pair.delta[l],
            None => factors.push(Factor { members, shape: pair.delta[l] }),
        }
    }
    let private = classifiers.iter().map(|&k| distribution.private[k][l]).collect();
    Component { factors, private }
}
