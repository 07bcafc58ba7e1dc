//! All tuning constants of the density of three and more classifiers.
//!
//! Most of them shape a proposal: they change the variance of an estimate and its cost but not its mean, and the
//! replicates measure the variance. "Variance ×0.99, ×1.01" states by which factors the variance changed when the
//! constant was halved and doubled: the geometric mean over 30 random cases (K = 3 to 5, J = 3, shapes 0.4 to 100, 8192
//! points). Its own uncertainty is about 10 %. The constants that guard accuracy, where a wrong value
//! would give a wrong density or error, name the test that fails when they are doubled or halved.

/// The default error of ln f: 0.1 % of a density, and 0.00025 of a fused probability at the most.
pub const DEFAULT_TOLERANCE: f64 = 1e-3;
/// The default largest number of points per item: 11 ms for three classifiers and three components.
pub(super) const DEFAULT_MAX_POINTS: usize = 1 << 16;

// Groups

/// Shared shapes below this count as 0: a gamma of shape δ exceeds e^−30 with probability 30δ, and below that it
/// changes nothing.
pub(super) const SMALLEST_SHARED: f64 = 1e-9;

// Mode of the integrand

/// Smaller shapes are replaced by this when the mode is computed, so that the mode stays away from the boundaries of
/// the domain. It acts on smaller shapes only: variance ×1.00, ×1.00.
pub(super) const MODE_SHAPE_FLOOR: f64 = 0.02;
/// Largest number of Newton steps; 3 to 10 are usual.
pub(super) const MODE_STEPS: usize = 80;
/// The Newton decrement at which the search stops.
pub(super) const MODE_DECREMENT: f64 = 1e-8;

// Points

/// Independent scramblings, from whose spread the error is estimated.
pub(super) const REPLICATES: usize = 16;
/// Points evaluated together: a multiple of the length of every vector type.
pub(super) const BATCH: usize = 64;
/// Largest number of points, all replicates together: the length of the Sobol sequences of `sobol_burley`.
pub(super) const MAX_SOBOL_POINTS: usize = REPLICATES << 16;
/// Numbers cached per stage, 16 MB; further batches are computed again for every item.
pub(super) const CACHED_NUMBERS: usize = 1 << 21;
/// Sets of points cached: the densities of one item under several classes may differ in their dimensions.
pub(super) const CACHED_SETS: usize = 4;

// Estimates

/// Ratio of the reported error to the standard error of the replicates.
///
/// Two reported errors are meant to cover as much as two standard errors of a normal distribution. Student's t with 15
/// degrees of freedom needs 1.09; the rest allows for stopping when the error happens to look small.
///
/// Guard: lib two_reported_errors_cover_the_mean
pub(super) const ERROR_FACTOR: f64 = 1.25;
/// Weights above e to this are rescaled, before their squares overflow.
pub(super) const MAX_LN_WEIGHT: f64 = 300.0;
/// The smallest effective fraction of the points for a resolved estimate.
///
/// Guard: lib few_effective_points_are_not_resolved
pub(super) const MIN_EFFECTIVE: f64 = 0.05;
/// The largest tail index of the weights for a resolved estimate (Vehtari et al. 2024), unless the mass beyond the
/// largest weight is below [`NEGLIGIBLE_UNSEEN`].
///
/// Guard: lib heavy_tails_are_not_resolved
pub(super) const MAX_TAIL_INDEX: f64 = 0.7;
/// Relative mass beyond the largest weight that is accepted with any tail index.
///
/// Guard: lib heavy_tails_with_little_mass_are_resolved
pub(super) const NEGLIGIBLE_UNSEEN: f64 = 0.02;
/// The largest error of ln f for a resolved estimate.
///
/// Guard: lib large_errors_are_not_resolved
pub(super) const MAX_ERROR: f64 = 0.3;

// Several classes

/// The error of ln f that every class reaches, however improbable it is: 2 % of a small probability.
pub(super) const ALWAYS_REACHED: f64 = 0.02;
/// A class receives more points while its own error moves a probability by more than this part of the tolerance.
pub(super) const RELEVANT: f64 = 0.25;
/// A further pilot is worth its cost if the error is above this multiple of the tolerance.
pub(super) const LEARN_ABOVE: f64 = 2.0;

// The integral

/// Points per replicate of a pilot run.
pub(super) const FIRST_POINTS: usize = 128;
// The next numbers of points, 1.5 and 2 times as many, must be whole numbers of batches too.
const _: () = assert!(FIRST_POINTS.is_multiple_of(2 * BATCH));
/// The largest scale on which profiles are taken. A gamma of small shape spreads ln D over hundreds of units, but its
/// profile bends only within a few units of the boundary and is linear beyond. Variance ×0.99, ×1.01.
pub(super) const WIDEST_PROFILE: f64 = 1.2;
/// Per stage, the effective fraction of a pilot's points above which the map is kept. A correction costs a
/// pilot, so that later corrections need a larger gain; the last map is always kept.
pub(super) const PILOT_SUFFICES: [f64; 4] = [0.95, 0.6, 0.6, 0.0];
/// The effective fraction above which points for reweighting are taken from a map without corrections.
pub(super) const REWEIGHT_WITHOUT_PILOT: f64 = 0.25;

// The integrand

/// |z| is clamped to this before e^z is computed; beyond, D or its distance from the boundary is 0 to
/// rounding. Variance ×1.00, ×1.00.
pub(super) const MAX_ABS_Z: f64 = 220.0;
/// Decrease of the log weight per unit of z beyond [`MAX_ABS_Z`], where the integrand is negligible and its arithmetic
/// saturates.
pub(super) const OUT_OF_RANGE_SLOPE: f64 = 1e3;
/// The smallest distance from a boundary; the cube of its inverse is still finite.
pub(super) const MIN_DISTANCE: f64 = 1e-100;
/// Deviations t of ln s enter the regressions as t/√(1 + t²/4). Variance ×1.00, ×1.04.
pub(super) const BOUNDED_TOTAL: f64 = 0.25;
/// Largest number of Newton steps for the distance from the boundary.
pub(super) const NEWTON_STEPS: usize = 20;
/// The relative change at which Newton's method stops; the remaining error is of the order of its square. Variance
/// ×1.00, ×1.00.
pub(super) const NEWTON_CLOSE: f64 = 1e-4;

// Axis maps

/// A map is tabulated for |v| up to this and linear beyond: 1e-12 of the normal distribution.
pub(super) const MAP_REACH: f64 = 7.0;
/// Cells of the table.
pub(super) const MAP_CELLS: usize = 56;
/// Nodes at which a profile is evaluated; two profiles fit into a batch.
pub(super) const PROFILE_NODES: usize = 29;
/// Subdivision of the intervals between nodes for the integration of a profile.
pub(super) const PROFILE_SUBDIVISION: usize = 4;
/// Relative stretch of v in the tails: the tails of the proposal are heavier than those of the profile, which bounds
/// the weights where the two differ. Variance ×1.06, ×1.14.
pub(super) const TAIL_STRETCH: f64 = 0.1;
/// The |v| at which half of the stretch is reached. Variance ×1.16, ×1.09.
pub(super) const TAIL_STRETCH_FROM: f64 = 3.0;

// Corrections by pilots

/// Moments within this many standard errors of their ideal value are not corrected. Variance ×1.31, ×1.09.
pub(super) const PILOT_SIGNIFICANCE: f64 = 3.0;
/// Weights are cut at this multiple of their mean before moments are computed. Variance ×0.98, ×1.02.
pub(super) const PILOT_WEIGHT_CUT: f64 = 30.0;
/// Bounded normal variables: b(n) = n/√(1 + n²/9). Variance ×1.12, ×1.22.
pub(super) const BOUNDED_NORMAL: f64 = 9.0;
/// Up to this many coordinates, products of all pairs of them are corrected; beyond, products of totals only. Variance
/// ×1.01, ×1.16.
pub(super) const ALL_PRODUCTS_UP_TO: usize = 20;
/// Range of the variances that a correction may set.
pub(super) const PILOT_VARIANCES: [f64; 2] = [0.2, 4.0];
