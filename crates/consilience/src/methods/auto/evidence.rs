//! The evidence of an output: its density under every true class.

use std::sync::Arc;

use nalgebra::DMatrix;

use crate::data::outputs::Items;
use crate::error::Result;
use crate::folds;
use crate::methods::independent::{IndependentFusion, SufficientStatistics, posterior_modes};
use crate::methods::stacking::Training;
use consilience_numerics::log_space::ln_at_least_tiny;

/// Parts of the training items; each gets its evidence from Dirichlets fitted to the others.
const FOLDS: usize = 5;

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

/// The Dirichlets of all items, and the centred evidence of every item by Dirichlets that have not
/// seen it, K·J × n.
pub(super) struct Evidence {
    pub(super) dirichlets: IndependentFusion,
    pub(super) out_of_fold: DMatrix<f64>,
    pub(super) converged: bool,
}

impl Evidence {
    /// The fold of every item: those of a class are dealt out at random.
    pub(super) fn deal(training: &Training, seed: u64) -> Vec<usize> {
        folds::stratified(&training.labels, training.class_weights.len(), FOLDS, seed)
    }

    pub(super) fn new(training: &Training, folds: &[usize]) -> Result<Self> {
        let schema = training.schema();
        let items = training.outputs.all();
        let parts: Vec<(Vec<usize>, SufficientStatistics)> = (0..FOLDS)
            .map(|fold| {
                let inside = folds::split(folds, fold).0;
                let mut statistics = SufficientStatistics::empty(schema);
                if !inside.is_empty() {
                    statistics.add(&training.outputs.select_items(&inside))?;
                }
                Ok((inside, statistics))
            })
            .collect::<Result<_>>()?;
        // Sums are exact, so merging parts gives what a fit on their items would.
        let fit = |left_out: Option<usize>| -> Result<(IndependentFusion, bool)> {
            let mut statistics = SufficientStatistics::empty(schema);
            for (fold, (_, part)) in parts.iter().enumerate() {
                if left_out != Some(fold) {
                    statistics.merge(part)?;
                }
            }
            let (alpha, converged) = posterior_modes(&statistics);
            Ok((IndependentFusion::new(Arc::clone(schema), alpha)?, converged))
        };
        let mut out_of_fold = DMatrix::zeros(schema.width(), items.len());
        for (fold, (inside, _)) in parts.iter().enumerate() {
            let (dirichlets, _) = fit(Some(fold))?;
            for &item in inside {
                let mut column = out_of_fold.column_mut(item);
                of_item(&dirichlets, &items, item, column.as_mut_slice());
                let present: Vec<bool> =
                    (0..items.n_classifiers()).map(|k| items.output(item, k).is_some()).collect();
                centre_and_fill(&present, column.as_mut_slice());
            }
        }
        let (dirichlets, converged) = fit(None)?;
        Ok(Self { dirichlets, out_of_fold, converged })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The evidence of one fold against a fit to all other items, done by hand.
    #[test]
    fn training_items_get_their_evidence_from_fits_that_have_not_seen_them() {
        let outputs = crate::simulation::Preset::Sim1.truth(0.0).unwrap().simulate(6, 1).unwrap();
        let training = Training::new(&outputs).unwrap();
        let folds = Evidence::deal(&training, 3);
        let evidence = Evidence::new(&training, &folds).unwrap();
        let (inside, outside) = folds::split(&folds, 2);
        let statistics = SufficientStatistics::of(&outputs.select_items(&outside)).unwrap();
        let unseen = IndependentFusion::at_mode(Arc::clone(outputs.schema()), &statistics).unwrap();
        for item in inside {
            let own = |dirichlets: &IndependentFusion| {
                let mut want = vec![0.0; 6];
                of_item(dirichlets, &outputs.all(), item, &mut want);
                centre_and_fill(&[true; 2], &mut want);
                want
            };
            let got = evidence.out_of_fold.column(item);
            assert_eq!(got.as_slice(), own(&unseen));
            assert_ne!(got.as_slice(), own(&evidence.dirichlets));
        }
    }

    #[test]
    fn an_absent_classifier_has_the_mean_evidence() {
        let mut evidence = [3.0, 1.0, 0.0, 0.0, -2.0, 4.0];
        centre_and_fill(&[true, false, true], &mut evidence);
        assert_eq!(evidence, [1.0, -1.0, -1.0, 1.0, -3.0, 3.0]);
    }
}
