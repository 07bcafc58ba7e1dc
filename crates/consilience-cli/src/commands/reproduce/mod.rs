//! `consilience reproduce`: the paper's results, computed anew.

mod figure_2;

use crate::args::{PaperPart, ReproduceOptions};
use crate::error::Failure;
use crate::output::{self, Talk};

pub(crate) fn run(options: &ReproduceOptions, talk: &Talk) -> Result<(), Failure> {
    let folder = &options.output;
    output::make_folder(folder)?;
    for part in options.parts() {
        match part {
            PaperPart::Figure2 => figure_2::write(folder)?,
        }
        talk.note(format_args!("{} -> {}", part.name(), folder.display()));
    }
    Ok(())
}
