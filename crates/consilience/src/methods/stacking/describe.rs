//! The parameters of a logistic regression as text.

use super::LogisticParameters;
use crate::data::schema::Schema;
use crate::text;

/// The weights of the logarithms: one row per classifier and class of its output, one column per
/// class that the weight is for.
pub(in crate::methods) fn describe_logistic(
    schema: &Schema,
    logistic: &LogisticParameters,
) -> String {
    let (names, classes) = (schema.classifiers(), schema.classes());
    let mut header = vec!["weight of ln output".to_owned(), "for".to_owned()];
    header.extend(classes.iter().map(|class| format!("→ {class}")));
    let mut rows = Vec::new();
    for (k, name) in names.iter().enumerate() {
        for (j, class) in classes.iter().enumerate() {
            let mut row = vec![name.clone(), class.clone()];
            row.extend(logistic.weights.iter().map(|rows| format!("{:.4}", rows[k][j])));
            rows.push(row);
        }
    }
    let mut bias = vec!["bias".to_owned(), String::new()];
    bias.extend(logistic.bias.iter().map(|bias| format!("{bias:.4}")));
    rows.push(bias);
    format!("\n{}", text::aligned(&header, &rows))
}
