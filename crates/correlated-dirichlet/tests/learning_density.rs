//! The density that learning reads against the one that fusing reads.

use correlated_dirichlet::pair::{LearningDensity, LearningScratch, PairDensity, Scratch};

/// Over resolutions and shapes at which outputs far from a tie, with τ beyond the core of the tables, read the columns of
/// the tail. The stated error of the learning density is 2e-2 at the most.
#[test]
fn learning_and_fusing_agree_far_from_ties() {
    let (x1, x2) = ([0.5, 0.22, 0.28], [0.21, 0.5, 0.29]);
    for epsilon in [0.03, 0.05, 0.07, 0.1, 0.13, 0.2] {
        for alpha in [2.0, 12.0, 40.0, 150.0] {
            let alpha = [0.7 * alpha, alpha, 0.7 * alpha];
            for share in [0.02, 0.1, 0.15, 0.2, 0.4, 0.8] {
                let delta = alpha.map(|a| share * a);
                let mut scratch = LearningScratch::default();
                let learning =
                    LearningDensity::new([&alpha, &alpha], &delta, epsilon, false).unwrap();
                let nodes = learning.nodes(&x1, &x2, &mut scratch);
                let found = learning.ln_density(&x1, &x2, &nodes, &mut scratch, &mut [0.0; 3]);
                let fusing = PairDensity::new(&alpha, &alpha, &delta).unwrap();
                let fusing = fusing.with_resolution(epsilon).unwrap();
                let expected = fusing.ln_density(&x1, &x2, &mut Scratch::default()).ln_density;
                assert!(
                    (found - expected).abs() < 2e-2,
                    "ε {epsilon}, α {alpha:?}, δ {delta:?}: {found} {expected}"
                );
            }
        }
    }
}
