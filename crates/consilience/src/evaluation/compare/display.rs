//! A comparison as a plain-text table.

use std::fmt;

use super::{ComparedMethod, Comparison, Difference};
use crate::text::aligned;

const HEADER: [&str; 10] = [
    "method",
    "log-loss",
    "± se",
    "beyond best (95 %)",
    "Brier",
    "accuracy",
    "entropy",
    "calib. error",
    "fit s",
    "fuse s",
];

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows: Vec<Vec<String>> = self.methods.iter().map(cells).collect();
        writeln!(
            f,
            "{}\n{} items, {}. {}{}\nLog-loss in nats. Seconds: the first fit, and fusing its test \
             items. *: best single classifier.",
            aligned(&HEADER, &rows),
            self.n_items,
            self.protocol,
            self.weighting.sentence(&self.classes, &self.class_prior),
            unlabelled(self.n_unlabelled),
        )
    }
}

/// What happened to items without a label, as a sentence.
fn unlabelled(n: usize) -> String {
    match n {
        0 => String::new(),
        1 => " 1 item without a label joins every fit and is not scored.".into(),
        n => format!(" {n} items without a label join every fit and are not scored."),
    }
}

fn cells(method: &ComparedMethod) -> Vec<String> {
    let mark = if method.best_single { " *" } else { "" };
    let name = format!("{}{mark}", method.method);
    if !method.failures.is_empty() {
        return vec![name, "failed".to_owned()]; // other cells would align numbers like words
    }
    let scores = &method.scores;
    let number = |value: f64| format!("{value:.4}");
    let seconds = |value: f64| if value == 0.0 { "-".to_owned() } else { format!("{value:.3}") };
    vec![
        name,
        number(scores.log_loss.mean),
        if scores.log_loss.se.is_nan() { "-".into() } else { number(scores.log_loss.se) },
        difference(method.difference),
        number(scores.brier.mean),
        number(scores.accuracy.mean),
        number(scores.entropy.mean),
        number(scores.ece.mean),
        seconds(method.fit_seconds),
        seconds(method.fuse_seconds),
    ]
}

fn difference(Difference { mean, low, high, .. }: Difference) -> String {
    match mean {
        0.0 => "-".to_owned(),
        _ if low.is_nan() => format!("{mean:.4}"),
        _ => format!("{mean:.4} ({low:.4} to {high:.4})"),
    }
}
