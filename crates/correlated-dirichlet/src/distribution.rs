//! The parameters of a correlated Dirichlet distribution.

use crate::dirichlet::check_concentration;
use crate::error::{Error, Result};

/// Gamma variables that two classifiers share with each other only.
#[derive(Debug, Clone, PartialEq)]
pub struct SharedPair {
    /// Index of one classifier.
    pub first: usize,
    /// Index of the other.
    pub second: usize,
    /// Shapes δ of the shared gammas, one per component.
    pub delta: Vec<f64>,
}

/// The joint distribution of K Dirichlet-distributed outputs that share gamma variables.
///
/// ```text
/// xᵏₗ ∝ Aᵏₗ + Dₗ + Σ_{m≠k} Dᵏᵐₗ
/// Dₗ ~ Gamma(δₗ) common to all, Dᵏᵐₗ ~ Gamma(δᵏᵐₗ) shared by k and m,
/// Aᵏₗ ~ Gamma(αᵏₗ − δₗ − Σ_m δᵏᵐₗ) private
/// ```
///
/// Every classifier's margin is Dirichlet(αᵏ). A gamma of shape 0 is the constant 0, so that δ = 0
/// (independence) and δ = α (no private part) are allowed.
///
/// # Example
/// ```
/// use correlated_dirichlet::CorrelatedDirichlet;
/// use rand::{SeedableRng, rngs::ChaCha8Rng};
/// let alpha = vec![vec![3.0, 2.0, 2.0], vec![3.0, 2.0, 2.0]];
/// // Nothing is private: both outputs are equal.
/// let equal = CorrelatedDirichlet::new(alpha, Some(vec![3.0, 2.0, 2.0]), vec![])?;
/// let x = equal.sample(&mut ChaCha8Rng::seed_from_u64(0));
/// assert_eq!(x[..3], x[3..]);
/// # Ok::<(), correlated_dirichlet::Error>(())
/// ```
///
/// # References
/// Trick & Rothkopf, "Bayesian Classifier Fusion with an Explicit Model of Correlation",
/// AISTATS 2022, eq. 6 and supplement C.3. <https://proceedings.mlr.press/v151/trick22a.html>
#[derive(Debug, Clone, PartialEq)]
pub struct CorrelatedDirichlet {
    pub(crate) alpha: Vec<Vec<f64>>,
    pub(crate) common: Vec<f64>,
    pub(crate) pairs: Vec<SharedPair>,
    pub(crate) private: Vec<Vec<f64>>,
}

/// Private shapes down to minus this times α count as 0: rounding in the subtraction of shared shapes.
const ROUNDING: f64 = 1e-12;

impl CorrelatedDirichlet {
    /// Checks and stores the shapes.
    ///
    /// `alpha[k]` is the margin of classifier k, `common` the shapes that all classifiers share (`None`: nothing).
    ///
    /// # Errors
    /// If lengths differ, if α ≤ 0 or δ < 0, or if a private shape, α minus all shared shapes, is negative.
    pub fn new(
        alpha: Vec<Vec<f64>>,
        common: Option<Vec<f64>>,
        pairs: Vec<SharedPair>,
    ) -> Result<Self> {
        let n_components = alpha.first().map_or(0, Vec::len);
        for (k, margin) in alpha.iter().enumerate() {
            check_concentration(&format!("alpha[{k}]"), margin)?;
            check_length(&format!("alpha[{k}]"), margin, n_components)?;
        }
        let common = common.unwrap_or_else(|| vec![0.0; n_components]);
        check_delta("delta.common", &common, n_components)?;
        for pair in &pairs {
            let name = format!("delta.pairs[{}-{}]", pair.first, pair.second);
            if pair.first == pair.second || pair.first.max(pair.second) >= alpha.len() {
                return Err(Error::parameter(name, "between two different classifiers", "others"));
            }
            check_delta(&name, &pair.delta, n_components)?;
        }
        let private = private_shapes(&alpha, &common, &pairs)?;
        Ok(Self { alpha, common, pairs, private })
    }

    /// Number of classifiers, K.
    pub fn n_classifiers(&self) -> usize {
        self.alpha.len()
    }

    /// Number of components of each output, J.
    pub fn n_components(&self) -> usize {
        self.common.len()
    }

    /// The margins α, one row per classifier.
    pub fn alpha(&self) -> &[Vec<f64>] {
        &self.alpha
    }

    /// The shapes that all classifiers share.
    pub fn common(&self) -> &[f64] {
        &self.common
    }

    /// The shapes that pairs share.
    pub fn pairs(&self) -> &[SharedPair] {
        &self.pairs
    }

    /// The private shapes, one row per classifier: α minus all shared shapes.
    pub fn private(&self) -> &[Vec<f64>] {
        &self.private
    }

    /// The shapes δ that two classifiers share if all others are marginalised: those of their pair plus the common
    /// ones.
    pub fn shared_by(&self, a: usize, b: usize) -> Vec<f64> {
        let mut delta = self.common.clone();
        let is_theirs = |pair: &&SharedPair| {
            (pair.first, pair.second) == (a, b) || (pair.first, pair.second) == (b, a)
        };
        for pair in self.pairs.iter().filter(is_theirs) {
            delta.iter_mut().zip(&pair.delta).for_each(|(sum, d)| *sum += d);
        }
        // Rounding may raise the sum above α.
        let bounds = self.alpha[a].iter().zip(&self.alpha[b]).map(|(a, b)| a.min(*b));
        delta.iter_mut().zip(bounds).for_each(|(d, bound)| *d = d.min(bound));
        delta
    }
}

fn check_length(name: &str, values: &[f64], n_components: usize) -> Result<()> {
    if values.len() == n_components {
        return Ok(());
    }
    Err(Error::Mismatch {
        what: "lengths",
        expected: n_components.to_string(),
        found: format!("{} in `{name}`", values.len()),
    })
}

fn check_delta(name: &str, delta: &[f64], n_components: usize) -> Result<()> {
    check_length(name, delta, n_components)?;
    match delta.iter().position(|d| !(*d >= 0.0 && d.is_finite())) {
        None => Ok(()),
        Some(l) => Err(Error::parameter(format!("{name}[{l}]"), "finite and >= 0", delta[l])),
    }
}

fn private_shapes(
    alpha: &[Vec<f64>],
    common: &[f64],
    pairs: &[SharedPair],
) -> Result<Vec<Vec<f64>>> {
    let shared = |k: usize, l: usize| {
        let mine = pairs.iter().filter(|pair| pair.first == k || pair.second == k);
        common[l] + mine.map(|pair| pair.delta[l]).sum::<f64>()
    };
    let private = |k: usize, l: usize| {
        let shape = alpha[k][l] - shared(k, l);
        if shape < -ROUNDING * alpha[k][l] {
            return Err(Error::parameter(
                format!("alpha[{k}][{l}]"),
                "at least the sum of the shapes that its classifier shares",
                format!("{} for a sum of {}", alpha[k][l], shared(k, l)),
            ));
        }
        Ok(shape.max(0.0))
    };
    (0..alpha.len()).map(|k| (0..common.len()).map(|l| private(k, l)).collect()).collect()
}
