//! Options of a report.

use consilience::{NoProgress, PriorChoice, Progress};

/// Options of a report.
#[derive(Clone)]
pub struct ReportOptions<'a> {
    /// Title of the page; by default the method and the numbers of sources and classes.
    pub title: Option<String>,
    /// Name of the data, such as the file.
    pub data: Option<String>,
    /// The class prior, if not the model's own.
    pub class_prior: Option<PriorChoice>,
    /// Whether to average over the posterior draws kept in the model.
    pub predictive: bool,
    /// Items shown in every list.
    pub cases: usize,
    /// Seed of bootstrap, consistency bands and sample.
    pub seed: u64,
    /// Progress reporting and cancellation.
    pub progress: &'a dyn Progress,
}

impl Default for ReportOptions<'_> {
    fn default() -> Self {
        Self {
            title: None,
            data: None,
            class_prior: None,
            predictive: false,
            cases: 8,
            seed: 0,
            progress: &NoProgress,
        }
    }
}
