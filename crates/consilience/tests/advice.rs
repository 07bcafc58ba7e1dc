//! Advice on labels and sources, against values and truths from elsewhere.

use std::sync::Arc;

use consilience::evaluation::{
    AdviceSettings, SourceDecision, SourceSettings, advise, advise_labels, advise_sources,
};
use consilience::simulation::Preset;
use consilience::{
    Auto, ClassPrior, Error, InputFormat, Model, NoProgress, OpinionPool, Outputs, OutputsBuilder,
    Schema,
};

/// Items of two sources and two classes: P(x) by each source, and the label.
fn items(rows: &[(f64, f64, Option<&str>)]) -> Outputs {
    let schema = Schema::new(["a", "b"], ["x", "y"]).unwrap();
    let mut builder = OutputsBuilder::new(schema, InputFormat::default()).unwrap();
    for &(a, b, label) in rows {
        builder.push(&[a, 1.0 - a, b, 1.0 - b], label).unwrap();
    }
    builder.finish()
}

const ROWS: [(f64, f64, Option<&str>); 7] = [
    (0.9, 0.8, Some("x")),
    (0.3, 0.4, Some("y")),
    (0.5, 0.6, None),
    (0.55, 0.45, None),
    (0.99, 0.95, None),
    (0.7, 0.2, None),
    (0.5, 0.6, None),
];

/// The expected reductions by numpy: ½ tr(H⁻¹M) before minus after, with H = I + Σ Zᵀ(diag p − ppᵀ)Z
/// over the labelled items and the chosen ones, inverted as a whole.
#[test]
fn reductions_equal_those_of_explicit_inverses() {
    let outputs = items(&ROWS);
    let model = OpinionPool::default().fit(&outputs).unwrap();
    let uniform = ClassPrior::uniform(2);
    let advice = advise_labels(model.fusion(), &outputs, &uniform, 3, &NoProgress).unwrap();
    let chosen: Vec<usize> = advice.next.iter().map(|item| item.item).collect();
    assert_eq!(chosen, [5, 2, 6]);
    let want = [0.048_374_500_483_652_55, 0.022_917_926_229_402_932, 0.013_241_165_098_959_715];
    for (item, want) in advice.next.iter().zip(want) {
        assert!((item.reduction - want).abs() < 1e-12, "{item:?}");
    }
    assert!((advice.reduction - 0.084_533_591_812_015_2).abs() < 1e-12, "{advice:?}");
    assert!((advice.random_reduction - 0.073_077_016_686_193_37).abs() < 1e-12, "{advice:?}");
    assert_eq!((advice.n_labelled, advice.n_unlabelled), (2, 5));
}

#[test]
fn labels_can_be_chosen_without_any_and_with_missing_outputs() {
    let mut rows = ROWS;
    rows.iter_mut().for_each(|row| row.2 = None);
    rows[3].1 = f64::NAN;
    let outputs = items(&rows);
    let model = Auto::default().fit(&outputs).unwrap();
    let prior = model.class_prior();
    let advice = advise_labels(model.fusion(), &outputs, prior, 100, &NoProgress).unwrap();
    assert_eq!((advice.next.len(), advice.n_labelled), (7, 0));
    assert!(advice.next.iter().all(|item| item.reduction > 0.0));
    let sum: f64 = advice.next.iter().map(|item| item.reduction).sum();
    assert!((sum - advice.reduction).abs() < 1e-12 && advice.reduction > 0.0);
}

/// 1500 items: more than a shortlist.
#[test]
fn the_order_of_the_sources_does_not_matter() {
    let outputs = Preset::Sim2.truth(0.3).unwrap().simulate(500, 1).unwrap();
    let schema = Arc::clone(outputs.schema());
    let mut builder = OutputsBuilder::new(schema.clone(), InputFormat::default()).unwrap();
    for item in 0..outputs.n_items() {
        let label = outputs.label(item).filter(|_| item % 50 == 0);
        builder.push_indexed(outputs.items(item..item + 1).values(), label).unwrap();
    }
    let outputs = builder.finish();
    let (a, b) = (&schema.classifiers()[0], &schema.classifiers()[1]);
    let turned = Arc::new(Schema::new([b, a], schema.classes()).unwrap());
    let turned = outputs.select(&turned).unwrap();
    let list = |outputs: &Outputs| -> Vec<usize> {
        let model = Auto::default().fit(outputs).unwrap();
        let prior = model.class_prior();
        let advice = advise_labels(model.fusion(), outputs, prior, 10, &NoProgress).unwrap();
        advice.next.iter().map(|item| item.item).collect()
    };
    assert_eq!(list(&outputs), list(&turned));
}

/// Sources `good` and `other` of SIM 2 (independent given the class), a copy of `good` with noise
/// below a thousandth, and `noise`, whose outputs are those of `other` for another item.
fn panel(per_class: usize) -> Outputs {
    let outputs = Preset::Sim2.truth(0.0).unwrap().simulate(per_class, 3).unwrap();
    let schema =
        Schema::new(["good", "other", "copy", "noise"], outputs.schema().classes()).unwrap();
    let mut builder = OutputsBuilder::new(schema, InputFormat::default()).unwrap();
    let n = outputs.n_items();
    for item in 0..n {
        let good = outputs.output(item, 0).unwrap();
        let mut copy: Vec<f64> =
            (0..3).map(|t| good[t] * (1.0 + 1e-4 * ((item + t) % 7) as f64)).collect();
        let sum: f64 = copy.iter().sum();
        copy.iter_mut().for_each(|x| *x /= sum);
        // 7919 is prime to n: the shuffled items have every class.
        let noise = outputs.output(item * 7919 % n, 1).unwrap();
        let row = [good, outputs.output(item, 1).unwrap(), &copy, noise].concat();
        builder.push_indexed(&row, outputs.label(item)).unwrap();
    }
    builder.finish()
}

#[test]
fn of_two_copies_one_stays_and_noise_goes() {
    let outputs = panel(400);
    let model = Auto::default().fit(&outputs).unwrap();
    let advice = advise_sources(&model, &outputs, &SourceSettings::default(), &NoProgress).unwrap();
    let of = |name: &str| advice.sources.iter().find(|own| own.classifier == name).unwrap();
    assert_eq!(of("other").decision, SourceDecision::Keep, "{advice}");
    assert_eq!(of("noise").decision, SourceDecision::Drop, "{advice}");
    for copy in ["good", "copy"] {
        assert!(of(copy).worth.mean.abs() < 0.005, "{advice}");
    }
    let mut copies = [of("good").decision, of("copy").decision];
    copies.sort_by_key(|decision| *decision == SourceDecision::Drop);
    assert_eq!(copies, [SourceDecision::Keep, SourceDecision::Drop], "{advice}");
    let dropped = advice.dropped.as_ref().unwrap();
    assert_eq!(dropped.classifiers.len(), 2, "{advice}");
    assert!(dropped.loss.high <= 0.01 && dropped.saved.is_none());
    assert_eq!(advice.sources[0].classifier, "other"); // the most valuable first
}

/// Of two copies the dear one goes.
#[test]
fn prices_decide_between_copies() {
    let outputs = panel(200);
    let model = Auto::default().fit(&outputs).unwrap();
    for dear in ["good", "copy"] {
        let price = |name: &str| (name.to_owned(), if name == dear { 1e9 } else { 1e-9 });
        let prices = ["good", "other", "copy", "noise"].map(price).to_vec();
        // So large that both may go: the order alone decides which is tried first.
        let settings = SourceSettings { prices, tolerance: 0.05, ..SourceSettings::default() };
        let advice = advise_sources(&model, &outputs, &settings, &NoProgress).unwrap();
        let own = advice.sources.iter().find(|own| own.classifier == dear).unwrap();
        assert_eq!((own.decision, own.price), (SourceDecision::Drop, Some(1e9)), "{advice}");
        let per_price = own.worth_per_price.unwrap();
        assert!((per_price * 1e9 - own.worth.mean).abs() < 1e-12);
        assert!(advice.dropped.as_ref().unwrap().saved.unwrap() >= 1e9);
    }
}

#[test]
fn what_cannot_be_estimated_is_said_and_wrong_settings_are_errors() {
    let outputs = items(&ROWS);
    let model = Auto::default().fit(&outputs).unwrap();
    let run = |model: &Model, sources: SourceSettings| {
        let settings = AdviceSettings { labels: 2, sources: Some(sources) };
        let prior = model.class_prior();
        advise(model, model.fusion(), &outputs, prior, &settings, &NoProgress)
    };
    let advice = run(&model, SourceSettings::default()).unwrap();
    assert!(advice.sources.is_none() && advice.labels.next.len() == 2);
    let why = advice.sources_unknown.clone().unwrap();
    assert!(why.contains("at least 2 items"), "{why}");
    assert!(advice.to_string().contains(&why), "{advice}");
    let bare = Model::from_json(
        r#"{"format": "consilience", "version": 1, "method": "opinion-pool",
            "classifiers": ["a", "b"], "classes": ["x", "y"], "class_prior": [0.5, 0.5]}"#,
    );
    let advice = run(&bare.unwrap(), SourceSettings::default()).unwrap();
    assert!(advice.sources_unknown.unwrap().contains("no `settings`"));
    let price = |name: &str, price| SourceSettings {
        prices: vec![(name.into(), price)],
        ..SourceSettings::default()
    };
    for wrong in [
        price("c", 1.0),
        price("a", -1.0),
        price("a", f64::NAN),
        SourceSettings { tolerance: f64::NAN, ..SourceSettings::default() },
        SourceSettings { tolerance: -0.1, ..SourceSettings::default() },
        SourceSettings { folds: 1, ..SourceSettings::default() },
    ] {
        let error = run(&model, wrong.clone()).unwrap_err();
        assert!(
            matches!(error, Error::Mismatch { .. } | Error::InvalidParameter { .. }),
            "{wrong:?}: {error:?}"
        );
    }
}
