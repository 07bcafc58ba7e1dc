//! Constants of the smoothed density.
//!
//! With twice and with half of `NODE_ONSET`, `CORE` and `LOW`, and of `accuracy` and `series` of [`LEARNING`], the tests of
//! the tables pass: their stated errors have a margin there, so that these constants have no guard.

/// How finely a component is tabulated.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Grain {
    /// Distances between columns and between M, relative to those of [`FINE`]: twice the spacing has 256 times the error.
    pub(crate) spacing: f64,
    /// Relative accuracy that the tabulated integrals aim at, per component.
    pub(crate) accuracy: f64,
    /// M up to which the first two terms of a power series are used.
    pub(crate) series: f64,
    /// Relative error of a table per component, where the resolution is finer than its density.
    pub(crate) error: f64,
}

/// For densities.
/// Guard: lib entries_have_the_stated_error (spacing)
pub(crate) const FINE: Grain = Grain { spacing: 1.0, accuracy: 1e-8, series: 2e-4, error: 3e-8 };

/// For densities to a tolerance of [`COARSE_FROM`] or more.
/// Guard: lib entries_have_the_stated_error (spacing)
pub(crate) const COARSE: Grain = Grain { spacing: 1.5, accuracy: 1e-7, series: 1e-3, error: 3e-6 };
pub(crate) const COARSE_FROM: f64 = 5e-5;

/// For learning.
/// Guard: lib entries_have_the_stated_error (spacing, error)
pub(crate) const LEARNING: Grain =
    Grain { spacing: 2.0, accuracy: 1e-5, series: 1e-2, error: 4e-5 };

/// For learning from some of the items, where a search begins.
/// Guard: lib entries_have_the_stated_error (spacing, error)
pub(crate) const ROUGH: Grain = Grain { spacing: 3.0, accuracy: 1e-3, series: 2e-2, error: 2e-2 };

/// Number of exponentials in a closed end of the integral over the shared part.
pub(crate) const INNER_CLOSING: usize = 4;

/// The expansion parameter at which such an end is closed, over the fourth root of the accuracy.
pub(crate) const NODE_ONSET: f64 = 0.3;

/// Exponents are cut here so that a product of two exponentials does not overflow.
pub(crate) const LARGEST_EXPONENT: f64 = 650.0;

/// Total shape of a component from which on the integral over its shared part is summed around its peak, and the same for the
/// tables that learning reads. Impossible outputs need it: with 4000 the density was off by up to 40 for shapes of 1000 to
/// 3000. It takes three times as long for shapes of 1000.
pub(crate) const WINDOWED_FROM: f64 = 500.0;
pub(crate) const LEARNING_WINDOWED_FROM: f64 = 4000.0;

/// Nodes whose terms are below e^−this of the largest for every M and distance are not made.
pub(crate) const END_CUT: f64 = 80.0;

/// Terms below e^−this of the peak are left out there.
pub(crate) const WINDOW_CUT: f64 = 25.0;

/// |τ|/ε up to which convolutions share their nodes; beyond, every column has nodes of its own.
pub(crate) const FIXED_NODES: f64 = 500.0;

/// Logarithm that stands for 0 in a table.
pub(crate) const NOTHING: f64 = -690.0;

/// Terms that the tables of one class may cost (a second), and the numbers that they may hold (512 MB).
pub(crate) const MAX_TABLE_TERMS: f64 = 4e9;
pub(crate) const MAX_TABLE_NUMBERS: f64 = 6.4e7;

/// Half width and step of a table's core, in resolutions.
///
/// ln h_ε has branch points about ε/2 from the real line, where a spike gives way to its tails.
pub(crate) const CORE: f64 = 8.0;
/// Guard: lib columns_and_series
pub(crate) const CORE_STEP: f64 = 1.0 / 16.0;

/// Step in ln |τ| of a table's columns outside its core.
/// Guard: lib columns_and_series
pub(crate) const SIDE_STEP: f64 = 0.04;

/// Step in ln M of a table for shapes up to 15; it falls with the eighth root of the largest shape.
/// Guard: lib entries_have_the_stated_error
pub(crate) const MASS_STEP: f64 = 0.11;

/// M below which columns are polynomials in M, and the number of their points.
pub(crate) const LOW: f64 = 0.3;
pub(crate) const CHEBYSHEV: usize = 8;

/// ln s that one line may cover below the series: this, and this over the total shape.
pub(crate) const WINDOW: [f64; 2] = [6.0, 40.0];

/// ln s runs from this, or this over the total shape, and a window below to this above the logarithm of the total shape: the
/// integrand falls like s^N, and s > e^−700.
pub(crate) const SCALES: [f64; 3] = [150.0, 40.0, 12.0];
pub(crate) const LOWEST_SCALE: f64 = -700.0;

/// |τ|/ε up to which the empty side of a component has columns: beyond, everything is below e^−5000.
pub(crate) const EMPTY: f64 = 100.0;

/// |τ| from which on the columns of the tail serve, where the resolution allows it.
/// Guard: lib columns_and_series
pub(crate) const TAIL_START: f64 = 1.0;

/// Columns of the tail between its start and infinity.
/// Guard: lib entries_have_the_stated_error
pub(crate) const TAIL_COLUMNS: f64 = 12.0;

/// The additional step of the Gaussian nodes in the tail, and the reduction of their half width, per unit of spacing above 1.
pub(crate) const COARSER_GAUSSIAN: f64 = 0.75;
pub(crate) const SHORTER_GAUSSIAN: f64 = 2.5;

/// The value of e^−|τ| of the tail's first column, which stands for 0.
pub(crate) const TAIL_INFINITY: f64 = 1e-12;

/// Step of the differences that slopes are, relative to the smallest shape that changes.
///
/// The tables of [`FINE`] are good to 1e-8, so that derivatives in the logarithm of a shape are good to about 1e-4.
/// Guard: lib entries_have_the_stated_error
pub(crate) const SLOPE_STEP: f64 = 2e-4;

/// Number of exponentials in the closed lower end of a sum over s, and weights that let an alternating sum fade out over
/// them, the outermost first (Euler's transformation).
pub(crate) const LOWER_CLOSING: usize = 4;
pub(crate) const FADE: [f64; LOWER_CLOSING] = [1.0 / 16.0, 5.0 / 16.0, 11.0 / 16.0, 15.0 / 16.0];

/// Attempts at placing a line's points.
pub(crate) const MAX_TRIES: usize = 60;

/// Terms of one item, at most: 0.1 to 0.3 s.
pub(crate) const MAX_TERMS: f64 = 1e8;

/// The error of a line whose integrand is not negligible at the end of the tables: an integral is not known if such a line is
/// more than the reciprocal of this of it.
pub(crate) const TRUNCATED: f64 = 1e12;

/// Sets of points that a line may interleave.
pub(crate) const MAX_PHASES: usize = 32;

/// The additional error of impossible outputs, per unit of ln f below −`FAR`: tables are steep there. With shapes of 300 to
/// 10 000 and opposite outputs, ln f at a resolution of 1e-5 is off from the exact value by up to 5e-7 of its size.
/// Guard: extremes impossible_outputs
pub(crate) const FAR_ERROR: f64 = 1e-6;
pub(crate) const FAR: f64 = 1000.0;

/// The finest tolerance that makes sense with these tables.
pub(crate) const FINEST_TOLERANCE: f64 = 2e-8;

/// Ties with higher powers than this are smooth enough as they are.
pub(crate) const SHARP: f64 = 3.0;

/// The reported error over the estimated one.
pub(crate) const SAFETY: f64 = 5.0;

/// Accuracy of learning's integrals over the scale.
pub(crate) const LEARNING_ACCURACY: f64 = 1e-3;

/// Terms below e^−this of the largest are left out when learning.
pub(crate) const LEARNING_CUT: f64 = 12.0;

/// Terms below e^−this of the largest do not enter the derivatives: 2e-5 of a Gaussian.
pub(crate) const LEARNING_SLOPE_CUT: f64 = 9.0;

/// Step of learning's nodes over the standard deviation of y. Between 0.8 and 1.2 the error of an item does not depend on it
/// (root mean square 3.5e-3 to 4.4e-3 for shapes of about 10): corners of M cause it.
pub(crate) const LEARNING_STEP: f64 = 1.0;

/// Error of one item that learning's nodes may have from ties. It is an upper bound: the root mean square is 0.7e-3 for shapes
/// of 3, 2 and 2, half of them shared. With three times this it is 2.7e-3, an item takes 20 % less time, and modes move by up
/// to 0.08 posterior standard deviations.
pub(crate) const LEARNING_KINK_ERROR: f64 = 4e-3;

/// Nodes of one item at the most, in each direction.
pub(crate) const MAX_RATIOS: i64 = 4000;

/// Numbers of points of a panel.
pub(crate) const PANEL_POINTS: [usize; 3] = [6, 10, 14];

/// The share of the tolerance that the error of one panel may be, and below which the rest of the axis is negligible.
pub(crate) const PANEL_GOAL: f64 = 0.3;
pub(crate) const NEGLIGIBLE: f64 = 0.05;

/// The share of the tolerance that the error of a panel is planned to be; the factor on corners in these plans, since halving
/// a panel costs more than some points too many; and the decay of the integrand per squared standard deviation.
pub(crate) const PLANNED: f64 = 0.1;
pub(crate) const BEND: f64 = 3e3;
pub(crate) const TAIL_DECAY: f64 = 0.2;

/// Widths in standard deviations of y: of the first panel beyond the ties, the factor to the next, and of panels between ties.
pub(crate) const FIRST: f64 = 4.0;
pub(crate) const GROWTH: f64 = 1.25;
pub(crate) const LONGEST: f64 = 4.0;

/// Panels, and rounds of halving, at most.
pub(crate) const MAX_PANELS: usize = 400;
pub(crate) const MAX_ROUNDS: usize = 14;

/// Distance from the real line, in resolutions, at which a smoothed corner has grown to e^(c²/2).
pub(crate) const GROWN: f64 = 2.5;

/// Widths of panels beside ties, in resolutions.
pub(crate) const NARROWEST: f64 = 5.0;
pub(crate) const WIDEST: f64 = 60.0;

/// Logarithm that stands for 0 in a panel.
pub(crate) const LOWEST: f64 = -1e12;

/// Nodes on one side of a single tie within a factor e of the distance from it: the error of a power of the distance is
/// about e^(−π² times this), 4e-7. With 4 an item takes 1.4 to 1.9 times as long, and its error is the same.
/// Guard: lib ties_at_one_place_are_one_cluster
pub(crate) const CLUSTER_WIDTH: f64 = 1.5;

/// If there are more ties than this, they share their nodes, but every tie keeps at least so many on each side within a
/// factor e. Without this bound the error of an item with 30 components is up to 5e-3 in place of 1.2e-3.
pub(crate) const FEW_TIES: f64 = 3.0;
/// Guard: pair_density many_ties
pub(crate) const LEAST_CLUSTER_WIDTH: f64 = 0.5;
