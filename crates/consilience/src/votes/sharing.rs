//! What votes count if groups of sources count as one source.
//!
//! If m members of a group vote on an item, each of these votes counts 1/m. Among the sources, each
//! member of a group of n counts 1/n.

use super::table::Votes;

/// Weights of votes and sources, given groups of sources.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sharing {
    /// The weight of every vote, by item.
    votes: Vec<f64>,
    /// By item: the number of votes, where those of a group are one.
    counted: Vec<u32>,
    /// The weight of every source.
    pub(super) sources: Vec<f64>,
}

impl Sharing {
    /// From lists of sources; none if there are none.
    pub(super) fn new(votes: &Votes, groups: &[Vec<usize>]) -> Option<Self> {
        if groups.is_empty() {
            return None;
        }
        let mut sources = vec![1.0; votes.n_sources()];
        let mut group_of = vec![None; votes.n_sources()];
        for (number, group) in groups.iter().enumerate() {
            for &source in group {
                sources[source] = 1.0 / group.len() as f64;
                group_of[source] = Some(number);
            }
        }
        let (mut weights, mut counted) = (Vec::with_capacity(votes.n_votes()), Vec::new());
        let mut members = vec![0u32; groups.len()];
        for item in 0..votes.n_items() {
            let own = || votes.of_item(item).map(|(source, _)| group_of[source]);
            own().flatten().for_each(|group| members[group] += 1);
            weights.extend(own().map(|group| group.map_or(1.0, |g| 1.0 / f64::from(members[g]))));
            let mut n = 0;
            for group in own() {
                // The first member counts for all.
                n += group.map_or(1, |g| u32::from(std::mem::take(&mut members[g]) > 0));
            }
            counted.push(n);
        }
        Some(Self { votes: weights, counted, sources })
    }

    /// The weights of the votes on an item.
    pub(super) fn on(&self, votes: &Votes, item: usize) -> &[f64] {
        &self.votes[votes.table.starts[item]..votes.table.starts[item + 1]]
    }

    /// The number of votes on an item, where those of a group are one.
    pub(super) fn counted(&self, item: usize) -> usize {
        self.counted[item] as usize
    }
}
