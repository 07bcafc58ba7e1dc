//! `consilience report`: one self-contained page about a model and its sources.

use consilience::PriorChoice;
use consilience::votes::VoteModel;
use consilience_io::{Location, check_writable, write_whole};
use consilience_report::{Report, ReportOptions as PageOptions};

use super::votes;
use crate::args::{CommonOptions, ReportFormat};
use crate::data::{read_all, read_model, read_vote_model};
use crate::error::Failure;
use crate::files::{Input, check_distinct};
use crate::output::{self, Messages};
use crate::progress::{TerminalProgress, Unit, stoppable};
use crate::report_args::ReportOptions;

pub(crate) fn run(
    options: &ReportOptions,
    common: &CommonOptions,
    messages: &Messages,
) -> Result<(), Failure> {
    let input = &options.model;
    let model = Location::from(input.model.as_path());
    let inputs = [Input::new("the data", &input.data), Input::new("the model", &model)];
    check_distinct(&inputs, &[("the report", &options.output)])?;
    check_writable(&options.output)?;
    let progress = TerminalProgress::new(messages.is_quiet(), Unit::Steps);
    let settings = PageOptions {
        title: options.title.clone(),
        data: Some(data_name(&input.data)),
        class_prior: input.class_prior.clone(),
        predictive: input.predictive,
        cases: options.items,
        seed: common.seed(),
        progress: &progress,
    };
    let report = match read_vote_model(&input.model)? {
        Some(model) => of_votes(&model, options, &settings, messages)?,
        None => of_outputs(options, &settings, messages)?,
    };
    drop(progress);
    write(&report, &options.output, common.format, messages)
}

/// The file without its folder: a page that is sent to others should not name the folders of its
/// author.
pub(super) fn data_name(data: &Location) -> String {
    match data {
        Location::Standard => "standard input".to_owned(),
        Location::Path(path) => {
            path.file_name().map_or_else(|| data.to_string(), |name| name.display().to_string())
        }
    }
}

fn of_outputs(
    options: &ReportOptions,
    settings: &PageOptions<'_>,
    messages: &Messages,
) -> Result<Report, Failure> {
    let input = &options.model;
    let quiet = messages.is_quiet();
    let model = read_model(&input.model)?;
    // An error about draws or the class prior is not one of the data.
    model.rule(input.predictive).map_err(Failure::in_file(input.model.display()))?;
    if let Some(choice) = input.class_prior.as_ref().filter(|own| **own != PriorChoice::Estimate) {
        model.prior(Some(choice))?;
    }
    let reading = input.reading.read_options_for(&model)?;
    let outputs = read_all(&input.data, model.schema(), &reading, quiet)?;
    Messages::doubts(&outputs.doubts(), &input.data);
    stoppable(|| Report::of(&model, &outputs, settings)).map_err(Failure::in_data(&input.data))
}

/// Fits the method of a model of votes, with its options, to the votes.
fn of_votes(
    model: &VoteModel,
    options: &ReportOptions,
    settings: &PageOptions<'_>,
    messages: &Messages,
) -> Result<Report, Failure> {
    let input = &options.model;
    votes::check_no_effect(input, &[])?;
    let reading = votes::model_reading(model, input, false);
    stoppable(|| {
        let votes = votes::read(&input.data, None, &reading, messages.is_quiet())?;
        let result = model.config().fit_with(&votes, settings.progress);
        let result = result.map_err(Failure::in_data(&input.data))?;
        Ok(Report::of_votes(&result, settings))
    })
}

/// Writes the page, and prints the JSON if it is wanted.
fn write(
    report: &Report,
    location: &Location,
    format: ReportFormat,
    messages: &Messages,
) -> Result<(), Failure> {
    let json = format == ReportFormat::Json;
    if !(json && *location == Location::Standard) {
        write_whole(location, report.html().as_bytes())?;
        messages.note(&report.verdict);
        note_page(location, messages);
    }
    if json { output::print(&format!("{:#}", report.to_json())) } else { Ok(()) }
}

/// Writes the page.
pub(super) fn write_page(
    report: &Report,
    location: &Location,
    messages: &Messages,
) -> Result<(), Failure> {
    write_whole(location, report.html().as_bytes())?;
    note_page(location, messages);
    Ok(())
}

fn note_page(location: &Location, messages: &Messages) {
    messages.note(format_args!("report -> {}", location.output_name()));
}
