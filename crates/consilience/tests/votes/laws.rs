//! Permuting items, sources or classes permutes the result; threads and a round trip through the
//! model file do not change it.

use consilience::votes::{Aggregation, VoteModel, Votes};

use crate::simulated::{Panel, simulate};
use crate::{METHODS, fit, votes_of};

type Rows = Vec<(usize, usize, usize)>;

fn rows(votes: &Votes) -> Rows {
    let number = |name: &str| name.parse::<usize>().unwrap();
    let of_item = |item: usize| {
        let named = move |(source, label): (usize, usize)| {
            (number(votes.item(item)), number(&votes.sources()[source]), label)
        };
        votes.of_item(item).map(named).collect::<Rows>()
    };
    (0..votes.n_items()).flat_map(of_item).collect()
}

/// Probabilities by name of the item and class, after a permutation of the classes.
fn probability(result: &Aggregation, item: usize, class: usize) -> f64 {
    let place = result.votes().items().iter().position(|name| **name == *item.to_string());
    result.probabilities(place.unwrap())[class]
}

/// `ebcc` and `gibbs` draw random numbers in the order of items, sources and classes.
fn is_random(method: &str) -> bool {
    method.contains("ebcc") || method.contains("gibbs")
}

#[test]
fn permuted_items_sources_and_classes_give_permuted_results() {
    let (votes, truth) = simulate(&Panel { classes: 3, ..Panel::default() }, 11);
    let gold: Vec<(usize, usize)> = (0..4).map(|item| (item, truth[item])).collect();
    let plain = rows(&votes);
    let turn = |class: usize| (class + 1) % 3;
    // Reversed order of the rows numbers items and sources in another order.
    let permuted: Rows =
        plain.iter().rev().map(|&(item, source, label)| (item, source, turn(label))).collect();
    let turned: Vec<(usize, usize)> = gold.iter().map(|&(i, label)| (i, turn(label))).collect();
    for (gold, turned) in [(vec![], vec![]), (gold, turned)] {
        let (a, b) = (votes_of(3, &plain, &gold), votes_of(3, &permuted, &turned));
        for method in METHODS.into_iter().filter(|method| !is_random(method)) {
            let (one, two) = (fit(method, &a), fit(method, &b));
            for item in 0..a.n_items() {
                for class in 0..3 {
                    let (p, q) =
                        (probability(&one, item, class), probability(&two, item, turn(class)));
                    assert!((p - q).abs() < 1e-9, "{method}: {p} {q}");
                }
            }
            for (class, share) in one.class_shares().iter().enumerate() {
                let other = two.class_shares()[turn(class)];
                assert!((share.value - other.value).abs() < 1e-9, "{method}");
            }
            for source in one.sources() {
                let other = two.sources().find(|other| other.source == source.source).unwrap();
                assert!((source.accuracy.low - other.accuracy.low).abs() < 1e-8, "{method}");
                assert!((source.strength - other.strength).abs() < 1e-8, "{method}");
                let (p, q) = (source.confusion[0][2], other.confusion[turn(0)][turn(2)]);
                assert!((p - q).abs() < 1e-8, "{method}");
            }
        }
    }
}

#[test]
fn results_are_the_same_at_any_number_of_threads() {
    // More items and sources than one block of work has.
    let panel = Panel { items: 5000, sources: 2500, per_item: 3, classes: 3, ..Panel::default() };
    let (votes, truth) = simulate(&panel, 5);
    let gold: Vec<(usize, usize)> = (0..20).map(|item| (item, truth[item])).collect();
    let votes = votes_of(3, &rows(&votes), &gold);
    let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    for method in METHODS {
        let [one, three] = [1, 3].map(|threads| pool(threads).install(|| fit(method, &votes)));
        assert_eq!(one.table(), three.table(), "{method}");
        assert_eq!(one.model().to_json(), three.model().to_json(), "{method}");
    }
}

#[test]
fn a_model_survives_its_file_and_labels_the_items_that_it_was_fitted_to() {
    let (votes, _) = simulate(&Panel { classes: 3, ..Panel::default() }, 3);
    for method in METHODS {
        let result = fit(method, &votes);
        let model = VoteModel::from_json(&result.model().to_json()).unwrap();
        assert_eq!(&model, result.model(), "{method}");
        assert!(VoteModel::is_file(&model.to_json()));
        let predicted = model.predict(&votes).unwrap();
        for item in 0..votes.n_items() {
            let (p, q) = (predicted.probabilities(item), result.probabilities(item));
            let off = p.iter().zip(q).map(|(p, q)| (p - q).abs()).fold(0.0, f64::max);
            // `cvb` takes an item's own votes out of the counts, which a model cannot, and `gibbs`
            // averages over draws of the sources. `vb`, `ueda` and `ebcc` stop within their
            // tolerance of a fixed point.
            let limit = if method.contains("gibbs") || method == "ibcc" { 0.35 } else { 1e-9 };
            assert!(off < limit, "{method}: {p:?} {q:?}");
        }
    }
}

#[test]
fn new_sources_and_unused_labels_have_finite_weights() {
    let (votes, _) = simulate(&Panel { classes: 4, sources: 6, ..Panel::default() }, 8);
    let new =
        votes_of(4, &[(0, 77, 1), (0, 0, 3), (1, 0, 2), (2, 78, 0), (2, 79, 0), (2, 80, 0)], &[]);
    for method in METHODS {
        let predicted = fit(method, &votes).model().predict(&new).unwrap();
        assert!(predicted.table().iter().all(|p| p.is_finite()), "{method}");
        assert_eq!(predicted.label(2), 0, "{method}: average sources are better than chance");
        assert_eq!(predicted.warnings.len(), usize::from(method != "majority"), "{method}");
    }
}
