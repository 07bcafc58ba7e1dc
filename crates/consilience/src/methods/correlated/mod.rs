//! The correlated model: evidence that sources share is counted once.
//!
//! ```text
//! (x¹, x²) | t=j ~ CorrelatedDirichlet(α¹ⱼ, α²ⱼ, δⱼ),   P(t=j|x) ∝ pⱼ f(x¹, x²; αⱼ, δⱼ)
//! ```
//!
//! The density f is integrated, not sampled
//! ([`PairDensity`](correlated_dirichlet::pair::PairDensity)), so that every fused probability has an
//! error estimate. If one output is missing, the density is the other source's Dirichlet; if both are,
//! the fused probabilities are the class prior.
//!
//! # References
//! Trick & Rothkopf, AISTATS 2022, section 3.3.

mod describe;
mod file;
mod fit;
mod full;
mod insight;
pub mod learning;
mod method;
mod pair_densities;
mod parameters;
mod structure;
pub mod tree;
mod tree_parameters;

use std::sync::Arc;

pub use full::{FULL_TOLERANCE, FullFusion, SMALLEST_PRIVATE};
pub use insight::{PairInsight, effective_number};
pub use learning::Correlated;
pub use method::CorrelatedMethod;
pub use pair_densities::FUSION_TOLERANCE;
use pair_densities::{PairDensities, Poles, ln_margin};
pub use parameters::CorrelatedParameters;
pub use structure::Structure;
pub use tree_parameters::TreeParameters;

use super::{Block, Fusion};
use crate::data::class_prior::ClassPrior;
use crate::data::outputs::Items;
use crate::data::schema::Schema;
use crate::error::{Error, Result};
use correlated_dirichlet::pair::Scratch;
use correlated_dirichlet::{CorrelatedDirichlet, Dirichlet};

/// The correlated model of two sources with its parameters.
///
/// # Example
/// ```
/// use correlated_dirichlet::CorrelatedDirichlet;
/// use consilience::methods::{correlated::CorrelatedFusion, fuse};
/// use consilience::{ClassPrior, InputFormat, OutputsBuilder, Schema};
/// use std::sync::Arc;
///
/// let schema = Arc::new(Schema::new(["a", "b"], ["x", "y", "z"])?);
/// // With independent sources these Dirichlets give an opinion pool; half of each is shared.
/// let class = |j: usize| {
///     let alpha: Vec<f64> = (0..3).map(|l| if l == j { 101.0 } else { 100.0 }).collect();
///     let delta = alpha.iter().map(|a| 0.5 * a).collect();
///     CorrelatedDirichlet::new(vec![alpha; 2], Some(delta), vec![])
/// };
/// let classes = vec![class(0)?, class(1)?, class(2)?];
/// let model = CorrelatedFusion::new(Arc::clone(&schema), &classes, 0.0)?;
///
/// let mut builder = OutputsBuilder::new(schema, InputFormat::default())?;
/// builder.push(&[0.6, 0.2, 0.2, 0.6, 0.2, 0.2], None)?;
/// let fused = fuse(&model, &builder.finish(), &ClassPrior::uniform(3))?;
/// // Independent sources would give 0.82; one source alone gives 0.6.
/// assert!((fused.probabilities(0)[0] - 0.674075).abs() < 1e-5);
/// # Ok::<(), consilience::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct CorrelatedFusion {
    schema: Arc<Schema>,
    resolution: f64,
    pair: PairDensities,
    /// `margins[k][j]`.
    margins: [Vec<Dirichlet>; 2],
}

impl CorrelatedFusion {
    /// From one correlated Dirichlet per class and the resolution of the outputs (0: exact).
    pub fn new(
        schema: Arc<Schema>,
        classes: &[CorrelatedDirichlet],
        resolution: f64,
    ) -> Result<Self> {
        let (k, j) = (schema.n_classifiers(), schema.n_classes());
        if k != 2 {
            return Err(Error::Unsupported {
                method: "correlated".into(),
                cannot: format!("is defined for two classifiers here, not {k}"),
            });
        }
        if classes.len() != j || classes.iter().any(|class| class.n_components() != j) {
            return Err(Error::Mismatch {
                what: "distributions and classes",
                expected: j.to_string(),
                found: classes.len().to_string(),
            });
        }
        let alpha =
            [0, 1].map(|k| classes.iter().map(|c| c.alpha()[k].clone()).collect::<Vec<_>>());
        let delta: Vec<Vec<f64>> = classes.iter().map(|class| class.shared_by(0, 1)).collect();
        let margins = |rows: &[Vec<f64>]| -> Result<Vec<Dirichlet>, correlated_dirichlet::Error> {
            rows.iter().map(|row| Dirichlet::new(row)).collect()
        };
        Ok(Self {
            schema,
            resolution,
            pair: PairDensities::new([&alpha[0], &alpha[1]], &delta, resolution, FUSION_TOLERANCE)?,
            margins: [margins(&alpha[0])?, margins(&alpha[1])?],
        })
    }

    /// The resolution of the outputs, 0 for the exact density.
    pub fn resolution(&self) -> f64 {
        self.resolution
    }

    fn fill(&self, items: &Items<'_>, block: &mut Block, prior: Option<&ClassPrior>) {
        let poles = if prior.is_some() { Poles::Limit } else { Poles::Infinite };
        let mut scratch = Scratch::default();
        let mut densities = vec![0.0; self.schema.n_classes()];
        for item in 0..items.len() {
            let error = match [0, 1].map(|k| items.output(item, k)) {
                [Some(x1), Some(x2)] => {
                    self.pair.ln_densities([x1, x2], poles, &mut scratch, &mut densities)
                }
                [Some(x), None] => ln_margins(&self.margins[0], x, &mut densities),
                [None, Some(x)] => ln_margins(&self.margins[1], x, &mut densities),
                [None, None] => {
                    densities.fill(0.0);
                    0.0
                }
            };
            block.set_item(item, &densities, error);
        }
        if let Some(prior) = prior {
            block.add_per_class(prior.ln());
        }
    }
}

/// Writes one source's log density under every class; returns the largest error.
fn ln_margins(margins: &[Dirichlet], output: &[f64], out: &mut [f64]) -> f64 {
    let mut error = 0.0f64;
    for (margin, out) in margins.iter().zip(out) {
        let estimate = ln_margin(margin, output);
        *out = estimate.ln_density;
        error = error.max(estimate.error);
    }
    error
}

impl Fusion for CorrelatedFusion {
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
        64
    }
}
