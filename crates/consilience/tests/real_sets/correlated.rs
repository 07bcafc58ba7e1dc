//! The raw correlated model with our defaults against trials.

use std::sync::Arc;

use consilience::methods::correlated::CorrelatedFusion;
use consilience::methods::correlated::learning::{Correlated, CorrelatedInference};
use consilience::methods::independent::{Independent, Inference};
use consilience::model::CorrelatedParameters;
use consilience::{NoProgress, Outputs};

use crate::compare;

const TRIALS: [(&str, f64); 5] = [
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
#[ignore = "slow: a fit of what is shared for each of ten folds, five sets"]
fn the_correlated_model_predicts_as_in_trials_at_its_mode() {
    let config = Correlated {
        inference: CorrelatedInference::Map,
        independent: Independent { inference: Inference::Map, ..Independent::default() },
        ..Correlated::default()
    };
    compare(&TRIALS, 0.006, |outputs| fit(&config, outputs));
}

#[test]
#[ignore = "slow: a posterior of what is shared for each of ten folds, five sets"]
fn the_correlated_model_predicts_as_in_trials() {
    let config = Correlated::default();
    compare(&TRIALS, 0.006, |outputs| fit(&config, outputs));
}
