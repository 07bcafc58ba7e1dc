//! Collects votes, checks them and lays them out.

use std::sync::Arc;

use super::names::Names;
use super::table::{Grading, Table, UNKNOWN, Votes};
use crate::error::{Error, Result};
use crate::warning::Warning;

/// Votes are numbered with 32 bits.
const MOST_VOTES: usize = u32::MAX as usize - 1;

/// Collects votes one by one and checks them.
///
/// Items and sources are numbered in the order in which they first occur. The classes are the given
/// ones or else all labels of votes and gold, sorted.
#[derive(Debug, Clone, Default)]
pub struct VotesBuilder {
    items: Names,
    sources: Names,
    labels: Names,
    /// Numbers of the last item and source.
    last: [u32; 2],
    fixed_classes: bool,
    votes: Vec<Vote>,
    probabilities: Vec<f32>,
    gold: Vec<(u32, u32)>,
    /// Items, by name, that have a gold label but no votes yet.
    gold_only: Vec<(String, u32)>,
}

#[derive(Debug, Clone, Copy)]
struct Vote {
    item: u32,
    source: u32,
    label: u32,
}

impl VotesBuilder {
    /// A builder that takes its classes from the labels.
    pub fn new() -> Self {
        Self::default()
    }

    /// A builder with given classes, in order; all other labels are errors.
    pub fn with_classes<C>(classes: C) -> Result<Self>
    where
        C: IntoIterator<Item: AsRef<str>>,
    {
        let mut builder = Self::default();
        for class in classes {
            let before = builder.labels.len();
            builder.labels.add(class.as_ref(), "class")?;
            if builder.labels.len() == before {
                let class = class.as_ref();
                return Err(Error::InvalidNames(format!("class `{class}` is named twice")));
            }
        }
        builder.fixed_classes = true;
        Ok(builder)
    }

    /// Adds a vote.
    pub fn push(&mut self, item: &str, source: &str, label: &str) -> Result<()> {
        self.push_with_probability(item, source, label, None)
    }

    /// Adds a vote with the probability that the source gives to its label, from 0 to 1.
    pub fn push_with_probability(
        &mut self,
        item: &str,
        source: &str,
        label: &str,
        probability: Option<f64>,
    ) -> Result<()> {
        let label = self.add_label(label, item)?;
        let [last_item, last_source] = &mut self.last;
        let item = self.items.add_again(item, "item", last_item)?;
        let source = self.sources.add_again(source, "source", last_source)?;
        self.push_numbered((item, source, label), probability)
    }

    fn push_numbered(
        &mut self,
        (item, source, label): (u32, u32, u32),
        probability: Option<f64>,
    ) -> Result<()> {
        if let Some(p) = probability {
            if !(0.0..=1.0).contains(&p) {
                let (items, sources) = (self.items.list(), self.sources.list());
                let value = format!(
                    "{p} (item `{}`, source `{}`)",
                    items[item as usize], sources[source as usize]
                );
                return Err(Error::parameter("probability", "from 0 to 1", value));
            }
            self.probabilities.resize(self.votes.len(), f32::NAN);
            #[allow(clippy::cast_possible_truncation)] // grades need no more digits
            self.probabilities.push(p as f32);
        }
        if self.votes.len() >= MOST_VOTES {
            return Err(Error::parameter("number of votes", "below 2^32 − 1", "more"));
        }
        self.votes.push(Vote { item, source, label });
        Ok(())
    }

    /// Adds a source's probabilities of all classes, in the order of the given classes, as a vote
    /// for the most probable class; of equal ones, the first.
    ///
    /// # Errors
    /// If the builder was made without classes, or the row is not a distribution.
    #[allow(clippy::missing_panics_doc)] // classes are numbered with 32 bits
    pub fn push_distribution(&mut self, item: &str, source: &str, row: &[f64]) -> Result<()> {
        let fits = self.fixed_classes && row.len() == self.labels.len();
        let sum: f64 = row.iter().sum();
        if !fits || !row.iter().all(|p| (0.0..=1.0).contains(p)) || (sum - 1.0).abs() > 0.02 {
            let (name, what) =
                (format!("{row:?}"), "one probability per given class, adding up to 1");
            return Err(Error::parameter(format!("row of `{item}`"), what, name));
        }
        let item = self.add_item(item)?;
        let source = self.sources.add(source, "source")?;
        let label = consilience_numerics::simplex::arg_max(row);
        let number = u32::try_from(label).expect("classes are numbered with 32 bits");
        self.push_numbered((item, source, number), Some(row[label]))
    }

    /// Adds an item, with or without votes; returns its number.
    pub fn add_item(&mut self, item: &str) -> Result<u32> {
        self.items.add(item, "item")
    }

    fn add_label(&mut self, label: &str, item: &str) -> Result<u32> {
        match self.labels.get(label) {
            Some(number) => Ok(number),
            None if self.fixed_classes => Err(Error::UnknownVote {
                item: item.to_owned(),
                label: label.to_owned(),
                classes: self.classes(),
            }),
            None => self.labels.add(label, "label"),
        }
    }

    /// Sets the gold label of an item. Of several gold labels of an item, the last one counts. An
    /// item that has no votes in the end is left out with a warning.
    pub fn gold(&mut self, item: &str, label: &str) -> Result<()> {
        let known = self.items.get(item);
        let label = self.add_label(label, item)?;
        match known {
            Some(item) => self.gold.push((item, label)),
            None => self.gold_only.push((item.to_owned(), label)),
        }
        Ok(())
    }

    /// Number of items so far that have a vote or were [added](Self::add_item).
    pub fn n_items(&self) -> usize {
        self.items.len()
    }

    /// Number of votes so far.
    pub fn n_votes(&self) -> usize {
        self.votes.len()
    }

    /// The classes so far.
    pub fn classes(&self) -> Vec<String> {
        self.labels.list().iter().map(ToString::to_string).collect()
    }

    /// The table.
    ///
    /// # Errors
    /// Without votes, with fewer than two classes, or if no gold label belongs to an item with
    /// votes.
    pub fn finish(mut self) -> Result<Votes> {
        if self.votes.is_empty() {
            return Err(Error::NoVotes);
        }
        self.sort_classes();
        let classes: Vec<String> = self.labels.list().iter().map(ToString::to_string).collect();
        if classes.len() < 2 {
            return Err(Error::OneClass { class: classes.into_iter().next().unwrap_or_default() });
        }
        let mut warnings = Vec::new();
        let order = self.last_votes(&mut warnings);
        let gold = self.gold_codes(&mut warnings)?;
        Ok(self.layout(&order, classes, gold, warnings))
    }

    /// Orders the classes that were found.
    fn sort_classes(&mut self) {
        if self.fixed_classes {
            return;
        }
        let order = self.labels.sorted_order();
        let mut place = vec![0u32; order.len()];
        (0u32..).zip(&order).for_each(|(new, &old)| place[old] = new);
        self.votes.iter_mut().for_each(|vote| vote.label = place[vote.label as usize]);
        let gold = self.gold.iter_mut().map(|(_, label)| label);
        let all = gold.chain(self.gold_only.iter_mut().map(|(_, label)| label));
        all.for_each(|label| *label = place[*label as usize]);
        self.labels = std::mem::take(&mut self.labels).reordered(&order);
    }

    /// The votes ordered by item and source; of repeated votes the last one.
    fn last_votes(&self, warnings: &mut Vec<Warning>) -> Vec<u32> {
        let n = u32::try_from(self.votes.len()).unwrap_or(u32::MAX);
        let vote = |i: &u32| self.votes[*i as usize];
        let order = counting_sort((0..n).collect(), self.sources.len(), |i| vote(i).source);
        let mut order = counting_sort(order, self.items.len(), |i| vote(i).item);
        order.reverse();
        let before = order.len();
        order.dedup_by_key(|i| (vote(i).item, vote(i).source));
        order.reverse();
        if before > order.len() {
            let n = before - order.len();
            let were = if n == 1 { "vote was" } else { "votes were" };
            let message = format!(
                "{n} {were} repeated by the same source on the same item; the last one counts"
            );
            warnings.push(Warning::data(message));
        }
        order
    }

    fn gold_codes(&mut self, warnings: &mut Vec<Warning>) -> Result<Vec<u32>> {
        let mut codes = vec![UNKNOWN; self.items.len()];
        let late = std::mem::take(&mut self.gold_only);
        let n_late = late.len();
        let mut lost = Vec::new();
        for (name, label) in late {
            match self.items.get(&name) {
                Some(item) => self.gold.push((item, label)),
                None => lost.push(name),
            }
        }
        let mut repeated = 0;
        for (item, label) in &self.gold {
            let code = &mut codes[*item as usize];
            repeated += usize::from(*code != UNKNOWN && *code != *label);
            *code = *label;
        }
        if !lost.is_empty() && self.gold.is_empty() {
            return Err(Error::UnknownGold { item: lost.swap_remove(0), n: n_late });
        }
        if repeated > 0 {
            let message =
                format!("{repeated} gold labels were repeated differently; the last one counts");
            warnings.push(Warning::data(message));
        }
        if let Some(first) = lost.first() {
            let message = format!(
                "{} gold labels are of items without votes, such as `{first}`; they are not used",
                lost.len()
            );
            warnings.push(Warning::data(message));
        }
        Ok(codes)
    }

    fn layout(
        self,
        order: &[u32],
        classes: Vec<String>,
        gold: Vec<u32>,
        mut warnings: Vec<Warning>,
    ) -> Votes {
        let vote = |i: u32| self.votes[i as usize];
        let (n_items, n_sources) = (self.items.len(), self.sources.len());
        let starts = starts_of(n_items, order.iter().map(|&i| vote(i).item));
        // Places in the order by item, sorted by source and label.
        let n = u32::try_from(order.len()).unwrap_or(u32::MAX);
        let at = |place: &u32| vote(order[*place as usize]);
        let by_label = counting_sort((0..n).collect(), classes.len(), |place| at(place).label);
        let by_cell = counting_sort(by_label, n_sources, |place| at(place).source);
        let (mut cell_starts, mut cell_sources, mut cell_labels) =
            (Vec::new(), Vec::new(), Vec::new());
        let mut cells = vec![0; order.len()];
        for (k, place) in by_cell.iter().enumerate() {
            let vote = at(place);
            if cell_sources.last() != Some(&vote.source) || cell_labels.last() != Some(&vote.label)
            {
                cell_starts.push(k);
                cell_sources.push(vote.source);
                cell_labels.push(vote.label);
            }
            cells[*place as usize] = u32::try_from(cell_labels.len() - 1).unwrap_or(u32::MAX);
        }
        cell_starts.push(order.len());
        let cell_items: Vec<u32> = by_cell.iter().map(|place| at(place).item).collect();
        let source_cells = starts_of(n_sources, cell_sources.iter().copied());
        let grading = Grading::new(
            &self.probabilities,
            order,
            &by_cell,
            |place| at(place).source as usize,
            n_sources,
        );
        let empty = (0..n_items).filter(|&item| starts[item] == starts[item + 1]).count();
        if empty > 0 {
            let message = format!("{empty} items have no votes; they get the class shares");
            warnings.push(Warning::data(message));
        }
        let table = Table {
            items: self.items,
            sources: Arc::new(self.sources),
            classes,
            starts,
            cells,
            cell_starts,
            cell_items,
            source_cells,
            cell_sources,
            cell_labels,
            warnings,
        };
        Votes { table: Arc::new(table), grading: grading.map(Arc::new), gold }
    }
}

/// Where every key begins in a sorted list of keys; one number more than keys.
fn starts_of(n_keys: usize, keys: impl Iterator<Item = u32>) -> Vec<usize> {
    let mut starts = vec![0; n_keys + 1];
    keys.for_each(|key| starts[key as usize + 1] += 1);
    for key in 0..n_keys {
        starts[key + 1] += starts[key];
    }
    starts
}

/// Sorts by a key below `n_keys`, in linear time, keeping the order of equal keys.
fn counting_sort(list: Vec<u32>, n_keys: usize, key: impl Fn(&u32) -> u32) -> Vec<u32> {
    let mut next = starts_of(n_keys, list.iter().map(&key));
    let mut sorted = vec![0; list.len()];
    for value in list {
        let place = &mut next[key(&value) as usize];
        sorted[*place] = value;
        *place += 1;
    }
    sorted
}
