//! `consilience compare`: all methods beside each other on the user's own data.

use consilience::evaluation::Weighting;
use consilience::evaluation::compare::{
    Candidate, CompareSettings, ComparedMethod, Comparison, Protocol, TestSize, all_methods,
    by_mode, compare, named_methods,
};
use consilience::fusion::correlated::learning::CorrelatedInference;
use consilience::{DEFAULT_FLOOR, FitConfig, Outputs};
use consilience_io::{Location, ReadOptions, check_writable, read_outputs, write_whole};
use serde_json::{Value, json};

use super::pictures;
use crate::args::{CommonOptions, CompareOptions, InferenceName, ProtocolName, ReportFormat};
use crate::error::Failure;
use crate::output::{self, Talk, csv_cell, csv_number, weighting_sentence};
use crate::progress::{Progress, Unit, stoppable};

/// Random splits unless told otherwise: as many as the paper's.
const SPLITS: usize = 5;

pub(crate) fn run(
    options: &CompareOptions,
    common: &CommonOptions,
    talk: &Talk,
) -> Result<(), Failure> {
    let csv = options.csv.clone().map(Location::from);
    csv.as_ref().map_or(Ok(()), check_writable)?;
    if let Some(folder) = &options.plots
        && folder.exists()
        && !folder.is_dir()
    {
        return Err(Failure::message(format!("{}: it is not a folder", folder.display())));
    }
    let (outputs, comparison) = stoppable(|| options.compare(common.seed, talk))?;
    for row in &comparison.methods {
        tell(row);
    }
    if let Some(csv) = &csv {
        write_whole(csv, csv_text(&comparison).as_bytes())?;
    }
    if let Some(folder) = &options.plots {
        output::make_folder(folder)?;
        pictures::draw_comparison(&comparison, folder)?;
        pictures::draw_classifiers(&outputs, &[], folder)?;
    }
    match common.format {
        ReportFormat::Table => output::print(&text(&comparison, options.inference)),
        ReportFormat::Json => output::print(&format!("{:#}", report(&comparison, options))),
    }
}

impl CompareOptions {
    fn compare(&self, seed: u64, talk: &Talk) -> Result<(Outputs, Comparison), Failure> {
        let reading =
            ReadOptions { needs_labels: true, ..self.reading.read_options(DEFAULT_FLOOR) };
        let outputs = read_outputs(&self.data, &reading)?;
        let candidates = self.candidates(&outputs, seed)?;
        let settings = CompareSettings {
            protocol: self.protocol(),
            class_prior: self.class_prior.clone(),
            weighting: if self.score_items { Weighting::Items } else { Weighting::ClassPrior },
            seed,
        };
        let progress = Progress::new(talk.is_quiet(), Unit::Steps);
        let comparison = compare(&outputs, &candidates, &settings, &progress)
            .map_err(Failure::in_data(&self.data))?;
        Ok((outputs, comparison))
    }

    fn candidates(&self, outputs: &Outputs, seed: u64) -> Result<Vec<Candidate>, Failure> {
        let floor = self.reading.floor.unwrap_or(DEFAULT_FLOOR);
        let mut config = FitConfig { floor, ..FitConfig::default() }.with_seed(seed);
        match self.inference {
            InferenceName::Map => config = by_mode(&config),
            InferenceName::Joint => config.correlated.inference = CorrelatedInference::Joint,
            InferenceName::Posterior | InferenceName::TwoStep => {}
        }
        match &self.methods {
            None => Ok(all_methods(outputs.schema(), &config)),
            Some(names) => Ok(named_methods(outputs.schema(), names, &config)?),
        }
    }

    fn protocol(&self) -> Protocol {
        let default =
            if self.splits.is_some() { ProtocolName::Splits } else { ProtocolName::Folds };
        let splits = self.splits.unwrap_or(SPLITS);
        match self.protocol.unwrap_or(default) {
            ProtocolName::Folds => Protocol::Folds { folds: self.folds, repeats: self.repeats },
            ProtocolName::Splits => {
                Protocol::Splits { splits, test: TestSize::Share(self.test_share) }
            }
            ProtocolName::Paper => Protocol::paper(splits),
        }
    }
}

/// What a method's fits complained of.
fn tell(row: &ComparedMethod) {
    if let Some(failure) = row.failures.first() {
        let others = match row.failures.len() - 1 {
            0 => String::new(),
            n => format!(" (and on {n} others)"),
        };
        Talk::warning(format_args!(
            "`{}` failed on split {}{others}: {}",
            row.method, failure.split, failure.message
        ));
    }
    for warning in &row.warnings {
        Talk::warning(format_args!("`{}`: {warning}", row.method));
    }
}

const HEADER: [&str; 10] = [
    "method",
    "log-loss",
    "± se",
    "beyond best (95 %)",
    "Brier",
    "accuracy",
    "entropy",
    "calib. error",
    "fit s",
    "fuse s",
];

fn text(comparison: &Comparison, inference: InferenceName) -> String {
    let rows: Vec<Vec<String>> = comparison.methods.iter().map(row).collect();
    let Comparison { n_items, protocol, .. } = comparison;
    let how = match inference {
        InferenceName::Map => {
            "Dirichlets and what classifiers share: posterior modes \
             (`--inference two-step` for posterior means, slower)."
        }
        _ => "Dirichlets and what classifiers share: posterior means.",
    };
    format!(
        "{}\n{n_items} items, {protocol}. {}\n{how}\nLog-loss in nats. Seconds: the first fit, and \
         fusing its test items. *: best single classifier.\n",
        output::table(&HEADER, &rows),
        weighting_sentence(comparison.weighting, &comparison.classes, &comparison.class_prior),
    )
}

fn row(method: &ComparedMethod) -> Vec<String> {
    let mark = if method.best_single { " *" } else { "" };
    let name = format!("{}{mark}", method.method);
    if !method.failures.is_empty() {
        let mut cells = vec![name, "failed".to_owned()];
        cells.resize(HEADER.len(), String::new());
        return cells;
    }
    let difference = method.difference;
    let beyond = match difference.mean {
        0.0 => "-".to_owned(),
        mean if difference.low.is_nan() => format!("{mean:.4}"),
        mean => format!("{mean:.4} ({:.4} to {:.4})", difference.low, difference.high),
    };
    let scores = &method.scores;
    let number = |value: f64| format!("{value:.4}");
    let seconds = |value: f64| if value == 0.0 { "-".to_owned() } else { format!("{value:.3}") };
    vec![
        name,
        number(scores.log_loss.mean),
        if scores.log_loss.se.is_nan() { "-".into() } else { number(scores.log_loss.se) },
        beyond,
        number(scores.brier.mean),
        number(scores.accuracy.mean),
        number(scores.entropy.mean),
        number(scores.ece.mean),
        seconds(method.fit_seconds),
        seconds(method.fuse_seconds),
    ]
}

fn report(comparison: &Comparison, options: &CompareOptions) -> Value {
    let mut value = serde_json::to_value(comparison).expect("scores are plain JSON values");
    value["inference"] = json!(match options.inference {
        InferenceName::Map => "map",
        InferenceName::Joint => "joint",
        InferenceName::Posterior | InferenceName::TwoStep => "two-step",
    });
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

pub(super) fn csv_text(comparison: &Comparison) -> String {
    let mut text = format!("method,{},best_single,failed_splits\n", COLUMNS.join(","));
    for method in &comparison.methods {
        let value = serde_json::to_value(method).expect("a row is plain JSON values");
        let number = |column: &&str| csv_number(value[*column].as_f64().unwrap_or(f64::NAN));
        let numbers: Vec<String> = COLUMNS.iter().map(number).collect();
        text += &format!(
            "{},{},{},{}\n",
            csv_cell(&method.method),
            numbers.join(","),
            method.best_single,
            method.failures.len()
        );
    }
    text
}
