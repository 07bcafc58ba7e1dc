//! Learning the mixtures.

use std::sync::Arc;

use serde_json::Value;

use super::config::OPTIONS;
use super::sampler::Chain;
use super::{
    LogDistribution, MixtureComponent, NormalMixture, NormalMixtureFusion, NormalMixtureParameters,
};
use crate::data::outputs::Outputs;
use crate::data::schema::Schema;
use crate::distributions::{MultivariateT, NormalInverseWishart};
use crate::error::Result;
use crate::math::random::stream;
use crate::methods::log_ratio::{LogRatioTable, check_size};
use crate::methods::{Fit, FitMethod, MethodOption, TrainingSet, read};
use crate::progress::Progress;
use crate::warning::Warning;
use consilience_numerics::parallel;

/// The result of a fit.
#[derive(Debug, Clone, PartialEq)]
pub struct FittedNormalMixture {
    /// The fitted rule.
    pub fusion: NormalMixtureFusion,
    /// Warnings for the user.
    pub warnings: Vec<Warning>,
}

impl FitMethod for NormalMixture {
    type Fitted = NormalMixtureFusion;

    const OPTIONS: &'static [MethodOption] = OPTIONS;
    const TAKES_WEIGHTS: bool = false;

    fn needs_every_output(&self) -> bool {
        true
    }

    fn fit_method(&self, data: &TrainingSet<'_>) -> Result<Fit<NormalMixtureFusion>> {
        let FittedNormalMixture { fusion, warnings } = self.learn(data.outputs, data.progress)?;
        Ok(Fit::new(fusion, warnings))
    }

    fn read_parameters(schema: Arc<Schema>, parameters: Value) -> Result<NormalMixtureFusion> {
        NormalMixtureFusion::new(schema, read(parameters)?)
    }
}

impl NormalMixture {
    /// Fits the rule to labelled outputs.
    #[doc(hidden)]
    pub fn learn(&self, outputs: &Outputs, progress: &dyn Progress) -> Result<FittedNormalMixture> {
        self.check()?;
        let distributions =
            [self.chains, self.draws].into_iter().fold(self.components, usize::saturating_mul);
        check_size(outputs.schema(), "normal-mixture", distributions)?;
        let share = self.share_in_force(outputs, progress)?;
        let n_classes = outputs.schema().n_classes();
        progress.begin("sampling mixtures", self.steps(n_classes));
        let (parameters, warnings) = self.with_share(share, outputs, progress)?;
        let fusion = NormalMixtureFusion::new(Arc::clone(outputs.schema()), parameters)?;
        Ok(FittedNormalMixture { fusion, warnings })
    }

    /// Draws of all chains together.
    pub(super) fn steps(&self, n_classes: usize) -> u64 {
        ((self.warmup + self.draws * self.every) * self.chains * n_classes) as u64
    }

    /// The fit with components of a given size.
    pub(super) fn with_share(
        &self,
        share: f64,
        outputs: &Outputs,
        progress: &dyn Progress,
    ) -> Result<(NormalMixtureParameters, Vec<Warning>)> {
        let table = LogRatioTable::new(outputs)?;
        let (schema, n_classes) = (outputs.schema(), table.classes.len());
        let mut expected = table.pooled();
        expected.covariance *= share;
        let prior = NormalInverseWishart::around(&expected, self.covariance_items, self.mean_items);
        let chains = parallel::map(self.chains * n_classes, |i| {
            let class = &table.classes[i / self.chains];
            Chain::new(self, &prior, class, stream(self.seed, i as u64))?.run(progress)
        });
        let mut classes = vec![Vec::new(); n_classes];
        for (i, chain) in chains.into_iter().enumerate() {
            chain?.into_iter().for_each(|drawn| add(drawn, &mut classes[i / self.chains]));
        }
        let class = |components: Vec<(f64, MultivariateT)>| {
            components.iter().map(|(weight, t)| component(*weight, t, schema)).collect()
        };
        let classes = classes.into_iter().map(class).collect();
        let parameters = NormalMixtureParameters { draws: vec![classes] };
        Ok((parameters, table.warning.into_iter().collect()))
    }
}

/// Adds a component, or its weight to that of an equal one: the empty components are the same in
/// every draw.
fn add((weight, t): (f64, MultivariateT), components: &mut Vec<(f64, MultivariateT)>) {
    match components.iter_mut().find(|(_, known)| *known == t) {
        Some((sum, _)) => *sum += weight,
        None => components.push((weight, t)),
    }
}

fn component(weight: f64, t: &MultivariateT, schema: &Schema) -> MixtureComponent {
    MixtureComponent { weight, logarithms: LogDistribution::of(t, schema) }
}
