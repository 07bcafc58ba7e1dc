//! Stacking against scikit-learn's logistic regression.

use consilience::methods::stacking::{ClassBalance, Ridge, Stacking};

use crate::compare;

const EXPECTED: [(&str, f64); 5] = [
    ("dna_a", 0.170),
    ("dna_b", 0.277),
    ("dna_c", 0.2725),
    ("bookies_a", 0.9987),
    ("bookies_b", 1.036),
];

fn check(config: &Stacking) {
    compare(&EXPECTED, 0.004, |outputs| config.learn(outputs).expect("a fit").fusion);
}

#[test]
fn the_log_loss_agrees_with_scikit_learn() {
    check(&Stacking::default());
}

/// At natural class frequencies, both ways of balancing classes have nearly the same log-loss.
#[test]
fn the_log_loss_with_class_weights_agrees_with_scikit_learn() {
    check(&Stacking { balance: ClassBalance::Weights, ..Stacking::default() });
}

#[test]
#[ignore = "slow: make validate"]
fn the_log_loss_with_a_cross_validated_ridge_agrees_with_scikit_learn() {
    check(&Stacking { ridge: Ridge::CrossValidated, ..Stacking::default() });
}
