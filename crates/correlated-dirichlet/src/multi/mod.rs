//! The density of any number of classifiers' outputs, by randomised quasi-Monte Carlo.
//!
//! With totals sₖ and shared gammas D_S (S: all classifiers, or a pair) the density is an integral over the K totals
//! and one D per shared part and component,
//!
//! ```text
//! f(x) = C ∫ Π_k s_k^(J−1) ds_k Π_l ∫ Π_S D_Sl^(δ_Sl−1) dD_Sl Π_k A_kl^(a_kl−1) e^−T,
//! A_kl = s_k x_kl − Σ_{S∋k} D_Sl > 0,   T = Σ A + Σ D,   a_kl = α_kl − Σ_{S∋k} δ_Sl.
//! ```
//!
//! It has 15 dimensions for three classifiers and three components. Classifiers that share nothing with each other are
//! independent, so the density first factorises into groups ([`group`]): a single classifier has a Dirichlet density,
//! two have the quadrature of [`crate::pair`], and the integral over a larger group is estimated ([`exact`]) by
//! importance sampling at scrambled Sobol points ([`sobol`]), in coordinates without boundaries that are centred at the
//! mode of the integrand ([`mode`]).
//!
//! [`replicates`] turns the weights of the points into an estimate with an error. [`class_estimates`] estimates the
//! densities under several true classes together, to the accuracy that their posterior probabilities need.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "numbers of points and indices of short tables, clamped where they are computed"
)]
#![allow(clippy::doc_markdown, reason = "formulas in the documentation carry their indices")]
#![allow(rustdoc::private_intra_doc_links, reason = "a map of the folder for its readers")]

#[doc(hidden)]
pub mod class_estimates;
mod constants;
mod exact;
mod group;
mod mode;
mod replicates;
mod sobol;

use crate::pair::{self, PairDensity};
use crate::{CorrelatedDirichlet, Dirichlet, Error, Estimate, Result};
use constants::DEFAULT_MAX_POINTS;
use exact::{ExactIntegral, ExactScratch};
use group::Group;

pub use constants::DEFAULT_TOLERANCE;
#[doc(hidden)]
pub use exact::importance_points::{ImportancePoints, ReweightedSum};

/// The density of a [`CorrelatedDirichlet`] of any number of classifiers, prepared once and evaluated for many items.
///
/// # Example
/// ```
/// use correlated_dirichlet::{CorrelatedDirichlet, MultiDensity, MultiScratch, SharedPair};
///
/// let alpha = vec![vec![6.0, 4.0, 4.0], vec![5.0, 4.0, 5.0], vec![6.0, 5.0, 4.0]];
/// let pair = |first, second, delta: [f64; 3]| SharedPair { first, second, delta: delta.to_vec() };
/// let pairs = vec![
///     pair(0, 1, [1.0, 0.5, 0.8]),
///     pair(0, 2, [0.6, 0.4, 0.7]),
///     pair(1, 2, [0.5, 0.9, 0.4]),
/// ];
/// let distribution = CorrelatedDirichlet::new(alpha, Some(vec![1.5, 1.0, 1.2]), pairs)?;
/// let density = MultiDensity::new(&distribution)?.with_tolerance(5e-3)?;
/// let x: [&[f64]; 3] = [&[0.5, 0.2, 0.3], &[0.4, 0.3, 0.3], &[0.45, 0.25, 0.3]];
/// let estimate = density.ln_density(&x, &mut MultiScratch::default());
/// assert!(estimate.is_resolved() && (estimate.ln_density - 7.3651).abs() < 0.02);
/// # Ok::<(), correlated_dirichlet::Error>(())
/// ```
///
/// # Numerics
/// Groups of one and two classifiers are computed to 1e-14 and 1e-6. For three and more:
///
/// - Private shapes above about 0.5 are served well. Below 0.3 the weights of the points have infinite variance, and
///   most estimates are not resolved; with a private shape of 0 none is. The tree of pair densities of the fusion
///   library serves these cases.
/// - The same seed gives the same value. It also gives all items the same points, so that the errors of similar items
///   are correlated; [`Self::ln_density_of_item`] reflects the points by the item's number, so that errors average out
///   over items.
///
/// # References
/// Trick & Rothkopf (2022), "Bayesian Classifier Fusion with an Explicit Model of Correlation", AISTATS, supplement
/// C.3. Owen (1997), "Scrambled net variance for integrals of smooth functions", Annals of Statistics 25.
#[derive(Debug, Clone)]
pub struct MultiDensity {
    distribution: CorrelatedDirichlet,
    groups: Vec<GroupDensity>,
    goal: Goal,
}

/// Buffers that evaluations reuse; one value serves all densities of a thread.
#[derive(Debug, Default)]
pub struct MultiScratch {
    pair: pair::Scratch,
    exact: ExactScratch,
}

/// The accuracy of one evaluation and the points that it may use.
#[derive(Debug, Clone, Copy)]
struct Goal {
    /// The error of ln f at which no more points are added.
    tolerance: f64,
    /// Seed of the scrambling.
    seed: u64,
    /// Number of the item, by which its points are reflected; 0 leaves them as they are.
    item: u64,
    /// Largest number of points, all replicates together.
    max_points: usize,
}

impl MultiDensity {
    /// Prepares the exact density.
    pub fn new(distribution: &CorrelatedDirichlet) -> Result<Self> {
        Ok(Self {
            groups: group_densities(distribution)?,
            distribution: distribution.clone(),
            goal: Goal {
                tolerance: DEFAULT_TOLERANCE,
                seed: 0,
                item: 0,
                max_points: DEFAULT_MAX_POINTS,
            },
        })
    }

    /// Sets the wanted error of ln f. Points are added until it is reached, up to [`Self::with_max_points`].
    pub fn with_tolerance(mut self, tolerance: f64) -> Result<Self> {
        if !(tolerance > 0.0 && tolerance < 1.0) {
            return Err(Error::parameter("tolerance", "between 0 and 1", tolerance));
        }
        self.goal.tolerance = tolerance;
        Ok(self)
    }

    /// Observes the outputs of two classifiers at a finite resolution ε, as [`PairDensity::with_resolution`] does.
    ///
    /// An error if more than two classifiers depend on each other: their density is exact only.
    pub fn with_resolution(mut self, epsilon: f64) -> Result<Self> {
        for group in &mut self.groups {
            match group {
                GroupDensity::Single { .. } => {}
                GroupDensity::Pair { density, .. } => {
                    **density = density.as_ref().clone().with_resolution(epsilon)?;
                }
                GroupDensity::Exact { .. } if epsilon == 0.0 => {}
                GroupDensity::Exact { .. } => {
                    let requirement = "0 if more than two classifiers share something";
                    return Err(Error::parameter("resolution", requirement, epsilon));
                }
            }
        }
        Ok(self)
    }

    /// The smallest private shape of classifiers whose density is estimated from points; infinite if there are none.
    pub fn smallest_private(&self) -> f64 {
        let of_group = |group: &GroupDensity| match group {
            GroupDensity::Exact { integral, .. } => integral.smallest_private(),
            _ => f64::INFINITY,
        };
        self.groups.iter().map(of_group).fold(f64::INFINITY, f64::min)
    }

    /// Sets the seed of the scrambled points.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.goal.seed = seed;
        self
    }

    /// Sets the largest number of points per item; 65 536 by default.
    #[must_use]
    pub fn with_max_points(mut self, max_points: usize) -> Self {
        self.goal.max_points = max_points;
        self
    }

    /// The log density at `x`, which holds one point inside the simplex per classifier.
    ///
    /// The result is NaN and not resolved if an entry is not positive and finite.
    ///
    /// # Panics
    /// If `x` does not hold one output per classifier, with one value per component.
    pub fn ln_density(&self, x: &[&[f64]], scratch: &mut MultiScratch) -> Estimate {
        self.ln_density_of_item(x, 0, self.goal.tolerance, scratch)
    }

    /// The log density of one of many items: to its own tolerance, with points reflected by the item's number.
    ///
    /// Errors of items with different numbers are nearly independent and average out in sums. The number 0 leaves
    /// the points as they are.
    ///
    /// # Panics
    /// If `x` does not hold one output per classifier, with one value per component.
    pub fn ln_density_of_item(
        &self,
        x: &[&[f64]],
        item: u64,
        tolerance: f64,
        scratch: &mut MultiScratch,
    ) -> Estimate {
        let goal = Goal { tolerance, item, ..self.goal };
        let n_components = self.distribution.n_components();
        let fits = x.len() == self.distribution.n_classifiers();
        assert!(
            fits && x.iter().all(|x| x.len() == n_components),
            "one value per classifier and component"
        );
        if !x.iter().copied().flatten().all(|x| *x > 0.0 && x.is_finite()) {
            return Estimate::UNRESOLVED;
        }
        let mut product = Estimate::ONE;
        for group in &self.groups {
            product.multiply(group.ln_density(x, &goal, scratch));
        }
        product
    }

    /// Weighted points of an item, `n_batches` of 64, whose weights can be changed to neighbouring shared shapes.
    ///
    /// `None` if too few points carry the weight and if the classifiers fall into several groups.
    #[doc(hidden)]
    pub fn importance_points(
        &self,
        x: &[&[f64]],
        (seed, item): (u64, u64),
        n_batches: usize,
        scratch: &mut MultiScratch,
    ) -> Option<ImportancePoints> {
        let [GroupDensity::Exact { classifiers, integral }] = self.groups.as_slice() else {
            return None;
        };
        let goal = Goal { seed, item, ..self.goal };
        integral.importance_points(
            &outputs_of(x, classifiers),
            &goal,
            n_batches,
            &mut scratch.exact,
        )
    }
}

/// The density of a group of classifiers that is independent of all others.
#[derive(Debug, Clone)]
enum GroupDensity {
    Single { classifier: usize, margin: Dirichlet },
    Pair { classifiers: [usize; 2], density: Box<PairDensity> },
    Exact { classifiers: Vec<usize>, integral: ExactIntegral },
}

fn group_densities(distribution: &CorrelatedDirichlet) -> Result<Vec<GroupDensity>> {
    let density = |group: Group| {
        let classifiers = group.classifiers.clone();
        Ok(match classifiers[..] {
            [classifier] => {
                GroupDensity::Single { classifier, margin: distribution.marginal(classifier) }
            }
            [a, b] => {
                let density = Box::new(distribution.pair_density(a, b)?);
                GroupDensity::Pair { classifiers: [a, b], density }
            }
            _ => GroupDensity::Exact { classifiers, integral: ExactIntegral::new(group) },
        })
    };
    Group::split(distribution).into_iter().map(density).collect()
}

impl GroupDensity {
    fn ln_density(&self, x: &[&[f64]], goal: &Goal, scratch: &mut MultiScratch) -> Estimate {
        match self {
            Self::Single { classifier, margin } => margin.ln_pdf_with_error(x[*classifier]),
            Self::Pair { classifiers: [a, b], density } => {
                density.ln_density(x[*a], x[*b], &mut scratch.pair)
            }
            Self::Exact { classifiers, integral } => {
                integral.ln_density(&outputs_of(x, classifiers), goal, &mut scratch.exact)
            }
        }
    }
}

/// The outputs of some classifiers.
fn outputs_of(x: &[&[f64]], classifiers: &[usize]) -> Vec<Vec<f64>> {
    classifiers.iter().map(|&k| x[k].to_vec()).collect()
}
