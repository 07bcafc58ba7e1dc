//! The correlated Dirichlet distribution of Trick & Rothkopf for any number of classifiers.

use crate::dirichlet::check_concentration;
use crate::error::{Error, Result};

/// What two classifiers share with each other and with nobody else.
#[derive(Debug, Clone, PartialEq)]
pub struct SharedPair {
    /// Index of one classifier.
    pub first: usize,
    /// Index of the other.
    pub second: usize,
    /// Shapes δ of the shared gammas, one a class.
    pub delta: Vec<f64>,
}

/// Dirichlet-distributed outputs of K classifiers made dependent by gammas that they share.
///
/// ```text
/// xᵏₗ ∝ Aᵏₗ + Dᵃₗ + Σ_{m≠k} Dᵏᵐₗ
/// Dᵃₗ ~ Γ(δᵃₗ) common to all, Dᵏᵐₗ ~ Γ(δᵏᵐₗ) shared by k and m,
/// Aᵏₗ ~ Γ(αᵏₗ − δᵃₗ − Σ_m δᵏᵐₗ) private
/// ```
///
/// Every classifier's margin is Dirichlet(αᵏ). A gamma of shape 0 is the constant 0, so δ = 0
/// (independence) and δ = α (no private part) are legal.
///
/// # Example
/// ```
/// use correlated_dirichlet::CorrelatedDirichlet;
/// use rand::{SeedableRng, rngs::ChaCha8Rng};
/// let alpha = vec![vec![3.0, 2.0, 2.0], vec![3.0, 2.0, 2.0]];
/// // No private part is left: both classifiers say the same.
/// let twins = CorrelatedDirichlet::new(alpha, Some(vec![3.0, 2.0, 2.0]), vec![])?;
/// let x = twins.sample(&mut ChaCha8Rng::seed_from_u64(0));
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

/// A private shape may come out this much below 0, relative to α, and counts as 0.
const ROUNDING: f64 = 1e-12;

impl CorrelatedDirichlet {
    /// Checks that all shapes are legal: α > 0, δ ≥ 0, no private shape negative.
    ///
    /// `alpha[k]` is classifier k's margin; `common` what all share (`None`: nothing).
    pub fn new(
        alpha: Vec<Vec<f64>>,
        common: Option<Vec<f64>>,
        pairs: Vec<SharedPair>,
    ) -> Result<Self> {
        let n_classes = alpha.first().map_or(0, Vec::len);
        for (k, margin) in alpha.iter().enumerate() {
            check_concentration(&format!("alpha[{k}]"), margin)?;
            check_length(&format!("alpha[{k}]"), margin, n_classes)?;
        }
        let common = common.unwrap_or_else(|| vec![0.0; n_classes]);
        check_delta("delta.common", &common, n_classes)?;
        for pair in &pairs {
            let name = format!("delta.pairs[{}-{}]", pair.first, pair.second);
            if pair.first == pair.second || pair.first.max(pair.second) >= alpha.len() {
                return Err(Error::parameter(name, "between two different classifiers", "others"));
            }
            check_delta(&name, &pair.delta, n_classes)?;
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

    /// The margins α.
    pub fn alpha(&self) -> &[Vec<f64>] {
        &self.alpha
    }

    /// The shapes shared by all classifiers.
    pub fn common(&self) -> &[f64] {
        &self.common
    }

    /// The shapes shared by pairs.
    pub fn pairs(&self) -> &[SharedPair] {
        &self.pairs
    }

    /// What every classifier has for itself: α less all shared shapes.
    pub fn private(&self) -> &[Vec<f64>] {
        &self.private
    }

    /// δ of two classifiers when all others are marginalised: what the two share with each other
    /// and with everybody. What either shares with a third joins its private part.
    pub fn shared_by(&self, a: usize, b: usize) -> Vec<f64> {
        let mut delta = self.common.clone();
        let is_theirs = |pair: &&SharedPair| {
            (pair.first, pair.second) == (a, b) || (pair.first, pair.second) == (b, a)
        };
        for pair in self.pairs.iter().filter(is_theirs) {
            delta.iter_mut().zip(&pair.delta).for_each(|(sum, d)| *sum += d);
        }
        // The sum may exceed α by rounding.
        let bounds = self.alpha[a].iter().zip(&self.alpha[b]).map(|(a, b)| a.min(*b));
        delta.iter_mut().zip(bounds).for_each(|(d, bound)| *d = d.min(bound));
        delta
    }
}

fn check_length(name: &str, values: &[f64], n_classes: usize) -> Result<()> {
    if values.len() == n_classes {
        return Ok(());
    }
    Err(Error::Mismatch {
        what: "numbers of classes",
        expected: n_classes.to_string(),
        found: format!("{} in `{name}`", values.len()),
    })
}

fn check_delta(name: &str, delta: &[f64], n_classes: usize) -> Result<()> {
    check_length(name, delta, n_classes)?;
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
                "at least the sum of the deltas that its classifier takes part in",
                format!("{} for a sum of {}", alpha[k][l], shared(k, l)),
            ));
        }
        Ok(shape.max(0.0))
    };
    (0..alpha.len()).map(|k| (0..common.len()).map(|l| private(k, l)).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn illegal_shapes_are_refused() {
        let alpha = vec![vec![3.0, 2.0], vec![2.0, 2.0]];
        let pair = |first, second, delta: f64| SharedPair { first, second, delta: vec![delta; 2] };
        assert!(CorrelatedDirichlet::new(alpha.clone(), Some(vec![2.0, 2.0]), vec![]).is_ok());
        for (common, pairs) in [
            (vec![2.1, 0.0], vec![]),
            (vec![-0.1, 0.0], vec![]),
            (vec![f64::NAN, 0.0], vec![]),
            (vec![1.0], vec![]),
            (vec![1.0, 1.0], vec![pair(0, 1, 1.1)]),
            (vec![1.0, 1.0], vec![pair(0, 0, 0.1)]),
            (vec![1.0, 1.0], vec![pair(0, 2, 0.1)]),
        ] {
            assert!(CorrelatedDirichlet::new(alpha.clone(), Some(common), pairs).is_err());
        }
        assert!(
            CorrelatedDirichlet::new(vec![vec![1.0, 2.0], vec![1.0; 3]], None, vec![]).is_err()
        );
    }

    #[test]
    fn a_rounding_error_below_zero_is_zero() {
        let alpha = vec![vec![0.3, 1.0], vec![0.3, 1.0]];
        let distribution = CorrelatedDirichlet::new(alpha, Some(vec![0.1 + 0.2, 0.5]), vec![]);
        assert_eq!(distribution.unwrap().private[0][0], 0.0);
    }
}
