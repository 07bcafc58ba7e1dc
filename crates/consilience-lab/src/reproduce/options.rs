//! Command-line options of `reproduce`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use consilience::simulation::Preset;

/// What to reproduce, and with how much data.
#[derive(Debug, Args)]
#[command(
    after_help = "Writes figures (SVG, PNG), log-losses.csv and bars.csv (our numbers beside the printed ones),\n\
baselines.csv (all methods under one class prior) and report.md. Finished parts are kept in the\n\
folder results and not computed again; delete a part's file there to repeat it.\n\nExamples:\n  \
    consilience-lab reproduce -o paper\n  \
    consilience-lab reproduce -o paper --only figure-2\n  \
    consilience-lab reproduce -o paper --only dna-a,dna-b --data sets --splits 5"
)]
pub struct Options {
    /// Folder for the figures and tables.
    #[arg(long, short, value_name = "DIR")]
    pub(super) output: PathBuf,
    /// Only these parts.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "NAME,...")]
    only: Vec<PaperPart>,
    /// Folder of the real data sets, `bookies_a.csv` and so on [default: the environment variable
    /// `CONSILIENCE_DATA`].
    #[arg(long, value_name = "DIR")]
    pub(super) data: Option<PathBuf>,
    /// Number of splits of every real data set; 5 in the paper.
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = at_least_two)]
    pub(super) splits: usize,
    /// Number of test sets for every simulated data set and correlation; 25 in the paper.
    #[arg(long, default_value_t = 50, value_name = "N", value_parser = at_least_two)]
    pub(super) test_sets: usize,
    /// Number of training sets; the test sets are divided among them.
    #[arg(long, default_value_t = 2, value_name = "N", value_parser = at_least_two)]
    pub(super) training_sets: usize,
    /// Seed of all random numbers.
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub(super) seed: u64,
}

impl Options {
    /// The parts given; all of them if none are.
    pub(super) fn parts(&self) -> Vec<PaperPart> {
        if self.only.is_empty() { PaperPart::all() } else { self.only.clone() }
    }
}

/// A part of the paper's evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum PaperPart {
    /// The fused probability of two agreeing classifiers against their correlation.
    #[value(name = "figure-2")]
    Figure2,
    /// Figure 3a and its rows of the table of log-losses.
    #[value(name = "sim1")]
    Sim1,
    /// Figure 3b and its rows.
    #[value(name = "sim2")]
    Sim2,
    /// Figure D.8 and its rows.
    #[value(name = "sim3")]
    Sim3,
    /// One data set of figure 4 and its row.
    BookiesA,
    /// One data set of figure 4 and its row.
    BookiesB,
    /// Figure D.9 and its row.
    BookiesC,
    /// One data set of figure 4 and its row.
    DnaA,
    /// One data set of figure 4 and its row.
    DnaB,
    /// One data set of figure 4 and its row.
    DnaC,
}

impl PaperPart {
    pub(super) fn name(self) -> String {
        self.to_possible_value().expect("no part is hidden").get_name().to_owned()
    }

    pub(super) fn all() -> Vec<Self> {
        Self::value_variants().to_vec()
    }

    pub(super) fn preset(self) -> Option<Preset> {
        match self {
            Self::Sim1 => Some(Preset::Sim1),
            Self::Sim2 => Some(Preset::Sim2),
            Self::Sim3 => Some(Preset::Sim3),
            _ => None,
        }
    }

    /// The name of its real data set.
    pub(super) fn real_set(self) -> Option<String> {
        let simulated = self.preset().is_some() || self == Self::Figure2;
        (!simulated).then(|| self.name().replace('-', "_"))
    }
}

/// A standard deviation needs two.
fn at_least_two(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n @ 2..=100_000) => Ok(n),
        _ => Err("must be a whole number from 2 to 100000".into()),
    }
}
