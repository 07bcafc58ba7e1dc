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
        let mut workspace = Workspace::new(&self.schema, poles);
        for item in 0..items.len() {
            let error = self.ln_densities(items, item, &mut workspace);
            block.set_item(item, &workspace.sums, error);
        }
        if let Some(prior) = prior {
            block.add_per_class(prior.ln());
        }
    }

    /// Writes the log densities of one item under every class to `workspace.sums`; returns their largest
    /// error.
    fn ln_densities(&self, items: &Items<'_>, item: usize, workspace: &mut Workspace) -> f64 {
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
                TreeKind::Tree => self.add_tree(items, item, workspace),
                TreeKind::TreeMixture => self.add_mixture(items, item, workspace),
            }
    }

    fn add_tree(&self, items: &Items<'_>, item: usize, workspace: &mut Workspace) -> f64 {
        let joined;
        let tree = if workspace.present.iter().all(|present| *present) {
            &self.tree
        } else {
            let present = |k: usize| workspace.present[k];
            joined = spanning_tree(self.margins.len(), &candidates(&self.pairs), present);
            &joined
        };
        let mut error = 0.0;
        for &pair in tree {
            error += self.gains(pair, items, item, workspace);
            workspace.sums.iter_mut().zip(&workspace.gains).for_each(|(sum, gain)| *sum += gain);
        }
        error
    }

    fn add_mixture(&self, items: &Items<'_>, item: usize, workspace: &mut Workspace) -> f64 {
        let n_classes = self.schema.n_classes();
        let (mut all, mut error) = (vec![Vec::new(); n_classes], 0.0f64);
        let mut weights = Vec::new();
        for (p, pair) in self.pairs.iter().enumerate() {
            let (a, b) = pair.between;
            if !(workspace.present[a] && workspace.present[b]) {
                continue;
            }
            error = error.max(self.gains(p, items, item, workspace));
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
    fn gains(&self, pair: usize, items: &Items<'_>, item: usize, workspace: &mut Workspace) -> f64 {
        let (a, b) = self.pairs[pair].between;
        let n_classes = self.schema.n_classes();
        let outputs = [a, b].map(|k| items.output(item, k).expect("edges join those present"));
        let Workspace { gains, margins, scratch, poles, .. } = workspace;
        let error = self.densities[pair].ln_densities(outputs, *poles, scratch, gains);
        for k in [a, b] {
            let margins = &margins[k * n_classes..(k + 1) * n_classes];
            gains.iter_mut().zip(margins).for_each(|(gain, margin)| *gain -= margin);
        }
        error
    }
}

/// Buffers for one item.
struct Workspace {
    present: Vec<bool>,
    /// ln Dirₖ under class j at k·J + j.
    margins: Vec<f64>,
    gains: Vec<f64>,
    sums: Vec<f64>,
    scratch: Scratch,
    poles: Poles,
}

impl Workspace {
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
