//! Learning the Dirichlets from labelled outputs.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::config::AlphaPrior;
use super::config::{Independent, Inference, OPTIONS};
use super::posterior::{CONSTANT, DirichletPosterior, Measure};
use super::{Alpha, IndependentFusion, SufficientStatistics};
use crate::data::schema::Schema;
use crate::error::{Error, Result};
use crate::methods::{Draw, Fit, FitMethod, FitReport, MethodOption, TrainingSet, read};
use crate::progress::Progress;
use crate::sampling::diagnostics::Diagnostics;
use crate::sampling::{Draws, find_mode, sample, search_mode};
use crate::warning::Warning;
use consilience_numerics::log_space::log_sum_exp;
use consilience_numerics::parallel;

/// The result of fitting the independent model.
#[derive(Debug, Clone, PartialEq)]
pub struct FittedIndependent {
    /// The model at its point estimate.
    pub fusion: IndependentFusion,
    /// The posterior's spread and whether its draws can be trusted; none for `map`.
    pub posterior: Option<PosteriorReport>,
    /// The draws kept, each a whole set of concentrations.
    pub draws: Vec<Alpha>,
    /// Warnings for the user.
    pub warnings: Vec<Warning>,
}

/// The posterior in numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PosteriorReport {
    /// The worst diagnostics over all elements of α.
    pub worst: Diagnostics,
    /// Mean share of accepted proposals.
    pub acceptance: f64,
    /// Chains.
    pub chains: usize,
    /// Draws of each chain.
    pub draws: usize,
    /// Posterior standard deviations, shaped like `alpha`.
    pub alpha_sd: Alpha,
}

/// A class with fewer items causes a warning.
const FEW_ITEMS: f64 = 10.0;

impl FitMethod for Independent {
    type Fitted = IndependentFusion;

    const OPTIONS: &'static [MethodOption] = OPTIONS;

    fn needs_every_class(&self) -> bool {
        self.alpha_prior == AlphaPrior::Paper // which is too vague to stand alone
    }

    fn needs_every_output(&self) -> bool {
        true
    }

    fn needs_items(&self) -> bool {
        false
    }

    fn fit_method(&self, data: &TrainingSet<'_>) -> Result<Fit<IndependentFusion>> {
        let fitted = self.learn(data.outputs.schema(), data.statistics, data.progress)?;
        let draw = |alpha: Alpha| Draw { alpha, delta: Vec::new() };
        let report = FitReport {
            warnings: fitted.warnings,
            posterior: fitted.posterior,
            draws: fitted.draws.into_iter().map(draw).collect(),
            ..FitReport::default()
        };
        Ok(Fit { fitted: fitted.fusion, report })
    }

    fn update_method(
        &self,
        _: &IndependentFusion,
        data: &TrainingSet<'_>,
    ) -> Option<Result<Fit<IndependentFusion>>> {
        Some(self.fit_method(data)) // it needs nothing but the statistics
    }

    fn read_parameters(schema: Arc<Schema>, parameters: Value) -> Result<IndependentFusion> {
        IndependentFusion::new(schema, read::<Parameters>(parameters)?.alpha)
    }
}

/// The form in the model file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Parameters {
    pub(super) alpha: Alpha,
}

impl Independent {
    /// Fits the Dirichlets to sufficient statistics.
    ///
    /// # Example
    /// ```
    /// use consilience::methods::independent::Independent;
    /// use consilience::simulation::Preset;
    ///
    /// let model = Independent::default().fit(&Preset::Sim1.truth(0.0)?.simulate(100, 1)?)?;
    /// assert!(model.posterior().unwrap().worst.r_hat < 1.01);
    /// # Ok::<(), consilience::Error>(())
    /// ```
    #[doc(hidden)]
    pub fn learn(
        &self,
        schema: &Arc<Schema>,
        statistics: &SufficientStatistics,
        progress: &dyn Progress,
    ) -> Result<FittedIndependent> {
        self.learn_bounded(schema, statistics, f64::INFINITY, progress)
    }

    /// The same with Dirichlets made wider where a shape would be above `largest_shape`.
    pub(crate) fn learn_bounded(
        &self,
        schema: &Arc<Schema>,
        statistics: &SufficientStatistics,
        largest_shape: f64,
        progress: &dyn Progress,
    ) -> Result<FittedIndependent> {
        self.check()?;
        match self.alpha_prior {
            AlphaPrior::Paper => statistics.require_all(schema)?,
            AlphaPrior::Pooled => statistics.require_outputs(schema)?,
        }
        let n_blocks = schema.width();
        progress.begin("fitting Dirichlets", n_blocks as u64);
        let blocks = parallel::map(n_blocks, |block| {
            progress.check()?;
            let place = (block / schema.n_classes(), block % schema.n_classes());
            let posterior = |measure| {
                let own = DirichletPosterior::new(statistics, place, self, measure);
                own.with_largest_shape(largest_shape)
            };
            let fitted = self.fit_block(posterior, block as u64, progress);
            progress.advance(1);
            fitted
        });
        let blocks = blocks.into_iter().collect::<Result<Vec<_>>>()?;
        self.assemble(schema, statistics, &blocks)
    }

    fn fit_block(
        &self,
        posterior: impl Fn(Measure) -> DirichletPosterior,
        block: u64,
        progress: &dyn Progress,
    ) -> Result<FittedBlock> {
        match self.inference {
            Inference::Map => {
                let target = posterior(Measure::Alpha);
                if target.has_no_mode() {
                    return Err(Error::parameter(
                        "inference",
                        "posterior with the paper's prior and so few items, as the posterior has no mode",
                        "map",
                    ));
                }
                let mode = find_mode(&target, &target.start());
                let alpha = mode.point.iter().map(|theta| theta.exp()).collect();
                Ok(FittedBlock {
                    alpha,
                    sd: Vec::new(),
                    draws: Vec::new(),
                    acceptance: 0.0,
                    worst: None,
                    converged: mode.converged,
                })
            }
            Inference::Posterior => {
                let target = posterior(Measure::LnAlpha);
                let mode = find_mode(&target, &target.start());
                let settings = self.chain_settings();
                let first_stream = block * self.chains as u64;
                let mut draws =
                    sample(&target, &mode, &settings, self.seed, first_stream, progress)?;
                draws.transform(f64::exp);
                Ok(FittedBlock::summarise(&draws, self.keep_draws, mode.converged))
            }
        }
    }

    fn assemble(
        &self,
        schema: &Arc<Schema>,
        statistics: &SufficientStatistics,
        blocks: &[FittedBlock],
    ) -> Result<FittedIndependent> {
        let n_classes = schema.n_classes();
        let nested = |part: &dyn Fn(&FittedBlock) -> Vec<f64>| -> Alpha {
            blocks.chunks(n_classes).map(|row| row.iter().map(part).collect()).collect()
        };
        let worst = blocks.iter().filter_map(|block| block.worst).reduce(Diagnostics::worst);
        let posterior = worst.map(|worst| PosteriorReport {
            worst,
            acceptance: blocks.iter().map(|block| block.acceptance).sum::<f64>()
                / blocks.len() as f64,
            chains: self.chains,
            draws: self.draws,
            alpha_sd: nested(&|block| block.sd.clone()),
        });
        let draws = (0..self.keep_draws).map(|i| nested(&|block| block.draws[i].clone()));
        let mut warnings = data_warnings(schema, statistics);
        warnings.extend(self.convergence_warnings(schema, blocks));
        Ok(FittedIndependent {
            fusion: IndependentFusion::new(
                Arc::clone(schema),
                nested(&|block| block.alpha.clone()),
            )?,
            posterior,
            draws: draws.collect(),
            warnings,
        })
    }

    fn convergence_warnings(&self, schema: &Schema, blocks: &[FittedBlock]) -> Vec<Warning> {
        // The draws have diagnostics of their own; without draws, the mode search must have converged.
        let poor = |block: &FittedBlock| match block.worst {
            Some(worst) => worst.are_poor(self.chains),
            None => !block.converged,
        };
        let advice = match self.inference {
            Inference::Posterior => "try more draws or `map`",
            Inference::Map => "try the full posterior",
        };
        let n_classes = schema.n_classes();
        let name = |i: usize| {
            let (k, j) = (&schema.classifiers()[i / n_classes], &schema.classes()[i % n_classes]);
            let numbers = blocks[i].worst.map_or_else(String::new, |w| {
                let (r_hat, bulk, tail) = (w.r_hat, w.ess_bulk, w.ess_tail);
                format!(" (R-hat {r_hat:.3}, bulk ESS {bulk:.0}, tail ESS {tail:.0})")
            });
            Warning::convergence(format!(
                "the fit of classifier `{k}` for class `{j}` has not converged{numbers}; \
                 do not trust it, {advice}"
            ))
        };
        (0..blocks.len()).filter(|&i| poor(&blocks[i])).map(name).collect()
    }
}

/// The posterior modes of all Dirichlets under the default prior, and whether all mode searches
/// converged. A classifier without outputs for a class has its prior there, which is taken from
/// its outputs for the other classes; without any output at all it is uniform.
pub(in crate::methods) fn posterior_modes(statistics: &SufficientStatistics) -> (Alpha, bool) {
    let n_classes = statistics.class_counts().len();
    let options = Independent::default();
    let mut converged = true;
    let mut mode = |k: usize, j: usize| {
        if (0..n_classes).all(|class| statistics.count(k, class) == 0) {
            return vec![1.0; n_classes];
        }
        let target = DirichletPosterior::new(statistics, (k, j), &options, Measure::Alpha);
        let (point, at_mode) = search_mode(&target, &target.start());
        converged &= at_mode;
        point.iter().map(|theta| theta.exp()).collect()
    };
    let row = |k: usize| (0..n_classes).map(|j| mode(k, j)).collect();
    let alpha = (0..statistics.n_classifiers()).map(row).collect();
    (alpha, converged)
}

/// One classifier and class.
struct FittedBlock {
    alpha: Vec<f64>,
    sd: Vec<f64>,
    /// The draws kept, spread evenly over all chains.
    draws: Vec<Vec<f64>>,
    acceptance: f64,
    worst: Option<Diagnostics>,
    converged: bool,
}

impl FittedBlock {
    fn summarise(draws: &Draws, keep: usize, converged: bool) -> Self {
        let coordinates: Vec<Vec<f64>> =
            (0..draws.draw(0).len()).map(|l| draws.coordinate(l)).collect();
        let mean = |x: &Vec<f64>| x.iter().sum::<f64>() / x.len() as f64;
        let sd = |x: &Vec<f64>| {
            let centre = mean(x);
            let square = x.iter().map(|v| (v - centre).powi(2)).sum::<f64>();
            (square / (x.len() as f64 - 1.0)).sqrt()
        };
        Self {
            alpha: coordinates.iter().map(mean).collect(),
            sd: coordinates.iter().map(sd).collect(),
            worst: Diagnostics::worst_of(&coordinates, draws.n_chains()),
            draws: (0..keep).map(|i| draws.draw(i * draws.len() / keep).to_vec()).collect(),
            acceptance: draws.acceptance(),
            converged,
        }
    }
}

/// Warnings about classes with few items and about classifiers with constant outputs.
fn data_warnings(schema: &Schema, statistics: &SufficientStatistics) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for (j, (class, count)) in schema.classes().iter().zip(statistics.class_weights()).enumerate() {
        if count == 0.0 {
            warnings.push(Warning::data(format!(
                "class `{class}` has no training items: its fit rests on the prior alone"
            )));
        } else if count < FEW_ITEMS {
            let items = if count == 1.0 { "item" } else { "items" };
            warnings.push(Warning::data(format!(
                "class `{class}` has only {count} training {items}: its fit rests mostly on the prior"
            )));
        }
        for (k, classifier) in schema.classifiers().iter().enumerate() {
            let outputs = statistics.weight(k, j);
            if outputs < FEW_ITEMS && count >= FEW_ITEMS {
                warnings.push(Warning::data(format!(
                    "classifier `{classifier}` has only {outputs} outputs for class `{class}`: its \
                     fit rests mostly on the prior"
                )));
            }
            if is_constant(statistics, k, j) {
                warnings.push(Warning::data(format!(
                    "classifier `{classifier}` gives the same output for every item of class `{class}`"
                )));
            }
        }
    }
    warnings
}

/// ln Σ e^m = 0 only if every output is the same.
fn is_constant(statistics: &SufficientStatistics, classifier: usize, class: usize) -> bool {
    let spread = -log_sum_exp(&statistics.mean_ln(classifier, class));
    statistics.count(classifier, class) > 1 && spread < CONSTANT
}
