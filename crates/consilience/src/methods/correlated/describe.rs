//! Shared shapes, the correlations that they imply, and the tree of pairs as text.

use super::learning::{DeltaReport, ObservedPair};
use super::tree::{TreeFusion, TreeKind, TreePair};
use super::{CorrelatedParameters, PairInsight};
use crate::methods::{FitDetails, PairPosterior};
use crate::text;

/// Matrices of more classifiers than this are too wide for a terminal.
const WIDEST_MATRIX: usize = 12;

/// The shapes that classifiers share, with 90 % intervals where their posterior was sampled.
pub(super) fn describe_joint(
    details: &FitDetails<'_>,
    parameters: &CorrelatedParameters,
) -> String {
    let names = parameters.schema().classifiers();
    let who = |a: usize, b: usize| format!("{} and {}", names[a], names[b]);
    // Of two classifiers the common part is all that is shared.
    let learned = |a: usize, b: usize| posterior_of(details, a, b);
    let two = names.len() == 2;
    let mut rows = Vec::new();
    for (j, class) in parameters.classes().iter().enumerate() {
        let intervals = |part: usize| match details.shared_posterior {
            Some(report) => Some(&report.interval[part]),
            None if two => learned(0, 1).map(|report| &report.delta_interval),
            None => None,
        };
        rows.push(shared_row(details, "all".into(), j, class.common(), intervals(0)));
        for (i, pair) in class.pairs().iter().enumerate() {
            let own = intervals(i + 1);
            rows.push(shared_row(details, who(pair.first, pair.second), j, &pair.delta, own));
        }
    }
    let text = shared_table(details, "shared by", &rows);
    if two || details.pair_posteriors.is_empty() {
        return text;
    }
    let mut rows = Vec::new();
    for (a, b) in (0..names.len()).flat_map(|b| (0..b).map(move |a| (a, b))) {
        for (j, class) in parameters.classes().iter().enumerate() {
            let intervals = learned(a, b).map(|report| &report.delta_interval);
            rows.push(shared_row(details, who(a, b), j, &class.shared_by(a, b), intervals));
        }
    }
    text + &shared_table(details, "shared in total by", &rows)
}

fn posterior_of<'a>(details: &FitDetails<'a>, a: usize, b: usize) -> Option<&'a DeltaReport> {
    let names = details.schema.classifiers();
    let own = |p: &&PairPosterior| p.between[0] == names[a] && p.between[1] == names[b];
    details.pair_posteriors.iter().find(own).map(|p| &p.delta)
}

fn shared_row(
    details: &FitDetails<'_>,
    who: String,
    class: usize,
    delta: &[f64],
    intervals: Option<&Vec<Vec<[f64; 2]>>>,
) -> Vec<String> {
    let mut row = vec![who, details.schema.classes()[class].clone()];
    let cell = |(l, d): (usize, &f64)| match intervals.map(|rows| rows[class][l]) {
        Some([low, high]) => {
            format!(
                "{} ({}–{})",
                text::significant(*d),
                text::significant(low),
                text::significant(high)
            )
        }
        None => text::significant(*d),
    };
    row.extend(delta.iter().enumerate().map(cell));
    row
}

fn shared_table(details: &FitDetails<'_>, what: &str, rows: &[Vec<String>]) -> String {
    let mut header = vec![what.to_owned(), "true class".to_owned()];
    header.extend(details.schema.classes().iter().map(|class| format!("δ {class}")));
    let learned = rows.iter().flatten().any(|cell| cell.contains('–'));
    let note = if learned { "in brackets: 90 % intervals\n" } else { "" };
    format!("\n{}{note}", text::aligned(&header, rows))
}

/// The tree that joins the classifiers, and what is shared along it.
pub(super) fn describe_tree(details: &FitDetails<'_>, fusion: &TreeFusion) -> String {
    let names = details.schema.classifiers();
    let who = |pair: &TreePair| format!("{} and {}", names[pair.between.0], names[pair.between.1]);
    let gains: Vec<Vec<String>> =
        fusion.tree().map(|pair| vec![who(pair), format!("{:.3}", pair.gain)]).collect();
    let what = match fusion.kind() {
        TreeKind::Tree => "joined by the tree",
        TreeKind::TreeMixture => "joined by all trees, best",
    };
    let mut rows = Vec::new();
    for pair in fusion.tree() {
        let posterior = posterior_of(details, pair.between.0, pair.between.1);
        let intervals = posterior.map(|report| &report.delta_interval);
        for (j, delta) in pair.delta.iter().enumerate() {
            rows.push(shared_row(details, who(pair), j, delta, intervals));
        }
    }
    format!(
        "\n{}gain: mean of ln (density of both / product of margins) on training items, in nats, \
         summed over classes\n{}",
        text::aligned(&[what, "gain"], &gains),
        shared_table(details, "shared by", &rows)
    )
}

/// The correlations that the shared shapes imply, beside those that were observed.
pub(super) fn correlations(details: &FitDetails<'_>, pairs: &[PairInsight]) -> String {
    let (names, classes) = (details.schema.classifiers(), details.schema.classes());
    let mut header = vec!["correlation of".to_owned(), "true class".to_owned()];
    header.extend(classes.iter().cloned());
    let mut rows = Vec::new();
    for pair in pairs {
        let (a, b) = pair.between;
        let seen = observed(details, a, b);
        for (j, (class, row)) in classes.iter().zip(&pair.correlation).enumerate() {
            let mut cells = vec![format!("{} and {}", names[a], names[b]), class.clone()];
            cells.extend(row.iter().enumerate().map(|(l, r)| match seen {
                Some(seen) => format!("{r:.4} ({})", observed_text(seen, j, l)),
                None => format!("{r:.4}"),
            }));
            rows.push(cells);
        }
    }
    let known = details.observed_correlations.is_some_and(|pairs| !pairs.is_empty());
    let note = if known { "in brackets: observed on training items, 90 % interval\n" } else { "" };
    format!("\n{}{note}{}", text::aligned(&header, &rows), matrix_text(details, pairs))
}

/// An observed correlation with its interval, where the model file has it.
fn observed_text(seen: &ObservedPair, class: usize, component: usize) -> String {
    let r = seen.correlation[class][component];
    match seen.interval.get(class).map(|row| row[component]) {
        Some([low, high]) => format!("{r:.4}, {low:.2}–{high:.2}"),
        None => format!("{r:.4}"),
    }
}

fn observed<'a>(details: &FitDetails<'a>, a: usize, b: usize) -> Option<&'a ObservedPair> {
    let names = details.schema.classifiers();
    let own = |pair: &&ObservedPair| pair.between[0] == names[a] && pair.between[1] == names[b];
    details.observed_correlations?.iter().find(own)
}

/// Mean correlations of all pairs of more than two: implied ones above the diagonal, observed below.
fn matrix_text(details: &FitDetails<'_>, pairs: &[PairInsight]) -> String {
    let names = details.schema.classifiers();
    let n = names.len();
    if !(3..=WIDEST_MATRIX).contains(&n) {
        return String::new();
    }
    let mut cells = vec![vec![String::new(); n]; n];
    (0..n).for_each(|k| cells[k][k] = "1".into());
    for pair in pairs {
        let (a, b) = (pair.between.0.min(pair.between.1), pair.between.0.max(pair.between.1));
        cells[a][b] = format!("{:.3}", pair.mean);
        if let Some(seen) = observed(details, a, b) {
            cells[b][a] = format!("{:.3}", seen.mean());
        }
    }
    let mut header = vec!["mean correlation".to_owned()];
    header.extend(names.iter().cloned());
    let row = |(name, cells): (&String, Vec<String>)| {
        std::iter::once(name.clone()).chain(cells).collect::<Vec<_>>()
    };
    let rows: Vec<Vec<String>> = names.iter().zip(cells).map(row).collect();
    let below = if details.observed_correlations.is_some() { "; below: observed" } else { "" };
    format!("\n{}above the diagonal: implied{below}\n", text::aligned(&header, &rows))
}
