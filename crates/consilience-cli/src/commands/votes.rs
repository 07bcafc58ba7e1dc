//! Votes in commands: reading them, and `evaluate` and `compare`.

use consilience::votes::{
    HeldOut, VoteComparison, VoteConfig, VoteModel, VoteScores, Votes, compare_votes,
};
use consilience::{Progress, Warning};
use consilience_io::{
    Layout, Location, VoteReadOptions, check_writable, read_item_labels, read_votes, write_whole,
};

use super::pictures::draw_reliability;
use crate::args::{CommonOptions, CompareOptions, EvaluateOptions, ModelOptions, ReportFormat};
use crate::error::{Failure, warning_text};
use crate::files::{Input, check_distinct};
use crate::output::{self, Messages, csv_cell, csv_number};
use crate::progress::{TerminalProgress, Unit, stoppable};

/// Folds of the gold items in which methods are scored.
pub(super) const FOLDS: usize = 5;

/// Reads votes with a progress bar.
pub(super) fn read(
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
    let mut labels = vec![None; votes.n_items()];
    read_item_labels(file, |item, label| votes.set_label(&mut labels, item, label))?;
    Ok(labels)
}

pub(super) fn warn(warnings: &[Warning]) {
    warnings.iter().for_each(|warning| Messages::warning(warning_text(warning)));
}

/// How votes are read for a model.
pub(super) fn model_reading(
    model: &VoteModel,
    input: &ModelOptions,
    ignores_gold: bool,
) -> VoteReadOptions {
    VoteReadOptions {
        format: input.reading.input_format,
        layout: layout(input.reading.layout),
        classes: Some(model.classes().to_vec()),
        ignores_gold,
    }
}

/// The layout of votes: long unless it is that of wide labels.
fn layout(given: Layout) -> Layout {
    match given {
        Layout::WideLabels => Layout::WideLabels,
        _ => Layout::Long,
    }
}

/// Refuses options that have no effect on a model of votes: these, and those of every model.
pub(super) fn check_no_effect(input: &ModelOptions, own: &[(&str, bool)]) -> Result<(), Failure> {
    let all = [("--class-prior", input.class_prior.is_some()), ("--predictive", input.predictive)];
    match own.iter().chain(&all).find(|(_, given)| *given) {
        None => Ok(()),
        Some((option, _)) => Err(Failure::message(format!(
            "{}: `{option}` has no effect on a model of votes",
            input.model.display()
        ))),
    }
}

/// The labels that score methods: those of a file, or the gold labels in folds.
pub(super) fn held_out(
    votes: &Votes,
    file: Option<&Location>,
    folds: usize,
    seed: u64,
) -> Result<HeldOut, Failure> {
    match file {
        Some(file) => Ok(HeldOut::Labels(read_labels(file, votes)?)),
        None if votes.n_gold() < 2 => Err(Failure::Message {
            message: "there are no labels to score methods on".into(),
            hint: Some("give `--held-out` labels, or at least two gold labels"),
        }),
        None => Ok(HeldOut::Folds { folds, seed }),
    }
}

/// `evaluate` with a model of votes.
pub(super) fn evaluate(
    model: &VoteModel,
    options: &EvaluateOptions,
    common: &CommonOptions,
    messages: &Messages,
) -> Result<(), Failure> {
    let input = &options.model;
    check_no_effect(
        input,
        &[("--score-items", options.score_items), ("--per-class", options.per_class)],
    )?;
    let reading = model_reading(model, input, false);
    let quiet = messages.is_quiet();
    let (votes, scores) = stoppable(|| {
        let votes = read(&input.data, options.gold.as_ref(), &reading, quiet)?;
        if votes.n_gold() == 0 {
            return Err(Failure::Message {
                message: format!("{}: no item has a gold label", input.data),
                hint: Some("give the true labels with `--gold`, or in a column `gold`"),
            });
        }
        let progress = TerminalProgress::new(quiet, Unit::Steps);
        let scores = model.evaluate(&votes, &progress).map_err(Failure::in_data(&input.data))?;
        Ok::<_, Failure>((votes, scores))
    })?;
    warn(votes.warnings());
    report(&scores, common.format)
}

/// `compare --votes`.
pub(super) fn compare(
    options: &CompareOptions,
    common: &CommonOptions,
    messages: &Messages,
) -> Result<(), Failure> {
    let csv = options.csv.clone().map(Location::from);
    let mut inputs = vec![Input::new("the votes", &options.data)];
    inputs.extend(options.votes.gold.iter().map(|gold| Input::new("the gold labels", gold)));
    inputs.extend(
        options.votes.held_out.iter().map(|labels| Input::new("the held-out labels", labels)),
    );
    let outputs: Vec<_> = csv.iter().map(|csv| ("`--csv`", csv)).collect();
    check_distinct(&inputs, &outputs)?;
    csv.iter().try_for_each(check_writable)?;
    let (votes, scores) = stoppable(|| options.compare_votes(common.seed(), messages))?;
    warn(votes.warnings());
    if let Some(csv) = &csv {
        write_whole(csv, csv_text(&scores).as_bytes())?;
    }
    if let Some(folder) = &options.plots {
        output::make_folder(folder)?;
        draw_reliability(&scores, folder)?;
    }
    report(&scores, common.format)
}

impl CompareOptions {
    fn compare_votes(
        &self,
        seed: u64,
        messages: &Messages,
    ) -> Result<(Votes, VoteComparison), Failure> {
        let reading = VoteReadOptions {
            format: self.reading.input_format,
            layout: layout(self.reading.layout),
            classes: self.reading.classes.clone(),
            ignores_gold: false,
        };
        let quiet = messages.is_quiet();
        let votes = read(&self.data, self.votes.gold.as_ref(), &reading, quiet)?;
        let folds = self.folds.unwrap_or(FOLDS);
        let held_out = held_out(&votes, self.votes.held_out.as_ref(), folds, seed)?;
        let methods = self.vote_methods(&votes, seed)?;
        let progress = TerminalProgress::new(quiet, Unit::Steps);
        let scores = compare_votes(&votes, &held_out, &methods, &progress)
            .map_err(Failure::in_data(&self.data))?;
        Ok((votes, scores))
    }

    /// The methods that were named, or all that suit the votes.
    fn vote_methods(&self, votes: &Votes, seed: u64) -> Result<Vec<VoteConfig>, Failure> {
        let all = || {
            let suits = |name: &&str| *name != "dbcc" || votes.n_gold() > 0;
            VoteConfig::METHODS.iter().map(|(name, _)| *name).filter(suits).collect()
        };
        let names: Vec<&str> = match &self.methods {
            None => all(),
            Some(names) => names.iter().map(String::as_str).collect(),
        };
        let method = |name: &&str| Ok(name.parse::<VoteConfig>()?.with_seed(seed));
        names.iter().map(method).collect()
    }
}

fn report(scores: &VoteComparison, format: ReportFormat) -> Result<(), Failure> {
    match format {
        ReportFormat::Table => output::print_text(&scores.to_string()),
        ReportFormat::Json => output::print(&format!("{:#}", serde_json::json!(scores))),
    }
}

/// The rows as CSV, with the paired differences from the baselines.
fn csv_text(scores: &VoteComparison) -> String {
    let mut text = String::from(
        "method,items,accuracy,accuracy_se,log_loss,log_loss_se,brier,brier_se,ece,\
         log_loss_minus_majority,log_loss_minus_majority_se,log_loss_minus_dawid_skene,\
         log_loss_minus_dawid_skene_se\n",
    );
    for row in &scores.methods {
        let means = [row.accuracy, row.log_loss, row.brier].map(|score| [score.mean, score.se]);
        let [majority, dawid_skene] =
            ["majority", "dawid-skene"].map(|baseline| difference(row, baseline));
        let numbers: Vec<f64> = means
            .concat()
            .into_iter()
            .chain([row.ece])
            .chain(majority)
            .chain(dawid_skene)
            .collect();
        let cells: Vec<String> = numbers.into_iter().map(csv_number).collect();
        text += &format!("{},{},{}\n", csv_cell(&row.method), scores.items, cells.join(","));
    }
    text
}

/// The difference of log-losses from a baseline and its standard error.
fn difference(row: &VoteScores, baseline: &str) -> [f64; 2] {
    let found = row.against.iter().find(|other| other.baseline == baseline);
    found.map_or([f64::NAN; 2], |other| [other.log_loss.mean, other.log_loss.se])
}
