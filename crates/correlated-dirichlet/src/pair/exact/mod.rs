//! The exact density: three nested trapezoid rules, refined until the estimated error is small enough.
//!
//! Each integral is taken in a variable in which its integrand is analytic in a strip, so that the rule converges
//! exponentially; ends at which the integrand does not vanish are summed in closed form.
//!
//! - `shared`: over the shared gamma of one component, in the logit of its share;
//! - `scale`: over the scale s at one ratio, at equidistant points or by Gauss-Laguerre rules for small total shapes;
//! - `ratio`: over y = ln ρ, on the whole axis or on `pieces` between the `kinks` ln(x²ₗ/x¹ₗ);
//! - `adaptive`: chooses the steps, from the error that `trapezoid_error` estimates;
//! - `poles`: where the density is infinite or 0; `gradient`: derivatives from the same nodes; `kernel`: vector loops.

pub(crate) mod adaptive;
pub(crate) mod constants;
pub(crate) mod gradient;
pub(crate) mod kernel;
pub(crate) mod kinks;
mod pieces;
mod poles;
pub(crate) mod ratio;
pub(crate) mod scale;
pub(crate) mod shared;
pub(crate) mod trapezoid_error;
