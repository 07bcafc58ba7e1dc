//! The contribution of every classifier, as text.

use super::Model;
use crate::error::{Result, quoted};
use crate::methods::shares::{COPIES, EvidenceCovariance, InsightIntervals};
use crate::text;

/// Most classifiers for which a matrix of correlations is printed.
const WIDEST_MATRIX: usize = 12;

/// Influence and share of every classifier, the largest first, copies, correlations of evidence and
/// the effective number of classifiers.
pub(super) fn describe_sources(model: &Model) -> Result<String> {
    let Some(effective) = model.effective_number()? else { return Ok(String::new()) };
    let names = model.schema().classifiers();
    let intervals = model.insight_intervals();
    let matrix = model.evidence_covariance().map_or_else(String::new, |covariance| {
        correlation_text(names, covariance, model.insight_intervals())
    });
    let mut text = matrix + &contributions(model)?;
    for group in model.copies() {
        let group: Vec<String> = group.into_iter().map(|k| names[k].clone()).collect();
        text += &format!(
            "{} have nearly the same evidence (correlations of {COPIES} or more) and divide their \
             share equally\n",
            quoted(&group)
        );
    }
    text += &format!("effective number of classifiers  {effective:.2}");
    if let Some(InsightIntervals { effective_number: [low, high], .. }) = intervals {
        text += &format!(" ({low:.2}–{high:.2})");
    }
    text += &format!(" of {}\n", names.len());
    if let Some(InsightIntervals { independent: [low, high], .. }) = intervals {
        text += &format!("if they were independent          {low:.2}–{high:.2} on as many items\n");
        text += "in brackets: 90 % intervals\n";
    }
    Ok(text)
}

/// A table of the influences and shares that the model has.
fn contributions(model: &Model) -> Result<String> {
    let (names, intervals) = (model.schema().classifiers(), model.insight_intervals());
    let (shares, influences) = (model.shares(), model.influences()?);
    let mut order: Vec<usize> = (0..names.len()).collect();
    let Some(rank) = influences.as_ref().or(shares.as_ref()) else { return Ok(String::new()) };
    order.sort_by(|a, b| rank[*b].total_cmp(&rank[*a]));
    let of_influence = intervals.and_then(|own| own.influence.as_ref());
    let columns = [
        ("influence", &influences, of_influence),
        ("independent share", &shares, intervals.map(|own| &own.shares)),
    ];
    let columns: Vec<_> = columns
        .into_iter()
        .filter_map(|(name, values, ends)| Some((name, values.as_ref()?, ends)))
        .collect();
    let cell = |k: usize, values: &[f64], ends: Option<&Vec<[f64; 2]>>| match ends {
        Some(ends) => format!("{:.3} ({:.3}–{:.3})", values[k], ends[k][0], ends[k][1]),
        None => format!("{:.3}", values[k]),
    };
    let row = |k: &usize| {
        let cells = columns.iter().map(|(_, values, ends)| cell(*k, values, *ends));
        std::iter::once(names[*k].clone()).chain(cells).collect::<Vec<_>>()
    };
    let rows: Vec<Vec<String>> = order.iter().map(row).collect();
    let header: Vec<&str> =
        std::iter::once("classifier").chain(columns.iter().map(|(name, ..)| *name)).collect();
    let mut text = format!("\n{}", text::aligned(&header, &rows));
    if influences.is_some() {
        text += "influence: strength times independent share, in nats\n";
    }
    Ok(text)
}

/// The correlations of evidence above the diagonal, their intervals below.
fn correlation_text(
    names: &[String],
    covariance: &EvidenceCovariance,
    intervals: Option<&InsightIntervals>,
) -> String {
    if !(2..=WIDEST_MATRIX).contains(&names.len()) {
        return String::new();
    }
    let cell = |k: usize, m: usize| match (k.cmp(&m), intervals) {
        (std::cmp::Ordering::Equal, _) => "1".to_owned(),
        (std::cmp::Ordering::Greater, Some(intervals)) => {
            let [low, high] = intervals.correlation[k][m];
            format!("{low:.3}–{high:.3}")
        }
        (std::cmp::Ordering::Greater, None) => String::new(),
        _ => format!("{:.3}", covariance.correlation(k, m)),
    };
    let row = |(k, name): (usize, &String)| {
        std::iter::once(name.clone()).chain((0..names.len()).map(|m| cell(k, m))).collect()
    };
    let rows: Vec<Vec<String>> = names.iter().enumerate().map(row).collect();
    let header: Vec<&str> = std::iter::once("correlation of evidence")
        .chain(names.iter().map(String::as_str))
        .collect();
    let note = if intervals.is_some() { "below the diagonal: 90 % intervals\n" } else { "" };
    format!("\n{}{note}", text::aligned(&header, &rows))
}
