//! How fast the lattice sum of an inner integral converges, from the shapes of its two ends.

use std::f64::consts::PI;

use super::surrogate::Share;

/// Shapes that rule the two ends of an inner integrand in the logit of the share.
///
/// A density v^A q^B of the logit z has the Fourier transform Γ(A+iω)Γ(B−iω); by Stirling's formula
/// −ln|Γ(A+iω)/Γ(A)| = ω atan(ω/A) − ½(A−½) ln(1+ω²/A²).
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Ends([f64; 2]);

impl Ends {
    pub(crate) fn new(share: Share) -> Self {
        let v = 1.0 / (1.0 + (-share.logit).exp());
        let precision = 1.0 / (share.sd * share.sd);
        // the surrogate's private shapes are half a unit too small here
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
