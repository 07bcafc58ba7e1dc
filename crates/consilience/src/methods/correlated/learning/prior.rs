//! The prior of δ as a density of η, with its derivatives.

use super::config::DeltaPrior;
use super::pair_likelihood::expit;

/// Shape and rate of the paper's gamma prior.
const PAPER: f64 = 1e-3;
/// η at which the paper's prior is cut off smoothly: δ is 10⁻⁶ of its bound.
const WALL: f64 = -14.0;

/// Value, slope and negative second derivative in one coordinate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Derivatives {
    pub(super) value: f64,
    pub(super) slope: f64,
    pub(super) curvature: f64,
}

/// ln of the logistic density e^−x / (1+e^−x)²: x is the logit of something uniform.
pub(super) fn logistic(x: f64) -> Derivatives {
    let p = expit(x);
    let value = -x.abs() - 2.0 * (-x.abs()).exp().ln_1p();
    Derivatives { value, slope: 1.0 - 2.0 * p, curvature: 2.0 * p * (1.0 - p) }
}

/// The prior of one η with bound b; μ matters only where priors are pooled.
pub(super) fn element(prior: DeltaPrior, eta: f64, bound: f64, mu: f64) -> Derivatives {
    match prior {
        DeltaPrior::Pooled => {
            let d = eta - mu;
            Derivatives { value: -0.5 * d * d, slope: -d, curvature: 1.0 }
        }
        DeltaPrior::Uniform => logistic(eta),
        DeltaPrior::Paper => paper(eta, bound),
    }
}

/// δ^a e^(−bδ) (1−p) with p = expit(η): the gamma density times dδ/dη.
fn paper(eta: f64, bound: f64) -> Derivatives {
    let p = expit(eta);
    let q = expit(-eta);
    let delta = bound * p;
    let below = (WALL - eta).max(0.0);
    let ln_p = if eta > 0.0 { -(-eta).exp().ln_1p() } else { eta - eta.exp().ln_1p() };
    let ln_q = ln_p - eta;
    let slope = PAPER * q - PAPER * delta * q - p;
    let bend = PAPER * p * q + PAPER * delta * q * (q - p) + p * q;
    Derivatives {
        value: PAPER * (bound.ln() + ln_p) - PAPER * delta + ln_q - 0.5 * below * below,
        slope: slope + below,
        curvature: bend + if below > 0.0 { 1.0 } else { 0.0 },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derivatives_agree_with_differences() {
        for prior in [DeltaPrior::Pooled, DeltaPrior::Uniform, DeltaPrior::Paper] {
            for eta in [-15.5, -8.0, -1.0, 0.3, 2.0, 9.0] {
                let at = |by: f64| element(prior, eta + by, 3.0, 0.4);
                let (low, here, high) = (at(-1e-4), at(0.0), at(1e-4));
                let slope = (high.value - low.value) / 2e-4;
                let curvature = (low.slope - high.slope) / 2e-4;
                assert!((slope - here.slope).abs() < 1e-6, "{prior:?} {eta}: {slope} {here:?}");
                assert!((curvature - here.curvature).abs() < 1e-6, "{prior:?} {eta} {curvature}");
            }
        }
    }
}
