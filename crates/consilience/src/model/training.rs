//! What a model was fitted on: the facts that a report prints and an update needs.

use serde::{Deserialize, Serialize};

use super::statistics::Statistics;
use super::unlabelled::Unlabelled;
use crate::data::class_prior::{ClassPrior, PriorChoice};
use crate::error::{Error, Result};
use crate::methods::correlated::learning::ObservedPair;
use crate::methods::independent::SufficientStatistics;
use crate::methods::shares::{EvidenceCovariance, InsightIntervals};
use crate::warning::Warning;

/// Divergence of label frequencies from a given class prior, in nats, beyond which there is a
/// warning: that of frequencies (0.72, 0.28) from (0.5, 0.5).
const FAR: f64 = 0.1;

/// Classes listed in that warning.
const SHOWN: usize = 10;

/// The 99.9 % quantile of the χ² distribution, by the approximation of Wilson and Hilferty, which
/// is 3 % too large at one degree of freedom and closer beyond.
fn chi_squared_999(freedom: f64) -> f64 {
    const NORMAL_999: f64 = 3.090_232_306_167_813;
    let spread = 2.0 / (9.0 * freedom);
    freedom * (1.0 - spread + NORMAL_999 * spread.sqrt()).powi(3)
}

/// What a model was fitted on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Training {
    /// Values that were raised to the floor.
    pub raised: u64,
    /// Summary of the labelled items: all that later updates need.
    pub statistics: SufficientStatistics,
    /// Summary of the items without a label.
    #[serde(default, skip_serializing_if = "Unlabelled::is_empty")]
    pub unlabelled: Unlabelled,
    /// How the classifiers' evidence varied together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence_covariance: Option<EvidenceCovariance>,
    /// Intervals of shares, influence, effective number and correlations of evidence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub insight_intervals: Option<InsightIntervals>,
    /// How the outputs of pairs of correlated classifiers were correlated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub observed_correlations: Vec<ObservedPair>,
    /// What the user was warned of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
}

impl Training {
    /// Facts about the items of a fit.
    pub(super) fn new(statistics: &Statistics) -> Result<Self> {
        if statistics.n_items() == 0 {
            return Err(Error::NoItems);
        }
        Ok(Self {
            raised: statistics.n_raised(),
            statistics: statistics.labelled().clone(),
            unlabelled: statistics.unlabelled().clone(),
            evidence_covariance: None,
            insight_intervals: None,
            observed_correlations: Vec::new(),
            warnings: statistics.doubts().warnings(),
        })
    }

    /// Adds items. The warnings are those of the new items.
    pub(super) fn add(&mut self, new: &Statistics) -> Result<()> {
        self.statistics.merge(new.labelled())?;
        self.unlabelled.merge(new.unlabelled());
        self.raised += new.n_raised();
        self.warnings = new.doubts().warnings();
        Ok(())
    }

    /// Number of items with a label.
    pub fn n_labelled(&self) -> u64 {
        self.statistics.class_counts().iter().sum()
    }

    /// Number of items without a label.
    pub fn n_unlabelled(&self) -> u64 {
        self.unlabelled.n_items()
    }

    /// How often every class occurs: the sum of the weights of its labelled items. Without any
    /// labelled item, the sum of the mean outputs.
    pub(super) fn class_frequencies(&self) -> Vec<f64> {
        match self.unlabelled.mean_output() {
            Some(mean) if self.n_labelled() == 0 => {
                mean.iter().map(|share| share * self.unlabelled.weight()).collect()
            }
            _ => self.statistics.class_weights(),
        }
    }

    /// The class prior that was asked for; for `estimate` the empirical one, to start from.
    pub(super) fn resolve(&self, prior: &PriorChoice, classes: &[String]) -> Result<ClassPrior> {
        let start = match prior {
            PriorChoice::Estimate => &PriorChoice::Empirical,
            other => other,
        };
        start.resolve(classes, Some(&self.class_frequencies()))
    }

    /// Warns if a given class prior is far from the frequencies of the labels: if these have a
    /// Kullback–Leibler divergence D of more than 0.1 nats from the prior, and 2nD is beyond the
    /// 99.9 % quantile of its χ² distribution for n labels drawn from the prior.
    pub(super) fn warn_of_prior(
        &mut self,
        choice: &PriorChoice,
        prior: &ClassPrior,
        classes: &[String],
    ) {
        if matches!(choice, PriorChoice::Given(_) | PriorChoice::Named(_)) {
            self.warnings.extend(self.prior_warning(prior, classes));
        }
    }

    fn prior_warning(&self, prior: &ClassPrior, classes: &[String]) -> Option<Warning> {
        let counts = self.statistics.class_counts();
        let n = self.n_labelled() as f64;
        let share = |count: &u64| *count as f64 / n;
        let terms = counts.iter().zip(prior.probabilities()).filter(|(count, _)| **count > 0);
        let divergence: f64 = terms.map(|(count, p)| share(count) * (share(count) / p).ln()).sum();
        let chance = chi_squared_999((counts.len() - 1) as f64) / (2.0 * n);
        // NaN without labels, and then no warning.
        (divergence > FAR.max(chance)).then(|| {
            let listed = |shares: &mut dyn Iterator<Item = f64>| {
                let parts = classes.iter().zip(shares).take(SHOWN);
                let mut parts: Vec<String> = parts.map(|(c, p)| format!("{c} {p:.3}")).collect();
                parts.extend((classes.len() > SHOWN).then(|| "…".to_owned()));
                parts.join(", ")
            };
            Warning::data(format!(
                "the class prior ({}) is far from the frequencies of the labels ({}): a divergence \
                 of {divergence:.2} nats",
                listed(&mut prior.probabilities().iter().copied()),
                listed(&mut counts.iter().map(share)),
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Quantiles from R's `qchisq(0.999, ν)`.
    #[test]
    fn quantiles_agree_with_r() {
        for (freedom, expected) in
            [(1.0, 10.827_57), (2.0, 13.815_51), (3.0, 16.266_24), (9.0, 27.877_16)]
        {
            let got = chi_squared_999(freedom);
            assert!((got / expected - 1.0).abs() < 0.031, "{freedom}: {got} is not {expected}");
        }
    }
}
