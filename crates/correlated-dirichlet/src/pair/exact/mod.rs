//! The exact density: adaptive trapezoid rules over the ratio, the scale and the shared gammas.

pub(crate) mod adaptive;
pub(crate) mod gradient;
pub(crate) mod kernel;
pub(crate) mod kinks;
mod pieces;
mod poles;
pub(crate) mod ratio;
pub(crate) mod scale;
pub(crate) mod shared;
pub(crate) mod trapezoid_error;
