//! The parts of a logistic rule as formulas.

use super::{FillParameters, Filler, LogisticParameters, linear_floor};
use crate::formula::{Matrix, Scoring, Value};

/// The logarithms of all outputs after the floor, those of absent classifiers filled in, K × J.
pub(in crate::methods) fn filled_logs(filler: &Filler, scoring: &mut Scoring) -> Value {
    let f = &mut scoring.formula;
    let raised = f.raise_to_floor(scoring.outputs, linear_floor(scoring.n_classes));
    let logs = f.ln(raised);
    let mut fill = scoring.mean_of_present(logs);
    if let Some(FillParameters { weight, mean, covariance }) = filler.parameters() {
        let f = &mut scoring.formula;
        let (mean, covariance) = (Matrix::from_rows(mean), Matrix::from_rows(covariance));
        let expected = f.conditional_mean(logs, scoring.present, mean, covariance);
        let (a, b) = (f.number(*weight), f.number(1.0 - weight));
        let (expected, plain) = (f.multiply(a, expected), f.multiply(b, fill));
        fill = f.add(expected, plain);
    }
    scoring.formula.select(scoring.is_missing, fill, logs)
}

/// Vₜ = cₜ + Σₖⱼ Wₜₖⱼ gᵏⱼ.
pub(in crate::methods) fn predictor(
    parameters: &LogisticParameters,
    scoring: &mut Scoring,
    logs: Value,
) -> Value {
    let LogisticParameters { bias, weights } = parameters;
    let rows = (0..scoring.n_classifiers).flat_map(|k| weights.iter().map(move |w| w[k].clone()));
    let rows: Vec<Vec<f64>> = rows.collect();
    let terms = scoring.formula.per_classifier(Matrix::from_rows(&rows), logs);
    let sum = scoring.sum_over_classifiers(terms);
    let bias = scoring.formula.constant(Matrix::row(bias));
    scoring.formula.add(sum, bias)
}
