//! Pure numerics: the only copies of the formulas that everything else is built from.

pub(crate) mod aligned;
pub(crate) mod closing;
pub mod fixed_sum;
pub(crate) mod gaussian;
pub(crate) mod laguerre;
pub(crate) mod lbfgs;
pub(crate) mod legendre;
pub(crate) mod log_ratio;
pub mod log_space;
pub mod optimise;
pub mod root;
pub(crate) mod row_sums;
pub mod simplex;
pub mod special;
pub(crate) mod transpose;
pub(crate) mod vector;
