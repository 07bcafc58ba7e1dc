//! The value that every density of this crate returns: a logarithm with its error.

/// A log density with its estimated error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// ln f(x): +∞ where the density has a pole, −∞ outside its support.
    pub ln_density: f64,
    /// Estimated absolute error of `ln_density`; infinite if the density is not resolved.
    ///
    /// For two classifiers it is an upper estimate of the quadrature error. For three and more it is statistical: the
    /// true error is below twice this value in about 95 of 100 cases.
    pub error: f64,
}

impl Estimate {
    /// Whether the error is finite, so that the value can be used.
    ///
    /// If it is not, too few points carried the weight, or single points too much of it: `ln_density` is a guess, and
    /// the integral may hold mass that no point has found.
    pub fn is_resolved(&self) -> bool {
        self.error < f64::INFINITY
    }

    pub(crate) const UNRESOLVED: Self = Self { ln_density: f64::NAN, error: f64::INFINITY };

    /// The density 1, known exactly.
    pub(crate) const ONE: Self = Self { ln_density: 0.0, error: 0.0 };

    /// Multiplies the density by that of an independent variable.
    pub(crate) fn multiply(&mut self, other: Self) {
        self.ln_density += other.ln_density;
        self.error = self.error.hypot(other.error);
    }
}
