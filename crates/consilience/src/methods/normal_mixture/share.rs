//! The size of a component relative to its class, chosen by cross-validation.

use std::sync::Arc;

use super::{NormalMixture, NormalMixtureFusion};
use crate::data::class_prior::ClassPrior;
use crate::data::outputs::Outputs;
use crate::error::{Error, Result};
use crate::folds;
use crate::methods::fuse;
use crate::progress::Progress;

/// The candidates; the first is used where there are too few items to choose.
const SHARES: [f64; 3] = [1.0, 0.3, 0.1];

/// Fewest items per class for choosing; with fewer, halves are too small to fit.
const FEWEST_ITEMS: u64 = 20;

/// Draws that are kept of the single chain of a trial.
const DRAWS: usize = 4;

impl NormalMixture {
    /// The share given, or else the one with the smallest log-loss on the half of the items that
    /// was not fitted, classes weighted equally.
    pub(super) fn share_in_force(&self, outputs: &Outputs, progress: &dyn Progress) -> Result<f64> {
        if let Some(share) = self.covariance_share {
            return Ok(share);
        }
        let counts = outputs.class_counts();
        if counts.iter().any(|count| *count < FEWEST_ITEMS) {
            return Ok(SHARES[0]);
        }
        let trial = Self { chains: 1, draws: DRAWS.min(self.draws), ..self.clone() };
        let trials = 2 * SHARES.len() as u64;
        progress.begin("choosing the size of components", trials * trial.steps(counts.len()));
        match trial.losses(outputs, progress) {
            Ok(losses) => {
                let best = (0..SHARES.len()).min_by(|&a, &b| losses[a].total_cmp(&losses[b]));
                Ok(SHARES[best.unwrap_or(0)])
            }
            // A half may lack a classifier in some class; only the whole must not.
            Err(
                Error::AbsentClassifier { .. } | Error::EmptyClass { .. } | Error::NoOutputs { .. },
            ) => Ok(SHARES[0]),
            Err(error) => Err(error),
        }
    }

    /// The log-loss of every share in two-fold cross-validation.
    fn losses(&self, outputs: &Outputs, progress: &dyn Progress) -> Result<[f64; SHARES.len()]> {
        let (labels, counts) = (outputs.require_labels()?, outputs.class_counts());
        let of_item = folds::stratified(&labels, counts.len(), 2, self.seed);
        let prior = ClassPrior::uniform(counts.len());
        let mut losses = [0.0; SHARES.len()];
        for fold in 0..2 {
            let (inside, outside) = folds::split(&of_item, fold);
            let (train, test) = (outputs.select_items(&outside), outputs.select_items(&inside));
            for (loss, share) in losses.iter_mut().zip(SHARES) {
                let (parameters, _) = self.with_share(share, &train, progress)?;
                let fusion = NormalMixtureFusion::new(Arc::clone(outputs.schema()), parameters)?;
                let fused = fuse(&fusion, &test, &prior)?;
                for (i, &item) in inside.iter().enumerate() {
                    let p = fused.probabilities(i)[labels[item]].max(f64::MIN_POSITIVE);
                    *loss -= p.ln() / counts[labels[item]] as f64;
                }
            }
        }
        Ok(losses)
    }
}
