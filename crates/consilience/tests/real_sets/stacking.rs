//! Stacking against trials with scikit-learn's logistic regression.

use consilience::methods::stacking::{ClassBalance, Ridge, Stacking};

use crate::compare;

const TRIALS: [(&str, f64); 5] = [
    ("dna_a", 0.170),
    ("dna_b", 0.277),
    ("dna_c", 0.2725),
    ("bookies_a", 0.9987),
    ("bookies_b", 1.036),
];

fn check(config: &Stacking) {
    compare(&TRIALS, 0.004, |outputs| config.learn(outputs).expect("a fit").fusion);
}

#[test]
fn stacking_predicts_as_well_as_in_trials() {
    check(&Stacking::default());
}

/// At natural frequencies the two ways of balancing the classes predict alike.
#[test]
fn so_it_does_with_class_weights() {
    check(&Stacking { balance: ClassBalance::Weights, ..Stacking::default() });
}

#[test]
#[ignore = "slow: 26 fits a fold, ten folds, five sets"]
fn so_it_does_with_a_ridge_by_cross_validation() {
    check(&Stacking { ridge: Ridge::CrossValidated, ..Stacking::default() });
}
