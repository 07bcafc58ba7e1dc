//! Distributions of log-ratios as text.

use super::LogDistribution;
use crate::data::schema::Schema;
use crate::text;
use consilience_numerics::simplex::softmax;

/// For every class the centre of each classifier's outputs and the spread of their logarithms,
/// then the correlations between classifiers.
pub(in crate::methods) fn describe(schema: &Schema, distributions: &[LogDistribution]) -> String {
    let (names, classes) = (schema.classifiers(), schema.classes());
    let mut rows = Vec::new();
    for (k, name) in names.iter().enumerate() {
        for (class, distribution) in classes.iter().zip(distributions) {
            let mut row = vec![name.clone(), class.clone()];
            row.extend(typical_output(distribution, k));
            row.extend(spreads(distribution, k));
            row.push(distribution.degrees.map_or("∞".into(), text::significant));
            rows.push(row);
        }
    }
    let mut header = vec!["classifier".to_owned(), "true class".to_owned()];
    header.extend(classes.iter().map(|class| format!("typical {class}")));
    header.extend(classes.iter().map(|class| format!("± ln {class}")));
    header.push("degrees".to_owned());
    format!(
        "\n{}± ln: scale of the logarithm, centred over classes; degrees: of freedom of Student's t\n{}",
        text::aligned(&header, &rows),
        describe_correlations(schema, distributions)
    )
}

/// The softmax of a classifier's location.
fn typical_output(distribution: &LogDistribution, k: usize) -> Vec<String> {
    let mut x = distribution.location[k].clone();
    softmax(&mut x);
    x.iter().map(|x| format!("{x:.3}")).collect()
}

fn spreads(distribution: &LogDistribution, k: usize) -> Vec<String> {
    let n = distribution.location[k].len();
    let entries = (k * n..(k + 1) * n).map(|i| distribution.scale[i][i]);
    entries.map(|variance| text::significant(variance.sqrt())).collect()
}

/// The correlations between two classifiers' logarithms of the same class, for every pair.
fn describe_correlations(schema: &Schema, distributions: &[LogDistribution]) -> String {
    let (names, classes) = (schema.classifiers(), schema.classes());
    let n = classes.len();
    let mut rows = Vec::new();
    for (a, first) in names.iter().enumerate() {
        for (b, second) in names.iter().enumerate().skip(a + 1) {
            for (class, LogDistribution { scale, .. }) in classes.iter().zip(distributions) {
                let correlation = |l: usize| {
                    let (i, m) = (a * n + l, b * n + l);
                    scale[i][m] / (scale[i][i] * scale[m][m]).sqrt()
                };
                let mut row = vec![format!("{first} and {second}"), class.clone()];
                row.extend((0..n).map(|l| format!("{:.4}", correlation(l))));
                rows.push(row);
            }
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    let mut header = vec!["correlation of ln output of".to_owned(), "true class".to_owned()];
    header.extend(classes.iter().cloned());
    format!("\n{}", text::aligned(&header, &rows))
}
