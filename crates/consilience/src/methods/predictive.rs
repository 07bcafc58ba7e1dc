//! Fusion that averages over posterior draws.

use std::fmt;
use std::sync::Arc;

use super::{Block, Fusion};
use crate::data::class_prior::ClassPrior;
use crate::data::outputs::Items;
use crate::data::schema::Schema;
use crate::error::{Error, Result};
use crate::progress::{NoProgress, Progress};
use consilience_numerics::log_space::log_add_exp;

/// The posterior predictive: the mean of the fused distributions over posterior draws.
///
/// ```text
/// P(t=j|x) = 1/S Σₛ P(t=j|x, θₛ)
/// ```
pub struct PosteriorPredictive {
    draws: Vec<Box<dyn Fusion>>,
}

impl fmt::Debug for PosteriorPredictive {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "PosteriorPredictive of {} draws", self.draws.len())
    }
}

impl PosteriorPredictive {
    /// From the rules of at least one draw, all of the same classifiers and classes.
    pub fn new(draws: Vec<Box<dyn Fusion>>) -> Result<Self> {
        if draws.is_empty() {
            return Err(Error::NoDraws);
        }
        Ok(Self { draws })
    }

    /// The mean over draws, in log space: of the fused distributions under `prior`, or, without
    /// one, of the densities. The error is that of the arithmetic; it does not include the Monte Carlo
    /// error of the draws.
    fn average(
        &self,
        items: &Items<'_>,
        prior: Option<&ClassPrior>,
        block: &mut Block,
        progress: &dyn Progress,
    ) -> Result<()> {
        let mut sums = vec![f64::NEG_INFINITY; block.values().len()];
        let mut errors = vec![0.0f64; items.len()];
        for draw in &self.draws {
            block.clear();
            draw.compute(items, prior, block, progress)?;
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
        Ok(())
    }
}

impl Fusion for PosteriorPredictive {
    fn schema(&self) -> &Arc<Schema> {
        self.draws[0].schema()
    }

    fn ln_joint(&self, items: &Items<'_>, prior: &ClassPrior, block: &mut Block) {
        let fused = self.average(items, Some(prior), block, &NoProgress);
        fused.expect("fused distributions always exist");
    }

    fn ln_density(&self, items: &Items<'_>, block: &mut Block) -> Result<()> {
        self.average(items, None, block, &NoProgress)
    }

    fn compute(
        &self,
        items: &Items<'_>,
        prior: Option<&ClassPrior>,
        block: &mut Block,
        progress: &dyn Progress,
    ) -> Result<()> {
        self.average(items, prior, block, progress)
    }

    fn items_per_task(&self) -> usize {
        (self.draws[0].items_per_task() / self.draws.len()).max(8)
    }
}
