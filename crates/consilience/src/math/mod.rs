//! Numerical routines that only this crate needs.

pub(crate) mod aligned;
pub(crate) mod columns;
pub(crate) mod fixed_sum;
pub(crate) mod gaussian;
pub(crate) mod lbfgs;
pub(crate) mod log_ratio;
pub(crate) mod random;
pub(crate) mod row_sums;
pub(crate) mod thinning;
pub(crate) mod transpose;
