//! `consilience`: fuses the probability outputs of several classifiers from the command line.
//!
//! Standard output carries data and reports, standard error everything else. Exit code 0 is
//! success, 1 bad data or settings, 2 wrong usage or an internal error, 130 an interruption.

#![forbid(unsafe_code)]

mod advise_args;
mod args;
mod commands;
mod data;
mod error;
mod export_args;
mod files;
mod method_options;
mod output;
mod plots;
mod progress;
mod report_args;
mod vote_args;

use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;

use args::{Arguments, Command};
use consilience_numerics::parallel;
use error::Failure;
use output::Messages;

fn main() -> ExitCode {
    let arguments = match Arguments::read() {
        Ok(arguments) => arguments,
        Err(code) => return code,
    };
    let messages = Messages::new(arguments.common.quiet);
    panic::set_hook(Box::new(|info| {
        if !consilience_io::is_guarded() {
            Messages::panic(info);
        }
    }));
    match panic::catch_unwind(AssertUnwindSafe(|| run(&arguments, &messages))) {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(failure)) if failure.is_broken_pipe() => ExitCode::SUCCESS,
        Ok(Err(failure)) if failure.is_interruption() => progress::stop(),
        Ok(Err(failure)) => {
            Messages::failure(&failure);
            ExitCode::FAILURE
        }
        Err(_) => ExitCode::from(2), // the hook has printed the reason
    }
}

fn run(arguments: &Arguments, messages: &Messages) -> Result<(), Failure> {
    let common = &arguments.common;
    start_threads(common.threads)?;
    progress::catch_interrupts()?;
    match &arguments.command {
        Command::Demo(options) => commands::demo::run(options, common, messages),
        Command::Fit(options) => commands::fit::run(options, common, messages),
        Command::Fuse(options) => commands::fuse::run(options, common, messages),
        Command::Density(options) => commands::density::run(options, common, messages),
        Command::Evaluate(options) => commands::evaluate::run(options, common, messages),
        Command::Compare(options) => commands::compare::run(options, common, messages),
        Command::Aggregate(options) => commands::aggregate::run(options, common, messages),
        Command::Prevalence(options) => commands::prevalence::run(options, common, messages),
        Command::Advise(options) => commands::advise::run(options, common, messages),
        Command::Report(options) => commands::report::run(options, common, messages),
        Command::Inspect(options) => commands::inspect::run(options, common, messages),
        Command::Export(options) => commands::export::run(options, messages),
        Command::Simulate(options) => commands::simulate::run(options, common, messages),
        Command::Completions { shell } => commands::generate::completions(*shell),
        Command::Man { command } => commands::generate::man_page(command.as_deref()),
    }
}

/// Starts the threads of `--threads` or else of `RAYON_NUM_THREADS`, which may not be more than the
/// machine can run. Without either, threads start when they are needed, one per processor.
fn start_threads(given: Option<usize>) -> Result<(), Failure> {
    let Some(wanted) = given.or_else(parallel::asked_for) else { return Ok(()) };
    let threads = parallel::at_most(wanted);
    if given.is_none() && threads < wanted {
        Messages::warning(format_args!(
            "`RAYON_NUM_THREADS` asks for {wanted} threads; {threads} are used"
        ));
    }
    parallel::start(threads)
        .map_err(|error| Failure::message(format!("cannot start {threads} threads: {error}")))
}

#[cfg(test)]
mod tests {
    use super::args;
    use clap::CommandFactory as _;

    #[test]
    fn the_definition_is_consistent() {
        args::Arguments::command().debug_assert();
    }
}
