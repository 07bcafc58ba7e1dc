//! The inference that all methods share: counts of votes from probabilities of items, and
//! probabilities of items from weights of votes.
//!
//! An item is in one of S latent *states*. Each class has the same number of states (1 for all
//! methods but `ebcc`), and the states of class j are j·M to j·M + M − 1. A *cell* is a source
//! together with one of its labels. Two steps alternate in every method:
//!
//! ```text
//! n(cell, s) = Σ q(i, s)               over the votes of the cell
//! F(i, s)    = ln p(s) + Σ T(cell, s)  over the votes on item i;  q(i, ·) = softmax F(i, ·)
//! ```
//!
//! The methods differ in how T follows from n. Work is divided into blocks of fixed size whose
//! sums are added in order, so results do not depend on the number of threads.

use consilience_numerics::{parallel, simplex};

use super::sharing::Sharing;
use super::table::{GRADES, UNGRADED, Votes};

/// Items, cells or sources per piece of work.
const BLOCK: usize = 2048;

/// Votes with the gold labels that a fit may use.
#[derive(Clone, Copy)]
pub(super) struct Core<'a> {
    pub(super) votes: &'a Votes,
    /// The gold label of every item, if any.
    pub(super) gold: &'a [Option<usize>],
    /// Number of states per class.
    pub(super) subtypes: usize,
    /// What votes count, if groups of sources count as one.
    pub(super) sharing: Option<&'a Sharing>,
}

/// Scores F and probabilities q of all items, n × S.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct States {
    pub(super) scores: Vec<f64>,
    pub(super) q: Vec<f64>,
}

impl<'a> Core<'a> {
    pub(super) fn new(votes: &'a Votes, gold: &'a [Option<usize>]) -> Self {
        Self { votes, gold, subtypes: 1, sharing: None }
    }

    /// Number of states.
    pub(super) fn n_states(&self) -> usize {
        self.votes.n_classes() * self.subtypes
    }

    /// The number of votes on an item, where those of a group are one.
    pub(super) fn votes_on(&self, item: usize) -> usize {
        self.sharing.map_or_else(|| self.votes.votes_on(item), |sharing| sharing.counted(item))
    }

    /// What a source counts: 1, or one over the size of its group.
    pub(super) fn source_weight(&self, source: usize) -> f64 {
        self.sharing.map_or(1.0, |sharing| sharing.sources[source])
    }

    /// What the votes on an item count: 1, or one over the votes of the same group.
    pub(super) fn vote_weights(&self, item: usize) -> impl Iterator<Item = f64> + '_ {
        let shared = self.sharing.map(|sharing| sharing.on(self.votes, item).iter().copied());
        let alike = self.sharing.is_none().then(|| std::iter::repeat(1.0));
        shared.into_iter().flatten().chain(alike.into_iter().flatten())
    }

    /// What the votes of every label count.
    fn label_counts(&self) -> Vec<f64> {
        if self.sharing.is_none() {
            return self.votes.label_counts();
        }
        let mut counts = vec![0.0; self.votes.n_classes()];
        for item in 0..self.votes.n_items() {
            let votes = self.votes.of_item(item).zip(self.vote_weights(item));
            votes.for_each(|((_, label), weight)| counts[label] += weight);
        }
        counts
    }

    /// The start of all methods: the shares of the votes on an item, with `smoothing` more votes
    /// spread as all labels are. One state per class.
    pub(super) fn start(&self, smoothing: f64) -> States {
        let k = self.votes.n_classes();
        let mut spread: Vec<f64> = self.label_counts().iter().map(|n| n + 1.0).collect();
        simplex::normalise(&mut spread);
        let mut states = States::new(self.votes.n_items(), k);
        for (item, row) in states.q.chunks_exact_mut(k).enumerate() {
            row.iter_mut().zip(&spread).for_each(|(q, p)| *q = smoothing * p);
            for (&cell, weight) in self.votes.item_cells(item).iter().zip(self.vote_weights(item)) {
                row[self.votes.cell_label(cell as usize)] += weight;
            }
            simplex::normalise(row);
            self.clamp(item, row);
        }
        states
    }

    /// Restricts the probabilities of an item with a gold label to the states of that class.
    fn clamp(&self, item: usize, row: &mut [f64]) {
        let Some(label) = self.gold[item] else { return };
        let own = label * self.subtypes..(label + 1) * self.subtypes;
        let sum: f64 = row[own.clone()].iter().sum();
        let even = 1.0 / self.subtypes as f64;
        for (state, q) in row.iter_mut().enumerate() {
            *q = match own.contains(&state) {
                true if sum > 0.0 => *q / sum,
                true => even,
                false => 0.0,
            };
        }
    }

    /// n(cell, s), cells × S.
    pub(super) fn counts(&self, q: &[f64]) -> Vec<f64> {
        let s = self.n_states();
        let mut counts = vec![0.0; self.votes.n_cells() * s];
        for_blocks(counts.chunks_mut(BLOCK * s).collect(), |block, piece: &mut [f64]| {
            for (i, row) in piece.chunks_exact_mut(s).enumerate() {
                add_rows(row, q, self.votes.cell_items(block * BLOCK + i));
            }
        });
        counts
    }

    /// Σᵢ q(i, s) for every state.
    pub(super) fn totals(&self, q: &[f64]) -> Vec<f64> {
        block_sums(self.votes.n_items(), self.n_states(), |items, sums| {
            let s = sums.len();
            for row in q[items.start * s..items.end * s].chunks_exact(s) {
                sums.iter_mut().zip(row).for_each(|(sum, q)| *sum += q);
            }
        })
    }

    /// Computes F and q of all items; returns the largest change of a class probability. `evidence`
    /// adds the weights of an item's votes to its row, given the probabilities so far.
    pub(super) fn update(
        &self,
        states: &mut States,
        ln_prior: &[f64],
        evidence: impl Fn(usize, &[f64], &mut [f64]) + Sync + Send,
    ) -> f64 {
        let s = self.n_states();
        let mut changes = vec![0.0f64; self.votes.n_items().div_ceil(BLOCK)];
        let rows = states.scores.chunks_mut(BLOCK * s).zip(states.q.chunks_mut(BLOCK * s));
        let pieces: Vec<_> = rows.zip(&mut changes).collect();
        for_blocks(pieces, |block, ((scores, q), change)| {
            let rows = scores.chunks_exact_mut(s).zip(q.chunks_exact_mut(s));
            let mut new = vec![0.0; s];
            for (i, (scores, q)) in rows.enumerate() {
                let item = block * BLOCK + i;
                scores.copy_from_slice(ln_prior);
                evidence(item, q, scores);
                new.copy_from_slice(scores);
                softmax(&mut new);
                self.clamp(item, &mut new);
                *change = change.max(self.moved(&new, q));
                q.copy_from_slice(&new);
            }
        });
        changes.into_iter().fold(0.0, f64::max)
    }

    /// The largest change of a class probability between two rows of states.
    fn moved(&self, new: &[f64], old: &[f64]) -> f64 {
        if self.subtypes == 1 {
            return new.iter().zip(old).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        }
        let sum = |states: &[f64]| states.iter().sum::<f64>();
        let classes = new.chunks_exact(self.subtypes).zip(old.chunks_exact(self.subtypes));
        classes.map(|(a, b)| (sum(a) - sum(b)).abs()).fold(0.0, f64::max)
    }

    /// Adds the weights T(cell, ·) of the votes on an item.
    pub(super) fn add_weights(&self, item: usize, weights: &[f64], row: &mut [f64]) {
        let cells = self.votes.item_cells(item);
        let Some(sharing) = self.sharing else { return add_rows(row, weights, cells) };
        let n = row.len();
        for (&cell, weight) in cells.iter().zip(sharing.on(self.votes, item)) {
            let own = &weights[cell as usize * n..][..n];
            row.iter_mut().zip(own).for_each(|(sum, value)| *sum += weight * value);
        }
    }

    /// Adds the evidence of the grades of the votes on an item to the voted classes; sources × grades.
    pub(super) fn add_grades(&self, item: usize, evidence: &[f64], row: &mut [f64]) {
        self.grades_on(item).for_each(|(at, label, weight)| row[label] += weight * evidence[at]);
    }

    /// The places of the graded votes on an item in a table of sources × grades, their labels, and
    /// what they count.
    pub(super) fn grades_on(&self, item: usize) -> impl Iterator<Item = (usize, usize, f64)> + '_ {
        let votes = self.votes;
        let grades = votes.grades_of(item).unwrap_or_default();
        let graded = votes.item_cells(item).iter().zip(grades).zip(self.vote_weights(item));
        let graded = graded.filter(|((_, grade), _)| **grade != UNGRADED);
        graded.map(move |((&cell, &grade), weight)| {
            let (source, label) =
                (votes.cell_source(cell as usize), votes.cell_label(cell as usize));
            (source * GRADES + usize::from(grade), label, weight)
        })
    }
}

impl States {
    pub(super) fn new(n_items: usize, n_states: usize) -> Self {
        Self { scores: vec![0.0; n_items * n_states], q: vec![0.0; n_items * n_states] }
    }
}

/// Adds the chosen rows of a table to a row. Few states are common and have loops of known length.
pub(super) fn add_rows(row: &mut [f64], table: &[f64], chosen: &[u32]) {
    match row.len() {
        2 => add_rows_of::<2>(row, table, chosen),
        3 => add_rows_of::<3>(row, table, chosen),
        4 => add_rows_of::<4>(row, table, chosen),
        5 => add_rows_of::<5>(row, table, chosen),
        6 => add_rows_of::<6>(row, table, chosen),
        n => {
            for &place in chosen {
                let own = &table[place as usize * n..][..n];
                row.iter_mut().zip(own).for_each(|(sum, value)| *sum += value);
            }
        }
    }
}

fn add_rows_of<const N: usize>(row: &mut [f64], table: &[f64], chosen: &[u32]) {
    let (rows, _) = table.as_chunks::<N>();
    let mut sums = [0.0; N];
    sums.copy_from_slice(row);
    for &place in chosen {
        let own = &rows[place as usize];
        for n in 0..N {
            sums[n] += own[n];
        }
    }
    row.copy_from_slice(&sums);
}

/// [`simplex::softmax`], to the last bit, with loops of known length for few states.
pub(super) fn softmax(row: &mut [f64]) {
    match row.len() {
        2 => softmax_of::<2>(row),
        3 => softmax_of::<3>(row),
        4 => softmax_of::<4>(row),
        5 => softmax_of::<5>(row),
        6 => softmax_of::<6>(row),
        _ => simplex::softmax(row),
    }
}

fn softmax_of<const N: usize>(row: &mut [f64]) {
    let Ok(values) = <&mut [f64; N]>::try_from(&mut *row) else { return };
    let max = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if max.is_infinite() {
        return simplex::softmax(row);
    }
    values.iter_mut().for_each(|value| *value = (*value - max).exp());
    let sum: f64 = values.iter().sum();
    values.iter_mut().for_each(|value| *value /= sum);
}

/// Does pieces of work that cannot fail, in any order.
pub(super) fn for_blocks<T: Send>(pieces: Vec<T>, work: impl Fn(usize, T) + Sync + Send) {
    let done: Result<(), std::convert::Infallible> = parallel::for_each(pieces, |i, piece| {
        work(i, piece);
        Ok(())
    });
    match done {
        Ok(()) => {}
    }
}

/// Sums over 0..n of `width` numbers: `add` adds those of a range. Ranges have a fixed size and
/// their sums are added in order.
pub(super) fn block_sums(
    n: usize,
    width: usize,
    add: impl Fn(std::ops::Range<usize>, &mut [f64]) + Sync + Send,
) -> Vec<f64> {
    let blocks = parallel::map(n.div_ceil(BLOCK), |block| {
        let mut sums = vec![0.0; width];
        add(block * BLOCK..((block + 1) * BLOCK).min(n), &mut sums);
        sums
    });
    let mut total = vec![0.0; width];
    for sums in blocks {
        total.iter_mut().zip(sums).for_each(|(total, sum)| *total += sum);
    }
    total
}

/// Calls `work` for every row of `width` numbers with its index.
pub(super) fn for_rows(
    values: &mut [f64],
    width: usize,
    work: impl Fn(usize, &mut [f64]) + Sync + Send,
) {
    for_blocks(values.chunks_mut(BLOCK * width).collect(), |block, piece: &mut [f64]| {
        for (i, row) in piece.chunks_exact_mut(width).enumerate() {
            work(block * BLOCK + i, row);
        }
    });
}
