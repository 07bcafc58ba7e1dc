//! How much of the average belongs to the regression on one-hot votes.
//!
//! Gold items that neither part has seen have probability pᵢ of their label under the discounted
//! model and rᵢ under the regression. The share w of the regression has the likelihood
//! `Π_i` ((1 − w) pᵢ + w rᵢ). Before any gold label it is 0 with probability ½ and otherwise uniform.
//! Its posterior mean is used: near 0 if the regression predicts badly out of fold, and close to the
//! best share if gold labels are many.

use consilience_numerics::log_space::log_sum_exp;

/// The prior probability that the share is 0.
const NONE: f64 = 0.5;

/// Values of the share over which the posterior is averaged.
const VALUES: usize = 200;

/// The posterior mean of the share, from the probabilities (pᵢ, rᵢ) of the labels of gold items.
pub(super) fn share(probabilities: &[(f64, f64)]) -> f64 {
    let ln_likelihood =
        |w: f64| -> f64 { probabilities.iter().map(|(p, r)| ((1.0 - w) * p + w * r).ln()).sum() };
    let value = |m: usize| (m as f64 + 0.5) / VALUES as f64;
    let each = ((1.0 - NONE) / VALUES as f64).ln();
    let some: Vec<f64> = (0..VALUES).map(|m| each + ln_likelihood(value(m))).collect();
    let all = log_sum_exp(&[log_sum_exp(&some), NONE.ln() + ln_likelihood(0.0)]);
    some.iter().enumerate().map(|(m, ln_weight)| (ln_weight - all).exp() * value(m)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values by hand: without items ½·½; one item with p = ½ and r = 1 has the evidences ½·¾ and
    /// ½·½, and ½·(¼ + ⅙) for the mean.
    #[test]
    fn shares_are_posterior_means() {
        assert!((share(&[]) - 0.25).abs() < 1e-12);
        assert!((share(&[(0.3, 0.3); 40]) - 0.25).abs() < 1e-12);
        assert!((share(&[(0.5, 1.0)]) - 1.0 / 3.0).abs() < 1e-5);
    }

    #[test]
    fn held_out_probabilities_decide() {
        assert!(share(&[(0.8, 0.5); 50]) < 0.01);
        assert!(share(&[(0.5, 0.8); 50]) > 0.9);
        // Each is right where the other one is not.
        let both: Vec<(f64, f64)> = [(0.9, 0.1), (0.1, 0.9)].repeat(25);
        assert!((share(&both) - 0.5).abs() < 0.02);
    }
}
