//! Baselines of the correlated model against independent computations of the same definitions.

use consilience::methods::bcc::Bcc;
use consilience::methods::logit_normal::LogitNormal;

use crate::compare;

/// With `NumPy` and `SciPy`'s `multivariate_t`, the definition of docs/methods/logit-normal.md written down anew.
#[test]
fn the_normal_model_of_log_ratios_predicts_as_elsewhere() {
    let trials = [
        ("bookies_a", 1.06020),
        ("bookies_b", 1.10263),
        ("bookies_c", 1.07880),
        ("dna_a", 0.19877),
        ("dna_b", 0.30682),
        ("dna_c", 0.29967),
    ];
    let config = LogitNormal::default();
    compare(&trials, 2e-5, |outputs| config.learn(outputs).expect("a fit").fusion);
}

/// With `NumPy`; up to 5 % of the decisions are ties.
#[test]
fn hard_decisions_predict_as_elsewhere() {
    let trials = [
        ("bookies_a", 1.07837),
        ("bookies_b", 1.08918),
        ("bookies_c", 1.18500),
        ("dna_a", 0.38769),
        ("dna_b", 0.51996),
        ("dna_c", 0.69320),
    ];
    compare(&trials, 2e-5, |outputs| Bcc::default().learn(outputs).expect("a fit"));
}
