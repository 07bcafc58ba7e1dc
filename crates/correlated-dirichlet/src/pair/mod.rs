//! The density of two classifiers' outputs under the correlated Dirichlet distribution.
//!
//! Independent gammas of scale 1, Dₗ ~ Γ(δₗ) and A^kₗ ~ Γ(α^kₗ − δₗ), make the outputs x^k ∝ A^k + D. With totals
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
use consilience_numerics::laguerre::Laguerre;
use consilience_numerics::special::ln_multivariate_beta;
pub use exact::adaptive::Scratch;
pub use exact::gradient::Gradient;
pub use inverse::{MomentMatch, delta_for_correlation, delta_for_correlations, moment_match};
pub use moments::{ComponentMoments, moments};
use smoothed::table::{Direction, Tables};
pub use smoothed::{LearningDensity, LearningScratch, RatioNodes};

/// Two classifiers' correlated Dirichlet density of one class, prepared once and evaluated for many items.
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
/// # Numerics
/// Shapes from 0 to 1e5 and outputs down to 1e-12 are served. δ = 0 and δ = α are limits, not errors: a gamma of shape 0 is
/// the constant 0. The exact density is infinite where components with coinciding ratios x²ₗ/x¹ₗ have
/// Σ min(a¹ₗ + a²ₗ − 1, 0) ≤ −1. Cost grows with the number of kinks that have to be broken at: about 20 µs for three
/// classes at α ≈ 10, r = ½, five times that for small shapes and high correlations.
///
/// # References
/// Trick & Rothkopf (2022), "Bayesian Classifier Fusion with an Explicit Model of Correlation", AISTATS.
#[derive(Debug, Clone)]
pub struct PairDensity {
    components: Vec<Component>,
    alpha: [Vec<f64>; 2],
    ln_beta: [f64; 2],
    /// N = Σ(δ + a¹ + a²).
    power: f64,
    accuracy: Accuracy,
    laguerre: Vec<Laguerre>,
    arch: Arch,
    /// The same with shapes of 0 raised a little, where there are any: derivatives are taken there.
    inside: Option<Box<PairDensity>>,
    /// The resolution and the tables that belong to it, made when first asked for; the second with slopes.
    epsilon: f64,
    tables: OnceLock<Arc<Tables>>,
    slope_tables: OnceLock<Arc<Tables>>,
}

/// The relative error wanted of a density unless told otherwise.
pub const DEFAULT_TOLERANCE: f64 = 1e-6;

/// Coarser resolutions are not served: the tables are not made for them.
pub const LARGEST_RESOLUTION: f64 = 0.2;

/// Below this total shape the scale s is integrated by Gauss-Laguerre rules.
const EQUIDISTANT_FROM: f64 = 10.0;

/// Shapes of 0 are raised to this for derivatives.
const INSIDE: f64 = 1e-9;

impl PairDensity {
    /// Checks and prepares α¹, α² and δ of one class: α finite and > 0, 0 ≤ δ ≤ min(α¹, α²).
    pub fn new(alpha1: &[f64], alpha2: &[f64], delta: &[f64]) -> Result<Self> {
        let components = component::components(alpha1, alpha2, delta)?;
        let mut density = Self {
            power: components.iter().map(Component::power).sum(),
            components,
            alpha: [alpha1.to_vec(), alpha2.to_vec()],
            ln_beta: [ln_multivariate_beta(alpha1), ln_multivariate_beta(alpha2)],
            accuracy: Accuracy::new(DEFAULT_TOLERANCE),
            laguerre: Vec::new(),
            arch: four_lanes(),
            inside: None,
            epsilon: 0.0,
            tables: OnceLock::new(),
            slope_tables: OnceLock::new(),
        };
        density.prepare_laguerre();
        density.inside = density.moved_inside()?.map(Box::new);
        Ok(density)
    }

    /// Sets the wanted relative error of the density.
    pub fn with_tolerance(mut self, tolerance: f64) -> Result<Self> {
        if !(tolerance > 0.0 && tolerance < 0.1) {
            return Err(Error::parameter("tolerance", "between 0 and 0.1", tolerance));
        }
        self.accuracy = Accuracy::new(tolerance.max(1e-12));
        if let Some(inside) = self.inside.take() {
            self.inside = Some(Box::new(inside.with_tolerance(tolerance)?));
        }
        self.prepare_laguerre();
        Ok(self)
    }

    /// Observes every component at the resolution ε: ln G¹ − ln G² carries an N(0, ε²) error, the smaller of
    /// the two held fixed. The density is then finite and continuous at ties.
    ///
    /// 0 is the exact density. Tables are made when the first item asks for them, about 5 ms for three
    /// components at ε = 0.03, once for all items and all clones made later.
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
    /// If x¹ or x² does not have one value a class.
    pub fn ln_density(&self, x1: &[f64], x2: &[f64], scratch: &mut Scratch) -> Estimate {
        assert!(x1.len() == self.n_classes() && x2.len() == self.n_classes(), "one value a class");
        if self.epsilon > 0.0 {
            let mode = scratch.locate(&self.components, [x1, x2]);
            let tables = self.tables.get_or_init(|| Arc::new(self.make_tables(&[])));
            let estimate = self.smooth(tables, &mode, scratch, None);
            return self.or_exact(estimate, [x1, x2], scratch);
        }
        if self.components.iter().all(Component::is_independent) {
            return self.independent(x1, x2);
        }
        self.refine([x1, x2], scratch, false)
    }

    /// The estimate from tables, or, where outputs are so far apart that tables underflow (some 10 standard deviations at
    /// ε ≥ 0.1), the exact density: smoothing changes ln f there by about ½ε² Σ(∂ ln h/∂τ)², which with slopes of the size of
    /// the private shapes is added to its error.
    fn or_exact(
        &self,
        estimate: Option<Estimate>,
        outputs: [&[f64]; 2],
        scratch: &mut Scratch,
    ) -> Estimate {
        let finite = |e: &Estimate| e.ln_density.is_finite() && e.error.is_finite();
        estimate.filter(finite).unwrap_or_else(|| {
            let exact = self.refine(outputs, scratch, false);
            let slope = |c: &Component| c.private[0].max(c.private[1]).powi(2);
            let change =
                0.5 * self.epsilon.powi(2) * self.components.iter().map(slope).sum::<f64>();
            Estimate { error: exact.error + change, ..exact }
        })
    }

    /// The log density and its derivatives in δ, α¹ and α².
    ///
    /// Shapes of exactly 0 are differentiated at 1e-9, from inside the legal region. At a finite resolution
    /// the derivatives are good to about 1e-4 of their scale, and need tables of their own, made at the first call.
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

    /// Derivatives from tables with slopes; 0 where the tables do not reach.
    fn smoothed_gradient(
        &self,
        outputs: [&[f64]; 2],
        scratch: &mut Scratch,
        gradient: &mut Gradient,
    ) {
        let mode = scratch.locate(&self.components, outputs);
        let make = || Arc::new(self.make_tables(&Direction::ALL));
        let mut slopes = vec![0.0; Direction::ALL.len() * self.n_classes()];
        self.smooth(self.slope_tables.get_or_init(make), &mode, scratch, Some(&mut slopes));
        let each =
            |d: usize| slopes.iter().skip(d).step_by(Direction::ALL.len()).copied().collect();
        *gradient = Gradient { delta: each(0), alpha1: each(1), alpha2: each(2) };
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

    /// Gauss-Laguerre rules for the scale s, of lengths up to what the worst line, ρ = 1 and x¹ = x², needs.
    fn prepare_laguerre(&mut self) {
        self.laguerre.clear();
        if self.power > 4.0 * EQUIDISTANT_FROM {
            return;
        }
        let longest =
            exact::scale::gauss_points(self.accuracy.tolerance, 1.0 / 3.0, self.power) + 1.0;
        for part in [0.5, 0.7, 0.85, 1.0] {
            let rule = Laguerre::new(accuracy::count(longest * part), self.power);
            self.laguerre.push(rule.with_slopes(self.power));
        }
    }
}

/// The widest vectors that hold a group of nodes: groups of four, so four lanes at the most.
fn four_lanes() -> Arch {
    #[cfg(target_arch = "x86_64")]
    if let Some(vectors) = pulp::x86::V3::try_new() {
        return Arch::V3(vectors);
    }
    match Arch::new() {
        #[cfg(target_arch = "x86_64")]
        Arch::V4(_) => Arch::Scalar,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without vector instructions the density is the same to rounding.
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
