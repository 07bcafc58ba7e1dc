//! The model file: versioned JSON that people can read and write.

use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Model, Settings, Training, legacy, strict};
use crate::data::class_prior::ClassPrior;
use crate::data::schema::Schema;
use crate::error::{Error, Result};
use crate::methods::correlated::learning::SharedReport;
use crate::methods::independent::PosteriorReport;
use crate::methods::{Draw, Method, PairPosterior};
use crate::versioned_file::{self, VERSION, check_format};

/// The value of `format`.
const FORMAT: &str = "consilience";

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelFile {
    format: String,
    version: u32,
    method: String,
    classifiers: Vec<String>,
    classes: Vec<String>,
    class_prior: Vec<f64>,
    #[serde(default, skip_serializing_if = "Value::is_null", deserialize_with = "strict::value")]
    parameters: Value,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "strict::object")]
    settings: Option<Map<String, Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    training: Option<Training>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "strict::object")]
    estimator: Option<Map<String, Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    diagnostics: Option<PosteriorReport>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pair_diagnostics: Vec<PairPosterior>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shared_diagnostics: Option<SharedReport>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    draws: Vec<Draw>,
}

impl Model {
    /// Reads a model from a file.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        versioned_file::load(path.as_ref(), Self::from_json)
    }

    /// Writes the model to a file, which is replaced.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        versioned_file::save(path.as_ref(), &self.to_json())
    }

    /// Reads the text of a model file.
    pub fn from_json(text: &str) -> Result<Self> {
        let file: ModelFile = serde_json::from_str(text).map_err(Error::model)?;
        check_format(&file.format, file.version, FORMAT)?;
        let read_settings = |settings| legacy::read_settings(&file.method, settings);
        let settings = file.settings.map(read_settings).transpose()?;
        let schema = Arc::new(Schema::new(file.classifiers, file.classes)?);
        let method = Method::read(&file.method, file.parameters, &schema)?;
        let model = Self {
            settings,
            training: file.training,
            estimator: file.estimator,
            posterior: file.diagnostics,
            pair_posteriors: file.pair_diagnostics,
            shared_posterior: file.shared_diagnostics,
            draws: file.draws,
            ..Self::new(method, ClassPrior::new(&file.class_prior)?)?
        };
        model.check_consistency()?;
        Ok(model)
    }

    /// The text of the model file.
    #[allow(clippy::missing_panics_doc)] // plain data structures always make JSON
    pub fn to_json(&self) -> String {
        let file = ModelFile {
            format: FORMAT.into(),
            version: VERSION,
            method: self.method_name(),
            classifiers: self.schema.classifiers().to_vec(),
            classes: self.schema.classes().to_vec(),
            class_prior: self.class_prior.probabilities().to_vec(),
            parameters: Value::Bool(true),
            settings: self.settings.as_ref().map(Settings::to_json),
            training: self.training.clone(),
            estimator: self.estimator.clone(),
            diagnostics: self.posterior.clone(),
            pair_diagnostics: self.pair_posteriors.clone(),
            shared_diagnostics: self.shared_posterior.clone(),
            draws: self.draws.clone(),
        };
        let mut value =
            serde_json::to_value(&file).expect("all parts of a model are plain JSON values");
        // Put in its place afterwards, because these may be most of the file and one copy is enough.
        value["parameters"] = self.method.fitted().file_parameters();
        if let Value::Object(file) = &mut value {
            file.retain(|_, part| !part.is_null());
        }
        let mut text = String::new();
        write_json(&value, 0, &mut text);
        text.push('\n');
        text
    }
}

/// Indented JSON that keeps a list of plain values on one line, so that matrices can be read.
fn write_json(value: &Value, depth: usize, text: &mut String) {
    let plain = |value: &Value| !value.is_array() && !value.is_object();
    let indent = |depth: usize, text: &mut String| {
        text.push('\n');
        text.push_str(&"  ".repeat(depth));
    };
    match value {
        Value::Array(list) if !list.is_empty() && !list.iter().all(plain) => {
            text.push('[');
            for (i, item) in list.iter().enumerate() {
                text.push_str(if i > 0 { "," } else { "" });
                indent(depth + 1, text);
                write_json(item, depth + 1, text);
            }
            indent(depth, text);
            text.push(']');
        }
        Value::Object(map) if !map.is_empty() => {
            text.push('{');
            for (i, (key, item)) in map.iter().enumerate() {
                text.push_str(if i > 0 { "," } else { "" });
                indent(depth + 1, text);
                text.push_str(&Value::from(key.as_str()).to_string());
                text.push_str(": ");
                write_json(item, depth + 1, text);
            }
            indent(depth, text);
            text.push('}');
        }
        Value::Array(list) => {
            let cells: Vec<String> = list.iter().map(Value::to_string).collect();
            text.extend(["[", &cells.join(", "), "]"]);
        }
        other => text.push_str(&other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    use crate::methods::independent::Independent;

    const EXAMPLE: &str = r#"{"format": "consilience", "version": 1, "method": "correlated",
        "classifiers": ["a", "b"], "classes": ["x", "y", "z"], "class_prior": [0.333, 0.333, 0.334],
        "parameters": {
          "alpha": [[[3,2,2],[2,3,2],[2,2,3]], [[3,2,2],[2,3,2],[2,2,3]]],
          "delta": {"common": [[1.5,1,1],[1,1.5,1],[1,1,1.5]],
                    "pairs": [{"between": ["a","b"], "delta": [[0,0,0],[0,0,0],[0,0,0]]}]}}}"#;

    #[test]
    fn the_documented_example_is_read_and_survives_a_round_trip() {
        let model = Model::from_json(EXAMPLE).unwrap();
        assert_eq!(model.method_name(), "correlated");
        assert!((model.class_prior().probabilities().iter().sum::<f64>() - 1.0).abs() < 1e-15);
        assert_eq!(Model::from_json(&model.to_json()).unwrap(), model);
    }

    #[test]
    fn diagnostics_of_another_shape_are_refused() {
        let outputs = crate::simulation::Preset::Sim1.truth(0.0).unwrap().simulate(5, 1).unwrap();
        let model = Independent::default().fit(&outputs).unwrap();
        let mut file: Value = serde_json::from_str(&model.to_json()).unwrap();
        file["diagnostics"]["alpha_sd"][0] = json!([]);
        let error = Model::from_json(&file.to_string()).unwrap_err().to_string();
        assert!(error.contains("alpha_sd"), "{error}");
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (from, to, message) in [
            ("\"version\": 1", "\"version\": 2", "version 2"),
            ("consilience", "other", "`format`"),
            ("\"method\"", "\"extra\": 1, \"method\"", "unknown field `extra`"),
            ("\"common\"", "\"comon\"", "unknown field `comon`"),
            ("\"correlated\"", "\"psychic\"", "unknown method `psychic`"),
            ("[\"a\",\"b\"]", "[\"a\",\"c\"]", "`c`"),
            ("[1.5,1,1]", "[3.5,1,1]", "alpha[0][0]"),
            ("[1.5,1,1]", "[1.5,1]", "lengths do not match"),
            ("[[3,2,2],", "[[3,2,0],", "alpha[0][0][2]"),
            ("[0.333, 0.333, 0.334]", "[0.5, 0.5]", "class prior"),
            ("\"classes\": [\"x\", \"y\", \"z\"]", "\"classes\": [\"x\", \"y\"]", "alpha"),
            ("{\"format\"", "[\"format\"", "line 1"),
        ] {
            let broken = EXAMPLE.replacen(from, to, 1);
            assert_ne!(broken, EXAMPLE);
            let error = Model::from_json(&broken).unwrap_err().to_string();
            assert!(error.contains(message), "`{error}` does not tell of `{message}`");
        }
    }
}
