//! One mixture of normal distributions per class over all log-ratios.
//!
//! ```text
//! xᵏ = softmax(gᵏ),   (g¹, …, gᴷ) | t=j ~ Σ_c w_jc N(μ_jc, Σ_jc)
//! P(t=j|x) = 1/S Σₛ pⱼ fₛⱼ(x) / Σₘ pₘ fₛₘ(x)   over draws s
//! ```
//!
//! The method of Pirs and Strumbelj with another sampler: the priors are scaled by the data, the size
//! of components is chosen by cross-validation, components have weights, several chains have a
//! burn-in, and means and covariances are integrated out. Each kept draw is a mixture of Student t
//! distributions; all draws together are one mixture (S = 1).
//!
//! # References
//! Pirs, Strumbelj, "Bayesian combination of probabilistic classifiers using multivariate normal
//! mixtures", JMLR 20(51), 2019. <https://jmlr.org/papers/v20/18-241.html>

mod config;
mod fit;
mod sampler;
mod share;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use super::log_ratio::LogDistribution;
pub use config::NormalMixture;
pub use fit::FittedNormalMixture;

use super::log_ratio::{Mixtures, Weighted, for_each_item, ln_jacobian};
use super::{Block, FitDetails, FittedMethod, Fusion};
use crate::data::class_prior::ClassPrior;
use crate::data::outputs::Items;
use crate::data::schema::Schema;
use crate::error::{Error, Result};
use crate::formula::{Scoring, Value as FormulaValue};
use crate::simulation::Truth;
use crate::text;
use consilience_numerics::log_space::{log_add_exp, log_sum_exp};
use serde_json::{Value, json};

/// One component of a mixture.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MixtureComponent {
    /// Its weight among those of its class, which are normalised on reading.
    pub weight: f64,
    /// The distribution of the logarithms.
    pub logarithms: LogDistribution,
}

/// The parameters of the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "StoredParameters")]
pub struct NormalMixtureParameters {
    /// The components of class j in draw s at `[s][j]`; the fused distributions of the draws are
    /// averaged.
    pub draws: Vec<Vec<Vec<MixtureComponent>>>,
}

/// The parameters as in a file. Files of the sampler as published have a `jitter`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredParameters {
    #[serde(default)]
    jitter: f64,
    draws: Vec<Vec<Vec<MixtureComponent>>>,
}

impl TryFrom<StoredParameters> for NormalMixtureParameters {
    type Error = String;

    fn try_from(stored: StoredParameters) -> std::result::Result<Self, String> {
        if stored.jitter != 0.0 {
            return Err("`jitter`: mixtures fitted with the variant `published` are no longer \
                        supported; fit the model again"
                .into());
        }
        Ok(Self { draws: stored.draws })
    }
}

/// The model with its parameters.
///
/// # Example
/// ```
/// use consilience::{NormalMixture, simulation::Preset};
///
/// let truth = Preset::Sim2.truth(0.5)?;
/// let model = NormalMixture::default().fit(&truth.simulate(50, 1)?)?;
/// let fused = model.fuse(&truth.simulate(10, 2)?)?;
/// assert_eq!(fused.n_items(), 30);
/// # Ok::<(), consilience::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct NormalMixtureFusion {
    schema: Arc<Schema>,
    parameters: NormalMixtureParameters,
    rules: Vec<Mixtures>,
}

impl NormalMixtureFusion {
    /// Checks shape and range of the parameters.
    pub fn new(schema: Arc<Schema>, parameters: NormalMixtureParameters) -> Result<Self> {
        let NormalMixtureParameters { draws } = &parameters;
        if draws.is_empty() || draws.iter().any(|draw| draw.len() != schema.n_classes()) {
            return Err(Error::mismatch(
                "rows of `draws` and classes",
                format!("at least one draw of {}", schema.n_classes()),
                draws.first().map_or(0, Vec::len),
            ));
        }
        let draw = |classes: &Vec<Vec<MixtureComponent>>| {
            let class = |class: &Vec<MixtureComponent>| mixture(class, &schema);
            Ok(Mixtures::new(classes.iter().map(class).collect::<Result<_>>()?))
        };
        let rules = draws.iter().map(draw).collect::<Result<_>>()?;
        Ok(Self { schema, parameters, rules })
    }

    /// The parameters.
    pub fn parameters(&self) -> &NormalMixtureParameters {
        &self.parameters
    }

    /// One distribution per class, a summary of its mixture: the mean location of all components, and
    /// their mean scale plus the spread of their locations.
    pub fn overall(&self) -> Vec<LogDistribution> {
        (0..self.schema.n_classes()).map(|j| self.overall_of(j)).collect()
    }

    fn overall_of(&self, class: usize) -> LogDistribution {
        let (j, width) = (self.schema.n_classes(), self.schema.width());
        let (mut mean, mut square) = (vec![0.0; width], vec![vec![0.0; width]; width]);
        for draw in &self.parameters.draws {
            let total: f64 = draw[class].iter().map(|component| component.weight).sum();
            for MixtureComponent { weight, logarithms } in &draw[class] {
                let share = weight / total / self.parameters.draws.len() as f64;
                let location = logarithms.location.concat();
                for (a, (row, scale)) in square.iter_mut().zip(&logarithms.scale).enumerate() {
                    mean[a] += share * location[a];
                    for (b, (cell, scale)) in row.iter_mut().zip(scale).enumerate() {
                        *cell += share * (scale + location[a] * location[b]);
                    }
                }
            }
        }
        for (a, row) in square.iter_mut().enumerate() {
            row.iter_mut().zip(&mean).for_each(|(cell, m)| *cell -= mean[a] * m);
        }
        let location = mean.chunks(j).map(<[f64]>::to_vec).collect();
        LogDistribution { degrees: None, location, scale: square }
    }

    /// Writes, for every item, ln of the mean over draws of `posterior`, given each draw's log
    /// densities of all classes.
    fn average(&self, items: &Items<'_>, block: &mut Block, posterior: impl Fn(&mut [f64])) {
        let mut values = vec![0.0; items.n_classes()];
        let mut mean = values.clone();
        let ln_draws = (self.rules.len() as f64).ln();
        for_each_item(items, &self.rules, |item, point, rules| {
            mean.fill(f64::NEG_INFINITY);
            let mut error = 0.0f64;
            for rule in rules {
                error = error.max(rule.ln_densities(point, &mut values));
                posterior(&mut values);
                for (mean, value) in mean.iter_mut().zip(&values) {
                    *mean = log_add_exp(*mean, *value);
                }
            }
            mean.iter_mut().for_each(|mean| *mean -= ln_draws);
            // Normalising an error e of log weights makes 2e of log probabilities at most.
            block.set_item(item, &mean, 2.0 * error + 8.0 * f64::EPSILON);
        });
    }
}

/// The components of one class with normalised weights.
fn mixture(class: &[MixtureComponent], schema: &Schema) -> Result<Vec<Weighted>> {
    let total: f64 = class.iter().map(|component| component.weight).sum();
    let component = |MixtureComponent { weight, logarithms }: &MixtureComponent| {
        if !(*weight > 0.0 && total.is_finite()) {
            return Err(Error::parameter("weight", "finite and > 0", weight));
        }
        Ok(Weighted {
            ln_weight: (weight / total).ln(),
            distribution: logarithms.coordinates(schema)?,
        })
    };
    if class.is_empty() {
        return Err(Error::parameter("draws", "lists of components, none empty", "an empty one"));
    }
    class.iter().map(component).collect()
}

impl NormalMixtureFusion {
    /// The number of components, and their distribution taken together.
    fn describe_mixtures(&self) -> String {
        let parameters = &self.parameters;
        let mut rows = Vec::new();
        for (j, class) in self.schema.classes().iter().enumerate() {
            let components: usize = parameters.draws.iter().map(|draw| draw[j].len()).sum();
            rows.push(vec![
                class.clone(),
                parameters.draws.len().to_string(),
                components.to_string(),
            ]);
        }
        format!(
            "\n{}{}",
            text::aligned(&["true class", "mixtures averaged", "components in all"], &rows),
            super::log_ratio::describe(&self.schema, &self.overall())
        )
    }
}

impl FittedMethod for NormalMixtureFusion {
    fn file_parameters(&self) -> Value {
        json!(self.parameters())
    }

    fn describe(&self, _: &FitDetails<'_>) -> Result<String> {
        Ok(self.describe_mixtures())
    }

    fn ln_joint_formula(&self, _: &mut Scoring) -> Result<FormulaValue, &'static str> {
        Err("its densities need a matrix decomposition for every set of outputs present")
    }

    fn truth(&self) -> Result<Truth, &'static str> {
        Err("only Dirichlet distributions can be sampled from")
    }
}

impl Fusion for NormalMixtureFusion {
    fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    fn ln_joint(&self, items: &Items<'_>, prior: &ClassPrior, block: &mut Block) {
        self.average(items, block, |densities| {
            densities.iter_mut().zip(prior.ln()).for_each(|(density, p)| *density += p);
            let total = log_sum_exp(densities);
            densities.iter_mut().for_each(|density| *density -= total);
        });
    }

    fn ln_density(&self, items: &Items<'_>, block: &mut Block) -> Result<()> {
        self.average(items, block, |_| ());
        block.add_per_item(|item| ln_jacobian(items, item));
        Ok(())
    }

    fn items_per_task(&self) -> usize {
        let components: usize = self.rules.iter().flat_map(Mixtures::classes).map(Vec::len).sum();
        (100_000 / components.max(1)).clamp(16, 4096)
    }
}
