//! Fitting every candidate on every split and fusing what was left out.

use super::Candidate;
use super::clock::Stopwatch;
use super::protocol::Split;
use crate::class_prior::{ClassPrior, PriorChoice};
use crate::error::{Error, Result};
use crate::evaluation::single_classifiers;
use crate::fusion::fuse;
use crate::model::FitConfig;
use crate::outputs::Outputs;
use crate::parallel;
use crate::watch::{Silenced, Watch};

/// What one method said of the test items of one split.
pub(super) struct Attempt {
    /// Probabilities, or why there are none.
    pub(super) probabilities: std::result::Result<Vec<f64>, String>,
    pub(super) warnings: Vec<String>,
    pub(super) fit_seconds: f64,
    pub(super) fuse_seconds: f64,
}

/// All attempts, split by split; in each one of every candidate, then every single classifier.
///
/// The first split is run by itself, so that its times are those of the methods; the others are
/// spread over threads.
pub(super) fn attempts(
    outputs: &Outputs,
    candidates: &[Candidate],
    splits: &[Split],
    prior: &ClassPrior,
    watch: &dyn Watch,
) -> Result<Vec<Vec<Attempt>>> {
    watch.begin("comparing", (splits.len() * candidates.len()) as u64);
    let attempt = |split: &Split| -> Result<Vec<Attempt>> {
        let (train, test) = (outputs.select_items(&split.train), outputs.select_items(&split.test));
        let mut attempts = Vec::with_capacity(candidates.len());
        for candidate in candidates {
            watch.check()?;
            attempts.push(fitted(&candidate.config, &train, &test, prior, watch)?);
            watch.advance(1);
        }
        attempts.extend(single_classifiers(&test, prior).into_iter().map(|single| Attempt {
            probabilities: Ok(single.probabilities),
            warnings: Vec::new(),
            fit_seconds: 0.0,
            fuse_seconds: 0.0,
        }));
        Ok(attempts)
    };
    let (first, others) = splits.split_first().expect("a protocol has splits");
    let first = attempt(first)?;
    let others = parallel::map(others.len(), |i| attempt(&others[i]));
    std::iter::once(Ok(first)).chain(others).collect()
}

/// A method that fails has a reason for it; only an interruption is an error.
fn fitted(
    config: &FitConfig,
    train: &Outputs,
    test: &Outputs,
    prior: &ClassPrior,
    watch: &dyn Watch,
) -> Result<Attempt> {
    let class_prior = PriorChoice::Given(prior.probabilities().to_vec());
    let config = FitConfig { class_prior, ..config.clone() };
    let started = Stopwatch::start();
    let model = config.fit(train, &Silenced(watch));
    let fit_seconds = started.seconds();
    let started = Stopwatch::start();
    let fused = model.and_then(|model| {
        let fused = fuse(model.fusion()?, &test.select(model.schema())?, prior)?;
        Ok((model, fused))
    });
    let fuse_seconds = started.seconds();
    match fused {
        Ok((model, fused)) => {
            let warnings = model.training().map_or(&[][..], |training| &training.warnings);
            Ok(Attempt {
                probabilities: Ok(fused.all().to_vec()),
                warnings: warnings.iter().map(|warning| warning.message.clone()).collect(),
                fit_seconds,
                fuse_seconds,
            })
        }
        Err(error @ Error::Interrupted) => Err(error),
        Err(error) => Ok(Attempt {
            probabilities: Err(error.to_string()),
            warnings: Vec::new(),
            fit_seconds: f64::NAN,
            fuse_seconds: f64::NAN,
        }),
    }
}
