//! `consilience fit`: a model from outputs, with labels where they are known.

use std::path::Path;

use consilience::evaluation::{Gain, GainSettings, gain};
use consilience::methods::PairPosterior;
use consilience::methods::shares::InsightIntervals;
use consilience::{Diagnostics, FitOptions as ModelFit, InputFormat, MethodConfig, Model, Outputs};
use consilience_io::{Location, ReadOptions, check_writable, read_outputs, write_whole};
use serde_json::json;

use crate::args::{CommonOptions, FitOptions, ReportFormat};
use crate::data::{floor_note, read_all, read_model};
use crate::error::{Failure, warning_text};
use crate::files::{Input, check_distinct};
use crate::method_options::{flag, methods_with};
use crate::output::{self, Messages};
use crate::progress::{TerminalProgress, Unit, stoppable};

pub(crate) fn run(
    options: &FitOptions,
    common: &CommonOptions,
    messages: &Messages,
) -> Result<(), Failure> {
    check_distinct(&[Input::new("the data", &options.data)], &[("the output", &options.output)])?;
    check_writable(&options.output)?;
    let (model, gain) = stoppable(|| match &options.update {
        None => options.fit(common.seed(), messages),
        Some(path) => {
            if common.seed.is_some() {
                Messages::warning(
                    "`--seed` has no effect with `--update`: the model keeps the seed of its fit",
                );
            }
            options.update(path, messages).map(|model| (model, None))
        }
    })?;
    write_whole(&options.output, model.to_json().as_bytes())?;
    report(&model, gain.as_ref(), &options.output, common.format, messages)
}

impl FitOptions {
    fn fit(&self, seed: u64, messages: &Messages) -> Result<(Model, Option<Gain>), Failure> {
        let config = self.config(seed)?;
        let reading = ReadOptions {
            needs_labels: config.needs_labels(),
            ..self.reading.read_options(InputFormat::default())
        };
        let outputs = read_outputs(&self.data, &reading)?;
        let progress = TerminalProgress::new(messages.is_quiet(), Unit::Steps);
        let fit_options = ModelFit {
            class_prior: self.class_prior.clone(),
            floor: reading.input_format.floor,
            values: reading.input_format.kind,
            progress: &progress,
        };
        let model = Model::fit_with(config, &outputs, &fit_options)
            .map_err(Failure::in_data(&self.data))?;
        if outputs.n_labelled() == 0 {
            messages.note(format_args!(
                "{}: no item has a label, so the classes are those of the columns: {}\nhint: the true \
                 class of an item is read from the column `label`",
                self.data,
                outputs.schema().classes().join(", ")
            ));
        }
        let gain = self.gain(&model, &outputs, seed, &progress, messages)?;
        Ok((model, gain))
    }

    /// The gain of `auto` over its baselines. If it cannot be estimated, a note gives the reason.
    fn gain(
        &self,
        model: &Model,
        outputs: &Outputs,
        seed: u64,
        progress: &TerminalProgress,
        messages: &Messages,
    ) -> Result<Option<Gain>, Failure> {
        if !matches!(self.method, MethodConfig::Auto(_)) {
            return Ok(None);
        }
        let settings = GainSettings { seed, ..GainSettings::default() };
        match gain(model, outputs, &settings, progress) {
            Ok(gain) => Ok(Some(gain)),
            Err(error @ consilience::Error::Interrupted) => {
                Err(Failure::in_data(&self.data)(error))
            }
            Err(error) => {
                messages.note(format_args!("the gain of fusing cannot be estimated: {error}"));
                Ok(None)
            }
        }
    }

    fn update(&self, path: &Path, messages: &Messages) -> Result<Model, Failure> {
        let old = read_model(path)?;
        let floor = old.input_format().floor;
        if self.reading.floor.is_some_and(|wanted| wanted != floor) {
            return Err(Failure::message(format!(
                "{}: the model was fitted with a floor of {floor:e}; an update must use the same",
                path.display()
            )));
        }
        let reading = self.reading.read_options_for(&old)?;
        let outputs = read_all(&self.data, old.schema(), &reading, messages.is_quiet())?;
        let progress = TerminalProgress::new(messages.is_quiet(), Unit::Steps);
        old.update(&outputs, &progress).map_err(|error| match error {
            // The options of the fit are in the model.
            consilience::Error::InvalidModel(_)
            | consilience::Error::Unsupported { .. }
            | consilience::Error::InvalidParameter { .. } => {
                Failure::in_file(path.display())(error)
            }
            error => Failure::in_data(&self.data)(error),
        })
    }

    /// The method with its options. Options that the method does not have cause a warning.
    fn config(&self, seed: u64) -> Result<MethodConfig, Failure> {
        let (config, without_effect) = self.method_options.config(&self.method, seed)?;
        for option in without_effect {
            let methods = methods_with(&option).map(|info| format!("`{}`", info.name));
            Messages::warning(format_args!(
                "`--{}` has no effect on `--method {}`; it is an option of {}",
                flag(&option),
                self.method,
                methods.collect::<Vec<_>>().join(", ")
            ));
        }
        Ok(config)
    }
}

/// Warnings on standard error; the summary on standard output, unless the model goes there.
fn report(
    model: &Model,
    gain: Option<&Gain>,
    target: &Location,
    format: ReportFormat,
    messages: &Messages,
) -> Result<(), Failure> {
    let training = model.training().expect("a fitted model has training facts");
    for warning in &training.warnings {
        Messages::warning(warning_text(warning));
    }
    let target_name = target.output_name();
    let text = || -> Result<String, Failure> {
        let gain = gain.map_or_else(String::new, |gain| format!("\n{gain}\n"));
        Ok(summary(model, &target_name)? + &gain)
    };
    match (target, format) {
        (Location::Standard, _) => {
            messages.note(text()?.trim_end());
            Ok(())
        }
        (Location::Path(_), ReportFormat::Table) => output::print_text(&text()?),
        (Location::Path(_), ReportFormat::Json) => {
            let mut value = summary_json(model, &target_name)?;
            if let Some(gain) = gain {
                value["gain"] = json!(gain);
            }
            output::print(&format!("{value:#}"))
        }
    }
}

/// What was fitted, on what, and whether it can be trusted.
pub(super) fn summary(model: &Model, target: &str) -> Result<String, Failure> {
    let schema = model.schema();
    let training = model.training().expect("a fitted model has training facts");
    let counts = training.statistics.class_counts();
    let classes = schema.classes().iter().zip(counts);
    let classes: Vec<String> = classes.map(|(class, n)| format!("{class}: {n}")).collect();
    let floor = model.input_format().floor;
    let unlabelled = match training.n_unlabelled() {
        0 => String::new(),
        n => format!(" and {n} without a label"),
    };
    let mut text = format!(
        "method       {}\nclassifiers  {}\nitems        {} ({}){unlabelled}{}\n",
        model.method_name(),
        schema.classifiers().join(", "),
        training.n_labelled(),
        classes.join(", "),
        floor_note(training.raised, floor),
    );
    text += &model.class_prior_text();
    if let Some(report) = model.posterior() {
        text += &chains_text("posterior", report.chains, report.draws, &report.worst);
    }
    if let Some(worst) = model.worst_shared_diagnostics() {
        let pair =
            model.pair_posteriors().first().map(|pair| (pair.delta.chains, pair.delta.draws));
        let all = model.shared_posterior().map(|report| (report.chains, report.draws));
        let (chains, draws) = pair.or(all).unwrap_or_default();
        text += &chains_text("shared part", chains, draws, &worst);
    }
    if let Some(effective) = model.effective_number()? {
        text += &effective_text(model, effective);
    }
    Ok(text + &format!("model        {target}\n"))
}

/// The effective number with its interval, and what independent classifiers would show.
fn effective_text(model: &Model, effective: f64) -> String {
    let n = model.schema().n_classifiers();
    match model.insight_intervals() {
        None => format!("effective    {effective:.2} independent classifiers of {n}\n"),
        Some(InsightIntervals { effective_number: [low, high], .. }) if n == 1 => format!(
            "effective    {effective:.2} ({low:.2}–{high:.2}) independent classifiers of {n}\n"
        ),
        Some(InsightIntervals { effective_number, independent, .. }) => format!(
            "effective    {effective:.2} ({:.2}–{:.2}) independent classifiers of {n}; {n} \
             independent ones would show {:.2}–{:.2}\n",
            effective_number[0], effective_number[1], independent[0], independent[1]
        ),
    }
}

fn chains_text(what: &str, chains: usize, draws: usize, worst: &Diagnostics) -> String {
    let Diagnostics { r_hat, ess_bulk, ess_tail } = worst;
    format!(
        "{what:<12} {chains} chains of {draws} draws; R-hat at most {r_hat:.3}, ESS at least \
         {ess_bulk:.0} (bulk), {ess_tail:.0} (tail)\n"
    )
}

fn summary_json(model: &Model, target: &str) -> Result<serde_json::Value, Failure> {
    let training = model.training().expect("a fitted model has training facts");
    let chains = |chains: usize, draws: usize, acceptance: f64, worst: &Diagnostics| {
        json!({
            "chains": chains,
            "draws": draws,
            "acceptance": acceptance,
            "r_hat": worst.r_hat,
            "ess_bulk": worst.ess_bulk,
            "ess_tail": worst.ess_tail,
        })
    };
    let pair = |PairPosterior { between, delta }: &PairPosterior| {
        let mut report = chains(delta.chains, delta.draws, delta.acceptance, &delta.worst);
        report["between"] = json!(between);
        report
    };
    Ok(json!({
        "method": model.method_name(),
        "classifiers": model.schema().classifiers(),
        "classes": model.schema().classes(),
        "class_prior": model.class_prior().probabilities(),
        "items_per_class": training.statistics.class_counts(),
        "unlabelled_items": training.n_unlabelled(),
        "values_raised": training.raised,
        "diagnostics": model.posterior().map(|p| chains(p.chains, p.draws, p.acceptance, &p.worst)),
        "pair_diagnostics": model.pair_posteriors().iter().map(pair).collect::<Vec<_>>(),
        "shared_diagnostics": model
            .shared_posterior()
            .map(|s| chains(s.chains, s.draws, s.acceptance, &s.worst)),
        "effective_classifiers": model.effective_number()?,
        "intervals": model.insight_intervals(),
        "warnings": training.warnings.iter().map(warning_text).collect::<Vec<_>>(),
        "model": target,
    }))
}
