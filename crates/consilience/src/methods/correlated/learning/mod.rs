//! Learning what two and more sources share: δ of every class, given labelled outputs.
//!
//! The Dirichlets α come from the independent model. δ of a pair is then learned from the items with
//! both outputs, in the coordinates
//!
//! ```text
//! ηₗ = logit(δₗ / bₗ),   bₗ = min(α¹ₗ, α²ₗ)
//! ```
//!
//! 1. The mode is searched from the outputs' correlations and from further starts (`mode_search`).
//! 2. A polynomial is fitted to each class's log likelihood around the mode. Chains run on it, and their
//!    draws improve it. If likelihood and polynomials still differ, the likelihood accepts or rejects
//!    the draws (`pair_sampling`, `delayed_acceptance`).
//! 3. The uncertainty of α is added to the draws (`alpha_uncertainty`).
//!
//! With three and more sources every pair is learned by itself (`all_pairs`). The full model splits the
//! pairs' shapes into a common part and parts of pairs (`common_part`); the posterior of these is
//! experimental (`full`). All tuning constants are in `constants`.

mod all_pairs;
mod alpha_uncertainty;
mod common_part;
mod config;
mod constants;
mod delayed_acceptance;
mod delta_posterior;
mod full;
mod gaussian;
mod mode_search;
mod observed_correlation;
mod pair_fit;
mod pair_items;
mod pair_likelihood;
mod pair_sampling;
mod polynomial;
mod polynomial_surrogate;
mod prior;
mod report;

pub use all_pairs::FittedPairs;
pub use common_part::SharedParts;
pub use config::{Correlated, CorrelatedInference, DeltaPrior};
pub(crate) use config::{OPTIONS, default_resolution};
pub use full::{FittedShared, SharedReport};
pub use observed_correlation::ObservedPair;
pub use pair_fit::{DeltaReport, FittedPair};

/// Draws of every η, and of μ under the pooled prior, given α: one list per coordinate.
#[cfg(feature = "laboratory")]
pub(crate) fn eta_draws(
    config: &Correlated,
    outputs: &crate::Outputs,
    alpha: &crate::methods::independent::Alpha,
) -> crate::Result<Vec<Vec<f64>>> {
    let mut posterior = config.posterior(outputs, alpha, &crate::NoProgress)?;
    let drawn = config.draw_delta(&mut posterior, &mut Vec::new())?;
    Ok((0..posterior.dimension()).map(|l| drawn.sampled.draws.coordinate(l)).collect())
}
