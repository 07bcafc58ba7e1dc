//! The parameters of `auto` as text.

use super::{AutoParameters, Layer, Member, Rule};
use crate::data::schema::Schema;
use crate::methods::stacking::describe_logistic;
use crate::text;

/// The weights of the parts, the mean exponents of the layers, then the logistic part.
pub(super) fn describe(schema: &Schema, parameters: &AutoParameters) -> String {
    let share = parameters.logistic_share;
    let layers: Vec<(f64, &Layer)> = parameters.members.iter().filter_map(layer).collect();
    let total: f64 = layers.iter().map(|(weight, _)| weight).sum();
    let linear = 1.0 - total;
    let mean = |of: &dyn Fn(&Layer) -> f64| {
        layers.iter().map(|(weight, layer)| weight * of(layer)).sum::<f64>() / total
    };
    let entry = |values: &[f64], i: usize| values.get(i).copied().unwrap_or(0.0);
    let row = |(k, name): (usize, &String)| {
        let numbers = [
            mean(&|layer| entry(&layer.output_exponents, k)),
            mean(&|layer| entry(&layer.evidence_exponents, k)),
            mean(&|layer| entry(&layer.probability_coefficients, k)),
        ];
        std::iter::once(name.clone()).chain(numbers.map(|x| format!("{x:.4}"))).collect()
    };
    let header = [
        "classifier",
        "exponent of its output",
        "of its evidence",
        "coefficient of its probability",
    ];
    let mut text = format!(
        "\nweights of the parts: layers and geometric pools {:.3}, linear pools {:.3}, logistic \
         {share:.3}\n",
        (1.0 - share) * total,
        (1.0 - share) * linear,
    );
    if total > 0.0 {
        let rows: Vec<Vec<String>> = schema.classifiers().iter().enumerate().map(row).collect();
        text += &format!("mean of all layers:\n{}", text::aligned(&header, &rows));
    }
    match &parameters.logistic {
        Some(logistic) => text + &describe_logistic(schema, logistic),
        None => text,
    }
}

fn layer(member: &Member) -> Option<(f64, &Layer)> {
    match &member.rule {
        Rule::Layer(layer) => Some((member.weight, layer)),
        Rule::LinearPool(_) => None,
    }
}
