//! Numerical routines shared by the crates of Consilience: special functions, quadrature rules,
//! vector kernels, optimisation in a few dimensions, and work spread over threads.
//!
//! The crate exists so that no formula is written twice. It makes no promise of stability: use
//! `correlated-dirichlet` or `consilience` instead.

pub mod exponential_tail;
pub mod laguerre;
pub mod legendre;
pub mod log_space;
pub mod optimise;
pub mod parallel;
pub mod root;
pub mod simplex;
pub mod special;
pub mod vector;
