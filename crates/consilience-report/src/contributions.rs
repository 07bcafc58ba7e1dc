//! What every source contributes to the fused result.
//!
//! The evidence that a source adds given all others, eₖⱼ, is computed once. It explains single
//! items, and it gives the fused result without the source: P(t=j | x without xᵏ) ∝ P(t=j | x) e^−eₖⱼ.

use std::collections::BTreeMap;

use consilience::Result;
use consilience::evaluation::{SampleMean, weighted_mean};
use consilience::methods::explain;
use serde::Serialize;

use crate::agreement::arg_max;
use crate::cases::Chosen;
use crate::redundancy::Insight;
use crate::report::Study;
use crate::sample::evenly;

/// What one source contributes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Contribution {
    /// Index of the source.
    pub source: usize,
    /// Number of items with an output of the source.
    pub present: u64,
    /// Mean evidence that the source adds to what the others give, in nats, where it is known: its
    /// strength times its independent share.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub influence: Option<f64>,
    /// Interval of the influence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub influence_interval: Option<[f64; 2]>,
    /// Independent share: 1 if its evidence is independent of all other sources, 0 if they give
    /// it already.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// Interval of the share.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share_interval: Option<[f64; 2]>,
    /// Increase of the log-loss, in nats, if the outputs of the source are missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drop_cost: Option<SampleMean>,
    /// Share of the items whose most probable class changes if the output of the source is missing.
    pub drop_changes: f64,
    /// Number of items that the two numbers on dropping come from.
    pub n_dropped: usize,
}

/// The evidence that every source adds for every class, K × J, by item.
pub(crate) type Evidence = BTreeMap<usize, Vec<f64>>;

/// Most items without a source in turn, for methods that fuse fast and for others.
const EXAMINED: usize = 20_000;
const FEWEST: usize = 200;
const TASKS: usize = 64;

/// Items that are explained at a time.
const CHUNK: usize = 2_048;

/// The contributions of all sources, and the evidence on the chosen items.
pub(crate) fn of(
    study: &Study<'_>,
    chosen: &Chosen,
    insight: Option<&Insight>,
) -> Result<(Vec<Contribution>, Evidence)> {
    let most = (study.fusion.items_per_task().saturating_mul(TASKS)).clamp(FEWEST, EXAMINED);
    let labelled = study.outputs.n_labelled() > 0;
    let suitable: Vec<usize> = (0..study.n_items())
        .filter(|item| !labelled || study.outputs.label(*item).is_some())
        .collect();
    let items: Vec<usize> = evenly(suitable.len(), most).into_iter().map(|i| suitable[i]).collect();
    let mut dropped = Dropped::new(study.sources().len());
    let total = items.len() + chosen.all().len();
    study.options.progress.begin("explaining", total as u64);
    for part in items.chunks(CHUNK) {
        let evidence = evidence(study, part)?;
        part.iter().zip(&evidence).for_each(|(item, own)| dropped.add(study, *item, own));
    }
    let shown = chosen.all();
    let mut kept = Evidence::new();
    for part in shown.chunks(CHUNK) {
        kept.extend(part.iter().copied().zip(evidence(study, part)?));
    }
    Ok((dropped.contributions(study, insight), kept))
}

/// The evidence on some items.
fn evidence(study: &Study<'_>, items: &[usize]) -> Result<Vec<Vec<f64>>> {
    let progress = study.options.progress;
    progress.check()?;
    let part = study.outputs.select_items(items);
    let all = explain(study.fusion, &part, study.prior, progress)?;
    progress.advance(items.len() as u64);
    Ok(all.chunks_exact(part.schema().width()).map(<[f64]>::to_vec).collect())
}

/// The results of dropping each source, item by item.
struct Dropped {
    labels: Vec<usize>,
    /// The increase of every item's loss, by source.
    costs: Vec<Vec<f64>>,
    /// Number of items whose most probable class changes, by source.
    changes: Vec<u64>,
    n_items: usize,
}

impl Dropped {
    fn new(n_sources: usize) -> Self {
        let costs = vec![Vec::new(); n_sources];
        Self { labels: Vec::new(), costs, changes: vec![0; n_sources], n_items: 0 }
    }

    fn add(&mut self, study: &Study<'_>, item: usize, evidence: &[f64]) {
        let fused = study.fused.probabilities(item);
        let label = study.outputs.label(item);
        self.n_items += 1;
        self.labels.extend(label);
        let ln: Vec<f64> = fused.iter().map(|p| p.max(f64::MIN_POSITIVE).ln()).collect();
        for (k, own) in evidence.chunks_exact(fused.len()).enumerate() {
            let rest: Vec<f64> = ln.iter().zip(own).map(|(ln, e)| ln - e).collect();
            self.changes[k] += u64::from(arg_max(&rest) != arg_max(fused));
            if let Some(label) = label {
                self.costs[k].push(ln[label] - (rest[label] - log_sum_exp(&rest)));
            }
        }
    }

    fn contributions(&self, study: &Study<'_>, insight: Option<&Insight>) -> Vec<Contribution> {
        let shares = insight.map(|own| own.covariance.divided_shares());
        let influences = insight.and_then(|own| own.influences.as_ref());
        let intervals = insight.and_then(|own| own.intervals.as_ref());
        let of_influence = intervals.and_then(|own| own.influence.as_ref());
        let one = |k: usize| {
            let mean = || weighted_mean(&self.costs[k], &self.labels, study.prior, study.weighting);
            let present = (0..study.n_items()).filter(|i| study.outputs.output(*i, k).is_some());
            Contribution {
                source: k,
                present: present.count() as u64,
                influence: influences.map(|own| own[k]),
                influence_interval: of_influence.filter(|_| influences.is_some()).map(|own| own[k]),
                share: shares.as_ref().map(|own| own[k]),
                share_interval: intervals.map(|own| own.shares[k]),
                drop_cost: (!self.labels.is_empty()).then(mean),
                drop_changes: self.changes[k] as f64 / self.n_items as f64,
                n_dropped: self.n_items,
            }
        };
        (0..self.costs.len()).map(one).collect()
    }
}

fn log_sum_exp(values: &[f64]) -> f64 {
    let largest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    largest + values.iter().map(|value| (value - largest).exp()).sum::<f64>().ln()
}
