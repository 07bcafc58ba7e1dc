//! `consilience`: fuses the probability outputs of several classifiers from the command line.
//!
//! Standard output carries data and reports, standard error everything else. Exit code 0 is
//! success, 1 bad data or settings, 2 wrong usage or a fault of the program, 130 an interruption.

mod args;
mod commands;
mod data;
mod error;
mod method_options;
mod output;
mod plots;
mod progress;

use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;

use args::{Arguments, Command};
use error::Failure;
use output::Messages;

fn main() -> ExitCode {
    let arguments = Arguments::read();
    let messages = Messages::new(arguments.common.quiet);
    panic::set_hook(Box::new(|info| {
        if !consilience_io::is_guarded() {
            Messages::panic(info);
        }
    }));
    match panic::catch_unwind(AssertUnwindSafe(|| run(&arguments, &messages))) {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(failure)) if failure.is_broken_pipe() => ExitCode::SUCCESS,
        Ok(Err(failure)) => {
            Messages::failure(&failure);
            ExitCode::from(failure.exit_code())
        }
        Err(_) => ExitCode::from(2), // the hook has told why
    }
}

fn run(arguments: &Arguments, messages: &Messages) -> Result<(), Failure> {
    let common = &arguments.common;
    if let Some(threads) = common.threads {
        // Results do not depend on their number, so threads without processors only cost.
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let threads = threads.min(4 * processors);
        rayon::ThreadPoolBuilder::new().num_threads(threads).build_global().map_err(|error| {
            Failure::message(format!("cannot start {threads} threads: {error}"))
        })?;
    }
    progress::catch_interrupts()?;
    match &arguments.command {
        Command::Demo(options) => commands::demo::run(options, common, messages),
        Command::Fit(options) => commands::fit::run(options, common, messages),
        Command::Fuse(options) => commands::fuse::run(options, common, messages),
        Command::Density(options) => commands::density::run(options, common, messages),
        Command::Evaluate(options) => commands::evaluate::run(options, common, messages),
        Command::Compare(options) => commands::compare::run(options, common, messages),
        Command::Inspect(options) => commands::inspect::run(options, common, messages),
        Command::Simulate(options) => commands::simulate::run(options, common, messages),
        Command::Completions { shell } => commands::generate::completions(*shell),
        Command::Man { command } => commands::generate::man_page(command.as_deref()),
    }
}
