//! Tables at the edge: a clear error, or a finite answer with a warning.

use std::sync::atomic::{AtomicUsize, Ordering};

use consilience::votes::{
    HeldOut, RhoOrigin, VoteConfig, VoteModel, Votes, VotesBuilder, compare_votes,
};
use consilience::{Error, NoProgress, Progress};

use crate::simulated::{Panel, simulate};
use crate::{METHODS, fit, method, votes_of};

/// All methods give finite probabilities and reports.
fn assert_sane(votes: &Votes) {
    for method in METHODS {
        let result = fit(method, votes);
        for item in 0..votes.n_items() {
            let row = result.probabilities(item);
            let sum: f64 = row.iter().sum();
            assert!((sum - 1.0).abs() < 1e-9 && row.iter().all(|p| *p >= 0.0), "{method}: {row:?}");
            assert!(result.effective_votes(item).is_finite());
        }
        for source in result.sources().take(20) {
            let a = source.accuracy;
            assert!(
                0.0 <= a.low && a.low <= a.value && a.value <= a.high && a.high <= 1.0,
                "{method}: {a:?}"
            );
            let rows = source.confusion.iter().map(|row| row.iter().sum::<f64>());
            assert!(rows.into_iter().all(|sum| (sum - 1.0).abs() < 1e-9), "{method}: {source:?}");
            assert!(source.strength.is_finite());
        }
        assert!(
            result.class_shares().iter().all(|s| 0.0 <= s.low && s.low <= s.high && s.high <= 1.0)
        );
        assert!(!result.to_string().contains("NaN"), "{method}: {result}");
        VoteModel::from_json(&result.model().to_json()).unwrap();
    }
}

#[test]
fn tiny_tables_give_finite_answers() {
    // One item, one source, one vote; two votes in all; one source; a source that always disagrees.
    assert_sane(&votes_of(2, &[(0, 0, 1)], &[]));
    assert_sane(&votes_of(3, &[(0, 0, 1), (1, 1, 2)], &[]));
    assert_sane(&votes_of(2, &[(0, 0, 1), (1, 0, 0), (2, 0, 1)], &[(0, 0)]));
    let contrary: Vec<_> = (0..40)
        .flat_map(|i| [(i, 0, i % 2), (i, 1, i % 2), (i, 2, i % 2), (i, 3, 1 - i % 2)])
        .collect();
    let votes = votes_of(2, &contrary, &[]);
    assert_sane(&votes);
    let result = fit("auto", &votes);
    assert!(result.source(3).accuracy.high < 0.5 && !result.source(3).guesses);
    assert_eq!(result.label(0), 0);
}

#[test]
fn votes_of_one_label_are_answered_with_a_warning() {
    let votes = votes_of(2, &(0..30).map(|i| (i / 3, i % 3, 0)).collect::<Vec<_>>(), &[]);
    assert_sane(&votes);
    let result = fit("auto", &votes);
    assert!(
        result.warnings().iter().any(|w| w.message.starts_with("all votes have the same label"))
    );
    let mut builder = VotesBuilder::new();
    builder.push("i", "s", "yes").unwrap();
    let error = builder.finish().unwrap_err();
    assert_eq!(error, Error::OneClass { class: "yes".into() });
    assert!(error.hint().is_some());
}

#[test]
fn sources_of_one_label_count_alike() {
    // Weak labellers: source s votes for class s % 2 only.
    let rows: Vec<_> = (0..200)
        .flat_map(|i| (0..4).filter(move |s| i % (s + 2) == 0).map(move |s| (i, s, s % 2)))
        .collect();
    let votes = votes_of(2, &rows, &[]);
    let result = fit("auto", &votes);
    assert_eq!(result.passes(), 0);
    assert!(
        result.warnings().iter().any(|w| w.message.contains("nearly always give the same label"))
    );
    assert_sane(&votes);
}

#[test]
fn a_million_sources_with_one_vote_each_are_no_problem() {
    let n = 1_000_000;
    let mut builder = VotesBuilder::with_classes(["0", "1"]).unwrap();
    for source in 0..n {
        let item = source / 5;
        let label = if source % 5 == 4 { 1 - item % 2 } else { item % 2 };
        builder.push(&item.to_string(), &format!("s{source}"), &label.to_string()).unwrap();
    }
    let result = fit("auto", &builder.finish().unwrap());
    assert_eq!((result.label(0), result.label(1)), (0, 1));
    assert!(result.source(n - 1).accuracy.low < 0.6);
}

#[test]
fn bad_tables_are_refused_with_the_item_and_the_reason() {
    assert_eq!(VotesBuilder::new().finish().unwrap_err(), Error::NoVotes);
    let mut builder = VotesBuilder::with_classes(["a", "b"]).unwrap();
    let error = builder.push("q7", "ann", "c").unwrap_err().to_string();
    assert_eq!(error, "item `q7`: unknown label `c`; the classes are `a` and `b`");
    assert!(builder.push("", "ann", "a").is_err() && builder.push("q", "", "a").is_err());
    assert!(builder.push_with_probability("q", "s", "a", Some(1.5)).is_err());
    assert!(builder.push_with_probability("q", "s", "a", Some(f64::NAN)).is_err());
    assert!(builder.push_distribution("q", "s", &[0.5, 0.6]).is_err());
    assert!(builder.push_distribution("q", "s", &[1.0]).is_err());
    builder.push("q", "s", "a").unwrap();
    builder.gold("elsewhere", "a").unwrap();
    let error = builder.clone().finish().unwrap_err();
    assert_eq!(error, Error::UnknownGold { item: "elsewhere".into(), n: 1 });
    builder.gold("q", "b").unwrap();
    let votes = builder.finish().unwrap();
    assert!(votes.warnings()[0].message.contains("`elsewhere`"), "{:?}", votes.warnings());
    assert_eq!((votes.gold(0), votes.n_gold()), (Some(1), 1));
    assert!(VotesBuilder::with_classes(["a", "a"]).is_err());
    assert!(votes.with_gold(&[Some(2)]).is_err() && votes.with_gold(&[]).is_err());
}

#[test]
fn the_last_of_repeated_votes_counts_and_items_without_votes_get_the_class_shares() {
    let mut builder = VotesBuilder::new();
    for (item, source, label) in
        [("b", "s", "1"), ("a", "s", "2"), ("b", "t", "1"), ("b", "s", "2")]
    {
        builder.push(item, source, label).unwrap();
    }
    builder.add_item("empty").unwrap();
    let votes = builder.finish().unwrap();
    assert_eq!(votes.n_votes(), 3);
    assert_eq!(votes.of_item(0).collect::<Vec<_>>(), [(0, 1), (1, 0)]);
    assert_eq!(votes.warnings().len(), 2);
    assert!(votes.warnings()[0].message.starts_with("1 vote was repeated"));
    let result = fit("majority", &votes);
    assert!((result.probabilities(2)[0] - 1.0 / 3.0).abs() < 1e-12);
    assert_sane(&votes);
}

#[test]
fn numbers_are_ordered_as_numbers_and_words_as_words() {
    let classes = |labels: &[&str]| {
        let mut builder = VotesBuilder::new();
        labels.iter().for_each(|label| builder.push(label, "s", label).unwrap());
        builder.finish().unwrap().classes().to_vec()
    };
    assert_eq!(classes(&["10", "9", "-1"]), ["-1", "9", "10"]);
    assert_eq!(classes(&["10", "9", "x"]), ["10", "9", "x"]);
}

#[test]
fn settings_out_of_range_are_refused() {
    let votes = votes_of(2, &[(0, 0, 1), (1, 0, 0)], &[]);
    for (options, name) in [
        (r#"{"method": "auto", "rho": -0.1}"#, "rho"),
        (r#"{"method": "auto", "folds": 1}"#, "folds"),
        (r#"{"method": "ebcc", "subtypes": 0}"#, "subtypes"),
        (r#"{"method": "ebcc", "restarts": 0}"#, "restarts"),
        (r#"{"method": "ibcc", "inference": "gibbs", "chains": 0}"#, "chains"),
        (r#"{"method": "ibcc", "inference": "gibbs", "draws": 1}"#, "draws"),
        ("dbcc", "at least 10 gold labels"),
    ] {
        let error = method(options).fit(&votes).unwrap_err().to_string();
        assert!(error.contains(name), "{error}");
    }
    assert!(
        serde_json::from_str::<consilience::votes::VoteConfig>(r#"{"method": "auto", "x": 1}"#)
            .is_err()
    );
    let error = "psychic".parse::<consilience::votes::VoteConfig>().unwrap_err().to_string();
    assert!(error.contains("`dawid-skene`"), "{error}");
}

#[test]
fn broken_model_files_are_refused() {
    let votes = votes_of(3, &[(0, 0, 1), (1, 0, 0), (0, 1, 1)], &[]);
    let text = fit("auto", &votes).model().to_json();
    for (from, to) in [
        ("consilience-votes", "consilience"),
        ("\"version\": 1", "\"version\": 2"),
        ("\"name\":\"1\"", "\"name\":\"0\""),
        ("\"labels\":[0,1]", "\"labels\":[1,0]"),
        ("\"labels\":[0,1]", "\"labels\":[0,3]"),
        ("\"ln_prior\":[", "\"ln_prior\":[0,"),
        ("\"share\":1.0", "\"share\":-1.0"),
        ("\"share\":1.0", "\"share\":0.5"),
        ("\"rho\":[0.05", "\"rho\":[-0.05"),
        ("\"weights\":[", "\"weights\":[1,"),
        ("\"classes\": [\"0\"", "\"classes\": [\"1\""),
        ("\"parts\": [", "\"parts\": [7,"),
        ("\"sources\"", "\"extra\": 1, \"sources\""),
    ] {
        let broken = text.replacen(from, to, 1);
        assert_ne!(broken, text, "{from}");
        assert!(VoteModel::from_json(&broken).is_err(), "{from}");
    }
    let model = VoteModel::from_json(&text).unwrap();
    let other = votes_of(2, &[(0, 0, 1)], &[]);
    assert!(matches!(model.predict(&other), Err(Error::Mismatch { .. })));
}

/// Stops after some checks.
struct StopAfter(AtomicUsize);

impl Progress for StopAfter {
    fn is_interrupted(&self) -> bool {
        self.0.fetch_sub(1, Ordering::SeqCst) <= 1
    }
}

#[test]
fn every_fit_can_be_cancelled() {
    let (votes, _) = simulate(&Panel::default(), 1);
    for text in METHODS.iter().filter(|text| **text != "majority") {
        let stopped = method(text).fit_with(&votes, &StopAfter(AtomicUsize::new(3)));
        assert_eq!(stopped.unwrap_err(), Error::Interrupted, "{text}");
    }
}

#[test]
fn scores_are_of_items_whose_label_was_hidden() {
    let (votes, truth) = simulate(&Panel { items: 200, ..Panel::default() }, 2);
    let labels: Vec<Option<usize>> =
        votes.items().iter().map(|n| Some(truth[n.parse::<usize>().unwrap()])).collect();
    let all =
        compare_votes(&votes, &HeldOut::Labels(labels.clone()), &[method("auto")], &NoProgress)
            .unwrap();
    assert_eq!((all.items, all.methods.len()), (200, 3));
    let own = fit("auto", &votes);
    let losses =
        labels.iter().enumerate().map(|(i, t)| -own.probabilities(i)[t.unwrap()].max(1e-6).ln());
    let expected = losses.sum::<f64>() / 200.0;
    assert!((all.methods[0].log_loss.mean - expected).abs() < 1e-4);
    let gap = all.methods[0].log_loss.mean - all.methods[1].log_loss.mean;
    assert!((all.methods[0].against[0].log_loss.mean - gap).abs() < 1e-12);
    let known = votes.with_gold(&labels).unwrap();
    let folds = HeldOut::Folds { folds: 4, seed: 0 };
    let folds =
        compare_votes(&known, &folds, &[method("auto"), method("dbcc")], &NoProgress).unwrap();
    assert_eq!((folds.items, folds.methods.len()), (200, 4));
    // Labels that were used would be scored as certain.
    assert!(folds.methods[0].log_loss.mean > 0.05, "{folds}");
    assert!(
        compare_votes(&votes, &HeldOut::Folds { folds: 4, seed: 0 }, &[], &NoProgress).is_err()
    );
    assert!(compare_votes(&known, &HeldOut::Labels(labels), &[], &NoProgress).is_err());
}

#[test]
fn the_origin_of_rho_is_reported() {
    let (votes, truth) = simulate(&Panel::default(), 2);
    let origin = |result: &consilience::votes::Aggregation| result.rho().origin;
    let assumed = fit("auto", &votes);
    assert_eq!(origin(&assumed), RhoOrigin::Assumed);
    assert!(assumed.to_string().contains("an assumption"), "{assumed}");
    assert!(assumed.rho().low < 0.2 && assumed.rho().high > 1.0, "{:?}", assumed.rho());
    let given = fit(r#"{"method": "auto", "rho": 0.0}"#, &votes);
    assert_eq!((origin(&given), given.rho().high), (RhoOrigin::Given, 0.0));
    assert_eq!(given.effective_votes(0), votes.votes_on(0) as f64);
    assert_eq!(origin(&fit("ibcc", &votes)), RhoOrigin::None);
    let gold: Vec<Option<usize>> =
        votes.items().iter().map(|n| Some(truth[n.parse::<usize>().unwrap()])).collect();
    let learned = fit("auto", &votes.with_gold(&gold).unwrap());
    assert_eq!(origin(&learned), RhoOrigin::Gold);
    // The sources are independent, and the gold labels show it.
    assert!(learned.rho().value < 0.2 && learned.rho().high < 1.0, "{:?}", learned.rho());
    assert!(learned.check().unwrap().against_majority.mean > 0.0);
}

#[test]
fn a_model_is_scored_on_gold_labels_that_it_does_not_use() {
    let (votes, truth) = simulate(&Panel { items: 200, ..Panel::default() }, 4);
    let labels: Vec<Option<usize>> =
        votes.items().iter().map(|n| Some(truth[n.parse::<usize>().unwrap()])).collect();
    let known = votes.with_gold(&labels).unwrap();
    let model = fit("auto", &votes).model().clone();
    let scores = model.evaluate(&known, &NoProgress).unwrap();
    let compared =
        compare_votes(&votes, &HeldOut::Labels(labels.clone()), &[method("auto")], &NoProgress)
            .unwrap();
    // The items are those of the fit, so predicting them gives the probabilities of the fit.
    for (own, other) in scores.methods.iter().zip(&compared.methods) {
        assert_eq!((&own.method, own.accuracy), (&other.method, other.accuracy));
        assert!((own.log_loss.mean - other.log_loss.mean).abs() < 1e-12);
    }
    assert!(model.evaluate(&votes, &NoProgress).is_err());
    let majority = fit("majority", &votes).model().evaluate(&known, &NoProgress).unwrap();
    assert_eq!(majority.methods.len(), 2);
}

#[test]
fn options_are_those_of_the_method() {
    let auto = VoteConfig::default();
    let changed = auto.with_option("rho", 0.2.into()).unwrap();
    assert_eq!(changed, method(r#"{"method": "auto", "rho": 0.2}"#));
    let error = method("ibcc").with_option("rho", 0.2.into()).unwrap_err().to_string();
    assert!(error.contains("method `ibcc` has no option `rho`; it has `inference`"), "{error}");
    let error = method("ibcc").with_option("inference", "exact".into()).unwrap_err().to_string();
    assert!(error.contains("`inference` must be cvb, vb or gibbs, got exact"), "{error}");
    assert!(auto.with_option("method", "ibcc".into()).is_err());
    // Every option that a method writes is listed.
    for (name, _) in VoteConfig::METHODS {
        let json = serde_json::to_value(method(name)).unwrap();
        for option in json.as_object().unwrap().keys().filter(|key| *key != "method") {
            assert!(VoteConfig::OPTIONS.iter().any(|(known, _)| known == option), "{option}");
        }
    }
}

#[test]
fn the_file_keeps_what_an_estimator_adds() {
    let (votes, _) = simulate(&Panel::default(), 1);
    let model = fit("auto", &votes).model().clone();
    assert!(!model.to_json().contains("estimator"));
    let kept = serde_json::json!({"class": "VoteFusion"}).as_object().cloned();
    let text = model.clone().with_estimator(kept.clone()).to_json();
    let read = VoteModel::from_json(&text).unwrap();
    assert_eq!(read.estimator(), kept.as_ref());
    assert_eq!(read.with_estimator(None).to_json(), model.to_json());
}

#[test]
fn labels_are_set_by_name() {
    let (votes, _) = simulate(&Panel::default(), 1);
    let mut labels = vec![None; votes.n_items()];
    let (first, class) = (votes.item(0).to_owned(), votes.classes()[1].clone());
    votes.set_label(&mut labels, &first, &format!("{class}.0")).unwrap();
    votes.set_label(&mut labels, "nowhere", &class).unwrap();
    assert_eq!(labels.iter().flatten().collect::<Vec<_>>(), [&1]);
    assert!(votes.set_label(&mut labels, &first, "other").is_err());
}
