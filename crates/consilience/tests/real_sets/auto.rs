//! `auto` against the prototype in which it was developed.

use consilience::NoProgress;
use consilience::methods::auto::Auto;

use crate::compare;

#[test]
fn the_log_loss_of_auto_agrees_with_the_prototype() {
    let expected = [
        ("bookies_a", 0.9983),
        ("bookies_b", 1.0350),
        ("bookies_c", 0.9982),
        ("dna_a", 0.1703),
        ("dna_b", 0.2773),
        ("dna_c", 0.2713),
    ];
    let config = Auto::default();
    compare(&expected, 0.002, |outputs| config.learn(outputs, &NoProgress).expect("a fit").fusion);
}
