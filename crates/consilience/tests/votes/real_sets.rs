//! Ten crowds with known truth, against the figures of the prototype in the README of the data.
//!
//! The files are read from the folder in `CONSILIENCE_DATA`, or else from `../shared/data` beside the
//! workspace. Tests without their file print a message and pass.

use std::path::PathBuf;

use consilience::NoProgress;
use consilience::votes::{HeldOut, VotesBuilder, compare_votes};

use crate::{fit, method};

/// Name, accuracy and log-loss without gold labels.
const SETS: [(&str, f64, f64); 10] = [
    ("rte", 0.927, 0.247),
    ("dog", 0.836, 0.437),
    ("weather", 0.893, 0.369),
    ("music", 0.793, 0.804),
    ("sentiment_sp", 0.916, 0.253),
    ("zencrowd_us", 0.823, 0.420),
    ("product", 0.938, 0.223),
    ("sentiment", 0.959, 0.198),
    ("face", 0.652, 0.930),
    ("adult", 0.763, 0.660),
];

fn rows(name: &str) -> Option<Vec<Vec<String>>> {
    let folder = std::env::var_os("CONSILIENCE_DATA").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    let Ok(text) = std::fs::read_to_string(folder.join(format!("votes/{name}.csv"))) else {
        eprintln!("skipped: votes/{name}.csv was not found; set CONSILIENCE_DATA to its folder");
        return None;
    };
    let cells = |line: &str| line.split(',').map(ToOwned::to_owned).collect();
    Some(text.lines().skip(1).map(cells).collect())
}

#[test]
fn log_losses_without_gold_are_those_of_the_prototype() {
    for (name, accuracy, log_loss) in SETS {
        let (Some(votes), Some(truth)) = (rows(name), rows(&format!("{name}_truth"))) else {
            return;
        };
        let mut builder = VotesBuilder::new();
        votes.iter().for_each(|row| builder.push(&row[0], &row[1], &row[2]).unwrap());
        truth.iter().for_each(|row| builder.gold(&row[0], &row[1]).unwrap());
        let known = builder.finish().unwrap();
        let hidden = known.with_gold(&vec![None; known.n_items()]).unwrap();
        let truth = HeldOut::Labels(known.gold_labels());
        let scores = compare_votes(&hidden, &truth, &[method("auto")], &NoProgress).unwrap();
        let own = &scores.methods[0];
        let groups = fit("majority", &hidden).groups().to_vec();
        let [accuracy_now, loss_now] = [own.accuracy.mean, own.log_loss.mean];
        eprintln!("{name}: {accuracy_now:.4} {loss_now:.4} {:.4}, groups {groups:?}", own.ece);
        // The figures have three digits.
        assert!((own.accuracy.mean - accuracy).abs() < 0.001, "{name}: {}", own.accuracy);
        assert!((own.log_loss.mean - log_loss).abs() < 0.001, "{name}: {}", own.log_loss);
        // Dawid–Skene is worse on every set.
        assert!(own.against[1].log_loss.mean < 0.0, "{name}: {scores}");
    }
}
