//! The Dirichlet distribution.

use rand::Rng;

use crate::error::{Error, Result};
use crate::gamma::sample_ln_gamma;
use consilience_numerics::simplex;
use consilience_numerics::special::{digamma, ln_multivariate_beta};

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
        let exponents = self.concentration.iter().map(|a| a - 1.0);
        // At x = 0 with exponent 0 the factor is 1, while 0 · ln 0 would be NaN.
        let terms = exponents.zip(x).map(|(e, x)| if e == 0.0 { 0.0 } else { e * x.ln() });
        terms.sum::<f64>() - self.ln_normaliser
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

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand::rngs::ChaCha8Rng;

    fn numbers(cell: &str) -> Vec<f64> {
        cell.split(' ').map(|number| number.parse().unwrap()).collect()
    }

    #[test]
    fn log_density_agrees_with_the_reference_table() {
        let table = include_str!("../../../reference/dirichlet.csv");
        let mut seen = 0;
        for line in table.lines().skip(1) {
            let cells: Vec<&str> = line.split(',').collect();
            let (alpha, x) = (numbers(cells[0]), numbers(cells[1]));
            let expected: f64 = cells[2].parse().unwrap();
            let got = Dirichlet::new(&alpha).unwrap().ln_pdf(&x);
            // Terms of size `scale` cancel; a few units in their last place remain.
            let scale = ln_multivariate_beta(&alpha).abs() + expected.abs() + 1.0;
            assert!((got - expected).abs() < 4e-15 * scale * alpha.len() as f64, "{line}: {got}");
            seen += 1;
        }
        assert!(seen >= 30);
    }

    #[test]
    fn draws_have_the_mean_and_variance_and_survive_tiny_shapes() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let dirichlet = Dirichlet::new(&[2.0, 1.0, 0.5]).unwrap();
        let n = 40_000;
        let mut mean = [0.0; 3];
        for _ in 0..n {
            for (m, x) in mean.iter_mut().zip(dirichlet.sample(&mut rng)) {
                *m += x / f64::from(n);
            }
        }
        for ((got, want), variance) in mean.iter().zip(dirichlet.mean()).zip(dirichlet.variance()) {
            assert!((got - want).abs() < 6.0 * (variance / f64::from(n)).sqrt());
        }
        let tiny = Dirichlet::new(&[1e-8; 3]).unwrap();
        for _ in 0..1000 {
            let sum: f64 = tiny.sample(&mut rng).iter().sum();
            assert!((sum - 1.0).abs() < 1e-12);
        }
    }

    /// The definition, as a mean over draws; the bound is six standard errors.
    #[test]
    fn the_divergence_is_the_mean_log_ratio() {
        let (a, b) = (Dirichlet::new(&[3.0, 1.0, 0.7]), Dirichlet::new(&[1.0, 2.0, 1.5]));
        let (a, b) = (a.unwrap(), b.unwrap());
        let mut rng = ChaCha8Rng::seed_from_u64(8);
        let n = 40_000;
        let ratio = |x: Vec<f64>| a.ln_pdf(&x) - b.ln_pdf(&x);
        let ratios: Vec<f64> = (0..n).map(|_| ratio(a.sample(&mut rng))).collect();
        let mean = ratios.iter().sum::<f64>() / f64::from(n);
        let variance = ratios.iter().map(|r| (r - mean).powi(2)).sum::<f64>() / f64::from(n);
        let bound = 6.0 * (variance / f64::from(n)).sqrt();
        assert!((mean - a.divergence(&b)).abs() < bound, "{mean} {}", a.divergence(&b));
        assert!(a.divergence(&a).abs() < 1e-14);
    }

    #[test]
    fn bad_concentrations_are_named() {
        for bad in [-1.0, 0.0, f64::NAN, f64::INFINITY] {
            let message = Dirichlet::new(&[1.0, 2.0, bad]).unwrap_err().to_string();
            let expected = format!("`concentration[2]` must be finite and > 0, got {bad}");
            assert_eq!(message, expected);
        }
        assert!(Dirichlet::new(&[1.0]).is_err());
    }

    #[test]
    fn the_density_at_the_boundary_follows_the_formula() {
        let flat = Dirichlet::new(&[1.0, 1.0]).unwrap();
        assert_eq!(flat.ln_pdf(&[0.0, 1.0]), 0.0);
        assert_eq!(Dirichlet::new(&[2.0, 1.0]).unwrap().ln_pdf(&[0.0, 1.0]), f64::NEG_INFINITY);
        assert_eq!(Dirichlet::new(&[0.5, 1.0]).unwrap().ln_pdf(&[0.0, 1.0]), f64::INFINITY);
    }
}
