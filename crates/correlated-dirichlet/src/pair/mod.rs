//! Two classifiers: the density of their outputs under the correlated Dirichlet distribution, moments and correlations.
//!
//! Independent gammas of scale 1, Dₗ ~ Γ(δₗ) and A^kₗ ~ Γ(α^kₗ − δₗ), generate the outputs x^k ∝ A^k + D. With totals
//! s₁ = ρs and s₂ = s the density is a two-dimensional integral of a product of one-dimensional ones:
//!
//! ```text
//! f(x¹, x²) = C ∫ dρ ρ^(J−1) ∫ ds s^(N−1) e^(−s(1+ρ)) Πₗ φₗ(ρ, s)
//! φₗ = ∫₀^m u^(δ−1) (ρx¹ − u)^(a¹−1) (x² − u)^(a²−1) e^(su) du,   m = min(ρx¹, x²),   a^k = α^k − δ
//! ```
//!
//! [`PairDensity`] evaluates it by one of two routes:
//!
//! - `exact`, for resolution 0: trapezoid rules in variables in which the integrands are analytic in a strip, with the ends
//!   summed in closed form, refined until the estimated error is small enough;
//! - `smoothed`, for a finite resolution: every component is tabulated once, so that an item only interpolates.
//!
//! Both use `component` (the shapes of the gamma variables), `item` (one component of one item), `laplace` (the mode and
//! curvature of the integrand, which place the nodes) and `accuracy` (steps and cut-offs for a tolerance). `moments` and
//! `inverse` are independent of the density: exact second moments, and δ for given correlations.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "indices of short lattices, clamped where they are made"
)]
#![allow(clippy::doc_markdown, reason = "formulas in the documentation carry their indices")]

mod accuracy;
mod component;
mod exact;
mod inverse;
mod item;
mod laplace;
mod moments;
mod smoothed;

use std::sync::{Arc, OnceLock};

use pulp::Arch;

use crate::{Error, Estimate, Result};
use accuracy::Accuracy;
use component::Component;
pub use component::LARGEST_SHAPE;
use consilience_numerics::instructions::four_lanes;
use consilience_numerics::laguerre::Laguerre;
use consilience_numerics::special::ln_multivariate_beta;
pub use exact::adaptive::Scratch;
pub use exact::gradient::Gradient;
pub use inverse::{MomentMatch, delta_for_correlation, delta_for_correlations, moment_match};
pub use moments::{ComponentMoments, moments};
use smoothed::table::{Direction, Tables};
pub use smoothed::{LearningDensity, LearningScratch, LearningShapes, RatioNodes};

/// The density of two classifiers' outputs under the correlated Dirichlet distribution of one true class.
///
/// It is prepared once and evaluated for many items.
///
/// # Formula
/// ```text
/// f(x¹, x²) = C ∫ dρ ρ^(J−1) ∫ ds s^(N−1) e^(−s(1+ρ)) Πₗ φₗ(ρ, s),   N = Σₗ (δₗ + a¹ₗ + a²ₗ),   a^k = α^k − δ
/// φₗ = ∫₀^m u^(δₗ−1) (ρx¹ₗ − u)^(a¹ₗ−1) (x²ₗ − u)^(a²ₗ−1) e^(su) du,   m = min(ρx¹ₗ, x²ₗ)
/// ```
///
/// # Example
/// ```
/// use correlated_dirichlet::pair::{PairDensity, Scratch};
///
/// let density = PairDensity::new(&[3.0, 2.0, 2.0], &[2.0, 4.0, 3.0], &[1.0, 1.0, 1.0])?;
/// let mut scratch = Scratch::default();
/// let estimate = density.ln_density(&[0.5, 0.3, 0.2], &[0.2, 0.45, 0.35], &mut scratch);
/// assert!((estimate.ln_density - 3.797_227_081).abs() < 1e-6);
/// # Ok::<(), correlated_dirichlet::Error>(())
/// ```
///
/// # Limits
/// - Shapes from 0 to 1e5, outputs from 1e-12; α above [`LARGEST_SHAPE`] is refused. δ = 0 and δ = α are limits: a gamma variable of shape 0 is the constant 0.
/// - Without a resolution the density is infinite where components with equal ratios x²ₗ/x¹ₗ have
///   Σ min(a¹ₗ + a²ₗ − 1, 0) ≤ −1, and 0 outside its support.
/// - Resolutions from 1e-5 to 0.2. Tables for a resolution are made at the first item: 2 to 10 ms for three components with
///   shapes up to 100, up to 4 s for shapes of 20 000 or resolutions below 1e-4. Tables that would take longer or more than
///   500 MB are not made; the exact density is returned then, with the change that smoothing may make as its error.
/// - Time per item for three components: 20 µs without a resolution for shapes around 10, 100 to 200 µs for small shapes
///   or high correlations; 30 to 80 µs with a resolution of 0.03. No item takes longer than about 0.3 s.
///
/// # Error
/// [`Estimate::error`] is the estimated absolute error of the log density. It aims at the tolerance (1e-6 by default) and
/// exceeds the true error in at least 98 % of random cases, hostile ones included. It is infinite if the density is not
/// resolved, as for many impossible outputs and for total shapes below 0.01; the value is then that of independent outputs.
///
/// # Reference
/// Trick & Rothkopf (2022), "Bayesian Classifier Fusion with an Explicit Model of Correlation", AISTATS.
#[derive(Debug, Clone)]
pub struct PairDensity {
    components: Vec<Component>,
    alpha: [Vec<f64>; 2],
    ln_beta: [f64; 2],
    /// N = Σ(δ + a¹ + a²).
    power: f64,
    accuracy: Accuracy,
    /// Gauss-Laguerre rules for the scale, made when an item first needs them.
    laguerre: OnceLock<Vec<Laguerre>>,
    arch: Arch,
    /// The same density with shapes of 0 raised a little, if there are any: derivatives are taken there.
    inside: Option<Box<PairDensity>>,
    /// The resolution and its tables, made when they are first needed; the second have slopes.
    epsilon: f64,
    tables: OnceLock<Option<Arc<Tables>>>,
    slope_tables: OnceLock<Option<Arc<Tables>>>,
}

/// The default tolerance: the wanted relative error of a density.
pub const DEFAULT_TOLERANCE: f64 = 1e-6;

/// The largest resolution for which tables can be made.
pub const LARGEST_RESOLUTION: f64 = 0.2;

/// Shapes of 0 are raised to this for derivatives.
const INSIDE: f64 = 1e-9;

impl PairDensity {
    /// Checks and prepares α¹, α² and δ of one class: 0 < α ≤ [`LARGEST_SHAPE`], 0 ≤ δ ≤ min(α¹, α²).
    pub fn new(alpha1: &[f64], alpha2: &[f64], delta: &[f64]) -> Result<Self> {
        let components = component::components(alpha1, alpha2, delta)?;
        let mut density = Self {
            power: components.iter().map(Component::power).sum(),
            components,
            alpha: [alpha1.to_vec(), alpha2.to_vec()],
            ln_beta: [ln_multivariate_beta(alpha1), ln_multivariate_beta(alpha2)],
            accuracy: Accuracy::new(DEFAULT_TOLERANCE),
            laguerre: OnceLock::new(),
            arch: four_lanes(),
            inside: None,
            epsilon: 0.0,
            tables: OnceLock::new(),
            slope_tables: OnceLock::new(),
        };
        density.inside = density.moved_inside()?.map(Box::new);
        Ok(density)
    }

    /// Sets the wanted relative error of the density.
    pub fn with_tolerance(mut self, tolerance: f64) -> Result<Self> {
        if !(tolerance > 0.0 && tolerance < 0.1) {
            return Err(Error::parameter("tolerance", "between 0 and 0.1", tolerance));
        }
        self.accuracy = Accuracy::new(tolerance.max(1e-12));
        self.tables = OnceLock::new();
        self.slope_tables = OnceLock::new();
        if let Some(inside) = self.inside.take() {
            self.inside = Some(Box::new(inside.with_tolerance(tolerance)?));
        }
        self.laguerre = OnceLock::new();
        Ok(self)
    }

    /// Sets the resolution ε at which outputs are observed; 0, the default, gives the exact density.
    ///
    /// Every component is observed with an N(0, ε²) error of ln G¹ − ln G², with the smaller of its two totals G^k held
    /// fixed. The density is then finite and continuous at ties. Tables are made at the first item, and serve all items and
    /// all clones made later.
    pub fn with_resolution(mut self, epsilon: f64) -> Result<Self> {
        if !(0.0..=LARGEST_RESOLUTION).contains(&epsilon) {
            return Err(Error::parameter("resolution", "between 0 and 0.2", epsilon));
        }
        self.epsilon = epsilon;
        self.tables = OnceLock::new();
        self.slope_tables = OnceLock::new();
        if let Some(inside) = self.inside.take() {
            self.inside = Some(Box::new(inside.with_resolution(epsilon)?));
        }
        Ok(self)
    }

    /// The number of classes J.
    pub fn n_classes(&self) -> usize {
        self.components.len()
    }

    /// The log density at (x¹, x²), two points inside the simplex.
    ///
    /// # Panics
    /// If x¹ or x² does not have one value per component.
    pub fn ln_density(&self, x1: &[f64], x2: &[f64], scratch: &mut Scratch) -> Estimate {
        assert!(
            x1.len() == self.n_classes() && x2.len() == self.n_classes(),
            "one value per component"
        );
        if self.epsilon > 0.0 {
            let mode = scratch.locate(&self.components, [x1, x2]);
            let tables = self.tables.get_or_init(|| self.make_tables(&[]).map(Arc::new));
            let estimate = self.smooth(tables.as_deref(), &mode, scratch, None);
            return self.or_exact(estimate, [x1, x2], scratch);
        }
        self.exact([x1, x2], scratch)
    }

    /// The density without a resolution.
    fn exact(&self, [x1, x2]: [&[f64]; 2], scratch: &mut Scratch) -> Estimate {
        if self.components.iter().all(Component::is_independent) {
            return self.independent(x1, x2);
        }
        self.refine([x1, x2], scratch, false)
    }

    /// The estimate from tables, or the exact density if they underflow, as for outputs that differ by more than about 10
    /// standard deviations at ε ≥ 0.1, or cost too much. Smoothing changes ln f there by about ½ε² Σ(∂ ln h/∂τ)², which is
    /// added to the error, with the private shapes for the derivatives. A pole has a finite density at a resolution, which
    /// is not known then.
    fn or_exact(
        &self,
        estimate: Option<Estimate>,
        outputs: [&[f64]; 2],
        scratch: &mut Scratch,
    ) -> Estimate {
        let finite = |e: &Estimate| e.ln_density.is_finite() && e.error.is_finite();
        estimate.filter(finite).unwrap_or_else(|| {
            let exact = self.exact(outputs, scratch);
            if !exact.ln_density.is_finite() {
                return self.unresolved(outputs);
            }
            let slope = |c: &Component| c.private[0].max(c.private[1]).powi(2);
            let change =
                0.5 * self.epsilon.powi(2) * self.components.iter().map(slope).sum::<f64>();
            Estimate { error: exact.error + change, ..exact }
        })
    }

    /// The log density and its derivatives in δ, α¹ and α².
    ///
    /// If a shape is 0, derivatives are taken at 1e-9. With a resolution they come from tables of their own, made at the first
    /// call, and their relative error is about 1e-4; they are NaN where the tables underflow.
    pub fn ln_density_and_gradient(
        &self,
        x1: &[f64],
        x2: &[f64],
        scratch: &mut Scratch,
        gradient: &mut Gradient,
    ) -> Estimate {
        let inside = self.inside.as_deref().unwrap_or(self);
        if self.epsilon > 0.0 {
            inside.smoothed_gradient([x1, x2], scratch, gradient);
        } else {
            let estimate = inside.refine([x1, x2], scratch, true);
            scratch.tally.finish(gradient);
            if self.inside.is_none() {
                return estimate;
            }
        }
        self.ln_density(x1, x2, scratch)
    }

    /// Derivatives from tables with slopes; NaN if the tables do not reach.
    fn smoothed_gradient(
        &self,
        outputs: [&[f64]; 2],
        scratch: &mut Scratch,
        gradient: &mut Gradient,
    ) {
        let mode = scratch.locate(&self.components, outputs);
        let tables =
            self.slope_tables.get_or_init(|| self.make_tables(&Direction::ALL).map(Arc::new));
        let mut slopes = vec![f64::NAN; Direction::ALL.len() * self.n_classes()];
        self.smooth(tables.as_deref(), &mode, scratch, Some(&mut slopes));
        let each =
            |d: usize| slopes.iter().skip(d).step_by(Direction::ALL.len()).copied().collect();
        *gradient = Gradient { delta: each(0), alpha1: each(1), alpha2: each(2) };
    }

    /// The estimate of a density that is too difficult: that of independent outputs, with an infinite error.
    fn unresolved(&self, [x1, x2]: [&[f64]; 2]) -> Estimate {
        Estimate { error: f64::INFINITY, ..self.independent(x1, x2) }
    }

    /// δ = 0: the product of two Dirichlet densities.
    fn independent(&self, x1: &[f64], x2: &[f64]) -> Estimate {
        let one = |x: &[f64], k: usize| -> f64 {
            x.iter().zip(&self.alpha[k]).map(|(x, a)| (a - 1.0) * x.ln()).sum::<f64>()
                - self.ln_beta[k]
        };
        let ln_density = one(x1, 0) + one(x2, 1);
        Estimate { ln_density, error: 1e-14 * (1.0 + ln_density.abs()) }
    }

    fn moved_inside(&self) -> Result<Option<Self>> {
        let has_zero = |c: &Component| c.shared == 0.0 || c.private.contains(&0.0);
        if !self.components.iter().any(has_zero) {
            return Ok(None);
        }
        let raised = |shape: f64| shape.max(INSIDE);
        let alpha = |k: usize| -> Vec<f64> {
            self.components.iter().map(|c| raised(c.shared) + raised(c.private[k])).collect()
        };
        let delta: Vec<f64> = self.components.iter().map(|c| raised(c.shared)).collect();
        Self::new(&alpha(0), &alpha(1), &delta).map(Some)
    }

    /// Gauss-Laguerre rules for the scale s, of lengths up to what the worst line, ρ = 1 and x¹ = x², needs; none for large
    /// total shapes.
    fn laguerre(&self) -> &[Laguerre] {
        self.laguerre.get_or_init(|| {
            if self.power > 4.0 * exact::constants::EQUIDISTANT_FROM {
                return Vec::new();
            }
            let longest =
                exact::scale::gauss_points(self.accuracy.tolerance, 1.0 / 3.0, self.power) + 1.0;
            let rule = |part: f64| {
                let rule = Laguerre::new(accuracy::count(longest * part), self.power);
                rule.with_slopes(self.power)
            };
            [0.5, 0.7, 0.85, 1.0].map(rule).to_vec()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With and without vector instructions the density is the same up to rounding.
    #[test]
    fn vectors_change_nothing_but_rounding() {
        let cases: [(&[f64], &[f64], &[f64]); 3] = [
            (&[3.0, 2.0, 2.0], &[2.0, 4.0, 3.0], &[1.0, 1.0, 1.0]),
            (&[12.0, 8.0, 8.0], &[12.0, 8.0, 8.0], &[11.4, 7.6, 7.6]),
            (&[0.8, 0.4, 0.3], &[0.7, 0.5, 0.3], &[0.3, 0.2, 0.3]),
        ];
        let outputs = [[0.5, 0.3, 0.2], [0.2, 0.45, 0.35], [0.51, 0.29, 0.2]];
        for (alpha1, alpha2, delta) in cases {
            for epsilon in [0.0, 0.03] {
                let wide = PairDensity::new(alpha1, alpha2, delta).unwrap();
                let plain = PairDensity { arch: Arch::Scalar, ..wide.clone() };
                let [wide, plain] = [wide, plain].map(|d| d.with_resolution(epsilon).unwrap());
                for (x1, x2) in [(0, 1), (0, 2), (1, 1)] {
                    let at = |density: &PairDensity| {
                        let mut scratch = Scratch::default();
                        density.ln_density(&outputs[x1], &outputs[x2], &mut scratch).ln_density
                    };
                    let (a, b) = (at(&wide), at(&plain));
                    assert!(a == b || (a - b).abs() < 1e-11, "{delta:?} {epsilon}: {a} {b}");
                }
            }
        }
    }
}
