//! From a table of outputs, with labels where they are known, to a model.

use std::borrow::Cow;
use std::sync::Arc;

use super::{FuseOptions, Model, Settings, Statistics, Training};
use crate::data::class_prior::{ClassPrior, PriorChoice};
use crate::data::input_format::{DEFAULT_FLOOR, ValueKind};
use crate::data::outputs::Outputs;
use crate::error::{Error, Result};
use crate::methods::shares::{InsightIntervals, LEVEL, insight_intervals};
use crate::methods::{Fit, Method, MethodConfig, TrainingSet};
use crate::progress::{NoProgress, Progress};
use crate::warning::Warning;

/// Options of a fit that do not depend on the method.
#[derive(Clone)]
pub struct FitOptions<'a> {
    /// The class prior of the model.
    pub class_prior: PriorChoice,
    /// The floor that the outputs were read with. It is kept in the model, so that new data are
    /// read alike.
    pub floor: f64,
    /// The kind of the values that they were read from, kept for the same reason.
    pub values: ValueKind,
    /// Progress reporting and cancellation.
    pub progress: &'a dyn Progress,
}

impl Default for FitOptions<'_> {
    fn default() -> Self {
        Self {
            class_prior: PriorChoice::default(),
            floor: DEFAULT_FLOOR,
            values: ValueKind::default(),
            progress: &NoProgress,
        }
    }
}

impl<'a> FitOptions<'a> {
    /// The same options with progress reporting.
    #[must_use]
    pub fn with_progress(mut self, progress: &'a dyn Progress) -> Self {
        self.progress = progress;
        self
    }
}

impl Model {
    /// Fits a method with default options.
    ///
    /// Items without a label are used by the methods that can; an error names the method if no
    /// item has a label and the method [needs some](MethodConfig::needs_labels).
    ///
    /// # Example
    /// ```
    /// use consilience::{MethodConfig, Model, simulation::Preset};
    ///
    /// let truth = Preset::Sim2.truth(0.5)?;
    /// let model = Model::fit(MethodConfig::default(), &truth.simulate(200, 1)?)?;
    /// let fused = model.fuse(&truth.simulate(1, 2)?)?;
    /// assert_eq!(fused.n_items(), 3);
    /// # Ok::<(), consilience::Error>(())
    /// ```
    pub fn fit(method: impl Into<MethodConfig>, outputs: &Outputs) -> Result<Self> {
        Self::fit_with(method, outputs, &FitOptions::default())
    }

    /// Fits a method with a class prior and progress reporting.
    pub fn fit_with(
        method: impl Into<MethodConfig>,
        outputs: &Outputs,
        options: &FitOptions<'_>,
    ) -> Result<Self> {
        Self::fit_items(method.into(), outputs, options, true)
    }

    /// Fits a method under a class prior for a comparison: without a warning about the prior.
    pub(crate) fn fit_under(
        method: MethodConfig,
        outputs: &Outputs,
        prior: &ClassPrior,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let class_prior = PriorChoice::Given(prior.probabilities().to_vec());
        let options = FitOptions { class_prior, progress, ..FitOptions::default() };
        Self::fit_items(method, outputs, &options, false)
    }

    /// Fits a method to statistics of items. The model is the same, to the last bit, as that of a
    /// fit to the items themselves, however they were divided into parts. An error names the method
    /// if its fit [needs the items](MethodConfig::needs_items).
    pub fn fit_statistics(
        method: impl Into<MethodConfig>,
        statistics: &Statistics,
        options: &FitOptions<'_>,
    ) -> Result<Self> {
        let method = method.into();
        let cannot = if method.needs_items() {
            "cannot be fitted from statistics: it is learned from the items themselves, so fit it \
             to a sample of them"
        } else if options.class_prior == PriorChoice::Estimate {
            "with the class prior `estimate` cannot be fitted from statistics: the prior is \
             estimated from the unlabelled items themselves, so choose `estimate` when fusing"
        } else {
            ""
        };
        if !cannot.is_empty() {
            return Err(Error::unsupported(method.name(), cannot));
        }
        let statistics = match method.classifier() {
            Some(name) => {
                Cow::Owned(statistics.select(&[statistics.schema().require_classifier(name)?])?)
            }
            None => Cow::Borrowed(statistics),
        };
        let unusable = absent(&method, &statistics);
        let (statistics, left_out) = leave_out(statistics, unusable)?;
        let no_items = statistics.no_items()?;
        Self::fit_parts(method, &no_items, &statistics, left_out, options, true)
    }

    fn fit_items(
        method: MethodConfig,
        outputs: &Outputs,
        options: &FitOptions<'_>,
        warns_of_prior: bool,
    ) -> Result<Self> {
        if outputs.is_weighted() && !method.takes_weights() {
            return Err(Error::unsupported(
                method.name(),
                "takes no weights of items: repeat an item that counts more than once",
            ));
        }
        let outputs = select(&method, outputs)?;
        let statistics = Cow::Owned(Statistics::of(&outputs)?);
        let unusable = [absent(&method, &statistics), silent(&method, &outputs)].concat();
        let (statistics, left_out) = leave_out(statistics, unusable)?;
        let outputs = if left_out.is_empty() {
            outputs
        } else {
            Cow::Owned(outputs.select(statistics.schema())?)
        };
        Self::fit_parts(method, &outputs, &statistics, left_out, options, warns_of_prior)
    }

    /// Fits a method to items and their statistics; `outputs` has no items if the method needs none.
    fn fit_parts(
        method: MethodConfig,
        outputs: &Outputs,
        statistics: &Statistics,
        left_out: Vec<Warning>,
        options: &FitOptions<'_>,
        warns_of_prior: bool,
    ) -> Result<Self> {
        let labelled = outputs.labelled();
        let mut training = Training::new(statistics)?;
        training.warnings.extend(left_out);
        check_items(&method, statistics, &options.class_prior)?;
        let classes = outputs.schema().classes();
        let class_prior = training.resolve(&options.class_prior, classes)?;
        if warns_of_prior {
            training.warn_of_prior(&options.class_prior, &class_prior, classes);
        }
        let fit = method.fit_method(&TrainingSet {
            outputs: &labelled,
            all: outputs,
            statistics: &training.statistics,
            decisions: statistics.decisions(),
            class_prior: &class_prior,
            progress: options.progress,
        })?;
        let settings = Settings {
            software: env!("CARGO_PKG_VERSION").into(),
            floor: options.floor,
            values: options.values,
            class_prior: options.class_prior.clone(),
            fit: method,
        };
        let insight_intervals = intervals(&fit, &labelled, &class_prior, options.progress)?;
        let training = Training { insight_intervals, ..training };
        let model = Self::assemble(fit, class_prior, settings, training)?;
        model.with_estimated_prior(outputs, options)
    }

    /// The same model with the class shares of the unlabelled items as class prior, if that was
    /// asked for.
    fn with_estimated_prior(self, outputs: &Outputs, options: &FitOptions<'_>) -> Result<Self> {
        if options.class_prior != PriorChoice::Estimate {
            return Ok(self);
        }
        let class_prior = Some(PriorChoice::Estimate);
        let estimate = FuseOptions { class_prior, predictive: false, progress: options.progress };
        let class_prior = self.prior_for(&outputs.unlabelled(), &estimate)?;
        Ok(Self { class_prior, ..self })
    }

    /// The model that fitting on the old and the new items together would have given, to the
    /// last bit. Only for methods whose fit needs nothing but sufficient statistics.
    pub fn update(&self, outputs: &Outputs, progress: &dyn Progress) -> Result<Self> {
        let (Some(settings), Some(training)) = (&self.settings, &self.training) else {
            return Err(Error::InvalidModel(
                "it has no `settings` or no `training`, so it cannot be updated".into(),
            ));
        };
        if settings.class_prior == PriorChoice::Estimate {
            return Err(Error::Unsupported {
                method: self.method_name(),
                cannot:
                    "with the class prior `estimate` cannot be updated: the prior is estimated \
                         from all unlabelled items at once, so fit again on old and new items \
                         together"
                        .into(),
            });
        }
        let outputs = outputs.select(&self.schema)?;
        let labelled = outputs.labelled();
        let mut training = training.clone();
        let new = Statistics::of(&outputs)?;
        training.add(&new)?;
        let classes = self.schema.classes();
        let class_prior = training.resolve(&settings.class_prior, classes)?;
        training.warn_of_prior(&settings.class_prior, &class_prior, classes);
        let data = TrainingSet {
            outputs: &labelled,
            all: &outputs,
            statistics: &training.statistics,
            decisions: new.decisions(),
            class_prior: &class_prior,
            progress,
        };
        let Some(fit) = settings.fit.update_method(&self.method, &data) else {
            return Err(Error::unsupported(
                self.method_name(),
                "cannot be updated: it is learned from all items at once, so fit it again \
                         on old and new items together",
            ));
        };
        Self::assemble(fit?, class_prior, settings.clone(), training)
    }

    fn assemble(
        fit: Fit<Method>,
        class_prior: ClassPrior,
        settings: Settings,
        training: Training,
    ) -> Result<Self> {
        let report = fit.report;
        let training = Training {
            warnings: [training.warnings, report.warnings].concat(),
            evidence_covariance: report.evidence_covariance,
            observed_correlations: report.observed_correlations,
            ..training
        };
        Ok(Self {
            settings: Some(settings),
            training: Some(training),
            posterior: report.posterior,
            pair_posteriors: report.pair_posteriors,
            shared_posterior: report.shared_posterior,
            draws: report.draws,
            ..Self::new(fit.fitted, class_prior)?
        })
    }
}

/// Refuses items that a method or the choice of its class prior cannot use.
fn check_items(method: &MethodConfig, statistics: &Statistics, prior: &PriorChoice) -> Result<()> {
    let counts = statistics.class_counts();
    if counts.iter().all(|n| *n == 0) && method.needs_labels() {
        return Err(Error::NeedsLabels {
            method: method.name(),
            n_items: usize::try_from(statistics.n_items()).unwrap_or(usize::MAX),
            others: MethodConfig::without_labels(),
        });
    }
    if let Some(j) = counts.iter().position(|n| *n == 0).filter(|_| method.needs_every_class()) {
        return Err(Error::EmptyClass { class: statistics.schema().classes()[j].clone() });
    }
    if *prior == PriorChoice::Estimate && statistics.n_unlabelled() == 0 {
        let requirement = "empirical, uniform or given if every training item has a label \
                           (`estimate` is the class prior of unlabelled items; it can also be \
                           chosen when fusing)";
        return Err(Error::parameter("class prior", requirement, "estimate"));
    }
    Ok(())
}

/// Intervals of shares and correlations of evidence; none if the fit has no covariance of evidence.
fn intervals(
    fit: &Fit<Method>,
    labelled: &Outputs,
    prior: &ClassPrior,
    progress: &dyn Progress,
) -> Result<Option<InsightIntervals>> {
    let fitted = fit.fitted.fitted();
    let covariance = fitted.evidence_covariance().or(fit.report.evidence_covariance.as_ref());
    let (Some(covariance), Some(margins)) = (covariance, fitted.margins()?) else {
        return Ok(None);
    };
    let prior = fitted.is_made_of_dirichlets().then_some(prior);
    insight_intervals(LEVEL, labelled, covariance, margins.alpha(), prior, progress)
}

/// The outputs that a method uses: those of a single classifier for a method of one.
fn select<'a>(method: &MethodConfig, outputs: &'a Outputs) -> Result<Cow<'a, Outputs>> {
    let Some(name) = method.classifier() else { return Ok(Cow::Borrowed(outputs)) };
    let index = outputs.schema().require_classifier(name)?;
    outputs.select(&Arc::new(outputs.schema().only(index))).map(Cow::Owned)
}

/// The classifiers that the method cannot use because they are missing for all items of a class, each
/// with a warning.
fn absent(method: &MethodConfig, statistics: &Statistics) -> Vec<(usize, Warning)> {
    if !method.needs_every_output() {
        return Vec::new();
    }
    let schema = statistics.schema();
    let warning = |(k, j): (usize, usize)| {
        let (classifier, class) = (&schema.classifiers()[k], &schema.classes()[j]);
        let text = format!(
            "classifier `{classifier}` is missing for every training item of class `{class}`, so it \
             is left out"
        );
        (k, Warning::data(text))
    };
    statistics.labelled().absent_classifiers().map(warning).collect()
}

/// The classifiers that the method cannot use because they have no output at all, each with a warning.
fn silent(method: &MethodConfig, outputs: &Outputs) -> Vec<(usize, Warning)> {
    if method.needs_every_output() || !method.needs_some_output() {
        return Vec::new();
    }
    let items = outputs.all();
    let has_output = |k: usize| (0..items.len()).any(|item| items.output(item, k).is_some());
    let named = outputs.schema().classifiers().iter().enumerate();
    named
        .filter(|(k, _)| !has_output(*k))
        .map(|(k, classifier)| {
            let text = format!(
                "classifier `{classifier}` has no output for any training item, so it is left out"
            );
            (k, Warning::data(text))
        })
        .collect()
}

/// The statistics without classifiers that cannot be used, and the warnings about them. If all are such,
/// all stay, and the fit reports the error.
fn leave_out(
    statistics: Cow<'_, Statistics>,
    unusable: Vec<(usize, Warning)>,
) -> Result<(Cow<'_, Statistics>, Vec<Warning>)> {
    let n_classifiers = statistics.schema().n_classifiers();
    if unusable.is_empty() || unusable.len() == n_classifiers {
        return Ok((statistics, Vec::new()));
    }
    let is_kept = |k: &usize| unusable.iter().all(|(other, _)| other != k);
    let kept: Vec<usize> = (0..n_classifiers).filter(is_kept).collect();
    let warnings = unusable.into_iter().map(|(_, warning)| warning).collect();
    Ok((Cow::Owned(statistics.select(&kept)?), warnings))
}
