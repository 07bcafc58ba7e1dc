//! Advice as text for a person.

use std::fmt;

use super::{Advice, Dropped, ItemToLabel, LabelAdvice, SourceAdvice, SourceDecision, SourceWorth};
use crate::error::quoted;
use crate::text::{aligned, significant};

impl Advice {
    /// The advice as text, with the names of all items where there are any.
    pub fn text(&self, names: Option<&[String]>) -> String {
        let sources = match (&self.sources, &self.sources_unknown) {
            (Some(sources), _) => format!("\n{sources}"),
            (None, Some(why)) => format!("\nSources: their worth is unknown: {why}.\n"),
            (None, None) => String::new(),
        };
        self.labels.table(names) + &sources
    }
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(None))
    }
}

impl LabelAdvice {
    /// The list with the number of the row and, where there are any, the names of the items.
    pub fn table(&self, names: Option<&[String]>) -> String {
        if self.next.is_empty() {
            return self.sentence() + "\n";
        }
        let row = |(place, own): (usize, &ItemToLabel)| {
            let mut row = vec![(place + 1).to_string(), (own.item + 1).to_string()];
            row.extend(names.map(|names| names[own.item].clone()));
            let p = own.probabilities.iter().copied().fold(0.0, f64::max);
            row.extend([own.predicted.clone(), format!("{p:.3}"), significant(own.reduction)]);
            row
        };
        let rows: Vec<Vec<String>> = self.next.iter().enumerate().map(row).collect();
        let mut header = vec!["label next", "row"];
        header.extend(names.map(|_| "item"));
        header.extend(["predicted", "probability", "reduction of log-loss"]);
        aligned(&header, &rows) + &self.sentence() + "\n"
    }

    /// What the list is expected to bring.
    pub fn sentence(&self) -> String {
        let (n, unlabelled) = (self.next.len(), self.n_unlabelled);
        if unlabelled == 0 {
            return "Labels: every item has one.".into();
        }
        if n == 0 {
            return format!("Labels: {unlabelled} items have none; no list was asked for.");
        }
        let (labels, random) = match n {
            1 => ("This label is".to_owned(), "a random item".to_owned()),
            _ => (format!("These {n} labels are"), format!("{n} random items")),
        };
        format!(
            "{labels} expected to reduce the log-loss by {} nats per item, {random} by {} \
             (approximation; a ranking more than a forecast).",
            significant(self.reduction),
            significant(self.random_reduction)
        )
    }
}

impl fmt::Display for LabelAdvice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.table(None))
    }
}

impl SourceAdvice {
    /// What to do, in one or two sentences.
    pub fn sentence(&self) -> String {
        let of = |decision: SourceDecision| -> Vec<String> {
            let own = self.sources.iter().filter(|source| source.decision == decision);
            own.map(|source| source.classifier.clone()).collect()
        };
        let drop = match &self.dropped {
            Some(Dropped { classifiers, loss, saved }) => {
                let saved = saved.map_or_else(String::new, |saved| {
                    format!(" and saves {} per item", significant(saved))
                });
                let them = if classifiers.len() == 1 { "it" } else { "them" };
                format!(
                    "Drop {}: the log-loss without {them} differs by {:+.4} nats (95 % interval {:+.4} to \
                     {:+.4}){saved}.",
                    quoted(classifiers),
                    loss.mean,
                    loss.low,
                    loss.high
                )
            }
            None => format!(
                "For no source is it certain that dropping it costs at most {} nats.",
                self.tolerance
            ),
        };
        match of(SourceDecision::Undecided) {
            undecided if undecided.is_empty() => drop,
            undecided => format!(
                "{drop} Undecided with {} labelled items: {}.",
                self.n_items,
                quoted(&undecided)
            ),
        }
    }
}

impl fmt::Display for SourceAdvice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let priced = self.sources.iter().any(|source| source.price.is_some());
        let row = |source: &SourceWorth| {
            let SourceWorth { classifier, worth, price, worth_per_price, decision } = source;
            let mut row = vec![
                classifier.clone(),
                format!("{:.4}", worth.mean),
                format!("{:.4} to {:.4}", worth.low, worth.high),
            ];
            if priced {
                let number = |value: &Option<f64>| value.map_or_else(String::new, significant);
                row.extend([number(price), number(worth_per_price)]);
            }
            let decision = match decision {
                SourceDecision::Keep => "keep",
                SourceDecision::Drop => "drop",
                SourceDecision::Undecided => "undecided",
            };
            row.push(decision.into());
            row
        };
        let rows: Vec<Vec<String>> = self.sources.iter().map(row).collect();
        let mut header = vec!["source", "dropping it costs", "95 % interval"];
        if priced {
            header.extend(["price", "worth per price"]);
        }
        header.push("advice");
        writeln!(
            f,
            "{}Log-loss with all sources {} nats; {} labelled items, {} folds, refitted without each \
             source.",
            aligned(&header, &rows),
            self.log_loss,
            self.n_items,
            self.folds
        )?;
        writeln!(f, "{}", self.sentence())
    }
}
