//! Settings of the correlated model's fit.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::constants::likelihood::LARGEST_SHAPE;
use super::constants::polynomial::MOST_CLASSES;
use super::pair_items::are_copies;
use super::pair_likelihood::is_resolved;
use crate::data::outputs::Outputs;
use crate::data::schema::Schema;
use crate::error::{Error, Result};
use crate::methods::correlated::Structure;
use crate::methods::independent::{
    ALPHA_PRIOR, AlphaPrior, CHAINS, DRAWS, FittedIndependent, Independent, Inference, KEEP_DRAWS,
    PRIOR_ITEMS, SufficientStatistics, WARMUP,
};
use crate::methods::{MethodOption, SEED};
use crate::progress::Progress;
use crate::sampling::ChainSettings;
use crate::warning::Warning;
use correlated_dirichlet::pair::LARGEST_RESOLUTION;

/// What is believed of δ before seeing the outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeltaPrior {
    /// logit(δ/b) ~ N(μ, 1) with one μ over classes and components, expit(μ) uniform on (0, 1).
    #[default]
    Pooled,
    /// Every δ uniform between 0 and b, the smaller of its two α.
    Uniform,
    /// The paper's: Gamma(shape 0.001, rate 0.001) on every δ, up to b. Its spike at 0 is cut off
    /// at b/10⁶, where δ has no effect any more.
    Paper,
}

/// What is learned, and how the posterior is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CorrelatedInference {
    /// α first, then the full posterior of δ given the point estimate of α.
    #[default]
    TwoStep,
    /// Of the paper's model of three and more classifiers α first, then the posterior of all shared
    /// shapes, not of pairs alone; elsewhere the same as in two steps.
    Posterior,
    /// α first, then the mode of the density of logit(δ/b); no measure of uncertainty.
    Map,
}

/// The resolution of few classifiers and, where errors of many pairs add up, of many.
const RESOLUTIONS: [f64; 2] = [0.03, 0.1];
/// So many different classifiers count as many.
const MANY: usize = 4;

/// The resolution to learn with where none was asked for: 0.03, and 0.1 from four classifiers on.
///
/// Classifiers whose outputs are the same for all items count once, so that a copy changes nothing.
pub(crate) fn default_resolution(outputs: &Outputs) -> f64 {
    let different = (0..outputs.schema().n_classifiers())
        .filter(|&k| !(0..k).any(|earlier| are_copies(outputs, earlier, k)))
        .count();
    RESOLUTIONS[usize::from(different >= MANY)]
}

/// Draws of α that carry its uncertainty to δ.
const MARGIN_DRAWS: usize = 1000;

pub(crate) const OPTIONS: &[MethodOption] = &[
    ALPHA_PRIOR,
    PRIOR_ITEMS,
    MethodOption::new(
        "delta_prior",
        "pooled, uniform or paper",
        "Prior of the shapes that two classifiers share.",
    )
    .with_choices(&[
        ("pooled", "Shares of the classifiers' Dirichlets, alike over classes."),
        ("uniform", "Uniform over all possible values."),
        ("paper", "Gamma(0.001, 0.001) on every element, as in the paper."),
    ]),
    MethodOption::new(
        "structure",
        "tree, tree-mixture, full or common",
        "How more than two classifiers are joined.",
    )
    .with_choices(&[
        ("tree", "By the exact densities of pairs, along the tree that explains most."),
        ("tree-mixture", "By all such trees, averaged."),
        ("full", "The paper's model: a part common to all and one per pair; slow to fuse."),
        ("common", "The paper's model without the parts of pairs."),
    ]),
    MethodOption::new(
        "resolution",
        "a number from 0 (exact) to 0.2",
        "Relative resolution of the outputs; 0.03, and 0.1 for four and more different \
         classifiers, if not given.",
    ),
    MethodOption::new(
        "inference",
        "two-step, posterior or map",
        "What is learned, and whether with its uncertainty.",
    )
    .with_choices(&[
        ("two-step", "First the Dirichlets, then the posterior of what pairs share given them."),
        (
            "posterior",
            "The same; with `full` and `common`, the posterior of everything shared (experimental).",
        ),
        ("map", "The posterior mode: fast, without uncertainty."),
    ]),
    CHAINS,
    DRAWS,
    WARMUP,
    KEEP_DRAWS,
    SEED,
];

/// Options of `correlated`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Correlated {
    /// The prior of α; pooled by default.
    pub alpha_prior: AlphaPrior,
    /// Weight of the pooled prior of α as a number of items, > 0 and at most 1e9; 2 by default.
    pub prior_items: f64,
    /// The prior of δ; pooled by default.
    pub delta_prior: DeltaPrior,
    /// Two steps (default), the posterior of everything shared, or the mode.
    pub inference: CorrelatedInference,
    /// How more than two classifiers are joined; by a tree of pairs by default.
    pub structure: Structure,
    /// The resolution ε of the outputs, from 0 (exact) to 0.2. By default 0.03, and 0.1 for four
    /// and more different classifiers, where the errors of many pairs add up. It applies to
    /// densities of two classifiers; that of three and more (`full`, `common`) is exact.
    pub resolution: Option<f64>,
    /// Chains, 1 to 1000; 4 by default.
    pub chains: usize,
    /// Draws kept of each chain, 4 to a million; 1000 by default.
    pub draws: usize,
    /// Draws discarded at the start of each chain; 100 by default.
    pub warmup: usize,
    /// Posterior draws kept in the model, for predictive fusion; none by default.
    pub keep_draws: usize,
    /// Seed of the random numbers.
    pub seed: u64,
}

impl Default for Correlated {
    fn default() -> Self {
        let ChainSettings { n_chains, n_warmup, n_draws } = ChainSettings::default();
        Self {
            alpha_prior: AlphaPrior::default(),
            prior_items: Independent::default().prior_items,
            delta_prior: DeltaPrior::default(),
            inference: CorrelatedInference::default(),
            structure: Structure::default(),
            resolution: None,
            chains: n_chains,
            draws: n_draws,
            warmup: n_warmup,
            keep_draws: 0,
            seed: 0,
        }
    }
}

impl Correlated {
    /// Refuses settings out of range; those of the chains are settings of the Dirichlets' fit too.
    pub fn check(&self) -> Result<()> {
        self.margins().check()?;
        if !(0.0..=LARGEST_RESOLUTION).contains(&self.resolution()) {
            return Err(Error::parameter("resolution", "between 0 and 0.2", self.resolution()));
        }
        if self.keep_draws > 0 && self.inference == CorrelatedInference::Map {
            let requirement = "0 with `map`, which draws none";
            return Err(Error::parameter("kept draws", requirement, self.keep_draws));
        }
        Ok(())
    }

    /// The options of the Dirichlets' fit: the mode if only modes are wanted, else draws enough to
    /// carry the uncertainty of α over to δ.
    fn margins(&self) -> Independent {
        let (inference, keep_draws) = if self.inference == CorrelatedInference::Map {
            (Inference::Map, 0)
        } else {
            let available = self.chains.saturating_mul(self.draws);
            (Inference::Posterior, self.keep_draws.max(MARGIN_DRAWS.min(available)))
        };
        Independent {
            alpha_prior: self.alpha_prior,
            prior_items: self.prior_items,
            inference,
            chains: self.chains,
            draws: self.draws,
            warmup: self.warmup,
            keep_draws,
            seed: self.seed,
        }
    }

    /// Learns the Dirichlets of all sources, with shapes of about [`LARGEST_SHAPE`] at most, for at most
    /// [`MOST_CLASSES`] classes.
    pub(super) fn learn_margins(
        &self,
        schema: &Arc<Schema>,
        statistics: &SufficientStatistics,
        progress: &dyn Progress,
    ) -> Result<FittedIndependent> {
        if schema.n_classes() > MOST_CLASSES {
            let cannot = format!(
                "learns what classifiers share from at most {MOST_CLASSES} classes, not {}",
                schema.n_classes()
            );
            return Err(Error::Unsupported { method: "correlated".into(), cannot });
        }
        let mut fitted =
            self.margins().learn_bounded(schema, statistics, LARGEST_SHAPE, progress)?;
        for (name, classes) in schema.classifiers().iter().zip(fitted.fusion.alpha()) {
            let tight = classes.iter().filter(|alpha| !is_resolved(alpha)).count();
            if tight > 0 {
                fitted.warnings.push(Warning::data(format!(
                    "the outputs of classifier `{name}` vary by less than 5 % in {tight} of {} \
                     classes: what it shares there follows the prior, and its shapes are limited \
                     to about {LARGEST_SHAPE}; rescale its outputs, or use another method",
                    classes.len()
                )));
            }
        }
        Ok(fitted)
    }

    /// The resolution in force.
    pub(crate) fn resolution(&self) -> f64 {
        self.resolution.unwrap_or(RESOLUTIONS[0])
    }

    pub(super) fn chain_settings(&self) -> ChainSettings {
        ChainSettings { n_chains: self.chains, n_warmup: self.warmup, n_draws: self.draws }
    }
}
