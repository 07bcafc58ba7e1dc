//! The command line: one definition for parsing, help, completions and the man page.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use consilience::simulation::Preset;
use consilience::{DEFAULT_SUM_TOLERANCE, MethodConfig, PriorChoice, ValueKind};
use consilience_io::{Format, Layout, Location};

use crate::advise_args::AdviseOptions;
use crate::error::Failure;
use crate::method_options::MethodOptions;
use crate::output::Messages;
use crate::report_args::ReportOptions;
use crate::vote_args::{AggregateOptions, VoteComparisonOptions};

/// Combine the probability outputs of several classifiers into one calibrated probability.
#[derive(Debug, Parser)]
#[command(
    name = "consilience",
    version,
    propagate_version = true,
    max_term_width = 100,
    after_help = "Examples:\n  \
        consilience demo\n  \
        consilience fit train.csv -o model.json\n  \
        consilience fuse model.json new.csv -o fused.csv\n  \
        consilience evaluate model.json test.csv\n  \
        consilience report model.json test.csv -o report.html\n  \
        consilience compare labelled.csv\n  \
        consilience aggregate votes.csv -o labels.csv\n\n\
        Exit codes: 0 success, 1 bad data, settings or files, 2 wrong usage or an internal error,\n\
        130 interrupted."
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) common: CommonOptions,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The heading of the options of every command.
const COMMON: &str = "Common options";

/// Options of every command.
#[derive(Debug, Args)]
pub(crate) struct CommonOptions {
    /// Seed of all random numbers; the same seed gives the same result at any number of threads.
    /// [default: 0]
    #[arg(long, global = true, help_heading = COMMON, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Threads to use [default: all].
    #[arg(long, global = true, help_heading = COMMON, value_name = "N", value_parser = number_of_threads)]
    pub(crate) threads: Option<usize>,
    /// Form of reports on standard output.
    #[arg(long, global = true, help_heading = COMMON, value_enum, default_value_t = ReportFormat::Table)]
    pub(crate) format: ReportFormat,
    /// Print nothing but warnings and errors on standard error.
    #[arg(long, short, global = true, help_heading = COMMON)]
    pub(crate) quiet: bool,
}

impl CommonOptions {
    /// The seed of all random numbers.
    pub(crate) fn seed(&self) -> u64 {
        self.seed.unwrap_or(0)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// Tables for people.
    Table,
    /// JSON for programs; later versions may add fields but remove none.
    Json,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the whole job on embedded data: fit, fuse, compare, report.
    Demo(DemoOptions),
    /// Learn a model from labelled outputs.
    Fit(Box<FitOptions>),
    /// Fuse the outputs of new items.
    Fuse(FuseOptions),
    /// Compute how well each class explains the outputs of each item.
    Density(DensityOptions),
    /// Score a model on labelled outputs, beside every single classifier.
    Evaluate(EvaluateOptions),
    /// Compare methods on your own labelled outputs by cross-validation.
    Compare(Box<CompareOptions>),
    /// Label items from the votes of many sources, with or without gold labels.
    Aggregate(Box<AggregateOptions>),
    /// Estimate the share of every class among items, with 95 % intervals.
    Prevalence(PrevalenceOptions),
    /// Name the items to label next and the sources to drop.
    Advise(AdviseOptions),
    /// Write an HTML report about a model and its sources, to send to others.
    Report(ReportOptions),
    /// Show the parameters of a model and what they mean.
    Inspect(InspectOptions),
    /// Write a model as ONNX or as Python code without dependencies.
    Export(crate::export_args::ExportOptions),
    /// Simulate outputs from a known model.
    Simulate(SimulateOptions),
    /// Write a completion script for a shell to standard output.
    Completions {
        /// Which shell.
        shell: Shell,
    },
    /// Write a manual page to standard output.
    Man {
        /// The command to describe; the whole program if none is named.
        command: Option<String>,
    },
}

/// The heading of the options of reading. Every option names it: a heading set for the struct would
/// also apply to the options after it.
const READING: &str = "Reading";

/// How a table is read.
#[derive(Debug, Args)]
pub(crate) struct DataOptions {
    /// Layout of the table: `wide` (one column `<classifier>_<class>` per classifier and class) or
    /// `long` (columns item, classifier, class, probability).
    #[arg(long, help_heading = READING, default_value = "wide", value_name = "LAYOUT")]
    pub(crate) layout: Layout,
    /// Format of the table: csv, parquet, arrow or jsonl [default: by extension; csv for `-`].
    #[arg(long, help_heading = READING, value_name = "FORMAT")]
    pub(crate) input_format: Option<Format>,
    /// The kind of numbers in the table [default: probabilities, or the model's].
    #[arg(long, help_heading = READING, value_enum)]
    pub(crate) values: Option<Values>,
    /// Raise smaller probabilities to this value [default: 1e-6, or the model's].
    #[arg(long, help_heading = READING, value_name = "P", allow_negative_numbers = true)]
    pub(crate) floor: Option<f64>,
    /// Renormalise outputs whose sum differs from 1 by at most this much.
    #[arg(
        long,
        help_heading = READING,
        value_name = "D",
        default_value_t = DEFAULT_SUM_TOLERANCE,
        allow_negative_numbers = true
    )]
    pub(crate) sum_tolerance: f64,
    /// Names of the classes, in order [default: the values of the label column, or else the
    /// suffixes shared by all classifiers].
    #[arg(long, help_heading = READING, value_delimiter = ',', value_name = "A,B,...")]
    pub(crate) classes: Option<Vec<String>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Values {
    /// Probabilities that add up to 1.
    Probabilities,
    /// Their natural logarithms.
    LogProbabilities,
    /// Scores whose softmax gives the probabilities.
    Logits,
    /// Decimal odds; the margin is removed in proportion.
    Odds,
    /// Decimal odds; the margin is removed by a power of their reciprocals.
    OddsPower,
    /// Decimal odds; the margin is removed by Shin's model.
    OddsShin,
}

impl From<Values> for ValueKind {
    fn from(values: Values) -> Self {
        match values {
            Values::Probabilities => Self::Probabilities,
            Values::LogProbabilities => Self::LogProbabilities,
            Values::Logits => Self::Logits,
            Values::Odds => Self::Odds,
            Values::OddsPower => Self::OddsPower,
            Values::OddsShin => Self::OddsShin,
        }
    }
}

#[derive(Debug, Args)]
#[command(
    after_help = "Writes the data, the model, the fused table, a report and pictures to the folder."
)]
pub(crate) struct DemoOptions {
    /// Folder to write to.
    #[arg(long, short, default_value = "consilience-demo", value_name = "DIR")]
    pub(crate) output: PathBuf,
}

#[derive(Debug, Args)]
#[command(after_help = fit_help())]
pub(crate) struct FitOptions {
    /// Table of outputs: one row per item, a column `<classifier>_<class>` for every classifier and
    /// class, and the true class, where it is known, in `label`; `-` is standard input.
    pub(crate) data: Location,
    /// File to write the model to; `-` is standard output.
    #[arg(long, short, default_value = "-", value_name = "FILE")]
    pub(crate) output: Location,
    /// Method to fit; the list is below.
    #[arg(long, default_value = "auto", value_name = "METHOD", conflicts_with = "update")]
    pub(crate) method: MethodConfig,
    /// Class probabilities before any output is seen: empirical (frequencies of the labels, or the
    /// mean output without labels), uniform, estimate (from the items without a label),
    /// p1,p2,... or class=p,...
    #[arg(
        long,
        default_value = "empirical",
        value_name = "PRIOR",
        conflicts_with = "update",
        allow_hyphen_values = true
    )]
    pub(crate) class_prior: PriorChoice,
    /// Add the items to this model with its own options; the result equals a fit on all items.
    #[arg(long, value_name = "MODEL")]
    pub(crate) update: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: DataOptions,
    #[command(flatten)]
    pub(crate) method_options: MethodOptions,
}

/// The examples and the list of methods, for the help of `fit`.
fn fit_help() -> String {
    let mut text = format!("{FIT_EXAMPLES}\n\nMethods:\n");
    for info in MethodConfig::LIST {
        let name = if info.name == "meta" { "meta:<classifier>" } else { info.name };
        let _ = writeln!(text, "  {name:<18} {}", info.summary);
    }
    text
}

const FIT_EXAMPLES: &str = "Examples:\n  \
    consilience fit train.csv -o model.json\n  \
    consilience fit train.csv --method correlated -o model.json\n  \
    consilience fit odds.csv --values odds --method log-pool --weights simplex -o model.json\n  \
    consilience fit more.csv --update model.json -o model.json";

impl Arguments {
    /// Reads the command line. Otherwise the exit code: 0 after printing help or the version, 1 if
    /// they could not be printed, 2 after explaining a mistake.
    pub(crate) fn read() -> Result<Self, ExitCode> {
        Self::try_parse().map_err(|outcome| {
            let printed = outcome.print().and_then(|()| std::io::stdout().flush());
            match printed {
                _ if outcome.use_stderr() => ExitCode::from(2),
                Err(reason) if reason.kind() != std::io::ErrorKind::BrokenPipe => {
                    Messages::failure(&Failure::io("write", "standard output", reason));
                    ExitCode::from(1)
                }
                _ => ExitCode::SUCCESS,
            }
        })
    }
}

/// Options shared by fusing, scoring and density.
#[derive(Debug, Args)]
pub(crate) struct ModelOptions {
    /// Model file.
    pub(crate) model: PathBuf,
    /// Table of outputs, in the form that `fit` reads; `-` is standard input.
    pub(crate) data: Location,
    /// Class probabilities before any output is seen: empirical (frequencies of the training
    /// labels), uniform, estimate (from these items), p1,p2,... or class=p,...
    /// [default: the model's].
    #[arg(long, value_name = "PRIOR", allow_hyphen_values = true)]
    pub(crate) class_prior: Option<PriorChoice>,
    /// Average over the posterior draws kept in the model instead of using their mean.
    #[arg(long)]
    pub(crate) predictive: bool,
    #[command(flatten)]
    pub(crate) reading: DataOptions,
}

/// Where a table is written.
#[derive(Debug, Args)]
pub(crate) struct TableOutput {
    /// File to write the table to; `-` is standard output.
    #[arg(long, short, default_value = "-", value_name = "FILE")]
    pub(crate) output: Location,
    /// Format of the output: csv, parquet, arrow or jsonl [default: by extension; csv for `-`].
    #[arg(long, value_name = "FORMAT")]
    pub(crate) output_format: Option<Format>,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Adds to every row: fused_<class> for every class, predicted, entropy (in nats) and error\n\
(estimated largest numerical error of the fused probabilities). Any number of rows in constant\n\
memory.\n\nExamples:\n  \
    consilience fuse model.json new.csv -o fused.csv\n  \
    consilience fuse model.json new.parquet -o fused.parquet --class-prior 0.2,0.3,0.5\n  \
    consilience fuse model.json new.csv --costs costs.csv -o decided.csv\n  \
    cat new.jsonl | consilience fuse model.json - --input-format jsonl --output-format csv"
)]
pub(crate) struct FuseOptions {
    #[command(flatten)]
    pub(crate) model: ModelOptions,
    /// Also add `evidence_<classifier>_<class>`: the evidence of each classifier for each class given
    /// all other classifiers, in nats relative to the mean over classes.
    #[arg(long)]
    pub(crate) explain: bool,
    /// Also add the `decision` with the smallest expected cost, and that `expected_cost`. The table
    /// of costs has one row per true class (column `label`) and one column per decision: the
    /// classes and, if wanted, `abstain`.
    #[arg(long, value_name = "FILE")]
    pub(crate) costs: Option<Location>,
    #[command(flatten)]
    pub(crate) table: TableOutput,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Adds to every row: log_density_<class>, log_evidence (of all classes under the class prior)\n\
and error (estimated largest error of a log density).\n\nExample:\n  \
    consilience density model.json new.csv -o density.csv"
)]
pub(crate) struct DensityOptions {
    #[command(flatten)]
    pub(crate) model: ModelOptions,
    #[command(flatten)]
    pub(crate) table: TableOutput,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Under a class prior from labels (empirical) or from the items (estimate) every item has the same\n\
weight; under another the classes are weighted by the prior. Items without a label are not scored.\n\n\
Examples:\n  consilience evaluate model.json test.csv\n  \
    consilience evaluate model.json test.csv --class-prior uniform\n  \
    consilience evaluate votes-model.json votes.csv --gold gold.csv"
)]
pub(crate) struct EvaluateOptions {
    #[command(flatten)]
    pub(crate) model: ModelOptions,
    /// Give every item the same weight under any class prior, instead of weighting the classes by it.
    #[arg(long)]
    pub(crate) score_items: bool,
    /// Bootstrap replicates for the 95 % intervals: 0 (no intervals) or at least 20.
    #[arg(long, default_value_t = 1000, value_name = "N")]
    pub(crate) bootstrap: usize,
    /// Also show the scores of every class.
    #[arg(long)]
    pub(crate) per_class: bool,
    /// True labels (columns item, label) of new votes, for a model of votes.
    #[arg(long, value_name = "FILE")]
    pub(crate) gold: Option<Location>,
}

#[derive(Debug, Args)]
#[command(
    after_help = "All methods are fitted to the same items and scored under the same class prior. Rows are sorted by\n\
log-loss, each with its paired difference from the best row and a 95 % interval. Every classifier is\n\
shown as it is (`classifier:<name>`) and recalibrated (`meta:<name>`).\n\n\
Examples:\n  \
    consilience compare data.csv\n  \
    consilience compare data.csv --methods auto,correlated,stacking --splits 50 --plots pictures\n  \
    consilience compare data.csv --class-prior uniform --class-prior empirical --csv rows.csv\n  \
    consilience compare data.csv --protocol paper --format json\n  \
    consilience compare votes.csv --votes --gold gold.csv --methods auto,ibcc,ebcc"
)]
pub(crate) struct CompareOptions {
    /// Outputs with labels; items without one join every fit. `-` is standard input.
    pub(crate) data: Location,
    /// Methods, named as in `fit --method` [default: all that suit the data; `correlated` only for at
    /// most 3000 pairs of classifiers × items × classes].
    #[arg(long, value_delimiter = ',', value_name = "A,B,...")]
    pub(crate) methods: Option<Vec<String>>,
    /// How the items are divided [default: folds, or splits if `--splits` is given].
    #[arg(long, value_enum)]
    pub(crate) protocol: Option<ProtocolName>,
    /// Stratified folds [default: 10; 5 with `--votes`].
    #[arg(long, value_name = "N", conflicts_with = "splits")]
    pub(crate) folds: Option<usize>,
    /// Number of times that the folds are drawn.
    #[arg(long, default_value_t = 1, value_name = "N", conflicts_with = "splits")]
    pub(crate) repeats: usize,
    /// Random splits [default: 5].
    #[arg(long, value_name = "N")]
    pub(crate) splits: Option<usize>,
    /// Share of every class that a random split uses for testing.
    #[arg(long, default_value_t = 0.2, value_name = "P", allow_negative_numbers = true)]
    pub(crate) test_share: f64,
    /// Class probabilities before any output is seen: empirical (frequencies of the labels),
    /// uniform, p1,p2,... or class=p,...; may be given several times for one table each.
    #[arg(long, default_value = "empirical", value_name = "PRIOR", allow_hyphen_values = true)]
    pub(crate) class_prior: Vec<PriorChoice>,
    /// Give every item the same weight under any class prior, instead of weighting the classes by it.
    #[arg(long)]
    pub(crate) score_items: bool,
    /// How Dirichlets and shared shapes are learned: by posterior modes, which takes seconds, or
    /// from posteriors.
    #[arg(long, value_parser = ["map", "posterior", "two-step"], default_value = "map")]
    pub(crate) inference: String,
    /// Also write the rows as CSV.
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,
    /// Also write the scores of every method on every split or fold as CSV.
    #[arg(long, value_name = "FILE")]
    pub(crate) split_csv: Option<PathBuf>,
    /// Also draw the rows, reliability diagrams and classifiers against each other (SVG, PNG).
    #[arg(long, value_name = "DIR")]
    pub(crate) plots: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) votes: VoteComparisonOptions,
    #[command(flatten)]
    pub(crate) reading: DataOptions,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProtocolName {
    /// Cross-validation: every item is scored by fits that have not seen it.
    Folds,
    /// Random splits with a share of every class for testing.
    Splits,
    /// The paper's protocol: random splits with 20 test items per class.
    Paper,
}

#[derive(Debug, Args)]
#[command(
    after_help = "The share by the model is the mean fused probability. If some items have a label, it is corrected by\n\
them (prediction-powered inference). The labelled items must be a random sample of the items, and the\n\
model must not have been fitted to them. Any number of rows in constant memory.\n\nExample:\n  \
    consilience prevalence model.json new.csv --format json"
)]
pub(crate) struct PrevalenceOptions {
    #[command(flatten)]
    pub(crate) model: ModelOptions,
    /// What the shares are shares of.
    #[arg(long, value_enum, default_value_t = Target::Population)]
    pub(crate) target: Target,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Target {
    /// The population that the items were drawn from.
    Population,
    /// The items of the table themselves.
    Items,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  consilience inspect model.json --format json")]
pub(crate) struct InspectOptions {
    /// Model file.
    pub(crate) model: PathBuf,
    /// Also draw the correlations that the model implies (SVG, PNG).
    #[arg(long, value_name = "DIR")]
    pub(crate) plots: Option<PathBuf>,
    /// With `--plots`: labelled outputs to draw beside the fitted correlations.
    #[arg(long, value_name = "FILE", requires = "plots")]
    pub(crate) data: Option<Location>,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Presets (the paper's simulated sets: two classifiers with equal margins, three classes):\n  \
    sim1  alpha 3 for the true class, 2 for the others\n  \
    sim2  alpha 12 and 8\n  \
    sim3  rows (7,5,5), (5,5,7), (5,7,5)\n\nExamples:\n  \
    consilience simulate --preset sim2 --correlation 0.5 --items-per-class 500 -o data.csv\n  \
    consilience simulate --model model.json --items-per-class 1000 -o data.parquet"
)]
#[command(group = clap::ArgGroup::new("source").required(true))]
pub(crate) struct SimulateOptions {
    /// One of the paper's simulated sets.
    #[arg(long, group = "source", value_name = "NAME")]
    pub(crate) preset: Option<Preset>,
    /// Model to draw from.
    #[arg(long, group = "source", value_name = "MODEL")]
    pub(crate) model: Option<PathBuf>,
    /// Correlation level of a preset, 0 to 1: delta is R times alpha (0.1 at R = 0, alpha - 0.1
    /// at R = 1).
    #[arg(
        long,
        value_name = "R",
        default_value_t = 0.5,
        allow_negative_numbers = true,
        conflicts_with = "model"
    )]
    pub(crate) correlation: f64,
    /// Items of every class.
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) items_per_class: usize,
    /// File of the model that the items are drawn from.
    #[arg(long, value_name = "FILE")]
    pub(crate) truth: Option<Location>,
    #[command(flatten)]
    pub(crate) table: TableOutput,
}

/// A number of threads that a machine can have; more would make it unusable.
fn number_of_threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n @ 1..=1024) => Ok(n),
        _ => Err("must be a whole number from 1 to 1024".into()),
    }
}
