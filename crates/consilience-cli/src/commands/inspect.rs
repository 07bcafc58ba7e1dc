//! `consilience inspect`: a model's parameters and what they mean.

use consilience::distributions::Dirichlet;
use consilience::fusion::Fusion;
use consilience::fusion::independent::Alpha;
use consilience::fusion::pools::Pool;
use consilience::model::{CorrelatedParameters, Method};
use consilience::{Model, Result};
use serde_json::{Value, json};

use crate::args::{CommonOptions, InspectOptions, ReportFormat};
use crate::data::read_model;
use crate::error::Failure;
use crate::output;

pub(crate) fn run(
    options: &InspectOptions,
    common: &CommonOptions,
) -> std::result::Result<(), Failure> {
    let model = read_model(&options.model)?;
    let report = match common.format {
        ReportFormat::Json => format!("{:#}", as_json(&model)?),
        ReportFormat::Table => as_text(&model)?,
    };
    output::print(&report)
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
        "effective_classifiers": match model.method() {
            Method::Correlated(parameters) => {
                Some(parameters.effective_number(model.class_prior())?)
            }
            _ => None,
        },
        "settings": file["settings"],
        "items_per_class": training.map(|t| t.statistics.class_counts().to_vec()),
        "diagnostics": model.posterior().map(|posterior| posterior.worst),
        "draws": model.draws().len(),
        "warnings": training.map_or_else(Vec::new, |t| {
            t.warnings.iter().map(|w| w.message.clone()).collect()
        }),
    }))
}

/// Implied correlations of every pair, by true class and component; none for other methods.
fn correlations(model: &Model) -> Result<Option<Value>> {
    let Method::Correlated(parameters) = model.method() else { return Ok(None) };
    let names = model.schema().classifiers();
    let pairs = parameters.pairs(model.class_prior())?;
    let list = pairs.iter().map(|pair| {
        let (a, b) = pair.between;
        json!({ "between": [names[a], names[b]], "by_class": pair.correlation, "mean": pair.mean })
    });
    Ok(Some(list.collect()))
}

/// Expected evidence of each classifier; none for pools.
fn strengths(model: &Model) -> Result<Option<Vec<f64>>> {
    match model.method() {
        Method::Pool(_) => Ok(None),
        Method::Independent(fusion) | Method::Meta(fusion) => {
            fusion.strengths(model.class_prior()).map(Some)
        }
        Method::Correlated(parameters) => {
            parameters.margins()?.strengths(model.class_prior()).map(Some)
        }
    }
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
    text += &match model.method() {
        Method::Pool(pool) => pool_text(pool),
        Method::Independent(fusion) | Method::Meta(fusion) => margins_text(model, fusion.alpha())?,
        Method::Correlated(parameters) => {
            margins_text(model, parameters.alpha())?
                + &shared_text(parameters)
                + &correlation_text(model, parameters)?
        }
    };
    for warning in model.training().map_or(&[][..], |training| &training.warnings) {
        text += &format!("warning: {warning}\n");
    }
    Ok(text)
}

fn pool_text(pool: &Pool) -> String {
    let names = pool.schema().classifiers().iter().zip(pool.weights());
    let rows: Vec<Vec<String>> =
        names.map(|(name, weight)| vec![name.clone(), format!("{weight:.4}")]).collect();
    format!("\n{}", output::table(&["classifier", "weight"], &rows))
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

/// The shapes that classifiers share.
fn shared_text(parameters: &CorrelatedParameters) -> String {
    let (names, classes) = (parameters.schema().classifiers(), parameters.schema().classes());
    let mut header = vec!["shared by".to_owned(), "true class".to_owned()];
    header.extend(classes.iter().map(|class| format!("δ {class}")));
    let mut rows = Vec::new();
    for (j, class) in parameters.classes().iter().enumerate() {
        let mut push = |who: String, delta: &[f64]| {
            let mut row = vec![who, classes[j].clone()];
            row.extend(delta.iter().map(|d| significant(*d)));
            rows.push(row);
        };
        push("all".into(), class.common());
        for pair in class.pairs() {
            push(format!("{} and {}", names[pair.first], names[pair.second]), &pair.delta);
        }
    }
    format!("\n{}", output::table(&header, &rows))
}

/// The correlations that the shared shapes imply.
fn correlation_text(model: &Model, parameters: &CorrelatedParameters) -> Result<String> {
    let (names, classes) = (model.schema().classifiers(), model.schema().classes());
    let mut header = vec!["correlation of".to_owned(), "true class".to_owned()];
    header.extend(classes.iter().cloned());
    let mut rows = Vec::new();
    for pair in parameters.pairs(model.class_prior())? {
        for (class, row) in classes.iter().zip(&pair.correlation) {
            let (a, b) = pair.between;
            let mut cells = vec![format!("{} and {}", names[a], names[b]), class.clone()];
            cells.extend(row.iter().map(|r| format!("{r:.4}")));
            rows.push(cells);
        }
    }
    let effective = parameters.effective_number(model.class_prior())?;
    Ok(format!(
        "\n{}effective number of classifiers  {effective:.2} of {}\n",
        output::table(&header, &rows),
        names.len()
    ))
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
