//! The density of three and more classifiers' outputs under the correlated Dirichlet distribution.
//!
//! With totals sₖ and shared gammas D_S (S: all classifiers, or a pair) the density is an integral over K totals and one
//! D for every factor and class,
//!
//! ```text
//! f(x) = C ∫ Π_k s_k^(J−1) ds_k Π_l ∫ Π_S D_Sl^(δ_Sl−1) dD_Sl Π_k A_kl^(a_kl−1) e^−T,
//! A_kl = s_k x_kl − Σ_{S∋k} D_Sl > 0,   T = Σ A + Σ D,   a_kl = α_kl − Σ_{S∋k} δ_Sl,
//! ```
//!
//! 15 dimensions for three classifiers and classes. It is estimated, with an error, in one of two regimes:
//!
//! - `transport`: ε = 0. Coordinates without walls (`chart`), centred where the integrand is largest (`centre`); one-dimensional laws
//!   along their axes (`law`), corrected by pilots (`learned`); scrambled Sobol points (`points`) through a vector kernel (`kernel`).
//! - `sequential`: outputs known to a relative ε (`blur`), for private shapes near and at 0, where the exact density has
//!   spikes that no points find. Gammas are drawn one by one from tabulated conditional densities (`ladder`).
//!
//! Independent groups of classifiers factorise first (`block`): one alone is a Dirichlet, two have the exact quadrature of
//! [`crate::pair`]. `replicates` turns weights into estimates, `fused` estimates several classes for their probabilities.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts of points and places in short tables, clamped where they are made"
)]
#![allow(clippy::doc_markdown, reason = "formulas in the documentation carry their indices")]

mod block;
mod blur;
mod centre;
mod chart;
#[doc(hidden)]
pub mod fused;
mod kernel;
mod ladder;
mod law;
mod learned;
mod points;
mod replicates;
mod sequential;
mod tilted;
mod transport;

use crate::CorrelatedDirichlet;
use crate::pair::{self, PairDensity};
use crate::{Error, Result};
use block::Block;
use consilience_numerics::special::ln_multivariate_beta;
use sequential::{Sequential, SequentialScratch};
#[doc(hidden)]
pub use tilted::Tilted;
use transport::{Transport, TransportScratch};

/// A log density with its estimated error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// ln f(x).
    pub ln_density: f64,
    /// Estimated absolute error of `ln_density`: the true one is below twice this in about 95 of 100 cases. Infinite where
    /// the estimate is not resolved.
    pub error: f64,
    /// Whether the error may be believed. If not, too few points carried the weight, or single ones too much
    /// of it: the number is a guess, and the integral may hold mass that no point has found.
    pub resolved: bool,
}

impl Estimate {
    const UNKNOWN: Self = Self { ln_density: f64::NAN, error: f64::INFINITY, resolved: false };

    /// Multiplies the density by an independent one.
    fn add(&mut self, other: Self) {
        self.ln_density += other.ln_density;
        self.error = self.error.hypot(other.error);
        self.resolved &= other.resolved;
    }
}

/// The error of ln f wanted unless told otherwise.
pub const DEFAULT_TOLERANCE: f64 = 1e-3;

/// Points spent on an item at the most unless told otherwise.
pub const DEFAULT_MOST_POINTS: usize = 1 << 16;

#[derive(Debug, Clone, Copy)]
struct Goal {
    tolerance: f64,
    seed: u64,
    item: u64,
    most_points: usize,
}

/// The correlated Dirichlet density of any number of classifiers, prepared once and evaluated for many items.
///
/// # Example
/// ```
/// use correlated_dirichlet::CorrelatedDirichlet;
/// use correlated_dirichlet::SharedPair;
/// use correlated_dirichlet::multi::{MultiDensity, Scratch};
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
/// let estimate = density.ln_density(&x, &mut Scratch::default());
/// assert!(estimate.resolved && (estimate.ln_density - 7.3651).abs() < 0.02);
/// # Ok::<(), correlated_dirichlet::Error>(())
/// ```
///
/// # Numerics
/// At ε = 0 private shapes above about .5 are served well, below .3 the weights have infinite variance and `resolved` is false more
/// often than not; a private shape of 0 is never resolved. At ε > 0 private shapes may be 0; errors are
/// .02 to .1 for the points of the default. The same seed gives the same number; it also gives all items the same points, so that errors
/// of similar items are alike: [`Self::ln_density_of_item`] reflects them, where errors are to average out.
///
/// # References
/// Trick & Rothkopf (2022), "Bayesian Classifier Fusion with an Explicit Model of Correlation", AISTATS, supplement C.3.
/// Owen (1997), "Scrambled net variance for integrals of smooth functions", Annals of Statistics 25.
#[derive(Debug, Clone)]
pub struct MultiDensity {
    distribution: CorrelatedDirichlet,
    parts: Vec<Part>,
    goal: Goal,
}

/// Memory that evaluations reuse; anything may be left in it by another density.
#[derive(Debug, Default)]
pub struct Scratch {
    pair: pair::Scratch,
    transport: TransportScratch,
    sequential: SequentialScratch,
}

impl MultiDensity {
    /// Prepares the exact density, ε = 0.
    pub fn new(distribution: &CorrelatedDirichlet) -> Result<Self> {
        Ok(Self {
            parts: parts(distribution, 0.0)?,
            distribution: distribution.clone(),
            goal: Goal {
                tolerance: DEFAULT_TOLERANCE,
                seed: 0,
                item: 0,
                most_points: DEFAULT_MOST_POINTS,
            },
        })
    }

    /// Sets the wanted error of ln f. Points are added until it is reached, up to [`Self::with_most_points`].
    pub fn with_tolerance(mut self, tolerance: f64) -> Result<Self> {
        if !(tolerance > 0.0 && tolerance < 1.0) {
            return Err(Error::parameter("tolerance", "between 0 and 1", tolerance));
        }
        self.goal.tolerance = tolerance;
        Ok(self)
    }

    /// Observes the outputs at the resolution ε: every ln G carries an N(0, ε²/2) error.
    ///
    /// Two classifiers that share nothing with others keep the convention of [`PairDensity::with_resolution`], and one
    /// that shares with nobody its Dirichlet density. Tables are made here, once for all items.
    pub fn with_resolution(mut self, epsilon: f64) -> Result<Self> {
        if !(0.0..=1.0).contains(&epsilon) {
            return Err(Error::parameter("resolution", "between 0 and 1", epsilon));
        }
        self.parts = parts(&self.distribution, epsilon)?;
        Ok(self)
    }

    /// Sets the seed of the scrambled points.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.goal.seed = seed;
        self
    }

    /// Sets how many points are spent on an item at the most (at a finite resolution a 512th of them: each costs
    /// that much more).
    #[must_use]
    pub fn with_most_points(mut self, most_points: usize) -> Self {
        self.goal.most_points = most_points;
        self
    }

    /// The log density at `x`, one point inside the simplex for every classifier.
    ///
    /// Outputs with entries that are not positive and finite give NaN, not resolved.
    ///
    /// # Panics
    /// If `x` does not have one output a classifier and one value a class.
    pub fn ln_density(&self, x: &[&[f64]], scratch: &mut Scratch) -> Estimate {
        self.ln_density_of_item(x, 0, self.goal.tolerance, scratch)
    }

    /// The same to a wanted error, with the points reflected for this item by its number: errors of many items then
    /// average out. (The number 0 leaves the points as they are.)
    ///
    /// # Panics
    /// If `x` does not have one output a classifier and one value a class.
    pub fn ln_density_of_item(
        &self,
        x: &[&[f64]],
        item: u64,
        tolerance: f64,
        scratch: &mut Scratch,
    ) -> Estimate {
        let goal = Goal { tolerance, item, ..self.goal };
        let n_classes = self.distribution.n_classes();
        let fits = x.len() == self.distribution.n_classifiers();
        assert!(fits && x.iter().all(|x| x.len() == n_classes), "one value a classifier and class");
        if !x.iter().copied().flatten().all(|x| *x > 0.0 && x.is_finite()) {
            return Estimate::UNKNOWN;
        }
        let mut sum = Estimate { ln_density: 0.0, error: 0.0, resolved: true };
        for part in &self.parts {
            sum.add(part.ln_density(x, &goal, scratch));
        }
        sum
    }
}

impl MultiDensity {
    /// Weighted points of an item, `n_batches` of 64, that serve for neighbouring shared shapes as well. `None` where the
    /// weights do not allow it, where classifiers fall into independent groups, and at a finite resolution.
    #[doc(hidden)]
    pub fn tilted(
        &self,
        x: &[&[f64]],
        (seed, item): (u64, u64),
        n_batches: usize,
        scratch: &mut Scratch,
    ) -> Option<Tilted> {
        let [Part::Transport { classifiers, transport }] = self.parts.as_slice() else {
            return None;
        };
        let x: Vec<Vec<f64>> = classifiers.iter().map(|&k| x[k].to_vec()).collect();
        let goal = Goal { seed, item, ..self.goal };
        transport.tilted(&x, &goal, n_batches, &mut scratch.transport)
    }
}

/// A group of classifiers independent of all others.
#[derive(Debug, Clone)]
enum Part {
    Alone { classifier: usize, alpha: Vec<f64> },
    Pair { classifiers: [usize; 2], density: Box<PairDensity> },
    Transport { classifiers: Vec<usize>, transport: Transport },
    Sequential { classifiers: Vec<usize>, sequential: Sequential },
}

fn parts(distribution: &CorrelatedDirichlet, epsilon: f64) -> Result<Vec<Part>> {
    let part = |block: Block| {
        let classifiers = block.classifiers.clone();
        Ok(match classifiers[..] {
            [classifier] => {
                Part::Alone { classifier, alpha: distribution.alpha()[classifier].clone() }
            }
            [a, b] => {
                let alpha = distribution.alpha();
                let density =
                    PairDensity::new(&alpha[a], &alpha[b], &distribution.shared_by(a, b))?;
                let density = Box::new(density.with_resolution(epsilon)?);
                Part::Pair { classifiers: [a, b], density }
            }
            _ if epsilon > 0.0 => {
                Part::Sequential { classifiers, sequential: Sequential::new(block, epsilon) }
            }
            _ => Part::Transport { classifiers, transport: Transport::new(block) },
        })
    };
    Block::split(distribution).into_iter().map(part).collect()
}

impl Part {
    fn ln_density(&self, x: &[&[f64]], goal: &Goal, scratch: &mut Scratch) -> Estimate {
        let chosen =
            |who: &[usize]| -> Vec<Vec<f64>> { who.iter().map(|&k| x[k].to_vec()).collect() };
        match self {
            Self::Alone { classifier, alpha } => {
                let power = x[*classifier].iter().zip(alpha).map(|(x, a)| (a - 1.0) * x.ln());
                let ln_density = power.sum::<f64>() - ln_multivariate_beta(alpha);
                Estimate { ln_density, error: 1e-14 * (1.0 + ln_density.abs()), resolved: true }
            }
            Self::Pair { classifiers: [a, b], density } => {
                let got = density.ln_density(x[*a], x[*b], &mut scratch.pair);
                Estimate { ln_density: got.ln_density, error: got.error, resolved: true }
            }
            Self::Transport { classifiers, transport } => {
                transport.ln_density(&chosen(classifiers), goal, &mut scratch.transport)
            }
            Self::Sequential { classifiers, sequential } => {
                sequential.ln_density(&chosen(classifiers), goal, &mut scratch.sequential)
            }
        }
    }
}
