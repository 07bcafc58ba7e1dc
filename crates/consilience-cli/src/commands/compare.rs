//! `consilience compare`: all methods beside each other on the user's own data.

use std::path::Path;

use consilience::evaluation::Weighting;
use consilience::evaluation::compare::{
    Candidate, CompareSettings, ComparedMethod, Comparison, Protocol, TestSize, compare_priors,
    named_methods, quick_methods,
};
use consilience::{InputFormat, MethodConfig, Outputs, PriorChoice};
use consilience_io::{Location, ReadOptions, check_writable, read_outputs, write_whole};
use serde_json::{Value, json};

use super::{pictures, votes};
use crate::args::{CommonOptions, CompareOptions, ProtocolName, ReportFormat};
use crate::error::Failure;
use crate::files::{Input, check_distinct};
use crate::output::{self, Messages, csv_cell, csv_number};
use crate::plots::file_name;
use crate::progress::{TerminalProgress, Unit, stoppable};

/// Folds unless told otherwise.
const FOLDS: usize = 10;

/// Random splits unless told otherwise: as many as the paper's.
const SPLITS: usize = 5;

pub(crate) fn run(
    options: &CompareOptions,
    common: &CommonOptions,
    messages: &Messages,
) -> Result<(), Failure> {
    if options.votes.votes {
        return votes::compare(options, common, messages);
    }
    let csv = options.csv.clone().map(Location::from);
    let split_csv = options.split_csv.clone().map(Location::from);
    let outputs = [("`--csv`", &csv), ("`--split-csv`", &split_csv)];
    let outputs: Vec<_> =
        outputs.iter().filter_map(|(what, file)| Some((*what, file.as_ref()?))).collect();
    check_distinct(&[Input::new("the data", &options.data)], &outputs)?;
    for location in csv.iter().chain(&split_csv) {
        check_writable(location)?;
    }
    if let Some(folder) = &options.plots
        && folder.exists()
        && !folder.is_dir()
    {
        return Err(Failure::message(format!("{}: it is not a folder", folder.display())));
    }
    let (outputs, comparisons) = stoppable(|| options.compare(common.seed(), messages))?;
    let named: Vec<Named<'_>> = options.class_prior.iter().zip(&comparisons).collect();
    for row in distinct_methods(&comparisons) {
        warn(row);
    }
    if let Some(csv) = &csv {
        write_whole(csv, csv_text(&named).as_bytes())?;
    }
    if let Some(csv) = &split_csv {
        write_whole(csv, split_csv_text(&named).as_bytes())?;
    }
    if let Some(folder) = &options.plots {
        draw(&named, &outputs, folder)?;
    }
    options.report(&comparisons, common.format)?;
    check_success(&comparisons)
}

/// An error if every method failed; the classifiers' own outputs are no methods.
fn check_success(comparisons: &[Comparison]) -> Result<(), Failure> {
    let rows = comparisons.iter().flat_map(|comparison| &comparison.methods);
    let mut fitted = rows.filter(|row| !row.method.starts_with("classifier:"));
    if fitted.all(|row| !row.failures.is_empty()) {
        return Err(Failure::message("every method failed; the warnings above give the reasons"));
    }
    Ok(())
}

/// A comparison with the class prior that was asked for.
type Named<'a> = (&'a PriorChoice, &'a Comparison);

impl CompareOptions {
    fn report(&self, comparisons: &[Comparison], format: ReportFormat) -> Result<(), Failure> {
        match format {
            ReportFormat::Table => {
                let texts: Vec<String> =
                    comparisons.iter().map(|one| text(one, &self.inference)).collect();
                output::print_text(&texts.join("\n"))
            }
            ReportFormat::Json => {
                let mut reports: Vec<Value> =
                    comparisons.iter().map(|one| report(one, self)).collect();
                let whole = if reports.len() == 1 { reports.remove(0) } else { json!(reports) };
                output::print(&format!("{whole:#}"))
            }
        }
    }
}

/// The pictures, in a folder for every class prior where there are several.
fn draw(named: &[Named<'_>], outputs: &Outputs, folder: &Path) -> Result<(), Failure> {
    output::make_folder(folder)?;
    for (prior, comparison) in named {
        let own =
            if named.len() == 1 { folder.to_path_buf() } else { folder.join(folder_name(prior)) };
        output::make_folder(&own)?;
        pictures::draw_comparison(comparison, &own)?;
    }
    pictures::draw_classifiers(outputs, &[], folder)
}

/// The name of a class prior as that of a folder; classes may have any name.
fn folder_name(prior: &PriorChoice) -> String {
    match prior {
        PriorChoice::Named(_) => file_name(&prior.to_string()),
        other => other.to_string(),
    }
}

/// The rows whose warnings and failures are printed, each method once: fits hardly ever depend on
/// the class prior.
fn distinct_methods(comparisons: &[Comparison]) -> Vec<&ComparedMethod> {
    let mut rows: Vec<&ComparedMethod> = Vec::new();
    for row in comparisons.iter().flat_map(|comparison| &comparison.methods) {
        if !rows.iter().any(|known| known.method == row.method) {
            rows.push(row);
        }
    }
    rows
}

impl CompareOptions {
    fn compare(
        &self,
        seed: u64,
        messages: &Messages,
    ) -> Result<(Outputs, Vec<Comparison>), Failure> {
        let reading =
            ReadOptions { needs_labels: true, ..self.reading.read_options(InputFormat::default()) };
        let outputs = read_outputs(&self.data, &reading)?;
        Messages::doubts(&outputs.doubts(), &self.data);
        let candidates = self.candidates(&outputs, seed)?;
        let settings = CompareSettings {
            protocol: self.protocol(),
            class_prior: PriorChoice::default(),
            weighting: if self.score_items { Weighting::Items } else { Weighting::ClassPrior },
            seed,
        };
        let progress = TerminalProgress::new(messages.is_quiet(), Unit::Steps);
        let comparisons =
            compare_priors(&outputs, &candidates, &settings, &self.class_prior, &progress)
                .map_err(Failure::in_data(&self.data))?;
        Ok((outputs, comparisons))
    }

    fn candidates(&self, outputs: &Outputs, seed: u64) -> Result<Vec<Candidate>, Failure> {
        // Methods without this kind of inference keep their own.
        let adapt = |config: &MethodConfig| {
            let config = config.with_seed(seed);
            config.with_option("inference", self.inference.as_str().into()).unwrap_or(config)
        };
        match &self.methods {
            None => Ok(quick_methods(outputs.schema(), outputs.n_labelled(), adapt)),
            Some(names) => Ok(named_methods(outputs.schema(), names, adapt)?),
        }
    }

    fn protocol(&self) -> Protocol {
        let default =
            if self.splits.is_some() { ProtocolName::Splits } else { ProtocolName::Folds };
        let splits = self.splits.unwrap_or(SPLITS);
        match self.protocol.unwrap_or(default) {
            ProtocolName::Folds => {
                Protocol::Folds { folds: self.folds.unwrap_or(FOLDS), repeats: self.repeats }
            }
            ProtocolName::Splits => {
                Protocol::Splits { splits, test: TestSize::Share(self.test_share) }
            }
            ProtocolName::Paper => Protocol::paper(splits),
        }
    }
}

/// Prints the failures and warnings of a method's fits.
fn warn(row: &ComparedMethod) {
    if let Some(failure) = row.failures.first() {
        let others = match row.failures.len() - 1 {
            0 => String::new(),
            n => format!(" (and on {n} others)"),
        };
        Messages::warning(format_args!(
            "`{}` failed on split {}{others}: {}",
            row.method, failure.split, failure.message
        ));
    }
    for warning in &row.warnings {
        Messages::warning(format_args!("`{}`: {warning}", row.method));
    }
}

fn text(comparison: &Comparison, inference: &str) -> String {
    let how = match inference {
        "map" => {
            "Parameters: posterior modes (`--inference two-step` for posterior means, slower)."
        }
        _ => "Parameters: posterior means.",
    };
    format!("{comparison}{how}\n")
}

fn report(comparison: &Comparison, options: &CompareOptions) -> Value {
    let mut value = serde_json::to_value(comparison).expect("scores are plain JSON values");
    value["inference"] = json!(options.inference);
    value
}

/// The columns of the rows as CSV: numbers of the JSON report.
const COLUMNS: [&str; 16] = [
    "log_loss",
    "log_loss_se",
    "brier",
    "brier_se",
    "accuracy",
    "accuracy_se",
    "entropy",
    "entropy_se",
    "ece",
    "ece_se",
    "difference",
    "difference_se",
    "difference_low",
    "difference_high",
    "fit_seconds",
    "fuse_seconds",
];

fn csv_text(comparisons: &[Named<'_>]) -> String {
    let mut text = format!("class_prior,method,{},best_single,failed_splits\n", COLUMNS.join(","));
    for (prior, method) in rows(comparisons) {
        let value = serde_json::to_value(method).expect("a row is plain JSON values");
        let number = |column: &&str| csv_number(value[*column].as_f64().unwrap_or(f64::NAN));
        let numbers: Vec<String> = COLUMNS.iter().map(number).collect();
        text += &format!(
            "{prior},{},{},{},{}\n",
            csv_cell(&method.method),
            numbers.join(","),
            method.best_single,
            method.failures.len()
        );
    }
    text
}

/// One line per method and split; none for methods that failed.
fn split_csv_text(comparisons: &[Named<'_>]) -> String {
    let mut text = "class_prior,method,split,log_loss,brier,accuracy,entropy,ece\n".to_owned();
    for (prior, method) in rows(comparisons) {
        for (i, scores) in method.splits.iter().enumerate() {
            let numbers = scores.named().map(|(_, value)| csv_number(value));
            let split = i + 1;
            text +=
                &format!("{prior},{},{split},{}\n", csv_cell(&method.method), numbers.join(","));
        }
    }
    text
}

/// All rows with the class prior as a cell.
fn rows<'a>(comparisons: &[Named<'a>]) -> Vec<(String, &'a ComparedMethod)> {
    let own = |(prior, comparison): &Named<'a>| {
        let prior = csv_cell(&prior.to_string());
        let methods: &'a [ComparedMethod] = &comparison.methods;
        methods.iter().map(move |method| (prior.clone(), method))
    };
    comparisons.iter().flat_map(own).collect()
}
