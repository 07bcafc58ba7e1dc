//! Learning: conjugate, in closed form where no training output is absent.

use std::sync::Arc;

use serde_json::Value;

use super::config::OPTIONS;
use super::{LogDistribution, LogitNormal, LogitNormalFusion, LogitNormalParameters};
use crate::data::outputs::Outputs;
use crate::data::schema::Schema;
use crate::distributions::NormalInverseWishart;
use crate::error::Result;
use crate::methods::log_ratio::{ClassRows, LogRatioTable, check_size};
use crate::methods::{Fit, FitMethod, MethodOption, TrainingSet, read};
use crate::warning::Warning;

/// The result of a fit.
#[derive(Debug, Clone, PartialEq)]
pub struct FittedLogitNormal {
    /// The fitted rule.
    pub fusion: LogitNormalFusion,
    /// Warnings for the user.
    pub warnings: Vec<Warning>,
}

/// Variational steps where outputs are absent. Each multiplies the remaining error by the share of
/// information that is missing: at 30 % absent, thirty steps leave 1e-15.
const STEPS: usize = 30;

impl FitMethod for LogitNormal {
    type Fitted = LogitNormalFusion;

    const OPTIONS: &'static [MethodOption] = OPTIONS;
    const TAKES_WEIGHTS: bool = false;

    fn needs_every_output(&self) -> bool {
        true
    }

    fn fit_method(&self, data: &TrainingSet<'_>) -> Result<Fit<LogitNormalFusion>> {
        let FittedLogitNormal { fusion, warnings } = self.learn(data.outputs)?;
        Ok(Fit::new(fusion, warnings))
    }

    fn read_parameters(schema: Arc<Schema>, parameters: Value) -> Result<LogitNormalFusion> {
        LogitNormalFusion::new(schema, read(parameters)?)
    }
}

impl LogitNormal {
    /// Fits the rule to labelled outputs.
    #[doc(hidden)]
    pub fn learn(&self, outputs: &Outputs) -> Result<FittedLogitNormal> {
        self.check()?;
        check_size(outputs.schema(), "logit-normal", 1)?;
        let table = LogRatioTable::new(outputs)?;
        let schema = outputs.schema();
        let prior =
            NormalInverseWishart::around(&table.pooled(), self.covariance_items, self.mean_items);
        let class = |rows: &ClassRows| -> Result<LogDistribution> {
            Ok(LogDistribution::of(&posterior(&prior, rows).predictive()?, schema))
        };
        let classes = table.classes.iter().map(class).collect::<Result<_>>()?;
        let fusion = LogitNormalFusion::new(Arc::clone(schema), LogitNormalParameters { classes })?;
        Ok(FittedLogitNormal { fusion, warnings: table.warning.into_iter().collect() })
    }
}

/// The posterior of a class's mean and covariance.
///
/// With absent outputs it is the variational one, in which these and the parameters are
/// independent: the absent coordinates are replaced by their conditional moments, repeatedly. This
/// treats filled-in values as observed, so that in the end items are weighted by the share of
/// outputs present.
fn posterior(prior: &NormalInverseWishart, class: &ClassRows) -> NormalInverseWishart {
    let patterns = class.patterns();
    let n = class.len() as f64;
    let mut moments = prior.centre().moments(&class.rows, &patterns);
    if patterns.are_complete() {
        return prior.updated(n, &moments);
    }
    for _ in 0..STEPS {
        moments = prior.updated(n, &moments).centre().moments(&class.rows, &patterns);
    }
    prior.updated(n * class.share_present(), &moments)
}
