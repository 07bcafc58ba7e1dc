//! `auto` against the trials in which it was chosen.

use consilience::NoProgress;
use consilience::methods::auto::Auto;

use crate::compare;

#[test]
fn auto_predicts_as_well_as_in_trials() {
    let trials = [
        ("bookies_a", 0.9983),
        ("bookies_b", 1.0350),
        ("bookies_c", 0.9982),
        ("dna_a", 0.1703),
        ("dna_b", 0.2773),
        ("dna_c", 0.2713),
    ];
    let config = Auto::default();
    compare(&trials, 0.002, |outputs| config.learn(outputs, &NoProgress).expect("a fit").fusion);
}
