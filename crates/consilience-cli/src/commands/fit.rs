//! `consilience fit`: a model from labelled outputs.

use std::path::Path;

use consilience::fusion::independent::{AlphaPrior, IndependentConfig, Inference};
use consilience::{DEFAULT_FLOOR, FitConfig, Model};
use consilience_io::{Location, ReadOptions, check_writable, read_outputs, write_whole};
use serde_json::json;

use crate::args::{AlphaPriorName, CommonOptions, FitOptions, InferenceName, ReportFormat};
use crate::data::{raised_sentence, read_all, read_model};
use crate::error::Failure;
use crate::output::{self, Talk};
use crate::progress::{Progress, Unit, stoppable};

pub(crate) fn run(
    options: &FitOptions,
    common: &CommonOptions,
    talk: &Talk,
) -> Result<(), Failure> {
    check_writable(&options.output)?;
    let model = stoppable(|| match &options.update {
        None => options.fit(common.seed, talk),
        Some(path) => options.update(path, talk),
    })?;
    write_whole(&options.output, model.to_json().as_bytes())?;
    report(&model, &options.output, common.format, talk)
}

impl FitOptions {
    fn fit(&self, seed: u64, talk: &Talk) -> Result<Model, Failure> {
        let reading =
            ReadOptions { needs_labels: true, ..self.reading.read_options(DEFAULT_FLOOR) };
        let outputs = read_outputs(&self.data, &reading)?;
        let progress = Progress::new(talk.is_quiet(), Unit::Steps);
        self.config(seed).fit(&outputs, &progress).map_err(Failure::in_data(&self.data))
    }

    fn update(&self, path: &Path, talk: &Talk) -> Result<Model, Failure> {
        let old = read_model(path)?;
        let floor = old.settings().map_or(DEFAULT_FLOOR, |settings| settings.floor);
        if self.reading.floor.is_some_and(|wanted| wanted != floor) {
            return Err(Failure::message(format!(
                "{}: the model was fitted with a floor of {floor:e}; an update must use the same",
                path.display()
            )));
        }
        let reading = ReadOptions { needs_labels: true, ..self.reading.read_options_for(&old)? };
        let outputs = read_all(&self.data, old.schema(), &reading, talk.is_quiet())?;
        let progress = Progress::new(talk.is_quiet(), Unit::Steps);
        old.update(&outputs, &progress).map_err(|error| match error {
            consilience::Error::InvalidModel(_) | consilience::Error::Unsupported { .. } => {
                Failure::in_file(path.display())(error)
            }
            error => Failure::in_data(&self.data)(error),
        })
    }

    fn config(&self, seed: u64) -> FitConfig {
        FitConfig {
            method: self.method.clone(),
            class_prior: self.class_prior.clone(),
            weights: self.weights.clone(),
            independent: IndependentConfig {
                alpha_prior: match self.alpha_prior {
                    AlphaPriorName::Pooled => AlphaPrior::Pooled { items: self.prior_items },
                    AlphaPriorName::Paper => AlphaPrior::Paper,
                },
                inference: match self.inference {
                    InferenceName::Posterior => Inference::Posterior,
                    InferenceName::Map => Inference::Map,
                },
                chains: self.chains,
                draws: self.draws,
                warmup: self.warmup,
                keep_draws: self.keep_draws,
                seed,
            },
            floor: self.reading.floor.unwrap_or(DEFAULT_FLOOR),
        }
    }
}

/// Warnings on standard error; the summary on standard output, unless the model goes there.
fn report(
    model: &Model,
    target: &Location,
    format: ReportFormat,
    talk: &Talk,
) -> Result<(), Failure> {
    let training = model.training().expect("a fitted model has training facts");
    for warning in &training.warnings {
        Talk::warning(warning);
    }
    let target_name = target.output_name();
    match (target, format) {
        (Location::Standard, _) => {
            talk.note(summary(model, &target_name).trim_end());
            Ok(())
        }
        (Location::Path(_), ReportFormat::Table) => output::print(&summary(model, &target_name)),
        (Location::Path(_), ReportFormat::Json) => {
            output::print(&format!("{:#}", summary_json(model, &target_name)))
        }
    }
}

/// What was fitted, on what, and whether it can be trusted.
pub(super) fn summary(model: &Model, target: &str) -> String {
    let schema = model.schema();
    let training = model.training().expect("a fitted model has training facts");
    let counts = training.statistics.class_counts();
    let classes = schema.classes().iter().zip(counts);
    let classes: Vec<String> = classes.map(|(class, n)| format!("{class}: {n}")).collect();
    let floor = model.settings().map_or(DEFAULT_FLOOR, |settings| settings.floor);
    let mut text = format!(
        "method       {}\nclassifiers  {}\nitems        {} ({}){}\n",
        model.method_name(),
        schema.classifiers().join(", "),
        counts.iter().sum::<u64>(),
        classes.join(", "),
        raised_sentence(training.raised, floor),
    );
    if let Some(posterior) = model.posterior() {
        let worst = posterior.worst;
        text += &format!(
            "posterior    {} chains of {} draws; R-hat at most {:.3}, ESS at least {:.0} (bulk), {:.0} (tail)\n",
            posterior.chains, posterior.draws, worst.r_hat, worst.ess_bulk, worst.ess_tail
        );
    }
    text + &format!("model        {target}\n")
}

fn summary_json(model: &Model, target: &str) -> serde_json::Value {
    let training = model.training().expect("a fitted model has training facts");
    json!({
        "method": model.method_name(),
        "classifiers": model.schema().classifiers(),
        "classes": model.schema().classes(),
        "items_per_class": training.statistics.class_counts(),
        "values_raised": training.raised,
        "diagnostics": model.posterior().map(|posterior| json!({
            "chains": posterior.chains,
            "draws": posterior.draws,
            "acceptance": posterior.acceptance,
            "r_hat": posterior.worst.r_hat,
            "ess_bulk": posterior.worst.ess_bulk,
            "ess_tail": posterior.worst.ess_tail,
        })),
        "warnings": training.warnings.iter().map(|w| w.message.as_str()).collect::<Vec<_>>(),
        "model": target,
    })
}
