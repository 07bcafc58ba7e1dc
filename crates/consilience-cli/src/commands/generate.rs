//! Completion scripts and manual pages.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Arguments;
use crate::error::Failure;
use crate::output;

pub(crate) fn completions(shell: Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "consilience", &mut script);
    output::print(&String::from_utf8_lossy(&script))
}

pub(crate) fn man_page(command: Option<&str>) -> Result<(), Failure> {
    let mut all = Arguments::command();
    all.build();
    let page = match command {
        None => all,
        Some(name) => all.find_subcommand(name).cloned().ok_or_else(|| {
            Failure::message(format!("there is no command `{name}`; see `consilience --help`"))
        })?,
    };
    let mut text = Vec::new();
    clap_mangen::Man::new(page)
        .render(&mut text)
        .map_err(|reason| Failure::io("write", "standard output", reason))?;
    output::print(&String::from_utf8_lossy(&text))
}
