//! What `inspect` shows of the methods that the correlated model is compared with.

use consilience::Model;
use consilience::methods::bcc::BccFusion;
use consilience::methods::logit_normal::LogDistribution;
use consilience::methods::normal_mixture::NormalMixtureFusion;
use consilience_numerics::simplex::softmax;

use super::significant;
use crate::output;

/// The probability of every decision, and what all decisions in the table are worth in items.
pub(super) fn bcc_text(model: &Model, fusion: &BccFusion) -> String {
    let (names, classes) = (model.schema().classifiers(), model.schema().classes());
    let mut rows = Vec::new();
    for (name, matrix) in names.iter().zip(fusion.confusion()) {
        for (class, row) in classes.iter().zip(matrix) {
            let total: f64 = row.iter().sum();
            let mut cells = vec![name.clone(), class.clone()];
            cells.extend(row.iter().map(|count| format!("{:.4}", count / total)));
            cells.push(significant(total));
            rows.push(cells);
        }
    }
    let mut header = vec!["classifier".to_owned(), "true class".to_owned()];
    header.extend(classes.iter().map(|class| format!("says {class}")));
    header.push("decisions".to_owned());
    format!(
        "\n{}decisions: counted, what the prior is worth included\n",
        output::table(&header, &rows)
    )
}

/// How many components there are, and what they are together.
pub(super) fn normal_mixture_text(model: &Model, fusion: &NormalMixtureFusion) -> String {
    let parameters = fusion.parameters();
    let mut rows = Vec::new();
    for (j, class) in model.schema().classes().iter().enumerate() {
        let components: usize = parameters.draws.iter().map(|draw| draw[j].len()).sum();
        rows.push(vec![class.clone(), parameters.draws.len().to_string(), components.to_string()]);
    }
    format!(
        "\n{}{}",
        output::table(&["true class", "mixtures averaged", "components in all"], &rows),
        logarithms_text(model, &fusion.overall())
    )
}

/// For every class: where each classifier's output is centred and how much its logarithms vary,
/// then the correlations between classifiers.
pub(super) fn logarithms_text(model: &Model, distributions: &[LogDistribution]) -> String {
    let (names, classes) = (model.schema().classifiers(), model.schema().classes());
    let mut rows = Vec::new();
    for (k, name) in names.iter().enumerate() {
        for (class, distribution) in classes.iter().zip(distributions) {
            let mut row = vec![name.clone(), class.clone()];
            row.extend(typical_output(distribution, k));
            row.extend(spreads(distribution, k));
            row.push(distribution.degrees.map_or("∞".into(), significant));
            rows.push(row);
        }
    }
    let mut header = vec!["classifier".to_owned(), "true class".to_owned()];
    header.extend(classes.iter().map(|class| format!("typical {class}")));
    header.extend(classes.iter().map(|class| format!("± ln {class}")));
    header.push("degrees".to_owned());
    format!(
        "\n{}± ln: scale of the logarithm, centred over classes; degrees: of freedom of Student's t\n{}",
        output::table(&header, &rows),
        correlation_text(model, distributions)
    )
}

/// softmax of a classifier's location.
fn typical_output(distribution: &LogDistribution, k: usize) -> Vec<String> {
    let mut x = distribution.location[k].clone();
    softmax(&mut x);
    x.iter().map(|x| format!("{x:.3}")).collect()
}

fn spreads(distribution: &LogDistribution, k: usize) -> Vec<String> {
    let n = distribution.location[k].len();
    let entries = (k * n..(k + 1) * n).map(|i| distribution.scale[i][i]);
    entries.map(|variance| significant(variance.sqrt())).collect()
}

/// Correlations of two classifiers' logarithms of the same class, pair by pair.
fn correlation_text(model: &Model, distributions: &[LogDistribution]) -> String {
    let (names, classes) = (model.schema().classifiers(), model.schema().classes());
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
    format!("\n{}", output::table(&header, &rows))
}
