//! Single items that are worth a look, each with an explanation.

use serde::Serialize;

use crate::agreement::{arg_max, average};
use crate::contributions::Evidence;
use crate::report::Study;
use crate::text;

/// One item with the outputs of the sources, the fused result and its explanation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Case {
    /// The item, counted from 0.
    pub item: usize,
    /// Why it is shown, in nats: the Jensen–Shannon divergence of the outputs (items on which
    /// sources disagree), the log-loss (surprising labelled items) or the divergence of the fused
    /// distribution from the average output (other surprising items).
    pub measure: f64,
    /// True class, where it is known.
    pub label: Option<usize>,
    /// Most probable class of the fused result.
    pub predicted: usize,
    /// The classes that are shown, the most probable first.
    pub classes: Vec<usize>,
    /// Their fused probabilities.
    pub fused: Vec<f64>,
    /// The two classes that the evidence compares: for the first, against the second.
    pub versus: [usize; 2],
    /// Logarithm of the fused odds of the first class against the second. It is the sum of the
    /// class prior, the evidence of every source and the shared evidence.
    pub log_odds: f64,
    /// Logarithm of the odds of the class prior.
    pub prior: f64,
    /// Evidence that several sources give alike, so that it remains if any one of them is dropped.
    pub shared: f64,
    /// The sources with the most evidence of their own.
    pub sources: Vec<CaseSource>,
    /// Number of sources that are not shown.
    pub n_hidden: usize,
    /// The explanation in words.
    pub explanation: String,
}

/// One source's output for an item.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CaseSource {
    /// Index of the source.
    pub source: usize,
    /// Its probabilities of the classes shown; none if the output is missing.
    pub output: Option<Vec<f64>>,
    /// The evidence that it adds to the others' for the first of the two compared classes against
    /// the second, in nats.
    pub evidence: f64,
}

/// Most classes and sources shown for an item.
const CLASSES: usize = 6;
const SOURCES: usize = 12;

/// The items to be shown, with the reason in nats.
pub(crate) struct Chosen {
    disagreeing: Vec<(usize, f64)>,
    surprising: Vec<(usize, f64)>,
}

impl Chosen {
    /// All items in order, each once.
    pub(crate) fn all(&self) -> Vec<usize> {
        let both = self.disagreeing.iter().chain(&self.surprising);
        let mut items: Vec<usize> = both.map(|(item, _)| *item).collect();
        items.sort_unstable();
        items.dedup();
        items
    }
}

/// Chooses the items.
pub(crate) fn choose(study: &Study<'_>) -> Chosen {
    let labelled = study.outputs.n_labelled() > 0;
    let surprise = |item: usize| match study.outputs.label(item) {
        Some(label) => -study.fused.probabilities(item)[label].max(f64::MIN_POSITIVE).ln(),
        None if labelled => 0.0,
        None => divergence(study.fused.probabilities(item), &average(study, item)),
    };
    Chosen {
        disagreeing: largest(study, |item| disagreement(study, item)),
        surprising: largest(study, surprise),
    }
}

/// The items with the largest positive values; among equals the first.
fn largest(study: &Study<'_>, value: impl Fn(usize) -> f64) -> Vec<(usize, f64)> {
    let all = (0..study.n_items()).map(|item| (item, value(item)));
    let mut found: Vec<(usize, f64)> = all.filter(|(_, value)| *value > 1e-12).collect();
    found.sort_by(|a, b| b.1.total_cmp(&a.1));
    found.truncate(study.options.cases);
    found
}

/// Jensen–Shannon divergence of the outputs: the entropy of their mean minus their mean entropy.
fn disagreement(study: &Study<'_>, item: usize) -> f64 {
    let outputs = study.outputs.items(item..item + 1);
    let entropies: Vec<f64> = outputs.present(0).map(|(_, output)| entropy(output)).collect();
    if entropies.len() < 2 {
        return 0.0;
    }
    entropy(&average(study, item)) - entropies.iter().sum::<f64>() / entropies.len() as f64
}

fn entropy(distribution: &[f64]) -> f64 {
    distribution.iter().filter(|p| **p > 0.0).map(|p| -p * p.ln()).sum()
}

/// Kullback–Leibler divergence of the first distribution from the second.
fn divergence(p: &[f64], q: &[f64]) -> f64 {
    p.iter().zip(q).filter(|(p, _)| **p > 0.0).map(|(p, q)| p * (p / q).ln()).sum()
}

pub(crate) fn disagreeing(study: &Study<'_>, chosen: &Chosen, evidence: &Evidence) -> Vec<Case> {
    chosen.disagreeing.iter().map(|case| Case::of(study, *case, evidence)).collect()
}

pub(crate) fn surprising(study: &Study<'_>, chosen: &Chosen, evidence: &Evidence) -> Vec<Case> {
    chosen.surprising.iter().map(|case| Case::of(study, *case, evidence)).collect()
}

impl Case {
    fn of(study: &Study<'_>, (item, measure): (usize, f64), evidence: &Evidence) -> Self {
        let fused = study.fused.probabilities(item);
        let (label, predicted) = (study.outputs.label(item), arg_max(fused));
        let mean = average(study, item);
        let other = label
            .filter(|label| *label != predicted)
            .or_else(|| Some(arg_max(&mean)).filter(|class| *class != predicted))
            .unwrap_or_else(|| second(fused, predicted));
        let classes = shown(fused, [predicted, other], label);
        let n_classes = fused.len();
        let own = &evidence[&item];
        let difference = |k: usize| own[k * n_classes + predicted] - own[k * n_classes + other];
        let ln_odds = |p: &[f64]| {
            let [a, b] = [p[predicted], p[other]].map(|p| p.max(f64::MIN_POSITIVE).ln());
            a - b
        };
        let mut order: Vec<usize> = (0..study.sources().len()).collect();
        order.sort_by(|a, b| difference(*b).abs().total_cmp(&difference(*a).abs()));
        let n_hidden = order.len().saturating_sub(SOURCES);
        order.truncate(SOURCES);
        let source = |&k: &usize| CaseSource {
            source: k,
            output: study
                .outputs
                .output(item, k)
                .map(|output| classes.iter().map(|class| output[*class]).collect()),
            evidence: difference(k),
        };
        let (log_odds, prior) = (ln_odds(fused), ln_odds(study.prior.probabilities()));
        let all: f64 = (0..study.sources().len()).map(difference).sum();
        let mut case = Self {
            log_odds,
            prior,
            shared: log_odds - prior - all,
            item,
            measure,
            label,
            predicted,
            fused: classes.iter().map(|class| fused[*class]).collect(),
            versus: [predicted, other],
            sources: order.iter().map(source).collect(),
            n_hidden,
            explanation: String::new(),
            classes,
        };
        case.explanation = text::explanation(study, &case);
        case
    }
}

/// The most probable class but one.
fn second(fused: &[f64], first: usize) -> usize {
    let mut rest = fused.to_vec();
    rest[first] = f64::NEG_INFINITY;
    arg_max(&rest)
}

/// The most probable classes, among them the compared ones and the true one.
fn shown(fused: &[f64], versus: [usize; 2], label: Option<usize>) -> Vec<usize> {
    let mut order: Vec<usize> = (0..fused.len()).collect();
    order.sort_by(|a, b| fused[*b].total_cmp(&fused[*a]));
    let needed: Vec<usize> = versus.into_iter().chain(label).collect();
    let is_needed = |class: &usize| needed.contains(class);
    let free = CLASSES - order.iter().filter(|class| is_needed(class)).count();
    let mut others = 0;
    order.retain(|class| {
        others += usize::from(!is_needed(class));
        is_needed(class) || others <= free
    });
    order
}
