//! Simulated data sets SIM 1 to 3: rules with the true parameters, and fitted methods.

use std::sync::Arc;

use consilience::evaluation::compare::{Candidate, all_methods};
use consilience::evaluation::{Predictions, ScoreSet, Weighting, score, single_classifiers};
use consilience::methods::correlated::CorrelatedFusion;
use consilience::methods::independent::IndependentFusion;
use consilience::methods::pools::Pool;
use consilience::methods::{Fusion, fuse};
use consilience::simulation::{Preset, Truth};
use consilience::{
    ClassPrior, FitOptions, MethodConfig, Model, Outputs, PriorChoice, Progress, Result,
};
use rayon::prelude::*;

use super::PIRS;
use super::records::{Record, records};
use crate::Failure;
use crate::published_mixture::PublishedMixture;

/// The paper's levels of correlation.
pub(super) const LEVELS: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];

/// The amount of simulated data.
pub(super) struct Size {
    /// Training sets per level of correlation; every method is fitted once to each.
    pub(super) trainings: usize,
    /// Test sets per training set.
    pub(super) tests: usize,
    /// Training items per class; 500 in the paper.
    pub(super) items: usize,
}

/// Test items per class, as in the paper.
const TEST_ITEMS: usize = 20;

/// The name of a data set at a level of correlation, as in the paper's tables.
pub(super) fn data_set(name: &str, level: f64) -> String {
    format!("{name}_r{level:.2}")
}

/// A method that is scored on simulated data.
pub(super) enum Entry {
    /// The outputs of one classifier.
    Single(usize),
    /// A rule with the true parameters.
    Known(Rule),
    /// A method that is fitted to training items.
    Fitted(Box<Candidate>),
    /// The mixture of Pirs & Štrumbelj as published.
    Published,
}

/// A rule that the paper uses with the true parameters.
#[derive(Clone, Copy)]
pub(super) enum Rule {
    Pool,
    Independent,
    Correlated,
    Meta(usize),
}

impl Entry {
    pub(super) fn name(&self) -> String {
        match self {
            Self::Single(k) => format!("C{}", k + 1),
            Self::Known(Rule::Pool) => "IOP".into(),
            Self::Known(Rule::Independent) => "IFM".into(),
            Self::Known(Rule::Correlated) => "CFM".into(),
            Self::Known(Rule::Meta(k)) => format!("M{}", k + 1),
            Self::Fitted(candidate) => candidate.name.clone(),
            Self::Published => PIRS.into(),
        }
    }

    /// The paper's methods, then all of ours with their defaults.
    pub(super) fn all() -> Result<Vec<Self>> {
        let known = [Rule::Pool, Rule::Independent, Rule::Correlated, Rule::Meta(0), Rule::Meta(1)];
        let schema = Preset::Sim1.truth(0.5)?.schema().clone();
        let ours = all_methods(&schema, MethodConfig::at_mode);
        let mut all = vec![Self::Single(0), Self::Single(1)];
        all.extend(known.map(Self::Known));
        all.push(Self::Published);
        all.extend(ours.into_iter().map(|candidate| Self::Fitted(candidate.into())));
        // The slowest method comes last, so that an interrupted run has all others.
        all.sort_by_key(|entry| entry.name() == "correlated");
        Ok(all)
    }
}

/// The scores of one entry on all test sets of all levels.
pub(super) fn run(
    (name, preset): (&str, Preset),
    entry: &Entry,
    size: &Size,
    seed: u64,
    progress: &dyn Progress,
) -> Result<Vec<Record>, Failure> {
    let jobs: Vec<(usize, usize)> =
        (0..LEVELS.len()).flat_map(|level| (0..size.trainings).map(move |t| (level, t))).collect();
    progress.begin(&format!("{name}, {}", entry.name()), jobs.len() as u64);
    let done: Vec<Result<Vec<ScoreSet>, Failure>> = jobs
        .par_iter()
        .map(|&(level, training)| {
            progress.check()?;
            // Every data set has its own seed.
            let first = seed
                .wrapping_mul(1_000_000_007)
                .wrapping_add(((preset as u64) * 10 + level as u64) * 1_000_000)
                .wrapping_add((training * (size.tests + 1)) as u64);
            let scores = job(&preset.truth(LEVELS[level])?, entry, size, first)?;
            progress.advance(1);
            Ok(scores)
        })
        .collect();
    let done = done.into_iter().collect::<Result<Vec<Vec<ScoreSet>>, Failure>>()?;
    let level = |(level, parts): (usize, &[Vec<ScoreSet>])| {
        records(&data_set(name, LEVELS[level]), &entry.name(), &parts.concat())
    };
    Ok(done.chunks(size.trainings).enumerate().flat_map(level).collect())
}

/// One training set and its test sets.
fn job(truth: &Truth, entry: &Entry, size: &Size, seed: u64) -> Result<Vec<ScoreSet>, Failure> {
    let prior = ClassPrior::uniform(3);
    let predict = predictor(truth, entry, size, seed)?;
    let one = |i: usize| {
        let test = truth.simulate(TEST_ITEMS, seed.wrapping_add(i as u64))?;
        Ok(scores(predict(&test, &prior)?, &test, &prior)?)
    };
    (1..=size.tests).map(one).collect()
}

/// Fused probabilities of test items under a class prior.
type Predict = Box<dyn Fn(&Outputs, &ClassPrior) -> Result<Vec<f64>, Failure>>;

fn predictor(truth: &Truth, entry: &Entry, size: &Size, seed: u64) -> Result<Predict, Failure> {
    let train = || truth.simulate(size.items, seed);
    let by_rule = |fusion: &dyn Fusion, test: &Outputs, prior: &ClassPrior| {
        Ok(fuse(fusion, &test.select(fusion.schema())?, prior)?.all().to_vec())
    };
    Ok(match entry {
        Entry::Single(k) => {
            let k = *k;
            Box::new(move |test, prior| {
                Ok(single_classifiers(test, prior)[k].probabilities.clone())
            })
        }
        Entry::Known(rule) => {
            let rule = rule.fusion(truth)?;
            Box::new(move |test, prior| by_rule(rule.as_ref(), test, prior))
        }
        Entry::Fitted(candidate) => {
            let class_prior = PriorChoice::Uniform; // the paper's
            let options = FitOptions { class_prior, ..FitOptions::default() };
            let model = Model::fit_with(candidate.config.clone(), &train()?, &options)?;
            Box::new(move |test, prior| by_rule(model.fusion(), test, prior))
        }
        Entry::Published => {
            let mixture = PublishedMixture::fit(&train()?, 0)?;
            Box::new(move |test, prior| mixture.fuse(test, prior))
        }
    })
}

fn scores(probabilities: Vec<f64>, test: &Outputs, prior: &ClassPrior) -> Result<ScoreSet> {
    let predictions = Predictions { name: String::new(), probabilities };
    Ok(score(&predictions, &test.require_labels()?, prior, Weighting::ClassPrior)?[0])
}

impl Rule {
    /// With the true parameters and exact densities.
    fn fusion(self, truth: &Truth) -> Result<Box<dyn Fusion>> {
        let schema = || Arc::clone(truth.schema());
        let margins =
            |k: usize| truth.classes().iter().map(|class| class.alpha()[k].clone()).collect();
        let independent = || IndependentFusion::new(schema(), vec![margins(0), margins(1)]);
        Ok(match self {
            Self::Pool => Box::new(Pool::opinion(schema())),
            Self::Independent => Box::new(independent()?),
            Self::Correlated => Box::new(CorrelatedFusion::new(schema(), truth.classes(), 0.0)?),
            Self::Meta(k) => Box::new(independent()?.meta(k)?),
        })
    }
}
