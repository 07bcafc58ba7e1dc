//! The Dirichlet distribution.

#![allow(clippy::doc_markdown, reason = "a constant names the test that guards it")]

use rand::Rng;

use crate::Estimate;
use crate::error::{Error, Result};
use crate::gamma::sample_ln_gamma;
use consilience_numerics::simplex;
use consilience_numerics::special::{digamma, ln_multivariate_beta};

/// Bound on the rounding error of a log density, relative to the sum of the sizes of its terms.
///
/// Guard: distributions the_bound_on_rounding_is_tight
const ROUNDING: f64 = 2e-15;

/// The Dirichlet distribution on the probability simplex.
///
/// ```text
/// f(x; α) = 1/B(α) ∏ₗ xₗ^(αₗ − 1),   B(α) = ∏ Γ(αₗ) / Γ(Σ αₗ)
/// ```
///
/// # Example
/// ```
/// use correlated_dirichlet::Dirichlet;
/// let dirichlet = Dirichlet::new(&[3.0, 1.0, 1.0])?;
/// assert!((dirichlet.ln_pdf(&[0.5, 0.25, 0.25]) - 3f64.ln()).abs() < 1e-12);
/// # Ok::<(), correlated_dirichlet::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Dirichlet {
    concentration: Vec<f64>,
    ln_normaliser: f64,
}

impl Dirichlet {
    /// Checks that there are at least two concentrations, all finite and positive.
    pub fn new(concentration: &[f64]) -> Result<Self> {
        check_concentration("concentration", concentration)?;
        Ok(Self {
            concentration: concentration.to_vec(),
            ln_normaliser: ln_multivariate_beta(concentration),
        })
    }

    /// The concentrations α.
    pub fn concentration(&self) -> &[f64] {
        &self.concentration
    }

    /// ln B(α).
    pub fn ln_normaliser(&self) -> f64 {
        self.ln_normaliser
    }

    /// The log density at a point of the simplex.
    pub fn ln_pdf(&self, x: &[f64]) -> f64 {
        self.terms(x).sum::<f64>() - self.ln_normaliser
    }

    /// The log density with a bound on its rounding error.
    pub fn ln_pdf_with_error(&self, x: &[f64]) -> Estimate {
        let size = self.terms(x).map(f64::abs).sum::<f64>() + self.ln_normaliser.abs() + 1.0;
        Estimate { ln_density: self.ln_pdf(x), error: ROUNDING * size }
    }

    /// (αₗ − 1) ln xₗ.
    fn terms(&self, x: &[f64]) -> impl Iterator<Item = f64> {
        let exponents = self.concentration.iter().map(|a| a - 1.0);
        // At x = 0 with exponent 0 the factor is 1, while 0 · ln 0 would be NaN.
        exponents.zip(x).map(|(e, x)| if e == 0.0 { 0.0 } else { e * x.ln() })
    }

    /// The mean, α / Σα.
    pub fn mean(&self) -> Vec<f64> {
        let total: f64 = self.concentration.iter().sum();
        self.concentration.iter().map(|a| a / total).collect()
    }

    /// The variance of each component.
    pub fn variance(&self) -> Vec<f64> {
        let total: f64 = self.concentration.iter().sum();
        self.mean().iter().map(|m| m * (1.0 - m) / (total + 1.0)).collect()
    }

    /// The Kullback-Leibler divergence to another Dirichlet distribution, in nats: the expected log ratio of their
    /// densities under this one.
    pub fn divergence(&self, other: &Self) -> f64 {
        let total: f64 = self.concentration.iter().sum();
        let pairs = self.concentration.iter().zip(&other.concentration);
        let expected = pairs.map(|(a, b)| (a - b) * (digamma(*a) - digamma(total))).sum::<f64>();
        expected + other.ln_normaliser - self.ln_normaliser
    }

    /// Draws a point of the simplex. Entries may underflow to 0 but are never NaN.
    pub fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> Vec<f64> {
        let mut x: Vec<f64> = self.concentration.iter().map(|&a| sample_ln_gamma(a, rng)).collect();
        simplex::softmax(&mut x);
        x
    }
}

/// Checks that there are at least two concentrations, all finite and positive; the error names the first one that is
/// not.
pub fn check_concentration(name: &str, concentration: &[f64]) -> Result<()> {
    if concentration.len() < 2 {
        let found = concentration.len();
        return Err(Error::parameter(name, "a list of at least two numbers", found));
    }
    match concentration.iter().position(|a| !(*a > 0.0 && a.is_finite())) {
        None => Ok(()),
        Some(l) => {
            let name = format!("{name}[{l}]");
            Err(Error::parameter(name, "finite and > 0", concentration[l]))
        }
    }
}
