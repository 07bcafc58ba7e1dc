//! Errors of trapezoid rules, estimated from their own terms or from the shapes of the ends.
//!
//! With F̂ the Fourier transform of the integrand, a sum of step h errs by 2F̂(ω), ω = 2π/h. The same terms, taken
//! with the factors e^(πik/2) and e^(3πik/4), give |F̂| at ω/4 and 3ω/8 for any offset of the nodes. The
//! transform of a log-gamma variable through these two points, from a Gaussian's to that of a function that is
//! analytic in a strip, gives the third: ln|F̂(ω)| = −κ g(ω/β), g(x) = x atan x − ½ ln(1+x²).

use std::f64::consts::{FRAC_1_SQRT_2, PI};

use crate::pair::laplace::Share;

/// Residues of k that terms are sorted into.
const N: usize = 8;

/// Sums of terms by k mod 8.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Classes(pub(crate) [f64; N]);

/// How fast a rule converges: ln|F̂| = −unit · g(frequency).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Decay {
    unit: f64,
    /// ω/β at the present step.
    frequency: f64,
}

/// x atan x − ½ ln(1+x²): x²/2 near 0, linear far out.
pub(crate) fn level(x: f64) -> f64 {
    if x < 0.01 { 0.5 * x * x } else { x * x.atan() - 0.5 * (x * x).ln_1p() }
}

/// The derivative of [`level`].
pub(crate) fn level_slope(x: f64) -> f64 {
    x.atan()
}

/// Below this the decay cannot be distinguished from that of a Gaussian.
const FLATTEST: f64 = 0.02;

impl Classes {
    /// Adds the k-th term.
    pub(crate) fn add(&mut self, k: i64, term: f64) {
        self.0[k.rem_euclid(N as i64) as usize] += term;
    }

    /// Decay relative to the integral `total` (the sum of all terms).
    pub(crate) fn decay(&self, total: f64) -> Decay {
        let c = &self.0;
        let two = (c[0] - c[2] + c[4] - c[6]).hypot(c[1] - c[3] + c[5] - c[7]);
        let (d, e) = ((c[1] - c[5]) * FRAC_1_SQRT_2, (c[3] - c[7]) * FRAC_1_SQRT_2);
        // e^(3πik/4): k = 1 at (−1, 1)/√2, 2 at −i, 3 at (1, 1)/√2, 4 at −1
        let three = (c[0] - c[4] - d + e).hypot(c[6] - c[2] + d + e);
        let depth = |amplitude: f64| -(amplitude / total).clamp(1e-12, 0.98).ln();
        let (two, three) = (depth(two), depth(three));
        let x = solve((three / two).min(2.25));
        let mut decay = Decay { unit: two / level(x), frequency: 4.0 * x };
        // at ω/2 both signs coincide; a larger value than expected is the slow decay of a kink
        let half = depth(0.5 * (c[0] - c[1] + c[2] - c[3] + c[4] - c[5] + c[6] - c[7]).abs());
        let expected = decay.unit * level(2.0 * x);
        if half < 0.8 * expected {
            decay.unit *= half / expected;
        }
        decay
    }
}

/// x with level(1.5x) = ratio · level(x).
fn solve(ratio: f64) -> f64 {
    let (mut low, mut high) = (FLATTEST.ln(), 7.0f64);
    for _ in 0..16 {
        let middle = 0.5 * (low + high);
        let x = middle.exp();
        if level(1.5 * x) > ratio * level(x) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low.exp()
}

impl Decay {
    /// A Gaussian's decay with this error at twice the step.
    pub(crate) fn gaussian(coarse: f64) -> Self {
        let depth = -(0.5 * coarse).clamp(1e-12, 0.9).ln();
        Self { unit: depth / level(0.5 * FLATTEST), frequency: FLATTEST }
    }

    /// The relative error.
    pub(crate) fn error(&self) -> f64 {
        2.0 * (-self.unit * level(self.frequency)).exp()
    }

    /// The factor on the step that brings the error down to `goal`.
    pub(crate) fn factor(&self, goal: f64) -> f64 {
        let wanted = -(0.5 * goal).ln() / self.unit;
        let mut factor = 1.0;
        while factor > 0.3 && level(self.frequency / factor) < wanted {
            factor *= 0.95;
        }
        factor
    }
}

/// The shapes of the two ends of an integrand in the logit of a share.
///
/// A density v^A q^B of the logit z has the Fourier transform Γ(A+iω)Γ(B−iω); by Stirling's formula
/// −ln|Γ(A+iω)/Γ(A)| = ω atan(ω/A) − ½(A−½) ln(1+ω²/A²).
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct EndShapes([f64; 2]);

impl EndShapes {
    pub(crate) fn new(share: Share) -> Self {
        let v = 1.0 / (1.0 + (-share.logit).exp());
        let precision = 1.0 / (share.sd * share.sd);
        // the private shapes of the Laplace approximation are half a unit too small here
        Self([precision / (1.0 - v).max(1e-9), precision / v.max(1e-9) + 0.5])
    }

    /// Curvature of A ln v + B ln q in z at its maximum.
    pub(crate) fn precision(self) -> f64 {
        1.0 / (1.0 / self.0[0] + 1.0 / self.0[1])
    }

    /// The same with both shapes larger by a factor.
    pub(crate) fn scaled(self, factor: f64) -> Self {
        Self(self.0.map(|shape| shape * factor))
    }

    /// −ln of the transform at ω, and its derivative.
    pub(crate) fn level(self, omega: f64) -> (f64, f64) {
        let (mut value, mut slope) = (0.0, 0.0);
        for a in self.0 {
            let ratio = omega / a;
            let (angle, log) = (ratio.atan(), (ratio * ratio).ln_1p());
            value += omega * angle - 0.5 * (a - 0.5) * log;
            slope += angle + 0.5 * ratio / a / (1.0 + ratio * ratio);
        }
        (value, slope)
    }

    /// The frequency at which the level is `target`.
    pub(crate) fn frequency(self, target: f64) -> f64 {
        let gaussian = 2.0 * target / (1.0 / self.0[0] + 1.0 / self.0[1]);
        let mut omega = gaussian.sqrt().hypot(target / PI);
        for _ in 0..2 {
            let (value, slope) = self.level(omega);
            omega = (omega + (target - value) / slope).max(0.5 * omega);
        }
        omega
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(density: impl Fn(f64) -> f64, step: f64, exact: f64) {
        for shift in [0.0, 0.1, 0.25, 0.4, 0.5] {
            let (mut classes, mut total) = (Classes::default(), 0.0);
            for k in -60..=60 {
                let term = density(step * (f64::from(k) + shift));
                classes.add(i64::from(k), term);
                total += term;
            }
            let predicted = classes.decay(total).error();
            assert!(predicted > 0.3 * exact && predicted < 30.0 * exact, "{predicted} {exact}");
        }
    }

    #[test]
    fn predicts_the_error_of_a_gaussian_sum() {
        let exact = |step: f64| 2.0 * (-2.0 * (std::f64::consts::PI / step).powi(2)).exp();
        for step in [1.0, 1.25] {
            check(|y| (-0.5 * y * y).exp(), step, exact(step));
        }
    }

    #[test]
    fn predicts_the_error_of_a_logistic_sum() {
        let step = 0.9;
        let omega = std::f64::consts::TAU / step;
        let exact = 2.0 * std::f64::consts::PI * omega / (std::f64::consts::PI * omega).sinh();
        check(|y| 0.25 / (0.5 * y).cosh().powi(2), step, exact);
    }
}
