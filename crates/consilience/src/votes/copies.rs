//! Pairs of sources that agree more often than independent sources would.
//!
//! Candidates are found in linear time by min-hashing: two sources have the same smallest hash of
//! their (item, label) pairs with a probability equal to the share of pairs that both have.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::estimates::Estimates;
use super::table::Votes;

/// Hash functions, and candidates per source and hash function.
const HASHES: u64 = 8;
const CANDIDATES: usize = 8;

/// A pair is reported if it has at least this many common items, agrees on at least this share of
/// them, and on more than independent sources by this many standard deviations.
const LEAST_COMMON: usize = 20;
const LEAST_AGREEMENT: f64 = 0.95;
const DEVIATIONS: f64 = 5.0;

/// Two sources that agree more often than independent ones.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SimilarSources {
    /// Indices of the two sources.
    pub between: (usize, usize),
    /// Number of items on which both voted.
    pub common: usize,
    /// Number of items on which they gave the same label.
    pub agree: usize,
    /// The number to be expected of independent sources with their confusion matrices.
    pub expected: f64,
}

/// A well-mixed 64-bit hash (the finaliser of `SplitMix64`).
fn mix(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The smallest hash of a source's votes.
fn smallest(votes: &Votes, source: usize, salt: u64) -> u64 {
    let of_cell = |cell: usize| {
        let label = (votes.cell_label(cell) as u64) << 32;
        let items = votes.cell_items(cell).iter();
        items.map(move |item| mix(mix(salt) ^ label ^ u64::from(*item)))
    };
    votes.cells_of(source).flat_map(of_cell).min().unwrap_or(u64::MAX)
}

/// The votes of a source as (item, label), ordered by item.
fn by_item(votes: &Votes, source: usize) -> Vec<(u32, usize)> {
    let of_cell = |cell: usize| {
        votes.cell_items(cell).iter().map(move |item| (*item, votes.cell_label(cell)))
    };
    let mut list: Vec<(u32, usize)> = votes.cells_of(source).flat_map(of_cell).collect();
    list.sort_unstable();
    list
}

/// Common items and agreements of two sources.
fn overlap(votes: &Votes, a: usize, b: usize) -> (usize, usize) {
    let (one, two) = (by_item(votes, a), by_item(votes, b));
    let (mut i, mut j, mut common, mut agree) = (0, 0, 0, 0);
    while i < one.len() && j < two.len() {
        let ((item, label), (other, its_label)) = (one[i], two[j]);
        common += usize::from(item == other);
        agree += usize::from(item == other && label == its_label);
        (i, j) = (i + usize::from(item <= other), j + usize::from(other <= item));
    }
    (common, agree)
}

/// All similar pairs that are found, in order.
pub(super) fn similar(votes: &Votes, estimates: &Estimates) -> Vec<SimilarSources> {
    let active: Vec<usize> =
        (0..votes.n_sources()).filter(|&w| votes.votes_of(w) >= LEAST_COMMON).collect();
    let mut pairs = BTreeSet::new();
    for salt in 0..HASHES {
        let mut buckets: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for &source in &active {
            let bucket = buckets.entry(smallest(votes, source, salt)).or_default();
            let near = bucket.len().saturating_sub(CANDIDATES);
            pairs.extend(bucket[near..].iter().map(|&other| (other, source)));
            bucket.push(source);
        }
    }
    pairs.into_iter().filter_map(|between| judge(votes, estimates, between)).collect()
}

fn judge(votes: &Votes, estimates: &Estimates, between: (usize, usize)) -> Option<SimilarSources> {
    let (common, agree) = overlap(votes, between.0, between.1);
    if common < LEAST_COMMON || (agree as f64) < LEAST_AGREEMENT * common as f64 {
        return None;
    }
    let [one, two] = [between.0, between.1].map(|source| estimates.confusion(votes, source));
    let rows = one.iter().zip(&two).zip(&estimates.shares);
    let share: f64 = rows
        .map(|((a, b), share)| share.value * a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>())
        .sum();
    let expected = share * common as f64;
    let sd = (expected * (1.0 - share)).max(0.0).sqrt();
    (agree as f64 > expected + DEVIATIONS * sd).then_some(SimilarSources {
        between,
        common,
        agree,
        expected,
    })
}
