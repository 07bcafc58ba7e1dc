//! The correlated model with default options against an independent prototype.

use std::sync::Arc;

use consilience::methods::correlated::CorrelatedFusion;
use consilience::methods::correlated::learning::{Correlated, CorrelatedInference};
use consilience::methods::independent::{Independent, Inference};
use consilience::model::CorrelatedParameters;
use consilience::{NoProgress, Outputs};

use crate::compare;

const EXPECTED: [(&str, f64); 5] = [
    ("dna_a", 0.196),
    ("dna_b", 0.307),
    ("dna_c", 0.290),
    ("bookies_a", 1.055),
    ("bookies_b", 1.085),
];

fn fit(config: &Correlated, outputs: &Outputs) -> CorrelatedFusion {
    let schema = Arc::clone(outputs.schema());
    let fitted = config.fit_pair(outputs, &NoProgress).expect("a fit");
    let (alpha, delta, resolution) = (&fitted.alpha, &fitted.delta, config.resolution);
    let parameters = CorrelatedParameters::of_pair(Arc::clone(&schema), alpha, delta, resolution)
        .expect("a model");
    CorrelatedFusion::new(schema, parameters.classes(), resolution).expect("a rule")
}

#[test]
#[ignore = "slow: one fit of δ per fold, ten folds, five sets"]
fn the_log_loss_at_the_posterior_mode_agrees_with_the_prototype() {
    let config = Correlated {
        inference: CorrelatedInference::Map,
        independent: Independent { inference: Inference::Map, ..Independent::default() },
        ..Correlated::default()
    };
    compare(&EXPECTED, 0.006, |outputs| fit(&config, outputs));
}

#[test]
#[ignore = "slow: one posterior of δ per fold, ten folds, five sets"]
fn the_log_loss_at_the_posterior_mean_agrees_with_the_prototype() {
    let config = Correlated::default();
    compare(&EXPECTED, 0.006, |outputs| fit(&config, outputs));
}
