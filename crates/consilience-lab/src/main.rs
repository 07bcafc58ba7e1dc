//! `consilience-lab`: runs the experiments of Consilience.

#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use consilience_lab::{Failure, calibration, kernels, reproduce, tables};

/// Run the experiments of Consilience.
#[derive(Debug, Parser)]
#[command(name = "consilience-lab", max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// Number of threads; results do not depend on it [default: all].
    #[arg(long, global = true, value_name = "N")]
    threads: Option<usize>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Compute the paper's figures and tables.
    Reproduce(reproduce::Options),
    /// Check by simulation that posteriors are calibrated.
    Calibration(calibration::Options),
    /// Print a table of an experiment as CSV.
    Tables(tables::Options),
    /// Repeat a core computation, for counting its instructions.
    Kernel(kernels::Options),
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            #[allow(clippy::print_stderr)] // the only message of a failed run
            {
                eprintln!("error: {failure}");
            }
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), Failure> {
    if let Some(threads) = arguments.threads {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;
    }
    match &arguments.command {
        Command::Reproduce(options) => reproduce::run(options),
        Command::Calibration(options) => calibration::run(options),
        Command::Tables(options) => tables::run(options),
        Command::Kernel(options) => kernels::run(options),
    }
}
