//! The mixture as a formula: all layers at once, then all linear pools, then the logistic part.

use super::{AutoFusion, IndependentFusion, Layer, LinearRule, Rule};
use crate::formula::{Matrix, Scoring, Value};
use crate::methods::stacking::scoring::{filled_logs, predictor};

pub(super) fn ln_joint(auto: &AutoFusion, scoring: &mut Scoring) -> Value {
    let share = auto.parameters.logistic_share;
    let logs = filled_logs(&auto.filler, scoring);
    let probabilities = scoring.formula.exp(logs);
    let (mut layers, mut pools) = (Vec::new(), Vec::new());
    for member in &auto.parameters.members {
        let weight = (1.0 - share) * member.weight;
        match &member.rule {
            Rule::Layer(layer) => layers.push((weight, layer)),
            Rule::LinearPool(pool) => pools.push((weight, pool)),
        }
    }
    let mut parts = Vec::new();
    if !layers.is_empty() {
        let dirichlets = auto.dirichlets.as_ref();
        let predictors = predictors_of_layers(&layers, dirichlets, scoring, logs, probabilities);
        parts.push(mixed(&layers, scoring, predictors));
    }
    if !pools.is_empty() {
        let predictors = predictors_of_pools(&pools, scoring, probabilities);
        parts.push(mixed(&pools, scoring, predictors));
    }
    if let Some(logistic) = auto.logistic.as_ref().filter(|_| share > 0.0) {
        let predictor = predictor(&logistic.parameters, scoring, logs);
        parts.push(mixed(&[(share, ())], scoring, predictor));
    }
    let sum = parts.into_iter().reduce(|sum, part| scoring.formula.add(sum, part));
    let sum = sum.expect("the weights of members and logistic part add up to 1");
    let ln = scoring.formula.ln(sum);
    scoring.or_prior(ln)
}

/// Σₕ ωₕ softmax(ln p + Uʰ), for predictors H × J.
fn mixed<T>(members: &[(f64, T)], scoring: &mut Scoring, predictors: Value) -> Value {
    let joint = scoring.formula.add(predictors, scoring.ln_prior);
    let probabilities = scoring.formula.softmax(joint);
    let weights: Vec<f64> = members.iter().map(|(weight, _)| *weight).collect();
    scoring.formula.combine(Matrix::row(&weights), probabilities)
}

fn rows<'a, T>(members: &[(f64, &'a T)], row: impl Fn(&'a T) -> Vec<f64>) -> Matrix {
    Matrix::from_rows(&members.iter().map(|(_, member)| row(member)).collect::<Vec<_>>())
}

/// Uₜ = bₜ + Σₖ (uₖ gᵏₜ + vₖ Dᵏₜ + qₖ xᵏₜ).
fn predictors_of_layers(
    layers: &[(f64, &Layer)],
    dirichlets: Option<&IndependentFusion>,
    scoring: &mut Scoring,
    logs: Value,
    probabilities: Value,
) -> Value {
    let n = scoring.n_classifiers;
    let or_zeros =
        |values: &Vec<f64>| if values.is_empty() { vec![0.0; n] } else { values.clone() };
    let bias = scoring.formula.constant(rows(layers, |layer| layer.bias.clone()));
    let from_logs = scoring.formula.combine(rows(layers, |l| l.output_exponents.clone()), logs);
    let mut sum = scoring.formula.add(bias, from_logs);
    let exponents = rows(layers, |layer| or_zeros(&layer.evidence_exponents));
    if let Some(dirichlets) = dirichlets.filter(|_| exponents.any_nonzero()) {
        let evidence = evidence(dirichlets, scoring);
        let term = scoring.formula.combine(exponents, evidence);
        sum = scoring.formula.add(sum, term);
    }
    let coefficients = rows(layers, |layer| or_zeros(&layer.probability_coefficients));
    if coefficients.any_nonzero() {
        let term = scoring.formula.combine(coefficients, probabilities);
        sum = scoring.formula.add(sum, term);
    }
    sum
}

/// Uₜ = bₜ + a ln Σₖ wₖ xᵏₜ.
fn predictors_of_pools(
    pools: &[(f64, &LinearRule)],
    scoring: &mut Scoring,
    probabilities: Value,
) -> Value {
    let f = &mut scoring.formula;
    let means = f.combine(rows(pools, |pool| pool.weights.clone()), probabilities);
    let ln = f.ln(means);
    let exponents = f.constant(rows(pools, |pool| vec![pool.exponent]));
    let term = f.multiply(exponents, ln);
    let bias = f.constant(rows(pools, |pool| pool.bias.clone()));
    f.add(term, bias)
}

/// Dᵏₜ, centred over classes; that of an absent classifier is the mean of those present.
fn evidence(dirichlets: &IndependentFusion, scoring: &mut Scoring) -> Value {
    let f = &mut scoring.formula;
    let logs = f.ln(scoring.outputs);
    let evidence = dirichlets.evidence().formula(f, logs);
    let (sum, n) = (f.sum_over_classes(evidence), f.number(scoring.n_classes as f64));
    let mean = f.divide(sum, n);
    let centred = f.subtract(evidence, mean);
    let fill = scoring.mean_of_present(centred);
    scoring.formula.select(scoring.is_missing, fill, centred)
}
