//! `consilience`: fuses the probability outputs of several classifiers from the command line.
//!
//! Standard output carries data and reports, standard error everything else. Exit code 0 is
//! success, 1 bad data or settings, 2 wrong usage, 130 an interruption.

mod args;
mod commands;
mod data;
mod error;
mod output;
mod progress;

use std::process::ExitCode;

use clap::Parser;

use args::{Arguments, Command};
use error::Failure;
use output::Talk;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let talk = Talk::new(arguments.common.quiet);
    match run(&arguments, &talk) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) if failure.is_broken_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            talk.failure(&failure);
            ExitCode::from(failure.exit_code())
        }
    }
}

fn run(arguments: &Arguments, talk: &Talk) -> Result<(), Failure> {
    let common = &arguments.common;
    if let Some(threads) = common.threads {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build_global().map_err(|error| {
            Failure::message(format!("cannot start {threads} threads: {error}"))
        })?;
    }
    progress::catch_interrupts()?;
    match &arguments.command {
        Command::Demo(options) => commands::demo::run(options, common, talk),
        Command::Fit(options) => commands::fit::run(options, common, talk),
        Command::Fuse(options) => commands::fuse::run(options, common, talk),
        Command::Density(options) => commands::density::run(options, common, talk),
        Command::Evaluate(options) => commands::evaluate::run(options, common, talk),
        Command::Inspect(options) => commands::inspect::run(options, common),
        Command::Simulate(options) => commands::simulate::run(options, common, talk),
        Command::Completions { shell } => commands::generate::completions(*shell),
        Command::Man { command } => commands::generate::man_page(command.as_deref()),
    }
}
