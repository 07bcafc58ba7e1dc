//! Which sources carry the same evidence.

use std::sync::Arc;

use consilience::methods::independent::IndependentFusion;
use consilience::methods::shares::{
    EvidenceCovariance, InsightIntervals, LEVEL, insight_intervals,
};
use consilience::{Result, SufficientStatistics};
use serde::Serialize;

use crate::clusters;
use crate::report::Study;

/// Which sources carry the same evidence.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Redundancy {
    /// What the numbers come from.
    pub origin: RedundancyOrigin,
    /// Number of independent sources with the same total evidence.
    pub effective_number: f64,
    /// Nominal coverage of all intervals.
    pub level: f64,
    /// Interval of the effective number, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<[f64; 2]>,
    /// Range of the effective number that independent sources would show on as many items.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub independent: Option<[f64; 2]>,
    /// Correlations of evidence given the true class, K × K; empty for more than 100 sources.
    pub correlation: Vec<Vec<f64>>,
    /// Their intervals, where they are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correlation_intervals: Option<Vec<Vec<[f64; 2]>>>,
    /// Order of the sources in which similar ones are neighbours; empty for more than 100 sources.
    pub order: Vec<usize>,
    /// Groups of sources with nearly the same evidence: correlations of 0.95 or more.
    pub copies: Vec<Vec<usize>>,
}

/// What the numbers of [`Redundancy`] come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RedundancyOrigin {
    /// The items that the model was fitted to.
    Training,
    /// The labelled items of the report.
    Items,
    /// The parameters of the model.
    Parameters,
}

/// Most sources of which all correlations are listed.
const WIDEST: usize = 100;

/// What is known about the evidence of the sources.
pub(crate) struct Insight {
    pub(crate) redundancy: Redundancy,
    pub(crate) covariance: EvidenceCovariance,
    pub(crate) intervals: Option<InsightIntervals>,
    /// Influence of every source, for methods that have it.
    pub(crate) influences: Option<Vec<f64>>,
}

/// What the model knows from its training items, or else what the labelled items show, or else what
/// the parameters of the model imply; none if there is nothing of this.
pub(crate) fn of(study: &Study<'_>) -> Result<Option<Insight>> {
    let model = study.model;
    let influences = model.influences()?;
    if let Some(covariance) = model.evidence_covariance() {
        let (covariance, intervals) = (covariance.clone(), model.insight_intervals().cloned());
        let origin = RedundancyOrigin::Training;
        return Ok(Some(Insight::new(origin, covariance, intervals, influences)));
    }
    if let Some(margins) = dirichlets(study)? {
        let labelled = study.outputs.labelled();
        let (alpha, progress) = (margins.alpha(), study.options.progress);
        let covariance = EvidenceCovariance::of(&labelled, alpha, progress)?;
        let prior = influences.as_ref().map(|_| study.prior);
        let intervals = insight_intervals(LEVEL, &labelled, &covariance, alpha, prior, progress)?;
        let influences = match prior {
            Some(prior) => {
                let strengths = margins.strengths(prior)?.into_iter();
                Some(strengths.zip(covariance.divided_shares()).map(|(a, b)| a * b).collect())
            }
            None => None,
        };
        let origin = RedundancyOrigin::Items;
        return Ok(Some(Insight::new(origin, covariance, intervals, influences)));
    }
    let Some(pairs) = model.implied_correlations()? else { return Ok(None) };
    let covariance = EvidenceCovariance::of_correlations(study.sources().len(), &pairs);
    Ok(Some(Insight::new(RedundancyOrigin::Parameters, covariance, None, influences)))
}

/// The Dirichlets by which the evidence of labelled items is measured: the model's own, or those of
/// its training items, or those of the items themselves. None with fewer than two labelled items.
fn dirichlets(study: &Study<'_>) -> Result<Option<IndependentFusion>> {
    if study.outputs.n_labelled() < 2 {
        return Ok(None);
    }
    if let Some(margins) = study.model.margins()? {
        return Ok(Some(margins));
    }
    let schema = study.model.schema();
    let complete = |own: &SufficientStatistics| {
        own.require_all(schema).is_ok() && own.require_outputs(schema).is_ok()
    };
    let trained = study.model.training().map(|training| training.statistics.clone());
    let own = match trained.filter(&complete) {
        Some(own) => Some(own),
        None => Some(SufficientStatistics::of(&study.outputs.labelled())?).filter(&complete),
    };
    own.map(|own| IndependentFusion::at_mode(Arc::clone(schema), &own)).transpose()
}

impl Insight {
    fn new(
        origin: RedundancyOrigin,
        covariance: EvidenceCovariance,
        intervals: Option<InsightIntervals>,
        influences: Option<Vec<f64>>,
    ) -> Self {
        let redundancy = Redundancy::new(origin, &covariance, intervals.as_ref());
        Self { redundancy, covariance, intervals, influences }
    }
}

impl Redundancy {
    fn new(
        origin: RedundancyOrigin,
        covariance: &EvidenceCovariance,
        intervals: Option<&InsightIntervals>,
    ) -> Self {
        let listed = covariance.n_classifiers() <= WIDEST;
        let correlation = if listed { covariance.correlations() } else { Vec::new() };
        Self {
            origin,
            effective_number: covariance.effective_number(),
            level: intervals.map_or(LEVEL, |own| own.level),
            interval: intervals.map(|own| own.effective_number),
            independent: intervals.map(|own| own.independent),
            order: clusters::order(&correlation),
            correlation_intervals: intervals.filter(|_| listed).map(|own| own.correlation.clone()),
            correlation,
            copies: covariance.copies(),
        }
    }
}
