//! Sources, class shares and items of aggregated votes.

use consilience::evaluation::SampleMean;
use consilience::votes::{Aggregation, GoldCheck, Interval, Rho, SourceReport, Votes};
use serde::Serialize;

use crate::options::ReportOptions;
use crate::report::{FORMAT, Kind, Note, Report, Subject, VERSION};
use crate::text::{counted, listed, sentences};

/// Sources, class shares and items of aggregated votes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VoteReport {
    /// Number of votes.
    pub n_votes: usize,
    /// Number of sources.
    pub n_sources: usize,
    /// Mean accuracy of the sources, weighted by their votes.
    pub mean_accuracy: f64,
    /// Number of sources whose accuracy cannot be distinguished from guessing.
    pub n_guessing: usize,
    /// The correlation by which votes are discounted.
    pub rho: Rho,
    /// The share of every class, with 90 % intervals.
    pub shares: Vec<Interval>,
    /// The sources with the most votes, by accuracy, with 90 % intervals.
    pub sources: Vec<SourceReport>,
    /// Pairs of sources that agree more often than independent ones would.
    pub similar: Vec<VotePair>,
    /// Log-losses of gold items from fits without their labels, where there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<GoldCheck>,
    /// Share of the items with two or more votes whose votes are all for one class.
    pub unanimous: f64,
    /// Number of items without a gold label, whose labels come from the votes.
    pub n_open: usize,
    /// Number of these items by the probability of their label, in bins of width 0.05 from 0 to 1.
    pub certainty: Vec<u64>,
    /// The items without a gold label whose votes are divided most, the most extreme first.
    pub disagreeing: Vec<VoteCase>,
    /// The items without a gold label whose label is not the class with the most votes, the most
    /// certain first.
    pub against_majority: Vec<VoteCase>,
    /// Number of such items.
    pub n_against_majority: usize,
}

/// Two sources that agree more often than independent ones would.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VotePair {
    /// Their names.
    pub between: [String; 2],
    /// Number of items on which both voted.
    pub common: usize,
    /// Number of items on which they gave the same label.
    pub agree: usize,
    /// The number to be expected of independent sources.
    pub expected: f64,
}

/// One item with its votes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VoteCase {
    /// Name of the item.
    pub item: String,
    /// Why it is shown: the entropy of its votes in nats, or the probability of its label.
    pub measure: f64,
    /// Index of its label.
    pub label: usize,
    /// Probability of every class.
    pub probabilities: Vec<f64>,
    /// Number of votes for every class.
    pub votes: Vec<u64>,
    /// Who voted for which class; the first twelve.
    pub voters: Vec<(String, usize)>,
    /// Effective number of votes.
    pub effective_votes: f64,
    /// The explanation in words.
    pub explanation: String,
}

/// Most sources, pairs of sources and voters of an item that are listed.
const SOURCES: usize = 200;
const PAIRS: usize = 20;
const VOTERS: usize = 12;

/// Most sources that the verdict names as guessing.
const MOST_NAMED: usize = 3;

/// Bins of the probabilities of labels.
const BINS: usize = 20;

impl Report {
    /// The report on aggregated votes.
    pub fn of_votes(result: &Aggregation, options: &ReportOptions<'_>) -> Self {
        let votes = result.votes();
        let report = VoteReport::of(result, options.cases);
        let title = || match &options.data {
            Some(data) => format!("{} in {data}", counted(votes.n_votes(), "vote")),
            None => counted(votes.n_votes(), "vote"),
        };
        let notes = result.warnings().iter().map(|warning| Note::warning(warning.message.clone()));
        Self {
            format: FORMAT,
            version: VERSION,
            software: env!("CARGO_PKG_VERSION"),
            kind: Kind::Votes,
            title: options.title.clone().unwrap_or_else(title),
            subject: Subject {
                method: result.model().config().name().to_string(),
                data: options.data.clone(),
                sources: Vec::new(),
                classes: votes.classes().to_vec(),
                class_prior: Vec::new(),
                n_items: votes.n_items() as u64,
                n_labelled: votes.n_gold() as u64,
                n_missing: 0,
                n_trained: None,
                is_training: true,
            },
            verdict: report.verdict(votes),
            notes: notes.collect(),
            labelled: None,
            redundancy: None,
            contributions: Vec::new(),
            agreement: None,
            shares: None,
            disagreeing: Vec::new(),
            surprising: Vec::new(),
            sample: None,
            votes: Some(report),
        }
    }
}

impl VoteReport {
    fn of(result: &Aggregation, cases: usize) -> Self {
        let votes = result.votes();
        let counts: Vec<Vec<u64>> = (0..votes.n_items()).map(|item| counts(votes, item)).collect();
        let several = counts.iter().filter(|own| own.iter().sum::<u64>() > 1);
        let unanimous = several.clone().filter(|own| own.iter().filter(|n| **n > 0).count() == 1);
        let share = unanimous.count() as f64 / several.count() as f64;
        // A gold label decides the label of its item.
        let open: Vec<usize> = (0..votes.n_items()).filter(|i| votes.gold(*i).is_none()).collect();
        let mut certainty = vec![0; BINS];
        for &item in &open {
            certainty[bin(result.probabilities(item)[result.label(item)])] += 1;
        }
        let divided = open.iter().map(|&item| (item, entropy(&counts[item])));
        let divided = divided.filter(|(_, entropy)| *entropy > 0.0).collect();
        let is_outvoted = |item: usize| {
            let own = counts[item][result.label(item)];
            counts[item].iter().any(|n| *n > own)
        };
        let against: Vec<(usize, f64)> = open
            .iter()
            .filter(|item| is_outvoted(**item))
            .map(|&item| (item, result.probabilities(item)[result.label(item)]))
            .collect();
        let shown = |list: Vec<(usize, f64)>| -> Vec<VoteCase> {
            let chosen = most_extreme(list, cases);
            chosen.into_iter().map(|case| VoteCase::of(result, case, &counts)).collect()
        };
        Self {
            n_votes: votes.n_votes(),
            n_sources: votes.n_sources(),
            mean_accuracy: result.mean_accuracy(),
            n_guessing: result.n_guessing(),
            rho: result.rho(),
            shares: result.class_shares().to_vec(),
            sources: sources(result),
            similar: similar(result),
            check: result.check().copied(),
            unanimous: share,
            n_open: open.len(),
            certainty,
            disagreeing: shown(divided),
            n_against_majority: against.len(),
            against_majority: shown(against),
        }
    }

    fn verdict(&self, votes: &Votes) -> String {
        let mut text = format!(
            "{} gave {} on {}; a vote is right with a mean probability of {:.2}",
            counted(self.n_sources, "source"),
            counted(self.n_votes, "vote"),
            counted(votes.n_items(), "item"),
            self.mean_accuracy,
        );
        if let Some(GoldCheck { items, against_majority: SampleMean { mean, se }, .. }) = self.check
        {
            let items = counted(items, "gold item");
            text += &match mean / se {
                z if z > 2.0 => format!(
                    "; weighting the sources gains {mean:.3} ± {se:.3} nats over counting all votes \
                     alike, on {items} held out in turn"
                ),
                z if z < -2.0 => format!(
                    "; weighting the sources loses {:.3} ± {se:.3} nats against counting all votes \
                     alike, on {items} held out in turn",
                    -mean
                ),
                _ => format!(
                    "; no clear difference from counting all votes alike ({mean:+.3} ± {se:.3} nats on \
                     {items} held out in turn)"
                ),
            };
        }
        let guessing: Vec<&str> =
            self.sources.iter().filter(|own| own.guesses).map(|own| own.source.as_str()).collect();
        text += &match self.n_guessing {
            0 => "; every source differs clearly from guessing".to_owned(),
            n if n <= MOST_NAMED && n == guessing.len() => {
                format!("; {} cannot be distinguished from guessing", listed(&guessing))
            }
            n => format!("; {n} sources cannot be distinguished from guessing"),
        };
        sentences(&text)
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // from 0 to BINS
fn bin(probability: f64) -> usize {
    ((probability * BINS as f64) as usize).min(BINS - 1)
}

fn counts(votes: &Votes, item: usize) -> Vec<u64> {
    let mut counts = vec![0; votes.n_classes()];
    votes.of_item(item).for_each(|(_, label)| counts[label] += 1);
    counts
}

/// The entropy of votes in nats.
fn entropy(counts: &[u64]) -> f64 {
    let all = counts.iter().sum::<u64>() as f64;
    let shares = counts.iter().filter(|n| **n > 0).map(|n| *n as f64 / all);
    shares.map(|p| -p * p.ln()).sum()
}

/// The items with the largest values; among equals the first.
fn most_extreme(mut list: Vec<(usize, f64)>, most: usize) -> Vec<(usize, f64)> {
    list.sort_by(|a, b| b.1.total_cmp(&a.1));
    list.truncate(most);
    list
}

/// The sources with the most votes, by accuracy.
fn sources(result: &Aggregation) -> Vec<SourceReport> {
    let votes = result.votes();
    let mut order: Vec<usize> = (0..votes.n_sources()).collect();
    order.sort_by_key(|source| std::cmp::Reverse(votes.votes_of(*source)));
    order.truncate(SOURCES);
    let mut found: Vec<SourceReport> = order.into_iter().map(|own| result.source(own)).collect();
    found.sort_by(|a, b| b.accuracy.value.total_cmp(&a.accuracy.value));
    found
}

fn similar(result: &Aggregation) -> Vec<VotePair> {
    let name = |source: usize| result.votes().sources()[source].to_string();
    let pairs = result.similar_sources().iter().take(PAIRS).map(|pair| VotePair {
        between: [name(pair.between.0), name(pair.between.1)],
        common: pair.common,
        agree: pair.agree,
        expected: pair.expected,
    });
    pairs.collect()
}

impl VoteCase {
    fn of(result: &Aggregation, (item, measure): (usize, f64), counts: &[Vec<u64>]) -> Self {
        let votes = result.votes();
        let voter = |(source, label): (usize, usize)| (votes.sources()[source].to_string(), label);
        let label = result.label(item);
        let own = &counts[item];
        Self {
            item: votes.item(item).to_owned(),
            measure,
            label,
            probabilities: result.probabilities(item).to_vec(),
            votes: own.clone(),
            voters: votes.of_item(item).take(VOTERS).map(voter).collect(),
            effective_votes: result.effective_votes(item),
            explanation: explanation(result, item, own),
        }
    }
}

/// The votes for the label and against it, with the accuracies of the sources.
fn explanation(result: &Aggregation, item: usize, counts: &[u64]) -> String {
    let votes = result.votes();
    let (label, classes) = (result.label(item), votes.classes());
    let most = counts.iter().max().copied().unwrap_or(0);
    let leaders: Vec<&str> =
        (0..counts.len()).filter(|j| counts[*j] == most).map(|j| classes[j].as_str()).collect();
    let mut text = format!(
        "{} of {} votes are for `{}`, whose probability is {:.3}.",
        counts[label],
        counts.iter().sum::<u64>(),
        classes[label],
        result.probabilities(item)[label]
    );
    if counts[label] < most {
        text += &format!(" The most votes ({most}) are for {}.", listed(&leaders));
    }
    let mean = |for_label: bool| {
        let own = votes.of_item(item).filter(|(_, vote)| (*vote == label) == for_label);
        let accuracies: Vec<f64> = own.map(|(w, _)| result.model().source(w).1.value).collect();
        accuracies.iter().sum::<f64>() / accuracies.len() as f64
    };
    let (with, against) = (mean(true), mean(false));
    if !with.is_nan() && !against.is_nan() {
        text += &format!(
            " The mean accuracy of the sources is {with:.2} for this label and {against:.2} for \
             others."
        );
    }
    text
}
