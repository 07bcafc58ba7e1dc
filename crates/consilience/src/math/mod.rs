//! Pure numerics: the only copies of the formulas that everything else is built from.

pub(crate) mod closing;
pub(crate) mod laguerre;
pub mod log_space;
pub mod simplex;
pub mod special;
pub(crate) mod vector;
