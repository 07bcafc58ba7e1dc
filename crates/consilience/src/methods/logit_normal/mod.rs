//! One normal distribution per class over all log-ratios.
//!
//! ```text
//! xᵏ = softmax(gᵏ),   (g¹, …, gᴷ) | t=j ~ N(μⱼ, Σⱼ)
//! ```
//!
//! The supra-Bayesian normal model: a decision maker takes the experts' log odds for normally
//! distributed data, with correlations of any sign within and between experts. Means and covariances
//! have a normal-inverse-Wishart prior and are integrated out, which makes the distribution of a
//! new item Student t; absent outputs are marginalised exactly.
//!
//! # References
//! Lindley, "Reconciliation of discrete probability distributions", 1985; French, "Updating of
//! belief in the light of someone else's opinion", 1980, <https://doi.org/10.2307/2981768>;
//! Winkler, "Combining probability distributions from dependent information sources", 1981,
//! <https://doi.org/10.1287/mnsc.27.4.479>.

mod config;
mod fit;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use super::log_ratio::LogDistribution;
pub use config::LogitNormal;
pub(crate) use config::{COVARIANCE_ITEMS, MEAN_ITEMS};
pub use fit::FittedLogitNormal;

use super::log_ratio::{Mixtures, Weighted, for_each_item, ln_jacobian};
use super::{Block, FitDetails, FittedMethod, Fusion};
use crate::data::class_prior::ClassPrior;
use crate::data::outputs::Items;
use crate::data::schema::Schema;
use crate::error::{Error, Result};
use crate::formula::{Scoring, Value as FormulaValue};
use crate::simulation::Truth;
use serde_json::{Value, json};

/// The parameters of the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogitNormalParameters {
    /// The distribution of the logarithms for every true class.
    pub classes: Vec<LogDistribution>,
}

/// The model with its parameters.
///
/// # Example
/// ```
/// use consilience::{LogitNormal, simulation::Preset};
///
/// let truth = Preset::Sim2.truth(0.5)?;
/// let model = LogitNormal::default().fit(&truth.simulate(200, 1)?)?;
/// let fused = model.fuse(&truth.simulate(10, 2)?)?;
/// assert_eq!(fused.n_items(), 30);
/// # Ok::<(), consilience::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct LogitNormalFusion {
    schema: Arc<Schema>,
    parameters: LogitNormalParameters,
    /// One component per class.
    rule: [Mixtures; 1],
}

impl LogitNormalFusion {
    /// Checks shape and range of the parameters.
    pub fn new(schema: Arc<Schema>, parameters: LogitNormalParameters) -> Result<Self> {
        if parameters.classes.len() != schema.n_classes() {
            return Err(Error::mismatch(
                "rows of `classes` and classes",
                schema.n_classes(),
                parameters.classes.len(),
            ));
        }
        let class = |distribution: &LogDistribution| {
            let distribution = distribution.coordinates(&schema)?;
            Ok(vec![Weighted { ln_weight: 0.0, distribution }])
        };
        let rule = Mixtures::new(parameters.classes.iter().map(class).collect::<Result<_>>()?);
        Ok(Self { schema, parameters, rule: [rule] })
    }

    /// The parameters.
    pub fn parameters(&self) -> &LogitNormalParameters {
        &self.parameters
    }

    /// Writes base[j] + ln f(x | t=j) with the density of the coordinates.
    fn add_evidence(&self, items: &Items<'_>, base: &[f64], block: &mut Block) {
        let mut values = vec![0.0; base.len()];
        for_each_item(items, &self.rule, |item, point, rule| {
            let error = rule[0].ln_densities(point, &mut values);
            values.iter_mut().zip(base).for_each(|(value, base)| *value += base);
            block.set_item(item, &values, error);
        });
    }
}

impl FittedMethod for LogitNormalFusion {
    fn file_parameters(&self) -> Value {
        json!(self.parameters())
    }

    fn describe(&self, _: &FitDetails<'_>) -> Result<String> {
        Ok(super::log_ratio::describe(&self.schema, &self.parameters.classes))
    }

    fn ln_joint_formula(&self, _: &mut Scoring) -> Result<FormulaValue, &'static str> {
        Err("its densities need a matrix decomposition for every set of outputs present")
    }

    fn truth(&self) -> Result<Truth, &'static str> {
        Err("only Dirichlet distributions can be sampled from")
    }
}

impl Fusion for LogitNormalFusion {
    fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    fn ln_joint(&self, items: &Items<'_>, prior: &ClassPrior, block: &mut Block) {
        self.add_evidence(items, prior.ln(), block);
    }

    fn ln_density(&self, items: &Items<'_>, block: &mut Block) -> Result<()> {
        self.add_evidence(items, &vec![0.0; items.n_classes()], block);
        block.add_per_item(|item| ln_jacobian(items, item));
        Ok(())
    }
}
