//! Intervals of shares, influence, effective number and correlations of evidence.

use serde::{Deserialize, Serialize};

use super::EvidenceCovariance;
use super::groups::{CentredLogs, GroupSums, triangle};
use super::independence::{degrees_of_freedom, draw_number};
use super::replicates::{NewtonStep, Replicates, statistics};
use crate::data::class_prior::ClassPrior;
use crate::data::outputs::Outputs;
use crate::error::Result;
use crate::methods::independent::{Alpha, strength};
use crate::progress::Progress;
use crate::sampling::diagnostics::quantile;
use consilience_numerics::parallel;

/// Coverage of the intervals in reports and model files.
pub const LEVEL: f64 = 0.9;

/// Replicates of the bootstrap. The Monte Carlo error of an end is 13 % of a standard error.
const REPLICATES: usize = 256;

/// Draws of the effective number of independent classifiers. The Monte Carlo error of an end is
/// 7 % of a standard deviation.
const DRAWS: usize = 1024;

/// Most classifiers times classes for which intervals are computed: a replicate takes K² J³ steps.
const WIDEST: usize = 300;

/// Most items times products of logarithms: some seconds.
const LARGEST_WORK: usize = 4_000_000_000;

/// Intervals of a model's shares, influences, effective number and correlations of evidence.
///
/// They are found by a Bayesian bootstrap of the labelled items. The quantiles of the replicates
/// around their median are added to the estimate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InsightIntervals {
    /// Nominal coverage, 0.9.
    pub level: f64,
    /// Interval of the effective number of classifiers.
    pub effective_number: [f64; 2],
    /// Range of the effective number that independent classifiers would show on as many items,
    /// with this probability.
    pub independent: [f64; 2],
    /// Intervals of the independent shares.
    pub shares: Vec<[f64; 2]>,
    /// Intervals of the influences, for methods that have them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub influence: Option<Vec<[f64; 2]>>,
    /// Intervals of the correlations of evidence, K × K.
    pub correlation: Vec<Vec<[f64; 2]>>,
}

/// Intervals with coverage `level` for a model with these Dirichlets, fitted to these labelled
/// outputs; none if they would take too long. `prior` is that of the strengths, for methods with
/// influences.
pub fn insight_intervals(
    level: f64,
    outputs: &Outputs,
    covariance: &EvidenceCovariance,
    alpha: &Alpha,
    prior: Option<&ClassPrior>,
    progress: &dyn Progress,
) -> Result<Option<InsightIntervals>> {
    let width = outputs.schema().width();
    if width > WIDEST || outputs.n_items().saturating_mul(triangle(width)) > LARGEST_WORK {
        return Ok(None);
    }
    let logs = CentredLogs::new(outputs)?;
    let replicates = Replicates {
        sums: GroupSums::of(&logs),
        alpha,
        steps: alpha.iter().flatten().map(|row| NewtonStep::new(row)).collect(),
        prior,
        start: covariance.shares(|_| true),
        copies: covariance.copies(),
    };
    let freedom = degrees_of_freedom(&logs, alpha);
    let drawn = parallel::map(REPLICATES, |replicate| {
        progress.check()?;
        Ok(replicates.draw(replicate))
    });
    let drawn = drawn.into_iter().collect::<Result<Vec<_>>>()?;
    let independent = parallel::map(DRAWS, |draw| {
        progress.check()?;
        Ok(draw_number(covariance, freedom, (REPLICATES + draw) as u64))
    });
    let independent = independent.into_iter().collect::<Result<Vec<_>>>()?;
    let strengths: Vec<f64> =
        prior.map_or_else(Vec::new, |prior| alpha.iter().map(|a| strength(a, prior)).collect());
    let found = statistics(covariance, &covariance.divided_shares(), &strengths);
    let around = |place: usize| {
        let column: Vec<f64> = drawn.iter().map(|replicate| replicate[place]).collect();
        ends(&column, level).map(|end| found[place] + end - quantile(&column, 0.5))
    };
    let intervals: Vec<[f64; 2]> = (0..found.len()).map(around).collect();
    let n = alpha.len();
    let intervals = InsightIntervals::new(level, &intervals, n, ends(&independent, level));
    // A class prior of 1 leaves no strength.
    Ok(Some(intervals).filter(|intervals| intervals.fits(n)))
}

fn ends(values: &[f64], level: f64) -> [f64; 2] {
    [0.5 - level / 2.0, 0.5 + level / 2.0].map(|p| quantile(values, p))
}

impl InsightIntervals {
    /// From the intervals of [`statistics`] of n classifiers.
    fn new(level: f64, intervals: &[[f64; 2]], n: usize, independent: [f64; 2]) -> Self {
        let pairs = n * (n - 1) / 2;
        let positive = |part: &[[f64; 2]]| -> Vec<[f64; 2]> {
            part.iter().map(|ends| ends.map(|end| end.max(0.0))).collect()
        };
        let (amounts, correlations) = intervals.split_at(intervals.len() - pairs);
        let (shares, influence) = amounts[1..].split_at(n);
        let correlation = |k: usize, m: usize| match (k.max(m), k.min(m)) {
            (k, m) if k == m => [1.0; 2],
            (k, m) => correlations[k * (k - 1) / 2 + m].map(f64::tanh),
        };
        Self {
            level,
            effective_number: positive(&amounts[..1])[0],
            independent,
            shares: positive(shares),
            influence: (!influence.is_empty()).then(|| positive(influence)),
            correlation: (0..n).map(|k| (0..n).map(|m| correlation(k, m)).collect()).collect(),
        }
    }

    /// Whether the intervals are those of so many classifiers, and numbers in order.
    pub(crate) fn fits(&self, n: usize) -> bool {
        let ordered = |ends: &[f64; 2]| ends[0] <= ends[1];
        let rows = |rows: &[[f64; 2]]| rows.len() == n && rows.iter().all(ordered);
        self.level > 0.0
            && self.level < 1.0
            && ordered(&self.effective_number)
            && ordered(&self.independent)
            && rows(&self.shares)
            && self.influence.as_ref().is_none_or(|influence| rows(influence))
            && self.correlation.len() == n
            && self.correlation.iter().all(|row| rows(row))
    }
}
