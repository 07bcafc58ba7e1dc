//! The correlated fusion model: what the classifiers share is counted once.
//!
//! ```text
//! (x¹, x²) | t=j ~ CorrelatedDirichlet(α¹ⱼ, α²ⱼ, δⱼ),   P(t=j|x) ∝ pⱼ f(x¹, x²; αⱼ, δⱼ)
//! ```
//!
//! The density f is integrated, not sampled ([`PairDensity`]), so every fused probability comes
//! with an error estimate. An item for which one classifier is missing is explained by the
//! other's Dirichlet, exactly; without any, the class prior answers.
//!
//! # References
//! Trick & Rothkopf, AISTATS 2022, section 3.3.

mod insight;
pub mod learning;

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

pub use insight::{PairInsight, effective_number};

use super::{Block, Fusion};
use crate::class_prior::ClassPrior;
use crate::distributions::correlated_dirichlet::pair::{Estimate, PairDensity, Scratch};
use crate::distributions::{CorrelatedDirichlet, Dirichlet};
use crate::error::{Error, Result};
use crate::outputs::Items;
use crate::schema::Schema;

/// The relative error asked of a density when fusing.
pub const FUSION_TOLERANCE: f64 = 1e-6;

/// The correlated fusion model of two classifiers with its parameters.
///
/// # Example
/// ```
/// use consilience::distributions::CorrelatedDirichlet;
/// use consilience::fusion::{correlated::CorrelatedFusion, fuse};
/// use consilience::{ClassPrior, Intake, OutputsBuilder, Schema};
/// use std::sync::Arc;
///
/// let schema = Arc::new(Schema::new(["a", "b"], ["x", "y", "z"])?);
/// // Margins that make independent classifiers an opinion pool; half of each is shared.
/// let class = |j: usize| {
///     let alpha: Vec<f64> = (0..3).map(|l| if l == j { 101.0 } else { 100.0 }).collect();
///     let delta = alpha.iter().map(|a| 0.5 * a).collect();
///     CorrelatedDirichlet::new(vec![alpha; 2], Some(delta), vec![])
/// };
/// let classes = vec![class(0)?, class(1)?, class(2)?];
/// let model = CorrelatedFusion::new(Arc::clone(&schema), &classes, 0.0)?;
///
/// let mut builder = OutputsBuilder::new(schema, Intake::default())?;
/// builder.push(&[0.6, 0.2, 0.2, 0.6, 0.2, 0.2], None)?;
/// let fused = fuse(&model, &builder.finish(), &ClassPrior::uniform(3))?;
/// // Independent classifiers would give .82; one alone, .6.
/// assert!((fused.probabilities(0)[0] - 0.674075).abs() < 1e-5);
/// # Ok::<(), consilience::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct CorrelatedFusion {
    schema: Arc<Schema>,
    resolution: f64,
    classes: Vec<ClassDensity>,
    /// The classes' densities at two tiny resolutions, made when an infinite tie first turns up.
    at_ties: OnceLock<[Vec<PairDensity>; 2]>,
}

/// How the classifiers speak when one class is true.
#[derive(Debug, Clone)]
struct ClassDensity {
    pair: PairDensity,
    margins: [Dirichlet; 2],
}

impl CorrelatedFusion {
    /// From one correlated Dirichlet a class, observed at a resolution (0: exactly).
    pub fn new(
        schema: Arc<Schema>,
        classes: &[CorrelatedDirichlet],
        resolution: f64,
    ) -> Result<Self> {
        let (k, j) = (schema.n_classifiers(), schema.n_classes());
        if k != 2 {
            return Err(Error::Unsupported {
                method: "correlated".into(),
                cannot: format!("fuses two classifiers so far, not {k}"),
            });
        }
        if classes.len() != j || classes.iter().any(|class| class.n_classes() != j) {
            return Err(Error::Mismatch {
                what: "distributions and classes",
                expected: j.to_string(),
                found: classes.len().to_string(),
            });
        }
        let classes = classes.iter().map(|class| ClassDensity::new(class, resolution));
        let classes = classes.collect::<Result<_>>()?;
        Ok(Self { schema, resolution, classes, at_ties: OnceLock::new() })
    }

    /// The resolution of observation, 0 for the exact density.
    pub fn resolution(&self) -> f64 {
        self.resolution
    }

    /// Writes the log densities of one item under every class; returns their largest error.
    fn densities(
        &self,
        items: &Items<'_>,
        item: usize,
        scratch: &mut Scratch,
        out: &mut [f64],
    ) -> f64 {
        let [first, second] = [0, 1].map(|k| items.output(item, k).map(raised));
        let mut error = 0.0f64;
        for (class, out) in self.classes.iter().zip(out) {
            let estimate = match (first.as_deref(), second.as_deref()) {
                (Some(x1), Some(x2)) => class.pair.ln_density(x1, x2, scratch),
                (Some(x), None) => class.margin(0, x),
                (None, Some(x)) => class.margin(1, x),
                (None, None) => Estimate { ln_density: 0.0, error: 0.0 },
            };
            *out = estimate.ln_density;
            error = error.max(estimate.error);
        }
        error
    }

    fn fill(&self, items: &Items<'_>, block: &mut Block, ln_prior: Option<&[f64]>) {
        let mut scratch = Scratch::default();
        let mut densities = vec![0.0; self.classes.len()];
        for item in 0..items.len() {
            let mut error = self.densities(items, item, &mut scratch, &mut densities);
            if ln_prior.is_some() && densities.contains(&f64::INFINITY) {
                error = self.limit_at_tie(items, item, &mut scratch, &mut densities);
            }
            block.errors_mut()[item] = error;
            for (class, density) in densities.iter().enumerate() {
                block.class_mut(class)[item] = density + ln_prior.map_or(0.0, |ln| ln[class]);
            }
        }
    }

    /// Exactly tied outputs may have infinite densities; the fused distribution has a limit all
    /// the same, as the resolution goes to 0. It is taken at a tiny resolution, and its error from
    /// twice that.
    fn limit_at_tie(
        &self,
        items: &Items<'_>,
        item: usize,
        scratch: &mut Scratch,
        densities: &mut [f64],
    ) -> f64 {
        let outputs = items.output(item, 0).map(raised).zip(items.output(item, 1).map(raised));
        let (x1, x2) = outputs.expect("only two outputs can tie");
        let (x1, x2) = (&*x1, &*x2);
        let [fine, coarse] = self.at_ties.get_or_init(|| {
            [TIE_RESOLUTION, 2.0 * TIE_RESOLUTION].map(|epsilon| {
                let smoothed = |class: &ClassDensity| class.pair.clone().with_resolution(epsilon);
                let legal = "the resolution at ties is within its range";
                self.classes.iter().map(|class| smoothed(class).expect(legal)).collect()
            })
        });
        let mut error = 0.0f64;
        for (pair, out) in fine.iter().zip(densities.iter_mut()) {
            let estimate = pair.ln_density(x1, x2, scratch);
            *out = estimate.ln_density;
            error = error.max(estimate.error);
        }
        let far: Vec<f64> =
            coarse.iter().map(|pair| pair.ln_density(x1, x2, scratch).ln_density).collect();
        let gap = |d: &[f64], j: usize| d[j] - d[0];
        let moved = (0..far.len()).map(|j| (gap(densities, j) - gap(&far, j)).abs());
        error + moved.fold(0.0, f64::max)
    }
}

/// The density is tested down to outputs of this size; smaller ones count as it.
const SMALLEST_OUTPUT: f64 = 1e-12;

fn raised(output: &[f64]) -> Cow<'_, [f64]> {
    if output.iter().all(|x| *x >= SMALLEST_OUTPUT) {
        return Cow::Borrowed(output);
    }
    let mut raised = output.to_vec();
    crate::math::simplex::raise_to_floor(&mut raised, SMALLEST_OUTPUT);
    Cow::Owned(raised)
}

/// The resolution at which the limit at an exact tie is taken.
const TIE_RESOLUTION: f64 = 1e-4;

impl ClassDensity {
    fn new(class: &CorrelatedDirichlet, resolution: f64) -> Result<Self> {
        let [alpha1, alpha2] = [&class.alpha()[0], &class.alpha()[1]];
        let delta = class.shared_by(0, 1);
        let pair = PairDensity::new(alpha1, alpha2, &delta)?.with_tolerance(FUSION_TOLERANCE)?;
        Ok(Self {
            pair: pair.with_resolution(resolution)?,
            margins: [Dirichlet::new(alpha1)?, Dirichlet::new(alpha2)?],
        })
    }

    fn margin(&self, classifier: usize, x: &[f64]) -> Estimate {
        let margin = &self.margins[classifier];
        let ln_density = margin.ln_pdf(x);
        let scale = margin.ln_normaliser().abs() + ln_density.abs() + 1.0;
        Estimate { ln_density, error: 4.0 * f64::EPSILON * scale }
    }
}

impl Fusion for CorrelatedFusion {
    fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    fn ln_joint(&self, items: &Items<'_>, prior: &ClassPrior, block: &mut Block) {
        self.fill(items, block, Some(prior.ln()));
    }

    fn ln_density(&self, items: &Items<'_>, block: &mut Block) -> Result<()> {
        self.fill(items, block, None);
        Ok(())
    }
}
