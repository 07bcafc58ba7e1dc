//! Distributions: parameters, densities of one source, moments, draws.

mod correlated;
mod dirichlet;
mod gamma;
