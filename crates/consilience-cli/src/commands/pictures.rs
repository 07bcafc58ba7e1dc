//! Plots of several commands: scores of methods, outputs of pairs of classifiers, correlations.

use std::path::Path;

use consilience::evaluation::ReliabilityBin;
use consilience::evaluation::compare::Comparison;
use consilience::methods::PairInsight;
use consilience::methods::shares::{EvidenceCovariance, InsightIntervals};
use consilience::votes::{Aggregation, VoteComparison};
use consilience::{Model, Outputs};

use crate::error::Failure;
use crate::plots::{
    Bar, BarChart, COLOURS, Cloud, Curve, FileNames, HeatMap, ReliabilityDiagram, ScatterPicture,
    file_name,
};

/// Scatter plots are drawn for the pairs of at most this many classifiers: 6 plots.
const MAX_SCATTERED: usize = 4;

/// Heat maps are drawn of at most this many classifiers: a picture of 5600 × 5200 points.
const MAX_MAPPED: usize = 40;

/// Bars are drawn for at most this many methods, the best ones.
const MAX_BARS: usize = 100;

/// The kind of a row: 0 for a fused result, 1 for a meta classifier, 2 for a classifier's own outputs.
fn kind(method: &str) -> usize {
    if method.starts_with("classifier:") { 2 } else { usize::from(method.starts_with("meta:")) }
}

/// The scores of one method that are drawn.
pub(super) struct DrawnMethod<'a> {
    pub(super) name: &'a str,
    pub(super) log_loss: Bar,
    pub(super) best_single: bool,
    pub(super) reliability: &'a [ReliabilityBin],
}

/// Draws the methods of a comparison.
pub(super) fn draw_comparison(comparison: &Comparison, folder: &Path) -> Result<(), Failure> {
    let rows = comparison.methods.iter().filter(|row| row.failures.is_empty());
    let methods: Vec<DrawnMethod<'_>> = rows
        .map(|row| DrawnMethod {
            name: &row.method,
            log_loss: Bar::symmetric(row.scores.log_loss.mean, row.scores.log_loss.se),
            best_single: row.best_single,
            reliability: &row.reliability,
        })
        .collect();
    let title = format!("{} items, {}", comparison.n_items, comparison.protocol);
    draw_methods(&methods, &title, "log-loss in nats ± one standard error", folder)
}

/// Draws the log-loss of every method as bars, and the reliability diagram of the first three methods
/// and the best single classifier.
pub(super) fn draw_methods(
    methods: &[DrawnMethod<'_>],
    title: &str,
    x_label: &str,
    folder: &Path,
) -> Result<(), Failure> {
    let bar = |row: &DrawnMethod<'_>| (row.name.to_owned(), row.log_loss, kind(row.name));
    let bars: Vec<(String, Bar, usize)> = methods.iter().take(MAX_BARS).map(bar).collect();
    let kinds = [
        ("fused", COLOURS[0]),
        ("one classifier, recalibrated", COLOURS[2]),
        ("one classifier, unchanged", COLOURS[4]),
    ];
    BarChart { title, x_label, bars: &bars, kinds: &kinds }.write(folder, "log-loss")?;
    let shown = methods.iter().enumerate().filter(|(i, row)| *i < 3 || row.best_single);
    let curves: Vec<Curve<'_>> = shown
        .map(|(_, row)| {
            let mark = if row.best_single { " (best single)" } else { "" };
            Curve { name: format!("{}{mark}", row.name), bins: row.reliability }
        })
        .collect();
    ReliabilityDiagram { curves: &curves }.write(folder, "reliability")
}

/// Draws the accuracies of the sources with the most votes.
pub(super) fn draw_sources(result: &Aggregation, folder: &Path) -> Result<(), Failure> {
    let votes = result.votes();
    let mut order: Vec<usize> = (0..votes.n_sources()).collect();
    order.sort_by_key(|&source| std::cmp::Reverse(votes.votes_of(source)));
    let bar = |&source: &usize| {
        let (_, accuracy) = result.model().source(source);
        let guess = 1.0 / votes.n_classes() as f64;
        let kind = usize::from(accuracy.low <= guess && guess <= accuracy.high);
        let error = 0.5 * (accuracy.high - accuracy.low);
        (votes.sources()[source].to_string(), Bar::symmetric(accuracy.value, error), kind)
    };
    let bars: Vec<(String, Bar, usize)> = order.iter().take(MAX_BARS).map(bar).collect();
    let kinds = [
        ("better or worse than guessing", COLOURS[0]),
        ("cannot be told from guessing", COLOURS[4]),
    ];
    let title = format!("{} sources with the most votes", bars.len());
    let x_label = "accuracy with 90 % interval";
    BarChart { title: &title, x_label, bars: &bars, kinds: &kinds }.write(folder, "sources")
}

/// Draws the reliability diagrams of methods for votes.
pub(super) fn draw_reliability(scores: &VoteComparison, folder: &Path) -> Result<(), Failure> {
    let rows = scores.methods.iter().take(COLOURS.len());
    let curves: Vec<Curve<'_>> =
        rows.map(|row| Curve { name: row.method.clone(), bins: &row.reliability }).collect();
    ReliabilityDiagram { curves: &curves }.write(folder, "reliability")
}

/// Draws scatter plots of pairs of classifiers, with the correlation in the data and, if given, that of
/// a fitted model; and, if there are not too many, a heat map of the correlations of all pairs in the
/// data.
pub(super) fn draw_classifiers(
    outputs: &Outputs,
    fitted: &[PairInsight],
    folder: &Path,
) -> Result<(), Failure> {
    let names = outputs.schema().classifiers();
    let k = names.len();
    if k < 2 {
        return Ok(());
    }
    let mut file_names = FileNames::default();
    for a in 0..k.min(MAX_SCATTERED) {
        for b in a + 1..k.min(MAX_SCATTERED) {
            let fitted = fitted.iter().find(|pair| pair.between == (a, b));
            let name = format!("pair-{}-{}", file_name(&names[a]), file_name(&names[b]));
            draw_pair(outputs, (a, b), fitted, (folder, &file_names.distinct(&name)))?;
        }
    }
    if k > MAX_MAPPED {
        return Ok(());
    }
    let n_classes = outputs.schema().n_classes();
    let mean = |a: usize, b: usize| {
        let cells = (0..n_classes).flat_map(|j| (0..n_classes).map(move |l| (j, l)));
        let found: Vec<f64> = cells
            .map(|(class, component)| correlation(&points(outputs, (a, b), class, component)))
            .filter(|r| r.is_finite())
            .collect();
        if found.is_empty() { 0.0 } else { found.iter().sum::<f64>() / found.len() as f64 }
    };
    let values: Vec<Vec<f64>> =
        (0..k).map(|a| (0..k).map(|b| if a == b { 1.0 } else { mean(a, b) }).collect()).collect();
    let title = "Correlation of outputs within classes";
    HeatMap { title, names, values: &values }.write(folder, "correlation-in-data")
}

/// Draws the independent shares, influences and correlations of evidence with their intervals.
pub(super) fn draw_insight(
    model: &Model,
    covariance: &EvidenceCovariance,
    folder: &Path,
) -> Result<(), Failure> {
    let (names, intervals) = (model.schema().classifiers(), model.insight_intervals());
    let of_each = |values: &[f64], ends: Option<&Vec<[f64; 2]>>| {
        let bar = |k: usize| Bar::with_interval(values[k], ends.map(|ends| &ends[k]));
        (0..values.len()).map(|k| (names[k].clone(), bar(k))).collect::<Vec<_>>()
    };
    let shares = of_each(&covariance.divided_shares(), intervals.map(|own| &own.shares));
    let effective: f64 = covariance.effective_number();
    let title = match intervals {
        Some(InsightIntervals { effective_number: [low, high], .. }) => {
            format!("Effective number of classifiers {effective:.2} ({low:.2} to {high:.2})")
        }
        None => format!("Effective number of classifiers {effective:.2}"),
    };
    draw_bars(&title, "independent share with 90 % interval", shares, (folder, "shares"))?;
    if let Some(influences) = model.influences()? {
        let ends = intervals.and_then(|own| own.influence.as_ref());
        let label = "influence in nats with 90 % interval";
        draw_bars("Influence", label, of_each(&influences, ends), (folder, "influence"))?;
    }
    let pairs = (0..names.len()).flat_map(|b| (0..b).map(move |a| (a, b)));
    let pair = |(a, b): (usize, usize)| {
        let interval = intervals.map(|own| &own.correlation[a][b]);
        let bar = Bar::with_interval(covariance.correlation(a, b), interval);
        (format!("{}, {}", names[a], names[b]), bar)
    };
    let pairs: Vec<(String, Bar)> = pairs.map(pair).collect();
    let label = "correlation of evidence with 90 % interval";
    draw_bars("Classifiers with the same evidence", label, pairs, (folder, "evidence-correlation"))
}

/// Draws bars with intervals, the largest first.
fn draw_bars(
    title: &str,
    x_label: &str,
    mut bars: Vec<(String, Bar)>,
    (folder, name): (&Path, &str),
) -> Result<(), Failure> {
    if bars.is_empty() {
        return Ok(());
    }
    bars.sort_by(|a, b| b.1.value.total_cmp(&a.1.value));
    let bars: Vec<(String, Bar, usize)> =
        bars.into_iter().take(MAX_BARS).map(|(name, bar)| (name, bar, 0)).collect();
    let kinds = [(x_label.split(" with").next().unwrap_or(x_label), COLOURS[0])];
    BarChart { title, x_label, bars: &bars, kinds: &kinds }.write(folder, name)
}

/// Draws the correlations that a model implies, averaged over classes and components, if there are not
/// too many classifiers.
pub(super) fn draw_implied(
    names: &[String],
    pairs: &[PairInsight],
    folder: &Path,
) -> Result<(), Failure> {
    if names.len() > MAX_MAPPED {
        return Ok(());
    }
    let mut values: Vec<Vec<f64>> = (0..names.len())
        .map(|a| (0..names.len()).map(|b| f64::from(u8::from(a == b))).collect())
        .collect();
    for pair in pairs {
        let (a, b) = pair.between;
        values[a][b] = pair.mean;
        values[b][a] = pair.mean;
    }
    let title = "Correlation of outputs in the model";
    HeatMap { title, names, values: &values }.write(folder, "correlation-of-model")
}

/// Draws the probabilities that two classifiers give to the true class, with their correlations.
fn draw_pair(
    outputs: &Outputs,
    between: (usize, usize),
    fitted: Option<&PairInsight>,
    (folder, name): (&Path, &str),
) -> Result<(), Failure> {
    let schema = outputs.schema();
    let (a, b) = (&schema.classifiers()[between.0], &schema.classifiers()[between.1]);
    let cloud = |(j, class): (usize, &String)| {
        let points = points(outputs, between, j, j);
        let found = correlation(&points);
        let name = match fitted.map(|pair| pair.correlation[j][j]) {
            Some(r) => format!("{class}: r = {found:.2}, fitted {r:.2}"),
            None => format!("{class}: r = {found:.2}"),
        };
        Cloud { name, points }
    };
    let clouds: Vec<Cloud> = schema.classes().iter().enumerate().map(cloud).collect();
    let picture = ScatterPicture {
        title: "Probability of the true class by two classifiers",
        x_label: a,
        y_label: b,
        clouds: &clouds,
    };
    picture.write(folder, name)
}

/// One component of both outputs for all items of a class that have both.
fn points(
    outputs: &Outputs,
    (a, b): (usize, usize),
    class: usize,
    component: usize,
) -> Vec<(f64, f64)> {
    let items = (0..outputs.n_items()).filter(|&item| outputs.label(item) == Some(class));
    let point = |item: usize| {
        Some((outputs.output(item, a)?[component], outputs.output(item, b)?[component]))
    };
    items.filter_map(point).collect()
}

/// The sample correlation; NaN if one of both is constant.
fn correlation(points: &[(f64, f64)]) -> f64 {
    let n = points.len() as f64;
    let (sum_x, sum_y) = points.iter().fold((0.0, 0.0), |(sx, sy), (x, y)| (sx + x, sy + y));
    let (mean_x, mean_y) = (sum_x / n, sum_y / n);
    let mut moments = [0.0; 3];
    for (x, y) in points {
        let (x, y) = (x - mean_x, y - mean_y);
        moments.iter_mut().zip([x * x, y * y, x * y]).for_each(|(sum, term)| *sum += term);
    }
    moments[2] / (moments[0] * moments[1]).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn correlations_equal_those_computed_by_hand() {
        let line: Vec<(f64, f64)> = (0..5).map(|i| (f64::from(i), 3.0 - f64::from(i))).collect();
        assert!((correlation(&line) + 1.0).abs() < 1e-12);
        // Deviations (−1, −1), (0, 2), (1, −1): no covariance.
        assert!(correlation(&[(1.0, 1.0), (2.0, 4.0), (3.0, 1.0)]).abs() < 1e-12);
        assert!(correlation(&[(1.0, 1.0), (1.0, 2.0)]).is_nan());
    }
}
