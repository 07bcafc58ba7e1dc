//! The options of `consilience report`.

use clap::Args;
use consilience_io::Location;

use crate::args::ModelOptions;

#[derive(Debug, Args)]
#[command(
    after_help = "The page is one HTML file that loads nothing. With labels it shows what fusing gains, which\n\
sources are redundant, what each contributes, reliability, confusion and single items; without\n\
labels, what can be said without them. For a model that `aggregate --model` wrote, the data are\n\
votes, and the method of the model is fitted to them.\n\nExamples:\n  \
    consilience report model.json test.csv -o report.html\n  \
    consilience report model.json test.csv --format json\n  \
    consilience report votes-model.json votes.csv -o report.html"
)]
pub(crate) struct ReportOptions {
    #[command(flatten)]
    pub(crate) model: ModelOptions,
    /// File to write the page to; `-` is standard output. With `--format json` and no file, only the JSON is
    /// printed.
    #[arg(long, short, default_value = "-", value_name = "FILE")]
    pub(crate) output: Location,
    /// Title of the page [default: the number of sources and the name of the data].
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,
    /// Items shown in every list of single items.
    #[arg(long, default_value_t = 8, value_name = "N")]
    pub(crate) items: usize,
}
