//! Shares of classes with intervals.

use std::sync::Arc;

use consilience::evaluation::{Interval, Prevalence, PrevalenceTarget, ShareSums, prevalence};
use consilience::simulation::Preset;
use consilience::{InputFormat, LinearPool, Model, NoProgress, OutputsBuilder, Schema};

/// The fused probabilities of a pool of one source are its outputs.
fn pool(classes: &[&str]) -> Model {
    let schema = Arc::new(Schema::new(["a"], classes.to_vec()).unwrap());
    let mut builder = OutputsBuilder::new(schema, InputFormat::default()).unwrap();
    let row = vec![1.0 / classes.len() as f64; classes.len()];
    classes.iter().for_each(|class| builder.push(&row, Some(class)).unwrap());
    Model::fit(LinearPool::default(), &builder.finish()).unwrap()
}

fn shares(
    rows: &[(&[f64], Option<&str>)],
    classes: &[&str],
    target: PrevalenceTarget,
) -> Prevalence {
    let model = pool(classes);
    let mut builder =
        OutputsBuilder::new(Arc::clone(model.schema()), InputFormat::default()).unwrap();
    rows.iter().for_each(|(row, label)| builder.push(row, *label).unwrap());
    let outputs = builder.finish();
    prevalence(&model, model.fusion(), &outputs, model.class_prior(), target, &NoProgress).unwrap()
}

const ROWS: [(&[f64], Option<&str>); 8] = [
    (&[0.9, 0.1], Some("y")),
    (&[0.2, 0.8], Some("y")),
    (&[0.7, 0.3], Some("x")),
    (&[0.6, 0.4], Some("y")),
    (&[0.3, 0.7], None),
    (&[0.8, 0.2], None),
    (&[0.1, 0.9], None),
    (&[0.5, 0.5], None),
];

/// Values by numpy, with the formulas of the documentation written anew.
#[test]
fn shares_agree_with_numpy() {
    let near = |share: Interval, expected: [f64; 3]| {
        let found = [share.value, share.low, share.high];
        let close = found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9);
        assert!(close, "{found:?} {expected:?}");
    };
    let found = shares(&ROWS, &["x", "y"], PrevalenceTarget::Population);
    assert!((found.lambda.unwrap() - 0.396_319_886_766).abs() < 1e-9);
    near(
        found.classes[0].corrected.unwrap(),
        [0.215_322_009_908, 0.031_236_466_729, 0.700_180_331_456],
    );
    near(
        found.classes[1].corrected.unwrap(),
        [0.784_677_990_092, 0.299_819_668_544, 0.968_763_533_271],
    );
    near(found.classes[0].by_model, [0.512_500_000_000, 0.311_535_411_760, 0.713_464_588_240]);
    assert_eq!((found.n_items, found.n_labelled, found.classes[0].labelled), (8, 4, 1));
    let found = shares(&ROWS, &["x", "y"], PrevalenceTarget::Items);
    near(
        found.classes[0].corrected.unwrap(),
        [0.215_322_009_908, 0.046_651_995_147, 0.606_109_260_184],
    );
    near(found.classes[0].by_model, [0.512_500_000_000, 0.221_583_964_616, 0.803_416_035_384]);
}

/// The labels of all items give their shares, without an interval among the items themselves.
#[test]
fn all_labels_leave_nothing_to_estimate() {
    let rows: Vec<_> = ROWS[..4].to_vec();
    let found = shares(&rows, &["x", "y"], PrevalenceTarget::Items);
    let share = found.classes[0].corrected.unwrap();
    for end in [share.value, share.low, share.high] {
        assert!((end - 0.25).abs() < 1e-9, "{share:?}");
    }
    let found = shares(&rows, &["x", "y"], PrevalenceTarget::Population);
    let share = found.classes[0].corrected.unwrap();
    // Wilson's interval of 1 of 4, by scipy.stats.binomtest(1, 4).proportion_ci(method="wilson")
    assert!(
        (share.low - 0.045_587_260_810).abs() < 1e-9
            && (share.high - 0.699_358_157_418).abs() < 1e-9,
        "{share:?}"
    );
}

/// None of 30 labels is of a class that the model expects often: the interval is Wilson's for 0 of 30,
/// by `scipy.stats.binomtest(0, 30).proportion_ci(method="wilson")`, widened to the estimate.
#[test]
fn a_class_without_labels_has_the_interval_of_the_labels_alone() {
    let expects = |x: f64, label| ([x, 1.0 - x], label);
    let labelled = (0..30).map(|i| expects(0.3 + 0.01 * f64::from(i % 10), Some("y")));
    let others = (0..70).map(|i| expects(0.3 + 0.01 * f64::from(i % 10), None));
    let rows: Vec<_> = labelled.chain(others).collect();
    let rows: Vec<(&[f64], Option<&str>)> =
        rows.iter().map(|(row, label)| (&row[..], *label)).collect();
    let found = shares(&rows, &["x", "y"], PrevalenceTarget::Population);
    let share = found.classes[0].corrected.unwrap();
    assert!(share.value.abs() < 1e-12 && share.low.abs() < 1e-12, "{share:?}");
    assert!((share.high - 0.113_513_393_174).abs() < 1e-9, "{share:?}");
    let other = found.classes[1].corrected.unwrap();
    assert!((other.low - (1.0 - share.high)).abs() < 1e-9, "{other:?}");
}

#[test]
fn shares_add_up_to_one_and_are_within_their_intervals() {
    let truth = Preset::Sim2.truth(0.5).unwrap();
    let model = LinearPool::default().fit(&truth.simulate(20, 1).unwrap()).unwrap();
    let outputs = truth.simulate(40, 2).unwrap();
    let found = prevalence(
        &model,
        model.fusion(),
        &outputs,
        model.class_prior(),
        PrevalenceTarget::Population,
        &NoProgress,
    )
    .unwrap();
    let sum: f64 = found.classes.iter().map(|class| class.corrected.unwrap().value).sum();
    assert!((sum - 1.0).abs() < 1e-12);
    for share in found.classes.iter().flat_map(|class| [class.by_model, class.corrected.unwrap()]) {
        assert!(0.0 <= share.low && share.low <= share.value && share.value <= share.high);
        assert!(share.high <= 1.0);
    }
    // The same in parts.
    let mut sums = ShareSums::new(3);
    for part in [0..50, 50..120] {
        let part = outputs.select_items(&part.collect::<Vec<_>>());
        sums.add(model.fusion(), &part, model.class_prior(), &NoProgress).unwrap();
    }
    let parts = sums.prevalence(&model, PrevalenceTarget::Population).unwrap();
    for (a, b) in parts.classes.iter().zip(&found.classes) {
        assert!((a.corrected.unwrap().low - b.corrected.unwrap().low).abs() < 1e-12);
    }
}

#[test]
fn odd_tables_are_served_or_refused() {
    let rows: [(&[f64], Option<&str>); 3] =
        [(&[1.0, 0.0], Some("x")), (&[1.0, 0.0], Some("x")), (&[1.0, 0.0], None)];
    let found = shares(&rows, &["x", "y"], PrevalenceTarget::Population);
    let share = found.classes[1].corrected.unwrap();
    assert!(share.value < 1e-3 && share.low == 0.0 && share.high > 0.3, "{share:?}");
    let one = shares(&rows[..1], &["x", "y"], PrevalenceTarget::Items);
    assert!(
        one.classes[0].corrected.is_none() && one.to_string().contains("trust the calibration")
    );
    let model = pool(&["x", "y"]);
    assert!(ShareSums::new(2).prevalence(&model, PrevalenceTarget::Items).is_err());
    // Two labels, one of each class, as in the fit.
    let rows: [(&[f64], Option<&str>); 2] = [(&[0.5, 0.5], Some("x")), (&[0.4, 0.6], Some("y"))];
    assert!(shares(&rows, &["x", "y"], PrevalenceTarget::Items).repeats_training());
}
