//! The result of a fit: labels of the items, reports on sources, class shares.

use consilience_numerics::simplex;
use serde_json::{Value, json};

use super::auto::sources::logistic;
use super::config::VoteConfig;
use super::copies::{Copies, SimilarSources};
use super::estimates::{Estimates, Interval};
use super::learned::Learned;
use super::model::VoteModel;
use super::report::{Bias, GoldCheck, Rho, RhoOrigin, SourceReport, strength};
use super::sharing::Sharing;
use super::table::Votes;
use crate::sampling::diagnostics::Diagnostics;
use crate::warning::Warning;

/// Labels of items with their probabilities, and what was learned about the sources.
///
/// `Display` prints a report for people.
#[derive(Debug, Clone)]
pub struct Aggregation {
    model: VoteModel,
    votes: Votes,
    probabilities: Vec<f64>,
    estimates: Estimates,
    passes: usize,
    converged: bool,
    check: Option<GoldCheck>,
    sampling: Option<Diagnostics>,
    copies: Copies,
    sharing: Option<Sharing>,
    warnings: Vec<Warning>,
}

impl Aggregation {
    pub(super) fn new(
        config: VoteConfig,
        votes: &Votes,
        learned: Learned,
        (copies, sharing): (Copies, Option<Sharing>),
    ) -> Self {
        let rho = rho(&config, votes, &learned);
        let estimates = learned.estimates;
        let summary = |source: usize| {
            let (mean, sd) = estimates.accuracy[source];
            (votes.votes_of(source), Interval::of_logit(mean, sd))
        };
        let graded = learned.parts.iter().any(|part| part.weights.grades.is_some());
        let quartiles = votes.grading().filter(|_| graded).map(|g| g.quartiles.clone());
        let model = VoteModel {
            config,
            classes: votes.classes().to_vec(),
            sources: votes.table.sources.clone(),
            summaries: (0..votes.n_sources()).map(summary).collect(),
            source_cells: votes.table.source_cells.clone(),
            cell_labels: votes.table.cell_labels.clone(),
            quartiles,
            parts: learned.parts,
            rho,
            groups: if sharing.is_some() { copies.groups.clone() } else { Vec::new() },
            estimator: None,
        };
        let mut warnings = votes.warnings().to_vec();
        warnings.extend(learned.warnings);
        warnings.extend(unused_classes(votes));
        warnings.extend(copies.warnings(votes, sharing.is_some()));
        Self {
            model,
            votes: votes.clone(),
            probabilities: learned.probabilities,
            estimates,
            passes: learned.passes,
            converged: learned.converged,
            check: learned.check,
            sampling: learned.sampling,
            copies,
            sharing,
            warnings,
        }
    }

    /// The model, which labels new items.
    pub fn model(&self) -> &VoteModel {
        &self.model
    }

    /// The votes that were aggregated.
    pub fn votes(&self) -> &Votes {
        &self.votes
    }

    /// Names of the classes.
    pub fn classes(&self) -> &[String] {
        self.votes.classes()
    }

    /// The probability of every class for an item.
    pub fn probabilities(&self, item: usize) -> &[f64] {
        let k = self.votes.n_classes();
        &self.probabilities[item * k..(item + 1) * k]
    }

    /// The probabilities of all items, n × K.
    pub fn table(&self) -> &[f64] {
        &self.probabilities
    }

    /// Index of the most probable class of an item; of equal ones, the first.
    pub fn label(&self, item: usize) -> usize {
        simplex::arg_max(self.probabilities(item))
    }

    /// The effective number of votes on an item, n / (1 + (n − 1) ρ), where n counts the votes of a
    /// group of sources as one.
    pub fn effective_votes(&self, item: usize) -> f64 {
        let all = || self.votes.votes_on(item);
        self.model.effective_votes(self.sharing.as_ref().map_or_else(all, |s| s.counted(item)))
    }

    /// The share of every class among the items, with 90 % intervals.
    pub fn class_shares(&self) -> &[Interval] {
        &self.estimates.shares
    }

    /// The correlation ρ by which votes are discounted.
    pub fn rho(&self) -> Rho {
        self.model.rho
    }

    /// The report on a source.
    pub fn source(&self, source: usize) -> SourceReport {
        let k = self.votes.n_classes();
        let shares: Vec<f64> = self.estimates.shares.iter().map(|share| share.value).collect();
        let confusion = self.estimates.confusion(&self.votes, source);
        let own = source * k..(source + 1) * k;
        let logits = self.estimates.x[own.clone()].iter().zip(&self.estimates.sd[own]);
        let right: Vec<Interval> = logits.map(|(x, sd)| Interval::of_logit(*x, *sd)).collect();
        let (votes, accuracy) = self.model.summaries[source];
        let guess = 1.0 / k as f64;
        let worst =
            |best: usize, j: usize| if right[j].value < right[best].value { j } else { best };
        SourceReport {
            source: self.votes.sources()[source].to_string(),
            votes,
            accuracy,
            bias: Bias::of(&confusion, &shares),
            worst_class: (1..k).fold(0, worst),
            strength: strength(&confusion, &shares),
            guesses: accuracy.low <= guess && guess <= accuracy.high,
            right,
            confusion,
        }
    }

    /// Reports on all sources, in their order.
    pub fn sources(&self) -> impl Iterator<Item = SourceReport> + '_ {
        (0..self.votes.n_sources()).map(|source| self.source(source))
    }

    /// Number of sources whose accuracy cannot be told from guessing.
    pub fn n_guessing(&self) -> usize {
        let guess = 1.0 / self.votes.n_classes() as f64;
        let accuracies = self.model.summaries.iter().map(|(_, accuracy)| accuracy);
        accuracies.filter(|a| a.low <= guess && guess <= a.high).count()
    }

    /// Mean accuracy of the sources, weighted by their votes.
    pub fn mean_accuracy(&self) -> f64 {
        let weighted = self.estimates.accuracy.iter().zip(&self.model.summaries);
        let sum: f64 = weighted.map(|((x, _), (votes, _))| *votes as f64 * logistic(*x)).sum();
        sum / self.votes.n_votes() as f64
    }

    /// Number of passes over the votes. `auto` stops after a fixed number by design, so this is no
    /// sign of convergence; see [`Aggregation::converged`].
    pub fn passes(&self) -> usize {
        self.passes
    }

    /// Whether the method ended because its result no longer changed; false for `auto`.
    pub fn converged(&self) -> bool {
        self.converged
    }

    /// Log-losses of gold items from fits without their labels; only of `auto` with gold labels.
    pub fn check(&self) -> Option<&GoldCheck> {
        self.check.as_ref()
    }

    /// Convergence diagnostics of the chains of `gibbs`.
    pub fn sampling(&self) -> Option<&Diagnostics> {
        self.sampling.as_ref()
    }

    /// Pairs of sources that agree far more often than their agreement with the other sources
    /// explains, such as copies.
    pub fn similar_sources(&self) -> &[SimilarSources] {
        &self.copies.pairs
    }

    /// Groups of similar sources, by index. `auto` counts each group as one source.
    pub fn groups(&self) -> &[Vec<usize>] {
        &self.copies.groups
    }

    /// The report as JSON, without the sources and with the warnings as given.
    pub fn to_json(&self) -> Value {
        let votes = self.votes();
        let shares = votes.classes().iter().zip(self.class_shares());
        let shares = shares.map(
            |(class, s)| json!({"class": class, "share": s.value, "low": s.low, "high": s.high}),
        );
        let name = |source: usize| &*votes.sources()[source];
        let similar = self.similar_sources().iter().map(|pair| {
            json!({
                "between": [name(pair.between.0), name(pair.between.1)],
                "common": pair.common, "agree": pair.agree, "expected": pair.expected,
            })
        });
        let groups = self.groups().iter().map(|group| group.iter().map(|w| name(*w)).collect());
        json!({
            "method": self.model.config.name(),
            "settings": self.model.config,
            "classes": votes.classes(),
            "items": votes.n_items(),
            "votes": votes.n_votes(),
            "gold_labels": votes.n_gold(),
            "passes": self.passes,
            "converged": self.converged,
            "rho": self.rho(),
            "class_shares": shares.collect::<Vec<_>>(),
            "mean_accuracy": self.mean_accuracy(),
            "similar_sources": similar.collect::<Vec<_>>(),
            "groups": groups.collect::<Vec<Vec<_>>>(),
            "gold_check": self.check,
            "diagnostics": self.sampling,
            "warnings": self.warnings,
        })
    }

    /// What the user should know.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }
}

fn rho(config: &VoteConfig, votes: &Votes, learned: &Learned) -> Rho {
    let VoteConfig::Auto(options) = config else {
        return Rho { value: 0.0, low: 0.0, high: 0.0, origin: RhoOrigin::None };
    };
    let discount = &learned.parts[0].discount;
    let origin = match options.rho {
        Some(_) => RhoOrigin::Given,
        None if votes.n_gold() > 0 => RhoOrigin::Gold,
        None => RhoOrigin::Assumed,
    };
    Rho {
        value: discount.mean(),
        low: discount.quantile(0.05),
        high: discount.quantile(0.95),
        origin,
    }
}

/// Warns of classes without votes and of votes with one label only.
fn unused_classes(votes: &Votes) -> Option<Warning> {
    let counts = votes.label_counts();
    let unused: Vec<String> = votes
        .classes()
        .iter()
        .zip(&counts)
        .filter(|(_, n)| **n == 0.0)
        .map(|(class, _)| class.clone())
        .collect();
    if unused.is_empty() {
        return None;
    }
    let message = if unused.len() + 1 == counts.len() {
        "all votes have the same label, so nothing can be learned about the sources".into()
    } else {
        format!("no vote is for {}", crate::error::quoted(&unused))
    };
    Some(Warning::data(message))
}
