//! `consilience evaluate`: scores on labelled outputs.

use consilience::evaluation::{
    BootstrapSettings, EvaluationSettings, Weighting, evaluate, gain_on_new_items,
};
use consilience::methods::Method;
use consilience_io::Location;

use super::votes;
use crate::args::{CommonOptions, EvaluateOptions, ReportFormat};
use crate::data::{read_all, read_vote_model};
use crate::error::Failure;
use crate::output::{self, Messages};
use crate::progress::{TerminalProgress, Unit, stoppable};

pub(crate) fn run(
    options: &EvaluateOptions,
    common: &CommonOptions,
    messages: &Messages,
) -> Result<(), Failure> {
    let input = &options.model;
    if let Some(model) = read_vote_model(&input.model)? {
        return votes::evaluate(&model, options, common, messages);
    }
    if options.gold.is_some() {
        return Err(Failure::Message {
            message: "`--gold` is for models of votes".into(),
            hint: Some("the true classes of outputs are in the column `label`"),
        });
    }
    let mut loaded = input.load(messages.is_quiet())?;
    loaded.reading.needs_labels = true;
    let outputs =
        read_all(&input.data, loaded.model.schema(), &loaded.reading, messages.is_quiet())?;
    Messages::doubts(&outputs.doubts(), &input.data);
    let is_training = loaded.model.is_fitted_on(&outputs).map_err(Failure::in_data(&input.data))?;
    if is_training {
        warn_of_training_items(&input.data);
    }
    let settings = EvaluationSettings {
        weighting: if options.score_items { Weighting::Items } else { loaded.weighting() },
        bootstrap: BootstrapSettings { replicates: options.bootstrap, seed: common.seed() },
    };
    let progress = TerminalProgress::new(messages.is_quiet(), Unit::Steps);
    let fusion = loaded.fusion();
    let evaluation = stoppable(|| {
        evaluate(&loaded.model, fusion, &outputs, &loaded.prior, &settings, &progress)
    });
    let evaluation = evaluation.map_err(Failure::in_data(&input.data))?;
    drop(progress);
    let gain = match loaded.model.method() {
        // On the items of the fit, methods with many parameters look best.
        Method::Auto(_) if !is_training => {
            let gain =
                gain_on_new_items(&loaded.model, &outputs, &loaded.prior, settings.weighting);
            Some(gain.map_err(Failure::in_data(&input.data))?)
        }
        _ => None,
    };
    match common.format {
        ReportFormat::Json => {
            let mut value =
                serde_json::to_value(&evaluation).expect("scores are plain JSON values");
            if let Some(gain) = gain {
                value["gain"] = serde_json::json!(gain);
            }
            output::print(&format!("{value:#}"))
        }
        ReportFormat::Table => {
            let scores =
                if options.per_class { format!("{evaluation:#}") } else { evaluation.to_string() };
            let gain = gain.map_or_else(String::new, |gain| format!("\n{gain}\n"));
            output::print_text(&(scores + &gain))
        }
    }
}

/// Warns that the labelled items are those of the fit.
fn warn_of_training_items(data: &Location) {
    Messages::warning(format_args!(
        "{data} has the items that the model was fitted to: their scores are optimistic, most for methods with many \
         parameters; use other items, or `compare`, which scores methods by cross-validation"
    ));
}
