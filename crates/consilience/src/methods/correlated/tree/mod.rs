//! Three and more sources, joined by the exact densities of pairs along a spanning tree.
//!
//! The density is a Markov random field on the tree, whose edges are densities of pairs:
//!
//! ```text
//! ln f(x) = Σₖ ln Dirₖ(xᵏ) + Σ over edges (k,m) of gₖₘ,   gₖₘ = ln fₖₘ(xᵏ, xᵐ) − ln Dirₖ(xᵏ) − ln Dirₘ(xᵐ)
//! ```
//!
//! Every source keeps its Dirichlet, and every edge its joint distribution. The tree is the maximum
//! spanning tree of the mean gain g on training items, summed over classes. All classes have the same
//! tree, so that a difference between classes is never a difference between trees. Gains within their
//! standard errors of each other are treated as equal; of such edges, the one that leaves its sources the
//! fewest neighbours is used, so that equal gains give a chain, not a star. Instead of one tree, all
//! trees can be averaged, weighted by their gains (`spanning`).
//!
//! A missing source is left out, and the sources present are joined by the best tree among them, or by
//! all trees among them for a mixture.

mod sample;
mod spanning;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::pair_densities::{PairDensities, Poles, ln_margin};
use crate::data::class_prior::ClassPrior;
use crate::data::outputs::Items;
use crate::data::schema::Schema;
use crate::error::{Error, Result};
use crate::methods::correlated::parameters::check_margins;
use crate::methods::independent::Alpha;
use crate::methods::{Block, Fusion};
use consilience_numerics::parallel;
use correlated_dirichlet::Dirichlet;
use correlated_dirichlet::pair::Scratch;
use spanning::{CandidateEdge, ln_weight_of_all_trees, spanning_tree};

/// The relative error of the density of every edge. The error of a fused probability is then below 1e-4,
/// far below the error of the tree itself, in a third less time than 1e-6 takes.
pub const TREE_TOLERANCE: f64 = 1e-4;

/// The shared shapes of two sources and their gain in log density.
#[derive(Debug, Clone, PartialEq)]
pub struct TreePair {
    /// Indices of the two sources, the smaller first.
    pub between: (usize, usize),
    /// `delta[j]` of the two when the true class is j.
    pub delta: Vec<Vec<f64>>,
    /// Mean over training items of ln fₖₘ − ln Dirₖ − ln Dirₘ under the true class, in nats,
    /// summed over classes.
    pub gain: f64,
    /// Standard error of the gain; 0 if unknown.
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

/// The correlated model of any number of sources as a tree of pairs.
#[derive(Debug, Clone)]
pub struct TreeFusion {
    schema: Arc<Schema>,
    kind: TreeKind,
    /// `margins[k][j]`.
    margins: Vec<Vec<Dirichlet>>,
    pairs: Vec<TreePair>,
    densities: Vec<PairDensities>,
    /// The tree of all classifiers, as indices of pairs.
    tree: Vec<usize>,
}

impl TreeFusion {
    /// From α, the pairs that may be joined (all of them for a mixture) and the resolution. Sources that
    /// no pair joins are independent.
    pub fn new(
        schema: Arc<Schema>,
        alpha: &Alpha,
        pairs: Vec<TreePair>,
        kind: TreeKind,
        resolution: f64,
    ) -> Result<Self> {
        check_margins(&schema, alpha)?;
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
        let densities = parallel::map(pairs.len(), |p| {
            let (a, b) = pairs[p].between;
            PairDensities::new([&alpha[a], &alpha[b]], &pairs[p].delta, resolution, TREE_TOLERANCE)
        });
        let densities = densities.into_iter().collect::<Result<_>>()?;
        let tree = spanning_tree(k, &candidates(&pairs), |_| true);
        Ok(Self { schema, kind, margins, pairs, densities, tree })
    }

    /// Joins the sources by these edges instead of the maximum spanning tree of the gains.
    pub fn with_edges(mut self, edges: &[(usize, usize)]) -> Result<Self> {
        let place = |edge: &(usize, usize)| self.pairs.iter().position(|p| p.between == *edge);
        let tree: Option<Vec<usize>> = edges.iter().map(place).collect();
        let candidate =
            |edge: &(usize, usize)| CandidateEdge { between: *edge, gain: 0.0, error: 0.0 };
        let joined: Vec<CandidateEdge> = edges.iter().map(candidate).collect();
        let n = self.margins.len();
        // edges that close a cycle would be left out
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

    /// The edges of the tree; those of the maximum spanning tree by decreasing gain.
    pub fn tree(&self) -> impl Iterator<Item = &TreePair> {
        self.tree.iter().map(|p| &self.pairs[*p])
    }

    fn fill(&self, items: &Items<'_>, block: &mut Block, prior: Option<&ClassPrior>) {
        let poles = if prior.is_some() { Poles::Limit } else { Poles::Infinite };
        let joined = self.join(items, poles);
        let mut workspace = Workspace::new(&self.schema);
        for (item, edges) in joined.iter().enumerate() {
            let error = self.ln_densities(items, item, edges, &mut workspace);
            block.set_item(item, &workspace.sums, error);
        }
        if let Some(prior) = prior {
            block.add_per_class(prior.ln());
        }
    }

    /// The pairs that join the sources of every item, with their densities.
    fn join(&self, items: &Items<'_>, poles: Poles) -> Vec<Joined> {
        let n_classes = self.schema.n_classes();
        let one =
            |item: usize| Joined::new(self.edges(|k| items.output(item, k).is_some()), n_classes);
        let mut joined: Vec<Joined> = (0..items.len()).map(one).collect();
        let mut scratch = Scratch::default();
        for (p, TreePair { between: (a, b), .. }) in self.pairs.iter().enumerate() {
            let place = |(i, of): (usize, &Joined)| of.place(p).map(|place| (i, place));
            let places: Vec<_> = joined.iter().enumerate().filter_map(place).collect();
            let output = |i: usize, k: usize| items.output(i, k).expect("edges join those present");
            let outputs: Vec<_> =
                places.iter().map(|&(i, _)| [output(i, *a), output(i, *b)]).collect();
            let found = self.densities[p].ln_densities(&outputs, poles, &mut scratch);
            for ((i, place), (values, error)) in places.into_iter().zip(found.rows()) {
                joined[i].densities[place * n_classes..][..n_classes].copy_from_slice(values);
                joined[i].errors[place] = error;
            }
        }
        joined
    }

    /// The pairs that join the sources that are present: the edges of their tree, or all pairs of them.
    fn edges(&self, present: impl Fn(usize) -> bool) -> Vec<usize> {
        let n = self.margins.len();
        match self.kind {
            TreeKind::Tree if (0..n).all(&present) => self.tree.clone(),
            TreeKind::Tree => spanning_tree(n, &candidates(&self.pairs), present),
            TreeKind::TreeMixture => {
                let both = |p: &usize| {
                    present(self.pairs[*p].between.0) && present(self.pairs[*p].between.1)
                };
                (0..self.pairs.len()).filter(both).collect()
            }
        }
    }

    /// Writes the log densities of one item under every class to `workspace.sums`; returns their largest
    /// error.
    fn ln_densities(
        &self,
        items: &Items<'_>,
        item: usize,
        joined: &Joined,
        workspace: &mut Workspace,
    ) -> f64 {
        let n_classes = self.schema.n_classes();
        workspace.sums.fill(0.0);
        let mut error = 0.0;
        for (k, margins) in self.margins.iter().enumerate() {
            workspace.present[k] = items.output(item, k).is_some();
            let Some(output) = items.output(item, k) else { continue };
            let mut largest = 0.0f64;
            for (j, margin) in margins.iter().enumerate() {
                let estimate = ln_margin(margin, output);
                workspace.margins[k * n_classes + j] = estimate.ln_density;
                workspace.sums[j] += estimate.ln_density;
                largest = largest.max(estimate.error);
            }
            error += largest;
        }
        error
            + match self.kind {
                TreeKind::Tree => self.add_tree(joined, workspace),
                TreeKind::TreeMixture => self.add_mixture(joined, workspace),
            }
    }

    fn add_tree(&self, joined: &Joined, workspace: &mut Workspace) -> f64 {
        let mut error = 0.0;
        for place in 0..joined.pairs.len() {
            error += self.gains(joined, place, workspace);
            workspace.sums.iter_mut().zip(&workspace.gains).for_each(|(sum, gain)| *sum += gain);
        }
        error
    }

    fn add_mixture(&self, joined: &Joined, workspace: &mut Workspace) -> f64 {
        let n_classes = self.schema.n_classes();
        let (mut all, mut error) = (vec![Vec::new(); n_classes], 0.0f64);
        let mut weights = Vec::new();
        for (place, p) in joined.pairs.iter().enumerate() {
            let pair = &self.pairs[*p];
            error = error.max(self.gains(joined, place, workspace));
            weights.push((pair.between, pair.gain));
            for (edges, gain) in all.iter_mut().zip(&workspace.gains) {
                edges.push((pair.between, pair.gain + gain));
            }
        }
        let present: Vec<usize> =
            (0..self.margins.len()).filter(|k| workspace.present[*k]).collect();
        let base = ln_weight_of_all_trees(&present, &weights);
        for (sum, edges) in workspace.sums.iter_mut().zip(&all) {
            *sum += ln_weight_of_all_trees(&present, edges) - base;
        }
        // a tree has one edge fewer than vertices, each with its error
        error * (present.len().max(1) - 1) as f64
    }

    /// Writes gₖₘ of one pair under every class to `workspace.gains`; returns the error.
    fn gains(&self, joined: &Joined, place: usize, workspace: &mut Workspace) -> f64 {
        let (a, b) = self.pairs[joined.pairs[place]].between;
        let n_classes = self.schema.n_classes();
        let Workspace { gains, margins, .. } = workspace;
        gains.copy_from_slice(&joined.densities[place * n_classes..][..n_classes]);
        for k in [a, b] {
            let margins = &margins[k * n_classes..(k + 1) * n_classes];
            gains.iter_mut().zip(margins).for_each(|(gain, margin)| *gain -= margin);
        }
        joined.errors[place]
    }
}

/// The pairs that join the sources of one item.
struct Joined {
    pairs: Vec<usize>,
    /// ln fₖₘ under class j at place·J + j, and the largest error of every pair.
    densities: Vec<f64>,
    errors: Vec<f64>,
}

impl Joined {
    fn new(pairs: Vec<usize>, n_classes: usize) -> Self {
        let n = pairs.len();
        Self { pairs, densities: vec![0.0; n * n_classes], errors: vec![0.0; n] }
    }

    fn place(&self, pair: usize) -> Option<usize> {
        self.pairs.iter().position(|p| *p == pair)
    }
}

/// Buffers for one item.
struct Workspace {
    present: Vec<bool>,
    /// ln Dirₖ under class j at k·J + j.
    margins: Vec<f64>,
    gains: Vec<f64>,
    sums: Vec<f64>,
}

impl Workspace {
    fn new(schema: &Schema) -> Self {
        Self {
            present: vec![false; schema.n_classifiers()],
            margins: vec![0.0; schema.width()],
            gains: vec![0.0; schema.n_classes()],
            sums: vec![0.0; schema.n_classes()],
        }
    }
}

fn candidates(pairs: &[TreePair]) -> Vec<CandidateEdge> {
    let candidate = |pair: &TreePair| CandidateEdge {
        between: pair.between,
        gain: pair.gain,
        error: pair.gain_error,
    };
    pairs.iter().map(candidate).collect()
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
