//! Rivals of the correlated model against independent computations of the same definitions.

use consilience::fusion::logit_normal::LogitNormalConfig;

use crate::compare;

/// With `NumPy` and `SciPy`'s `multivariate_t`, the definition of docs/methods.md written down anew.
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
    let config = LogitNormalConfig::default();
    compare(&trials, 2e-5, |outputs| config.fit(outputs).expect("a fit").fusion);
}
