//! Stacking and `auto` on simulated items with known parameters, and on few or degenerate items.

use std::sync::Arc;

use consilience::evaluation::{GainSettings, Predictions, Weighting, gain, score};
use consilience::methods::auto::{
    Auto, AutoFusion, AutoParameters, FittedAuto, Layer, LinearRule, Rule,
};
use consilience::methods::bcc::Bcc;
use consilience::methods::independent::IndependentFusion;
use consilience::methods::stacking::{Ridge, Stacking, StackingFusion, StackingParameters};
use consilience::methods::{Fusion, PosteriorPredictive, fuse};
use consilience::simulation::Truth;
use consilience::{ClassPrior, Error, InputFormat, NoProgress, Outputs, OutputsBuilder, Schema};
use correlated_dirichlet::CorrelatedDirichlet;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

/// Dirichlet parameters of `n` classifiers, larger for the true class.
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

/// The same items with every third output missing; every item keeps at least one output.
fn with_gaps(outputs: &Outputs) -> Outputs {
    let (k, j) = (outputs.schema().n_classifiers(), outputs.schema().n_classes());
    let mut builder =
        OutputsBuilder::new(outputs.schema().clone(), InputFormat::default()).unwrap();
    for item in 0..outputs.n_items() {
        let mut row = outputs.items(item..item + 1).values().to_vec();
        let missing = (item * 7 + item / 3) % (k + k / 2);
        if missing < k {
            row[missing * j..][..j].fill(f64::NAN);
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

/// The independent model is true here and exact with missing outputs. With n = 1500 training items
/// and p = 18 free parameters, the expected excess log-loss of a fit is about p/2n = 0.006, and
/// somewhat more with missing outputs.
#[test]
fn log_loss_is_near_the_optimum_with_and_without_missing_outputs() {
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

/// Training items with one class six times rarer than the others; scores with equal class weights.
#[test]
fn class_frequencies_of_the_training_items_have_little_effect() {
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

/// Stacking under another class prior p′ gives exactly P · p′/p, normalised; `auto` is a mixture of
/// two such distributions.
#[test]
fn a_new_class_prior_needs_no_new_fit() {
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
fn the_seed_determines_the_fit_and_parameters_survive_serialisation() {
    let train = with_gaps(&simulate(3, 60, 1));
    let fitted = auto(&train);
    assert_eq!(fitted, auto(&train));
    let text = serde_json::to_string(fitted.fusion.parameters()).unwrap();
    let parameters: AutoParameters = serde_json::from_str(&text).unwrap();
    assert_eq!(AutoFusion::new(schema(3), parameters).unwrap(), fitted.fusion);
    let stacking = Stacking::default().learn(&train).unwrap().fusion;
    assert_eq!(Some(stacking.clone()), fitted.fusion.stacking().unwrap());
    let text = serde_json::to_string(&stacking.parameters()).unwrap();
    let parameters: StackingParameters = serde_json::from_str(&text).unwrap();
    assert_eq!(StackingFusion::new(schema(3), parameters).unwrap(), stacking);
}

/// Fusing sums the members' probabilities; log posteriors are the logarithms of that sum. A posterior of one draw is
/// fused through the logarithms.
#[test]
fn fused_probabilities_are_those_of_the_log_posteriors() {
    let train = simulate(3, 100, 1);
    let fusion = auto(&train).fusion;
    let through_logs = PosteriorPredictive::new(vec![Box::new(fusion.clone())]).unwrap();
    let prior = ClassPrior::new(&[0.2, 0.3, 0.5]).unwrap();
    for items in [simulate(3, 50, 2), with_gaps(&simulate(3, 50, 3))] {
        let (got, want) =
            (fuse(&fusion, &items, &prior).unwrap(), fuse(&through_logs, &items, &prior).unwrap());
        for (got, want) in got.all().iter().zip(want.all()) {
            assert!((got - want).abs() <= 4e-15, "{got} {want}");
        }
    }
}

/// Without labels `auto` is the mean of the linear and the geometric pool of the outputs that are
/// present, whose mean outputs are their class priors, at their temperatures. Independent sources are
/// sharpened.
#[test]
fn without_labels_it_is_the_average_of_both_pools() {
    let test = simulate(3, 200, 2);
    let unlabelled = without_labels(&test);
    let fitted = auto(&unlabelled);
    assert!(fitted.warnings[0].message.contains("no labelled items"), "{:?}", fitted.warnings);
    let mut parameters = fitted.fusion.parameters().clone();
    let (a, b) = (pool(&mut parameters).exponent, 3.0 * layer(&mut parameters).output_exponents[0]);
    assert!(1.1 < a && a < b + 1e-12 && b < 4.0, "{a} {b}");
    let prior = ClassPrior::new(&[0.2, 0.3, 0.5]).unwrap();
    let got = fuse(&fitted.fusion, &test, &prior).unwrap();
    let n = test.n_items() as f64;
    let output = |item: usize, k: usize, t: usize| {
        let output = test.output(item, k).unwrap();
        output[t].max(1e-3) / output.iter().map(|x| x.max(1e-3)).sum::<f64>()
    };
    let raw_mean = |k: usize, t: usize| {
        (0..test.n_items()).map(|i| test.output(i, k).unwrap()[t]).sum::<f64>() / n
    };
    let means: Vec<Vec<f64>> = (0..3).map(|k| (0..3).map(|t| raw_mean(k, t)).collect()).collect();
    let normalised = |weights: [f64; 3]| weights.map(|w| w / weights.iter().sum::<f64>());
    for item in 0..test.n_items() {
        let linear = normalised(std::array::from_fn(|t| {
            let mean = (0..3).map(|k| means[k][t]).sum::<f64>();
            let sum = (0..3).map(|k| output(item, k, t)).sum::<f64>();
            prior.probabilities()[t] * (sum / mean).powf(a)
        }));
        let geometric = normalised(std::array::from_fn(|t| {
            let ln = (0..3).map(|k| (output(item, k, t) / means[k][t]).ln()).sum::<f64>() / 3.0;
            prior.probabilities()[t] * (b * ln).exp()
        }));
        for t in 0..3 {
            let want = 0.5 * (linear[t] + geometric[t]);
            assert!((got.probabilities(item)[t] - want).abs() < 1e-12, "{item} {t} {want}");
        }
    }
}

/// The same items without their labels.
fn without_labels(outputs: &Outputs) -> Outputs {
    let mut builder =
        OutputsBuilder::new(outputs.schema().clone(), InputFormat::default()).unwrap();
    for item in 0..outputs.n_items() {
        builder.push(outputs.items(item..item + 1).values(), None).unwrap();
    }
    builder.finish()
}

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
fn a_class_without_labels_is_refused_by_stacking_only() {
    let train = simulate(2, 20, 1);
    let kept: Vec<usize> = (0..train.n_items()).filter(|&i| train.label(i) != Some(1)).collect();
    let train = train.select_items(&kept);
    let empty = Err(Error::EmptyClass { class: "y".into() });
    assert_eq!(Stacking::default().learn(&train), empty);
    // `auto` knows from the outputs what the class looks like.
    let fitted = auto(&train).fusion;
    let fused = fuse(&fitted, &simulate(2, 300, 3), &ClassPrior::uniform(3)).unwrap();
    let hits = (300..600).filter(|&item| fused.predicted(item) == 1).count();
    assert!(hits > 150, "{hits}");
    let config = Stacking { ridge: Ridge::Sd(0.0), ..Stacking::default() };
    assert!(config.learn(&simulate(2, 20, 1)).is_err());
}

#[test]
fn identical_sources_and_few_items_cause_warnings() {
    let one = simulate(1, 8, 1);
    let mut builder = OutputsBuilder::new(schema(2), InputFormat::default()).unwrap();
    for item in 0..one.n_items() {
        builder
            .push_indexed(&one.items(item..item + 1).values().repeat(2), one.label(item))
            .unwrap();
    }
    let warnings = auto(&builder.finish()).warnings;
    let warned = |text: &str| warnings.iter().any(|w| w.message.contains(text));
    assert!(warned("`k0` and `k1` give the same output") && warned("`x` (8)"), "{warnings:?}");
}

/// Copies are named as a group, not pair by pair.
#[test]
fn several_copies_of_a_source_cause_one_warning() {
    let one = simulate(1, 20, 1);
    let mut builder = OutputsBuilder::new(schema(4), InputFormat::default()).unwrap();
    for item in 0..one.n_items() {
        let own = one.items(item..item + 1).values().to_vec();
        let other: Vec<f64> = own.iter().rev().copied().collect();
        let all = [&own[..], &other[..], &own[..], &own[..]].concat();
        builder.push_indexed(&all, one.label(item)).unwrap();
    }
    let warnings = auto(&builder.finish()).warnings;
    let copies: Vec<_> =
        warnings.iter().filter(|w| w.message.contains("the same output")).collect();
    assert_eq!(copies.len(), 1, "{warnings:?}");
    assert!(copies[0].message.starts_with("classifiers `k0`, `k2` and `k3` give"), "{copies:?}");
}

/// A source with its classes in the wrong order is named; one with random outputs is not.
#[test]
fn a_source_that_is_worse_than_chance_causes_a_warning() {
    let turned = |x: &[f64], _: usize| vec![x[1], x[2], x[0]];
    let random = |_: &[f64], item: usize| {
        let mut rng = ChaCha8Rng::seed_from_u64(item as u64);
        normalised(&[(); 3].map(|()| 0.05 + rng.random::<f64>()))
    };
    let train = simulate(2, 40, 1);
    let named = |outputs: &Outputs| -> Vec<String> {
        let warnings = auto(outputs).warnings.into_iter().map(|warning| warning.message);
        warnings.filter(|message| message.contains("worse than chance")).collect()
    };
    let found = named(&with_another(&train, turned));
    assert!(found.len() == 1 && found[0].contains("`k2`"), "{found:?}");
    assert_eq!(named(&with_another(&train, random)), Vec::<String>::new());
}

/// 12 classes and 2 classifiers give the logistic part 12 · (1 + 24) = 300 parameters: more than the
/// 150 up to which Newton's method is used.
#[test]
fn many_parameters_are_fitted_by_lbfgs_and_the_ridge_by_cross_validation() {
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

/// The first layer of a model.
fn layer(parameters: &mut AutoParameters) -> &mut Layer {
    let layers = parameters.members.iter_mut().filter_map(|member| match &mut member.rule {
        Rule::Layer(layer) => Some(layer),
        Rule::LinearPool(_) => None,
    });
    layers.into_iter().next().expect("a layer")
}

/// The first linear pool of a model.
fn pool(parameters: &mut AutoParameters) -> &mut LinearRule {
    let pools = parameters.members.iter_mut().filter_map(|member| match &mut member.rule {
        Rule::LinearPool(pool) => Some(pool),
        Rule::Layer(_) => None,
    });
    pools.into_iter().next().expect("a linear pool")
}

#[test]
fn invalid_parameters_are_refused() {
    let good = auto(&simulate(2, 20, 1)).fusion.parameters().clone();
    let refused = |change: &dyn Fn(&mut AutoParameters)| {
        let mut bad = good.clone();
        change(&mut bad);
        AutoFusion::new(schema(2), bad).is_err()
    };
    assert!(!refused(&|_| ()));
    assert!(refused(&|p| p.logistic_share = 1.5));
    assert!(refused(&|p| p.members[0].weight = -0.1));
    assert!(refused(&|p| p.members.truncate(1)));
    assert!(refused(&|p| layer(p).bias.truncate(1)));
    assert!(refused(&|p| layer(p).output_exponents[0] = f64::NAN));
    assert!(refused(&|p| pool(p).exponent = f64::INFINITY));
    assert!(refused(&|p| pool(p).weights[0] += 0.1));
    assert!(refused(&|p| pool(p).bias.truncate(1)));
    assert!(refused(&|p| p.alpha.as_mut().unwrap()[0][0][0] = -1.0));
    assert!(refused(&|p| p.alpha = None));
    assert!(refused(&|p| p.logistic.as_mut().unwrap().weights[1].truncate(1)));
    assert!(refused(&|p| p.logistic = None));
    assert!(refused(&|p| p.fill.as_mut().unwrap().weight = -0.1));
    assert!(refused(&|p| p.fill.as_mut().unwrap().covariance[0][0] = -1.0));
    assert!(refused(&|p| p.fill.as_mut().unwrap().mean[0].truncate(2)));
}

#[test]
fn the_gain_covers_independent_and_identical_sources() {
    let estimate = |outputs: &Outputs| {
        let model = Auto::default().fit(outputs).unwrap();
        gain(&model, outputs, &GainSettings::default(), &NoProgress)
    };
    let independent = estimate(&simulate(3, 200, 1)).unwrap();
    assert!(
        independent.verdict.starts_with("fusing these 3 sources gains"),
        "{}",
        independent.verdict
    );
    assert!(independent.similar.is_empty() && independent.effective_number > 2.5);
    assert!(independent.best_single.gain.mean > 5.0 * independent.best_single.gain.se);
    let one = simulate(1, 100, 1);
    let mut builder = OutputsBuilder::new(schema(2), InputFormat::default()).unwrap();
    for item in 0..one.n_items() {
        builder
            .push_indexed(&one.items(item..item + 1).values().repeat(2), one.label(item))
            .unwrap();
    }
    let identical = estimate(&builder.finish()).unwrap();
    let table = identical.to_string();
    assert!(table.contains("no clear gain over") && table.contains("on 300 items"), "{table}");
    assert!(table.contains("`k0` and `k1` carry nearly the same"), "{table}");
    // The shares of evidence contain a ridge of 1e-3, of which two copies keep half.
    assert!((identical.effective_number - 1.0).abs() < 1e-3);
    assert!(estimate(&simulate(2, 1, 1)).is_err());
    let other = Bcc::default().fit(&one).unwrap();
    assert!(gain(&other, &one, &GainSettings::default(), &NoProgress).is_err());
}

/// The same items with one more source, made from the outputs of the first and the item's number.
fn with_another(outputs: &Outputs, make: impl Fn(&[f64], usize) -> Vec<f64>) -> Outputs {
    let k = outputs.schema().n_classifiers();
    let mut builder = OutputsBuilder::new(schema(k + 1), InputFormat::default()).unwrap();
    for item in 0..outputs.n_items() {
        let mut row = outputs.items(item..item + 1).values().to_vec();
        row.extend(make(outputs.output(item, 0).unwrap(), item));
        builder.push_indexed(&row, outputs.label(item)).unwrap();
    }
    builder.finish()
}

/// Makes an output from another and the item's number.
type Make = fn(&[f64], usize) -> Vec<f64>;

fn normalised(weights: &[f64]) -> Vec<f64> {
    let sum: f64 = weights.iter().sum();
    weights.iter().map(|w| w / sum).collect()
}

/// A source that adds nothing costs at most 0.04 nats with 20 labels per class and next to nothing
/// with 200, on average over four samples: a copy, a sharpened copy, an inverted copy, and random
/// numbers.
#[test]
fn a_copy_a_random_an_inverted_and_an_overconfident_source_do_little_harm() {
    let test = simulate(3, 1000, 2);
    let random = |_: &[f64], item: usize| {
        let mut rng = ChaCha8Rng::seed_from_u64(item as u64);
        normalised(&[(); 3].map(|()| 0.05 + rng.random::<f64>()))
    };
    let sources: [(&str, Make); 3] = [
        ("copy", |x, _| x.to_vec()),
        ("sharpened", |x, _| {
            normalised(&x.iter().map(|x| x.powi(5).max(1e-9)).collect::<Vec<f64>>())
        }),
        ("inverted", |x, _| normalised(&x.iter().map(|x| 1.0 / x.max(1e-3)).collect::<Vec<f64>>())),
    ];
    for (items_per_class, allowed) in [(20, 0.045), (200, 0.006)] {
        let trains = [1, 3, 4, 5].map(|seed| simulate(3, items_per_class, seed));
        let check = |name: &str, more: &dyn Fn(&Outputs) -> Outputs| {
            let test_with = more(&test);
            let cost = |train: &Outputs| {
                loss(&auto(&more(train)).fusion, &test_with) - loss(&auto(train).fusion, &test)
            };
            let mean = trains.iter().map(cost).sum::<f64>() / trains.len() as f64;
            assert!(mean < allowed, "{name}, {items_per_class} items: {mean}");
        };
        for (name, make) in sources {
            check(name, &|outputs| with_another(outputs, make));
        }
        check("random", &|outputs| with_another(outputs, random));
    }
}

/// With 2 sources, 30 classes and 2 items per class its share would be ½ · 2/302 = 0.0033; with 4 items per class it
/// is 0.0066.
#[test]
fn the_logistic_part_is_left_out_where_its_share_is_tiny() {
    let names: Vec<String> = (0..30).map(|j| format!("c{j}")).collect();
    let schema = Arc::new(Schema::new(["a", "b"], names).unwrap());
    for (per_class, share) in [(2, None), (4, Some(0.5 * 4.0 / 304.0))] {
        let mut builder = OutputsBuilder::new(Arc::clone(&schema), InputFormat::default()).unwrap();
        for i in 0..30 * per_class {
            let weight = |k: usize, l: usize| {
                1.0 + f64::from(u8::from(l == i % 30)) * 20.0 + ((7 * i + 3 * k + l) % 5) as f64
            };
            let output = |k: usize| {
                let sum: f64 = (0..30).map(|l| weight(k, l)).sum();
                (0..30).map(move |l| weight(k, l) / sum)
            };
            let row: Vec<f64> = output(0).chain(output(1)).collect();
            builder.push_indexed(&row, Some(i % 30)).unwrap();
        }
        let fitted = Auto::default().learn(&builder.finish(), &NoProgress).unwrap().fusion;
        assert_eq!(fitted.parameters().logistic.is_some(), share.is_some());
        assert!((fitted.parameters().logistic_share - share.unwrap_or(0.0)).abs() < 1e-12);
    }
}
