//! Comparing methods: against scores computed apart, at any number of threads, with methods that
//! fail, and stopped midway.

use std::sync::atomic::{AtomicU64, Ordering};

use consilience::evaluation::compare::{
    Candidate, CompareSettings, ComparedMethod, Comparison, Protocol, TestSize, all_methods,
    compare, compare_priors, named_methods,
};
use consilience::evaluation::{Weighting, score, single_classifiers};
use consilience::methods::pools::{LinearPool, Weights};
use consilience::simulation::Preset;
use consilience::{ClassPrior, Error, MethodConfig, NoProgress, Outputs, PriorChoice, Progress};

fn outputs() -> Outputs {
    Preset::Sim2.truth(0.5).unwrap().simulate(40, 3).unwrap()
}

fn quick(outputs: &Outputs, names: &[&str]) -> Vec<Candidate> {
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    named_methods(outputs.schema(), &names, MethodConfig::at_mode).unwrap()
}

fn row<'a>(comparison: &'a Comparison, name: &str) -> &'a ComparedMethod {
    comparison.methods.iter().find(|row| row.method == name).unwrap()
}

/// What a classifier says does not depend on folds: its scores are those of all items at once, in
/// any number of repeats. Means over splits are those of the splits.
#[test]
fn single_classifiers_score_as_they_do_without_folds() {
    let outputs = outputs();
    let candidates = quick(&outputs, &["independent", "stacking"]);
    let prior = PriorChoice::Given(vec![1.0, 2.0, 1.0]);
    let labels = outputs.require_labels().unwrap();
    let resolved = ClassPrior::new(&[1.0, 2.0, 1.0]).unwrap();
    for (weighting, repeats) in [(Weighting::ClassPrior, 2), (Weighting::Items, 1)] {
        let settings = CompareSettings {
            protocol: Protocol::Folds { folds: 4, repeats },
            class_prior: prior.clone(),
            weighting,
            seed: 5,
        };
        let result = compare(&outputs, &candidates, &settings, &NoProgress).unwrap();
        for single in single_classifiers(&outputs, &resolved) {
            let expected = score(&single, &labels, &resolved, weighting).unwrap()[0];
            let got = row(&result, &single.name).scores;
            for ((name, got), (_, expected)) in got.named().iter().zip(expected.named()) {
                assert!((got.mean - expected).abs() < 1e-12, "{name}: {got:?} {expected}");
                assert!(got.se > 0.0);
            }
        }
    }
    let settings = CompareSettings {
        protocol: Protocol::Splits { splits: 6, test: TestSize::Share(0.3) },
        ..CompareSettings::default()
    };
    let result = compare(&outputs, &candidates, &settings, &NoProgress).unwrap();
    for method in &result.methods {
        let mean = method.splits.iter().map(|split| split.log_loss).sum::<f64>() / 6.0;
        assert!((mean - method.scores.log_loss.mean).abs() < 1e-12, "{}", method.method);
    }
}

/// Everything but seconds.
fn timeless(mut comparison: Comparison) -> String {
    for method in &mut comparison.methods {
        (method.fit_seconds, method.fuse_seconds) = (0.0, 0.0);
    }
    format!("{comparison:?}")
}

#[test]
fn one_seed_gives_one_result_at_any_number_of_threads() {
    let outputs = outputs();
    let candidates = all_methods(outputs.schema(), MethodConfig::at_mode);
    let run = |threads: usize, seed: u64| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let protocol = Protocol::Folds { folds: 3, repeats: 1 };
        let settings = CompareSettings { protocol, seed, ..CompareSettings::default() };
        pool.install(|| timeless(compare(&outputs, &candidates, &settings, &NoProgress).unwrap()))
    };
    let once = run(1, 1);
    assert_eq!(once, run(3, 1));
    assert_ne!(once, run(1, 2));
    assert!(!once.contains("failures: [S"), "{once}");
}

/// One fit serves every class prior, and where it must not (the pools' learned weights), it does not.
#[test]
fn several_class_priors_give_what_each_gives_alone() {
    let outputs = outputs();
    let candidates = all_methods(outputs.schema(), MethodConfig::at_mode);
    let protocol = Protocol::Splits { splits: 2, test: TestSize::Share(0.3) };
    let settings = CompareSettings { protocol, ..CompareSettings::default() };
    let priors = [PriorChoice::Given(vec![1.0, 6.0, 2.0]), PriorChoice::Uniform];
    let together = compare_priors(&outputs, &candidates, &settings, &priors, &NoProgress).unwrap();
    assert_eq!(together.len(), priors.len());
    for (comparison, class_prior) in together.into_iter().zip(priors) {
        let settings = CompareSettings { class_prior, ..settings.clone() };
        let alone = compare(&outputs, &candidates, &settings, &NoProgress).unwrap();
        assert_eq!(timeless(comparison), timeless(alone));
    }
}

#[test]
fn rows_come_best_first_and_the_best_single_one_is_marked() {
    let outputs = outputs();
    let settings = CompareSettings::default();
    let candidates = quick(&outputs, &["independent", "opinion-pool"]);
    let result = compare(&outputs, &candidates, &settings, &NoProgress).unwrap();
    let losses: Vec<f64> = result.methods.iter().map(|row| row.scores.log_loss.mean).collect();
    assert!(losses.is_sorted(), "{losses:?}");
    assert_eq!(result.methods.len(), 6);
    let single = |row: &&ComparedMethod| row.method.contains(':');
    let best = result.methods.iter().find(single).unwrap();
    let marked = result.methods.iter().filter(|row| row.best_single).map(|row| &row.method);
    assert_eq!(marked.collect::<Vec<_>>(), [&best.method]);
    assert_eq!(result.methods[0].difference.mean, 0.0);
    for row in &result.methods[1..] {
        let beyond = row.scores.log_loss.mean - losses[0];
        assert!((row.difference.mean - beyond).abs() < 1e-12);
        assert!(row.difference.low < beyond && beyond < row.difference.high);
    }
    let json = serde_json::to_value(&result).unwrap();
    for field in ["log_loss", "log_loss_se", "brier", "ece", "fit_seconds", "fuse_seconds"] {
        assert!(json["methods"][0][field].is_f64(), "{field}");
    }
}

#[test]
fn a_method_that_fails_is_reported_and_the_others_stand() {
    let outputs = outputs();
    let mut candidates = quick(&outputs, &["independent"]);
    candidates.push(Candidate {
        name: "wrong".into(),
        config: LinearPool { weights: Weights::Given(vec![1.0; 5]) }.into(),
    });
    let settings = CompareSettings {
        protocol: Protocol::Folds { folds: 3, repeats: 1 },
        ..CompareSettings::default()
    };
    let result = compare(&outputs, &candidates, &settings, &NoProgress).unwrap();
    let wrong = result.methods.last().unwrap();
    assert_eq!(wrong.method, "wrong");
    assert_eq!(wrong.failures.len(), 3);
    assert!(wrong.scores.log_loss.mean.is_nan() && !wrong.failures[0].message.is_empty());
    assert!(row(&result, "independent").scores.log_loss.mean.is_finite());
}

/// Stops after so many steps.
struct Impatient(AtomicU64);

impl Progress for Impatient {
    fn advance(&self, steps: u64) {
        self.0.fetch_add(steps, Ordering::SeqCst);
    }

    fn is_interrupted(&self) -> bool {
        self.0.load(Ordering::SeqCst) >= 4
    }
}

#[test]
fn it_stops_when_asked_to() {
    let outputs = outputs();
    let candidates = quick(&outputs, &["independent"]);
    let progress = Impatient(AtomicU64::new(0));
    let stopped = compare(&outputs, &candidates, &CompareSettings::default(), &progress);
    assert_eq!(stopped.unwrap_err(), Error::Interrupted);
}
