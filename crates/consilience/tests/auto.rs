//! Stacking and `auto` on data whose truth is known, and on data that say little.

use std::sync::Arc;

use consilience::evaluation::{GainSettings, Predictions, Weighting, score, worth};
use consilience::methods::auto::{Auto, AutoFusion, AutoParameters, FittedAuto};
use consilience::methods::independent::IndependentFusion;
use consilience::methods::pools::{Pool, PoolKind};
use consilience::methods::stacking::{Ridge, Stacking, StackingFusion, StackingParameters};
use consilience::methods::{Fusion, fuse};
use consilience::simulation::Truth;
use consilience::{ClassPrior, Error, InputFormat, NoProgress, Outputs, OutputsBuilder, Schema};
use correlated_dirichlet::CorrelatedDirichlet;

/// The Dirichlets of `n` classifiers, each favouring the true class.
fn margins(n: usize) -> Vec<Vec<Vec<f64>>> {
    let row = |j: usize| (0..3).map(|l| if l == j { 4.0 } else { 2.0 }).collect::<Vec<f64>>();
    vec![(0..3).map(row).collect(); n]
}

fn schema(n: usize) -> Arc<Schema> {
    Arc::new(Schema::new((0..n).map(|k| format!("k{k}")), ["x", "y", "z"]).unwrap())
}

/// `n` independent classifiers.
fn simulate(n: usize, items_per_class: usize, seed: u64) -> Outputs {
    let class = |j: usize| {
        let margins = margins(n).into_iter().map(|rows| rows[j].clone()).collect();
        CorrelatedDirichlet::new(margins, None, vec![]).unwrap()
    };
    let truth = Truth::new(schema(n), (0..3).map(class).collect()).unwrap();
    truth.simulate(items_per_class, seed).unwrap()
}

/// The same items with every third output absent, no item without any.
fn with_gaps(outputs: &Outputs) -> Outputs {
    let (k, j) = (outputs.schema().n_classifiers(), outputs.schema().n_classes());
    let mut builder =
        OutputsBuilder::new(outputs.schema().clone(), InputFormat::default()).unwrap();
    for item in 0..outputs.n_items() {
        let mut row = outputs.items(item..item + 1).values().to_vec();
        let absent = (item * 7 + item / 3) % (k + k / 2);
        if absent < k {
            row[absent * j..][..j].fill(f64::NAN);
        }
        builder.push_indexed(&row, outputs.label(item)).unwrap();
    }
    builder.finish()
}

fn auto(outputs: &Outputs) -> FittedAuto {
    Auto::default().learn(outputs, &NoProgress).unwrap()
}

fn loss(fusion: &dyn Fusion, outputs: &Outputs) -> f64 {
    let prior = ClassPrior::uniform(3);
    let probabilities = fuse(fusion, outputs, &prior).unwrap().all().to_vec();
    let predictions = Predictions { name: "p".into(), probabilities };
    let labels = outputs.require_labels().unwrap();
    score(&predictions, &labels, &prior, Weighting::ClassPrior).unwrap()[0].log_loss
}

/// The independent model is true here, and with gaps it leaves out what is absent, which is exact.
/// What both methods lose against it with 500 items a class is some p/2n, p = 30 parameters of
/// which 18 are free: .006, with gaps some more.
#[test]
fn comes_near_to_the_truth_with_and_without_gaps() {
    let (train, test) = (simulate(3, 500, 1), simulate(3, 3000, 2));
    let truth = IndependentFusion::new(schema(3), margins(3)).unwrap();
    for (train, test) in [(train.clone(), test.clone()), (with_gaps(&train), with_gaps(&test))] {
        let best = loss(&truth, &test);
        let stacking = Stacking::default().learn(&train).unwrap();
        assert!(stacking.warnings.is_empty());
        let stacking = loss(&stacking.fusion, &test) - best;
        let auto = loss(&auto(&train).fusion, &test) - best;
        assert!((-0.003..0.015).contains(&stacking), "{stacking}");
        assert!((-0.003..0.015).contains(&auto), "{auto}");
    }
}

/// Trained on one class six times rarer than the others, scored with every class the same.
#[test]
fn class_frequencies_of_the_training_items_do_not_matter() {
    let (train, test) = (simulate(3, 600, 1), simulate(3, 3000, 2));
    let kept = |i: &usize| train.label(*i) != Some(0) || i.is_multiple_of(6);
    let thinned: Vec<usize> = (0..train.n_items()).filter(kept).collect();
    let thinned = train.select_items(&thinned);
    let best = loss(&IndependentFusion::new(schema(3), margins(3)).unwrap(), &test);
    let (all, few) = (loss(&auto(&train).fusion, &test), loss(&auto(&thinned).fusion, &test));
    assert!(all - best < 0.015 && few - best < 0.03, "{best} {all} {few}");
    let stacking = loss(&Stacking::default().learn(&thinned).unwrap().fusion, &test);
    assert!(stacking - best < 0.03, "{best} {stacking}");
}

/// P under another prior ∝ P · p′/p for stacking, exactly; `auto` mixes two such.
#[test]
fn the_class_prior_changes_without_refitting() {
    let (train, test) = (simulate(2, 100, 1), simulate(2, 20, 2));
    let stacking = Stacking::default().learn(&train).unwrap().fusion;
    let (uniform, other) = (ClassPrior::uniform(3), ClassPrior::new(&[1.0, 2.0, 5.0]).unwrap());
    let before = fuse(&stacking, &test, &uniform).unwrap();
    let after = fuse(&stacking, &test, &other).unwrap();
    for item in 0..test.n_items() {
        let odds = |p: &[f64]| p[2] / p[0];
        let ratio = odds(after.probabilities(item)) / odds(before.probabilities(item));
        assert!((ratio - 5.0).abs() < 1e-9, "{ratio}");
    }
}

#[test]
fn one_seed_gives_one_result_and_the_file_carries_it() {
    let train = with_gaps(&simulate(3, 60, 1));
    let fitted = auto(&train);
    assert_eq!(fitted, auto(&train));
    let text = serde_json::to_string(fitted.fusion.parameters()).unwrap();
    let parameters: AutoParameters = serde_json::from_str(&text).unwrap();
    assert_eq!(AutoFusion::new(schema(3), parameters).unwrap(), fitted.fusion);
    let stacking = Stacking::default().learn(&train).unwrap().fusion;
    assert_eq!(stacking, fitted.fusion.stacking().unwrap());
    let text = serde_json::to_string(&stacking.parameters()).unwrap();
    let parameters: StackingParameters = serde_json::from_str(&text).unwrap();
    assert_eq!(StackingFusion::new(schema(3), parameters).unwrap(), stacking);
}

/// One item a class: the geometric mean of the classifiers present.
#[test]
fn with_next_to_no_items_it_is_the_geometric_pool() {
    let (train, test) = (simulate(3, 1, 1), with_gaps(&simulate(3, 20, 2)));
    let fitted = auto(&train);
    assert!(
        fitted.warnings.iter().any(|w| w.message.contains("geometric")),
        "{:?}",
        fitted.warnings
    );
    let pool = Pool::new(schema(3), PoolKind::Logarithmic, vec![1.0 / 3.0; 3]).unwrap();
    let prior = ClassPrior::uniform(3);
    let (got, want) = (fuse(&fitted.fusion, &test, &prior), fuse(&pool, &test, &prior));
    let (got, want) = (got.unwrap(), want.unwrap());
    let floor = 1e-3;
    for item in 0..test.n_items() {
        let smallest = test.items(item..item + 1).values().iter().fold(1.0f64, |a, b| a.min(*b));
        for (a, b) in got.probabilities(item).iter().zip(want.probabilities(item)) {
            assert!((a - b).abs() < 1e-12 || smallest < floor, "{a} {b}");
        }
    }
}

/// A class with a single item is left out of one fold's fit altogether.
#[test]
fn a_class_with_one_item_among_large_ones_still_fits() {
    let train = simulate(2, 30, 1);
    let kept = |i: &usize| train.label(*i) != Some(1);
    let mut items: Vec<usize> = (0..train.n_items()).filter(kept).collect();
    items.push((0..train.n_items()).find(|&i| train.label(i) == Some(1)).unwrap());
    let fitted = auto(&train.select_items(&items));
    assert!(fitted.warnings.iter().any(|w| w.message.contains("`y` (1)")), "{:?}", fitted.warnings);
    assert!(loss(&fitted.fusion, &simulate(2, 500, 2)) < 1.2);
    let chosen = Stacking { ridge: Ridge::CrossValidated, ..Stacking::default() };
    assert_eq!(chosen.learn(&train.select_items(&items)).unwrap().sd, 1.0);
}

#[test]
fn what_cannot_be_fitted_is_refused_by_name() {
    let train = simulate(2, 20, 1);
    let kept: Vec<usize> = (0..train.n_items()).filter(|&i| train.label(i) != Some(1)).collect();
    let train = train.select_items(&kept);
    let empty = Err(Error::EmptyClass { class: "y".into() });
    assert_eq!(Auto::default().learn(&train, &NoProgress), empty);
    assert!(Stacking::default().learn(&train).is_err());
    let config = Stacking { ridge: Ridge::Sd(0.0), ..Stacking::default() };
    assert!(config.learn(&simulate(2, 20, 1)).is_err());
}

#[test]
fn identical_sources_and_few_items_are_told() {
    let one = simulate(1, 8, 1);
    let mut builder = OutputsBuilder::new(schema(2), InputFormat::default()).unwrap();
    for item in 0..one.n_items() {
        builder
            .push_indexed(&one.items(item..item + 1).values().repeat(2), one.label(item))
            .unwrap();
    }
    let warnings = auto(&builder.finish()).warnings;
    let told = |text: &str| warnings.iter().any(|w| w.message.contains(text));
    assert!(told("`k0` and `k1` give the same output") && told("`x` (8)"), "{warnings:?}");
}

/// Thirty outputs: 26 classes and 6 classifiers are more parameters than Newton's method takes.
#[test]
fn many_classes_go_by_lbfgs_and_a_ridge_can_be_chosen() {
    let n_classes = 12;
    let classes: Vec<String> = (0..n_classes).map(|j| format!("c{j}")).collect();
    let schema = Arc::new(Schema::new(["a", "b"], classes).unwrap());
    let class = |j: usize| {
        let row = (0..n_classes).map(|l| if l == j { 6.0 } else { 1.0 }).collect::<Vec<f64>>();
        CorrelatedDirichlet::new(vec![row; 2], None, vec![]).unwrap()
    };
    let truth = Truth::new(schema, (0..n_classes).map(class).collect()).unwrap();
    let train = truth.simulate(15, 1).unwrap();
    let fitted = auto(&train);
    assert!(fitted.warnings.is_empty(), "{:?}", fitted.warnings);
    let config = Stacking { ridge: Ridge::CrossValidated, ..Stacking::default() };
    let stacking = config.learn(&train).unwrap();
    assert!(stacking.warnings.is_empty(), "{:?}", stacking.warnings);
    let test = truth.simulate(100, 2).unwrap();
    let accuracy = |fusion: &dyn Fusion| {
        let fused = fuse(fusion, &test, &ClassPrior::uniform(n_classes)).unwrap();
        let hits = (0..test.n_items()).filter(|&i| Some(fused.predicted(i)) == test.label(i));
        hits.count() as f64 / test.n_items() as f64
    };
    let (a, s) = (accuracy(&fitted.fusion), accuracy(&stacking.fusion));
    assert!(a > 0.9 && s > 0.8, "{a} {s}");
}

#[test]
fn parameters_that_make_no_sense_are_refused() {
    let good = auto(&simulate(2, 20, 1)).fusion.parameters().clone();
    let refused = |change: &dyn Fn(&mut AutoParameters)| {
        let mut bad = good.clone();
        change(&mut bad);
        AutoFusion::new(schema(2), bad).is_err()
    };
    assert!(!refused(&|_| ()));
    assert!(refused(&|p| p.logistic_share = 1.5));
    assert!(refused(&|p| p.layer.bias.truncate(1)));
    assert!(refused(&|p| p.layer.output_exponents[0] = f64::NAN));
    assert!(refused(&|p| p.layer.alpha[0][0][0] = -1.0));
    assert!(refused(&|p| p.logistic.weights[1].truncate(1)));
    assert!(refused(&|p| p.fill.as_mut().unwrap().weight = -0.1));
    assert!(refused(&|p| p.fill.as_mut().unwrap().covariance[0][0] = -1.0));
    assert!(refused(&|p| p.fill.as_mut().unwrap().mean[0].truncate(2)));
}

#[test]
fn worth_tells_gains_and_twins() {
    let prior = ClassPrior::uniform(3);
    let tell = |outputs: &Outputs| worth(outputs, &prior, &GainSettings::default(), &NoProgress);
    let independent = tell(&simulate(3, 200, 1)).unwrap();
    assert!(independent.verdict.starts_with("fusing these 3 gains"), "{}", independent.verdict);
    assert!(independent.alike.is_empty() && independent.effective_number > 2.5);
    assert!(independent.best_single.gain.mean > 5.0 * independent.best_single.gain.se);
    let one = simulate(1, 100, 1);
    let mut builder = OutputsBuilder::new(schema(2), InputFormat::default()).unwrap();
    for item in 0..one.n_items() {
        builder
            .push_indexed(&one.items(item..item + 1).values().repeat(2), one.label(item))
            .unwrap();
    }
    let twins = tell(&builder.finish()).unwrap();
    assert!(twins.verdict.contains("can be seen on 300 items"), "{}", twins.verdict);
    assert!(twins.verdict.contains("`k0` and `k1` carry nearly the same"), "{}", twins.verdict);
    // The shares of evidence carry a ridge of 1e-3, which two copies halve.
    assert!((twins.effective_number - 1.0).abs() < 1e-3);
    assert!(tell(&simulate(2, 1, 1)).is_err());
}
