//! Sources that copy each other count as one, and honest sources are not taken for copies.

use consilience::votes::{Aggregation, VoteModel, Votes};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use crate::simulated::{Panel, number, simulate, skill};
use crate::{fit, votes_of};

type Rows = Vec<(usize, usize, usize)>;

/// The number in the name of the first copy.
const FIRST_COPY: usize = 1000;

/// The votes, with `copies` more sources that give the label of `source` with
/// probability `faithful` and guess otherwise.
fn with_copies(votes: &Votes, source: usize, copies: usize, faithful: f64) -> Rows {
    let mut rng = ChaCha8Rng::seed_from_u64(77);
    let mut rows = Vec::new();
    for item in 0..votes.n_items() {
        let name = number(votes.item(item));
        for (own, label) in votes.of_item(item) {
            let own = number(&votes.sources()[own]);
            rows.push((name, own, label));
            for copy in (0..copies).filter(|_| own == source) {
                let guess = rng.random_range(0..votes.n_classes());
                let label = if rng.random::<f64>() < faithful { label } else { guess };
                rows.push((name, FIRST_COPY + copy, label));
            }
        }
    }
    rows
}

fn weakest(n: usize) -> usize {
    (0..n).min_by(|a, b| skill(*a).total_cmp(&skill(*b))).unwrap()
}

/// The groups by the numbers in the names of their sources.
fn groups(result: &Aggregation) -> Vec<Vec<usize>> {
    let name = |source: &usize| number(&result.votes().sources()[*source]);
    result.groups().iter().map(|group| group.iter().map(name).collect()).collect()
}

/// Exact copies change nothing: neither labels nor accuracies, with or without gold labels.
#[test]
fn exact_copies_count_as_one_source() {
    for (classes, copies) in [(2, 1), (2, 3), (3, 3), (2, 12)] {
        let panel = Panel { items: 600, sources: 8, per_item: 8, classes, ..Panel::default() };
        let (votes, truth) = simulate(&panel, 9);
        let rows = with_copies(&votes, weakest(8), copies, 1.0);
        for n_gold in [0, 10] {
            let gold: Vec<(usize, usize)> = (0..n_gold).map(|item| (item, truth[item])).collect();
            let plain = votes_of(classes, &with_copies(&votes, 0, 0, 1.0), &gold);
            let (before, after) =
                (fit("auto", &plain), fit("auto", &votes_of(classes, &rows, &gold)));
            assert_eq!(before.groups(), [] as [Vec<usize>; 0]);
            let expected: Vec<usize> =
                [weakest(8)].into_iter().chain(FIRST_COPY..FIRST_COPY + copies).collect();
            let mut found = groups(&after);
            found.iter_mut().for_each(|group| group.sort_unstable());
            assert_eq!(found, [expected]);
            assert_eq!(after.similar_sources().len(), copies * (copies + 1) / 2);
            let off = before.table().iter().zip(after.table()).map(|(p, q)| (p - q).abs());
            assert!(off.fold(0.0, f64::max) < 1e-8);
            assert!((before.effective_votes(5) - after.effective_votes(5)).abs() < 1e-8);
            for source in before.sources() {
                let other = after.sources().find(|other| other.source == source.source).unwrap();
                assert!((source.accuracy.low - other.accuracy.low).abs() < 1e-8);
            }
        }
    }
}

#[test]
fn three_copies_of_a_weak_source_do_not_take_over() {
    let panel = Panel { items: 600, sources: 8, per_item: 8, ..Panel::default() };
    for seed in [9, 10, 11] {
        let (votes, truth) = simulate(&panel, seed);
        // Every copy guesses on a tenth of the items.
        let copied = votes_of(2, &with_copies(&votes, weakest(8), 3, 0.9), &[]);
        let accuracy = |result: &Aggregation| {
            let right = (0..600)
                .filter(|&item| result.label(item) == truth[number(result.votes().item(item))]);
            right.count() as f64 / 600.0
        };
        let (before, after) = (fit("auto", &votes), fit("auto", &copied));
        eprintln!("accuracy {:.3} without, {:.3} with copies", accuracy(&before), accuracy(&after));
        assert!(accuracy(&after) > accuracy(&before) - 0.03);
        assert_eq!(after.groups().len(), 1, "{:?}", groups(&after));
        assert_eq!(after.groups()[0].len(), 4, "{:?}", groups(&after));
    }
}

#[test]
fn groups_are_reported_and_a_model_keeps_them() {
    let panel = Panel { items: 400, sources: 8, per_item: 8, ..Panel::default() };
    let (votes, _) = simulate(&panel, 9);
    let copied = votes_of(2, &with_copies(&votes, 3, 1, 1.0), &[]);
    let result = fit("auto", &copied);
    let similar = result.similar_sources();
    assert_eq!((similar.len(), similar[0].common, similar[0].agree), (1, 400, 400));
    // Source 3 is right with probability 0.634: two such sources agree on 214 of 400 items.
    assert!((similar[0].expected - 214.0).abs() < 30.0, "{similar:?}");
    let warned = |result: &Aggregation, end: &str| {
        let start = "sources `3` and `1000` agree on 100 % of their common items";
        result.warnings().iter().any(|w| w.message.starts_with(start) && w.message.ends_with(end))
    };
    assert!(warned(&result, "the group counts as one source"), "{:?}", result.warnings());
    assert!(warned(&fit("ibcc", &copied), "or use `auto`"));
    let json = result.to_json();
    assert_eq!(json["groups"], serde_json::json!([["3", "1000"]]));
    assert!(result.to_string().contains("count as one source: `3` and `1000`"), "{result}");
    let model = VoteModel::from_json(&result.model().to_json()).unwrap();
    assert_eq!((&model, model.groups()), (result.model(), result.groups()));
    // Votes of both members on a new item count as one vote.
    let predicted = |rows: &[(usize, usize, usize)]| {
        let votes = votes_of(2, rows, &[]);
        let counted = model.counted_votes(&votes)[0];
        (model.predict(&votes).unwrap().probabilities(0)[0], counted)
    };
    let (both, one) = (
        predicted(&[(0, 3, 0), (0, FIRST_COPY, 0), (0, 1, 1)]),
        predicted(&[(0, 3, 0), (0, 1, 1)]),
    );
    assert!((both.0 - one.0).abs() < 1e-9 && (both.1, one.1) == (2, 2), "{both:?} {one:?}");
    let broken =
        |from: &str, to: &str| VoteModel::from_json(&model.to_json().replacen(from, to, 1));
    let own = format!("\"groups\": {:?}", model.groups()).replace(' ', "").replace(':', ": ");
    assert!(broken(&own, &own).is_ok() && model.to_json().contains(&own), "{own}");
    for to in ["[[3,99]]", "[[3,3]]", "[[3]]", "[[3,4],[4,5]]"] {
        assert!(broken(&own, &format!("\"groups\": {to}")).is_err(), "{to}");
    }
}

/// Honest sources are hardly ever grouped: no group in 160 panels, of which 80 have items on which
/// most sources are wrong together.
#[test]
fn honest_sources_are_not_grouped() {
    for (sources, per_item, items) in [(6, 6, 400), (30, 8, 600), (60, 60, 200), (9, 9, 2000)] {
        for (classes, deceptive) in [(2, 0.0), (4, 0.0), (2, 0.15), (5, 0.15)] {
            for seed in 0..10 {
                let panel = Panel { items, sources, per_item, classes, deceptive };
                let (votes, _) = simulate(&panel, 1000 + seed);
                let result = fit("majority", &votes);
                assert_eq!(groups(&result), [] as [Vec<usize>; 0], "{sources} {items} {classes}");
            }
        }
    }
}

/// Two experts among weak sources agree nearly always, as copies do, but their agreement with the
/// others explains it.
#[test]
fn experts_are_not_taken_for_copies() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    for seed in 0..10 {
        let accuracies = [0.99, 0.99, 0.62, 0.6, 0.65, 0.6, 0.64];
        let rows: Rows = (0..1000)
            .flat_map(|item| (0..7).map(move |source| (item, source)))
            .map(|(item, source)| {
                (item, source, usize::from(rng.random::<f64>() > accuracies[source]))
            })
            .map(|(item, source, wrong)| (item, source, (item + wrong) % 2))
            .collect();
        let result = fit("majority", &votes_of(2, &rows, &[]));
        assert_eq!(groups(&result), [] as [Vec<usize>; 0], "{seed}");
    }
}

/// Weak labellers that give one label only agree wherever they meet, without copying.
#[test]
fn labellers_of_one_label_are_not_taken_for_copies() {
    let rows: Rows = (0..400)
        .flat_map(|i| (0..4).filter(move |s| i % (s + 2) < 2).map(move |s| (i, s, s % 2)))
        .collect();
    assert_eq!(fit("majority", &votes_of(2, &rows, &[])).groups(), [] as [Vec<usize>; 0]);
}

/// Items with more votes than are compared with each other.
#[test]
fn copies_are_found_among_many_sources() {
    let panel = Panel { items: 150, sources: 300, per_item: 300, ..Panel::default() };
    let (votes, _) = simulate(&panel, 3);
    let rows = with_copies(&votes, 17, 3, 1.0);
    let mut found = groups(&fit("majority", &votes_of(2, &rows, &[])));
    found.iter_mut().for_each(|group| group.sort_unstable());
    assert_eq!(found, [[17, 1000, 1001, 1002]]);
}

/// A number that is close to standard normal.
fn normal(rng: &mut ChaCha8Rng) -> f64 {
    (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0
}

/// Sources whose logits of being right are N(1.5, 0.7²), less the difficulty |N(0, `hard`²)| of the
/// item. On `deceptive` items all are right with probability 0.3 and else choose the same class.
fn honest(panel: &Panel, hard: f64, seed: u64) -> Votes {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let logits: Vec<f64> = (0..panel.sources).map(|_| 1.5 + 0.7 * normal(&mut rng)).collect();
    let mut rows = Vec::new();
    for item in 0..panel.items {
        let difficulty = (hard * normal(&mut rng)).abs();
        let deceives = rng.random::<f64>() < panel.deceptive;
        let first = rng.random_range(0..panel.sources);
        for place in 0..panel.per_item {
            let source = (first + place) % panel.sources;
            let right =
                if deceives { 0.3 } else { 1.0 / (1.0 + (difficulty - logits[source]).exp()) };
            let lure = if deceives { 1 } else { rng.random_range(1..panel.classes) };
            let wrong = if rng.random::<f64>() < right { 0 } else { lure };
            rows.push((item, source, (item + wrong) % panel.classes));
        }
    }
    votes_of(panel.classes, &rows, &[])
}

/// Prints the tables of `experiments/votes`: how often honest sources are grouped, and copies are not.
#[test]
#[ignore = "a measurement of some minutes"]
fn rates_of_groups() {
    for (name, hard, deceptive) in
        [("independent", 0.0, 0.0), ("hard items", 2.0, 0.0), ("deceptive items", 0.0, 0.15)]
    {
        for (sources, per_item, items) in [(6, 6, 400), (9, 9, 2000), (30, 8, 600), (60, 60, 200)] {
            let mut grouped = [0, 0];
            for seed in 0..250 {
                for (classes, grouped) in [2, 4].into_iter().zip(&mut grouped) {
                    let panel = Panel { items, sources, per_item, classes, deceptive };
                    let result = fit("majority", &honest(&panel, hard, seed));
                    *grouped += usize::from(!result.groups().is_empty());
                }
            }
            eprintln!("{name},{sources},{per_item},{items},{},{}", grouped[0], grouped[1]);
        }
    }
    for items in [50, 100, 200, 600] {
        for faithful in [1.0, 0.95, 0.9, 0.85, 0.8, 0.7] {
            let mut found = [0, 0];
            for seed in 0..100 {
                let panel = Panel { items, sources: 8, per_item: 8, ..Panel::default() };
                let votes = honest(&panel, 0.0, seed);
                for (copies, found) in [1, 3].into_iter().zip(&mut found) {
                    let rows = with_copies(&votes, 0, copies, faithful);
                    let result = fit("majority", &votes_of(2, &rows, &[]));
                    *found += usize::from(result.groups().iter().any(|g| g.len() == copies + 1));
                }
            }
            eprintln!("copies,{items},{faithful},{},{}", found[0], found[1]);
        }
    }
}

/// Other orders of rows and other names of classes give the same groups, also where votes on an item
/// are compared with a part of the others only.
#[test]
fn groups_do_not_depend_on_the_order_of_sources_and_classes() {
    for (sources, items) in [(8, 300), (200, 150)] {
        let panel = Panel { items, sources, per_item: sources, classes: 3, ..Panel::default() };
        let (votes, _) = simulate(&panel, 6);
        let rows = with_copies(&votes, 1, 2, 0.95);
        let turned: Rows = rows.iter().rev().map(|&(i, s, l)| (i, s, (l + 1) % 3)).collect();
        let [one, two] = [rows, turned].map(|rows| {
            let result = fit("majority", &votes_of(3, &rows, &[]));
            let mut found = groups(&result);
            found.iter_mut().for_each(|group| group.sort_unstable());
            found
        });
        assert_eq!(one, two);
        assert_eq!(one, [[1, FIRST_COPY, FIRST_COPY + 1]]);
    }
}
