//! The rules of pools as formulas.

use super::{Pool, PoolKind};
use crate::formula::{Matrix, Scoring, Value};

/// Weighted sums of probabilities or of their logarithms. Weights of missing classifiers are 0, and
/// those of an average are divided by the sum of the others.
pub(super) fn ln_joint(pool: &Pool, scoring: &mut Scoring) -> Value {
    let f = &mut scoring.formula;
    let weights = f.constant(Matrix::column(&pool.weights));
    let present = f.multiply(weights, scoring.present);
    let sum = f.sum_over_rows(scoring.n_classifiers, present);
    let (zero, one) = (f.number(0.0), f.number(1.0));
    let is_empty = f.is_equal(sum, zero);
    let (weights, sum) = if pool.is_average() {
        let divisor = f.select(is_empty, one, sum);
        let sum = f.select(is_empty, zero, one);
        (f.divide(present, divisor), sum)
    } else {
        (present, sum)
    };
    if pool.kind == PoolKind::Linear {
        let terms = f.multiply(weights, scoring.outputs);
        let mean = f.sum_over_rows(scoring.n_classifiers, terms);
        let ln = f.ln(mean);
        return f.select(is_empty, scoring.ln_prior, ln);
    }
    let logs = f.ln(scoring.outputs);
    let terms = f.multiply(weights, logs);
    let evidence = f.sum_over_rows(scoring.n_classifiers, terms);
    let rest = f.subtract(one, sum);
    let prior = f.multiply(rest, scoring.ln_prior);
    f.add(evidence, prior)
}
