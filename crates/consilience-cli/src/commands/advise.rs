//! `consilience advise`: which items to label next, and which sources to drop.

use consilience::Outputs;
use consilience::Progress as _;
use consilience::evaluation::{Advice, AdviceSettings, SourceSettings, Weighting, advise};
use consilience_io::TableReader;
use serde_json::{Value, json};

use crate::advise_args::AdviseOptions;
use crate::args::{CommonOptions, ReportFormat};
use crate::data::Loaded;
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
    let data = &options.model.data;
    stoppable(|| {
        let mut reader = TableReader::open(data, loaded.model.schema(), &loaded.reading)?;
        let progress = TerminalProgress::new(quiet, Unit::Bytes);
        progress.begin("reading", reader.total_bytes().unwrap_or(0));
        let (mut all, mut names): (Option<Outputs>, Option<Vec<String>>) = (None, None);
        while let Some(chunk) = reader.next_chunk()? {
            progress.check()?;
            progress.set(reader.bytes_read());
            let own = NAMES.iter().find_map(|name| chunk.carried.text_column(name));
            match &mut all {
                None => (all, names) = (Some(chunk.outputs), own),
                Some(outputs) => {
                    outputs.append(chunk.outputs)?;
                    names.iter_mut().for_each(|names| names.extend(own.iter().flatten().cloned()));
                }
            }
        }
        let outputs =
            all.ok_or_else(|| consilience_io::Error::NoItems { name: data.to_string() })?;
        Ok(Table { outputs, names })
    })
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
