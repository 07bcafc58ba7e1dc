//! Groups of classifiers that depend on each other through what they share, with their shapes per component.

use super::constants::SMALLEST_SHARED;
use crate::CorrelatedDirichlet;
use consilience_numerics::special::ln_gamma;

/// A gamma variable that several classifiers share in one component.
#[derive(Debug, Clone)]
pub(super) struct SharedGamma {
    /// The classifiers that share it: two or more indices within the group, ascending.
    pub(super) members: Vec<usize>,
    /// Its shape δ.
    pub(super) shape: f64,
}

/// The shapes of one component of a group.
#[derive(Debug, Clone)]
pub(super) struct ComponentShapes {
    /// Shared gammas with positive shape: the common one first, then those of pairs.
    pub(super) shared: Vec<SharedGamma>,
    /// Private shapes a, one per classifier.
    pub(super) private: Vec<f64>,
}

/// Classifiers none of which is independent of all the others.
///
/// Groups are independent of each other, so that the density is the product of theirs.
#[derive(Debug, Clone)]
pub(super) struct Group {
    /// Indices of the classifiers in the whole distribution.
    pub(super) classifiers: Vec<usize>,
    pub(super) components: Vec<ComponentShapes>,
}

impl Group {
    /// The groups of a distribution, in the order of their first classifiers.
    pub(super) fn split(distribution: &CorrelatedDirichlet) -> Vec<Self> {
        let n = distribution.n_classifiers();
        let positive = |delta: &[f64]| delta.iter().any(|&d| d >= SMALLEST_SHARED);
        // The label of a classifier is the smallest index that it is connected with.
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
        let components = (0..distribution.n_components())
            .map(|l| component(distribution, &classifiers, l))
            .collect();
        Self { classifiers, components }
    }

    /// Number of classifiers.
    pub(super) fn len(&self) -> usize {
        self.classifiers.len()
    }

    /// The classifier with the largest Σ α.
    pub(super) fn largest(&self) -> usize {
        let alpha = |k: usize| self.components.iter().map(|c| c.alpha(k)).sum::<f64>();
        (0..self.len()).max_by(|&a, &b| alpha(a).total_cmp(&alpha(b))).unwrap_or(0)
    }

    /// N, the sum of all shapes.
    pub(super) fn total_shape(&self) -> f64 {
        self.shapes().sum()
    }

    fn shapes(&self) -> impl Iterator<Item = f64> {
        self.components
            .iter()
            .flat_map(|c| c.shared.iter().map(|d| d.shape).chain(c.private.iter().copied()))
    }

    /// The smallest private shape.
    pub(super) fn smallest_private(&self) -> f64 {
        let private = self.components.iter().flat_map(|c| &c.private);
        private.copied().fold(f64::INFINITY, f64::min)
    }

    /// −Σ ln Γ over all shapes of the group.
    pub(super) fn ln_constant(&self) -> f64 {
        -self.shapes().map(ln_gamma).sum::<f64>()
    }
}

impl ComponentShapes {
    /// α of classifier k in this component: its private shape plus the shapes that it shares.
    fn alpha(&self, k: usize) -> f64 {
        self.alpha_with(k, |shape| shape)
    }

    /// α of classifier k after every shape has been mapped by `f`.
    pub(super) fn alpha_with(&self, k: usize, f: impl Fn(f64) -> f64) -> f64 {
        f(self.private[k]) + self.shared_from(0, k).map(&f).sum::<f64>()
    }

    /// Shapes of the gammas from index i on that classifier k shares.
    pub(super) fn shared_from(&self, i: usize, k: usize) -> impl Iterator<Item = f64> {
        self.shared.iter().skip(i).filter(move |d| d.members.contains(&k)).map(|d| d.shape)
    }
}

fn component(
    distribution: &CorrelatedDirichlet,
    classifiers: &[usize],
    l: usize,
) -> ComponentShapes {
    let index = |k: usize| classifiers.iter().position(|&c| c == k);
    let mut shared = Vec::new();
    if distribution.common()[l] >= SMALLEST_SHARED {
        let members = (0..classifiers.len()).collect();
        shared.push(SharedGamma { members, shape: distribution.common()[l] });
    }
    for pair in distribution.pairs().iter().filter(|pair| pair.delta[l] >= SMALLEST_SHARED) {
        let (Some(a), Some(b)) = (index(pair.first), index(pair.second)) else { continue };
        let members = vec![a.min(b), a.max(b)];
        // A pair may be listed twice, and in a group of two the common gamma has the same members. Sums of
        // gammas are gammas of the summed shape.
        match shared.iter_mut().find(|d: &&mut SharedGamma| d.members == members) {
            Some(known) => known.shape += pair.delta[l],
            None => shared.push(SharedGamma { members, shape: pair.delta[l] }),
        }
    }
    let private = classifiers.iter().map(|&k| distribution.private[k][l]).collect();
    ComponentShapes { shared, private }
}
