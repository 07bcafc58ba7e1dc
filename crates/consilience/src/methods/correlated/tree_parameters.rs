//! The parameters of a tree of pairs, checked, with the fusion rule that they make.

use std::sync::Arc;

use super::parameters::{check_margins, pair_classes};
use crate::data::class_prior::ClassPrior;
use crate::data::schema::Schema;
use crate::error::{Error, Result};
use crate::methods::Draw;
use crate::methods::correlated::PairInsight;
use crate::methods::correlated::tree::{TreeFusion, TreeKind, TreePair};
use crate::methods::independent::{Alpha, IndependentFusion};

/// Margins of all classifiers and what pairs of them share.
#[derive(Debug, Clone)]
pub struct TreeParameters {
    alpha: Alpha,
    resolution: f64,
    fusion: TreeFusion,
}

/// Equal parameters make equal rules.
impl PartialEq for TreeParameters {
    fn eq(&self, other: &Self) -> bool {
        let parts = |tree: &Self| (tree.alpha.clone(), tree.resolution, tree.fusion.kind());
        parts(self) == parts(other)
            && self.schema() == other.schema()
            && self.fusion.pairs() == other.fusion.pairs()
            && self.fusion.tree().eq(other.fusion.tree())
    }
}

impl TreeParameters {
    /// Checks shapes and ranges and prepares the densities.
    pub fn new(
        schema: Arc<Schema>,
        alpha: Alpha,
        pairs: Vec<TreePair>,
        kind: TreeKind,
        resolution: f64,
    ) -> Result<Self> {
        let fusion = TreeFusion::new(schema, &alpha, pairs, kind, resolution)?;
        Ok(Self { alpha, resolution, fusion })
    }

    /// Joins the classifiers by these edges instead of the maximum spanning tree of the gains.
    pub fn with_edges(mut self, edges: &[(usize, usize)]) -> Result<Self> {
        self.fusion = self.fusion.with_edges(edges)?;
        Ok(self)
    }

    /// Names and shape.
    pub fn schema(&self) -> &Arc<Schema> {
        use crate::methods::Fusion;
        self.fusion.schema()
    }

    /// The margins.
    pub fn alpha(&self) -> &Alpha {
        &self.alpha
    }

    /// The resolution of observation, 0 for exact densities.
    pub fn resolution(&self) -> f64 {
        self.resolution
    }

    /// The rule for fusing, which knows pairs and edges.
    pub fn fusion(&self) -> &TreeFusion {
        &self.fusion
    }

    /// The implied correlation of every pair that was learned.
    pub fn pairs(&self, prior: &ClassPrior) -> Result<Vec<PairInsight>> {
        let insight = |pair: &TreePair| {
            let classes = pair_classes(&self.alpha, pair)?;
            let insight = PairInsight::new(&classes, (0, 1), prior)?;
            Ok(PairInsight { between: pair.between, ..insight })
        };
        self.fusion.pairs().iter().map(insight).collect()
    }

    /// The independent model with the same margins.
    pub fn margins(&self) -> Result<IndependentFusion> {
        IndependentFusion::new(Arc::clone(self.schema()), self.alpha.clone())
    }

    /// The rule that a draw from the posterior makes, on the same tree.
    pub(crate) fn drawn(&self, draw: &Draw) -> Result<TreeFusion> {
        let pairs = self.drawn_pairs(draw)?;
        let schema = Arc::clone(self.schema());
        let edges: Vec<(usize, usize)> = self.fusion.tree().map(|pair| pair.between).collect();
        TreeFusion::new(schema, &draw.alpha, pairs, self.fusion.kind(), self.resolution)?
            .with_edges(&edges)
    }

    /// Whether a draw has the shape of these parameters and is legal.
    pub(crate) fn check_draw(&self, draw: &Draw) -> Result<()> {
        check_margins(self.schema(), &draw.alpha)?;
        for pair in self.drawn_pairs(draw)? {
            pair_classes(&draw.alpha, &pair)?;
        }
        Ok(())
    }

    fn drawn_pairs(&self, draw: &Draw) -> Result<Vec<TreePair>> {
        let own = self.fusion.pairs();
        if draw.delta.len() != own.len() {
            return Err(Error::Mismatch {
                what: "pairs of classifiers in `delta`",
                expected: own.len().to_string(),
                found: draw.delta.len().to_string(),
            });
        }
        let with = |(pair, delta): (&TreePair, &Vec<Vec<f64>>)| TreePair {
            delta: delta.clone(),
            ..pair.clone()
        };
        Ok(own.iter().zip(&draw.delta).map(with).collect())
    }
}
