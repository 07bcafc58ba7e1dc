//! `consilience simulate`: data whose truth is known.

use consilience::simulation::Truth;
use consilience::{Model, Progress};
use consilience_io::{Location, TableWriter, batch_of, write_whole};

use crate::args::{CommonOptions, SimulateOptions};
use crate::data::read_model;
use crate::error::Failure;
use crate::files::{Input, check_distinct};
use crate::output::Messages;
use crate::progress::{TerminalProgress, Unit};

/// Items drawn and written at a time.
const CHUNK: usize = 8192;

pub(crate) fn run(
    options: &SimulateOptions,
    common: &CommonOptions,
    messages: &Messages,
) -> Result<(), Failure> {
    let model = options.model.clone().map(Location::from);
    let inputs: Vec<_> = model.iter().map(|model| Input::new("the model", model)).collect();
    let outputs = [("the output", &options.table.output)];
    let truth = options.truth.iter().map(|truth| ("`--truth`", truth));
    check_distinct(&inputs, &outputs.into_iter().chain(truth).collect::<Vec<_>>())?;
    let (model, truth) = options.source()?;
    let n_classes = truth.schema().n_classes();
    let total = options.items_per_class.checked_mul(n_classes).ok_or_else(|| {
        Failure::message(format!("{} items of each class are too many", options.items_per_class))
    })?;
    let mut writer = TableWriter::create(&options.table.output, options.table.output_format)?;
    if let Some(location) = &options.truth {
        write_whole(location, model.to_json().as_bytes())?;
    }
    let mut simulator = truth.simulator(common.seed())?;
    let progress = TerminalProgress::new(messages.is_quiet(), Unit::Steps);
    progress.begin("simulating", total as u64);
    let mut nothing_written = true;
    for class in 0..n_classes {
        let mut left = options.items_per_class;
        while left > 0 || nothing_written {
            progress.check()?;
            let n = left.min(CHUNK);
            simulator.draw(class, n)?;
            writer.write(&batch_of(&simulator.take(), 0..n), &[])?;
            nothing_written = false;
            progress.advance(n as u64);
            left -= n;
        }
    }
    progress.check()?;
    writer.finish()?;
    drop(progress);
    messages.note(format_args!("drew {total} items -> {}", options.table.output.output_name()));
    Ok(())
}

impl SimulateOptions {
    /// The model to draw from, and the form of its outputs.
    fn source(&self) -> Result<(Model, Truth), Failure> {
        match (&self.preset, &self.model) {
            (Some(preset), _) => {
                let truth = preset.truth(self.correlation)?;
                Ok((Model::from_truth(&truth)?, truth))
            }
            (None, Some(path)) => {
                let model = read_model(path)?;
                let truth = model.truth().map_err(Failure::in_file(path.display()))?;
                Ok((model, truth))
            }
            (None, None) => unreachable!("the argument parser demands one of them"),
        }
    }
}
