//! Pure numerics: the only copies of the formulas that everything else is built from.

pub mod log_space;
pub mod simplex;
pub mod special;
