//! `consilience demo`: the whole job on embedded data.
//!
//! Three image classifiers tell cats, dogs and foxes apart. Two of them, `resnet50` and
//! `resnet101`, are trained alike; `vit` is trained differently. The table was drawn from
//! `demo/truth.json`; the recipe is in `demo/README.md`.

use std::path::Path;

use consilience::evaluation::{
    BootstrapSettings, Evaluation, EvaluationSettings, Predictions, ReliabilityBin, evaluate_all,
    meta_classifiers, reliability, single_classifiers,
};
use consilience::methods::fuse;
use consilience::{FitOptions, MethodConfig, Model, Outputs};
use consilience_io::{Location, ReadOptions, read_outputs, write_whole};
use consilience_report::{Report, ReportOptions};

use super::fit;
use super::fuse::Rule;
use super::pictures::{self, DrawnMethod};
use crate::args::{CommonOptions, DemoOptions, ReportFormat, TableOutput};
use crate::error::Failure;
use crate::output::{self, Messages};
use crate::plots::Bar;
use crate::progress::{TerminalProgress, Unit};

const PHOTOS: &str = include_str!("../../demo/photos.csv");

pub(crate) fn run(
    options: &DemoOptions,
    common: &CommonOptions,
    messages: &Messages,
) -> Result<(), Failure> {
    let folder = options.output.as_path();
    output::make_folder(folder)?;
    let at = |name: &str| Location::from(folder.join(name));
    let (train, test) = split(PHOTOS);
    write_whole(&at("train.csv"), train.as_bytes())?;
    write_whole(&at("test.csv"), test.as_bytes())?;

    let reading = ReadOptions::default();
    let (train, test) =
        (read_outputs(&at("train.csv"), &reading)?, read_outputs(&at("test.csv"), &reading)?);
    let progress = TerminalProgress::new(messages.is_quiet(), Unit::Steps);
    let method = MethodConfig::default().with_seed(common.seed());
    let model = Model::fit_with(method, &train, &FitOptions::default().with_progress(&progress))?;
    write_whole(&at("model.json"), model.to_json().as_bytes())?;
    let table = TableOutput { output: at("fused.csv"), output_format: None };
    let silent = Messages::new(true);
    let source = (&at("test.csv"), &reading);
    let (fusion, prior) = (model.fusion(), model.class_prior());
    let rule = Rule { model: &model, fusion, prior, prior_note: "", explain: false, costs: None };
    rule.fuse_table(source, &table, &silent)?;

    let (evaluation, reliabilities) = compare(&model, &train, &test, common.seed(), &progress)?;
    drop(progress);
    draw(&evaluation, &reliabilities, &test, &folder.join("pictures"))?;
    let json = serde_json::to_value(&evaluation).expect("scores are plain JSON values");
    write_whole(&at("comparison.json"), format!("{json:#}\n").as_bytes())?;
    write_whole(&at("report.md"), report(&model, &evaluation)?.as_bytes())?;
    write_whole(&at(PAGE), page(&model, &test, common.seed())?.as_bytes())?;
    match common.format {
        ReportFormat::Json => output::print(&format!("{json:#}")),
        ReportFormat::Table => output::print_text(&story(&model, &evaluation, folder)?),
    }
}

/// Every second photo for training, the others for testing.
fn split(table: &str) -> (String, String) {
    let (header, rows) = table.split_once('\n').expect("the embedded table has a header");
    let part = |first: usize| -> String {
        let lines = rows.lines().skip(first).step_by(2).map(|line| format!("{line}\n"));
        format!("{header}\n{}", lines.collect::<String>())
    };
    (part(0), part(1))
}

/// The methods that `auto` is compared with.
const BASELINES: [&str; 6] =
    ["stacking", "correlated", "independent", "opinion-pool", "linear-pool", "log-pool"];

/// A baseline. The mode of the correlated model is enough for a table of scores, and faster.
fn baseline(name: &str, seed: u64) -> consilience::Result<MethodConfig> {
    let config = name.parse::<MethodConfig>()?.with_seed(seed);
    Ok(if config.needs_several() { config.at_mode() } else { config })
}

/// The name of a method and its reliability diagram.
type Reliability = (String, Vec<ReliabilityBin>);

/// All methods on the test photos, best first.
fn compare(
    model: &Model,
    train: &Outputs,
    test: &Outputs,
    seed: u64,
    progress: &TerminalProgress,
) -> Result<(Evaluation, Vec<Reliability>), Failure> {
    let prior = model.class_prior();
    let predict = |model: &Model| -> Result<Predictions, Failure> {
        let probabilities = fuse(model.fusion(), test, prior)?.all().to_vec();
        Ok(Predictions { name: model.method_name(), probabilities })
    };
    let mut methods = vec![predict(model)?];
    let options = FitOptions::default().with_progress(progress);
    for name in BASELINES {
        methods.push(predict(&Model::fit_with(baseline(name, seed)?, train, &options)?)?);
    }
    methods.extend(single_classifiers(test, prior));
    methods.extend(meta_classifiers(model, test, prior)?);
    let bootstrap = BootstrapSettings { seed, ..BootstrapSettings::default() };
    let settings = EvaluationSettings { bootstrap, ..EvaluationSettings::default() };
    let labels = test.require_labels()?;
    let reliable = |own: &Predictions| -> Result<Reliability, Failure> {
        Ok((own.name.clone(), reliability(own, &labels, prior, settings.weighting)?))
    };
    let reliabilities = methods.iter().map(reliable).collect::<Result<Vec<_>, Failure>>()?;
    let mut evaluation = evaluate_all(methods, test, prior, &settings, progress)?;
    evaluation
        .methods
        .sort_by(|a, b| a.overall.log_loss.value.total_cmp(&b.overall.log_loss.value));
    Ok((evaluation, reliabilities))
}

/// The methods beside each other, and the classifiers against each other.
fn draw(
    evaluation: &Evaluation,
    reliabilities: &[Reliability],
    test: &Outputs,
    folder: &Path,
) -> Result<(), Failure> {
    output::make_folder(folder)?;
    let single = evaluation.methods.iter().position(|row| row.method.contains(':'));
    let rows = evaluation.methods.iter().enumerate();
    let drawn: Vec<DrawnMethod<'_>> = rows
        .map(|(i, row)| {
            let loss = row.overall.log_loss;
            let own = reliabilities.iter().find(|(name, _)| *name == row.method);
            DrawnMethod {
                name: &row.method,
                log_loss: Bar::with_interval(loss.value, Some(&[loss.low, loss.high])),
                best_single: Some(i) == single,
                reliability: own.map_or(&[][..], |(_, bins)| bins),
            }
        })
        .collect();
    let title = format!("{} photos", evaluation.n_items);
    pictures::draw_methods(&drawn, &title, "log-loss in nats, with 95 % interval", folder)?;
    pictures::draw_classifiers(test, &[], folder)
}

/// File of the page.
const PAGE: &str = "report.html";

/// The page that `consilience report` writes.
fn page(model: &Model, test: &Outputs, seed: u64) -> Result<String, Failure> {
    let title = Some("Three image classifiers, fused".to_owned());
    let data = Some("test.csv".to_owned());
    let options = ReportOptions { title, data, seed, ..ReportOptions::default() };
    Ok(Report::of(model, test, &options)?.html())
}

const INTRODUCTION: &str = "Three image classifiers estimate how probable cat, dog and fox are for each photo. \
`resnet50` and\n`resnet101` are trained alike and make similar mistakes. `vit` is trained differently.";

fn explanation(evaluation: &Evaluation) -> String {
    let loss = |name: &str| {
        let row = evaluation.methods.iter().find(|row| row.method == name);
        row.map_or(f64::NAN, |row| row.overall.log_loss.value)
    };
    let entropy = |name: &str| {
        let row = evaluation.methods.iter().find(|row| row.method == name);
        row.map_or(f64::NAN, |row| row.overall.entropy.value)
    };
    format!(
        "`independent` models every classifier but counts the evidence that `resnet50` and `resnet101`\n\
         share twice, so it is overconfident: its mean entropy is {:.3} and its log-loss {:.3}, while the\n\
         two are equal for a calibrated method. `correlated` counts that evidence once ({:.3} and {:.3});\n\
         it is the best possible model here, because these photos were simulated from it. `auto`\n\
         ({:.3} and {:.3}) makes no such assumption: use it to predict on real data.",
        entropy("independent"),
        loss("independent"),
        entropy("correlated"),
        loss("correlated"),
        entropy("auto"),
        loss("auto"),
    )
}

fn story(model: &Model, evaluation: &Evaluation, folder: &Path) -> Result<String, Failure> {
    let folder = folder.display();
    Ok(format!(
        "{INTRODUCTION}\n\nFit on every second photo:\n\n{}\n\
         {} other photos, fused and scored (log-loss in nats, lower is better):\n\n{}\n{}\n\n\
         Written to {folder}: train.csv, test.csv, model.json, fused.csv, comparison.json, report.md, pictures.\n\
         Next: consilience inspect {folder}/model.json\n      \
         consilience evaluate {folder}/model.json {folder}/test.csv --per-class\n\n\
         The report, to open in a browser: {folder}/{PAGE}\n",
        fit::summary(model, &format!("{folder}/model.json"))?,
        evaluation.n_items,
        evaluation.table(),
        explanation(evaluation),
    ))
}

fn report(model: &Model, evaluation: &Evaluation) -> Result<String, Failure> {
    let cells = evaluation.cells();
    Ok(format!(
        "# Three image classifiers, fused\n\n{INTRODUCTION}\n\n## Fit\n\n```text\n{}```\n\n\
         ## Scores on {} other photos\n\n{}\n{}\n",
        fit::summary(model, "model.json")?,
        evaluation.n_items,
        output::markdown(&cells[0], &cells[1..]),
        explanation(evaluation),
    ))
}
