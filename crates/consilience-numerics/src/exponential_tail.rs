//! Closed-form tails of infinite sums whose terms are eventually a sum of a few known exponentials.
//!
//! A trapezoid rule on an infinite line is cut off at some node. If from there on its terms are
//! `F_k = Σᵢ cᵢ rᵢᵏ` with known `rᵢ = exp(−eᵢ h)` and unknown `cᵢ`, i < M, the rest of the sum follows from M of them:
//!
//! ```text
//! Σ_{k≥0} F_k = Σ_{j<M} w_j F_j,   w_j = (p₀ + … + p_{M−1−j}) / Πᵢ(1 − rᵢ),   Πᵢ(1 − rᵢx) = Σ pᵢxⁱ
//! ```
//!
//! The formula is exact for each exponential, including repeated ones, however slowly the first one decays.

/// The weights `w_j · e₀` of the first M terms of an infinite sum, the innermost first.
///
/// The factor e₀, the smallest exponent, keeps them finite as e₀ → 0, where the tail dominates the sum.
pub fn scaled_weights<const M: usize>(exponents: &[f64; M], step: f64) -> [f64; M] {
    let mut polynomial = [0.0; M];
    polynomial[0] = 1.0;
    let mut scale = if exponents[0].abs() * step < 1e-12 {
        1.0 / step
    } else {
        exponents[0] / -(-exponents[0] * step).exp_m1()
    };
    for (i, &e) in exponents.iter().enumerate() {
        let ratio = (-e * step).exp();
        for k in (1..M).rev() {
            polynomial[k] -= ratio * polynomial[k - 1];
        }
        if i > 0 {
            scale /= -(-e * step).exp_m1();
        }
    }
    let mut weights = [0.0; M];
    let mut partial = 0.0;
    for (weight, p) in weights.iter_mut().rev().zip(polynomial) {
        partial += p;
        *weight = partial * scale;
    }
    weights
}

/// Weights for the exponents e₀, e₀+1, e₀+2, …; see [`scaled_weights`].
pub fn integer_spaced_weights<const M: usize>(first: f64, step: f64) -> [f64; M] {
    let mut exponents = [first; M];
    for (i, e) in exponents.iter_mut().enumerate() {
        *e += i as f64;
    }
    scaled_weights(&exponents, step)
}

/// Derivative of [`integer_spaced_weights`] in its first exponent.
pub fn integer_spaced_weights_derivative<const M: usize>(first: f64, step: f64) -> [f64; M] {
    const STEP: f64 = 1e-4;
    let (up, down) = (
        integer_spaced_weights::<M>(first + STEP, step),
        integer_spaced_weights::<M>(first - STEP, step),
    );
    std::array::from_fn(|j| (up[j] - down[j]) / (2.0 * STEP))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_exponentials_exactly() {
        let (h, exponents, c) = (0.7, [0.3, 1.3, 2.3, 2.9], [1.0, -2.0, 0.5, 3.0]);
        let term =
            |k: f64| -> f64 { (0..4).map(|i| c[i] * (-exponents[i] * h * k).exp()).sum::<f64>() };
        let exact: f64 = (0..4).map(|i| c[i] / (1.0 - (-exponents[i] * h).exp())).sum();
        let weights = scaled_weights(&exponents, h);
        let closed: f64 = (0..4).map(|j| weights[j] * term(j as f64)).sum::<f64>() / 0.3;
        assert!((closed / exact - 1.0).abs() < 1e-12);
    }

    #[test]
    fn tends_to_a_point_mass() {
        for first in [0.0, 1e-14, 1e-9] {
            let weights: [f64; 4] = integer_spaced_weights(first, 0.5);
            // The mass of a constant is in the first exponential: e₀ Σ → 1/h.
            assert!((weights.iter().sum::<f64>() - 2.0).abs() < 1e-8);
        }
    }
}
