//! Fitted models for other programs: ONNX files, and Python code without dependencies.
//!
//! A method that can be exported describes its fusion rule once, as a formula for the unnormalised
//! log posterior of one item (`FittedMethod::ln_joint_formula`). Every export writes such formulas.

mod onnx;
mod protobuf;
mod python;

pub use onnx::{IR_VERSION, OPSET, Precision};

use serde_json::json;

use crate::data::input_format::{InputFormat, ValueKind};
use crate::error::{Error, Result};
use crate::formula::{Rule, Scoring};
use crate::model::Model;

/// Settings of an export.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExportOptions {
    /// The kind of the numbers that the exported rule takes.
    pub kind: ValueKind,
    /// Largest accepted deviation of an output's sum from 1.
    pub sum_tolerance: f64,
}

impl Default for ExportOptions {
    fn default() -> Self {
        let InputFormat { kind, sum_tolerance, .. } = InputFormat::default();
        Self { kind, sum_tolerance }
    }
}

impl Model {
    /// The model as an ONNX file.
    ///
    /// It takes `outputs` (items × classifiers × classes; NaN where an output is missing) and
    /// optionally `class_prior`, and gives `probabilities` (items × classes) and `predicted`, the
    /// name of the most probable class. An item with an output that a fit would refuse has
    /// probabilities of NaN and an empty name. An error names the method if it cannot be exported.
    ///
    /// # Example
    /// ```
    /// use consilience::export::{ExportOptions, Precision};
    /// use consilience::{Auto, simulation::Preset};
    ///
    /// let model = Auto::default().fit(&Preset::Sim2.truth(0.5)?.simulate(50, 1)?)?;
    /// let bytes = model.to_onnx(Precision::Double, &ExportOptions::default())?;
    /// assert!(bytes.len() > 1000);
    /// # Ok::<(), consilience::Error>(())
    /// ```
    pub fn to_onnx(&self, precision: Precision, options: &ExportOptions) -> Result<Vec<u8>> {
        let rule = self.exported_rule(options)?;
        Ok(onnx::write(self, &rule, precision, &self.export_metadata(options)))
    }

    /// The model as a Python module without dependencies, whose function `score` gives the fused
    /// probabilities of one item. An error names the method if it cannot be exported.
    pub fn to_python(&self, options: &ExportOptions) -> Result<String> {
        let rule = self.exported_rule(options)?;
        Ok(python::write(self, &rule, options))
    }

    fn exported_rule(&self, options: &ExportOptions) -> Result<Rule> {
        let format = InputFormat {
            kind: options.kind,
            floor: self.input_format().floor,
            sum_tolerance: options.sum_tolerance,
        };
        format.check(self.schema().n_classes())?;
        let rule = Scoring::new(self.schema(), &format).and_then(|mut scoring| {
            let ln_joint = self.method().fitted().ln_joint_formula(&mut scoring)?;
            Ok(Rule::new(scoring, ln_joint))
        });
        rule.map_err(|reason| {
            Error::unsupported(
                self.method_name(),
                format!(
                    "cannot be exported: {reason}. Export `auto`, or fuse with the command line, \
                     Python or Rust"
                ),
            )
        })
    }

    /// Names and numbers that describe the model, for programs that load it.
    fn export_metadata(&self, options: &ExportOptions) -> Vec<(&'static str, String)> {
        let schema = self.schema();
        vec![
            ("method", self.method_name()),
            ("classifiers", json!(schema.classifiers()).to_string()),
            ("classes", json!(schema.classes()).to_string()),
            ("class_prior", json!(self.class_prior().probabilities()).to_string()),
            ("values", json!(options.kind).as_str().unwrap_or_default().to_owned()),
            ("floor", json!(self.input_format().floor).to_string()),
            ("software", concat!("consilience ", env!("CARGO_PKG_VERSION")).to_owned()),
        ]
    }
}
