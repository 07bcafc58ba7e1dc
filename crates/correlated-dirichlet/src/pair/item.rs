//! One component of one item: its two outputs, their kink, and the side of the kink at one ratio.

use super::component::Component;

/// One component at one ratio: shapes, the smaller total and the distance from the kink.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Side {
    /// Shapes: shared, private of the smaller total, private of the larger.
    pub(crate) shared: f64,
    pub(crate) near: f64,
    pub(crate) far: f64,
    /// min(ρx¹, x²) and its logarithm.
    pub(crate) smaller: f64,
    pub(crate) ln_smaller: f64,
    pub(crate) smaller_is_second: bool,
    /// −Σ ln Γ.
    pub(crate) ln_constant: f64,
    /// ln of the factors that it leaves out, for the shared and the near shape.
    pub(crate) ln_left_out: [f64; 2],
    /// e^|y − yₗ| − 1.
    pub(crate) distance: f64,
}

/// The two outputs of one component.
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

/// The component at the ratio y, at the distance τ = y − yₗ from its kink.
pub(crate) fn side(
    component: &Component,
    outputs: &OutputPair,
    tau: f64,
    y: f64,
    rho: f64,
) -> Side {
    let k = usize::from(tau > 0.0);
    let (smaller, ln_smaller) = if k == 1 {
        (outputs.x[1], outputs.ln_x[1])
    } else {
        (rho * outputs.x[0], y + outputs.ln_x[0])
    };
    Side {
        shared: component.shared,
        near: component.private[k],
        far: component.private[1 - k],
        smaller,
        ln_smaller,
        smaller_is_second: k == 1,
        ln_constant: component.ln_constant[k],
        ln_left_out: [component.ln_left_out[0], component.ln_left_out[1 + k]],
        distance: tau.abs().exp_m1(),
    }
}
