//! Settings of model files written before the options of a method were one object.
//!
//! Such a file has `settings` with one optional member per method (`independent`, `correlated`,
//! `stacking`, …), nested where options depend on each other. They are converted to the options
//! of the method, which the file names under `fit` today.

use serde_json::{Map, Value};

use super::Settings;
use crate::error::{Error, Result};

/// Reads settings in today's form or in the old one, of a model of this method.
pub(super) fn read_settings(method: &str, mut settings: Map<String, Value>) -> Result<Settings> {
    if !settings.contains_key("fit") {
        convert(method, &mut settings);
    }
    serde_json::from_value(Value::Object(settings))
        .map_err(|error| Error::InvalidModel(format!("`settings`: {error}")))
}

/// Members that held the options of a method.
const MEMBERS: [&str; 7] =
    ["auto", "stacking", "correlated", "independent", "logit_normal", "normal_mixture", "bcc"];

/// Moves the options of the method into `fit`.
fn convert(method: &str, settings: &mut Map<String, Value>) {
    let mut fit = Map::new();
    for member in MEMBERS {
        if let Some(Value::Object(options)) = settings.remove(member) {
            fit.extend(flatten(options));
        }
    }
    fit.extend(settings.remove("structure").map(|value| ("structure".to_owned(), value)));
    fit.extend(settings.remove("weights").map(|value| ("weights".to_owned(), given(value))));
    let (name, classifier) = method.split_once(':').unwrap_or((method, ""));
    fit.insert("method".into(), name.into());
    if !classifier.is_empty() {
        fit.insert("classifier".into(), classifier.into());
    }
    settings.insert("fit".into(), Value::Object(fit));
}

/// `{"alpha_prior": {"pooled": {"items": 2}}}` becomes `alpha_prior` and `prior_items`, `{"sd": 1}`
/// becomes 1, and the nested options of the Dirichlets join the others.
fn flatten(options: Map<String, Value>) -> Map<String, Value> {
    let mut flat = Map::new();
    for (name, value) in options {
        match (name.as_str(), value) {
            ("independent", Value::Object(nested)) => {
                let nested = flatten(nested);
                for shared in ["alpha_prior", "prior_items"] {
                    flat.extend(nested.get(shared).map(|value| (shared.into(), value.clone())));
                }
            }
            ("alpha_prior", Value::Object(prior)) => {
                flat.insert(name, "pooled".into());
                flat.extend(
                    prior["pooled"].get("items").map(|n| ("prior_items".into(), n.clone())),
                );
            }
            ("ridge", Value::Object(ridge)) => {
                flat.insert(name, ridge.get("sd").cloned().unwrap_or_default());
            }
            ("ridge", _) => {
                flat.insert(name, "cv".into());
            }
            // Gibbs sampling and the mixture as published are in the laboratory now.
            ("sampler" | "variant", _) => {}
            (_, value) => {
                flat.insert(name, value);
            }
        }
    }
    flat
}

/// `{"given": [1, 2]}` becomes `[1, 2]`.
fn given(weights: Value) -> Value {
    weights.get("given").cloned().unwrap_or(weights)
}
