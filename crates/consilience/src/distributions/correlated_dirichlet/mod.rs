//! The correlated Dirichlet distribution.

pub mod pair;
