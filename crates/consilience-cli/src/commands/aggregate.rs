//! `consilience aggregate`: labels from votes; and `fuse` with a model of votes.

use std::path::Path;

use consilience::votes::{
    Aggregation, HeldOut, SourceReport, VoteComparison, VoteModel, Votes, compare_votes,
};
use consilience::{Progress, Warning};
use consilience_io::{
    Added, AddedValues, Layout, Location, TableWriter, VoteReadOptions, check_writable,
    names_batch, read_item_labels, read_votes, write_whole,
};
use consilience_numerics::simplex;
use serde_json::{Value, json};

use super::pictures::{draw_reliability, draw_sources};
use super::stream::number_column;
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
        check_distinct(&inputs, &outputs)?;
        for (_, output) in outputs {
            check_writable(output)?;
        }
        Ok(())
    }

    /// The scores of `--held-out` and `--compare`.
    fn scores(
        &self,
        result: &Aggregation,
        seed: u64,
        progress: &dyn Progress,
    ) -> Result<Option<VoteComparison>, Failure> {
        if self.held_out.is_none() && self.compare.is_empty() {
            return Ok(None);
        }
        let votes = result.votes();
        let held_out = match &self.held_out {
            Some(file) => HeldOut::Labels(read_labels(file, votes)?),
            None if votes.n_gold() < 2 => {
                return Err(Failure::Message {
                    message: "`--compare` needs labels to score methods on".into(),
                    hint: Some("give `--held-out` labels, or at least two gold labels"),
                });
            }
            None => HeldOut::Folds { folds: 5, seed },
        };
        let mut methods = vec![result.model().config().clone()];
        for method in &self.compare {
            if !methods.iter().any(|known| known.name() == method.name()) {
                methods.push(method.clone().with_seed(seed));
            }
        }
        let scores = compare_votes(votes, &held_out, &methods, progress);
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

/// Reads votes with a progress bar.
fn read(
    votes: &Location,
    gold: Option<&Location>,
    options: &VoteReadOptions,
    quiet: bool,
) -> Result<Votes, Failure> {
    let bar = TerminalProgress::new(quiet, Unit::Bytes);
    let mut begun = false;
    let read = read_votes(votes, gold, options, |bytes, total| {
        if !std::mem::replace(&mut begun, true) {
            bar.begin("reading", total.unwrap_or(0));
        }
        bar.set(bytes);
        bar.check()
    });
    read.map_err(|error| match error {
        consilience_io::Error::Core(error) => Failure::in_data(votes)(error),
        other => other.into(),
    })
}

/// The labels of a second table, by item of the votes.
fn read_labels(file: &Location, votes: &Votes) -> Result<Vec<Option<usize>>, Failure> {
    let items: std::collections::HashMap<&str, usize> =
        votes.items().iter().map(|name| &**name).zip(0..).collect();
    let mut labels = vec![None; votes.n_items()];
    read_item_labels(file, |item, label| {
        // `1.0` is `1`, as in tables of votes.
        let plain = |text: &str| text.strip_suffix(".0").unwrap_or(text).to_owned();
        let same = |class: &String| class == label || plain(class) == plain(label);
        let class = votes.classes().iter().position(same);
        let class = class.ok_or_else(|| consilience::Error::UnknownVote {
            item: item.to_owned(),
            label: label.to_owned(),
            classes: votes.classes().to_vec(),
        })?;
        if let Some(&item) = items.get(item) {
            labels[item] = Some(class);
        }
        Ok(())
    })?;
    Ok(labels)
}

fn warn(warnings: &[Warning]) {
    warnings.iter().for_each(|warning| Messages::warning(warning_text(warning)));
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
    let votes = result.votes();
    let shares = votes.classes().iter().zip(result.class_shares());
    let shares: Vec<Value> = shares
        .map(|(class, s)| json!({"class": class, "share": s.value, "low": s.low, "high": s.high}))
        .collect();
    let name = |source: usize| &*votes.sources()[source];
    let similar = result.similar_sources().iter().map(|pair| {
        json!({
            "between": [name(pair.between.0), name(pair.between.1)],
            "common": pair.common, "agree": pair.agree, "expected": pair.expected,
        })
    });
    json!({
        "method": result.model().config().name(),
        "settings": result.model().config(),
        "classes": votes.classes(),
        "items": votes.n_items(),
        "votes": votes.n_votes(),
        "gold_labels": votes.n_gold(),
        "passes": result.passes(),
        "converged": result.converged(),
        "rho": result.rho(),
        "class_shares": shares,
        "mean_accuracy": result.mean_accuracy(),
        "sources": result.sources().collect::<Vec<_>>(),
        "similar_sources": similar.collect::<Vec<_>>(),
        "gold_check": result.check(),
        "diagnostics": result.sampling(),
        "scores": scores,
        "warnings": result.warnings().iter().map(warning_text).collect::<Vec<_>>(),
    })
}

/// `fuse` with a model of votes.
pub(super) fn fuse_votes(
    model: &VoteModel,
    options: &FuseOptions,
    messages: &Messages,
) -> Result<(), Failure> {
    let input = &options.model;
    let without = [
        ("--explain", options.explain),
        ("--costs", options.costs.is_some()),
        ("--class-prior", input.class_prior.is_some()),
        ("--predictive", input.predictive),
    ];
    if let Some((option, _)) = without.iter().find(|(_, given)| *given) {
        return Err(Failure::message(format!(
            "{}: `{option}` has no effect on a model of votes",
            input.model.display()
        )));
    }
    // The table of items does not have the columns of the votes, so it may not replace them.
    let file = Location::from(input.model.as_path());
    let inputs = [Input::new("the votes", &input.data), Input::new("the model", &file)];
    check_distinct(&inputs, &[("the output", &options.table.output)])?;
    let quiet = messages.is_quiet();
    let layout = match input.reading.layout {
        Layout::WideLabels => Layout::WideLabels,
        _ => Layout::Long,
    };
    let reading = VoteReadOptions {
        format: input.reading.input_format,
        layout,
        classes: Some(model.classes().to_vec()),
        ignores_gold: true,
    };
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
    columns.write(&options.table, |item| model.effective_votes(votes.votes_on(item)), quiet)?;
    messages.note(format_args!(
        "fused {} votes on {} items with `{}` -> {}",
        votes.n_votes(),
        votes.n_items(),
        model.config().name(),
        options.table.output.output_name()
    ));
    Ok(())
}
