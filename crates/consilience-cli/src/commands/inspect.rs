//! `consilience inspect`: a model's parameters and what they mean.

use std::path::Path;

use consilience::methods::PairInsight;
use consilience::methods::shares::EvidenceCovariance;
use consilience::{Model, Result};
use consilience_io::ReadOptions;
use serde_json::{Value, json};

use super::pictures;
use crate::args::{CommonOptions, InspectOptions, ReportFormat};
use crate::data::{read_all, read_model};
use crate::error::{Failure, warning_text};
use crate::output::{self, Messages};

pub(crate) fn run(
    options: &InspectOptions,
    common: &CommonOptions,
    messages: &Messages,
) -> std::result::Result<(), Failure> {
    let model = read_model(&options.model)?;
    if let Some(folder) = &options.plots {
        draw(&model, options, folder, messages)?;
    }
    match common.format {
        ReportFormat::Json => output::print(&format!("{:#}", as_json(&model)?)),
        ReportFormat::Table => output::print_text(&model.to_string()),
    }
}

/// The shares with their intervals, the correlations that the model implies, and the data beside
/// them where there are any.
fn draw(
    model: &Model,
    options: &InspectOptions,
    folder: &Path,
    messages: &Messages,
) -> std::result::Result<(), Failure> {
    let pairs = model.implied_correlations()?;
    let covariance = model.evidence_covariance();
    if pairs.is_none() && covariance.is_none() && options.data.is_none() {
        return Err(Failure::message(format!(
            "method `{}` implies no correlations to draw; `--data FILE` draws those of a table",
            model.method_name()
        )));
    }
    output::make_folder(folder)?;
    if let Some(covariance) = covariance {
        pictures::draw_insight(model, covariance, folder)?;
    }
    if let Some(pairs) = &pairs {
        pictures::draw_implied(model.schema().classifiers(), pairs, folder)?;
    }
    if let Some(data) = &options.data {
        let input_format = model.input_format();
        let reading = ReadOptions { needs_labels: true, input_format, ..ReadOptions::default() };
        let outputs = read_all(data, model.schema(), &reading, messages.is_quiet())?;
        pictures::draw_classifiers(&outputs, pairs.as_deref().unwrap_or(&[]), folder)?;
    }
    messages.note(format_args!("pictures -> {}", folder.display()));
    Ok(())
}

fn as_json(model: &Model) -> Result<Value> {
    let file: Value = serde_json::from_str(&model.to_json()).expect("a model file is JSON");
    let training = model.training();
    Ok(json!({
        "method": model.method_name(),
        "classifiers": model.schema().classifiers(),
        "classes": model.schema().classes(),
        "class_prior": model.class_prior().probabilities(),
        "parameters": file["parameters"],
        "strength": strengths(model)?,
        "correlation": correlations(model)?,
        "observed_correlation": training.map(|t| &t.observed_correlations),
        "influence": model.influences()?,
        "effective_classifiers": model.effective_number()?,
        "shares": model.shares(),
        "copies": copies(model),
        "evidence_correlation": model.evidence_covariance().map(EvidenceCovariance::correlations),
        "intervals": model.insight_intervals(),
        "settings": file["settings"],
        "items_per_class": training.map(|t| t.statistics.class_counts().to_vec()),
        "diagnostics": model.posterior().map(|posterior| posterior.worst),
        "pair_diagnostics": file["pair_diagnostics"],
        "shared_diagnostics": file["shared_diagnostics"],
        "draws": model.draws().len(),
        "warnings": training.map_or_else(Vec::new, |t| {
            t.warnings.iter().map(warning_text).collect()
        }),
    }))
}

/// The names of classifiers with nearly the same evidence, by group.
fn copies(model: &Model) -> Vec<Vec<&String>> {
    let names = model.schema().classifiers();
    model.copies().iter().map(|group| group.iter().map(|k| &names[*k]).collect()).collect()
}

/// Expected evidence of each classifier; none for pools.
fn strengths(model: &Model) -> Result<Option<Vec<f64>>> {
    model.margins()?.map(|margins| margins.strengths(model.class_prior())).transpose()
}

/// Implied correlations of every pair, by true class and component; none for other methods.
fn correlations(model: &Model) -> Result<Option<Value>> {
    let names = model.schema().classifiers();
    let pair = |pair: &PairInsight| {
        let (a, b) = pair.between;
        json!({ "between": [names[a], names[b]], "by_class": pair.correlation, "mean": pair.mean })
    };
    Ok(model.implied_correlations()?.map(|pairs| pairs.iter().map(pair).collect()))
}
