//! Everything that the page shows.

use std::borrow::Cow;

use consilience::evaluation::{Prevalence, PrevalenceTarget, ShareSums, Weighting};
use consilience::methods::{Fused, Fusion, fuse_into};
use consilience::{ClassPrior, Error, FuseOptions, Model, Outputs, Result};
use serde::Serialize;

use crate::agreement::Agreement;
use crate::cases::{self, Case};
use crate::contributions::{self, Contribution};
use crate::labelled::Labelled;
use crate::options::ReportOptions;
use crate::redundancy::{self, Redundancy};
use crate::sample::Sample;
use crate::text;
use crate::votes::VoteReport;

/// Everything that the page shows. `to_json` is the JSON that the page contains.
///
/// Numbers that do not exist, such as the precision of a class that is never predicted, are NaN and
/// become null in JSON.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// `consilience-report`.
    pub format: &'static str,
    /// Version of the format.
    pub version: u32,
    /// Version of the software.
    pub software: &'static str,
    /// What the report is about.
    pub kind: Kind,
    /// Title of the page.
    pub title: String,
    /// Model and data.
    pub subject: Subject,
    /// The result in one sentence.
    pub verdict: String,
    /// What a reader should know before reading on.
    pub notes: Vec<Note>,
    /// Scores and reliability, if some items have a label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labelled: Option<Labelled>,
    /// Which sources carry the same evidence, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redundancy: Option<Redundancy>,
    /// What every source contributes, in the order of the sources; empty for votes.
    pub contributions: Vec<Contribution>,
    /// How often sources name the same class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agreement: Option<Agreement>,
    /// The share of every class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shares: Option<Prevalence>,
    /// The items on which the sources disagree most, the most extreme first.
    pub disagreeing: Vec<Case>,
    /// The items whose fused probabilities are most surprising: of labelled items, those whose true
    /// class has the smallest fused probability; of others, those that differ most from the average
    /// output.
    pub surprising: Vec<Case>,
    /// Fused probabilities of a sample of the items, for trying other class priors and costs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample: Option<Sample>,
    /// Sources, class shares and items of aggregated votes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub votes: Option<VoteReport>,
}

/// What a report is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Outputs of sources for items of which some have a label.
    Labelled,
    /// Outputs of sources for items without labels.
    Unlabelled,
    /// Votes.
    Votes,
}

/// Model and data of a report.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Subject {
    /// The method, such as `auto`.
    pub method: String,
    /// Name of the data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// Names of the sources; empty for votes, which have a table of their own.
    pub sources: Vec<String>,
    /// Names of the classes.
    pub classes: Vec<String>,
    /// The class prior; empty for votes.
    pub class_prior: Vec<f64>,
    /// Number of items.
    pub n_items: u64,
    /// Number of items with a label.
    pub n_labelled: u64,
    /// Number of missing outputs.
    pub n_missing: u64,
    /// Number of labelled items that the model was fitted to, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub n_trained: Option<u64>,
    /// Whether these labelled items are those that the model was fitted to.
    pub is_training: bool,
}

/// A note to the reader.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Note {
    /// Whether the note limits what may be concluded.
    pub warning: bool,
    /// The note.
    pub text: String,
}

impl Note {
    pub(crate) fn warning(text: impl Into<String>) -> Self {
        Self { warning: true, text: text.into() }
    }

    pub(crate) fn info(text: impl Into<String>) -> Self {
        Self { warning: false, text: text.into() }
    }
}

/// What all parts of a report are computed from.
pub(crate) struct Study<'a> {
    pub(crate) model: &'a Model,
    pub(crate) fusion: &'a dyn Fusion,
    pub(crate) prior: &'a ClassPrior,
    pub(crate) weighting: Weighting,
    pub(crate) outputs: &'a Outputs,
    pub(crate) fused: &'a Fused,
    /// Whether the labelled items are those of the fit.
    pub(crate) is_training: bool,
    pub(crate) options: &'a ReportOptions<'a>,
}

impl Study<'_> {
    pub(crate) fn sources(&self) -> &[String] {
        self.outputs.schema().classifiers()
    }

    pub(crate) fn classes(&self) -> &[String] {
        self.outputs.schema().classes()
    }

    pub(crate) fn n_items(&self) -> usize {
        self.outputs.n_items()
    }
}

impl Report {
    /// The report on a model and items, some, all or none of which have a label.
    ///
    /// Classifiers may come in another order, and there may be more than the model has.
    pub fn of(model: &Model, data: &Outputs, options: &ReportOptions<'_>) -> Result<Self> {
        if data.n_items() == 0 {
            return Err(Error::NoItems);
        }
        let outputs = if data.schema() == model.schema() {
            Cow::Borrowed(data)
        } else {
            Cow::Owned(data.select(model.schema())?)
        };
        let fusing = FuseOptions {
            class_prior: options.class_prior.clone(),
            predictive: options.predictive,
            progress: options.progress,
        };
        let prior = model.prior_for(&outputs, &fusing)?;
        let rule = model.rule(options.predictive)?;
        let mut fused = Fused::default();
        fuse_into(rule.fusion(), &outputs, &prior, &mut fused, options.progress)?;
        let choice = options.class_prior.as_ref().or_else(|| model.chosen_prior());
        let study = Study {
            model,
            fusion: rule.fusion(),
            prior: &prior,
            weighting: Weighting::ClassPrior.under(choice),
            outputs: &outputs,
            fused: &fused,
            is_training: model.is_fitted_on(&outputs)?,
            options,
        };
        Self::of_study(&study)
    }

    fn of_study(study: &Study<'_>) -> Result<Self> {
        let insight = redundancy::of(study)?;
        let labelled = Labelled::of(study, insight.as_ref().map(|own| &own.covariance))?;
        let agreement = Agreement::of(study);
        let chosen = cases::choose(study);
        let (contributions, evidence) = contributions::of(study, &chosen, insight.as_ref())?;
        let mut sums = ShareSums::new(study.classes().len());
        sums.add_fused(study.outputs, study.fused);
        let shares = sums.prevalence(study.model, PrevalenceTarget::Population)?;
        let redundancy = insight.map(|own| own.redundancy);
        let verdict = match &labelled {
            Some(_) if study.is_training => text::ON_TRAINING_ITEMS.to_owned(),
            Some(labelled) => text::labelled_verdict(&labelled.gain),
            None => text::unlabelled_verdict(study, &agreement, redundancy.as_ref()),
        };
        Ok(Self {
            format: FORMAT,
            version: VERSION,
            software: env!("CARGO_PKG_VERSION"),
            kind: if labelled.is_some() { Kind::Labelled } else { Kind::Unlabelled },
            title: study.options.title.clone().unwrap_or_else(|| text::title(study)),
            subject: Subject::of(study),
            verdict,
            notes: text::notes(study, labelled.as_ref()),
            labelled,
            redundancy,
            contributions,
            agreement: Some(agreement),
            shares: Some(shares),
            disagreeing: cases::disagreeing(study, &chosen, &evidence),
            surprising: cases::surprising(study, &chosen, &evidence),
            sample: Some(Sample::of(study)?),
            votes: None,
        })
    }

    /// The JSON that the page contains.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// The page: one HTML file that loads nothing.
    pub fn html(&self) -> String {
        crate::page::html(self)
    }
}

pub(crate) const FORMAT: &str = "consilience-report";
pub(crate) const VERSION: u32 = 1;

impl Subject {
    fn of(study: &Study<'_>) -> Self {
        let items = study.outputs.all();
        let n = study.n_items();
        let present: usize = if items.any_missing() {
            (0..n).map(|item| items.present(item).count()).sum()
        } else {
            n * items.n_classifiers()
        };
        Self {
            method: study.model.method_name(),
            data: study.options.data.clone(),
            sources: study.sources().to_vec(),
            classes: study.classes().to_vec(),
            class_prior: study.prior.probabilities().to_vec(),
            n_items: n as u64,
            n_labelled: study.outputs.n_labelled() as u64,
            n_missing: (n * items.n_classifiers() - present) as u64,
            n_trained: study.model.training().map(consilience::model::Training::n_labelled),
            is_training: study.is_training,
        }
    }
}
