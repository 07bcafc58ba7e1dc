//! Methods for votes: values of an independent implementation, laws, recovery of known sources, and
//! tables at the edge.
#![allow(clippy::print_stderr)] // prints measurements

mod copies;
mod edges;
mod laws;
mod real_sets;
mod reference;
mod simulated;

use consilience::votes::{Aggregation, VoteConfig, Votes, VotesBuilder};

/// A table from numbers; classes are named by number.
fn votes_of(n_classes: usize, rows: &[(usize, usize, usize)], gold: &[(usize, usize)]) -> Votes {
    let classes: Vec<String> = (0..n_classes).map(|class| class.to_string()).collect();
    let mut builder = VotesBuilder::with_classes(classes).unwrap();
    for (item, source, label) in rows {
        let [item, source, label] = [item, source, label].map(ToString::to_string);
        builder.push(&item, &source, &label).unwrap();
    }
    for (item, label) in gold {
        builder.gold(&item.to_string(), &label.to_string()).unwrap();
    }
    builder.finish().unwrap()
}

/// A method by name, or JSON of its options.
fn method(text: &str) -> VoteConfig {
    if text.starts_with('{') { serde_json::from_str(text).unwrap() } else { text.parse().unwrap() }
}

fn fit(text: &str, votes: &Votes) -> Aggregation {
    method(text).fit(votes).unwrap()
}

/// All methods that need no gold labels, quick ones of `ibcc` and `ebcc`.
const METHODS: [&str; 8] = [
    "auto",
    "ibcc",
    r#"{"method": "ibcc", "inference": "vb"}"#,
    r#"{"method": "ibcc", "inference": "gibbs", "draws": 50, "warmup": 20}"#,
    r#"{"method": "ebcc", "subtypes": 2, "restarts": 2}"#,
    "ueda",
    "dawid-skene",
    "majority",
];
