//! The model file: versioned JSON that people can read and write.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    CorrelatedParameters, Draw, Method, Model, PairPosterior, Settings, Training, TreeParameters,
};
use crate::data::class_prior::ClassPrior;
use crate::data::schema::Schema;
use crate::error::{Error, Result};
use crate::methods::auto::AutoFusion;
use crate::methods::bcc::BccFusion;
use crate::methods::correlated::Structure;
use crate::methods::correlated::learning::SharedReport;
use crate::methods::correlated::tree::{TreeKind, TreePair};
use crate::methods::discounted::DiscountedFusion;
use crate::methods::independent::{Alpha, IndependentFusion, PosteriorReport};
use crate::methods::logit_normal::LogitNormalFusion;
use crate::methods::normal_mixture::NormalMixtureFusion;
use crate::methods::pools::{Pool, PoolKind};
use crate::methods::shares::EvidenceCovariance;
use crate::methods::stacking::StackingFusion;
use correlated_dirichlet::CorrelatedDirichlet;

/// What `format` says.
const FORMAT: &str = "consilience";

/// The version written, and the only one read.
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelFile {
    format: String,
    version: u32,
    method: String,
    classifiers: Vec<String>,
    classes: Vec<String>,
    class_prior: Vec<f64>,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    parameters: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    settings: Option<Settings>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    training: Option<Training>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    diagnostics: Option<PosteriorReport>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pair_diagnostics: Vec<PairPosterior>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shared_diagnostics: Option<SharedReport>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    draws: Vec<Draw>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct IndependentParameters {
    alpha: Alpha,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PoolParameters {
    weights: Vec<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BccParameters {
    confusion: Alpha,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DiscountedParameters {
    alpha: Alpha,
    covariance: EvidenceCovariance,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CorrelatedFile {
    alpha: Alpha,
    delta: DeltaFile,
    #[serde(default)]
    resolution: f64,
    #[serde(default = "full_structure")]
    structure: Structure,
    /// Of a tree.
    #[serde(default)]
    edges: Vec<[String; 2]>,
}

/// Of files that do not say.
fn full_structure() -> Structure {
    Structure::Full
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DeltaFile {
    #[serde(default)]
    common: Option<Vec<Vec<f64>>>,
    #[serde(default)]
    pairs: Vec<PairFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PairFile {
    between: [String; 2],
    delta: Vec<Vec<f64>>,
    /// Of a tree.
    #[serde(default)]
    gain: f64,
    #[serde(default)]
    gain_error: f64,
}

impl Model {
    /// Reads a model file.
    pub fn from_json(text: &str) -> Result<Self> {
        let file: ModelFile = serde_json::from_str(text).map_err(invalid)?;
        if file.format != FORMAT {
            return Err(Error::InvalidModel(format!(
                "`format` is `{}`, not `{FORMAT}`",
                file.format
            )));
        }
        if file.version != VERSION {
            return Err(Error::InvalidModel(format!(
                "it has version {}, and this program reads version {VERSION}",
                file.version
            )));
        }
        let schema = Arc::new(Schema::new(file.classifiers, file.classes)?);
        let method = method(&file.method, file.parameters, &schema)?;
        let model = Self {
            settings: file.settings,
            training: file.training,
            posterior: file.diagnostics,
            pair_posteriors: file.pair_diagnostics,
            shared_posterior: file.shared_diagnostics,
            draws: file.draws,
            ..Self::new(method, ClassPrior::new(&file.class_prior)?)?
        };
        model.check_extras()?;
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
            parameters: self.method.parameters(),
            settings: self.settings.clone(),
            training: self.training.clone(),
            diagnostics: self.posterior.clone(),
            pair_diagnostics: self.pair_posteriors.clone(),
            shared_diagnostics: self.shared_posterior.clone(),
            draws: self.draws.clone(),
        };
        let value =
            serde_json::to_value(&file).expect("all parts of a model are plain JSON values");
        let mut text = String::new();
        write_json(&value, 0, &mut text);
        text.push('\n');
        text
    }
}

impl Method {
    fn parameters(&self) -> Value {
        match self {
            Self::Pool(pool) if pool.kind() == PoolKind::Opinion => Value::Null,
            Self::Pool(pool) => json!({ "weights": pool.weights() }),
            Self::Independent(fusion) | Self::Meta(fusion) => json!({ "alpha": fusion.alpha() }),
            Self::Discounted(fusion) => {
                json!({ "alpha": fusion.margins().alpha(), "covariance": fusion.covariance() })
            }
            Self::Correlated(parameters) => correlated_value(parameters),
            Self::Tree(parameters) => tree_value(parameters),
            Self::Stacking(fusion) => json!(fusion.parameters()),
            Self::Auto(fusion) => json!(fusion.parameters()),
            Self::LogitNormal(fusion) => json!(fusion.parameters()),
            Self::NormalMixture(fusion) => json!(fusion.parameters()),
            Self::Bcc(fusion) => json!({ "confusion": fusion.confusion() }),
        }
    }
}

fn correlated_value(parameters: &CorrelatedParameters) -> Value {
    let classes = parameters.classes();
    let names = parameters.schema().classifiers();
    let common: Vec<&[f64]> = classes.iter().map(CorrelatedDirichlet::common).collect();
    let pairs: Vec<Value> = (0..classes[0].pairs().len())
        .map(|i| {
            let pair = &classes[0].pairs()[i];
            let delta: Vec<&[f64]> =
                classes.iter().map(|c| c.pairs()[i].delta.as_slice()).collect();
            json!({ "between": [names[pair.first], names[pair.second]], "delta": delta })
        })
        .collect();
    let structure = if pairs.is_empty() { Structure::Common } else { Structure::Full };
    let mut value =
        json!({ "alpha": parameters.alpha(), "delta": { "common": common, "pairs": pairs } });
    if names.len() > 2 {
        value["structure"] = json!(structure);
    }
    if parameters.resolution() > 0.0 {
        value["resolution"] = json!(parameters.resolution());
    }
    value
}

fn tree_value(parameters: &TreeParameters) -> Value {
    let names = parameters.schema().classifiers();
    let between = |pair: &TreePair| [&names[pair.between.0], &names[pair.between.1]];
    let pair = |pair: &TreePair| {
        let mut value = json!({ "between": between(pair), "delta": pair.delta, "gain": pair.gain });
        if pair.gain_error > 0.0 {
            value["gain_error"] = json!(pair.gain_error);
        }
        value
    };
    let fusion = parameters.fusion();
    let pairs: Vec<Value> = fusion.pairs().iter().map(pair).collect();
    let mut value = json!({
        "alpha": parameters.alpha(),
        "delta": { "pairs": pairs },
        "structure": fusion.kind(),
        "edges": fusion.tree().map(between).collect::<Vec<_>>(),
    });
    if parameters.resolution() > 0.0 {
        value["resolution"] = json!(parameters.resolution());
    }
    value
}

fn invalid(error: impl std::fmt::Display) -> Error {
    Error::InvalidModel(error.to_string())
}

fn method(name: &str, parameters: Value, schema: &Arc<Schema>) -> Result<Method> {
    fn parse<T: serde::de::DeserializeOwned>(parameters: Value) -> Result<T> {
        serde_json::from_value(parameters)
            .map_err(|error| Error::InvalidModel(format!("`parameters`: {error}")))
    }
    let pool = |kind| -> Result<Method> {
        let PoolParameters { weights } = parse(parameters.clone())?;
        Ok(Method::Pool(Pool::new(Arc::clone(schema), kind, weights)?))
    };
    match name {
        "opinion-pool" if parameters.is_null() => {
            Ok(Method::Pool(Pool::opinion(Arc::clone(schema))))
        }
        "opinion-pool" => Err(Error::InvalidModel("an opinion pool has no `parameters`".into())),
        "linear-pool" => pool(PoolKind::Linear),
        "log-pool" => pool(PoolKind::Logarithmic),
        "correlated" => correlated(parse(parameters)?, schema),
        "stacking" => {
            let fusion = StackingFusion::new(Arc::clone(schema), parse(parameters)?)?;
            Ok(Method::Stacking(fusion))
        }
        "auto" => {
            let fusion = AutoFusion::new(Arc::clone(schema), parse(parameters)?)?;
            Ok(Method::Auto(Box::new(fusion)))
        }
        "logit-normal" => {
            let fusion = LogitNormalFusion::new(Arc::clone(schema), parse(parameters)?)?;
            Ok(Method::LogitNormal(fusion))
        }
        "normal-mixture" => {
            let fusion = NormalMixtureFusion::new(Arc::clone(schema), parse(parameters)?)?;
            Ok(Method::NormalMixture(fusion))
        }
        "bcc" => {
            let BccParameters { confusion } = parse(parameters)?;
            Ok(Method::Bcc(BccFusion::new(Arc::clone(schema), confusion)?))
        }
        "discounted" => discounted(parse(parameters)?, schema).map(Method::Discounted),
        "independent" => independent(parse(parameters)?, schema).map(Method::Independent),
        meta if meta.strip_prefix("meta:") == Some(&schema.classifiers()[0]) => {
            independent(parse(parameters)?, schema).map(Method::Meta)
        }
        meta if meta.starts_with("meta:") => {
            Err(Error::InvalidModel(format!("`{meta}` must have that classifier first and alone")))
        }
        other => Err(Error::InvalidModel(format!("unknown method `{other}`"))),
    }
}

fn independent(
    parameters: IndependentParameters,
    schema: &Arc<Schema>,
) -> Result<IndependentFusion> {
    IndependentFusion::new(Arc::clone(schema), parameters.alpha)
}

fn discounted(parameters: DiscountedParameters, schema: &Arc<Schema>) -> Result<DiscountedFusion> {
    let margins = IndependentFusion::new(Arc::clone(schema), parameters.alpha)?;
    DiscountedFusion::new(margins, parameters.covariance)
}

fn correlated(file: CorrelatedFile, schema: &Arc<Schema>) -> Result<Method> {
    match file.structure.tree() {
        Some(kind) => tree(file, kind, schema).map(Method::Tree),
        None => full(file, schema).map(Method::Correlated),
    }
}

/// The classifiers that a pair names.
fn places(schema: &Schema, names: &[String; 2], field: &str) -> Result<(usize, usize)> {
    let index = |name: &String| {
        schema.classifier_index(name).ok_or_else(|| {
            Error::InvalidModel(format!("`{field}` names `{name}`, which is no classifier"))
        })
    };
    Ok((index(&names[0])?, index(&names[1])?))
}

fn full(file: CorrelatedFile, schema: &Arc<Schema>) -> Result<CorrelatedParameters> {
    if file.structure == Structure::Common && !file.delta.pairs.is_empty() {
        return Err(Error::InvalidModel("the structure `common` has no `delta.pairs`".into()));
    }
    if !file.edges.is_empty() {
        return Err(Error::InvalidModel("only the structure `tree` has `edges`".into()));
    }
    let pair = |pair: PairFile| -> Result<_> {
        let (first, second) = places(schema, &pair.between, "delta.pairs")?;
        Ok((first, second, pair.delta))
    };
    let pairs = file.delta.pairs.into_iter().map(pair).collect::<Result<Vec<_>>>()?;
    CorrelatedParameters::from_parts(
        Arc::clone(schema),
        &file.alpha,
        file.delta.common.as_deref(),
        &pairs,
        file.resolution,
    )
}

fn tree(file: CorrelatedFile, kind: TreeKind, schema: &Arc<Schema>) -> Result<TreeParameters> {
    if file.delta.common.is_some() {
        return Err(Error::InvalidModel("a tree has `delta.pairs` alone, nothing common".into()));
    }
    let sorted = |(a, b): (usize, usize)| (a.min(b), a.max(b));
    let pair = |pair: PairFile| -> Result<TreePair> {
        let between = sorted(places(schema, &pair.between, "delta.pairs")?);
        let PairFile { delta, gain, gain_error, .. } = pair;
        Ok(TreePair { between, delta, gain, gain_error })
    };
    let pairs = file.delta.pairs.into_iter().map(pair).collect::<Result<Vec<_>>>()?;
    let tree = TreeParameters::new(Arc::clone(schema), file.alpha, pairs, kind, file.resolution)?;
    if file.edges.is_empty() {
        return Ok(tree);
    }
    let edge = |names: &[String; 2]| places(schema, names, "edges").map(sorted);
    tree.with_edges(&file.edges.iter().map(edge).collect::<Result<Vec<_>>>()?)
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
        let method = crate::MethodChoice::Independent;
        let config = crate::FitConfig { method, ..crate::FitConfig::default() };
        let model = config.fit(&outputs, &crate::NoProgress).unwrap();
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
