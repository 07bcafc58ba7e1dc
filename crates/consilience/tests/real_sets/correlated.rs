//! The correlated model with default options against an independent prototype.

use consilience::Outputs;
use consilience::methods::Method;
use consilience::methods::correlated::CorrelatedMethod;
use consilience::methods::correlated::learning::{Correlated, CorrelatedInference};

use crate::compare;

const EXPECTED: [(&str, f64); 5] = [
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
#[ignore = "slow: make validate"]
fn the_log_loss_at_the_posterior_mode_agrees_with_the_prototype() {
    let config = Correlated { inference: CorrelatedInference::Map, ..Correlated::default() };
    compare(&EXPECTED, 0.006, |outputs| fit(&config, outputs));
}

#[test]
#[ignore = "slow: make validate"]
fn the_log_loss_at_the_posterior_mean_agrees_with_the_prototype() {
    let config = Correlated::default();
    compare(&EXPECTED, 0.006, |outputs| fit(&config, outputs));
}
