//! Fusion that averages over the posterior instead of trusting its mean.

use std::sync::Arc;

use super::{Alpha, IndependentFusion};
use crate::class_prior::ClassPrior;
use crate::error::{Error, Result};
use crate::fusion::{Block, Fusion};
use crate::math::log_space::log_add_exp;
use crate::outputs::Items;
use crate::schema::Schema;

/// The posterior predictive: the mean of the fused distributions over posterior draws.
///
/// ```text
/// P(t=j|x) = 1/S Σₛ P(t=j|x, αₛ)
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct PosteriorPredictive {
    draws: Vec<IndependentFusion>,
}

impl PosteriorPredictive {
    /// From at least one draw.
    pub fn new(schema: &Arc<Schema>, draws: &[Alpha]) -> Result<Self> {
        if draws.is_empty() {
            return Err(Error::InvalidModel(
                "it has no posterior draws; fit it with `--keep-draws`".into(),
            ));
        }
        let model = |alpha: &Alpha| IndependentFusion::new(Arc::clone(schema), alpha.clone());
        Ok(Self { draws: draws.iter().map(model).collect::<Result<_>>()? })
    }

    /// The mean over draws, in log space: of the fused distributions under `prior`, or, without
    /// one, of the densities. The error is that of the arithmetic; how well the draws stand for
    /// the posterior is another matter.
    fn average(&self, items: &Items<'_>, block: &mut Block, prior: Option<&ClassPrior>) {
        let n_classes = items.n_classes();
        let mut sums = vec![f64::NEG_INFINITY; block.values().len()];
        let mut errors = vec![0.0f64; items.len()];
        block.load_logs(items);
        for draw in &self.draws {
            block.clear();
            block.add_per_class(prior.map_or(&vec![0.0; n_classes], |prior| prior.ln()));
            draw.add_evidence(block);
            if prior.is_some() {
                block.ln_normalise();
            }
            for (sum, value) in sums.iter_mut().zip(block.values()) {
                *sum = log_add_exp(*sum, *value);
            }
            errors.iter_mut().zip(block.errors()).for_each(|(a, b)| *a = a.max(*b));
        }
        let ln_draws = (self.draws.len() as f64).ln();
        sums.iter_mut().for_each(|sum| *sum -= ln_draws);
        block.fill(&sums, &errors);
    }
}

impl Fusion for PosteriorPredictive {
    fn schema(&self) -> &Arc<Schema> {
        self.draws[0].schema()
    }

    fn ln_joint(&self, items: &Items<'_>, prior: &ClassPrior, block: &mut Block) {
        self.average(items, block, Some(prior));
    }

    fn ln_density(&self, items: &Items<'_>, block: &mut Block) -> Result<()> {
        self.average(items, block, None);
        Ok(())
    }
}
