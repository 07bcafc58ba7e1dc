//! SIM 1 to 3: the true parameters where the paper has them, fits where it has them.

use std::sync::Arc;

use consilience::evaluation::compare::{Candidate, all_methods, by_mode};
use consilience::evaluation::{Predictions, ScoreSet, Weighting, score, single_classifiers};
use consilience::fusion::correlated::CorrelatedFusion;
use consilience::fusion::independent::IndependentFusion;
use consilience::fusion::pools::Pool;
use consilience::fusion::{Fusion, fuse};
use consilience::simulation::{Preset, Truth};
use consilience::{ClassPrior, FitConfig, Outputs, Result, Unwatched, Watch};
use rayon::prelude::*;

use super::published;
use super::records::{Record, records};

/// The paper's levels of correlation.
pub(super) const LEVELS: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];

/// How much is simulated.
pub(super) struct Size {
    /// Training sets of every level; each is fitted once by every method.
    pub(super) trainings: usize,
    /// Test sets for each of them.
    pub(super) tests: usize,
    /// Training items of a class; the paper has 500.
    pub(super) items: usize,
}

/// Test items of a class, as in the paper.
const TEST_ITEMS: usize = 20;

/// The name of a set at a level, as in the printed tables.
pub(super) fn data_set(name: &str, level: f64) -> String {
    format!("{name}_r{level:.2}")
}

/// The scores of every method on all test sets of all levels.
pub(super) fn run(
    (name, preset): (&str, Preset),
    size: &Size,
    seed: u64,
    watch: &dyn Watch,
) -> Result<Vec<Record>> {
    let jobs: Vec<(usize, usize)> =
        (0..LEVELS.len()).flat_map(|level| (0..size.trainings).map(move |t| (level, t))).collect();
    watch.begin(name, jobs.len() as u64);
    let done: Vec<Result<Scored>> = jobs
        .par_iter()
        .map(|&(level, training)| {
            watch.check()?;
            // Sets of one level are draws of one sequence, whatever their number.
            let first = seed
                .wrapping_mul(1_000_000_007)
                .wrapping_add(((preset as u64) * 10 + level as u64) * 1_000_000)
                .wrapping_add((training * (size.tests + 1)) as u64);
            let scored = job(&preset.truth(LEVELS[level])?, size, first)?;
            watch.advance(1);
            Ok(scored)
        })
        .collect();
    let done = done.into_iter().collect::<Result<Vec<Scored>>>()?;
    let mut all = Vec::new();
    for (level, parts) in done.chunks(size.trainings).enumerate() {
        for (m, (method, _)) in parts[0].iter().enumerate() {
            let scores: Vec<ScoreSet> = parts.iter().flat_map(|part| part[m].1.clone()).collect();
            all.extend(records(&data_set(name, LEVELS[level]), method, &scores));
        }
    }
    Ok(all)
}

/// Every method's scores on every test set.
type Scored = Vec<(String, Vec<ScoreSet>)>;

/// One training set, all its fits, and the test sets.
fn job(truth: &Truth, size: &Size, seed: u64) -> Result<Scored> {
    let train = truth.simulate(size.items, seed)?;
    let mut rules: Vec<(String, Box<dyn Fusion>)> = known(truth)?;
    let mut models = Vec::new();
    for Candidate { name, config } in fitted(&train) {
        models.push((name, config.fit(&train, &Unwatched)?));
    }
    let tests = (1..=size.tests)
        .map(|i| truth.simulate(TEST_ITEMS, seed.wrapping_add(i as u64)))
        .collect::<Result<Vec<Outputs>>>()?;
    let prior = ClassPrior::uniform(3);
    let on_all = |predict: &dyn Fn(&Outputs) -> Result<Vec<f64>>| -> Result<Vec<ScoreSet>> {
        tests.iter().map(|test| scores(predict(test)?, test, &prior)).collect()
    };
    let mut scored = Vec::new();
    for (name, rule) in rules.drain(..) {
        let schema = Arc::clone(rule.schema());
        let predict =
            |test: &Outputs| Ok(fuse(&*rule, &test.select(&schema)?, &prior)?.all().to_vec());
        scored.push((name, on_all(&predict)?));
    }
    for (name, model) in &models {
        let predict = |test: &Outputs| {
            Ok(fuse(model.fusion()?, &test.select(model.schema())?, &prior)?.all().to_vec())
        };
        scored.push((name.clone(), on_all(&predict)?));
    }
    for k in 0..2 {
        let predict =
            |test: &Outputs| Ok(single_classifiers(test, &prior)[k].probabilities.clone());
        scored.push((format!("C{}", k + 1), on_all(&predict)?));
    }
    Ok(scored)
}

fn scores(probabilities: Vec<f64>, test: &Outputs, prior: &ClassPrior) -> Result<ScoreSet> {
    let said = Predictions { name: String::new(), probabilities };
    Ok(score(&said, &test.require_labels()?, prior, Weighting::ClassPrior)?[0])
}

/// What the paper computes with the true parameters: exact densities.
fn known(truth: &Truth) -> Result<Vec<(String, Box<dyn Fusion>)>> {
    let schema = truth.schema();
    let margins = |k: usize| truth.classes().iter().map(|class| class.alpha()[k].clone()).collect();
    let independent = IndependentFusion::new(Arc::clone(schema), vec![margins(0), margins(1)])?;
    let correlated = CorrelatedFusion::new(Arc::clone(schema), truth.classes(), 0.0)?;
    let (first, second) = (independent.meta(0)?, independent.meta(1)?);
    Ok(vec![
        ("IOP".into(), Box::new(Pool::opinion(Arc::clone(schema)))),
        ("IFM".into(), Box::new(independent)),
        ("CFM".into(), Box::new(correlated)),
        ("M1".into(), Box::new(first)),
        ("M2".into(), Box::new(second)),
    ])
}

/// What is fitted: Pirs as published, and everything of ours by its defaults.
fn fitted(train: &Outputs) -> Vec<Candidate> {
    let defaults = FitConfig::default();
    let ours = all_methods(train.schema(), &by_mode(&defaults));
    let pirs = published(&defaults).map(|config| Candidate { name: "Pirs".into(), config });
    pirs.into_iter().chain(ours).collect()
}
