//! `consilience inspect`: a model's parameters and what they mean.

mod rivals;
mod shared;

use std::path::Path;

use consilience::methods::Fusion;
use consilience::methods::Method;
use consilience::methods::auto::AutoParameters;
use consilience::methods::correlated::CorrelatedMethod;
use consilience::methods::independent::Alpha;
use consilience::methods::pools::Pool;
use consilience::methods::stacking::LogisticParameters;
use consilience::{DEFAULT_FLOOR, InputFormat, Model, Result};
use consilience_io::ReadOptions;
use correlated_dirichlet::Dirichlet;
use serde_json::{Value, json};

use super::fit::worst_of_pairs;
use super::pictures;
use crate::args::{CommonOptions, InspectOptions, ReportFormat};
use crate::data::{read_all, read_model};
use crate::error::{Failure, warning_text};
use crate::output::{self, Messages};
use rivals::{bcc_text, logarithms_text, normal_mixture_text};
use shared::{correlation_text, correlations, effective_number_text, shared_text, tree_text};

pub(crate) fn run(
    options: &InspectOptions,
    common: &CommonOptions,
    messages: &Messages,
) -> std::result::Result<(), Failure> {
    let model = read_model(&options.model)?;
    if let Some(folder) = &options.plots {
        draw(&model, options, folder, messages)?;
    }
    let report = match common.format {
        ReportFormat::Json => format!("{:#}", as_json(&model)?),
        ReportFormat::Table => as_text(&model)?,
    };
    output::print(&report)
}

/// The correlations that the model implies, and the data beside them where there are any.
fn draw(
    model: &Model,
    options: &InspectOptions,
    folder: &Path,
    messages: &Messages,
) -> std::result::Result<(), Failure> {
    let pairs = model.implied_correlations()?;
    if pairs.is_none() && options.data.is_none() {
        return Err(Failure::message(format!(
            "method `{}` implies no correlations to draw; `--data FILE` draws those of a table",
            model.method_name()
        )));
    }
    output::make_folder(folder)?;
    if let Some(pairs) = &pairs {
        pictures::draw_implied(model.schema().classifiers(), pairs, folder)?;
    }
    if let Some(data) = &options.data {
        let floor = model.settings().map_or(DEFAULT_FLOOR, |settings| settings.floor);
        let input_format = InputFormat { floor, ..InputFormat::default() };
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
        "shares": model.evidence_covariance().map(|covariance| covariance.shares(|_| true)),
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

/// Expected evidence of each classifier; none for pools.
fn strengths(model: &Model) -> Result<Option<Vec<f64>>> {
    model.margins()?.map(|margins| margins.strengths(model.class_prior())).transpose()
}

fn as_text(model: &Model) -> Result<String> {
    let schema = model.schema();
    let prior = schema.classes().iter().zip(model.class_prior().probabilities());
    let prior: Vec<String> = prior.map(|(class, p)| format!("{class} {p:.4}")).collect();
    let mut text =
        format!("method       {}\nclass prior  {}\n", model.method_name(), prior.join(", "));
    if let Some(training) = model.training() {
        let items: u64 = training.statistics.class_counts().iter().sum();
        text += &format!("fitted on    {items} items\n");
    }
    if let Some(posterior) = model.posterior() {
        let worst = posterior.worst;
        text += &format!(
            "posterior    R-hat at most {:.3}, ESS at least {:.0} (bulk), {:.0} (tail); {} draws kept\n",
            worst.r_hat,
            worst.ess_bulk,
            worst.ess_tail,
            model.draws().len()
        );
    }
    if let Some(worst) = worst_of_pairs(model) {
        text += &format!(
            "shared part  R-hat at most {:.3}, ESS at least {:.0} (bulk), {:.0} (tail)\n",
            worst.r_hat, worst.ess_bulk, worst.ess_tail,
        );
    }
    text += &match (model.method(), model.margins()?) {
        (Method::OpinionPool(pool) | Method::LinearPool(pool) | Method::LogPool(pool), _) => {
            pool_text(pool)
        }
        (_, Some(margins)) => margins_text(model, margins.alpha())?,
        (_, None) => String::new(),
    };
    text += &match model.method() {
        Method::Correlated(CorrelatedMethod::Joint(parameters)) => shared_text(model, parameters),
        Method::Correlated(CorrelatedMethod::Tree(parameters)) => {
            tree_text(model, parameters.fusion())
        }
        Method::Stacking(fusion) => logistic_text(model, &fusion.parameters().logistic),
        Method::Auto(fusion) => auto_text(model, fusion.parameters()),
        Method::LogitNormal(fusion) => logarithms_text(model, &fusion.parameters().classes),
        Method::NormalMixture(fusion) => normal_mixture_text(model, fusion),
        Method::Bcc(fusion) => bcc_text(model, fusion),
        _ => String::new(),
    };
    text += &correlation_text(model)?;
    text += &effective_number_text(model)?;
    for warning in model.training().map_or(&[][..], |training| &training.warnings) {
        text += &format!("warning: {}\n", warning_text(warning));
    }
    Ok(text)
}

fn pool_text(pool: &Pool) -> String {
    let names = pool.schema().classifiers().iter().zip(pool.weights());
    let rows: Vec<Vec<String>> =
        names.map(|(name, weight)| vec![name.clone(), format!("{weight:.4}")]).collect();
    format!("\n{}", output::table(&["classifier", "weight"], &rows))
}

/// The exponents of the layer, then the logistic part.
fn auto_text(model: &Model, parameters: &AutoParameters) -> String {
    let layer = &parameters.layer;
    let exponents = layer.output_exponents.iter().zip(&layer.evidence_exponents);
    let rows: Vec<Vec<String>> = model
        .schema()
        .classifiers()
        .iter()
        .zip(exponents)
        .map(|(name, (u, v))| vec![name.clone(), format!("{u:.4}"), format!("{v:.4}")])
        .collect();
    let header = ["classifier", "exponent of its output", "of its evidence"];
    let (layer_share, share) = (1.0 - parameters.logistic_share, parameters.logistic_share);
    let bias: Vec<String> = layer.bias.iter().map(|b| format!("{b:.4}")).collect();
    format!(
        "\n{}bias of the classes: {}\nThis layer has a share of {layer_share:.3}, the logistic \
         part below one of {share:.3}.\n{}",
        output::table(&header, &rows),
        bias.join(", "),
        logistic_text(model, &parameters.logistic)
    )
}

/// One row a classifier and class that it speaks of, one column a class that this speaks for.
fn logistic_text(model: &Model, logistic: &LogisticParameters) -> String {
    let (names, classes) = (model.schema().classifiers(), model.schema().classes());
    let mut header = vec!["weight of ln output".to_owned(), "for".to_owned()];
    header.extend(classes.iter().map(|class| format!("→ {class}")));
    let mut rows = Vec::new();
    for (k, name) in names.iter().enumerate() {
        for (j, class) in classes.iter().enumerate() {
            let mut row = vec![name.clone(), class.clone()];
            row.extend(logistic.weights.iter().map(|rows| format!("{:.4}", rows[k][j])));
            rows.push(row);
        }
    }
    let mut bias = vec!["bias".to_owned(), String::new()];
    bias.extend(logistic.bias.iter().map(|bias| format!("{bias:.4}")));
    rows.push(bias);
    format!("\n{}", output::table(&header, &rows))
}

/// One row a classifier and true class: α, its posterior sd, mean output and total.
fn margins_text(model: &Model, alpha: &Alpha) -> Result<String> {
    let classes = model.schema().classes();
    let mut header = vec!["classifier".to_owned(), "true class".to_owned()];
    header.extend(classes.iter().map(|class| format!("α {class}")));
    header.extend(["total".to_owned(), "mean output".to_owned()]);
    let mut rows = Vec::new();
    for (k, name) in model.schema().classifiers().iter().enumerate() {
        for (j, class) in classes.iter().enumerate() {
            let concentration = &alpha[k][j];
            let sd = model.posterior().map(|posterior| &posterior.alpha_sd[k][j]);
            let cell = |(l, a): (usize, &f64)| match sd {
                Some(sd) => format!("{} ± {}", significant(*a), significant(sd[l])),
                None => significant(*a),
            };
            let mean = Dirichlet::new(concentration)?.mean();
            let mean: Vec<String> = mean.iter().map(|m| format!("{m:.3}")).collect();
            let mut row = vec![name.clone(), class.clone()];
            row.extend(concentration.iter().enumerate().map(cell));
            row.extend([significant(concentration.iter().sum()), mean.join(" ")]);
            rows.push(row);
        }
    }
    let mut text = format!("\n{}", output::table(&header, &rows));
    if let Some(strengths) = strengths(model)? {
        let names = model.schema().classifiers().iter().zip(strengths);
        let rows: Vec<Vec<String>> =
            names.map(|(name, s)| vec![name.clone(), format!("{s:.3}")]).collect();
        text += &format!("\n{}", output::table(&["classifier", "strength"], &rows));
        text += "strength: expected evidence of one output for the true class against another, in nats\n";
    }
    Ok(text)
}

/// Four significant digits.
fn significant(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let digits = (3.0 - value.abs().log10().floor()).clamp(0.0, 12.0);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // between 0 and 12
    let digits = digits as usize;
    format!("{value:.digits$}")
}
