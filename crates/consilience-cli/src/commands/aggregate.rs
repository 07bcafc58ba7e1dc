//! `consilience aggregate`: labels from votes; and `fuse` with a model of votes.

use std::path::Path;

use consilience::Progress;
use consilience::votes::{
    Aggregation, SourceReport, VoteComparison, VoteModel, Votes, compare_votes,
};
use consilience_io::{
    Added, AddedValues, Location, TableWriter, check_writable, names_batch, write_whole,
};
use consilience_numerics::simplex;
use consilience_report::{Report, ReportOptions as PageOptions};
use serde_json::{Value, json};

use super::pictures::{draw_reliability, draw_sources};
use super::report::{data_name, write_page};
use super::stream::number_column;
use super::votes::{FOLDS, check_no_effect, held_out, model_reading, read, warn};
use crate::args::{CommonOptions, FuseOptions, ReportFormat, TableOutput};
use crate::error::{Failure, warning_text};
use crate::files::{Input, check_distinct};
use crate::output::{self, Messages};
use crate::progress::{TerminalProgress, Unit, stoppable};
use crate::vote_args::AggregateOptions;

/// Items that are written at a time.
const CHUNK: usize = 8192;

pub(crate) fn run(
    options: &AggregateOptions,
    common: &CommonOptions,
    messages: &Messages,
) -> Result<(), Failure> {
    options.check_files()?;
    let config = options.method.config(common.seed())?;
    let quiet = messages.is_quiet();
    let (result, scores) = stoppable(|| {
        let votes = read(&options.votes, options.gold.as_ref(), &options.reading.options(), quiet)?;
        let progress = TerminalProgress::new(quiet, Unit::Steps);
        let in_data = || Failure::in_data(&options.votes);
        let result = config.fit_with(&votes, &progress).map_err(in_data())?;
        let scores = options.scores(&result, common.seed(), &progress)?;
        Ok::<_, Failure>((result, scores))
    })?;
    warn(result.warnings());
    write_labels(&result, &options.table, quiet)?;
    if let Some(sources) = &options.sources {
        write_sources(&result, sources)?;
    }
    if let Some(model) = &options.model {
        write_whole(model, result.model().to_json().as_bytes())?;
    }
    if let Some(file) = &options.report {
        write_page(&Report::of_votes(&result, &options.page(common.seed())), file, messages)?;
    }
    if let Some(folder) = &options.plots {
        draw(&result, scores.as_ref(), folder)?;
    }
    options.report(&result, scores.as_ref(), common.format, messages)
}

impl AggregateOptions {
    /// Refuses outputs that would overwrite an input or each other, or that cannot be written.
    fn check_files(&self) -> Result<(), Failure> {
        let mut inputs = vec![Input::new("the votes", &self.votes)];
        inputs.extend(self.gold.iter().map(|gold| Input::new("the gold labels", gold)));
        inputs.extend(self.held_out.iter().map(|labels| Input::new("the held-out labels", labels)));
        let mut outputs = vec![("the output", &self.table.output)];
        outputs.extend(self.sources.iter().map(|sources| ("the table of sources", sources)));
        outputs.extend(self.model.iter().map(|model| ("the model", model)));
        outputs.extend(self.report.iter().map(|report| ("the report", report)));
        check_distinct(&inputs, &outputs)?;
        for (_, output) in outputs {
            check_writable(output)?;
        }
        Ok(())
    }

    /// The options of the page.
    fn page(&self, seed: u64) -> PageOptions<'_> {
        let data = Some(data_name(&self.votes));
        PageOptions { data, seed, ..PageOptions::default() }
    }

    /// The scores of `--held-out` and `--compare`, and of gold labels for the plot of reliability.
    fn scores(
        &self,
        result: &Aggregation,
        seed: u64,
        progress: &dyn Progress,
    ) -> Result<Option<VoteComparison>, Failure> {
        let votes = result.votes();
        let asked = self.held_out.is_some() || !self.compare.is_empty();
        if !asked && (self.plots.is_none() || votes.n_gold() < 2) {
            return Ok(None);
        }
        let held_out = held_out(votes, self.held_out.as_ref(), FOLDS, seed)?;
        let mut methods = vec![result.model().config().clone()];
        for method in &self.compare {
            if !methods.iter().any(|known| known.name() == method.name()) {
                methods.push(method.clone().with_seed(seed));
            }
        }
        let scores = compare_votes(votes, &held_out, &methods, progress);
        if !asked && matches!(scores, Err(consilience::Error::Unsupported { .. })) {
            return Ok(None);
        }
        let file = self.held_out.as_ref().unwrap_or(&self.votes);
        scores.map(Some).map_err(Failure::in_data(file))
    }

    /// The report on standard output, unless the labels go there.
    fn report(
        &self,
        result: &Aggregation,
        scores: Option<&VoteComparison>,
        format: ReportFormat,
        messages: &Messages,
    ) -> Result<(), Failure> {
        let text = || {
            let scores = scores.map_or_else(String::new, |scores| format!("\n{scores}"));
            format!("{result}{scores}")
        };
        match (&self.table.output, format) {
            (Location::Standard, _) => {
                messages.note(text().trim_end());
                Ok(())
            }
            (Location::Path(_), ReportFormat::Table) => output::print_text(&text()),
            (Location::Path(_), ReportFormat::Json) => {
                output::print(&format!("{:#}", report_json(result, scores)))
            }
        }
    }
}

fn write_labels(result: &Aggregation, table: &TableOutput, quiet: bool) -> Result<(), Failure> {
    let classes = result.classes();
    let names: Vec<String> = classes.iter().map(|class| format!("p_{class}")).collect();
    let columns = LabelColumns {
        votes: result.votes(),
        probabilities: result.table(),
        label: "label",
        names: &names,
        first: true,
    };
    columns.write(table, |item| result.effective_votes(item), quiet)
}

/// The table of items: the most probable class, probabilities, numbers of votes.
struct LabelColumns<'a> {
    votes: &'a Votes,
    /// n × K.
    probabilities: &'a [f64],
    /// Name of the column of labels, and those of the probabilities.
    label: &'a str,
    names: &'a [String],
    /// Whether the label comes before the probabilities, or after them with the entropy.
    first: bool,
}

impl LabelColumns<'_> {
    fn write(
        &self,
        table: &TableOutput,
        effective: impl Fn(usize) -> f64,
        quiet: bool,
    ) -> Result<(), Failure> {
        let (k, n) = (self.votes.n_classes(), self.votes.n_items());
        let progress = TerminalProgress::new(quiet, Unit::Steps);
        progress.begin("writing", n as u64);
        let mut writer = TableWriter::create(&table.output, table.output_format)?;
        for start in (0..n).step_by(CHUNK) {
            progress.check()?;
            let items = start..(start + CHUNK).min(n);
            let names = self.votes.items()[items.clone()].iter().map(|name| &**name);
            let rows = &self.probabilities[items.start * k..items.end * k];
            let columns: Vec<Vec<f64>> =
                (0..k).map(|j| rows.iter().skip(j).step_by(k).copied().collect()).collect();
            let label = |row| u32::try_from(simplex::arg_max(row)).expect("classes fit into u32");
            let labels: Vec<u32> = rows.chunks_exact(k).map(label).collect();
            let cast: Vec<u64> = items.clone().map(|i| self.votes.votes_on(i) as u64).collect();
            let effective: Vec<f64> = items.clone().map(&effective).collect();
            let entropy: Vec<f64> = rows.chunks_exact(k).map(simplex::entropy).collect();
            let index = AddedValues::Names { index: &labels, names: self.votes.classes() };
            let label = Added { name: self.label.into(), values: index };
            let mut added: Vec<Added<'_>> =
                self.names.iter().zip(&columns).map(|(name, v)| number_column(name, v)).collect();
            added.insert(if self.first { 0 } else { k }, label);
            if !self.first {
                added.push(number_column("entropy", &entropy));
            }
            added.push(Added { name: "votes".into(), values: AddedValues::Counts(&cast) });
            added.push(number_column("effective_votes", &effective));
            writer.write(&names_batch("item", names), &added)?;
            progress.advance(items.len() as u64);
        }
        Ok(writer.finish()?)
    }
}

fn write_sources(result: &Aggregation, location: &Location) -> Result<(), Failure> {
    let classes = result.classes();
    let given = |class: &String| {
        classes.iter().map(move |label| format!("p_{label}_given_{class}")).collect::<Vec<_>>()
    };
    let confusion: Vec<String> = classes.iter().flat_map(given).collect();
    let mut writer = TableWriter::create(location, None)?;
    let n = result.votes().n_sources();
    for start in (0..n).step_by(CHUNK) {
        let reports: Vec<SourceReport> =
            (start..(start + CHUNK).min(n)).map(|source| result.source(source)).collect();
        let numbers =
            |of: &dyn Fn(&SourceReport) -> f64| reports.iter().map(of).collect::<Vec<f64>>();
        let index = |of: &dyn Fn(&SourceReport) -> usize| -> Vec<u32> {
            reports.iter().map(|r| u32::try_from(of(r)).expect("classes fit into u32")).collect()
        };
        let (worst, biased) = (index(&|r| r.worst_class), index(&|r| r.bias.label));
        let guesses = index(&|r| usize::from(r.guesses));
        let yes_or_no = ["no".to_owned(), "yes".to_owned()];
        let columns: Vec<(&str, Vec<f64>)> = vec![
            ("accuracy", numbers(&|r| r.accuracy.value)),
            ("accuracy_low", numbers(&|r| r.accuracy.low)),
            ("accuracy_high", numbers(&|r| r.accuracy.high)),
            ("strength", numbers(&|r| r.strength)),
            ("worst_accuracy", numbers(&|r| r.right[r.worst_class].value)),
            ("bias", numbers(&|r| r.bias.excess)),
        ];
        let k = classes.len();
        let cells: Vec<Vec<f64>> =
            (0..k * k).map(|at| numbers(&|r| r.confusion[at / k][at % k])).collect();
        let named =
            |name, index, names| Added { name, values: AddedValues::Names { index, names } };
        let cast: Vec<u64> = reports.iter().map(|r| r.votes as u64).collect();
        let mut added = vec![Added { name: "votes".into(), values: AddedValues::Counts(&cast) }];
        added.extend(columns.iter().map(|(name, values)| number_column(name, values)));
        added.push(named("worst_class".into(), &worst, classes));
        added.push(named("bias_label".into(), &biased, classes));
        added.push(named("guessing".into(), &guesses, &yes_or_no));
        added
            .extend(confusion.iter().zip(&cells).map(|(name, values)| number_column(name, values)));
        writer.write(&names_batch("source", reports.iter().map(|r| r.source.as_str())), &added)?;
    }
    Ok(writer.finish()?)
}

fn draw(
    result: &Aggregation,
    scores: Option<&VoteComparison>,
    folder: &Path,
) -> Result<(), Failure> {
    output::make_folder(folder)?;
    draw_sources(result, folder)?;
    scores.map_or(Ok(()), |scores| draw_reliability(scores, folder))
}

fn report_json(result: &Aggregation, scores: Option<&VoteComparison>) -> Value {
    let mut report = result.to_json();
    report["sources"] = json!(result.sources().collect::<Vec<_>>());
    report["scores"] = json!(scores);
    report["warnings"] = json!(result.warnings().iter().map(warning_text).collect::<Vec<_>>());
    report
}

/// `fuse` with a model of votes.
pub(super) fn fuse_votes(
    model: &VoteModel,
    options: &FuseOptions,
    messages: &Messages,
) -> Result<(), Failure> {
    let input = &options.model;
    check_no_effect(
        input,
        &[("--explain", options.explain), ("--costs", options.costs.is_some())],
    )?;
    // The table of items does not have the columns of the votes, so it may not replace them.
    let file = Location::from(input.model.as_path());
    let inputs = [Input::new("the votes", &input.data), Input::new("the model", &file)];
    check_distinct(&inputs, &[("the output", &options.table.output)])?;
    let quiet = messages.is_quiet();
    let reading = model_reading(model, input, true);
    let (votes, fused) = stoppable(|| {
        let votes = read(&input.data, None, &reading, quiet)?;
        let fused = model.predict(&votes).map_err(Failure::in_data(&input.data))?;
        Ok::<_, Failure>((votes, fused))
    })?;
    warn(&fused.warnings);
    let names: Vec<String> = model.classes().iter().map(|class| format!("fused_{class}")).collect();
    let columns = LabelColumns {
        votes: &votes,
        probabilities: fused.table(),
        label: "predicted",
        names: &names,
        first: false,
    };
    let counted = model.counted_votes(&votes);
    columns.write(&options.table, |item| model.effective_votes(counted[item]), quiet)?;
    messages.note(format_args!(
        "fused {} votes on {} items with `{}` -> {}",
        votes.n_votes(),
        votes.n_items(),
        model.config().name(),
        options.table.output.output_name()
    ));
    Ok(())
}
