//! The evidence of an output: its density under every true class.

use std::sync::Arc;

use super::features::centre;
use crate::data::outputs::Items;
use crate::error::{Error, Result};
use crate::methods::independent::{
    Alpha, Independent, IndependentFusion, PooledMeans, SufficientStatistics, posterior_modes,
};
use crate::methods::stacking::LabelledItems;
use crate::progress::Progress;
use consilience_numerics::log_space::ln_at_least_tiny;
use consilience_numerics::parallel;
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
    evidence.chunks_exact_mut(j).for_each(centre);
    fill_with_mean(present, evidence.iter_mut());
}

/// Gives an absent classifier the mean evidence of those present; K·J numbers.
pub(super) fn fill_with_mean<'a>(present: &[bool], evidence: impl Iterator<Item = &'a mut f64>) {
    let mut evidence: Vec<&mut f64> = evidence.collect();
    let j = evidence.len() / present.len();
    let n_present = present.iter().filter(|p| **p).count() as f64;
    for t in 0..j {
        let own = (0..present.len()).filter(|k| present[*k]).map(|k| *evidence[k * j + t]);
        let mean = own.sum::<f64>() / n_present;
        let absent = (0..present.len()).filter(|k| !present[*k]);
        absent.for_each(|k| *evidence[k * j + t] = mean);
    }
}

/// The Dirichlets of all labelled items, and the evidence of every item for its own class by
/// Dirichlets that have not seen it.
pub(super) struct Evidence {
    pub(super) dirichlets: IndependentFusion,
    /// K numbers per item, before centring; 0 where a classifier is absent.
    pub(super) left_out: Vec<f64>,
    pub(super) converged: bool,
}

/// With fewer items in a class, its Dirichlet is fitted anew without each of them; with more, one
/// Newton step suffices, whose error falls with the square of their number.
const REFITTED: f64 = 20.0;

/// Items whose evidence one thread computes at a time.
const ITEMS: usize = 1024;

impl Evidence {
    pub(super) fn new(training: &LabelledItems<'_>, progress: &dyn Progress) -> Result<Self> {
        let schema = training.schema();
        let statistics = SufficientStatistics::of(&training.outputs)?;
        let (alpha, converged) = posterior_modes(&statistics);
        let dirichlets = IndependentFusion::new(Arc::clone(schema), alpha)?;
        let own = OwnClasses::new(&statistics, dirichlets.alpha());
        let n_sources = schema.n_classifiers();
        let mut left_out = vec![0.0; n_sources * training.len()];
        let pieces: Vec<&mut [f64]> = left_out.chunks_mut(n_sources * ITEMS).collect();
        parallel::for_each(pieces, |piece, rows| {
            for (i, row) in rows.chunks_exact_mut(n_sources).enumerate() {
                progress.check()?;
                own.leave_out(training, piece * ITEMS + i, row);
            }
            Ok::<(), Error>(())
        })?;
        Ok(Self { dirichlets, left_out, converged })
    }
}

/// The densities of items' outputs under their own classes, whose Dirichlets have seen them.
struct OwnClasses<'a> {
    statistics: &'a SufficientStatistics,
    n_classes: usize,
    /// At k·J + class.
    dirichlets: Vec<OwnClass<'a>>,
    means: Vec<PooledMeans>,
}

/// What is the same for all items of a class.
struct OwnClass<'a> {
    alpha: &'a [f64],
    weight: f64,
    /// ψ(Σα) − ψ(αₗ), 1/ψ′(αₗ), and ψ′(Σα) / (1 − ψ′(Σα) Σ 1/ψ′(αₗ)).
    slopes: Vec<f64>,
    inverse: Vec<f64>,
    common: f64,
}

impl<'a> OwnClasses<'a> {
    fn new(statistics: &'a SufficientStatistics, alpha: &'a Alpha) -> Self {
        let n_classes = statistics.class_counts().len();
        let own = |(k, j): (usize, usize)| OwnClass::new(&alpha[k][j], statistics.weight(k, j));
        let pairs = (0..alpha.len()).flat_map(|k| (0..n_classes).map(move |j| (k, j)));
        let means = (0..alpha.len()).map(|k| PooledMeans::of(statistics, k)).collect();
        Self { statistics, n_classes, dirichlets: pairs.map(own).collect(), means }
    }

    /// Writes the log densities of an item's outputs under its own class by Dirichlets without the item.
    fn leave_out(&self, training: &LabelledItems<'_>, item: usize, row: &mut [f64]) {
        let (label, unit) = (training.label(item), training.outputs.weight(item).min(1.0));
        let mut logs = vec![0.0; self.n_classes];
        for (k, output) in training.outputs.items(item..item + 1).present(0) {
            logs.iter_mut().zip(output).for_each(|(log, x)| *log = ln_at_least_tiny(*x));
            let own = &self.dirichlets[k * self.n_classes + label];
            row[k] = if own.weight < REFITTED {
                let posterior = self.means[k].without(self.statistics, (k, label), &logs, unit);
                let alpha = posterior.map_or_else(
                    || vec![1.0; logs.len()],
                    |posterior| posterior.mode_near(own.alpha),
                );
                ln_density(&alpha, &logs)
            } else {
                let rest = own.weight + Independent::default().prior_items - unit;
                ln_density(&own.moved(&logs, unit / rest), &logs)
            };
        }
    }
}

impl<'a> OwnClass<'a> {
    fn new(alpha: &'a [f64], weight: f64) -> Self {
        let total: f64 = alpha.iter().sum();
        let (slope, common) = (digamma(total), trigamma(total));
        let inverse: Vec<f64> = alpha.iter().map(|a| 1.0 / trigamma(*a)).collect();
        let common = common / (1.0 - common * inverse.iter().sum::<f64>()).max(1e-8);
        let slopes = alpha.iter().map(|a| slope - digamma(*a)).collect();
        Self { alpha, weight, slopes, inverse, common }
    }

    /// α − share · F⁻¹s with s the gradient of an output's log density in α and F the Fisher
    /// information diag ψ′(α) − ψ′(Σα), by the formula of Sherman and Morrison.
    fn moved(&self, logs: &[f64], share: f64) -> Vec<f64> {
        let gradient: Vec<f64> = self.slopes.iter().zip(logs).map(|(s, log)| s + log).collect();
        let sum: f64 = gradient.iter().zip(&self.inverse).map(|(s, i)| s * i).sum();
        let along = self.common * sum;
        let step = |l: usize| self.alpha[l] - share * self.inverse[l] * (gradient[l] + along);
        let limited = |(l, a): (usize, &f64)| step(l).clamp(0.5 * a, 2.0 * a);
        self.alpha.iter().enumerate().map(limited).collect()
    }
}

fn ln_density(alpha: &[f64], logs: &[f64]) -> f64 {
    let products = alpha.iter().zip(logs).map(|(a, log)| (a - 1.0) * log);
    products.sum::<f64>() - ln_multivariate_beta(alpha)
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
                let mut own = vec![0.0; 6];
                of_item(&unseen, &outputs.all(), item, &mut own);
                for k in 0..2 {
                    let want = own[3 * k + training.label(item)];
                    // Centred over three classes it changes the evidence by ⅔, ⅓ and ⅓ of this.
                    sum += (evidence.left_out[2 * item + k] - want).abs() * (4.0 / 3.0);
                    n += 3.0;
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
