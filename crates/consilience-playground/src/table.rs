//! A table that was dropped on the page: the model that `consilience fit` would write, and its report.

use consilience::{Auto, InputFormat, ValueKind};
use consilience_io::{Input, ReadOptions, read_outputs_from};
use consilience_report::{Report, ReportOptions};
use serde::{Deserialize, Serialize};

/// A table of outputs; its bytes follow the request.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Dropped {
    /// The file's name, whose extension is the format.
    name: String,
    /// The kind of the values; probabilities by default.
    #[serde(default)]
    values: ValueKind,
}

/// A fitted model and what the page shows of it.
#[derive(Debug, Serialize)]
pub(crate) struct FittedTable {
    /// The model file.
    model: String,
    /// The report, a page of its own.
    report: String,
    n_items: usize,
    n_labelled: usize,
    warnings: Vec<String>,
}

impl Dropped {
    /// Reads the table, fits `auto` and writes the report.
    pub(crate) fn fit(self, bytes: &[u8]) -> Result<FittedTable, String> {
        let input = Input::from_file_bytes(&self.name, bytes.to_vec()).map_err(text)?;
        let input_format = InputFormat { kind: self.values, ..InputFormat::default() };
        let options = ReadOptions { needs_labels: false, input_format, ..ReadOptions::default() };
        let outputs = read_outputs_from(input, &options).map_err(text)?;
        let model = Auto::default().fit(&outputs).map_err(text)?;
        let options = ReportOptions { data: Some(self.name), ..ReportOptions::default() };
        let report = Report::of(&model, &outputs, &options).map_err(text)?;
        let training = model.training();
        let warnings = training.map_or(&[][..], |training| &training.warnings);
        Ok(FittedTable {
            model: model.to_json(),
            report: report.html(),
            n_items: outputs.n_items(),
            n_labelled: outputs.n_labelled(),
            warnings: warnings.iter().map(|warning| warning.message.clone()).collect(),
        })
    }
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
