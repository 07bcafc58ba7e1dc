//! The shapes of the gamma variables of one true class, checked once, with their constants.

use crate::{Error, Result};
use consilience_numerics::special::ln_gamma;

/// The shapes of one component: of its shared gamma and of the two private ones.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Component {
    /// δ, the shape of the shared part.
    pub(crate) shared: f64,
    /// a¹ = α¹ − δ and a² = α² − δ, the shapes of the private parts.
    pub(crate) private: [f64; 2],
    /// −ln Γ of all three shapes, if classifier k has the smaller total, without the factors that quadrature adds.
    pub(crate) ln_constant: [f64; 2],
    /// ln of those factors: of the shared gamma and of the two private ones.
    pub(crate) ln_left_out: [f64; 3],
}

/// The largest concentration of a pair. With larger ones a density takes long and is rarely resolved.
pub const LARGEST_SHAPE: f64 = 1e7;

/// Smaller shapes count as 0.
const NEGLIGIBLE: f64 = 1e-150;

impl Component {
    /// A component with these shapes.
    pub(crate) fn new(shared: f64, private: [f64; 2]) -> Self {
        let [shared, a1, a2] =
            [shared, private[0], private[1]].map(|a| if a < NEGLIGIBLE { 0.0 } else { a });
        let one = |near: f64, far: f64| -> f64 {
            let common = if near == 0.0 { ln_gamma(shared) } else { ln_gamma_safe(shared) };
            -common - ln_gamma_safe(near) - ln_gamma(far)
        };
        Self {
            shared,
            private: [a1, a2],
            ln_constant: [one(a1, a2), one(a2, a1)],
            ln_left_out: [shared, a1, a2].map(|shape| left_out(shape).ln()),
        }
    }

    /// δ + a¹ + a².
    pub(crate) fn power(&self) -> f64 {
        self.shared + self.private[0] + self.private[1]
    }

    /// The exponent p of the density's behaviour |y − yₗ|ᵖ at the kink of the component.
    pub(crate) fn kink_power(&self) -> f64 {
        self.private[0] + self.private[1] - 1.0
    }

    /// Whether the two totals of the component are independent.
    pub(crate) fn is_independent(&self) -> bool {
        self.shared == 0.0
    }

    /// Whether the two totals of the component are equal.
    pub(crate) fn is_rigid(&self) -> bool {
        self.private == [0.0, 0.0]
    }
}

/// ln Γ(s), or ln Γ(1+s) below 1, which is finite down to 0; the quadrature then supplies the factor s.
pub(crate) fn ln_gamma_safe(shape: f64) -> f64 {
    if shape >= 1.0 { ln_gamma(shape) } else { ln_gamma(1.0 + shape) }
}

/// The factor that [`ln_gamma_safe`] leaves out.
pub(crate) fn left_out(shape: f64) -> f64 {
    if shape >= 1.0 { 1.0 } else { shape }
}

/// Checks α¹, α², δ of one class and splits them into gamma shapes.
pub(crate) fn components(alpha1: &[f64], alpha2: &[f64], delta: &[f64]) -> Result<Vec<Component>> {
    let n = alpha1.len();
    for (what, found) in [("alpha2", alpha2.len()), ("delta", delta.len())] {
        if found != n {
            return Err(Error::Mismatch {
                what: "lengths of the parameters",
                expected: format!("{n} as in alpha1"),
                found: format!("{found} in {what}"),
            });
        }
    }
    if n < 2 {
        return Err(Error::parameter("alpha1", "of at least two classes", n));
    }
    (0..n).map(|l| component(alpha1[l], alpha2[l], delta[l], l)).collect()
}

fn component(alpha1: f64, alpha2: f64, delta: f64, l: usize) -> Result<Component> {
    for (name, value) in [("alpha1", alpha1), ("alpha2", alpha2)] {
        if !(value > 0.0 && value <= LARGEST_SHAPE) {
            return Err(Error::parameter(format!("{name}[{l}]"), "> 0 and at most 1e7", value));
        }
    }
    if !(delta >= 0.0 && delta <= alpha1.min(alpha2)) {
        let requirement = "between 0 and the smaller of the two concentrations";
        return Err(Error::parameter(format!("delta[{l}]"), requirement, delta));
    }
    Ok(Component::new(delta, [alpha1 - delta, alpha2 - delta]))
}
