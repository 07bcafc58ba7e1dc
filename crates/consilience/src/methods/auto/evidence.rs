//! The evidence of an output: its density under every true class.

use std::sync::Arc;

use crate::data::outputs::Items;
use crate::error::Result;
use crate::methods::independent::{
    Alpha, DirichletPosterior, Independent, IndependentFusion, SufficientStatistics,
    posterior_modes,
};
use crate::methods::stacking::LabelledItems;
use crate::progress::Progress;
use consilience_numerics::log_space::ln_at_least_tiny;
use consilience_numerics::special::{digamma, ln_multivariate_beta, trigamma};

/// Dᵏₜ of the outputs present for one item, K·J; others are left as they are.
pub(super) fn of_item(
    dirichlets: &IndependentFusion,
    items: &Items<'_>,
    item: usize,
    evidence: &mut [f64],
) {
    let j = items.n_classes();
    let mut logs = vec![0.0; j];
    for (k, output) in items.present(item) {
        logs.iter_mut().zip(output).for_each(|(log, x)| *log = ln_at_least_tiny(*x));
        dirichlets.evidence().of_output(k, &logs, &mut evidence[k * j..][..j]);
    }
}

/// Subtracts every classifier's mean over classes, which cancels in the normalisation, and gives
/// an absent classifier the mean of those present.
pub(super) fn centre_and_fill(present: &[bool], evidence: &mut [f64]) {
    let j = evidence.len() / present.len();
    let n_present = present.iter().filter(|p| **p).count() as f64;
    let mut mean = vec![0.0; j];
    for (block, _) in evidence.chunks_exact_mut(j).zip(present).filter(|(_, p)| **p) {
        let centre = block.iter().sum::<f64>() / j as f64;
        block.iter_mut().for_each(|d| *d -= centre);
        mean.iter_mut().zip(&*block).for_each(|(m, d)| *m += d / n_present);
    }
    for (block, _) in evidence.chunks_exact_mut(j).zip(present).filter(|(_, p)| !**p) {
        block.copy_from_slice(&mean);
    }
}

/// The Dirichlets of all labelled items, and the centred evidence of every item by Dirichlets that
/// have not seen it.
pub(super) struct Evidence {
    pub(super) dirichlets: IndependentFusion,
    /// K·J numbers per item.
    pub(super) left_out: Vec<f64>,
    pub(super) converged: bool,
}

/// With fewer items in a class, its Dirichlet is fitted anew without each of them; with more, one
/// Newton step suffices, whose error falls with the square of their number.
const REFITTED: f64 = 20.0;

impl Evidence {
    pub(super) fn new(training: &LabelledItems, progress: &dyn Progress) -> Result<Self> {
        let schema = training.schema();
        let items = training.outputs.all();
        let statistics = SufficientStatistics::of(&training.outputs)?;
        let (alpha, converged) = posterior_modes(&statistics);
        let dirichlets = IndependentFusion::new(Arc::clone(schema), alpha)?;
        let own = OwnClass { statistics: &statistics, alpha: dirichlets.alpha() };
        let (j, width) = (schema.n_classes(), schema.width());
        let mut left_out = vec![0.0; width * items.len()];
        for (item, row) in left_out.chunks_exact_mut(width).enumerate() {
            if item.is_multiple_of(256) {
                progress.check()?;
            }
            of_item(&dirichlets, &items, item, row);
            let (label, unit) = (training.labels[item], training.weights[item].min(1.0));
            for (k, output) in items.present(item) {
                own.leave_out((k, label), output, unit, &mut row[k * j + label]);
            }
            let present: Vec<bool> =
                (0..items.n_classifiers()).map(|k| items.output(item, k).is_some()).collect();
            centre_and_fill(&present, row);
        }
        Ok(Self { dirichlets, left_out, converged })
    }
}

/// The density of an item's output under its own class, whose Dirichlet has seen it.
struct OwnClass<'a> {
    statistics: &'a SufficientStatistics,
    alpha: &'a Alpha,
}

impl OwnClass<'_> {
    /// Turns the log density of an output into that without the output.
    fn leave_out(&self, (k, class): (usize, usize), output: &[f64], unit: f64, ln: &mut f64) {
        let logs: Vec<f64> = output.iter().map(|x| ln_at_least_tiny(*x)).collect();
        if self.statistics.weight(k, class) < REFITTED {
            let posterior = DirichletPosterior::without(self.statistics, (k, class), &logs, unit);
            let alpha = posterior.map_or_else(
                || vec![1.0; logs.len()],
                |posterior| posterior.mode().iter().map(|theta| theta.exp()).collect(),
            );
            *ln = ln_density(&alpha, &logs);
        } else {
            let rest = self.statistics.weight(k, class) + Independent::default().prior_items - unit;
            *ln = ln_density(&moved(&self.alpha[k][class], &logs, unit / rest), &logs);
        }
    }
}

fn ln_density(alpha: &[f64], logs: &[f64]) -> f64 {
    let products = alpha.iter().zip(logs).map(|(a, log)| (a - 1.0) * log);
    products.sum::<f64>() - ln_multivariate_beta(alpha)
}

/// α − share · F⁻¹s with s the gradient of an output's log density in α and F the Fisher
/// information diag ψ′(α) − ψ′(Σα), by the formula of Sherman and Morrison.
fn moved(alpha: &[f64], logs: &[f64], share: f64) -> Vec<f64> {
    let total: f64 = alpha.iter().sum();
    let (slope, common) = (digamma(total), trigamma(total));
    let gradient: Vec<f64> =
        alpha.iter().zip(logs).map(|(a, log)| slope - digamma(*a) + log).collect();
    let inverse: Vec<f64> = alpha.iter().map(|a| 1.0 / trigamma(*a)).collect();
    let sum: f64 = gradient.iter().zip(&inverse).map(|(s, i)| s * i).sum();
    let along = common * sum / (1.0 - common * inverse.iter().sum::<f64>()).max(1e-8);
    let step = |l: usize| alpha[l] - share * inverse[l] * (gradient[l] + along);
    (0..alpha.len()).map(|l| step(l).clamp(0.5 * alpha[l], 2.0 * alpha[l])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against a fit to all other items: to 1e-6 where the Dirichlets are fitted anew; where they
    /// are not, the mean difference falls with the square of the number of items per class.
    #[test]
    fn training_items_get_their_evidence_from_fits_that_have_not_seen_them() {
        let mut differences = Vec::new();
        for items_per_class in [2, 12, 40, 160] {
            let (mut sum, mut n) = (0.0, 0.0);
            let truth = crate::simulation::Preset::Sim1.truth(0.0).unwrap();
            let outputs = truth.simulate(items_per_class, 1).unwrap();
            let training = LabelledItems::new(&outputs).unwrap();
            let evidence = Evidence::new(&training, &crate::NoProgress).unwrap();
            for item in (0..outputs.n_items()).step_by(7) {
                let others: Vec<usize> = (0..outputs.n_items()).filter(|i| *i != item).collect();
                let statistics = SufficientStatistics::of(&outputs.select_items(&others)).unwrap();
                let schema = Arc::clone(outputs.schema());
                let unseen = IndependentFusion::at_mode(schema, &statistics).unwrap();
                let mut want = vec![0.0; 6];
                // Only the Dirichlet of the item's own class differs but for the prior, which is
                // taken from all classes.
                of_item(&evidence.dirichlets, &outputs.all(), item, &mut want);
                let mut own = vec![0.0; 6];
                of_item(&unseen, &outputs.all(), item, &mut own);
                for k in 0..2 {
                    want[3 * k + training.labels[item]] = own[3 * k + training.labels[item]];
                }
                centre_and_fill(&[true; 2], &mut want);
                for (got, want) in evidence.left_out[6 * item..].iter().zip(want) {
                    sum += (got - want).abs();
                    n += 1.0;
                }
            }
            differences.push(sum / n);
        }
        assert!(differences[0] < 1e-6 && differences[1] < 1e-6, "{differences:?}");
        assert!(differences[2] < 3e-3 && differences[3] < differences[2] / 10.0, "{differences:?}");
    }

    #[test]
    fn an_absent_classifier_has_the_mean_evidence() {
        let mut evidence = [3.0, 1.0, 0.0, 0.0, -2.0, 4.0];
        centre_and_fill(&[true, false, true], &mut evidence);
        assert_eq!(evidence, [1.0, -1.0, -1.0, 1.0, -3.0, 3.0]);
    }
}
