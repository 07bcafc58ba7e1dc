//! Fusing with a fitted method, whichever it is.
//!
//! A fitted method implements [`Fusion`]: for a block of items it computes the unnormalised log
//! posterior of every class and a bound on its rounding or integration error. Normalisation,
//! prediction and the distribution of work over threads are written here, once for all methods.

use std::sync::Arc;

use super::block::Block;
use super::rows::{Rows, Source, fuse_rows, ln_density_rows};
use crate::data::class_prior::ClassPrior;
use crate::data::outputs::{Items, Outputs};
use crate::data::schema::Schema;
use crate::error::{Error, Result, quoted};
use crate::progress::{NoProgress, Progress};
use consilience_numerics::simplex;

/// A fitted fusion method.
pub trait Fusion: Send + Sync {
    /// The classifiers and classes that it fuses.
    fn schema(&self) -> &Arc<Schema>;

    /// Writes the unnormalised log posterior of every class for every item of the block, and the
    /// estimated absolute error of these logarithms.
    fn ln_joint(&self, items: &Items<'_>, prior: &ClassPrior, block: &mut Block);

    /// Writes the log density of the items' outputs under every class, and its error.
    ///
    /// An error for methods that have no density.
    fn ln_density(&self, items: &Items<'_>, block: &mut Block) -> Result<()>;

    /// Writes log posteriors under `prior` or, without one, log densities. Stops early with
    /// [`Error::Interrupted`] if `progress` is interrupted.
    fn compute(
        &self,
        items: &Items<'_>,
        prior: Option<&ClassPrior>,
        block: &mut Block,
        progress: &dyn Progress,
    ) -> Result<()> {
        progress.check()?;
        match prior {
            Some(prior) => self.ln_joint(items, prior, block),
            None => self.ln_density(items, block)?,
        }
        Ok(())
    }

    /// Writes the fused distribution of every item, and the estimated absolute error of the logarithms of its
    /// weights. The default normalises what [`Fusion::compute`] writes.
    fn fuse_block(
        &self,
        items: &Items<'_>,
        prior: &ClassPrior,
        block: &mut Block,
        progress: &dyn Progress,
    ) -> Result<()> {
        self.compute(items, Some(prior), block, progress)?;
        block.normalise();
        Ok(())
    }

    /// How many items one thread takes at a time: fewer where an item is expensive.
    fn items_per_task(&self) -> usize {
        4096
    }
}

/// The fused distribution of every item.
///
/// A model fuses outputs whose schema is its own; see [`Outputs::select`] for reordering.
pub fn fuse(fusion: &dyn Fusion, outputs: &Outputs, prior: &ClassPrior) -> Result<Fused> {
    fuse_with(fusion, outputs, prior, &NoProgress)
}

/// The same with progress reporting.
pub(crate) fn fuse_with(
    fusion: &dyn Fusion,
    outputs: &Outputs,
    prior: &ClassPrior,
    progress: &dyn Progress,
) -> Result<Fused> {
    let mut fused = Fused::default();
    fuse_into(fusion, outputs, prior, &mut fused, progress)?;
    Ok(fused)
}

/// The same into a result whose memory is used again, for those who fuse many tables.
pub fn fuse_into(
    fusion: &dyn Fusion,
    outputs: &Outputs,
    prior: &ClassPrior,
    fused: &mut Fused,
    progress: &dyn Progress,
) -> Result<()> {
    let rows = fused.rows(outputs);
    fuse_rows(fusion, Source::Checked(outputs), prior, rows, progress)
}

/// Log densities of every item under every class, n × J, with the error of each item.
pub fn ln_densities(fusion: &dyn Fusion, outputs: &Outputs) -> Result<(Vec<f64>, Vec<f64>)> {
    ln_densities_with(fusion, outputs, &NoProgress)
}

/// The same with cancellation.
pub fn ln_densities_with(
    fusion: &dyn Fusion,
    outputs: &Outputs,
    progress: &dyn Progress,
) -> Result<(Vec<f64>, Vec<f64>)> {
    let n = outputs.n_items();
    let (mut densities, mut errors) = (vec![0.0; n * outputs.schema().n_classes()], vec![0.0; n]);
    let rows = Rows { values: &mut densities, errors: Some(&mut errors) };
    ln_density_rows(fusion, Source::Checked(outputs), rows, progress)?;
    Ok((densities, errors))
}

pub(crate) fn check_schema(fusion: &dyn Fusion, data: &Arc<Schema>) -> Result<()> {
    let model = fusion.schema();
    if model == data {
        return Ok(());
    }
    let (what, expected, found) = if model.classes() == data.classes() {
        ("classifiers of model and data", model.classifiers(), data.classifiers())
    } else {
        ("classes of model and data", model.classes(), data.classes())
    };
    Err(Error::Mismatch { what, expected: quoted(expected), found: quoted(found) })
}

/// Fused distributions, item by item.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Fused {
    n_classes: usize,
    probabilities: Vec<f64>,
    errors: Vec<f64>,
}

impl Fused {
    /// Room for the results of these outputs.
    fn rows(&mut self, outputs: &Outputs) -> Rows<'_> {
        let (n, n_classes) = (outputs.n_items(), outputs.schema().n_classes());
        self.n_classes = n_classes;
        self.probabilities.resize(n * n_classes, 0.0);
        self.errors.resize(n, 0.0);
        Rows { values: &mut self.probabilities, errors: Some(&mut self.errors) }
    }

    /// Number of items.
    pub fn n_items(&self) -> usize {
        self.errors.len()
    }

    /// The fused distribution of one item.
    pub fn probabilities(&self, item: usize) -> &[f64] {
        &self.probabilities[item * self.n_classes..(item + 1) * self.n_classes]
    }

    /// All distributions, n × J.
    pub fn all(&self) -> &[f64] {
        &self.probabilities
    }

    /// All distributions, n × J, without a copy.
    pub(crate) fn into_all(self) -> Vec<f64> {
        self.probabilities
    }

    /// The most probable class of one item.
    pub fn predicted(&self, item: usize) -> usize {
        simplex::arg_max(self.probabilities(item))
    }

    /// The entropy of one item's distribution in nats.
    pub fn entropy(&self, item: usize) -> f64 {
        simplex::entropy(self.probabilities(item))
    }

    /// The estimated largest absolute numerical error of the item's probabilities.
    pub fn error(&self, item: usize) -> f64 {
        self.errors[item]
    }
}
