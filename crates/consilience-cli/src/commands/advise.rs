//! `consilience advise`: which items to label next, and which sources to drop.

use consilience::Outputs;
use consilience::evaluation::{Advice, AdviceSettings, SourceSettings, Weighting, advise};
use consilience_io::ReadOptions;
use serde_json::{Value, json};

use crate::advise_args::AdviseOptions;
use crate::args::{CommonOptions, ReportFormat};
use crate::data::{Loaded, append, for_each_chunk, require_items};
use crate::error::Failure;
use crate::output::{self, Messages};
use crate::progress::{TerminalProgress, Unit, stoppable};

/// Columns that may name the items, the first that a table has.
const NAMES: [&str; 3] = ["item", "id", "task"];

pub(crate) fn run(
    options: &AdviseOptions,
    common: &CommonOptions,
    messages: &Messages,
) -> Result<(), Failure> {
    let input = &options.model;
    let loaded = input.load(messages.is_quiet())?;
    let table = read(options, &loaded, messages.is_quiet())?;
    Messages::doubts(&table.outputs.doubts(), &input.data);
    let sources = SourceSettings {
        folds: options.folds,
        weighting: if options.score_items { Weighting::Items } else { loaded.weighting() },
        tolerance: options.tolerance,
        prices: options.price.clone(),
        seed: common.seed(),
    };
    let settings = AdviceSettings {
        labels: options.labels,
        sources: (!options.no_sources).then_some(sources),
    };
    let progress = TerminalProgress::new(messages.is_quiet(), Unit::Steps);
    let (model, prior) = (&loaded.model, &loaded.prior);
    let advice =
        stoppable(|| advise(model, loaded.fusion(), &table.outputs, prior, &settings, &progress));
    let advice = advice.map_err(Failure::in_data(&input.data))?;
    drop(progress);
    match common.format {
        ReportFormat::Json => output::print(&format!("{:#}", table.json(&advice))),
        ReportFormat::Table => output::print_text(&advice.text(table.names.as_deref())),
    }
}

/// All items of a table, with their names if it has any.
struct Table {
    outputs: Outputs,
    names: Option<Vec<String>>,
}

fn read(options: &AdviseOptions, loaded: &Loaded, quiet: bool) -> Result<Table, Failure> {
    let (data, schema) = (&options.model.data, loaded.model.schema());
    let (mut all, mut names): (Option<Outputs>, Option<Vec<String>>) = (None, None);
    let reading = ReadOptions { keeps_all: true, ..loaded.reading.clone() };
    for_each_chunk("reading", data, schema, &reading, quiet, |chunk, _| {
        let own = NAMES.iter().find_map(|name| chunk.carried.text_column(name));
        match (&all, &mut names) {
            (None, names) => *names = own,
            (Some(_), Some(names)) => names.extend(own.into_iter().flatten()),
            (Some(_), None) => {}
        }
        append(&mut all, chunk.outputs)
    })?;
    Ok(Table { outputs: require_items(all, data)?, names })
}

impl Table {
    /// Rows are counted from 1, as in messages.
    fn json(&self, advice: &Advice) -> Value {
        let mut value = json!(advice);
        for (i, own) in advice.labels.next.iter().enumerate() {
            let entry = &mut value["labels"]["next"][i];
            entry["row"] = json!(own.item + 1);
            if let Some(names) = &self.names {
                entry["name"] = json!(names[own.item]);
            }
        }
        value["labels"]["note"] = json!(advice.labels.sentence());
        if let Some(sources) = &advice.sources {
            value["sources"]["note"] = json!(sources.sentence());
        }
        value
    }
}
