//! The parameters of `auto` as text.

use super::AutoParameters;
use crate::data::schema::Schema;
use crate::methods::stacking::describe_logistic;
use crate::text;

/// The exponents of the layer, then the logistic part.
pub(super) fn describe(schema: &Schema, parameters: &AutoParameters) -> String {
    let layer = &parameters.layer;
    let exponents = layer.output_exponents.iter().zip(&layer.evidence_exponents);
    let rows: Vec<Vec<String>> = schema
        .classifiers()
        .iter()
        .zip(exponents)
        .map(|(name, (u, v))| vec![name.clone(), format!("{u:.4}"), format!("{v:.4}")])
        .collect();
    let header = ["classifier", "exponent of its output", "of its evidence"];
    let (layer_share, share) = (1.0 - parameters.logistic_share, parameters.logistic_share);
    let bias: Vec<String> = layer.bias.iter().map(|b| format!("{b:.4}")).collect();
    format!(
        "\n{}bias of the classes: {}\nThis layer has a weight of {layer_share:.3}, the logistic \
         part below one of {share:.3}.\n{}",
        text::aligned(&header, &rows),
        bias.join(", "),
        describe_logistic(schema, &parameters.logistic)
    )
}
