//! Votes with known truth: recovery of sources, coverage of intervals, agreement of Gibbs sampling
//! with collapsed variational Bayes.

use consilience::votes::{Votes, VotesBuilder};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use crate::{fit, votes_of};

/// Sources of different quality that see some of the items.
pub(crate) struct Panel {
    pub(crate) items: usize,
    pub(crate) sources: usize,
    pub(crate) per_item: usize,
    pub(crate) classes: usize,
    /// Share of items on which all sources agree on the same wrong class more often than not.
    pub(crate) deceptive: f64,
}

impl Default for Panel {
    fn default() -> Self {
        Self { items: 80, sources: 12, per_item: 6, classes: 2, deceptive: 0.0 }
    }
}

/// Accuracy of a source, from 0.55 to 0.95.
pub(crate) fn skill(source: usize) -> f64 {
    0.55 + 0.4 * ((source * 37 + 11) % 101) as f64 / 100.0
}

/// Votes and the true class of every item, by the number in its name.
pub(crate) fn simulate(panel: &Panel, seed: u64) -> (Votes, Vec<usize>) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let k = panel.classes;
    let truth: Vec<usize> = (0..panel.items).map(|_| rng.random_range(0..k)).collect();
    let mut rows = Vec::new();
    for (item, &class) in truth.iter().enumerate() {
        let deceives = rng.random::<f64>() < panel.deceptive;
        for place in 0..panel.per_item.min(panel.sources) {
            // Different sources for every item, the same ones where all see all.
            let source = (item * 7 + place * (1 + item % 3)) % panel.sources;
            let source = if panel.per_item >= panel.sources { place } else { source };
            let right = rng.random::<f64>() < if deceives { 0.3 } else { skill(source) };
            let wrong = (class + 1 + if deceives { 0 } else { rng.random_range(0..k - 1) }) % k;
            let label = if right { class } else { wrong };
            rows.push((item, source, label));
        }
    }
    (votes_of(k, &rows, &[]), truth)
}

pub(crate) fn number(name: &str) -> usize {
    name.parse().unwrap()
}

#[test]
fn confusion_matrices_of_independent_sources_are_recovered() {
    let panel = Panel { items: 3000, sources: 20, per_item: 20, classes: 3, ..Panel::default() };
    let (votes, _) = simulate(&panel, 21);
    for method in [r#"{"method": "auto", "rho": 0.0}"#, "ibcc", "dawid-skene", "ueda"] {
        let result = fit(method, &votes);
        for source in result.sources() {
            let expected = skill(number(&source.source));
            // 1000 votes per class: four standard errors of a share are at most 0.063.
            for (j, row) in source.confusion.iter().enumerate() {
                assert!((row[j] - expected).abs() < 0.063, "{method}: {} {}", row[j], expected);
                let other = 0.5 * (1.0 - expected);
                assert!((row[(j + 1) % 3] - other).abs() < 0.063, "{method}: {row:?}");
            }
        }
    }
}

/// 90 % intervals of the accuracy of independent sources cover at least 80 % with ρ = 0. (The
/// intervals of `auto` with its distribution of ρ are wider.) 30 sources × 10 panels; the standard
/// error of the coverage is about 0.02.
#[test]
fn intervals_of_accuracies_cover_the_truth() {
    let panel = Panel { items: 300, sources: 30, per_item: 8, ..Panel::default() };
    let (mut covered, mut all) = (0u32, 0u32);
    for seed in 0..10 {
        let (votes, _) = simulate(&panel, 100 + seed);
        let result = fit(r#"{"method": "auto", "rho": 0.0}"#, &votes);
        for source in result.sources() {
            let truth = skill(number(&source.source));
            covered += u32::from(source.accuracy.low <= truth && truth <= source.accuracy.high);
            all += 1;
        }
    }
    let coverage = f64::from(covered) / f64::from(all);
    assert!((0.83..=0.98).contains(&coverage), "{coverage}");
}

#[test]
fn gibbs_and_collapsed_variational_bayes_agree() {
    let (votes, _) = simulate(
        &Panel { items: 300, sources: 15, per_item: 7, classes: 3, ..Panel::default() },
        4,
    );
    let cvb = fit("ibcc", &votes);
    let gibbs = fit(r#"{"method": "ibcc", "inference": "gibbs", "draws": 400}"#, &votes);
    let diagnostics = gibbs.sampling().unwrap();
    assert!(diagnostics.r_hat < 1.05 && diagnostics.ess_bulk > 100.0, "{diagnostics:?}");
    let off: Vec<f64> = cvb.table().iter().zip(gibbs.table()).map(|(p, q)| (p - q).abs()).collect();
    let mean = off.iter().sum::<f64>() / off.len() as f64;
    let largest = off.iter().copied().fold(0.0, f64::max);
    // The Monte Carlo error of a probability is at most 0.5/√100; CVB0 is an approximation.
    assert!(mean < 0.01 && largest < 0.1, "mean {mean}, largest {largest}");
    for (a, b) in cvb.class_shares().iter().zip(gibbs.class_shares()) {
        assert!((a.value - b.value).abs() < 0.01, "{a:?} {b:?}");
    }
}

/// With errors that sources share, the discount halves the overconfidence at least.
#[test]
fn deceptive_items_make_independence_overconfident_and_the_discount_helps() {
    let panel =
        Panel { items: 1000, sources: 20, per_item: 10, deceptive: 0.15, ..Panel::default() };
    let (votes, truth) = simulate(&panel, 31);
    let loss = |method: &str| {
        let result = fit(method, &votes);
        let of = |item: usize| {
            -result.probabilities(item)[truth[number(votes.item(item))]].max(1e-6).ln()
        };
        (0..votes.n_items()).map(of).sum::<f64>() / votes.n_items() as f64
    };
    let (auto, independent) = (loss("auto"), loss(r#"{"method": "auto", "rho": 0.0}"#));
    assert!(auto < 0.7 * independent, "{auto} {independent}");
}

/// Sources whose probability is the chance that they are right: the grades use it, and a model
/// applies them to new votes.
#[test]
fn probabilities_of_votes_sharpen_the_result() {
    let mut rng = ChaCha8Rng::seed_from_u64(12);
    let mut graded = VotesBuilder::with_classes(["0", "1"]).unwrap();
    let mut bare = graded.clone();
    let mut truth = Vec::new();
    for item in 0..600 {
        let class = usize::from(rng.random::<bool>());
        truth.push(class);
        for source in 0..4 {
            let p = 0.5 + 0.5 * rng.random::<f64>();
            let label = if rng.random::<f64>() < p { class } else { 1 - class };
            let [item, source, label] = [item, source, label].map(|n: usize| n.to_string());
            // The last source gives no probabilities.
            let given = (source != "3").then_some(p);
            graded.push_with_probability(&item, &source, &label, given).unwrap();
            bare.push(&item, &source, &label).unwrap();
        }
    }
    let (graded, bare) = (graded.finish().unwrap(), bare.finish().unwrap());
    let loss = |votes: &Votes| {
        let result = fit("auto", votes);
        (0..600).map(|i| -result.probabilities(i)[truth[i]].ln()).sum::<f64>() / 600.0
    };
    let (with, without) = (loss(&graded), loss(&bare));
    assert!(with < without - 0.03, "{with} {without}");
    let result = fit("auto", &graded);
    let model = consilience::votes::VoteModel::from_json(&result.model().to_json()).unwrap();
    let predicted = model.predict(&graded).unwrap();
    let off = predicted.table().iter().zip(result.table()).map(|(p, q)| (p - q).abs());
    assert!(off.fold(0.0, f64::max) < 1e-9);
    assert_eq!(fit("ibcc", &graded).table(), fit("ibcc", &bare).table());
}

/// The shares of the parts of a model, from its file.
fn shares(result: &consilience::votes::Aggregation) -> Vec<f64> {
    let file: serde_json::Value = serde_json::from_str(&result.model().to_json()).unwrap();
    file["parts"].as_array().unwrap().iter().map(|part| part["share"].as_f64().unwrap()).collect()
}

/// Mean log-loss of the items from `first` on.
fn loss_from(first: usize, result: &consilience::votes::Aggregation, truth: &[usize]) -> f64 {
    let items = (0..truth.len()).filter(|&i| number(result.votes().item(i)) >= first);
    let losses =
        items.map(|i| -result.probabilities(i)[truth[number(result.votes().item(i))]].ln());
    losses.sum::<f64>() / (truth.len() - first) as f64
}

/// 60 gold labels of nine independent sources with five classes are too few for the regression, and
/// its held-out probabilities show it: labels must not hurt.
#[test]
fn a_regression_that_predicts_badly_out_of_fold_gets_little_weight() {
    let panel = Panel { items: 1000, sources: 9, per_item: 9, classes: 5, ..Panel::default() };
    for seed in [50, 51, 52] {
        let (votes, truth) = simulate(&panel, seed);
        let gold: Vec<Option<usize>> = (0..1000)
            .map(|i| number(votes.item(i)))
            .map(|item| (item < 60).then(|| truth[item]))
            .collect();
        let known = votes.with_gold(&gold).unwrap();
        let (with, without) = (fit("auto", &known), fit("auto", &votes));
        assert!(shares(&with)[1] < 0.1, "{:?}", shares(&with));
        let [with, without, alone] =
            [&with, &without, &fit("dbcc", &known)].map(|result| loss_from(60, result, &truth));
        eprintln!("log-loss {with:.3}, without gold {without:.3}, regression alone {alone:.3}");
        assert!(with < without && alone > with + 0.05, "{with} {without} {alone}");
    }
}

/// With many gold labels and sources that see all items, the regression on one-hot votes joins:
/// here two sources are right only where they disagree.
#[test]
fn dense_votes_with_many_gold_labels_use_what_sources_say_together() {
    let panel = Panel { items: 400, sources: 6, per_item: 6, ..Panel::default() };
    let (votes, truth) = simulate(&panel, 40);
    let half: Vec<Option<usize>> =
        (0..400).map(|i| (i % 2 == 0).then(|| truth[number(votes.item(i))])).collect();
    let gold = votes.with_gold(&half).unwrap();
    let result = fit("auto", &gold);
    let parts = shares(&result);
    assert!(parts.len() == 2 && (parts[0] + parts[1] - 1.0).abs() < 1e-12, "{parts:?}");
    let few: Vec<Option<usize>> = half.iter().take(90).copied().chain(vec![None; 310]).collect();
    let single = fit("auto", &votes.with_gold(&few).unwrap());
    assert_eq!(shares(&single), [1.0]);
    let dbcc = fit("dbcc", &gold);
    let loss = |result: &consilience::votes::Aggregation| {
        let items = (0..400).filter(|i| i % 2 == 1);
        items.map(|i| -result.probabilities(i)[truth[number(votes.item(i))]].ln()).sum::<f64>()
            / 200.0
    };
    let (both, alone, majority) = (loss(&result), loss(&dbcc), loss(&fit("dawid-skene", &gold)));
    assert!(
        both < alone + 0.03 && alone < 0.45 && both < majority + 0.03,
        "{both} {alone} {majority}"
    );
}
