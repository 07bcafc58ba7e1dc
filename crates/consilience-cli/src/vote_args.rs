//! The options of `consilience aggregate`.

use std::path::PathBuf;

use clap::Args;
use consilience::votes::VoteConfig;
use consilience_io::{Format, Layout, Location, VoteReadOptions};
use serde_json::Value;

use crate::args::TableOutput;
use crate::error::Failure;

#[derive(Debug, Args)]
#[command(after_help = help())]
pub(crate) struct AggregateOptions {
    /// Table of votes: columns item, source, label (or task, worker, label), optionally probability and
    /// gold; `-` is standard input.
    pub(crate) votes: Location,
    #[command(flatten)]
    pub(crate) table: TableOutput,
    /// Known true labels: columns item, label.
    #[arg(long, value_name = "FILE")]
    pub(crate) gold: Option<Location>,
    /// Write the table of sources: votes, accuracy with 90 % interval, strength, bias, worst class,
    /// confusion matrix.
    #[arg(long, value_name = "FILE")]
    pub(crate) sources: Option<Location>,
    /// Write what was learned about the sources; `fuse` labels new votes with it.
    #[arg(long, value_name = "FILE")]
    pub(crate) model: Option<Location>,
    /// Score the result on these true labels (columns item, label), which the fit does not use,
    /// beside majority and Dawid–Skene.
    #[arg(long, value_name = "FILE")]
    pub(crate) held_out: Option<Location>,
    /// Also score these methods, on `--held-out` labels or by cross-validation of gold labels.
    #[arg(long, value_name = "A,B,...", value_delimiter = ',')]
    pub(crate) compare: Vec<VoteConfig>,
    /// Draw the accuracies of sources and, with gold or held-out labels, reliability diagrams.
    #[arg(long, value_name = "DIR")]
    pub(crate) plots: Option<PathBuf>,
    /// Also write an HTML report about sources, class shares and items, to send to others.
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<Location>,
    #[command(flatten)]
    pub(crate) method: VoteMethodOptions,
    #[command(flatten)]
    pub(crate) reading: VoteReading,
}

const METHOD: &str = "Method";

/// The method and its options.
#[derive(Debug, Args)]
pub(crate) struct VoteMethodOptions {
    /// Method; the list is below.
    #[arg(long, help_heading = METHOD, default_value = "auto", value_name = "METHOD")]
    pub(crate) method: VoteConfig,
    /// Correlation of sources, from 0 (independent) [default: averaged over its distribution].
    /// Option of auto.
    #[arg(long, help_heading = METHOD, value_name = "R", allow_negative_numbers = true)]
    rho: Option<f64>,
    /// Folds of the gold items [default: 5]. Option of auto and dbcc.
    #[arg(long, help_heading = METHOD, value_name = "N")]
    folds: Option<usize>,
    /// How the posterior is computed: cvb, vb or gibbs [default: cvb]. Option of ibcc.
    #[arg(long, help_heading = METHOD, value_name = "WAY")]
    inference: Option<String>,
    /// Markov chains of gibbs [default: 4].
    #[arg(long, help_heading = METHOD, value_name = "N")]
    chains: Option<usize>,
    /// Draws per chain of gibbs [default: 300].
    #[arg(long, help_heading = METHOD, value_name = "N")]
    draws: Option<usize>,
    /// Draws of gibbs that are discarded at the start of each chain [default: 100].
    #[arg(long, help_heading = METHOD, value_name = "N")]
    warmup: Option<usize>,
    /// Subtypes per class [default: 10]. Option of ebcc.
    #[arg(long, help_heading = METHOD, value_name = "N")]
    subtypes: Option<usize>,
    /// Random starts [default: 5]. Option of ebcc.
    #[arg(long, help_heading = METHOD, value_name = "N")]
    restarts: Option<usize>,
}

impl VoteMethodOptions {
    /// The method with its options. An option that the method does not have is an error.
    pub(crate) fn config(&self, seed: u64) -> Result<VoteConfig, Failure> {
        let given: [(&str, Option<Value>); 8] = [
            ("rho", self.rho.map(Value::from)),
            ("folds", self.folds.map(Value::from)),
            ("inference", self.inference.clone().map(Value::from)),
            ("chains", self.chains.map(Value::from)),
            ("draws", self.draws.map(Value::from)),
            ("warmup", self.warmup.map(Value::from)),
            ("subtypes", self.subtypes.map(Value::from)),
            ("restarts", self.restarts.map(Value::from)),
        ];
        let mut config = self.method.clone();
        for (name, value) in given.into_iter().filter_map(|(name, value)| Some((name, value?))) {
            config = config.with_option(name, value).map_err(|error| match error {
                consilience::Error::UnknownOption { method, .. } => Failure::Message {
                    message: format!("`--{name}` has no effect on `--method {method}`"),
                    hint: Some("leave the option out, or choose another method"),
                },
                other => other.into(),
            })?;
        }
        Ok(config.with_seed(seed))
    }
}

const READING: &str = "Reading";

/// How votes are read.
#[derive(Debug, Args)]
pub(crate) struct VoteReading {
    /// Layout of the table: `long` (one row per vote) or `wide-labels` (one row per item and one
    /// column of labels per source).
    #[arg(long, help_heading = READING, default_value = "long", value_name = "LAYOUT")]
    layout: Layout,
    /// Format of the table: csv, parquet, arrow or jsonl [default: by extension; csv for `-`].
    #[arg(long, help_heading = READING, value_name = "FORMAT")]
    input_format: Option<Format>,
    /// Names of the classes, in order [default: all labels, sorted].
    #[arg(long, help_heading = READING, value_delimiter = ',', value_name = "A,B,...")]
    classes: Option<Vec<String>>,
}

impl VoteReading {
    pub(crate) fn options(&self) -> VoteReadOptions {
        VoteReadOptions {
            format: self.input_format,
            layout: self.layout,
            classes: self.classes.clone(),
            ignores_gold: false,
        }
    }
}

const VOTES: &str = "Votes";

/// The options of `compare` with votes.
#[derive(Debug, Args)]
pub(crate) struct VoteComparisonOptions {
    /// The table has votes, as in `aggregate`; the methods are those of `aggregate --method`.
    #[arg(long, help_heading = VOTES, conflicts_with_all = [
        "protocol", "repeats", "splits", "test_share", "class_prior", "score_items", "inference",
        "split_csv", "values", "floor", "sum_tolerance",
    ])]
    pub(crate) votes: bool,
    /// Known true labels (columns item, label). Methods are scored on them in folds, unless
    /// `--held-out` is given.
    #[arg(long, help_heading = VOTES, value_name = "FILE", requires = "votes")]
    pub(crate) gold: Option<Location>,
    /// True labels (columns item, label) that no fit uses and on which methods are scored.
    #[arg(long, help_heading = VOTES, value_name = "FILE", requires = "votes")]
    pub(crate) held_out: Option<Location>,
}

/// The examples and the list of methods.
fn help() -> String {
    let mut text = String::from(
        "Writes for every item: label, p_<class> for every class, votes, effective_votes.\n\nExamples:\n  \
         consilience aggregate votes.csv -o labels.csv\n  \
         consilience aggregate votes.csv --gold gold.csv -o labels.csv --sources sources.csv\n  \
         consilience aggregate votes.csv --model model.json -o labels.csv\n  \
         consilience fuse model.json new-votes.csv -o new-labels.csv\n  \
         consilience aggregate votes.csv --gold gold.csv --compare auto,ibcc,ebcc -o labels.csv\n\nMethods:\n",
    );
    for (name, summary) in VoteConfig::METHODS {
        text += &format!("  {name:<12} {summary}\n");
    }
    text
}
