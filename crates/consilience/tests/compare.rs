//! Comparisons of methods: against scores computed independently, at any number of threads, with
//! methods that fail, and when cancelled.

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

/// The outputs of a classifier do not depend on the folds, so that its scores equal those over all
/// items, with any number of repeats. For random splits, the score is the mean over splits.
#[test]
fn scores_of_single_classifiers_do_not_depend_on_the_folds() {
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

/// The comparison without its seconds.
fn without_seconds(mut comparison: Comparison) -> String {
    for method in &mut comparison.methods {
        (method.fit_seconds, method.fuse_seconds) = (0.0, 0.0);
    }
    format!("{comparison:?}")
}

#[test]
fn the_seed_determines_the_result_at_any_number_of_threads() {
    let outputs = outputs();
    let candidates = all_methods(outputs.schema(), MethodConfig::at_mode);
    let run = |threads: usize, seed: u64| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let protocol = Protocol::Folds { folds: 3, repeats: 1 };
        let settings = CompareSettings { protocol, seed, ..CompareSettings::default() };
        pool.install(|| {
            without_seconds(compare(&outputs, &candidates, &settings, &NoProgress).unwrap())
        })
    };
    let once = run(1, 1);
    assert_eq!(once, run(3, 1));
    assert_ne!(once, run(1, 2));
    assert!(!once.contains("failures: [S"), "{once}");
}

/// Fits are shared between class priors, except for the learned weights of the pools.
#[test]
fn several_class_priors_give_the_same_results_as_each_alone() {
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
        assert_eq!(without_seconds(comparison), without_seconds(alone));
    }
}

#[test]
fn rows_are_sorted_by_log_loss_and_the_best_single_classifier_is_marked() {
    let outputs = outputs();
    let settings = CompareSettings::default();
    let candidates = quick(&outputs, &["independent", "opinion-pool"]);
    let result = compare(&outputs, &candidates, &settings, &NoProgress).unwrap();
    let losses: Vec<f64> = result.methods.iter().map(|row| row.scores.log_loss.mean).collect();
    assert!(losses.is_sorted(), "{losses:?}");
    assert_eq!(result.methods.len(), 6);
    let single = |row: &&ComparedMethod| {
        row.method.starts_with("classifier:") || row.method.starts_with("meta:")
    };
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
fn a_method_that_fails_is_reported_and_the_others_are_scored() {
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
    let table = result.to_string();
    assert!(table.contains("wrong") && table.contains("failed"), "{table}");
    assert!(
        table
            .lines()
            .next()
            .unwrap()
            .ends_with("   Brier  accuracy  entropy  calib. error  fit s  fuse s"),
        "{table}"
    );
    assert!(table.contains("120 items, 3 stratified folds. Every item has the same weight"));
    let wrong = result.methods.last().unwrap();
    assert_eq!(wrong.method, "wrong");
    assert_eq!(wrong.failures.len(), 3);
    assert!(wrong.scores.log_loss.mean.is_nan() && !wrong.failures[0].message.is_empty());
    assert!(row(&result, "independent").scores.log_loss.mean.is_finite());
}

/// Cancels after four steps.
struct CancelAfterFour(AtomicU64);

impl Progress for CancelAfterFour {
    fn advance(&self, steps: u64) {
        self.0.fetch_add(steps, Ordering::SeqCst);
    }

    fn is_interrupted(&self) -> bool {
        self.0.load(Ordering::SeqCst) >= 4
    }
}

#[test]
fn a_comparison_can_be_cancelled() {
    let outputs = outputs();
    let candidates = quick(&outputs, &["independent"]);
    let progress = CancelAfterFour(AtomicU64::new(0));
    let stopped = compare(&outputs, &candidates, &CompareSettings::default(), &progress);
    assert_eq!(stopped.unwrap_err(), Error::Interrupted);
}
