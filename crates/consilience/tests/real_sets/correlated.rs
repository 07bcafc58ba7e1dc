//! The raw correlated model with our defaults against trials.

use consilience::Outputs;
use consilience::methods::Method;
use consilience::methods::correlated::CorrelatedMethod;
use consilience::methods::correlated::learning::{Correlated, CorrelatedInference};

use crate::compare;

const TRIALS: [(&str, f64); 5] = [
    ("dna_a", 0.196),
    ("dna_b", 0.307),
    ("dna_c", 0.290),
    ("bookies_a", 1.055),
    ("bookies_b", 1.085),
];

fn fit(config: &Correlated, outputs: &Outputs) -> CorrelatedMethod {
    match config.fit(outputs).expect("a fit").method() {
        Method::Correlated(method) => method.clone(),
        other => unreachable!("{other:?}"),
    }
}

#[test]
#[ignore = "slow: a fit of what is shared for each of ten folds, five sets"]
fn the_correlated_model_predicts_as_in_trials_at_its_mode() {
    let config = Correlated { inference: CorrelatedInference::Map, ..Correlated::default() };
    compare(&TRIALS, 0.006, |outputs| fit(&config, outputs));
}

#[test]
#[ignore = "slow: a posterior of what is shared for each of ten folds, five sets"]
fn the_correlated_model_predicts_as_in_trials() {
    let config = Correlated::default();
    compare(&TRIALS, 0.006, |outputs| fit(&config, outputs));
}
