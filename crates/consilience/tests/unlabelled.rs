//! Fits to items of which some or all have no label.

use consilience::evaluation::{GainSettings, gain};
use consilience::simulation::Preset;
use consilience::{
    Bcc, Error, FitOptions, Independent, InputFormat, LinearPool, LogPool, MethodConfig, Model,
    NoProgress, OpinionPool, Outputs, OutputsBuilder, Weights,
};

/// 60 items of three classes.
fn labelled() -> Outputs {
    Preset::Sim2.truth(0.5).unwrap().simulate(20, 1).unwrap()
}

/// The same items with the labels that `keep` leaves.
fn relabelled(outputs: &Outputs, keep: impl Fn(usize) -> bool) -> Outputs {
    let schema = std::sync::Arc::clone(outputs.schema());
    let mut builder = OutputsBuilder::new(schema, InputFormat::default()).unwrap();
    for item in 0..outputs.n_items() {
        let label = outputs.label(item).filter(|_| keep(item));
        builder.push_indexed(outputs.items(item..item + 1).values(), label).unwrap();
    }
    builder.finish()
}

fn every_method() -> Vec<MethodConfig> {
    let mut methods: Vec<MethodConfig> =
        MethodConfig::all().map(|config| config.at_mode()).collect();
    methods.push("meta:c1".parse().unwrap());
    methods
}

/// Methods that do not look at unlabelled items give the model of the labelled ones alone. `auto`
/// may look at them.
#[test]
fn unlabelled_items_leave_methods_that_need_labels_unchanged() {
    let full = labelled();
    let some = relabelled(&full, |item| item % 3 != 0);
    for config in every_method().into_iter().filter(|config| config.name() != "auto") {
        let alone = Model::fit(config.clone(), &some.labelled()).unwrap();
        let beside = Model::fit(config.clone(), &some).unwrap();
        assert_eq!(alone.method(), beside.method(), "{config}");
        let training = beside.training().unwrap();
        assert_eq!((training.n_labelled(), training.n_unlabelled()), (40, 20), "{config}");
        assert_eq!(Model::from_json(&beside.to_json()).unwrap(), beside, "{config}");
    }
}

#[test]
fn without_labels_pools_with_known_weights_are_fitted_and_others_say_what_they_need() {
    let none = relabelled(&labelled(), |_| false);
    let pools: [MethodConfig; 4] = [
        OpinionPool {}.into(),
        LinearPool { weights: Weights::Equal }.into(),
        LogPool { weights: Weights::Equal }.into(),
        LinearPool { weights: Weights::Given(vec![0.3, 0.7]) }.into(),
    ];
    for pool in pools {
        let model = Model::fit(pool.clone(), &none).unwrap();
        let training = model.training().unwrap();
        assert_eq!((training.n_labelled(), training.n_unlabelled()), (0, 60), "{pool}");
        assert_eq!(Model::from_json(&model.to_json()).unwrap(), model);
        assert!(model.to_string().contains("0 labelled and 60 unlabelled items"), "{model}");
        assert_eq!(model.fuse(&none).unwrap().n_items(), 60);
    }
    for config in every_method().into_iter().filter(MethodConfig::needs_labels) {
        let error = Model::fit(config.clone(), &none).unwrap_err();
        assert!(matches!(error, Error::NeedsLabels { .. }), "{config}: {error}");
        let text = error.to_string();
        assert!(text.contains(&format!("`{config}` needs labels")), "{text}");
        assert!(text.contains("`opinion-pool`"), "{text}");
        assert!(text.contains("`log-pool` with equal or given weights"), "{text}");
    }
}

#[test]
fn no_items_are_an_error_for_every_method() {
    let none = labelled().select_items(&[]);
    for config in every_method() {
        assert_eq!(Model::fit(config, &none), Err(Error::NoItems));
    }
}

/// The mean output over items and classifiers, by hand: one item lacks a classifier, one lacks both.
#[test]
fn the_mean_output_of_unlabelled_items_is_kept_and_updated() {
    let schema = std::sync::Arc::new(consilience::Schema::new(["a", "b"], ["x", "y"]).unwrap());
    let format = InputFormat { floor: 0.0, ..InputFormat::default() };
    let mut builder = OutputsBuilder::new(schema, format).unwrap();
    let nan = f64::NAN;
    builder.push(&[0.25, 0.75, 0.75, 0.25], None).unwrap();
    builder.push(&[0.125, 0.875, nan, nan], None).unwrap();
    builder.push(&[nan; 4], None).unwrap();
    builder.push(&[0.9, 0.1, 0.9, 0.1], Some("x")).unwrap();
    let outputs = builder.finish();
    let model = Model::fit(OpinionPool {}, &outputs).unwrap();
    let unlabelled = &model.training().unwrap().unlabelled;
    assert_eq!((unlabelled.n_items(), unlabelled.weight()), (3, 2.0));
    assert_eq!(unlabelled.mean_output().unwrap(), [0.3125, 0.6875]);
    let parts = [outputs.select_items(&[2, 0]), outputs.select_items(&[3, 1])];
    let first = Model::fit(OpinionPool {}, &parts[0]).unwrap();
    assert_eq!(first.update(&parts[1], &NoProgress).unwrap(), model);
}

/// An update with unlabelled items equals a fit on all items, to the last bit.
#[test]
fn updates_take_unlabelled_items() {
    let some = relabelled(&labelled(), |item| item % 3 != 0);
    // Labelled items first, then items without labels, then both.
    let is_early = |item: &usize| item % 20 < 12;
    let (early, late): (Vec<usize>, Vec<usize>) = (0..60).partition(is_early);
    let (second, first): (Vec<usize>, Vec<usize>) = early.iter().partition(|&item| item % 3 == 0);
    let methods: [MethodConfig; 3] =
        [Independent::default().into(), Bcc::default().into(), OpinionPool {}.into()];
    for config in methods {
        let whole = Model::fit(config.clone(), &some).unwrap();
        let updated = Model::fit(config.clone(), &some.select_items(&first))
            .and_then(|model| model.update(&some.select_items(&second), &NoProgress))
            .and_then(|model| model.update(&some.select_items(&late), &NoProgress))
            .unwrap();
        assert_eq!(updated, whole, "{config}");
    }
}

/// A class without labelled items stops methods that cannot do without. A pool fits its weights to
/// the other classes, and Dirichlets and confusion matrices of the class follow their prior.
#[test]
fn a_class_without_labels_stops_only_methods_that_model_it() {
    let full = labelled();
    let two = relabelled(&full, |item| full.label(item) != Some(2));
    for config in every_method() {
        let fit = Model::fit(config.clone(), &two);
        let name = config.name();
        if name.ends_with("pool") {
            let model = fit.unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(model.schema().n_classes(), 3);
            let warnings = &model.training().unwrap().warnings;
            assert_eq!(warnings.len(), usize::from(name != "opinion-pool"), "{warnings:?}");
        } else if ["independent", "bcc", "meta:c1"].contains(&name.as_str()) {
            fit.unwrap_or_else(|error| panic!("{name}: {error}"));
        } else if name != "auto" {
            assert_eq!(fit, Err(Error::EmptyClass { class: "3".into() }), "{name}");
        }
    }
}

/// The weights of a linear pool of two classes seen, under a prior of three: the same as those of
/// the prior without the third class.
#[test]
fn pools_fit_their_weights_to_the_classes_that_have_labels() {
    let full = labelled();
    let kept: Vec<usize> = (0..60).filter(|&item| full.label(item) != Some(2)).collect();
    let two = full.select_items(&kept);
    let weights = |third: f64| {
        let rest = 1.0 - third;
        let class_prior = consilience::PriorChoice::Given(vec![0.25 * rest, 0.75 * rest, third]);
        let options = FitOptions { class_prior, ..FitOptions::default() };
        let model = Model::fit_with(LinearPool::default(), &two, &options).unwrap();
        let json: serde_json::Value = serde_json::from_str(&model.to_json()).unwrap();
        json["parameters"]["weights"][0].as_f64().unwrap()
    };
    assert!((weights(0.01) - weights(0.6)).abs() < 1e-6, "{} {}", weights(0.01), weights(0.6));
}

/// The second of three classifiers is missing in the third class: methods that model every class
/// leave it out with a warning, and are the same as without it.
#[test]
fn a_classifier_without_outputs_in_a_class_is_left_out() {
    let schema =
        |names: &[&str]| consilience::Schema::new(names.to_vec(), ["1", "2", "3"]).unwrap();
    let (three, two) = (schema(&["a", "b", "c"]), schema(&["a", "c"]));
    let full = labelled();
    let tables = [three, two].map(|schema| {
        let with_b = schema.n_classifiers() == 3;
        let mut builder = OutputsBuilder::new(schema, InputFormat::default()).unwrap();
        for item in 0..full.n_items() {
            let values = full.items(item..item + 1).values();
            let label = full.label(item);
            let b = if label == Some(2) { vec![f64::NAN; 3] } else { values[..3].to_vec() };
            let b = if with_b { b } else { Vec::new() };
            let raw = [&values[..3], &b[..], &values[3..]].concat();
            builder.push_indexed(&raw, label).unwrap();
        }
        builder.finish()
    });
    let warning =
        "classifier `b` is missing for every training item of class `3`, so it is left out";
    for config in every_method().into_iter().filter(|config| !config.name().contains(':')) {
        let model = Model::fit(config.clone(), &tables[0]).unwrap();
        let messages = model.training().unwrap().warnings.iter().map(ToString::to_string);
        let left_out = messages.collect::<Vec<_>>().contains(&warning.to_owned());
        let name = config.name();
        let robust = ["auto", "stacking"].contains(&name.as_str()) || name.ends_with("pool");
        assert_eq!(left_out, !robust, "{name}");
        if left_out {
            let without = Model::fit(config, &tables[1]).unwrap();
            assert_eq!(without.method(), model.method(), "{name}");
            model.fuse(&tables[0]).unwrap();
        }
    }
    assert!(Model::fit("meta:b".parse::<MethodConfig>().unwrap(), &tables[0]).is_err());
}

/// A classifier without a single output is left out with a warning by methods that could do nothing with
/// it; the others fit as before.
#[test]
fn a_classifier_without_any_output_is_left_out() {
    let schema =
        |names: &[&str]| consilience::Schema::new(names.to_vec(), ["1", "2", "3"]).unwrap();
    let full = labelled();
    let tables = [schema(&["a", "b", "c"]), schema(&["a", "c"])].map(|schema| {
        let with_b = schema.n_classifiers() == 3;
        let mut builder = OutputsBuilder::new(schema, InputFormat::default()).unwrap();
        for item in 0..full.n_items() {
            let values = full.items(item..item + 1).values();
            let b = if with_b { vec![f64::NAN; 3] } else { Vec::new() };
            let label = full.label(item).filter(|_| item % 4 > 0);
            builder.push_indexed(&[&values[..3], &b[..], &values[3..]].concat(), label).unwrap();
        }
        builder.finish()
    });
    let warning = "classifier `b` has no output for any training item, so it is left out";
    for name in ["auto", "linear-pool", "log-pool:free"] {
        let config: MethodConfig = name.parse().unwrap();
        let model = Model::fit(config.clone(), &tables[0]).unwrap();
        let messages = model.training().unwrap().warnings.iter().map(ToString::to_string);
        assert!(messages.collect::<Vec<_>>().contains(&warning.to_owned()), "{name}");
        assert_eq!(Model::fit(config, &tables[1]).unwrap().method(), model.method(), "{name}");
        model.fuse(&tables[0]).unwrap();
        if name == "auto" {
            let found = gain(&model, &tables[0], &GainSettings::default(), &NoProgress).unwrap();
            assert!(found.baselines.iter().all(|own| !own.method.ends_with(":b")), "{found}");
        }
    }
    Model::fit("opinion-pool".parse::<MethodConfig>().unwrap(), &tables[0]).unwrap();
}
