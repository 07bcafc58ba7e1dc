//! `consilience prevalence`: the share of every class among items.

use consilience::evaluation::{PrevalenceTarget, ShareSums};
use consilience::{Doubts, NoProgress};

use crate::args::{CommonOptions, PrevalenceOptions, ReportFormat, Target};
use crate::data::for_each_chunk;
use crate::error::Failure;
use crate::output::{self, Messages};

pub(crate) fn run(
    options: &PrevalenceOptions,
    common: &CommonOptions,
    messages: &Messages,
) -> Result<(), Failure> {
    let input = &options.model;
    let loaded = input.load(messages.is_quiet())?;
    let mut sums = ShareSums::new(loaded.model.schema().n_classes());
    let mut doubts = Doubts::default();
    let (schema, quiet) = (loaded.model.schema(), messages.is_quiet());
    for_each_chunk("fusing", &input.data, schema, &loaded.reading, quiet, |chunk, _| {
        doubts.merge(&chunk.outputs.doubts());
        sums.add(loaded.fusion(), &chunk.outputs, &loaded.prior, &NoProgress)
            .map_err(Failure::in_data(&input.data))
    })?;
    let target = match options.target {
        Target::Population => PrevalenceTarget::Population,
        Target::Items => PrevalenceTarget::Items,
    };
    let found = sums.prevalence(&loaded.model, target).map_err(Failure::in_data(&input.data))?;
    Messages::doubts(&doubts, &input.data);
    if found.repeats_training() {
        Messages::warning(format_args!(
            "{} has as many labelled items of every class as the model was fitted to: if they are \
             the same, the corrected intervals are too short; fit the model to other items",
            input.data
        ));
    }
    match common.format {
        ReportFormat::Json => {
            let mut value = serde_json::to_value(&found).expect("shares are plain JSON values");
            value["note"] = found.note().into();
            output::print(&format!("{value:#}"))
        }
        ReportFormat::Table => output::print_text(&format!("{found}\n")),
    }
}
