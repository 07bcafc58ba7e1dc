//! The form of the correlated model in the model file.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};

use super::tree::{TreeKind, TreePair};
use super::{CorrelatedMethod, CorrelatedParameters, Structure, TreeParameters};
use crate::data::schema::Schema;
use crate::error::{Error, Result};
use crate::methods::independent::Alpha;
use crate::methods::read;
use correlated_dirichlet::CorrelatedDirichlet;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    alpha: Alpha,
    delta: Delta,
    #[serde(default)]
    resolution: f64,
    #[serde(default = "full")]
    structure: Structure,
    /// The edges of a tree.
    #[serde(default)]
    edges: Vec<[String; 2]>,
}

/// The structure of files that name none.
fn full() -> Structure {
    Structure::Full
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Delta {
    #[serde(default)]
    common: Option<Vec<Vec<f64>>>,
    #[serde(default)]
    pairs: Vec<Pair>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Pair {
    between: [String; 2],
    delta: Vec<Vec<f64>>,
    /// The gain of an edge of a tree.
    #[serde(default)]
    gain: f64,
    #[serde(default)]
    gain_error: f64,
}

/// Reads the `parameters` of a correlated model.
pub(super) fn read_parameters(schema: &Arc<Schema>, parameters: Value) -> Result<CorrelatedMethod> {
    let file: Parameters = read(parameters)?;
    check_pairs(&file.delta.pairs)?;
    match file.structure.tree() {
        Some(kind) => read_tree(file, kind, schema).map(CorrelatedMethod::Tree),
        None => read_joint(file, schema).map(CorrelatedMethod::Joint),
    }
}

/// Refuses a pair that is given twice, in whatever order its classifiers are named.
fn check_pairs(pairs: &[Pair]) -> Result<()> {
    let mut known = BTreeSet::new();
    for Pair { between: [a, b], .. } in pairs {
        if !known.insert(if a < b { (a, b) } else { (b, a) }) {
            let problem = format!("`delta.pairs` gives the pair `{a}` and `{b}` twice");
            return Err(Error::InvalidModel(problem));
        }
    }
    Ok(())
}

/// The indices of the classifiers that a pair names.
fn indices(schema: &Schema, names: &[String; 2], field: &str) -> Result<(usize, usize)> {
    let index = |name: &String| {
        schema.classifier_index(name).ok_or_else(|| {
            Error::InvalidModel(format!("`{field}` names `{name}`, which is no classifier"))
        })
    };
    Ok((index(&names[0])?, index(&names[1])?))
}

fn read_joint(file: Parameters, schema: &Arc<Schema>) -> Result<CorrelatedParameters> {
    if file.structure == Structure::Common && !file.delta.pairs.is_empty() {
        return Err(Error::InvalidModel("the structure `common` has no `delta.pairs`".into()));
    }
    if !file.edges.is_empty() {
        return Err(Error::InvalidModel("only the structure `tree` has `edges`".into()));
    }
    let pair = |pair: Pair| -> Result<_> {
        let (first, second) = indices(schema, &pair.between, "delta.pairs")?;
        Ok((first, second, pair.delta))
    };
    let pairs = file.delta.pairs.into_iter().map(pair).collect::<Result<Vec<_>>>()?;
    let common = file.delta.common.as_deref();
    CorrelatedParameters::from_parts(schema, &file.alpha, common, &pairs, file.resolution)
}

fn read_tree(file: Parameters, kind: TreeKind, schema: &Arc<Schema>) -> Result<TreeParameters> {
    if file.delta.common.is_some() {
        return Err(Error::InvalidModel("a tree has `delta.pairs` and no `delta.common`".into()));
    }
    let sorted = |(a, b): (usize, usize)| (a.min(b), a.max(b));
    let pair = |pair: Pair| -> Result<TreePair> {
        let between = sorted(indices(schema, &pair.between, "delta.pairs")?);
        let Pair { delta, gain, gain_error, .. } = pair;
        Ok(TreePair { between, delta, gain, gain_error })
    };
    let pairs = file.delta.pairs.into_iter().map(pair).collect::<Result<Vec<_>>>()?;
    let tree = TreeParameters::new(Arc::clone(schema), file.alpha, pairs, kind, file.resolution)?;
    if file.edges.is_empty() {
        return Ok(tree);
    }
    let edge = |names: &[String; 2]| indices(schema, names, "edges").map(sorted);
    tree.with_edges(&file.edges.iter().map(edge).collect::<Result<Vec<_>>>()?)
}

impl CorrelatedParameters {
    /// The `parameters` of the model file.
    pub(super) fn file_form(&self) -> Value {
        let (classes, names) = (self.classes(), self.schema().classifiers());
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
            json!({ "alpha": self.alpha(), "delta": { "common": common, "pairs": pairs } });
        if names.len() > 2 {
            value["structure"] = json!(structure);
        }
        with_resolution(value, self.resolution())
    }
}

impl TreeParameters {
    /// The `parameters` of the model file.
    pub(super) fn file_form(&self) -> Value {
        let names = self.schema().classifiers();
        let between = |pair: &TreePair| [&names[pair.between.0], &names[pair.between.1]];
        let pair = |pair: &TreePair| {
            let mut value =
                json!({ "between": between(pair), "delta": pair.delta, "gain": pair.gain });
            if pair.gain_error > 0.0 {
                value["gain_error"] = json!(pair.gain_error);
            }
            value
        };
        let fusion = self.fusion();
        let pairs: Vec<Value> = fusion.pairs().iter().map(pair).collect();
        let value = json!({
            "alpha": self.alpha(),
            "delta": { "pairs": pairs },
            "structure": fusion.kind(),
            "edges": fusion.tree().map(between).collect::<Vec<_>>(),
        });
        with_resolution(value, self.resolution())
    }
}

fn with_resolution(mut value: Value, resolution: f64) -> Value {
    if resolution > 0.0 {
        value["resolution"] = json!(resolution);
    }
    value
}
