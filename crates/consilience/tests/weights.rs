//! Weights of items: a weight is a number of copies.

use std::sync::Arc;

use consilience::methods::fuse;
use consilience::methods::independent::{Independent, SufficientStatistics};
use consilience::methods::pools::{LogPool, Weights};
use consilience::methods::stacking::{ClassBalance, Stacking};
use consilience::simulation::Preset;
use consilience::{
    FitOptions, InputFormat, MethodConfig, Model, NoProgress, Outputs, OutputsBuilder, PriorChoice,
};

/// Simulated items; every fifth lacks one of its two outputs.
fn items(seed: u64) -> Outputs {
    let whole = Preset::Sim2.truth(0.5).unwrap().simulate(15, seed).unwrap();
    let mut builder =
        OutputsBuilder::new(Arc::clone(whole.schema()), InputFormat::default()).unwrap();
    for item in 0..whole.n_items() {
        let mut raw = whole.items(item..item + 1).values().to_vec();
        if item % 5 == 0 {
            raw[3 * (item / 5 % 2)..][..3].fill(f64::NAN);
        }
        builder.push_indexed(&raw, whole.label(item)).unwrap();
    }
    builder.finish()
}

/// From 0 to 3 copies of every item, different in every class.
fn copies(n: usize) -> Vec<usize> {
    (0..n).map(|item| (item + item / 15) % 4).collect()
}

fn repeated(outputs: &Outputs, times: &[usize]) -> Outputs {
    let copies = times.iter().enumerate().flat_map(|(item, &n)| std::iter::repeat_n(item, n));
    outputs.select_items(&copies.collect::<Vec<_>>())
}

fn settings(method: &str) -> MethodConfig {
    method.parse::<MethodConfig>().unwrap().at_mode()
}

/// Fits without folds: copies of an item may fall into different folds, where a weight cannot.
fn without_folds() -> Vec<MethodConfig> {
    let names =
        ["independent", "meta:1", "discounted", "stacking", "bcc", "opinion-pool", "linear-pool"];
    let names = names.map(|name| if name == "meta:1" { meta() } else { name.to_owned() });
    let mut all: Vec<MethodConfig> = names.iter().map(|name| settings(name)).collect();
    all.push(LogPool { weights: Weights::Free }.into());
    all.push(Stacking { balance: ClassBalance::Weights, ..Default::default() }.into());
    all.push(Independent { draws: 50, warmup: 10, ..Default::default() }.into());
    all
}

fn meta() -> String {
    format!("meta:{}", items(1).schema().classifiers()[0])
}

fn fit(config: &MethodConfig, outputs: &Outputs) -> Model {
    let class_prior = PriorChoice::Empirical;
    let options = FitOptions { class_prior, ..FitOptions::default() };
    Model::fit_with(config.clone(), outputs, &options).unwrap()
}

/// Asserts that both models fuse new items to the same probabilities.
fn assert_same(a: &Model, b: &Model, what: &str) {
    let new = items(9).select(a.schema()).unwrap();
    let fused = [a, b].map(|model| fuse(model.fusion(), &new, model.class_prior()).unwrap());
    for item in 0..new.n_items() {
        let [one, other] = [0, 1].map(|i| fused[i].probabilities(item).to_vec());
        for (p, q) in one.iter().zip(&other) {
            assert!((p - q).abs() < 1e-9, "{what}, item {item}: {one:?} {other:?}");
        }
    }
}

#[test]
fn a_weight_is_a_number_of_copies() {
    let outputs = items(1);
    let copies = copies(outputs.n_items());
    let weights: Vec<f64> = copies.iter().map(|&n| n as f64).collect();
    let weighted = outputs.with_weights(&weights).unwrap();
    for config in without_folds() {
        let copied = fit(&config, &repeated(&outputs, &copies));
        assert_same(&fit(&config, &weighted), &copied, &config.name());
    }
}

/// Every item is replaced by three copies with weights 0.2, 0.3 and 0.5.
#[test]
fn weights_of_copies_add_up() {
    let outputs = items(1);
    let three = repeated(&outputs, &vec![3; outputs.n_items()]);
    let parts = [0.2, 0.3, 0.5].repeat(outputs.n_items());
    let in_parts = three.with_weights(&parts).unwrap();
    for config in without_folds() {
        let whole = fit(&config, &outputs);
        assert_same(&fit(&config, &in_parts), &whole, &config.name());
    }
}

#[test]
fn a_weight_of_zero_excludes_an_item() {
    let outputs = items(1);
    let kept: Vec<usize> = (0..outputs.n_items()).filter(|item| item % 4 != 1).collect();
    let weight = |item: usize| f64::from(u8::from(item % 4 != 1));
    let weights: Vec<f64> = (0..outputs.n_items()).map(weight).collect();
    let weighted = outputs.with_weights(&weights).unwrap();
    for method in ["auto", "stacking", "independent", "correlated"] {
        let config = settings(method);
        let absent = fit(&config, &outputs.select_items(&kept));
        assert_eq!(fit(&config, &weighted).to_json(), absent.to_json(), "{method}");
    }
}

/// Twice the weights are twice the items: the prior has less influence on the fit.
#[test]
fn weights_are_not_only_proportions() {
    let outputs = items(1);
    let scaled = |factor: f64| {
        let weights = vec![factor; outputs.n_items()];
        SufficientStatistics::of(&outputs.with_weights(&weights).unwrap()).unwrap()
    };
    let (once, half) = (scaled(1.0), scaled(0.5));
    assert_eq!(half.class_weights(), [7.5; 3]);
    assert_eq!(half.class_counts(), once.class_counts());
    assert_eq!(half.mean_ln(0, 0), once.mean_ln(0, 0));
    assert_ne!(
        fit(&settings("auto"), &outputs.with_weights(&vec![2.0; outputs.n_items()]).unwrap()),
        fit(&settings("auto"), &outputs)
    );
}

#[test]
fn weighted_models_can_be_updated_and_read_from_their_file() {
    let (first, second) = (items(1), items(2));
    let weight = |item: usize| 0.3 + 0.37 * (item % 7) as f64;
    let weights: Vec<f64> = (0..first.n_items()).map(weight).collect();
    let [a, b] = [&first, &second].map(|outputs| outputs.with_weights(&weights).unwrap());
    let mut both = a.clone();
    both.append(b.clone()).unwrap();
    for method in ["independent", "opinion-pool", "bcc"] {
        let config = settings(method);
        let read = Model::from_json(&fit(&config, &a).to_json()).unwrap();
        let updated = read.update(&b, &NoProgress).unwrap();
        assert_same(&updated, &fit(&config, &both), method);
        if method == "independent" {
            assert_eq!(updated.to_json(), fit(&config, &both).to_json());
        }
    }
}

#[test]
fn methods_without_item_weights_return_an_error() {
    let outputs = items(1);
    let weighted = outputs.with_weights(&vec![0.5; outputs.n_items()]).unwrap();
    for method in ["correlated", "logit-normal", "normal-mixture"] {
        let config: MethodConfig = method.parse().unwrap();
        let error = config.fit(&weighted).unwrap_err().to_string();
        assert!(error.contains("takes no weights"), "{error}");
    }
}

#[test]
fn impossible_sums_of_weights_in_a_file_are_refused() {
    let outputs = items(1);
    let weighted = outputs.with_weights(&vec![0.5; outputs.n_items()]).unwrap();
    let text = fit(&settings("independent"), &weighted).to_json();
    let mut file: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(Model::from_json(&file.to_string()).is_ok());
    for bad in [-1.0, 0.0, 1e300] {
        file["training"]["statistics"]["weights"]["items"][0][0] = bad.into();
        assert!(Model::from_json(&file.to_string()).is_err(), "{bad} was accepted");
    }
}
