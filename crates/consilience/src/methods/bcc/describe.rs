//! Confusion matrices as text.

use crate::data::schema::Schema;
use crate::methods::independent::Alpha;
use crate::text;

/// The probability of every decision, and the number of decisions behind it.
pub(super) fn describe(schema: &Schema, confusion: &Alpha) -> String {
    let (names, classes) = (schema.classifiers(), schema.classes());
    let mut rows = Vec::new();
    for (name, matrix) in names.iter().zip(confusion) {
        for (class, row) in classes.iter().zip(matrix) {
            let total: f64 = row.iter().sum();
            let mut cells = vec![name.clone(), class.clone()];
            cells.extend(row.iter().map(|count| format!("{:.4}", count / total)));
            cells.push(text::significant(total));
            rows.push(cells);
        }
    }
    let mut header = vec!["classifier".to_owned(), "true class".to_owned()];
    header.extend(classes.iter().map(|class| format!("says {class}")));
    header.push("decisions".to_owned());
    format!(
        "\n{}decisions: number of decisions, including the weight of the prior\n",
        text::aligned(&header, &rows)
    )
}
