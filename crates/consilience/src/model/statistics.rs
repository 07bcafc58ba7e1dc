//! Statistics of training items that can be computed in parts and merged.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Unlabelled;
use crate::data::input_format::{Doubts, InputFormat};
use crate::data::outputs::{LARGEST_TOTAL, Outputs, OutputsBuilder};
use crate::data::schema::Schema;
use crate::error::{Error, Result, quoted};
use crate::methods::bcc::Decisions;
use crate::methods::independent::SufficientStatistics;

/// The value of `format` in JSON.
const FORMAT: &str = "consilience-statistics";

/// The version written, and the only one read.
const VERSION: u32 = 1;

/// Most items that can be counted.
const MOST_ITEMS: u64 = 1 << 53;

/// Everything that the methods whose fit [needs no items](crate::MethodConfig::needs_items) use of
/// their training items.
///
/// Parts of the items can be added on different machines and [merged](Self::merge). All sums are
/// exact, so the result does not depend on the order or partition of the items, and
/// [`Model::fit_statistics`](crate::Model::fit_statistics) gives the same model as a fit to all
/// items at once, to the last bit. A part may lack classes, classifiers or all items.
///
/// # Example
/// ```
/// use consilience::{FitOptions, Independent, Model, model::Statistics, simulation::Preset};
///
/// let items = Preset::Sim1.truth(0.0)?.simulate(50, 1)?;
/// let (left, right): (Vec<usize>, Vec<usize>) = (0..150).partition(|item| *item < 60);
/// let mut statistics = Statistics::of(&items.select_items(&left))?;
/// statistics.merge(&Statistics::of(&items.select_items(&right))?)?;
/// let method = Independent::default();
/// let merged = Model::fit_statistics(method.clone(), &statistics, &FitOptions::default())?;
/// assert_eq!(merged, method.fit(&items)?);
/// # Ok::<(), consilience::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Statistics {
    schema: Arc<Schema>,
    labelled: SufficientStatistics,
    decisions: Decisions,
    unlabelled: Unlabelled,
    /// Values raised to the floor, per classifier.
    raised: Vec<u64>,
    doubts: Doubts,
}

impl Statistics {
    /// Of no items.
    pub fn new(schema: Arc<Schema>) -> Self {
        Self {
            labelled: SufficientStatistics::empty(&schema),
            decisions: Decisions::empty(&schema),
            unlabelled: Unlabelled::default(),
            raised: vec![0; schema.n_classifiers()],
            doubts: Doubts::default(),
            schema,
        }
    }

    /// Of the items of a table.
    pub fn of(outputs: &Outputs) -> Result<Self> {
        let mut statistics = Self::new(Arc::clone(outputs.schema()));
        statistics.add_items(outputs)?;
        Ok(statistics)
    }

    /// Adds the items of a table, labelled or not; all or none.
    pub fn add(&mut self, outputs: &Outputs) -> Result<()> {
        self.merge(&Self::of(outputs)?)
    }

    fn add_items(&mut self, outputs: &Outputs) -> Result<()> {
        if outputs.n_labelled() > 0 {
            self.labelled.add(&outputs.labelled())?;
        }
        self.decisions.add(outputs);
        self.unlabelled.add(outputs);
        self.raised = outputs.n_raised_per_classifier();
        self.doubts = outputs.doubts();
        Ok(())
    }

    /// Adds the statistics of other items with the same classifiers and classes; all or none.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        let names = |schema: &Schema| {
            format!("{} and {}", quoted(schema.classifiers()), quoted(schema.classes()))
        };
        if self.schema != other.schema {
            return Err(Error::mismatch(
                "classifiers and classes of two statistics",
                names(&self.schema),
                names(&other.schema),
            ));
        }
        if self.n_items() + other.n_items() >= MOST_ITEMS {
            return Err(Error::parameter("the number of items", "below 2^53", "more"));
        }
        let weight = self.weight() + other.weight();
        if weight > LARGEST_TOTAL {
            return Err(Error::parameter("the sum of all weights", "at most 1e15", weight));
        }
        self.labelled.merge(&other.labelled)?;
        self.decisions.merge(&other.decisions);
        self.unlabelled.merge(&other.unlabelled);
        self.raised.iter_mut().zip(&other.raised).for_each(|(sum, n)| *sum += n);
        self.doubts.merge(&other.doubts);
        Ok(())
    }

    /// Classifiers and classes.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// Number of items.
    pub fn n_items(&self) -> u64 {
        self.class_counts().iter().sum::<u64>() + self.unlabelled.n_items()
    }

    /// Number of items without a label.
    pub fn n_unlabelled(&self) -> u64 {
        self.unlabelled.n_items()
    }

    /// Labelled items of every class.
    pub fn class_counts(&self) -> &[u64] {
        self.labelled.class_counts()
    }

    /// The statistics of the labelled items.
    pub fn labelled(&self) -> &SufficientStatistics {
        &self.labelled
    }

    pub(super) fn decisions(&self) -> &Decisions {
        &self.decisions
    }

    pub(super) fn unlabelled(&self) -> &Unlabelled {
        &self.unlabelled
    }

    pub(super) fn n_raised(&self) -> u64 {
        self.raised.iter().sum()
    }

    pub(super) fn doubts(&self) -> Doubts {
        self.doubts
    }

    /// The statistics of some classifiers. The mean outputs of unlabelled items stay those of all.
    pub(super) fn select(&self, classifiers: &[usize]) -> Result<Self> {
        let names = classifiers.iter().map(|k| self.schema.classifiers()[*k].clone());
        Ok(Self {
            schema: Arc::new(Schema::new(names, self.schema.classes().to_vec())?),
            labelled: self.labelled.select(classifiers),
            decisions: self.decisions.select(classifiers),
            unlabelled: self.unlabelled.clone(),
            raised: classifiers.iter().map(|k| self.raised[*k]).collect(),
            doubts: self.doubts,
        })
    }

    /// A table with the same names and without items.
    pub(super) fn no_items(&self) -> Result<Outputs> {
        let builder = OutputsBuilder::new(Arc::clone(&self.schema), InputFormat::default())?;
        Ok(builder.finish())
    }

    fn weight(&self) -> f64 {
        self.labelled.class_weights().iter().sum::<f64>() + self.unlabelled.weight()
    }

    /// The statistics as JSON, from which [`from_json`](Self::from_json) makes the same.
    #[allow(clippy::missing_panics_doc)] // plain data structures always make JSON
    pub fn to_json(&self) -> String {
        let file = StatisticsFile {
            format: FORMAT.into(),
            version: VERSION,
            classifiers: self.schema.classifiers().to_vec(),
            classes: self.schema.classes().to_vec(),
            labelled: self.labelled.clone(),
            decisions: self.decisions.clone(),
            unlabelled: self.unlabelled.clone(),
            raised: self.raised.clone(),
            doubts: self.doubts,
        };
        serde_json::to_string(&file).expect("statistics are plain JSON values")
    }

    /// Reads statistics from JSON.
    pub fn from_json(text: &str) -> Result<Self> {
        let invalid = |error: String| Error::InvalidStatistics(error);
        let file: StatisticsFile =
            serde_json::from_str(text).map_err(|error| invalid(error.to_string()))?;
        if file.format != FORMAT || file.version != VERSION {
            let (format, version) = (&file.format, file.version);
            return Err(invalid(format!(
                "`format` and `version` must be `{FORMAT}` and {VERSION}, got `{format}` and {version}"
            )));
        }
        let statistics = Self {
            schema: Arc::new(Schema::new(file.classifiers, file.classes)?),
            labelled: file.labelled,
            decisions: file.decisions,
            unlabelled: file.unlabelled,
            raised: file.raised,
            doubts: file.doubts,
        };
        if !statistics.is_consistent() {
            return Err(invalid("its parts do not fit the classifiers and classes".into()));
        }
        Ok(statistics)
    }

    fn is_consistent(&self) -> bool {
        let (k, j) = (self.schema.n_classifiers(), self.schema.n_classes());
        self.labelled.n_classifiers() == k
            && self.labelled.class_counts().len() == j
            && self.decisions.fits(&self.schema)
            && self.unlabelled.fits(j)
            && self.raised.len() == k
            && self.raised.iter().all(|n| *n < MOST_ITEMS)
            && self.weight() <= LARGEST_TOTAL
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StatisticsFile {
    format: String,
    version: u32,
    classifiers: Vec<String>,
    classes: Vec<String>,
    labelled: SufficientStatistics,
    decisions: Decisions,
    #[serde(default, skip_serializing_if = "Unlabelled::is_empty")]
    unlabelled: Unlabelled,
    raised: Vec<u64>,
    #[serde(default)]
    doubts: Doubts,
}
