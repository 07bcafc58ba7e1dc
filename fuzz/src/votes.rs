//! Votes: any bytes are read as a table of votes or refused, and every table that was read can be
//! aggregated. Any text is read as a vote model or refused.

use consilience::votes::{VoteConfig, VoteModel, Votes};
use consilience_io::{Format, Input, Layout, VoteReadOptions, read_votes_from};

/// Tables with more votes or classes are read but not aggregated.
const MOST_VOTES: usize = 1000;
const MOST_CLASSES: usize = 30;

/// Methods that are tried, the others share their passes.
const METHODS: [&str; 4] = ["auto", "ueda", "dawid-skene", "majority"];

/// The last byte chooses the options, so that a seed is an ordinary file with a byte more.
pub(crate) fn table(bytes: &[u8]) {
    let Some((choice, file)) = bytes.split_last() else { return };
    let bit = |place: u8| choice >> place & 1 == 1;
    let formats = [Format::Csv, Format::JsonLines, Format::Parquet, Format::Arrow];
    let options = VoteReadOptions {
        layout: if bit(2) { Layout::WideLabels } else { Layout::Long },
        classes: bit(3).then(|| vec!["x".into(), "y".into()]),
        ignores_gold: bit(4),
        ..VoteReadOptions::default()
    };
    let input = || Input::from_bytes("votes", formats[usize::from(choice & 3)], file.to_vec());
    // The same table may serve as the table of gold labels.
    let gold = bit(5).then(input);
    match read_votes_from(input(), gold, &options, |_, _| Ok(())) {
        Ok(votes) => check(&votes),
        Err(error) => {
            let _ = (error.to_string(), error.hint().map(|hint| hint.to_string()));
        }
    }
}

fn check(votes: &Votes) {
    let k = votes.n_classes();
    for item in 0..votes.n_items() {
        assert!(votes.gold(item).is_none_or(|label| label < k));
        assert!(votes.of_item(item).all(|(source, label)| source < votes.n_sources() && label < k));
    }
    if votes.n_votes() > MOST_VOTES || k > MOST_CLASSES {
        return;
    }
    for name in METHODS {
        let method: VoteConfig = name.parse().expect("the method exists");
        let result = method.fit(votes).expect("votes that were read can be aggregated");
        for row in result.table().chunks_exact(k) {
            let sum: f64 = row.iter().sum();
            assert!((sum - 1.0).abs() < 1e-9 && row.iter().all(|p| *p >= 0.0), "{name}: {row:?}");
        }
        assert!(result.sources().all(|source| source.accuracy.value.is_finite()));
        let text = result.model().to_json();
        let model = VoteModel::from_json(&text).expect("a model that was written can be read");
        let predicted = model.predict(votes).expect("a model labels its own votes");
        assert!(predicted.table().iter().all(|p| p.is_finite()), "{name}");
    }
}

pub(crate) fn model(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match VoteModel::from_json(text) {
        Ok(model) => {
            let again = VoteModel::from_json(&model.to_json()).expect("it was read before");
            assert_eq!(model, again);
        }
        Err(error) => drop(error.to_string()),
    }
}
