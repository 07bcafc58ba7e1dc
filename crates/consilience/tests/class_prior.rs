//! The class prior of fits, fusing and scores: frequencies of the labels unless chosen otherwise.

use std::sync::Arc;

use consilience::evaluation::{
    BootstrapSettings, EvaluationSettings, Weighting, evaluate, score, single_classifiers,
};
use consilience::simulation::Preset;
use consilience::{
    FitOptions, FuseOptions, Independent, Inference, InputFormat, LinearPool, MethodConfig, Model,
    NoProgress, OpinionPool, Outputs, OutputsBuilder, PriorChoice, Schema, Weights,
};

/// Items of the second simulation, so many of every class, labelled where `keep` says so.
fn simulated(per_class: [usize; 3], seed: u64, keep: impl Fn(usize) -> bool) -> Outputs {
    let most = *per_class.iter().max().unwrap();
    let all = Preset::Sim2.truth(0.3).unwrap().simulate(most, seed).unwrap();
    let schema = Arc::clone(all.schema());
    let mut builder = OutputsBuilder::new(schema, InputFormat::default()).unwrap();
    let mut taken = [0; 3];
    for item in 0..all.n_items() {
        let class = all.label(item).unwrap();
        if taken[class] < per_class[class] {
            taken[class] += 1;
            let label = Some(class).filter(|_| keep(builder.n_items()));
            builder.push_indexed(all.items(item..item + 1).values(), label).unwrap();
        }
    }
    builder.finish()
}

fn fit(method: impl Into<MethodConfig>, outputs: &Outputs, prior: PriorChoice) -> Model {
    let options = FitOptions { class_prior: prior, ..FitOptions::default() };
    Model::fit_with(method, outputs, &options).unwrap()
}

fn quick() -> Independent {
    Independent { inference: Inference::Map, ..Independent::default() }
}

fn close(got: &[f64], expected: &[f64], tolerance: f64) {
    for (a, b) in got.iter().zip(expected) {
        assert!((a - b).abs() < tolerance, "{got:?} is not {expected:?}");
    }
}

#[test]
fn every_method_uses_the_frequencies_of_the_labels() {
    let outputs = simulated([10, 20, 30], 1, |_| true);
    for config in MethodConfig::all().map(|config| config.at_mode()) {
        let model = Model::fit(config.clone(), &outputs).unwrap();
        close(model.class_prior().probabilities(), &[1.0 / 6.0, 1.0 / 3.0, 0.5], 1e-15);
        assert_eq!(model.chosen_prior(), Some(&PriorChoice::Empirical), "{config}");
    }
}

/// Two labels of class 1, one of class 2 and none of class 3: (2.5, 1.5, 0.5) / 4.5.
#[test]
fn a_class_without_labels_gets_half_an_item() {
    let outputs = simulated([2, 1, 0], 1, |_| true);
    let model = Model::fit(OpinionPool {}, &outputs).unwrap();
    close(model.class_prior().probabilities(), &[2.5 / 4.5, 1.5 / 4.5, 0.5 / 4.5], 1e-15);
    assert!(model.to_string().contains("plus half an item per class"), "{model}");
}

#[test]
fn without_labels_the_prior_is_the_mean_output() {
    let outputs = simulated([5, 10, 20], 1, |_| false);
    let model = Model::fit(LinearPool { weights: Weights::Equal }, &outputs).unwrap();
    let mut mean = vec![0.0; 3];
    for (i, value) in outputs.all().values().iter().enumerate() {
        mean[i % 3] += value / 70.0;
    }
    close(model.class_prior().probabilities(), &mean, 1e-12);
    assert!(model.to_string().contains("mean output, because no item has a label"), "{model}");
    let again = FuseOptions { class_prior: Some(PriorChoice::Empirical), ..FuseOptions::default() };
    assert_eq!(model.prior_for(&outputs, &again).unwrap(), *model.class_prior());
}

/// Labelled items in equal numbers, unlabelled ones 1 : 2 : 7. With 40 other sets of 2000 items the
/// estimates had standard deviations of at most 0.0094 and, because of the errors of this fit, a bias
/// of at most 0.031; 0.06 is three standard deviations beyond.
#[test]
fn shares_of_unlabelled_items_are_estimated_in_fits_and_in_fusing() {
    let mut outputs = simulated([300, 300, 300], 1, |_| true);
    outputs.append(simulated([200, 400, 1400], 2, |_| false)).unwrap();
    let model = fit(quick(), &outputs, PriorChoice::Estimate);
    close(model.class_prior().probabilities(), &[0.1, 0.2, 0.7], 0.06);
    assert!(model.to_string().contains("estimated from 2000 items without a label"), "{model}");
    assert_eq!(Model::from_json(&model.to_json()).unwrap(), model);
    assert!(model.update(&outputs, &NoProgress).unwrap_err().to_string().contains("estimate"));

    let labelled = outputs.labelled();
    let own = fit(quick(), &labelled, PriorChoice::Empirical);
    let new = simulated([1400, 400, 200], 3, |_| true);
    let estimate =
        FuseOptions { class_prior: Some(PriorChoice::Estimate), ..FuseOptions::default() };
    let found = own.prior_for(&new, &estimate).unwrap();
    close(found.probabilities(), &[0.7, 0.2, 0.1], 0.06);
    let given = PriorChoice::Given(found.probabilities().to_vec());
    let given = FuseOptions { class_prior: Some(given), ..FuseOptions::default() };
    assert_eq!(own.fuse_with(&new, &estimate).unwrap(), own.fuse_with(&new, &given).unwrap());
    assert!(own.prior(Some(&PriorChoice::Estimate)).is_err());
    let options = FitOptions { class_prior: PriorChoice::Estimate, ..FitOptions::default() };
    let error = Model::fit_with(quick(), &labelled, &options).unwrap_err().to_string();
    assert!(error.contains("if every training item has a label"), "{error}");
}

/// An item with weight 3 counts as three items.
#[test]
fn weights_count_in_estimated_shares() {
    let outputs = simulated([20, 30, 40], 4, |item| item % 2 == 0);
    let weights: Vec<f64> =
        (0..90).map(|item| f64::from(u8::from(item % 3 == 0) * 2 + 1)).collect();
    let copies: Vec<usize> =
        (0..90).flat_map(|i| vec![i; if i % 3 == 0 { 3 } else { 1 }]).collect();
    let weighted = fit(quick(), &outputs.with_weights(&weights).unwrap(), PriorChoice::Estimate);
    let copied = fit(quick(), &outputs.select_items(&copies), PriorChoice::Estimate);
    close(weighted.class_prior().probabilities(), copied.class_prior().probabilities(), 1e-6);
}

/// Under the empirical prior every item has the same weight, under others the classes have theirs.
#[test]
fn scores_count_items_alike_under_the_empirical_prior() {
    assert_eq!(Weighting::ClassPrior.under(Some(&PriorChoice::Empirical)), Weighting::Items);
    assert_eq!(Weighting::ClassPrior.under(Some(&PriorChoice::Estimate)), Weighting::Items);
    assert_eq!(Weighting::ClassPrior.under(Some(&PriorChoice::Uniform)), Weighting::ClassPrior);
    assert_eq!(Weighting::ClassPrior.under(None), Weighting::ClassPrior);
    let (train, test) = (simulated([30, 20, 10], 1, |_| true), simulated([5, 9, 30], 2, |_| true));
    let model = Model::fit(quick(), &train).unwrap();
    let weighting = Weighting::ClassPrior.under(model.chosen_prior());
    let bootstrap = BootstrapSettings { replicates: 0, seed: 0 };
    let settings = EvaluationSettings { weighting, bootstrap };
    let prior = model.class_prior();
    let found = evaluate(&model, model.fusion(), &test, prior, &settings, &NoProgress).unwrap();
    let fused = model.fuse(&test).unwrap();
    let loss = |item: usize| -fused.probabilities(item)[test.label(item).unwrap()].ln();
    let mean = (0..44).map(loss).sum::<f64>() / 44.0;
    assert!((found.methods[0].overall.log_loss.value - mean).abs() < 1e-12);
    let labels = test.require_labels().unwrap();
    let single = &single_classifiers(&test, prior)[0];
    let alike = score(single, &labels, prior, Weighting::Items).unwrap()[0].log_loss;
    assert_eq!(found.methods[1].overall.log_loss.value, alike);
}

/// 100 labels at (0.9, 0.1): a prior of (0.5, 0.5) has a divergence of 0.368 nats, and 2nD = 74 is far
/// beyond the 99.9 % quantile 10.8. Ten labels at (0.8, 0.2) have 0.193 nats, but 2nD = 3.9.
#[test]
fn a_given_prior_far_from_the_labels_causes_a_warning() {
    let schema = Schema::new(["a"], ["x", "y"]).unwrap();
    let outputs = |x: usize, y: usize| {
        let mut builder = OutputsBuilder::new(schema.clone(), InputFormat::default()).unwrap();
        for label in std::iter::repeat_n("x", x).chain(std::iter::repeat_n("y", y)) {
            builder.push(&[0.6, 0.4], Some(label)).unwrap();
        }
        builder.finish()
    };
    let warnings = |(x, y): (usize, usize), prior: PriorChoice| {
        let model = fit(OpinionPool {}, &outputs(x, y), prior);
        let messages = model.training().unwrap().warnings.iter().map(ToString::to_string);
        messages.collect::<Vec<_>>()
    };
    let half = PriorChoice::Given(vec![1.0, 1.0]);
    assert_eq!(
        warnings((90, 10), half.clone()),
        ["the class prior (x 0.500, y 0.500) is far from the frequencies of the labels (x 0.900, \
          y 0.100): a divergence of 0.37 nats"]
    );
    let named = PriorChoice::Named(vec![("y".into(), 1.0), ("x".into(), 1.0)]);
    assert_eq!(warnings((90, 10), named).len(), 1);
    for (counts, prior) in [
        ((8, 2), half.clone()),
        ((70, 30), half), // 0.082 nats
        ((90, 10), PriorChoice::Uniform),
        ((90, 10), PriorChoice::Empirical),
        ((90, 10), PriorChoice::Given(vec![0.8, 0.2])),
    ] {
        assert_eq!(warnings(counts, prior.clone()), [""; 0], "{counts:?} {prior}");
    }
}
