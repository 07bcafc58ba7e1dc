//! The error of a trapezoid rule, read off its own terms.
//!
//! With F̂ the Fourier transform of the integrand, a sum of step h errs by F̂(2π/h). The same terms, taken with
//! the factors iᵏ and (−1)ᵏ, give F̂ at a quarter and at half of that frequency: two points of
//! its decay, from which the third is extrapolated.

/// Sums of terms by k mod 4.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Classes(pub(crate) [f64; 4]);

/// The fastest decay believed: that of a Gaussian, whose logarithm grows fourfold when h is halved.
const GAUSSIAN: f64 = 4.0;

/// How fast a rule converges.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Decay {
    /// −ln of the relative error at the present step.
    pub(crate) level: f64,
    /// Factor on `level` when the step is halved.
    pub(crate) gain: f64,
}

impl Classes {
    /// Adds the k-th term.
    pub(crate) fn add(&mut self, k: i64, term: f64) {
        self.0[k.rem_euclid(4) as usize] += term;
    }

    /// Decay relative to the integral `total` (the sum of all terms).
    pub(crate) fn decay(&self, total: f64) -> Decay {
        let [a, b, c, d] = self.0;
        // the two frequencies ±ω fall together at half, and at the full one
        let quarter = -(((a - c).hypot(b - d)) / total).min(1.0).ln();
        let half = -(0.5 * (a - b + c - d).abs() / total).min(0.9).ln();
        // a lucky phase can hide an error at half the frequency, never at a quarter of it
        let half = half.min(GAUSSIAN * quarter + 0.7);
        let gain = (half / quarter.max(1e-3)).clamp(1.5, GAUSSIAN);
        Decay { level: gain * half - std::f64::consts::LN_2, gain }
    }
}

impl Decay {
    /// The relative error.
    pub(crate) fn error(&self) -> f64 {
        (-self.level).exp()
    }

    /// The factor on the step that brings the error down to `goal`.
    pub(crate) fn factor(&self, goal: f64) -> f64 {
        let order = self.gain.log2();
        ((self.level / -goal.ln()).max(0.0)).powf(1.0 / order).clamp(0.35, 0.95)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn predicts_the_error_of_a_gaussian_sum() {
        let step = 1.25;
        for shift in [0.0, 0.3, 0.5, 0.625] {
            let (mut classes, mut total) = (Classes::default(), 0.0);
            for k in -12..=12 {
                let term = (-0.5 * (step * f64::from(k) + shift).powi(2)).exp();
                classes.add(i64::from(k), term);
                total += term;
            }
            let exact = 2.0 * (-2.0 * (std::f64::consts::PI / step).powi(2)).exp();
            let predicted = classes.decay(total).error();
            assert!(predicted > 0.1 * exact && predicted < 30.0 * exact, "{predicted} {exact}");
        }
    }
}
