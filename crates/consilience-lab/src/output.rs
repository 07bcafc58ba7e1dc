//! Messages on standard error, and cells of tables.

/// Prints a message.
#[allow(clippy::print_stderr)] // the only place that prints messages
pub(crate) fn note(text: impl std::fmt::Display) {
    eprintln!("{text}");
}

/// A table in Markdown, the first column to the left and all others to the right.
pub(crate) fn markdown(header: &[&str], rows: &[Vec<String>]) -> String {
    let numbers = vec!["---:"; header.len() - 1].join(" | ");
    let mut text = format!("| {} |\n| --- | {numbers} |\n", header.join(" | "));
    for row in rows {
        text += &format!("| {} |\n", row.join(" | "));
    }
    text
}

/// A number in a CSV file; empty for NaN.
pub(crate) fn csv_number(value: f64) -> String {
    if value.is_nan() { String::new() } else { value.to_string() }
}
