//! Probability distributions, one per module.

pub mod correlated_dirichlet;
