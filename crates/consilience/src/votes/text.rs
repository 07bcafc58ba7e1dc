//! The report of a fit as text.

use std::fmt;

use super::aggregation::Aggregation;
use super::copies::listed;
use super::report::{GoldCheck, Rho, RhoOrigin, verdict};
use crate::text::aligned;

/// Sources in the report, those with the most votes; the table of sources has all of them.
const MOST_SOURCES: usize = 20;

impl fmt::Display for Rho {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { value, low, high, .. } = self;
        match self.origin {
            RhoOrigin::Assumed => write!(
                f,
                "correlation of sources (rho) {value:.2}, 90 % interval {low:.2} to {high:.2}: an \
                 assumption, because it cannot be learned without gold labels"
            ),
            RhoOrigin::Gold => write!(
                f,
                "correlation of sources (rho) {value:.2}, 90 % interval {low:.2} to {high:.2}, \
                 learned from gold labels"
            ),
            RhoOrigin::Given => write!(f, "correlation of sources (rho) {value}, as given"),
            RhoOrigin::None => write!(f, "sources are treated as independent"),
        }
    }
}

impl fmt::Display for GoldCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "Log-loss on {} gold items, each from a fit without its label: {}",
            self.items, self.log_loss
        )?;
        let rows = [
            ("if all votes count alike", self.against_majority),
            ("without discount", self.against_no_discount),
        ];
        for (what, difference) in rows {
            write!(f, "  {what}: {:+.4}", difference.mean)?;
            if !difference.se.is_nan() {
                write!(f, " ± {:.4} ({})", difference.se, verdict(difference))?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

/// Report for a person: summary, class shares, the sources with the most votes, checks.
impl fmt::Display for Aggregation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let votes = self.votes();
        writeln!(
            f,
            "{} votes of {} sources on {} items, {} classes, {} gold labels; method {}",
            votes.n_votes(),
            votes.n_sources(),
            votes.n_items(),
            votes.n_classes(),
            votes.n_gold(),
            self.model().config().name()
        )?;
        let effective: f64 = (0..votes.n_items()).map(|item| self.effective_votes(item)).sum();
        let n = votes.n_items() as f64;
        writeln!(
            f,
            "{:.1} votes per item, effective {:.1}; {}",
            votes.n_votes() as f64 / n,
            effective / n,
            self.rho()
        )?;
        if let Some(d) = self.sampling() {
            let ess = d.ess_bulk.min(d.ess_tail);
            writeln!(f, "Markov chains: R-hat {:.3}, effective sample size {ess:.0}", d.r_hat)?;
        }
        write!(f, "\n{}\n{}", self.shares_table(), self.sources_table())?;
        let as_one = !self.model().groups().is_empty();
        let what = if as_one { "count as one source" } else { "may be copies" };
        for group in self.groups() {
            writeln!(f, "{what}: {}", listed(votes, group))?;
        }
        if let Some(check) = self.check() {
            write!(f, "\n{check}")?;
        }
        Ok(())
    }
}

impl Aggregation {
    fn shares_table(&self) -> String {
        let rows = self.classes().iter().zip(self.class_shares()).map(|(class, share)| {
            vec![
                class.clone(),
                format!("{:.3}", share.value),
                format!("{:.3} to {:.3}", share.low, share.high),
            ]
        });
        aligned(&["class", "share", "90 % interval"], &rows.collect::<Vec<_>>())
    }

    fn sources_table(&self) -> String {
        let mut order: Vec<usize> = (0..self.votes().n_sources()).collect();
        order.sort_by_key(|&source| std::cmp::Reverse(self.votes().votes_of(source)));
        let (all, shown) = (order.len(), order.len().min(MOST_SOURCES));
        let rows = order[..shown].iter().map(|&source| {
            let report = self.source(source);
            let (bias, worst) = (report.bias, report.worst_class);
            vec![
                report.source,
                report.votes.to_string(),
                format!("{:.3}", report.accuracy.value),
                format!("{:.3} to {:.3}", report.accuracy.low, report.accuracy.high),
                format!("{:.3}", report.strength),
                format!("{} {:.2}", self.classes()[worst], report.right[worst].value),
                format!("{} {:+.2}", self.classes()[bias.label], bias.excess),
                if report.guesses { "cannot be told from guessing".into() } else { String::new() },
            ]
        });
        let rows: Vec<Vec<String>> = rows.collect();
        let header = [
            "source",
            "votes",
            "accuracy",
            "90 % interval",
            "strength",
            "worst class",
            "bias",
            "note",
        ];
        let mut text = aligned(&header, &rows);
        if all > shown {
            text += &format!("… and {} more sources\n", all - shown);
        }
        text += "strength: information of one vote about the class, in nats; worst class: with its \
                 accuracy; bias: the label given too often\n";
        match self.n_guessing() {
            0 => text,
            n => text + &format!("{n} of {all} sources cannot be told from guessing\n"),
        }
    }
}
