//! Sources that copy each other: pairs that agree far more than their agreement with the other
//! sources explains, and the groups that such pairs form.
//!
//! No estimate of the truth is used, because copies of a weak source would spoil it. Let A be the
//! share of common items on which two sources agree, and s = (K·A − 1) / (K − 1). If sources are
//! independent given the class, and also if some items are hard or deceptive for all of them, s of
//! a pair is close to a product of one number per source. The agreement s(a, b) to be expected then
//! follows from the agreement with the other sources on the same items, s(a) and s(b), and among
//! these, s(o):
//!
//! ```text
//! expected s(a, b) = s(a) s(b) / s(o)
//! ```
//!
//! The other sources are weighted by one over the number of sources that they resemble, so that
//! copies do not dominate them. Only pairs of high agreement are judged in this way. They are found
//! by counting the pairs of votes on every item, with a limited number of partners per vote, so that
//! the time is linear in the votes.

use std::collections::BTreeMap;

use serde::Serialize;

use super::table::Votes;
use crate::warning::Warning;

/// A pair is judged if it has at least this many common items and agrees on at least this share of
/// them.
const LEAST_COMMON: usize = 20;
const LEAST_AGREEMENT: f64 = 0.85;

/// A pair is reported if it has at least this share of the agreement that independent sources would
/// lack. If one of two sources copies the other with probability c, the share is c.
const LEAST_COPIED: f64 = 0.8;

/// Bound of the probability that any independent pair of a table is reported because of the items
/// that it happened to see.
const FALSE_ALARMS: f64 = 0.001;

/// Standard errors by which the expected agreement is raised before it is compared.
const ERRORS: f64 = 2.0;

/// Partners with which a vote on an item is compared.
const PARTNERS: usize = 128;

/// Hashes by which sources are ordered if items have more votes than that.
const HASHES: usize = 4;

/// Groups with a warning, and names of sources in it.
const MOST_WARNINGS: usize = 5;
const MOST_NAMES: usize = 10;

/// Two sources that agree more often than their agreement with the other sources explains.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SimilarSources {
    /// Indices of the two sources.
    pub between: (usize, usize),
    /// Number of items on which both voted.
    pub common: usize,
    /// Number of items on which they gave the same label.
    pub agree: usize,
    /// The number to be expected of independent sources.
    pub expected: f64,
}

/// Similar pairs, and the groups that they form.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Copies {
    pub(super) pairs: Vec<SimilarSources>,
    /// Indices of sources, increasing within a group; groups in the order of their first source.
    pub(super) groups: Vec<Vec<usize>>,
}

impl Copies {
    pub(super) fn find(votes: &Votes) -> Self {
        let candidates = Candidates::of(votes);
        if candidates.pairs.is_empty() {
            return Self::default();
        }
        let limit = (candidates.examined as f64 / FALSE_ALARMS).ln();
        let others = Others::new(votes, &candidates.pairs);
        let pairs: Vec<SimilarSources> =
            others.judge(candidates.pairs).filter_map(|judged| judged.report(limit)).collect();
        let groups = groups(pairs.iter().map(|pair| pair.between));
        Self { pairs, groups }
    }
}

impl Copies {
    /// Warns of the first groups, which the method counts as one source each or not.
    pub(super) fn warnings(&self, votes: &Votes, as_one: bool) -> Vec<Warning> {
        let groups = self.groups.iter().take(MOST_WARNINGS);
        groups.map(|group| self.warning(votes, group, as_one)).collect()
    }

    fn warning(&self, votes: &Votes, group: &[usize], as_one: bool) -> Warning {
        let own = self.pairs.iter().filter(|pair| group.contains(&pair.between.0));
        let (common, agree, expected) = own.fold((0, 0, 0.0), |(common, agree, expected), pair| {
            (common + pair.common, agree + pair.agree, expected + pair.expected)
        });
        let percent = |n: f64| 100.0 * n / common as f64;
        let count = if as_one {
            "the group counts as one source"
        } else {
            "this method counts every one of them; leave out all but one, or use `auto`"
        };
        Warning::data(format!(
            "sources {} agree on {:.0} % of their common items, where their agreement with \
             the other sources explains {:.0} %; they may be copies, and {count}",
            listed(votes, group),
            percent(agree as f64),
            percent(expected),
        ))
    }
}

/// The names of the first sources of a group, and how many more there are.
pub(super) fn listed(votes: &Votes, group: &[usize]) -> String {
    let shown = group.iter().take(MOST_NAMES);
    let names: Vec<String> = shown.map(|source| votes.sources()[*source].to_string()).collect();
    match group.len() - names.len() {
        0 => crate::error::quoted(&names),
        n => format!("{} ({n} more)", crate::error::quoted(&names)),
    }
}

/// The connected components of pairs.
fn groups(pairs: impl Iterator<Item = (usize, usize)>) -> Vec<Vec<usize>> {
    let mut first: BTreeMap<usize, usize> = BTreeMap::new();
    for (a, b) in pairs {
        let [a, b] = [a, b].map(|source| *first.entry(source).or_insert(source));
        if a != b {
            first.values_mut().filter(|f| **f == a.max(b)).for_each(|f| *f = a.min(b));
        }
    }
    let mut members: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    first.into_iter().for_each(|(source, own)| members.entry(own).or_default().push(source));
    members.into_values().collect()
}

/// A pair of sources with the number of common items and of agreements.
#[derive(Clone, Copy)]
struct Pair {
    a: usize,
    b: usize,
    common: usize,
    agree: usize,
}

/// Pairs that agree on many items.
struct Candidates {
    pairs: Vec<Pair>,
    /// Number of pairs with enough common items.
    examined: usize,
}

impl Candidates {
    fn of(votes: &Votes) -> Self {
        let mut sources: Vec<usize> =
            (0..votes.n_sources()).filter(|&w| votes.votes_of(w) >= LEAST_COMMON).collect();
        if (0..votes.n_items()).any(|item| votes.votes_on(item) > PARTNERS) {
            let tally = tally(votes, |_| 1.0);
            sources.sort_by_cached_key(|&w| (sketch(votes, &tally, w), votes.sources()[w].clone()));
        }
        let lists = Lists::new(votes, &sources);
        let mut found = Self { pairs: Vec::new(), examined: 0 };
        let mut counts = vec![[0u32; 2]; sources.len()];
        let (mut next, mut partners) = (lists.starts.clone(), Vec::new());
        for &a in &sources {
            for (item, label) in votes_of(votes, a) {
                next[item] += 1;
                let rest = &lists.votes[next[item]..lists.starts[item + 1]];
                for &(place, other) in &rest[..rest.len().min(PARTNERS)] {
                    let [common, agree] = &mut counts[place as usize];
                    if *common == 0 {
                        partners.push(place as usize);
                    }
                    *common += 1;
                    *agree += u32::from(other == label);
                }
            }
            for place in partners.drain(..) {
                let [common, agree] = std::mem::take(&mut counts[place]).map(|n| n as usize);
                found.add(Pair {
                    a: a.min(sources[place]),
                    b: a.max(sources[place]),
                    common,
                    agree,
                });
            }
        }
        found.pairs.sort_unstable_by_key(|pair| (pair.a, pair.b));
        found
    }

    fn add(&mut self, pair: Pair) {
        if pair.common >= LEAST_COMMON {
            self.examined += 1;
            if pair.agree as f64 >= LEAST_AGREEMENT * pair.common as f64 {
                self.pairs.push(pair);
            }
        }
    }
}

/// The votes of a source as (item, label).
fn votes_of(votes: &Votes, source: usize) -> impl Iterator<Item = (usize, u32)> + '_ {
    votes.cells_of(source).flat_map(move |cell| {
        let label = votes.table.cell_labels[cell];
        votes.cell_items(cell).iter().map(move |item| (*item as usize, label))
    })
}

/// For every item the votes of some sources, in the order of these: place of the source and label.
struct Lists {
    starts: Vec<usize>,
    votes: Vec<(u32, u32)>,
}

impl Lists {
    fn new(votes: &Votes, sources: &[usize]) -> Self {
        let mut starts = vec![0; votes.n_items() + 1];
        for &source in sources {
            votes_of(votes, source).for_each(|(item, _)| starts[item + 1] += 1);
        }
        (0..votes.n_items()).for_each(|item| starts[item + 1] += starts[item]);
        let mut next = starts.clone();
        let mut list = vec![(0, 0); starts[votes.n_items()]];
        for (place, &source) in (0u32..).zip(sources) {
            for (item, label) in votes_of(votes, source) {
                list[next[item]] = (place, label);
                next[item] += 1;
            }
        }
        Self { starts, votes: list }
    }
}

/// The smallest hashes of the names of items on which a source does not give a most frequent label:
/// equal for copies, and without regard to the order of items or classes.
fn sketch(votes: &Votes, tally: &[f64], source: usize) -> [u64; HASHES] {
    let k = votes.n_classes();
    let mut smallest = [u64::MAX; HASHES];
    for (item, label) in votes_of(votes, source) {
        let counts = &tally[item * k..(item + 1) * k];
        if counts.iter().any(|n| *n > counts[label as usize]) {
            let hash = hash(votes.item(item).as_bytes());
            if let Some(place) = smallest.iter().position(|other| hash < *other) {
                smallest[place..].rotate_right(1);
                smallest[place] = hash;
            }
        }
    }
    smallest
}

/// A well-mixed 64-bit hash: FNV-1a with the finaliser of `SplitMix64`.
fn hash(bytes: &[u8]) -> u64 {
    let fold = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    let mut x = bytes.iter().fold(0xcbf2_9ce4_8422_2325, fold);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The weighted number of votes for every label, items × K.
fn tally(votes: &Votes, weight: impl Fn(usize) -> f64) -> Vec<f64> {
    let k = votes.n_classes();
    let mut sums = vec![0.0; votes.n_items() * k];
    for cell in 0..votes.n_cells() {
        let (label, weight) = (votes.cell_label(cell), weight(votes.cell_source(cell)));
        votes.cell_items(cell).iter().for_each(|item| sums[*item as usize * k + label] += weight);
    }
    sums
}

/// A share as a ratio of sums over items, with its standard error.
#[derive(Default)]
struct Ratio {
    x: f64,
    y: f64,
    xx: f64,
    xy: f64,
    yy: f64,
}

impl Ratio {
    fn add(&mut self, x: f64, y: f64) {
        self.x += x;
        self.y += y;
        self.xx += x * x;
        self.xy += x * y;
        self.yy += y * y;
    }

    fn value(&self) -> f64 {
        self.x / self.y
    }

    fn error(&self) -> f64 {
        let m = self.value();
        (self.xx - 2.0 * m * self.xy + m * m * self.yy).max(0.0).sqrt() / self.y
    }
}

/// All votes, as the other sources of a pair.
struct Others<'a> {
    votes: &'a Votes,
    /// One over the number of sources that a source resembles, itself included.
    weights: Vec<f64>,
    /// The weights of the votes for every label, items × K.
    tally: Vec<f64>,
    /// By item: the sum of the weights of its votes, of their squares, and of the squares of the
    /// weights of its labels.
    sums: Vec<[f64; 3]>,
    /// Number of labels in use.
    labels: f64,
}

/// A pair with the agreement of its sources with the others, and of these among each other.
struct Judged<'a> {
    pair: Pair,
    others: &'a Others<'a>,
    shares: [Ratio; 3],
}

impl<'a> Others<'a> {
    fn new(votes: &'a Votes, pairs: &[Pair]) -> Self {
        let mut weights = vec![1.0; votes.n_sources()];
        for pair in pairs {
            weights[pair.a] += 1.0;
            weights[pair.b] += 1.0;
        }
        weights.iter_mut().for_each(|weight| *weight = 1.0 / *weight);
        let tally = tally(votes, |source| weights[source]);
        let rows = tally.chunks_exact(votes.n_classes()).enumerate().map(|(item, row)| {
            let own = votes.of_item(item).map(|(source, _)| weights[source]);
            [row.iter().sum(), own.map(|w| w * w).sum(), row.iter().map(|w| w * w).sum()]
        });
        let sums = rows.collect();
        let labels = votes.label_counts().iter().filter(|n| **n > 0.0).count() as f64;
        Self { votes, weights, tally, sums, labels }
    }

    /// Looks at all pairs, which are in the order of their first source.
    fn judge(&'a self, pairs: Vec<Pair>) -> impl Iterator<Item = Judged<'a>> {
        const NONE: u32 = u32::MAX;
        let mut of_first = vec![NONE; self.votes.n_items()];
        let mut first = None;
        pairs.into_iter().map(move |pair| {
            if let Some(before) = first.filter(|before| *before != pair.a) {
                votes_of(self.votes, before).for_each(|(item, _)| of_first[item] = NONE);
            }
            if first != Some(pair.a) {
                votes_of(self.votes, pair.a).for_each(|(item, label)| of_first[item] = label);
                first = Some(pair.a);
            }
            let mut judged = Judged { pair, others: self, shares: Default::default() };
            for (item, label) in votes_of(self.votes, pair.b) {
                if of_first[item] != NONE {
                    judged.add(item, of_first[item] as usize, label as usize);
                }
            }
            judged
        })
    }
}

impl Judged<'_> {
    /// Adds a common item with the labels of the two sources.
    fn add(&mut self, item: usize, one: usize, two: usize) {
        let others = self.others;
        let k = others.votes.n_classes();
        let [all, squares, by_label] = others.sums[item];
        let [a, b] = [self.pair.a, self.pair.b].map(|source| others.weights[source]);
        let both = if one == two { a * b } else { 0.0 };
        let [with_one, with_two] = [one, two].map(|label| others.tally[item * k + label]);
        let rest = all - a - b;
        if rest < 1e-9 {
            return;
        }
        self.shares[0].add(with_one - a - both / a, rest);
        self.shares[1].add(with_two - b - both / b, rest);
        let agree = by_label - squares - 2.0 * (a * (with_one - a) + b * (with_two - b) - both);
        let pairs = all * all - squares - 2.0 * (a * (all - a) + b * (all - b) - a * b);
        self.shares[2].add(agree, pairs);
    }

    /// The agreement of independent sources, and a bound of it.
    fn expected(&self) -> (f64, f64) {
        let k = self.others.labels;
        let scaled = |ratio: &Ratio| {
            let error = ERRORS * ratio.error() * k / (k - 1.0);
            ((k * ratio.value() - 1.0) / (k - 1.0), error)
        };
        let [(a, more_a), (b, more_b), (o, less)] = [0, 1, 2].map(|i| scaled(&self.shares[i]));
        let share = |product: f64| (1.0 + (k - 1.0) * product.clamp(0.0, 1.0)) / k;
        let product = |by: f64, with: f64| if with > 0.0 { by / with } else { 1.0 };
        let expected = share(product(a * b, o)).max(self.by_chance());
        let bound = share(product((a.abs() + more_a) * (b.abs() + more_b), o - less));
        (expected, bound.max(self.by_chance()))
    }

    /// The agreement of sources that give their labels without regard to the item.
    fn by_chance(&self) -> f64 {
        let votes = self.others.votes;
        let mut shares = vec![[0.0; 2]; votes.n_classes()];
        for (i, source) in [self.pair.a, self.pair.b].into_iter().enumerate() {
            let all = votes.votes_of(source) as f64;
            for cell in votes.cells_of(source) {
                shares[votes.cell_label(cell)][i] = votes.cell_range(cell).len() as f64 / all;
            }
        }
        shares.iter().map(|[a, b]| a * b).sum()
    }

    /// The pair, if independent sources would agree on fewer items. The probability that they agree
    /// on as many is at most exp(−n KL), by Chernoff's bound, and must be below exp(−limit).
    fn report(&self, limit: f64) -> Option<SimilarSources> {
        let Pair { a, b, common, agree } = self.pair;
        let (expected, bound) = self.expected();
        let n = common as f64;
        let share = agree as f64 / n;
        let term = |p: f64, q: f64| if p > 0.0 { p * (p / q).ln() } else { 0.0 };
        let divergence = term(share, bound) + term(1.0 - share, 1.0 - bound);
        let copied = (share - bound) / (1.0 - bound);
        // Also false if the bound is 1 or not a number.
        (copied >= LEAST_COPIED && n * divergence > limit).then_some(SimilarSources {
            between: (a, b),
            common,
            agree,
            expected: expected * n,
        })
    }
}
