//! Scores of methods for votes on items whose gold label was not used.

use std::fmt;

use consilience_numerics::parallel;
use serde::Serialize;

use super::config::{DawidSkene, Majority, VoteConfig};
use super::model::VoteModel;
use super::report::FLOOR;
use super::table::Votes;
use crate::error::{Error, Result};
use crate::evaluation::{CALIBRATION_BINS, ReliabilityBin, SampleMean};
use crate::folds::stratified;
use crate::progress::{CancelOnly, Progress};
use crate::text::aligned;

/// Which labels score the methods.
#[derive(Debug, Clone, PartialEq)]
pub enum HeldOut {
    /// The gold labels, in so many folds: those of a fold are hidden from the fit that labels it.
    Folds {
        /// Number of folds, from 2 to 100.
        folds: usize,
        /// Seed of the folds.
        seed: u64,
    },
    /// These labels of items, by item. Items with a gold label are used by the fit and not scored.
    Labels(Vec<Option<usize>>),
}

/// The scores of one method, with paired differences from the baselines.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VoteScores {
    /// The method's name.
    pub method: String,
    /// Share of items whose most probable class is right; ties count in part.
    pub accuracy: SampleMean,
    /// Mean of −ln of the probability of the true class, raised to at least 1e-6.
    pub log_loss: SampleMean,
    /// Mean squared error of the probabilities, summed over classes.
    pub brier: SampleMean,
    /// Expected calibration error of the most probable class.
    pub ece: f64,
    /// Confidence and accuracy by range of the largest probability.
    pub reliability: Vec<ReliabilityBin>,
    /// Differences from `majority` and from `dawid-skene`.
    pub against: Vec<VoteDifference>,
}

/// Mean differences between a method and a baseline on the same items.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VoteDifference {
    /// Name of the baseline.
    pub baseline: String,
    /// Difference of accuracies: positive if the method is better.
    pub accuracy: SampleMean,
    /// Difference of log-losses: negative if the method is better.
    pub log_loss: SampleMean,
    /// Difference of Brier scores: negative if the method is better.
    pub brier: SampleMean,
}

/// Scores of several methods on the same items.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VoteComparison {
    /// Number of scored items.
    pub items: usize,
    /// The methods, those asked for first.
    pub methods: Vec<VoteScores>,
}

/// The methods beside which all others are scored.
const BASELINES: [VoteConfig; 2] =
    [VoteConfig::Majority(Majority {}), VoteConfig::DawidSkene(DawidSkene {})];

/// Accuracy, log-loss, Brier score of an item, and its largest probability.
type ItemScore = [f64; 4];

/// Scores methods, and `majority` and `dawid-skene` beside them.
///
/// # Errors
/// If no item can be scored, or a method cannot be fitted.
pub fn compare_votes(
    votes: &Votes,
    held_out: &HeldOut,
    methods: &[VoteConfig],
    progress: &dyn Progress,
) -> Result<VoteComparison> {
    let mut all = methods.to_vec();
    for baseline in BASELINES {
        if !all.iter().any(|method| method.name() == baseline.name()) {
            all.push(baseline);
        }
    }
    let rounds = rounds(votes, held_out)?;
    progress.begin("scoring methods", (all.len() * rounds.len()) as u64);
    let mut scores = Vec::with_capacity(all.len());
    for method in &all {
        scores.push((method.name(), score(votes, &rounds, method, progress)?));
    }
    Ok(VoteComparison::new(&scores))
}

impl VoteModel {
    /// Scores the model's probabilities of items with a gold label, and `majority` and
    /// `dawid-skene` beside them, which see the same votes. No gold label is used.
    ///
    /// # Errors
    /// If no item has a gold label, or the classes of the votes are not those of the model.
    pub fn evaluate(&self, votes: &Votes, progress: &dyn Progress) -> Result<VoteComparison> {
        let bare = votes.with_gold(&vec![None; votes.n_items()])?;
        let rounds = rounds(&bare, &HeldOut::Labels(votes.gold_labels()))?;
        let predicted = self.predict(&bare)?;
        let own = rounds[0].scores(|item| predicted.probabilities(item));
        let mut scores = vec![(self.config().name(), own)];
        progress.begin("scoring methods", 2);
        for baseline in BASELINES.iter().filter(|method| method.name() != self.config().name()) {
            scores.push((baseline.name(), score(&bare, &rounds, baseline, progress)?));
        }
        Ok(VoteComparison::new(&scores))
    }
}

/// The gold labels of a fit, and the items that it is scored on with their labels.
struct Round {
    gold: Vec<Option<usize>>,
    scored: Vec<(usize, usize)>,
}

impl Round {
    fn scores<'a>(&self, probabilities: impl Fn(usize) -> &'a [f64]) -> Vec<ItemScore> {
        let scored = self.scored.iter();
        scored.map(|(item, label)| score_item(probabilities(*item), *label)).collect()
    }
}

fn rounds(votes: &Votes, held_out: &HeldOut) -> Result<Vec<Round>> {
    let gold = votes.gold_labels();
    let labelled = |labels: &[Option<usize>]| -> Vec<(usize, usize)> {
        labels.iter().enumerate().filter_map(|(item, label)| Some((item, (*label)?))).collect()
    };
    match held_out {
        HeldOut::Labels(labels) => {
            // Checks length and range.
            votes.with_gold(labels)?;
            let mut scored = labelled(labels);
            scored.retain(|(item, _)| gold[*item].is_none());
            if scored.is_empty() {
                return Err(Error::NoItems);
            }
            Ok(vec![Round { gold, scored }])
        }
        HeldOut::Folds { folds, seed } => {
            if !(2..=100).contains(folds) {
                return Err(Error::parameter("folds", "from 2 to 100", folds));
            }
            let all = labelled(&gold);
            if all.len() < 2 {
                return Err(Error::parameter(
                    "gold labels",
                    "at least 2 to compare methods",
                    all.len(),
                ));
            }
            let labels: Vec<usize> = all.iter().map(|(_, label)| *label).collect();
            let n = (*folds).min(all.len());
            let of = stratified(&labels, votes.n_classes(), n, *seed);
            let round = |fold: usize| {
                let inside = all.iter().zip(&of).filter(|(_, own)| **own == fold);
                let scored: Vec<(usize, usize)> = inside.map(|(pair, _)| *pair).collect();
                let mut gold = gold.clone();
                scored.iter().for_each(|(item, _)| gold[*item] = None);
                Round { gold, scored }
            };
            Ok((0..n).map(round).collect())
        }
    }
}

/// The scores of all held-out items, round by round.
fn score(
    votes: &Votes,
    rounds: &[Round],
    method: &VoteConfig,
    progress: &dyn Progress,
) -> Result<Vec<ItemScore>> {
    let parts: Vec<Result<Vec<ItemScore>>> = parallel::map(rounds.len(), |round| {
        let round = &rounds[round];
        let fitted = method.fit_with(&votes.with_gold(&round.gold)?, &CancelOnly(progress))?;
        progress.advance(1);
        Ok(round.scores(|item| fitted.probabilities(item)))
    });
    let parts: Vec<Vec<ItemScore>> = parts.into_iter().collect::<Result<_>>()?;
    Ok(parts.concat())
}

fn score_item(probabilities: &[f64], label: usize) -> ItemScore {
    let mut p: Vec<f64> = probabilities.iter().map(|p| p.max(FLOOR)).collect();
    consilience_numerics::simplex::normalise(&mut p);
    let top = p.iter().copied().fold(0.0, f64::max);
    let tied = p.iter().filter(|p| **p >= top - 1e-9).count() as f64;
    let hit = if p[label] >= top - 1e-9 { 1.0 / tied } else { 0.0 };
    let square = |(j, p): (usize, &f64)| (p - f64::from(u8::from(j == label))).powi(2);
    [hit, -p[label].ln(), p.iter().enumerate().map(square).sum(), top]
}

/// The reliability diagram of the most probable class; ties are right in part.
fn reliability(scores: &[ItemScore]) -> Vec<ReliabilityBin> {
    let mut sums = [[0.0; 3]; CALIBRATION_BINS];
    for [hit, .., top] in scores {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a bin
        let bin = ((top * CALIBRATION_BINS as f64) as usize).min(CALIBRATION_BINS - 1);
        sums[bin].iter_mut().zip([1.0, *top, *hit]).for_each(|(sum, value)| *sum += value);
    }
    let bin = |[n, confidence, hits]: [f64; 3]| ReliabilityBin {
        share: n / scores.len() as f64,
        confidence: confidence / n,
        accuracy: hits / n,
    };
    sums.into_iter().map(bin).collect()
}

impl VoteComparison {
    /// From the scores of every item by every method.
    fn new(scores: &[(&str, Vec<ItemScore>)]) -> Self {
        let is_baseline = |name: &str| BASELINES.iter().any(|baseline| baseline.name() == name);
        let rows = scores.iter().map(|(name, own)| {
            let others = scores.iter().filter(|(other, _)| is_baseline(other) && other != name);
            VoteScores::new(name, own, others.map(|(other, scores)| (*other, &scores[..])))
        });
        Self { items: scores[0].1.len(), methods: rows.collect() }
    }
}

impl VoteScores {
    fn new<'a>(
        method: &str,
        own: &[ItemScore],
        baselines: impl Iterator<Item = (&'a str, &'a [ItemScore])>,
    ) -> Self {
        let mean = |place: usize| SampleMean::of(own.iter().map(|score| score[place]));
        let against = baselines.map(|(baseline, other)| {
            let difference = |place: usize| {
                SampleMean::of(own.iter().zip(other).map(|(a, b)| a[place] - b[place]))
            };
            VoteDifference {
                baseline: baseline.to_owned(),
                accuracy: difference(0),
                log_loss: difference(1),
                brier: difference(2),
            }
        });
        let reliability = reliability(own);
        let used = reliability.iter().filter(|bin| bin.share > 0.0);
        Self {
            method: method.to_owned(),
            accuracy: mean(0),
            log_loss: mean(1),
            brier: mean(2),
            ece: used.map(|bin| bin.share * (bin.accuracy - bin.confidence).abs()).sum(),
            reliability,
            against: against.collect(),
        }
    }
}

impl fmt::Display for VoteComparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "Scores on {} items whose gold label was not used (± one standard error)",
            self.items
        )?;
        let header = [
            "method",
            "accuracy",
            "log-loss",
            "Brier",
            "ECE",
            "log-loss − majority",
            "log-loss − Dawid–Skene",
        ];
        let rows = self.methods.iter().map(|row| {
            let difference = |baseline: &str| {
                let found = row.against.iter().find(|other| other.baseline == baseline);
                found.map_or_else(
                    || "-".into(),
                    |d| format!("{:+.4} ± {:.4}", d.log_loss.mean, d.log_loss.se),
                )
            };
            vec![
                row.method.clone(),
                row.accuracy.to_string(),
                row.log_loss.to_string(),
                row.brier.to_string(),
                format!("{:.4}", row.ece),
                difference("majority"),
                difference("dawid-skene"),
            ]
        });
        f.write_str(&aligned(&header, &rows.collect::<Vec<_>>()))
    }
}
