//! What was learned about sources: a model that labels new items.

use std::sync::Arc;

use consilience_numerics::simplex;
use serde_json::{Map, Value};

use super::config::VoteConfig;
use super::core::{Core, for_rows};
use super::estimates::Interval;
use super::family;
use super::learned::{Part, probabilities};
use super::names::Names;
use super::report::Rho;
use super::sharing::Sharing;
use super::table::{GRADES, Votes};
use super::weights::Weights;
use crate::error::{Error, Result};
use crate::warning::Warning;

/// A fitted method for votes, which labels new items; it can be saved and loaded.
#[derive(Debug, Clone, PartialEq)]
pub struct VoteModel {
    pub(super) config: VoteConfig,
    pub(super) classes: Vec<String>,
    pub(super) sources: Arc<Names>,
    /// Votes and accuracy of every source.
    pub(super) summaries: Vec<(usize, Interval)>,
    /// Where the cells of a source begin; one number more than sources.
    pub(super) source_cells: Vec<usize>,
    pub(super) cell_labels: Vec<u32>,
    /// Quartiles of the sources' probabilities, if votes were graded.
    pub(super) quartiles: Option<Vec<[f32; GRADES - 1]>>,
    /// Empty for `majority`.
    pub(super) parts: Vec<Part>,
    pub(super) rho: Rho,
    /// Groups of sources that count as one.
    pub(super) groups: Vec<Vec<usize>>,
    /// The description of a front end's estimator, which the file keeps.
    pub(super) estimator: Option<Map<String, Value>>,
}

/// Class probabilities of new items.
#[derive(Debug, Clone, PartialEq)]
pub struct PredictedVotes {
    n_classes: usize,
    probabilities: Vec<f64>,
    /// What the user should know about the votes.
    pub warnings: Vec<Warning>,
}

impl PredictedVotes {
    /// The probability of every class for an item.
    pub fn probabilities(&self, item: usize) -> &[f64] {
        &self.probabilities[item * self.n_classes..(item + 1) * self.n_classes]
    }

    /// The probabilities of all items, n × K.
    pub fn table(&self) -> &[f64] {
        &self.probabilities
    }

    /// Index of the most probable class of an item.
    pub fn label(&self, item: usize) -> usize {
        simplex::arg_max(self.probabilities(item))
    }
}

impl VoteModel {
    /// The method with its options.
    pub fn config(&self) -> &VoteConfig {
        &self.config
    }

    /// Names of the classes.
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    /// Names of the sources.
    pub fn sources(&self) -> &[Arc<str>] {
        self.sources.list()
    }

    /// Number of votes and accuracy of a source.
    pub fn source(&self, source: usize) -> (usize, Interval) {
        self.summaries[source]
    }

    /// The correlation ρ by which votes are discounted.
    pub fn rho(&self) -> Rho {
        self.rho
    }

    /// The description of the front end's estimator, if one was [kept](Self::with_estimator).
    pub fn estimator(&self) -> Option<&Map<String, Value>> {
        self.estimator.as_ref()
    }

    /// The same model with a description of the estimator that reads its data, which the model file
    /// keeps under `estimator`. The library does not look at it.
    #[must_use]
    pub fn with_estimator(mut self, estimator: Option<Map<String, Value>>) -> Self {
        self.estimator = estimator;
        self
    }

    /// Groups of sources that count as one, by index.
    pub fn groups(&self) -> &[Vec<usize>] {
        &self.groups
    }

    /// The number of votes on every item, where those of a group of sources are one.
    pub fn counted_votes(&self, votes: &Votes) -> Vec<usize> {
        let sharing = self.sharing(votes);
        let of = |item| sharing.as_ref().map_or_else(|| votes.votes_on(item), |s| s.counted(item));
        (0..votes.n_items()).map(of).collect()
    }

    /// The effective number of n votes, n / (1 + (n − 1) ρ).
    pub fn effective_votes(&self, n: usize) -> f64 {
        n as f64 / (1.0 + n.saturating_sub(1) as f64 * self.rho.value)
    }

    /// Class probabilities of items from the votes on them. Gold labels are not used. Sources that
    /// the model does not know count as average ones.
    ///
    /// # Errors
    /// If the classes of the votes are not those of the model; build the votes with
    /// [`VotesBuilder::with_classes`](super::VotesBuilder::`with_classes`).
    pub fn predict(&self, votes: &Votes) -> Result<PredictedVotes> {
        if votes.classes() != self.classes {
            return Err(Error::Mismatch {
                what: "classes of the votes and of the model",
                expected: self.classes.join(", "),
                found: votes.classes().join(", "),
            });
        }
        let known: Vec<Option<usize>> =
            votes.sources().iter().map(|name| Some(self.sources.get(name)? as usize)).collect();
        let unknown = known.iter().filter(|source| source.is_none()).count();
        let mut warnings = votes.warnings().to_vec();
        if unknown > 0 && !self.parts.is_empty() {
            let message = format!(
                "{unknown} of {} sources are not in the model; they count as average ones",
                known.len()
            );
            warnings.push(Warning::data(message));
        }
        let graded = match &self.quartiles {
            Some(own) => {
                let of = |w: &Option<usize>| w.map_or([1.0; GRADES - 1], |w| own[w]);
                votes.regraded(&known.iter().map(of).collect::<Vec<_>>())
            }
            None => votes.ungraded(),
        };
        let gold = vec![None; votes.n_items()];
        let sharing = self.sharing(votes);
        let core = Core { sharing: sharing.as_ref(), ..Core::new(&graded, &gold) };
        let probabilities = if self.parts.is_empty() {
            family::majority(&core)
        } else {
            let parts: Vec<Part> =
                self.parts.iter().map(|part| self.part_for(part, &graded, &known)).collect();
            probabilities(&core, &parts)
        };
        Ok(PredictedVotes { n_classes: self.classes.len(), probabilities, warnings })
    }

    /// What other votes count, given the groups of the model's sources.
    fn sharing(&self, votes: &Votes) -> Option<Sharing> {
        let place = |source: &usize| votes.table.sources.get(&self.sources.list()[*source]);
        let present = |group: &Vec<usize>| {
            group.iter().filter_map(place).map(|place| place as usize).collect::<Vec<usize>>()
        };
        let groups: Vec<Vec<usize>> = self.groups.iter().map(present).collect();
        Sharing::new(votes, &groups)
    }

    /// A part with the weights of the cells of other votes.
    fn part_for(&self, part: &Part, votes: &Votes, known: &[Option<usize>]) -> Part {
        let (own, s) = (&part.weights, part.weights.n_states);
        let new_source = self.sources.len();
        let mut rows = vec![0.0; votes.n_cells() * s];
        for_rows(&mut rows, s, |cell, row| {
            let label = votes.cell_label(cell);
            let source = known[votes.cell_source(cell)];
            if let Some(cell) = source.and_then(|source| self.cell(source, label)) {
                row.copy_from_slice(&own.rows[cell * s..(cell + 1) * s]);
            } else {
                let weights = own.unused(source.unwrap_or(new_source), label);
                row.iter_mut().zip(weights).for_each(|(value, weight)| *value = weight);
            }
        });
        let grades = own.grades.as_ref().map(|grades| {
            let of = |w: &Option<usize>| {
                w.map_or([0.0; GRADES], |w| std::array::from_fn(|b| grades[w * GRADES + b]))
            };
            known.iter().flat_map(of).collect()
        });
        let empty =
            Weights { n_states: s, rows, right: vec![], wrong: vec![], spread: vec![], grades };
        Part {
            share: part.share,
            ln_prior: part.ln_prior.clone(),
            weights: empty,
            discount: part.discount.clone(),
        }
    }

    /// The cell of a source and a label that it used.
    fn cell(&self, source: usize, label: usize) -> Option<usize> {
        let cells = self.source_cells[source]..self.source_cells[source + 1];
        let labels = &self.cell_labels[cells.clone()];
        let place = labels.binary_search(&u32::try_from(label).ok()?).ok()?;
        Some(cells.start + place)
    }
}
