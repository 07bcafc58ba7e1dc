//! Intervals of shares, influence, effective number and correlations of evidence.

use std::sync::Arc;

use consilience::methods::shares::EvidenceCovariance;
use consilience::simulation::Preset;
use consilience::{
    Auto, Discounted, Independent, Inference, InputFormat, MethodConfig, Model, OpinionPool,
    Outputs, OutputsBuilder, Schema,
};

/// Outputs with classifiers and classes in the given order of indices.
fn permuted(outputs: &Outputs, sources: &[usize], classes: &[usize]) -> Outputs {
    let schema = outputs.schema();
    let names = sources.iter().map(|k| schema.classifiers()[*k].clone());
    let own = Schema::new(
        names.collect::<Vec<_>>(),
        classes.iter().map(|j| schema.classes()[*j].clone()).collect::<Vec<_>>(),
    );
    let mut builder = OutputsBuilder::new(Arc::new(own.unwrap()), InputFormat::default()).unwrap();
    for (item, label) in outputs.require_labels().unwrap().into_iter().enumerate() {
        let output = |k: usize| outputs.output(item, k).unwrap();
        let row = sources.iter().flat_map(|k| classes.iter().map(move |j| output(*k)[*j]));
        builder.push(&row.collect::<Vec<f64>>(), Some(&schema.classes()[label])).unwrap();
    }
    builder.finish()
}

/// Two classifiers of SIM 2 with a third one: the first on a smaller scale.
fn with_scaled_copy(outputs: &Outputs, power: f64) -> Outputs {
    let schema = outputs.schema();
    let names: Vec<String> = schema.classifiers().iter().cloned().chain(["copy".into()]).collect();
    let all = Arc::new(Schema::new(names, schema.classes().to_vec()).unwrap());
    let mut builder = OutputsBuilder::new(all, InputFormat::default()).unwrap();
    for (item, label) in outputs.require_labels().unwrap().into_iter().enumerate() {
        let mut row: Vec<f64> =
            (0..2).flat_map(|k| outputs.output(item, k).unwrap()).copied().collect();
        let copy: Vec<f64> = row[..3].iter().map(|x| x.powf(power)).collect();
        let total: f64 = copy.iter().sum();
        row.extend(copy.iter().map(|x| x / total));
        builder.push(&row, Some(&schema.classes()[label])).unwrap();
    }
    builder.finish()
}

fn sim2(correlation: f64, items: usize) -> Outputs {
    Preset::Sim2.truth(correlation).unwrap().simulate(items, 3).unwrap()
}

#[test]
fn intervals_contain_their_estimates_and_shrink_with_the_items() {
    let width = |items: usize| {
        let model = Discounted::default().fit(&sim2(0.5, items)).unwrap();
        let found = model.insight_intervals().unwrap().clone();
        let contains = |[low, high]: [f64; 2], value: f64| {
            assert!(low <= value && value <= high, "{low} {value} {high}");
        };
        contains(found.effective_number, model.effective_number().unwrap().unwrap());
        let covariance = model.evidence_covariance().unwrap();
        contains(found.correlation[1][0], covariance.correlation(0, 1));
        for k in 0..2 {
            contains(found.shares[k], model.shares().unwrap()[k]);
            let influence = found.influence.as_ref().unwrap();
            contains(influence[k], model.influences().unwrap().unwrap()[k]);
        }
        found.effective_number[1] - found.effective_number[0]
    };
    let ratio = width(50) / width(800);
    // √(800/50) = 4; the width of the smaller sample varies by about a quarter.
    assert!((2.5..6.5).contains(&ratio), "{ratio}");
}

/// The standard error of a correlation of J − 1 = 2 independent normal components is about
/// (1 − r²)/√(2n), so that the interval of z has a half-width of 1.645/√(2n) up to the share of
/// the Dirichlets' own uncertainty, which makes it wider by at most a third here.
#[test]
fn the_interval_of_a_correlation_has_the_right_size() {
    let model = Auto::default().fit(&sim2(0.5, 1000)).unwrap();
    let [low, high] = model.insight_intervals().unwrap().correlation[0][1];
    let ratio = (high.atanh() - low.atanh()) / (2.0 * 1.645 / 6000f64.sqrt());
    assert!((0.9..1.35).contains(&ratio), "{ratio}");
}

/// Of 2 independent classifiers with 2 informative components each, r has the variance 1/(2n), and
/// the effective number is near 2/(1 + r). For 600 items: 2 ∓ 2 · 1.645/√1200.
#[test]
fn independent_classifiers_show_their_number() {
    let model = Auto::default().fit(&sim2(0.9, 200)).unwrap();
    let [low, high] = model.insight_intervals().unwrap().independent;
    let half = 2.0 * 1.645 / 1200f64.sqrt();
    assert!((2.0 - low - half).abs() < 0.25 * half, "{low}");
    assert!((high - 2.0 - half).abs() < 0.25 * half, "{high}");
    assert!(model.effective_number().unwrap().unwrap() < low);
}

/// Order and names of classifiers and classes change rounding only.
#[test]
fn intervals_do_not_depend_on_the_order_of_classifiers_and_classes() {
    let outputs = with_scaled_copy(&sim2(0.3, 60), 0.5);
    let (sources, classes) = ([2, 0, 1], [1, 2, 0]);
    let at_mode = Discounted(Independent { inference: Inference::Map, ..Independent::default() });
    let one = at_mode.fit(&outputs).unwrap();
    let other = at_mode.fit(&permuted(&outputs, &sources, &classes)).unwrap();
    let (a, b) = (one.insight_intervals().unwrap(), other.insight_intervals().unwrap());
    let near = |x: [f64; 2], y: [f64; 2]| {
        assert!((x[0] - y[0]).abs() < 1e-6 && (x[1] - y[1]).abs() < 1e-6, "{x:?} {y:?}");
    };
    near(a.effective_number, b.effective_number);
    for (place, &k) in sources.iter().enumerate() {
        near(a.shares[k], b.shares[place]);
        near(a.influence.as_ref().unwrap()[k], b.influence.as_ref().unwrap()[place]);
        for (column, &m) in sources.iter().enumerate() {
            near(a.correlation[k][m], b.correlation[place][column]);
        }
    }
}

/// A copy of a classifier with softer probabilities is named, and none of both has a share of 0.
#[test]
fn a_copy_on_another_scale_shares_with_its_original() {
    let model = Auto::default().fit(&with_scaled_copy(&sim2(0.0, 200), 0.4)).unwrap();
    let covariance = model.evidence_covariance().unwrap();
    assert!(covariance.shares(|_| true).iter().any(|share| *share < 0.01));
    assert_eq!(model.copies(), [vec![0, 2]]);
    let shares = model.shares().unwrap();
    assert!(shares[0] == shares[2] && shares[0] > 0.4 && shares[1] > 0.8, "{shares:?}");
    let intervals = &model.insight_intervals().unwrap().shares;
    assert!(intervals[0] == intervals[2] && intervals[0][0] > 0.3, "{intervals:?}");
    let text = model.to_string();
    assert!(text.contains("nearly the same evidence"), "{text}");
    assert!(text.contains("if they were independent"), "{text}");
}

/// An item of weight 2 is two items.
#[test]
fn weights_count_items() {
    let outputs = sim2(0.5, 100);
    let all: Vec<usize> = (0..300).chain(0..300).collect();
    let twice = Discounted::default().fit(&outputs.select_items(&all)).unwrap();
    let weighted = Discounted::default().fit(&outputs.with_weights(&[2.0; 300]).unwrap()).unwrap();
    let width = |model: &Model| {
        let [low, high] = model.insight_intervals().unwrap().effective_number;
        high - low
    };
    // Equal in distribution; 256 replicates of each have a relative error of 8 %.
    let ratio = width(&twice) / width(&weighted);
    assert!((0.75..1.33).contains(&ratio), "{ratio}");
    let single = Discounted::default().fit(&outputs).unwrap();
    assert!(width(&single) > 1.2 * width(&weighted));
}

#[test]
fn intervals_are_kept_in_the_model_file_and_old_files_have_none() {
    let model = Auto::default().fit(&sim2(0.5, 50)).unwrap();
    let text = model.to_json();
    assert_eq!(Model::from_json(&text).unwrap(), model);
    let mut file: serde_json::Value = serde_json::from_str(&text).unwrap();
    file["training"].as_object_mut().unwrap().remove("insight_intervals").unwrap();
    let old = Model::from_json(&file.to_string()).unwrap();
    assert!(old.insight_intervals().is_none() && old.effective_number().unwrap().is_some());
    assert!(!old.to_string().contains("if they were independent"));
    let mut file: serde_json::Value = serde_json::from_str(&text).unwrap();
    file["training"]["insight_intervals"]["shares"].as_array_mut().unwrap().pop();
    assert!(Model::from_json(&file.to_string()).is_err());
}

#[test]
fn tiny_and_odd_tables_have_intervals_or_none_but_never_fail() {
    let schema = Arc::new(Schema::new(["a", "b", "c"], ["x", "y"]).unwrap());
    for rows in [2u32, 3, 5] {
        let mut builder = OutputsBuilder::new(Arc::clone(&schema), InputFormat::default()).unwrap();
        for i in 0..rows {
            let p = 0.1 + 0.13 * f64::from(i);
            // The second classifier is constant, the third one is missing from every second item.
            let third = if i % 2 == 0 && rows > 3 { [f64::NAN; 2] } else { [1.0 - p, p] };
            let row = [&[p, 1.0 - p][..], &[0.5, 0.5], &third].concat();
            builder.push(&row, Some(["x", "y"][(i as usize / 2) % 2])).unwrap();
        }
        let outputs = builder.finish();
        for config in [MethodConfig::from(Discounted::default()), Auto::default().into()] {
            if let Ok(model) = Model::fit(config, &outputs) {
                Model::from_json(&model.to_json()).unwrap();
                assert!(!model.to_string().contains("NaN"), "{model}");
            }
        }
    }
    let pool = Model::fit(OpinionPool {}, &sim2(0.5, 5)).unwrap();
    assert!(pool.insight_intervals().is_none() && pool.shares().is_none());
    assert!(EvidenceCovariance::try_from(vec![vec![1.0]]).unwrap().copies().is_empty());
}
