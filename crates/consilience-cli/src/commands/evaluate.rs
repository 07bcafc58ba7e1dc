//! `consilience evaluate`: scores on labelled outputs.

use consilience::evaluation::{
    BootstrapSettings, Evaluation, EvaluationSettings, Weighting, evaluate, worth_on_new_items,
};
use consilience::methods::Method;

use crate::args::{CommonOptions, EvaluateOptions, ReportFormat};
use crate::data::read_all;
use crate::error::Failure;
use crate::output::{self, Messages, SCORE_HEADER, score_row, score_rows, weighting_sentence};
use crate::progress::{TerminalProgress, Unit, stoppable};

pub(crate) fn run(
    options: &EvaluateOptions,
    common: &CommonOptions,
    messages: &Messages,
) -> Result<(), Failure> {
    let input = &options.model;
    let mut loaded = input.load()?;
    loaded.reading.needs_labels = true;
    let outputs =
        read_all(&input.data, loaded.model.schema(), &loaded.reading, messages.is_quiet())?;
    let settings = EvaluationSettings {
        weighting: if options.score_items { Weighting::Items } else { Weighting::ClassPrior },
        bootstrap: BootstrapSettings { replicates: options.bootstrap, seed: common.seed },
    };
    let progress = TerminalProgress::new(messages.is_quiet(), Unit::Steps);
    let fusion = loaded.fusion();
    let evaluation = stoppable(|| {
        evaluate(&loaded.model, fusion, &outputs, &loaded.prior, &settings, &progress)
    });
    let evaluation = evaluation.map_err(Failure::in_data(&input.data))?;
    drop(progress);
    let worth = match loaded.model.method() {
        Method::Auto(auto) => {
            let worth = worth_on_new_items(auto, &outputs, &loaded.prior, settings.weighting);
            Some(worth.map_err(Failure::in_data(&input.data))?)
        }
        _ => None,
    };
    match common.format {
        ReportFormat::Json => {
            let mut value =
                serde_json::to_value(&evaluation).expect("scores are plain JSON values");
            if let Some(worth) = worth {
                value["worth"] = serde_json::json!(worth);
            }
            output::print(&format!("{value:#}"))
        }
        ReportFormat::Table => {
            let worth = worth.as_ref().map_or_else(String::new, output::gain_text);
            output::print(&(text(&evaluation, options.per_class) + &worth))
        }
    }
}

fn text(evaluation: &Evaluation, per_class: bool) -> String {
    let mut text = output::table(&SCORE_HEADER, &score_rows(evaluation));
    if per_class {
        for (j, class) in evaluation.classes.iter().enumerate() {
            let rows: Vec<Vec<String>> = evaluation
                .methods
                .iter()
                .map(|method| score_row(&method.method, &method.per_class[j]))
                .collect();
            text += &format!("\nclass {class} ({} items)\n", evaluation.class_counts[j]);
            text += &output::table(&SCORE_HEADER, &rows);
        }
    }
    text + &format!(
        "\n{} items. {}\n",
        evaluation.n_items,
        weighting_sentence(evaluation.weighting, &evaluation.classes, &evaluation.class_prior)
    )
}
