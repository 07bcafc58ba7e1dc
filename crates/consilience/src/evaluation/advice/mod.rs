//! Advice for the owner of a table: which items to label next, and which sources to drop.

mod display;
mod labels;
mod sources;

use serde::Serialize;

pub use labels::{ItemToLabel, LabelAdvice, advise_labels};
pub use sources::{
    Dropped, SourceAdvice, SourceDecision, SourceSettings, SourceWorth, advise_sources,
};

use crate::data::class_prior::ClassPrior;
use crate::data::outputs::Outputs;
use crate::error::{Error, Result};
use crate::methods::Fusion;
use crate::model::Model;
use crate::progress::{NoProgress, Progress};

/// Options of [`advise`].
#[derive(Debug, Clone, PartialEq)]
pub struct AdviceSettings {
    /// Number of items to name for labelling; 10 by default.
    pub labels: usize,
    /// How the worth of sources is estimated; none if it is not wanted.
    pub sources: Option<SourceSettings>,
}

impl Default for AdviceSettings {
    fn default() -> Self {
        Self { labels: 10, sources: Some(SourceSettings::default()) }
    }
}

/// Which items to label next, and which sources to drop. [`Display`](std::fmt::Display) prints it
/// for a person.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Advice {
    /// The items to label next.
    pub labels: LabelAdvice,
    /// The worth of every source; none if it was not wanted or cannot be estimated.
    pub sources: Option<SourceAdvice>,
    /// The reason why the worth of the sources cannot be estimated.
    pub sources_unknown: Option<String>,
}

impl Model {
    /// Gives advice from a table of which some items have labels, usually the one that the model was
    /// fitted to; [`advise`] has options.
    ///
    /// # Example
    /// ```
    /// use consilience::{Auto, simulation::Preset};
    ///
    /// let outputs = Preset::Sim2.truth(0.0)?.simulate(30, 1)?;
    /// let advice = Auto::default().fit(&outputs)?.advise(&outputs)?;
    /// assert!(advice.labels.next.is_empty()); // every item has a label
    /// assert_eq!(advice.sources.unwrap().sources.len(), 2);
    /// # Ok::<(), consilience::Error>(())
    /// ```
    pub fn advise(&self, outputs: &Outputs) -> Result<Advice> {
        let settings = AdviceSettings::default();
        advise(self, self.fusion(), outputs, self.class_prior(), &settings, &NoProgress)
    }
}

/// Gives advice from a table of which some items have labels. Too few labels for the worth of the
/// sources are a part of the result, not an error. [`Model::advise`] does so with default options.
pub fn advise(
    model: &Model,
    fusion: &dyn Fusion,
    outputs: &Outputs,
    prior: &ClassPrior,
    settings: &AdviceSettings,
    progress: &dyn Progress,
) -> Result<Advice> {
    let labels = advise_labels(fusion, outputs, prior, settings.labels, progress)?;
    let (sources, sources_unknown) = match &settings.sources {
        None => (None, None),
        Some(settings) => match advise_sources(model, outputs, settings, progress) {
            Ok(sources) => (Some(sources), None),
            Err(error) if is_lack(&error) => (None, Some(error.to_string())),
            Err(error) => return Err(error),
        },
    };
    Ok(Advice { labels, sources, sources_unknown })
}

/// Whether an error means that data or model do not suffice, rather than that a setting is wrong.
fn is_lack(error: &Error) -> bool {
    matches!(
        error,
        Error::NoLabels { .. }
            | Error::EmptyClass { .. }
            | Error::TooFewItems { .. }
            | Error::Unsupported { .. }
            | Error::InvalidModel(_)
    )
}
