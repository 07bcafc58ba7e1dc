//! Where one component stands: its outputs and kink, and the side of the kink that a line is on.

use super::component::Component;

/// What a line asks of one component.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Side {
    /// Shapes: common, private of the smaller, private of the larger.
    pub(crate) shared: f64,
    pub(crate) near: f64,
    pub(crate) far: f64,
    /// min(ρx¹, x²) and its logarithm.
    pub(crate) smaller: f64,
    pub(crate) ln_smaller: f64,
    pub(crate) smaller_is_second: bool,
    /// −Σ ln Γ.
    pub(crate) ln_constant: f64,
    /// e^|y − yₗ| − 1.
    pub(crate) distance: f64,
}

/// One output pair's component as every line needs it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct OutputPair {
    pub(crate) x: [f64; 2],
    pub(crate) ln_x: [f64; 2],
    /// yₗ = ln(x²/x¹).
    pub(crate) kink: f64,
}

impl OutputPair {
    pub(crate) fn new(x1: f64, x2: f64) -> Self {
        let relative = (x2 - x1) / x1;
        let kink = if relative.abs() < 0.5 { relative.ln_1p() } else { (x2 / x1).ln() };
        Self { x: [x1, x2], ln_x: [x1.ln(), x2.ln()], kink }
    }
}

/// Picks the side of the kink: shapes, minimum and distance for offset τ = y − yₗ.
pub(crate) fn side(component: &Component, place: &OutputPair, tau: f64, y: f64, rho: f64) -> Side {
    let k = usize::from(tau > 0.0);
    let (smaller, ln_smaller) =
        if k == 1 { (place.x[1], place.ln_x[1]) } else { (rho * place.x[0], y + place.ln_x[0]) };
    Side {
        shared: component.shared,
        near: component.private[k],
        far: component.private[1 - k],
        smaller,
        ln_smaller,
        smaller_is_second: k == 1,
        ln_constant: component.ln_constant[k],
        distance: tau.abs().exp_m1(),
    }
}
