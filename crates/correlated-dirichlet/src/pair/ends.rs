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

    /// The levels at one frequency of laws that are narrower by given factors.
    pub(crate) fn narrowed(self, omega: f64) -> Narrowed {
        let mut factor = 1.0;
        Narrowed(std::array::from_fn(|_| {
            let ln_level = self.scaled(factor).level(omega).0.ln();
            factor *= 2.0;
            ln_level
        }))
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

/// Logarithms of the level for precisions larger by 1, 2, 4, …: lines ask for what lies between.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Narrowed([f64; 5]);

impl Narrowed {
    /// The level as it is.
    pub(crate) fn plain(&self) -> f64 {
        self.0[0].exp()
    }

    /// The level if the precision is larger by `factor` ≥ 1.
    ///
    /// Its logarithm is all but concave in that of the factor, with slopes from 0 to −1, so that chords, and beyond the
    /// last the slope −1, promise at most a per cent too much.
    pub(crate) fn level(&self, factor: f64) -> f64 {
        let last = self.0.len() - 1;
        let at = factor.log2();
        let below = (at as usize).min(last);
        let rest = at - below as f64;
        let slope =
            if below < last { self.0[below + 1] - self.0[below] } else { -std::f64::consts::LN_2 };
        (self.0[below] + slope * rest).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Chords lie below what they stand for, to a per cent, and not far.
    #[test]
    fn narrowed_levels_are_safe() {
        for (shapes, omega) in [([0.3, 8.0], 6.0), ([4.0, 5.0], 11.0), ([300.0, 40.0], 30.0)] {
            let ends = Ends(shapes);
            let narrowed = ends.narrowed(omega);
            assert!((narrowed.plain() / ends.level(omega).0 - 1.0).abs() < 1e-12);
            for factor in [1.05, 1.5, 2.0, 3.7, 11.0, 16.0, 90.0] {
                let (chord, exact) = (narrowed.level(factor), ends.scaled(factor).level(omega).0);
                assert!(chord <= 1.01 * exact, "{shapes:?} {factor}: {chord} {exact}");
                let far = if factor > 16.0 { 0.5 } else { 0.95 };
                assert!(chord > far * exact, "{shapes:?} {factor}: {chord} {exact}");
            }
        }
    }
}
