//! Coverage of the 90 % intervals of δ of all pairs: three classifiers and classes, 500 items per class.

use consilience::methods::correlated::learning::Correlated;
use consilience::{NoProgress, Result};

use super::truth;

/// So many training sets of so many items per class.
pub(super) fn run(replications: usize, items_per_class: usize) -> Result<()> {
    let truth = truth((3, 3), 0.3, &[((0, 1), 0.25), ((0, 2), 0.1)])?;
    println!("replication,pair,elements,covered,mean_share,true_share,worst_r_hat");
    for seed in 0..replications {
        let train = truth.simulate(items_per_class, 100 + seed as u64)?;
        let config = Correlated { draws: 250, seed: seed as u64, ..Correlated::default() };
        let fitted = config.fit_pairs(&train, &NoProgress)?;
        for (pair, report) in fitted.pairs.iter().zip(&fitted.delta_posteriors) {
            let (a, b) = pair.between;
            let report = report.as_ref().expect("the posterior was drawn");
            let (mut covered, mut elements) = (0, 0);
            let (mut shared, mut all, mut expected) = (0.0, 0.0, 0.0);
            for (j, class) in truth.classes().iter().enumerate() {
                for (l, want) in class.shared_by(a, b).iter().enumerate() {
                    let [low, high] = report.delta_interval[j][l];
                    covered += usize::from(low <= *want && *want <= high);
                    elements += 1;
                    shared += pair.delta[j][l];
                    expected += want;
                    all += class.alpha()[a][l];
                }
            }
            println!(
                "{seed},{}-{},{elements},{covered},{:.3},{:.3},{:.3}",
                a + 1,
                b + 1,
                shared / all,
                expected / all,
                report.worst.r_hat
            );
        }
    }
    Ok(())
}
