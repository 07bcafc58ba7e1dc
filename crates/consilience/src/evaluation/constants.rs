//! Constants of the evaluation.

/// Number of equal-width bins of predicted probability in the calibration error.
///
/// 15 is the usual choice since Guo et al., "On calibration of modern neural networks", 2017.
pub const CALIBRATION_BINS: usize = 15;

/// Smallest number of bootstrap replicates, unless there are none. With fewer, the ends of a 95 %
/// interval are beyond the replicates, and a single replicate makes an interval of width 0.
pub(super) const MIN_REPLICATES: usize = 20;

/// Largest number of bootstrap replicates. The ends of a 95 % interval then have a Monte Carlo error
/// below 0.003 standard deviations of the score.
pub(super) const MAX_REPLICATES: usize = 1_000_000;

/// Largest number of scores in all replicates together: 1.6 GB.
pub(super) const MAX_REPLICATED_SCORES: usize = 200_000_000;

/// Bootstrap replicates for the standard error of the calibration error in a comparison. 200
/// replicates leave a relative Monte Carlo error of 1/√400 = 5 % in it.
pub(super) const CALIBRATION_REPLICATES: u64 = 200;

/// Two classifiers whose evidence has at least this correlation are reported as similar: they count
/// as at most 2 / 1.9 = 1.05 independent ones.
pub(super) const SIMILAR: f64 = 0.9;

/// A gain or loss of more than this many standard errors is reported as one: about 5 % of all
/// differences that are only noise exceed it.
pub(super) const CLEAR: f64 = 2.0;

/// Items × classes × weights per class of `auto`, beyond which its gain is estimated with fewer
/// folds: one fit then takes more than a second of processor time.
pub(super) const LARGE_FIT: usize = 20_000_000;

/// Folds for such fits.
pub(super) const FOLDS_OF_LARGE_FITS: usize = 3;

/// Items from which the gain is estimated with fewer folds: fits to 80 % and 90 % of so many items
/// are nearly alike.
pub(super) const MANY_ITEMS: usize = 1_000;

/// Folds for so many items.
pub(super) const FOLDS_OF_MANY_ITEMS: usize = 5;

/// Items from which the gain of a larger table is estimated; with so many, its standard error is
/// about 0.001 nats. Rare classes have at least so many items, if there are as many.
pub(super) const MOST_SAMPLED: usize = 100_000;
pub(super) const FEWEST_SAMPLED: usize = 100;

/// Single classifiers that `auto` recalibrates in the estimate of its gain: those with the smallest
/// log-losses without it.
pub(super) const RECALIBRATED: usize = 2;

/// Outputs whose largest probability is at least this are votes.
pub(super) const VOTE: f64 = 0.999;

/// Number of test items per class in the paper's random splits.
pub(super) const PAPER_TEST_ITEMS: usize = 20;

/// The 97.5 % quantile of the standard normal distribution.
pub(super) const NORMAL_975: f64 = 1.959_963_984_540_054;
