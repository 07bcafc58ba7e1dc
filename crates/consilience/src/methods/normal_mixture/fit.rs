//! Learning the mixtures.

use std::sync::Arc;

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use serde_json::Value;

use super::config::OPTIONS;
use super::published::{self, Counted};
use super::repaired::Chain;
use super::{
    LogDistribution, MixtureComponent, MixtureVariant, NormalMixture, NormalMixtureFusion,
    NormalMixtureParameters,
};
use crate::data::input_format::InputFormat;
use crate::data::outputs::{Outputs, OutputsBuilder};
use crate::data::schema::Schema;
use crate::distributions::{MultivariateT, NormalInverseWishart};
use crate::error::Result;
use crate::methods::log_ratio::LogRatioTable;
use crate::methods::{Fit, FitMethod, MethodOption, TrainingSet, read};
use crate::progress::Progress;
use crate::warning::Warning;
use consilience_numerics::parallel;

/// What a fit gives.
#[derive(Debug, Clone, PartialEq)]
pub struct FittedNormalMixture {
    /// The fitted rule.
    pub fusion: NormalMixtureFusion,
    /// What a user should know.
    pub warnings: Vec<Warning>,
}

impl FitMethod for NormalMixture {
    type Fitted = NormalMixtureFusion;

    const OPTIONS: &'static [MethodOption] = OPTIONS;
    const TAKES_WEIGHTS: bool = false;

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
        let (parameters, warnings) = match self.variant {
            MixtureVariant::Repaired => self.repaired(outputs, progress)?,
            MixtureVariant::Published => self.published(outputs, progress)?,
        };
        let fusion = NormalMixtureFusion::new(Arc::clone(outputs.schema()), parameters)?;
        Ok(FittedNormalMixture { fusion, warnings })
    }

    fn repaired(
        &self,
        outputs: &Outputs,
        progress: &dyn Progress,
    ) -> Result<(NormalMixtureParameters, Vec<Warning>)> {
        let share = self.share_in_force(outputs, progress)?;
        let n_classes = outputs.schema().n_classes();
        progress.begin("sampling mixtures", self.steps(n_classes));
        self.with_share(share, outputs, progress)
    }

    /// Draws of all chains together.
    pub(super) fn steps(&self, n_classes: usize) -> u64 {
        ((self.warmup + self.draws * self.every) * self.chains * n_classes) as u64
    }

    /// The repaired variant with components of a given size.
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
            Chain::new(self, &prior, class, self.stream(i))?.run(progress)
        });
        let mut classes = vec![Vec::new(); n_classes];
        for (i, chain) in chains.into_iter().enumerate() {
            let own = &mut classes[i / self.chains];
            own.extend(chain?.iter().map(|(weight, t)| component(*weight, t, schema)));
        }
        let parameters = NormalMixtureParameters { jitter: 0.0, draws: vec![classes] };
        Ok((parameters, table.warning.into_iter().collect()))
    }

    fn published(
        &self,
        outputs: &Outputs,
        progress: &dyn Progress,
    ) -> Result<(NormalMixtureParameters, Vec<Warning>)> {
        let (noisy, left_out) = self.complete_with_noise(outputs)?;
        let table = LogRatioTable::new(&noisy)?;
        let (schema, n_classes) = (outputs.schema(), table.classes.len());
        progress.begin("sampling mixtures", n_classes as u64);
        let classes = parallel::map(n_classes, |j| {
            progress.check()?;
            let rows = &table.classes[j].rows;
            let draws = published::sample_class(rows, n_classes, &mut self.stream(j));
            progress.advance(1);
            draws
        });
        let classes: Vec<Vec<Vec<Counted>>> = classes.into_iter().collect::<Result<_>>()?;
        let class = |counted: &Vec<Counted>| {
            counted.iter().map(|(n, normal)| component(*n as f64, normal, schema)).collect()
        };
        let draws = (0..published::ITERATIONS)
            .map(|s| classes.iter().map(|iterations| class(&iterations[s])).collect())
            .collect();
        let mut warnings: Vec<Warning> = table.warning.into_iter().collect();
        if left_out > 0 {
            warnings.push(Warning::data(format!(
                "{left_out} training items with absent outputs were left out: the published \
                 variant needs all of them"
            )));
        }
        Ok((NormalMixtureParameters { jitter: published::JITTER, draws }, warnings))
    }

    /// The complete items with noise added, and the number of the others.
    fn complete_with_noise(&self, outputs: &Outputs) -> Result<(Outputs, usize)> {
        let schema = outputs.schema();
        let input_format = InputFormat { floor: 0.0, ..InputFormat::default() };
        let mut builder = OutputsBuilder::new(Arc::clone(schema), input_format)?;
        let mut rng = self.stream(schema.n_classes());
        for item in 0..outputs.n_items() {
            let mut row = outputs.items(item..item + 1).values().to_vec();
            if row.iter().all(|value| !value.is_nan()) {
                published::add_noise(&mut row, schema.n_classes(), published::JITTER, &mut rng);
                builder.push_indexed(&row, outputs.label(item))?;
            }
        }
        let complete = builder.finish();
        let left_out = outputs.n_items() - complete.n_items();
        Ok((complete, left_out))
    }

    /// A random stream of its own for every chain.
    fn stream(&self, number: usize) -> ChaCha8Rng {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        rng.set_stream(number as u64);
        rng
    }
}

fn component(weight: f64, t: &MultivariateT, schema: &Schema) -> MixtureComponent {
    MixtureComponent { weight, logarithms: LogDistribution::of(t, schema) }
}
