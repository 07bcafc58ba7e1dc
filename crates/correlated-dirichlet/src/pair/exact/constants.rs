//! Constants of the exact density.
//!
//! "Cost" and "error" refer to `tests/pair_density`: 133 reference cases, 46 stress cases, 500 random cases.
//! All of them pass with twice and with half of `ONSET_GOAL`, which has no guard.

/// Passes with finer and finer steps, at most, and the error, in tolerances, that is accepted.
pub(crate) const MAX_PASSES: usize = 5;
pub(crate) const ACCEPT: f64 = 1.5;

/// Terms that are summed for one item, at most: 0.03 to 0.15 s. The hardest of the 679 cases of the tests needs 2e7.
pub(crate) const MAX_TERMS: f64 = 1e8;

/// The reported error relative to the estimated one: with 5, at most 2 % of 500 random cases exceed their reported error.
pub(crate) const SAFETY: f64 = 5.0;

/// The rounding error of ln f, per unit of the total shape N.
pub(crate) const ROUNDING: f64 = 2e-14;

/// Total shape below which the scale is integrated by Gauss-Laguerre rules; above, equidistant points need fewer terms.
pub(crate) const EQUIDISTANT_FROM: f64 = 10.0;

/// Number of exponentials in a closed end of the integral over the ratio.
pub(crate) const CLOSING: usize = 6;

/// Weights that let an alternating sum fade out over the terms of a closed end (Euler's transformation).
pub(crate) const FADE: [f64; CLOSING] =
    [63.0 / 64.0, 57.0 / 64.0, 42.0 / 64.0, 22.0 / 64.0, 7.0 / 64.0, 1.0 / 64.0];

/// Ratios on one side of one piece, at most; α ≤ 0.15 needs 100 to 460.
pub(crate) const MAX_RATIOS: usize = 4000;

/// The share of the tolerance that closing an end may cost.
pub(crate) const ONSET_GOAL: f64 = 0.1;

/// Subsets of tied components whose exponents are considered.
pub(crate) const MAX_SUBSETS: usize = 64;

/// Nodes kept for the integral over one shared gamma; 12 to 20 are in use at a tolerance of 1e-6 and moderate shapes.
pub(crate) const LENGTH: usize = 768;

/// ln of how much larger the error at a kink may be than at the mode, since few ratios are that close to it.
pub(crate) const KINK_ALLOWANCE: f64 = 2.5;

/// Number of exponentials in a closed end of the integral over a shared gamma.
pub(crate) const SHARED_CLOSING: usize = 4;

/// Kinks of lower powers than this are always breaks: a finer step resolves them too slowly.
pub(crate) const STRONG: f64 = 0.8;

/// −ln of the integrand, relative to its maximum, beyond which it is negligible. The estimate of that logarithm is a lower
/// bound in practice only, so that there is a wide margin to the 28 that a tolerance of 1e-12 needs.
pub(crate) const FAR: f64 = 100.0;

/// Ratios that a piece between breaks costs, and those of the whole axis at the default step.
pub(crate) const RATIOS_PER_PIECE: f64 = 15.0;
pub(crate) const RATIOS_PER_LATTICE: f64 = 11.0;

/// Corners closer than this, in resolutions, share a break.
pub(crate) const SAME_CORNER: f64 = 1e-3;

/// The step over 2π near a break, with a margin for the integral over the shared gamma.
pub(crate) const NEIGHBOUR_STEP: f64 = 0.2;

/// Steps in a piece between two breaks and in one beyond the last, relative to that for a Gaussian.
///
/// Of 45 densities with δ = 0.95 α six need a second pass; 24 need one if both factors are 0.85, and 16 if the first is 0.95. With
/// 0.6 or 0.72 for the second, terms cost 2 % more.
pub(crate) const BETWEEN_BREAKS: f64 = 0.85;
pub(crate) const BEYOND_BREAKS: f64 = 0.68;
