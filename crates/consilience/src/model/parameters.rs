//! The correlated model's parameters, checked, with the fusion rule that they make.

use std::sync::Arc;

use crate::class_prior::ClassPrior;
use crate::distributions::{CorrelatedDirichlet, SharedPair};
use crate::error::{Error, Result};
use crate::fusion::correlated::{CorrelatedFusion, PairInsight, effective_number};
use crate::fusion::independent::{Alpha, IndependentFusion};
use crate::schema::Schema;
use crate::simulation::Truth;

/// Margins α and shared shapes δ of the paper's model for every class.
#[derive(Debug, Clone)]
pub struct CorrelatedParameters {
    schema: Arc<Schema>,
    /// `alpha[k][j]`, a Dirichlet each.
    alpha: Alpha,
    classes: Vec<CorrelatedDirichlet>,
    resolution: f64,
    /// The rule, for as many classifiers as there is one.
    fusion: Option<CorrelatedFusion>,
}

/// Equal parameters make equal rules.
impl PartialEq for CorrelatedParameters {
    fn eq(&self, other: &Self) -> bool {
        (&self.schema, &self.classes, self.resolution)
            == (&other.schema, &other.classes, other.resolution)
    }
}

impl CorrelatedParameters {
    /// From one correlated Dirichlet a class, observed at a resolution (0: exactly).
    pub fn new(truth: &Truth, resolution: f64) -> Result<Self> {
        let (schema, classes) = (truth.schema(), truth.classes());
        let margins = |k: usize| classes.iter().map(|c| c.alpha()[k].clone()).collect();
        let fusion = match schema.n_classifiers() {
            2 => Some(CorrelatedFusion::new(Arc::clone(schema), classes, resolution)?),
            _ => None,
        };
        Ok(Self {
            schema: Arc::clone(schema),
            alpha: (0..schema.n_classifiers()).map(margins).collect(),
            classes: classes.to_vec(),
            resolution,
            fusion,
        })
    }

    /// From α, the common shapes of every class and the shapes of pairs for every class.
    pub fn from_parts(
        schema: Arc<Schema>,
        alpha: &Alpha,
        common: Option<&[Vec<f64>]>,
        pairs: &[(usize, usize, Vec<Vec<f64>>)],
        resolution: f64,
    ) -> Result<Self> {
        // The margins' shape and range are those of the independent model.
        IndependentFusion::new(Arc::clone(&schema), alpha.clone())?;
        let rows = common.into_iter().chain(pairs.iter().map(|(_, _, rows)| rows.as_slice()));
        for rows in rows {
            if rows.len() != schema.n_classes() {
                return Err(Error::Mismatch {
                    what: "rows of `delta` and classes",
                    expected: schema.n_classes().to_string(),
                    found: rows.len().to_string(),
                });
            }
        }
        let class = |j: usize| {
            let margins = alpha.iter().map(|rows| rows[j].clone()).collect();
            let common = common.map(|rows| rows[j].clone());
            let pair = |(first, second, delta): &(usize, usize, Vec<Vec<f64>>)| SharedPair {
                first: *first,
                second: *second,
                delta: delta[j].clone(),
            };
            CorrelatedDirichlet::new(margins, common, pairs.iter().map(pair).collect())
        };
        let classes = (0..schema.n_classes()).map(class).collect::<Result<Vec<_>>>()?;
        Self::new(&Truth::new(schema, classes)?, resolution)
    }

    /// Names and shape.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// The margins.
    pub fn alpha(&self) -> &Alpha {
        &self.alpha
    }

    /// The distribution of every class.
    pub fn classes(&self) -> &[CorrelatedDirichlet] {
        &self.classes
    }

    /// The resolution of observation, 0 for the exact density.
    pub fn resolution(&self) -> f64 {
        self.resolution
    }

    /// The rule for fusing; two classifiers so far.
    pub fn fusion(&self) -> Option<&CorrelatedFusion> {
        self.fusion.as_ref()
    }

    /// The implied correlation of every pair of classifiers.
    pub fn pairs(&self, prior: &ClassPrior) -> Result<Vec<PairInsight>> {
        let k = self.schema.n_classifiers();
        let pairs = (0..k).flat_map(|a| (a + 1..k).map(move |b| (a, b)));
        pairs.map(|between| PairInsight::new(&self.classes, between, prior)).collect()
    }

    /// How many independent classifiers these are worth, from the mean implied correlation.
    pub fn effective_number(&self, prior: &ClassPrior) -> Result<f64> {
        let pairs = self.pairs(prior)?;
        let mean = pairs.iter().map(|pair| pair.mean).sum::<f64>() / (pairs.len() as f64).max(1.0);
        Ok(effective_number(self.schema.n_classifiers(), mean))
    }

    /// The independent model with the same margins.
    pub fn margins(&self) -> Result<IndependentFusion> {
        IndependentFusion::new(Arc::clone(&self.schema), self.alpha.clone())
    }

    /// For simulation.
    pub fn truth(&self) -> Result<Truth> {
        Truth::new(Arc::clone(&self.schema), self.classes.clone())
    }
}
