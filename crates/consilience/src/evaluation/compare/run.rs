//! Fits every candidate to the training items of every split and fuses the test items.

use super::clock::Stopwatch;
use super::protocol::TrainTestSplit;
use super::{Candidate, GivenPredictions};
use crate::data::class_prior::ClassPrior;
use crate::data::outputs::Outputs;
use crate::error::{Error, Result};
use crate::evaluation::{Predictions, single_classifiers};
use crate::methods::MethodConfig;
use crate::methods::fuse_with;
use crate::model::Model;
use crate::progress::{CancelOnly, Progress};
use consilience_numerics::parallel;

/// The predictions of one method for the test items of one split.
pub(super) struct Attempt {
    /// Probabilities, or the error message.
    pub(super) probabilities: std::result::Result<Vec<f64>, String>,
    pub(super) warnings: Vec<String>,
    pub(super) fit_seconds: f64,
    pub(super) fuse_seconds: f64,
}

/// The items that training sets are made of.
#[derive(Clone, Copy)]
pub(super) struct TrainingItems<'a> {
    /// The items that splits divide.
    pub(super) labelled: &'a Outputs,
    /// Items that join every training set.
    pub(super) unlabelled: &'a Outputs,
}

impl TrainingItems<'_> {
    fn train(&self, split: &TrainTestSplit) -> Result<Outputs> {
        let mut train = self.labelled.select_items(&split.train);
        if self.unlabelled.n_items() > 0 {
            train.append(self.unlabelled.clone())?;
        }
        Ok(train)
    }
}

/// All attempts, by class prior, method and split: every candidate, then all given predictions, then
/// every single classifier.
///
/// Progress is reported per candidate. Its first split runs alone, so that the seconds are those of
/// the method. The others are distributed over threads.
pub(super) fn attempts(
    items: TrainingItems<'_>,
    candidates: &[Candidate],
    given: &[GivenPredictions],
    splits: &[TrainTestSplit],
    priors: &[ClassPrior],
    progress: &dyn Progress,
) -> Result<Vec<Vec<Vec<Attempt>>>> {
    let mut all: Vec<Vec<Vec<Attempt>>> = priors.iter().map(|_| Vec::new()).collect();
    let (first, others) = splits.split_first().expect("a protocol has splits");
    for (i, candidate) in candidates.iter().enumerate() {
        let task = format!("comparing {} of {}: {}", i + 1, candidates.len(), candidate.name);
        progress.begin(&task, splits.len() as u64);
        let attempt = |split: &TrainTestSplit| -> Result<Vec<Attempt>> {
            progress.check()?;
            let (train, test) = (items.train(split)?, items.labelled.select_items(&split.test));
            let attempts = fit_and_fuse(&candidate.config, &train, &test, priors, progress)?;
            progress.advance(1);
            Ok(attempts)
        };
        let first = attempt(first)?;
        let others = parallel::map(others.len(), |i| attempt(&others[i]));
        let by_split = std::iter::once(Ok(first)).chain(others).collect::<Result<Vec<_>>>()?;
        all.iter_mut().zip(transposed(by_split)).for_each(|(own, method)| own.push(method));
    }
    let width = items.labelled.schema().n_classes();
    let given = given.iter().map(|given| check_given(given, splits, width));
    let given = given.collect::<Result<Vec<_>>>()?;
    for (own, prior) in all.iter_mut().zip(priors) {
        own.extend(given.iter().map(|given| given_attempts(given)));
        let singles = |split: &TrainTestSplit| {
            let test = items.labelled.select_items(&split.test);
            single_classifiers(&test, prior).into_iter().map(unfitted).collect()
        };
        own.extend(transposed(splits.iter().map(singles).collect()));
    }
    Ok(all)
}

/// Checks that there is one probability per test item and class.
fn check_given<'a>(
    given: &'a GivenPredictions,
    splits: &[TrainTestSplit],
    n_classes: usize,
) -> Result<&'a GivenPredictions> {
    let sizes: Vec<usize> = splits.iter().map(|split| split.test.len() * n_classes).collect();
    let fits = |(own, size): (&std::result::Result<Vec<f64>, String>, &usize)| {
        own.as_ref().map_or(true, |own| own.len() == *size)
    };
    if given.splits.len() == sizes.len() && given.splits.iter().zip(&sizes).all(fits) {
        return Ok(given);
    }
    Err(Error::mismatch(
        "given predictions and splits",
        format!("{} splits with a row of {n_classes} per test item", sizes.len()),
        format!("{} splits of `{}`", given.splits.len(), given.name),
    ))
}

fn given_attempts(given: &GivenPredictions) -> Vec<Attempt> {
    let attempt = |probabilities: &std::result::Result<Vec<f64>, String>| Attempt {
        probabilities: probabilities.clone(),
        warnings: Vec::new(),
        fit_seconds: given.fit_seconds,
        fuse_seconds: given.fuse_seconds,
    };
    given.splits.iter().map(attempt).collect()
}

/// The prediction of a classifier's own outputs.
fn unfitted(single: Predictions) -> Attempt {
    Attempt {
        probabilities: Ok(single.probabilities),
        warnings: Vec::new(),
        fit_seconds: 0.0,
        fuse_seconds: 0.0,
    }
}

/// Turns rows of splits into rows of what each split has.
fn transposed(splits: Vec<Vec<Attempt>>) -> Vec<Vec<Attempt>> {
    let mut turned: Vec<Vec<Attempt>> = splits[0].iter().map(|_| Vec::new()).collect();
    for split in splits {
        turned.iter_mut().zip(split).for_each(|(own, attempt)| own.push(attempt));
    }
    turned
}

/// One attempt per class prior, from a single fit if the fit does not depend on the class prior.
fn fit_and_fuse(
    config: &MethodConfig,
    train: &Outputs,
    test: &Outputs,
    priors: &[ClassPrior],
    progress: &dyn Progress,
) -> Result<Vec<Attempt>> {
    let mut attempts = Vec::with_capacity(priors.len());
    let mut fitted: Option<Timed> = None;
    for prior in priors {
        let fitted = match &mut fitted {
            Some(fitted) if !config.depends_on_class_prior() => fitted,
            other => other.insert(fit(config, train, prior, progress)?),
        };
        attempts.push(fuse_test_items(fitted, test, prior, progress)?);
    }
    Ok(attempts)
}

/// A model, or the error message, and the seconds of the fit.
type Timed = (std::result::Result<Model, String>, f64);

/// Fits a model. A failure becomes part of the result; only an interruption is returned as an error.
fn fit(
    config: &MethodConfig,
    train: &Outputs,
    prior: &ClassPrior,
    progress: &dyn Progress,
) -> Result<Timed> {
    let progress = CancelOnly(progress);
    let started = Stopwatch::start();
    match Model::fit_under(config.clone(), train, prior, &progress) {
        Ok(model) => Ok((Ok(model), started.seconds())),
        Err(error @ Error::Interrupted) => Err(error),
        Err(error) => Ok((Err(error.to_string()), f64::NAN)),
    }
}

fn fuse_test_items(
    (model, fit_seconds): &Timed,
    test: &Outputs,
    prior: &ClassPrior,
    progress: &dyn Progress,
) -> Result<Attempt> {
    let started = Stopwatch::start();
    let fused = model.as_ref().map_err(Clone::clone).and_then(|model| {
        let fused = test
            .select(model.schema())
            .and_then(|test| fuse_with(model.fusion(), &test, prior, progress))
            .map_err(|error| error.to_string())?;
        Ok((model, fused))
    });
    let fuse_seconds = started.seconds();
    progress.check()?;
    Ok(match fused {
        Ok((model, fused)) => {
            let warnings = model.training().map_or(&[][..], |training| &training.warnings);
            Attempt {
                probabilities: Ok(fused.into_all()),
                warnings: warnings.iter().map(|warning| warning.message.clone()).collect(),
                fit_seconds: *fit_seconds,
                fuse_seconds,
            }
        }
        Err(message) => Attempt {
            probabilities: Err(message),
            warnings: Vec::new(),
            fit_seconds: f64::NAN,
            fuse_seconds: f64::NAN,
        },
    })
}
