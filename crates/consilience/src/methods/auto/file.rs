//! Model files of version 0.1: one layer and the logistic part.

use serde::Deserialize;
use serde_json::Value;

use super::{AutoParameters, Layer, Member, Rule};
use crate::error::Result;
use crate::methods::independent::Alpha;
use crate::methods::read;
use crate::methods::stacking::{FillParameters, LogisticParameters};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OneLayer {
    layer: OldLayer,
    logistic: LogisticParameters,
    logistic_share: f64,
    #[serde(default)]
    fill: Option<FillParameters>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OldLayer {
    bias: Vec<f64>,
    output_exponents: Vec<f64>,
    evidence_exponents: Vec<f64>,
    alpha: Alpha,
}

/// Reads the parameters in either form.
pub(super) fn read_parameters(parameters: Value) -> Result<AutoParameters> {
    if parameters.get("layer").is_none() {
        return read(parameters);
    }
    let OneLayer { layer, logistic, logistic_share, fill } = read(parameters)?;
    let OldLayer { bias, output_exponents, evidence_exponents, alpha } = layer;
    let probability_coefficients = Vec::new();
    let layer = Layer { bias, output_exponents, evidence_exponents, probability_coefficients };
    Ok(AutoParameters {
        members: vec![Member { weight: 1.0, rule: Rule::Layer(layer) }],
        alpha: Some(alpha),
        logistic: Some(logistic),
        logistic_share,
        fill,
    })
}
