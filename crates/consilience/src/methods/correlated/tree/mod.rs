//! Many classifiers, joined by the exact densities of two.
//!
//! A spanning tree over the classifiers says which pairs speak to each other; along it the density
//! is a Markov field whose edges are two-classifier densities:
//!
//! ```text
//! ln f(x) = Σₖ ln Dirₖ(xᵏ) + Σ over edges (k,m) of gₖₘ,   gₖₘ = ln fₖₘ(xᵏ, xᵐ) − ln Dirₖ(xᵏ) − ln Dirₘ(xᵐ)
//! ```
//!
//! Every margin is kept, and so is the joint distribution of every edge. The tree is the maximum
//! spanning tree of the mean gain g on training items, summed over classes: the same tree for all
//! classes, so that a difference between classes is never a difference between trees. Gains within
//! their standard error of each other are taken for equal, and of such edges those are taken that
//! leave every classifier few neighbours: where all gains are alike the tree is a chain, not a star.
//! Instead of one tree, all of them can be averaged, each weighted by its gains (`spanning`).
//!
//! A missing classifier is left out, and those present are joined by the best tree among them;
//! for a mixture by all trees among them.

mod sample;
mod spanning;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::pair_rule::{PairRule, Poles, ln_margin};
use crate::data::class_prior::ClassPrior;
use crate::data::outputs::Items;
use crate::data::schema::Schema;
use crate::error::{Error, Result};
use crate::methods::independent::{Alpha, check_alpha};
use crate::methods::{Block, Fusion};
use consilience_numerics::parallel;
use correlated_dirichlet::Dirichlet;
use correlated_dirichlet::pair::Scratch;
use spanning::{Offer, ln_weight_of_all_trees, spanning_tree};

/// The relative error asked of the density of every edge: a fused probability is then known to 1e-4, which is far below
/// what a tree can say of the truth, in a third less time than 1e-6 takes.
pub const TREE_TOLERANCE: f64 = 1e-4;

/// What two classifiers share, and what it tells.
#[derive(Debug, Clone, PartialEq)]
pub struct TreePair {
    /// Indices of the two, the smaller first.
    pub between: (usize, usize),
    /// `delta[j]` of the two when the true class is j.
    pub delta: Vec<Vec<f64>>,
    /// Mean over training items of ln fₖₘ − ln Dirₖ − ln Dirₘ under the true class, in nats,
    /// summed over classes.
    pub gain: f64,
    /// The standard error of the gain; 0 where it is not known.
    pub gain_error: f64,
}

/// One spanning tree, or all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TreeKind {
    /// The maximum spanning tree of the gains.
    #[default]
    Tree,
    /// The average over all spanning trees, each weighted by e to the sum of its edges' gains.
    TreeMixture,
}

/// The correlated fusion model of any number of classifiers as a tree of pairs.
#[derive(Debug, Clone)]
pub struct TreeFusion {
    schema: Arc<Schema>,
    kind: TreeKind,
    /// `margins[k][j]`.
    margins: Vec<Vec<Dirichlet>>,
    pairs: Vec<TreePair>,
    rules: Vec<PairRule>,
    /// The tree of all classifiers, as indices of pairs.
    tree: Vec<usize>,
}

impl TreeFusion {
    /// From the margins, the pairs that may be joined (all of them for a mixture) and the
    /// resolution of observation. Classifiers that no pairs join are independent.
    pub fn new(
        schema: Arc<Schema>,
        alpha: &Alpha,
        pairs: Vec<TreePair>,
        kind: TreeKind,
        resolution: f64,
    ) -> Result<Self> {
        check_alpha(&schema, alpha)?;
        check_pairs(&schema, &pairs)?;
        let k = schema.n_classifiers();
        if kind == TreeKind::TreeMixture && pairs.len() != k * (k - 1) / 2 {
            return Err(Error::Mismatch {
                what: "pairs of a tree mixture",
                expected: format!("all {} of {k} classifiers", k * (k - 1) / 2),
                found: pairs.len().to_string(),
            });
        }
        let margins = alpha
            .iter()
            .map(|rows| rows.iter().map(|row| Dirichlet::new(row)).collect())
            .collect::<Result<Vec<_>, correlated_dirichlet::Error>>()?;
        let rules = parallel::map(pairs.len(), |p| {
            let (a, b) = pairs[p].between;
            PairRule::new([&alpha[a], &alpha[b]], &pairs[p].delta, resolution, TREE_TOLERANCE)
        });
        let rules = rules.into_iter().collect::<Result<_>>()?;
        let tree = spanning_tree(k, &offers(&pairs), |_| true);
        Ok(Self { schema, kind, margins, pairs, rules, tree })
    }

    /// Joins the classifiers by these edges instead of the maximum spanning tree of the gains.
    pub fn with_edges(mut self, edges: &[(usize, usize)]) -> Result<Self> {
        let place = |edge: &(usize, usize)| self.pairs.iter().position(|p| p.between == *edge);
        let tree: Option<Vec<usize>> = edges.iter().map(place).collect();
        let offer = |edge: &(usize, usize)| Offer { between: *edge, gain: 0.0, error: 0.0 };
        let joined: Vec<Offer> = edges.iter().map(offer).collect();
        let n = self.margins.len();
        // edges that close a circle would be left out
        match tree {
            Some(tree) if spanning_tree(n, &joined, |_| true).len() == tree.len() => {
                self.tree = tree;
                Ok(self)
            }
            _ => Err(Error::InvalidModel(
                "`edges` must be some of `delta.pairs` and make a tree".into(),
            )),
        }
    }

    /// The pairs.
    pub fn pairs(&self) -> &[TreePair] {
        &self.pairs
    }

    /// One tree or all.
    pub fn kind(&self) -> TreeKind {
        self.kind
    }

    /// The edges of the tree; of the maximum spanning tree the strongest first.
    pub fn tree(&self) -> impl Iterator<Item = &TreePair> {
        self.tree.iter().map(|p| &self.pairs[*p])
    }

    fn fill(&self, items: &Items<'_>, block: &mut Block, prior: Option<&ClassPrior>) {
        let poles = if prior.is_some() { Poles::Limit } else { Poles::Infinite };
        let mut room = Room::new(&self.schema, poles);
        for item in 0..items.len() {
            let error = self.ln_densities(items, item, &mut room);
            block.set_item(item, &room.sums, error);
        }
        if let Some(prior) = prior {
            block.add_per_class(prior.ln());
        }
    }

    /// Log densities of one item under every class into `room.sums`; returns their largest error.
    fn ln_densities(&self, items: &Items<'_>, item: usize, room: &mut Room) -> f64 {
        let n_classes = self.schema.n_classes();
        room.sums.fill(0.0);
        let mut error = 0.0;
        for (k, margins) in self.margins.iter().enumerate() {
            room.present[k] = items.output(item, k).is_some();
            let Some(output) = items.output(item, k) else { continue };
            let mut largest = 0.0f64;
            for (j, margin) in margins.iter().enumerate() {
                let estimate = ln_margin(margin, output);
                room.margins[k * n_classes + j] = estimate.ln_density;
                room.sums[j] += estimate.ln_density;
                largest = largest.max(estimate.error);
            }
            error += largest;
        }
        error
            + match self.kind {
                TreeKind::Tree => self.add_tree(items, item, room),
                TreeKind::TreeMixture => self.add_mixture(items, item, room),
            }
    }

    fn add_tree(&self, items: &Items<'_>, item: usize, room: &mut Room) -> f64 {
        let joined;
        let tree = if room.present.iter().all(|present| *present) {
            &self.tree
        } else {
            let present = |k: usize| room.present[k];
            joined = spanning_tree(self.margins.len(), &offers(&self.pairs), present);
            &joined
        };
        let mut error = 0.0;
        for &pair in tree {
            error += self.gains(pair, items, item, room);
            room.sums.iter_mut().zip(&room.gains).for_each(|(sum, gain)| *sum += gain);
        }
        error
    }

    fn add_mixture(&self, items: &Items<'_>, item: usize, room: &mut Room) -> f64 {
        let n_classes = self.schema.n_classes();
        let (mut all, mut error) = (vec![Vec::new(); n_classes], 0.0f64);
        let mut weights = Vec::new();
        for (p, pair) in self.pairs.iter().enumerate() {
            let (a, b) = pair.between;
            if !(room.present[a] && room.present[b]) {
                continue;
            }
            error = error.max(self.gains(p, items, item, room));
            weights.push((pair.between, pair.gain));
            for (edges, gain) in all.iter_mut().zip(&room.gains) {
                edges.push((pair.between, pair.gain + gain));
            }
        }
        let present: Vec<usize> = (0..self.margins.len()).filter(|k| room.present[*k]).collect();
        let base = ln_weight_of_all_trees(&present, &weights);
        for (sum, edges) in room.sums.iter_mut().zip(&all) {
            *sum += ln_weight_of_all_trees(&present, edges) - base;
        }
        // a tree has one edge fewer than vertices, each with its error
        error * (present.len().max(1) - 1) as f64
    }

    /// gₖₘ of one pair under every class into `room.gains`; returns the error.
    fn gains(&self, pair: usize, items: &Items<'_>, item: usize, room: &mut Room) -> f64 {
        let (a, b) = self.pairs[pair].between;
        let n_classes = self.schema.n_classes();
        let outputs = [a, b].map(|k| items.output(item, k).expect("edges join those present"));
        let Room { gains, margins, scratch, poles, .. } = room;
        let error = self.rules[pair].ln_densities(outputs, *poles, scratch, gains);
        for k in [a, b] {
            let margins = &margins[k * n_classes..(k + 1) * n_classes];
            gains.iter_mut().zip(margins).for_each(|(gain, margin)| *gain -= margin);
        }
        error
    }
}

/// Room for one item.
struct Room {
    present: Vec<bool>,
    /// ln Dirₖ under class j at k·J + j.
    margins: Vec<f64>,
    gains: Vec<f64>,
    sums: Vec<f64>,
    scratch: Scratch,
    poles: Poles,
}

impl Room {
    fn new(schema: &Schema, poles: Poles) -> Self {
        Self {
            present: vec![false; schema.n_classifiers()],
            margins: vec![0.0; schema.width()],
            gains: vec![0.0; schema.n_classes()],
            sums: vec![0.0; schema.n_classes()],
            scratch: Scratch::default(),
            poles,
        }
    }
}

fn offers(pairs: &[TreePair]) -> Vec<Offer> {
    let offer =
        |pair: &TreePair| Offer { between: pair.between, gain: pair.gain, error: pair.gain_error };
    pairs.iter().map(offer).collect()
}

fn check_pairs(schema: &Schema, pairs: &[TreePair]) -> Result<()> {
    for (i, TreePair { between: (a, b), delta, gain, gain_error }) in pairs.iter().enumerate() {
        let name = format!("delta.pairs[{i}]");
        let twice = pairs[..i].iter().any(|other| other.between == (*a, *b));
        if !(a < b && *b < schema.n_classifiers()) || twice {
            return Err(Error::parameter(
                name,
                "between two different classifiers, once",
                "others",
            ));
        }
        if delta.len() != schema.n_classes() {
            return Err(Error::Mismatch {
                what: "rows of `delta` and classes",
                expected: schema.n_classes().to_string(),
                found: delta.len().to_string(),
            });
        }
        if !gain.is_finite() {
            return Err(Error::parameter(format!("{name}.gain"), "finite", gain));
        }
        if !(gain_error.is_finite() && *gain_error >= 0.0) {
            let name = format!("{name}.gain_error");
            return Err(Error::parameter(name, "finite and at least 0", gain_error));
        }
    }
    Ok(())
}

impl Fusion for TreeFusion {
    fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    fn ln_joint(&self, items: &Items<'_>, prior: &ClassPrior, block: &mut Block) {
        self.fill(items, block, Some(prior));
    }

    fn ln_density(&self, items: &Items<'_>, block: &mut Block) -> Result<()> {
        self.fill(items, block, None);
        Ok(())
    }

    fn items_per_task(&self) -> usize {
        16
    }
}
