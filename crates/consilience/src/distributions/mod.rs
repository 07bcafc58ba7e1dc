//! Probability distributions, one a file.

pub mod correlated_dirichlet;
mod dirichlet;
mod gamma;
mod multivariate_t;
mod normal_inverse_wishart;
mod wishart;

pub use correlated_dirichlet::{CorrelatedDirichlet, SharedPair};
pub use dirichlet::Dirichlet;
pub(crate) use dirichlet::check_concentration;
pub use gamma::sample_ln_gamma;
pub use multivariate_t::MultivariateT;
pub(crate) use normal_inverse_wishart::{NormalDraw, NormalInverseWishart, standard_normals};
pub(crate) use wishart::sample_precision;
