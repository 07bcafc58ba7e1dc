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
                let items = prior.get("pooled").and_then(|pooled| pooled.get("items"));
                flat.extend(items.map(|items| ("prior_items".into(), items.clone())));
            }
            ("ridge", Value::Object(ridge)) => {
                flat.insert(name, ridge.get("sd").cloned().unwrap_or_default());
            }
            ("ridge", _) => {
                flat.insert(name, "cv".into());
            }
            // Learning α and δ together is no option any more; the fitted parameters stay as they are.
            ("inference", Value::String(kind)) if kind == "joint" => {
                flat.insert(name, "two-step".into());
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Settings as version 0.1 wrote them before the options of a method were one object.
    fn read(method: &str, members: &Value) -> Result<Value> {
        let mut settings = json!({"software": "0.1.0", "floor": 1e-6, "class_prior": "uniform"});
        for (name, value) in members.as_object().expect("an object") {
            settings[name] = value.clone();
        }
        let Value::Object(settings) = settings else { unreachable!("an object") };
        Ok(serde_json::to_value(read_settings(method, settings)?.fit).expect("plain JSON"))
    }

    #[test]
    fn settings_of_every_old_form_are_converted() {
        let dirichlets = json!({"alpha_prior": {"pooled": {"items": 3.0}}, "inference": "map",
            "chains": 4, "draws": 1000, "warmup": 100, "keep_draws": 0, "seed": 7});
        for (method, members, option, expected) in [
            ("independent", json!({"independent": dirichlets}), "prior_items", json!(3.0)),
            ("discounted", json!({"independent": dirichlets}), "seed", json!(7)),
            ("meta:a", json!({"independent": dirichlets}), "classifier", json!("a")),
            (
                "linear-pool",
                json!({"weights": {"given": [1.0, 2.0]}}),
                "weights",
                json!([1.0, 2.0]),
            ),
            ("log-pool", json!({"weights": "free"}), "weights", json!("free")),
            ("opinion-pool", json!({}), "method", json!("opinion-pool")),
            ("auto", json!({"auto": {"seed": 3}}), "seed", json!(3)),
            ("bcc", json!({"bcc": {"prior_decisions": 2.0}}), "prior_decisions", json!(2.0)),
            (
                "logit-normal",
                json!({"logit_normal": {"covariance_items": 9.0, "mean_items": 1.0}}),
                "covariance_items",
                json!(9.0),
            ),
            (
                "normal-mixture",
                json!({"normal_mixture": {"variant": "repaired", "components": 5}}),
                "components",
                json!(5),
            ),
            (
                "correlated",
                json!({"correlated": {"inference": "joint"}}),
                "inference",
                json!("two-step"),
            ),
            (
                "stacking",
                json!({"stacking": {"ridge": {"sd": 0.3}, "balance": "weights", "seed": 1}}),
                "ridge",
                json!(0.3),
            ),
            (
                "stacking",
                json!({"stacking": {"ridge": "cross-validated", "balance": "offset", "seed": 1}}),
                "ridge",
                json!("cv"),
            ),
            (
                "correlated",
                json!({"structure": "full", "correlated": {"independent": dirichlets,
                    "delta_prior": "uniform", "inference": "two-step", "sampler": "likelihood",
                    "resolution": 0.05, "chains": 2, "draws": 50, "warmup": 10, "keep_draws": 0,
                    "seed": 7}}),
                "resolution",
                json!(0.05),
            ),
        ] {
            let fit = read(method, &members).unwrap();
            assert_eq!(fit[option], expected, "{method}: {fit}");
        }
    }

    #[test]
    fn an_empty_prior_is_the_default_prior() {
        let fit = read("independent", &json!({"independent": {"alpha_prior": {}}})).unwrap();
        assert_eq!((&fit["alpha_prior"], &fit["prior_items"]), (&json!("pooled"), &json!(2.0)));
    }

    #[test]
    fn unknown_settings_are_still_refused() {
        assert!(read("auto", &json!({"auto": {"seed": 0}, "extra": 1})).is_err());
        assert!(read("auto", &json!({"auto": {"seed": 0, "extra": 1}})).is_err());
    }
}
