//! Numerical routines shared by `correlated-dirichlet` and `consilience`.
//!
//! | module | contents |
//! |---|---|
//! | [`special`] | ln Γ, digamma, trigamma, the normal quantile, the multivariate beta function |
//! | [`log_space`] | sums of exponentials without overflow |
//! | [`simplex`] | softmax, normalising, entropy, projection |
//! | [`legendre`], [`laguerre`] | Gauss quadrature rules |
//! | [`exponential_tail`] | closed-form tails of trapezoid rules |
//! | [`vector`], [`instructions`] | exp and ln in vector instructions; which instructions are used |
//! | [`optimise`], [`root`] | minima over convex sets, roots of functions of one variable |
//! | [`parallel`] | maps over threads, with results in order |
//!
//! The crate is internal: its interface may change with every release. Use `correlated-dirichlet` or `consilience`
//! instead.

#![forbid(unsafe_code)]

pub mod exponential_tail;
pub mod instructions;
pub mod laguerre;
pub mod legendre;
pub mod log_space;
pub mod optimise;
pub mod parallel;
pub mod root;
pub mod simplex;
pub mod special;
pub mod vector;
