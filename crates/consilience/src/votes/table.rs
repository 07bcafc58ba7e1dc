//! The sparse table of votes.

use std::sync::Arc;

use super::names::Names;
use crate::error::{Error, Result};
use crate::warning::Warning;

/// No gold label.
pub(super) const UNKNOWN: u32 = u32::MAX;

/// Number of grades of votes with a probability: the quarters of a source's own probabilities.
pub(super) const GRADES: usize = 4;

/// The grade of a vote without a probability.
pub(super) const UNGRADED: u8 = u8::MAX;

/// Votes of sources on items, checked, with gold labels where they are known.
///
/// A source may vote on any part of the items. Memory is linear in the votes. Votes are stored
/// twice as 32-bit numbers: by item, and by *cell*, which is a source together with one of the
/// labels that it used.
///
/// # Example
/// ```
/// use consilience::votes::VotesBuilder;
/// let mut builder = VotesBuilder::new();
/// for (item, source, label) in [("q1", "ann", "yes"), ("q1", "bob", "no"), ("q2", "ann", "no")] {
///     builder.push(item, source, label)?;
/// }
/// builder.gold("q1", "yes")?;
/// let votes = builder.finish()?;
/// assert_eq!((votes.n_items(), votes.n_sources(), votes.n_votes()), (2, 2, 3));
/// assert_eq!(votes.classes(), ["no", "yes"]);
/// # Ok::<(), consilience::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Votes {
    pub(super) table: Arc<Table>,
    pub(super) grading: Option<Arc<Grading>>,
    pub(super) gold: Vec<u32>,
}

/// Who voted how on what.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Table {
    pub(super) items: Names,
    pub(super) sources: Arc<Names>,
    pub(super) classes: Vec<String>,
    /// Where the votes of an item begin; one number more than items.
    pub(super) starts: Vec<usize>,
    /// The cell of every vote, by item.
    pub(super) cells: Vec<u32>,
    /// Where the votes of a cell begin; one number more than cells.
    pub(super) cell_starts: Vec<usize>,
    /// The item of every vote, by cell.
    pub(super) cell_items: Vec<u32>,
    /// Where the cells of a source begin; one number more than sources.
    pub(super) source_cells: Vec<usize>,
    pub(super) cell_sources: Vec<u32>,
    pub(super) cell_labels: Vec<u32>,
    pub(super) warnings: Vec<Warning>,
}

/// Grades of votes with a probability.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Grading {
    /// The probability of the voted class, by item; NaN if it is not known.
    probabilities: Vec<f32>,
    /// The grade of every vote, by item.
    pub(super) by_item: Vec<u8>,
    /// The grade of every vote, by cell.
    pub(super) by_cell: Vec<u8>,
    /// The quartiles of every source's probabilities.
    pub(super) quartiles: Vec<[f32; GRADES - 1]>,
}

impl Votes {
    /// Number of items.
    pub fn n_items(&self) -> usize {
        self.table.items.len()
    }

    /// Number of sources.
    pub fn n_sources(&self) -> usize {
        self.table.sources.len()
    }

    /// Number of classes.
    pub fn n_classes(&self) -> usize {
        self.table.classes.len()
    }

    /// Number of votes.
    pub fn n_votes(&self) -> usize {
        self.table.cells.len()
    }

    /// Names of the classes.
    pub fn classes(&self) -> &[String] {
        &self.table.classes
    }

    /// Name of an item.
    pub fn item(&self, item: usize) -> &str {
        &self.table.items.list()[item]
    }

    /// Names of the items in order.
    pub fn items(&self) -> &[Arc<str>] {
        self.table.items.list()
    }

    /// Names of the sources in order.
    pub fn sources(&self) -> &[Arc<str>] {
        self.table.sources.list()
    }

    /// Number of votes on an item.
    pub fn votes_on(&self, item: usize) -> usize {
        self.table.starts[item + 1] - self.table.starts[item]
    }

    /// Number of votes of a source.
    pub fn votes_of(&self, source: usize) -> usize {
        let cells = self.cells_of(source);
        self.table.cell_starts[cells.end] - self.table.cell_starts[cells.start]
    }

    /// The votes on an item as pairs of source and label.
    pub fn of_item(&self, item: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.item_cells(item)
            .iter()
            .map(|&cell| (self.cell_source(cell as usize), self.cell_label(cell as usize)))
    }

    /// The gold label of an item, if it has one.
    pub fn gold(&self, item: usize) -> Option<usize> {
        (self.gold[item] != UNKNOWN).then_some(self.gold[item] as usize)
    }

    /// Number of items with a gold label.
    pub fn n_gold(&self) -> usize {
        self.gold.iter().filter(|label| **label != UNKNOWN).count()
    }

    /// What the user should know about the table: repeated votes, gold labels that are not used.
    pub fn warnings(&self) -> &[Warning] {
        &self.table.warnings
    }

    /// The same votes with other gold labels, by item.
    ///
    /// # Errors
    /// If the number of labels is not the number of items, or a label is not a class.
    pub fn with_gold(&self, gold: &[Option<usize>]) -> Result<Self> {
        if gold.len() != self.n_items() {
            return Err(Error::Mismatch {
                what: "gold labels and items",
                expected: self.n_items().to_string(),
                found: gold.len().to_string(),
            });
        }
        if let Some(bad) = gold.iter().flatten().find(|label| **label >= self.n_classes()) {
            return Err(Error::parameter("gold", "an index of a class", bad));
        }
        #[allow(clippy::cast_possible_truncation)] // checked to be the index of a class
        let code = |label: &Option<usize>| label.map_or(UNKNOWN, |label| label as u32);
        Ok(Self { gold: gold.iter().map(code).collect(), ..self.clone() })
    }

    /// The gold labels of all items.
    pub fn gold_labels(&self) -> Vec<Option<usize>> {
        (0..self.n_items()).map(|item| self.gold(item)).collect()
    }

    /// Sets the label of an item by name in a list of labels by item. Items without votes are left
    /// out. The labels `1` and `1.0` are the same.
    ///
    /// # Errors
    /// If the label is not a class.
    pub fn set_label(&self, labels: &mut [Option<usize>], item: &str, label: &str) -> Result<()> {
        let plain = |text: &str| text.strip_suffix(".0").unwrap_or(text).len();
        let same = |class: &String| class[..plain(class)] == label[..plain(label)];
        let classes = self.classes();
        let exact = classes.iter().position(|class| class == label);
        let class = exact.or_else(|| classes.iter().position(same));
        let class = class.ok_or_else(|| Error::UnknownVote {
            item: item.to_owned(),
            label: label.to_owned(),
            classes: classes.to_vec(),
        })?;
        if let Some(item) = self.table.items.get(item) {
            labels[item as usize] = Some(class);
        }
        Ok(())
    }

    /// The same votes without their probabilities.
    pub(super) fn ungraded(&self) -> Self {
        Self { grading: None, ..self.clone() }
    }

    pub(super) fn grading(&self) -> Option<&Grading> {
        self.grading.as_deref()
    }

    pub(super) fn grades_of(&self, item: usize) -> Option<&[u8]> {
        let range = self.table.starts[item]..self.table.starts[item + 1];
        self.grading.as_deref().map(|grading| &grading.by_item[range])
    }

    /// The same votes, graded by other quartiles of the sources.
    pub(super) fn regraded(&self, quartiles: &[[f32; GRADES - 1]]) -> Self {
        let regrade = |old: &Arc<Grading>| {
            let sources = self.table.cells.iter().map(|cell| self.cell_source(*cell as usize));
            let graded = sources.zip(&old.probabilities);
            let by_item: Vec<u8> = graded.map(|(w, p)| grade(*p, &quartiles[w])).collect();
            let probabilities = old.probabilities.clone();
            Arc::new(Grading {
                probabilities,
                by_item,
                by_cell: Vec::new(),
                quartiles: quartiles.to_vec(),
            })
        };
        Self { grading: self.grading.as_ref().map(regrade), ..self.clone() }
    }

    /// Number of cells.
    pub(super) fn n_cells(&self) -> usize {
        self.table.cell_labels.len()
    }

    /// The cells of the votes on an item.
    pub(super) fn item_cells(&self, item: usize) -> &[u32] {
        &self.table.cells[self.table.starts[item]..self.table.starts[item + 1]]
    }

    /// Where the votes of a cell are stored.
    pub(super) fn cell_range(&self, cell: usize) -> std::ops::Range<usize> {
        self.table.cell_starts[cell]..self.table.cell_starts[cell + 1]
    }

    /// The items of a cell's votes.
    pub(super) fn cell_items(&self, cell: usize) -> &[u32] {
        &self.table.cell_items[self.cell_range(cell)]
    }

    /// The cells of a source, one per label that it used.
    pub(super) fn cells_of(&self, source: usize) -> std::ops::Range<usize> {
        self.table.source_cells[source]..self.table.source_cells[source + 1]
    }

    pub(super) fn cell_source(&self, cell: usize) -> usize {
        self.table.cell_sources[cell] as usize
    }

    pub(super) fn cell_label(&self, cell: usize) -> usize {
        self.table.cell_labels[cell] as usize
    }

    /// Number of votes of every label.
    pub(super) fn label_counts(&self) -> Vec<f64> {
        let mut counts = vec![0.0; self.n_classes()];
        for cell in 0..self.n_cells() {
            counts[self.cell_label(cell)] += self.cell_range(cell).len() as f64;
        }
        counts
    }
}

impl Grading {
    /// The grades of votes in `order` (by item), of which `by_cell` is another order; none if no
    /// vote has a probability.
    pub(super) fn new(
        probabilities: &[f32],
        order: &[u32],
        by_cell: &[u32],
        source: impl Fn(&u32) -> usize,
        n_sources: usize,
    ) -> Option<Self> {
        if probabilities.is_empty() {
            return None;
        }
        let at = |i: &u32| probabilities.get(*i as usize).copied().unwrap_or(f32::NAN);
        let probabilities: Vec<f32> = order.iter().map(at).collect();
        let mut own: Vec<Vec<f32>> = vec![Vec::new(); n_sources];
        for (place, p) in (0u32..).zip(&probabilities).filter(|(_, p)| !p.is_nan()) {
            own[source(&place)].push(*p);
        }
        let quartiles: Vec<[f32; GRADES - 1]> = own.into_iter().map(quartiles).collect();
        let by_item: Vec<u8> = (0u32..)
            .zip(&probabilities)
            .map(|(place, p)| grade(*p, &quartiles[source(&place)]))
            .collect();
        let by_cell = by_cell.iter().map(|place| by_item[*place as usize]).collect();
        Some(Self { probabilities, by_item, by_cell, quartiles })
    }
}

/// The quartiles of some numbers; all 1 without numbers.
fn quartiles(mut values: Vec<f32>) -> [f32; GRADES - 1] {
    values.sort_unstable_by(f32::total_cmp);
    let at = |quarter: usize| values.get(values.len() * quarter / GRADES).copied().unwrap_or(1.0);
    [at(1), at(2), at(3)]
}

/// The quarter of a source's probabilities in which a probability lies, from 0 to 3.
#[allow(clippy::cast_possible_truncation)] // at most 3
pub(super) fn grade(probability: f32, quartiles: &[f32; GRADES - 1]) -> u8 {
    if probability.is_nan() {
        return UNGRADED;
    }
    quartiles.iter().filter(|limit| probability >= **limit).count() as u8
}
