//! Logarithms of sums of exponentials, without overflow or underflow.

/// ln x, with x raised to the smallest normal number: a finite logarithm for sums in which ∞ − ∞ could occur.
pub fn ln_at_least_tiny(x: f64) -> f64 {
    x.max(f64::MIN_POSITIVE).ln()
}

/// ln Σ exp(xᵢ); −∞ for an empty sum, +∞ if any term is infinite.
pub fn log_sum_exp(values: &[f64]) -> f64 {
    let max = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if max.is_infinite() {
        return max;
    }
    max + values.iter().map(|value| (value - max).exp()).sum::<f64>().ln()
}

/// ln(eᵃ + eᵇ).
pub fn log_add_exp(a: f64, b: f64) -> f64 {
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    if high.is_infinite() { high } else { high + (low - high).exp().ln_1p() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_at_the_extremes() {
        assert_eq!(log_sum_exp(&[]), f64::NEG_INFINITY);
        assert_eq!(log_sum_exp(&[f64::NEG_INFINITY; 2]), f64::NEG_INFINITY);
        assert_eq!(log_sum_exp(&[f64::INFINITY, 0.0]), f64::INFINITY);
        assert!((log_sum_exp(&[-1000.0, -1000.0]) - (2f64.ln() - 1000.0)).abs() < 1e-12);
        assert!((log_add_exp(1e4, f64::NEG_INFINITY) - 1e4).abs() < 1e-12);
        assert_eq!(log_add_exp(f64::NEG_INFINITY, f64::NEG_INFINITY), f64::NEG_INFINITY);
        assert!((log_add_exp(0.0, 1.0) - (1.0 + 1f64.exp()).ln()).abs() < 1e-15);
    }
}
