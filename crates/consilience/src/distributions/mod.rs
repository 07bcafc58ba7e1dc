//! Probability distributions of log-ratios, one per file.

mod multivariate_t;
mod normal_inverse_wishart;
mod wishart;

pub(crate) use multivariate_t::MultivariateT;
pub(crate) use normal_inverse_wishart::{NormalDraw, NormalInverseWishart, standard_normals};
pub(crate) use wishart::sample_precision;
