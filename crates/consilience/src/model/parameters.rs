//! The parameters of the correlated model, checked.

use std::sync::Arc;

use crate::distributions::{CorrelatedDirichlet, SharedPair};
use crate::error::Result;
use crate::fusion::independent::{Alpha, IndependentFusion};
use crate::schema::Schema;
use crate::simulation::Truth;

/// Margins α and shared shapes δ of the paper's model for every class.
#[derive(Debug, Clone, PartialEq)]
pub struct CorrelatedParameters {
    schema: Arc<Schema>,
    /// `alpha[k][j]`, a Dirichlet each.
    alpha: Alpha,
    classes: Vec<CorrelatedDirichlet>,
}

impl CorrelatedParameters {
    /// From one correlated Dirichlet a class.
    pub fn new(truth: &Truth) -> Self {
        let margins = |k: usize| truth.classes().iter().map(|c| c.alpha()[k].clone()).collect();
        Self {
            schema: Arc::clone(truth.schema()),
            alpha: (0..truth.schema().n_classifiers()).map(margins).collect(),
            classes: truth.classes().to_vec(),
        }
    }

    /// From α, the common shapes of every class and the shapes of pairs for every class.
    pub fn from_parts(
        schema: Arc<Schema>,
        alpha: &Alpha,
        common: Option<&[Vec<f64>]>,
        pairs: &[(usize, usize, Vec<Vec<f64>>)],
    ) -> Result<Self> {
        // The margins' shape and range are those of the independent model.
        IndependentFusion::new(Arc::clone(&schema), alpha.clone())?;
        let class = |j: usize| {
            let margins = alpha.iter().map(|rows| rows[j].clone()).collect();
            let common = common.map(|rows| rows.get(j).cloned().unwrap_or_default());
            let pair = |(first, second, delta): &(usize, usize, Vec<Vec<f64>>)| {
                let delta = delta.get(j).cloned().unwrap_or_default();
                SharedPair { first: *first, second: *second, delta }
            };
            CorrelatedDirichlet::new(margins, common, pairs.iter().map(pair).collect())
        };
        let classes = (0..schema.n_classes()).map(class).collect::<Result<Vec<_>>>()?;
        Ok(Self { schema, alpha: alpha.clone(), classes })
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

    /// The independent model with the same margins.
    pub fn margins(&self) -> Result<IndependentFusion> {
        IndependentFusion::new(Arc::clone(&self.schema), self.alpha.clone())
    }

    /// For simulation.
    pub fn truth(&self) -> Result<Truth> {
        Truth::new(Arc::clone(&self.schema), self.classes.clone())
    }
}
