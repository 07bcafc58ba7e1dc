//! Plain-text tables with aligned columns, and numbers with four significant digits.

/// Blanks between two columns.
const GAP: usize = 2;

/// A header and rows as lines of text. The first column and columns of words are aligned to the
/// left, other columns of numbers to the right.
pub(crate) fn aligned<H: AsRef<str>>(header: &[H], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        cells.chain([header[column].as_ref().chars().count()]).max().unwrap_or(0)
    };
    let is_number =
        |cell: &String| cell.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '+');
    let to_the_right =
        |column: usize| column > 0 && rows.iter().all(|row| row.get(column).is_none_or(is_number));
    let format: Vec<(usize, bool)> =
        (0..header.len()).map(|column| (width(column), to_the_right(column))).collect();
    let header: Vec<String> = header.iter().map(|cell| cell.as_ref().to_owned()).collect();
    std::iter::once(&header).chain(rows).map(|row| line(row, &format)).collect()
}

fn line(cells: &[String], format: &[(usize, bool)]) -> String {
    let mut text = String::new();
    for (cell, (width, to_the_right)) in cells.iter().zip(format) {
        let blanks = " ".repeat(width - cell.chars().count());
        let (before, after) =
            if *to_the_right { (blanks.as_str(), "") } else { ("", blanks.as_str()) };
        text += &format!("{before}{cell}{after}{}", " ".repeat(GAP));
    }
    text.trim_end().to_owned() + "\n"
}

/// A number with four significant digits.
pub(crate) fn significant(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let digits = (3.0 - value.abs().log10().floor()).clamp(0.0, 12.0);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // between 0 and 12
    let digits = digits as usize;
    format!("{value:.digits$}")
}

/// Longest value in a message, in characters.
const LONGEST_VALUE: usize = 40;

/// A value for a message: a long number in scientific notation, long text cut off.
pub(crate) fn shortened(value: &str) -> String {
    if value.chars().count() <= LONGEST_VALUE {
        return value.to_owned();
    }
    match value.parse::<f64>() {
        Ok(number) => format!("{number:e}"),
        Err(_) => value.chars().take(LONGEST_VALUE).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_aligned_to_the_left_and_numbers_to_the_right() {
        let row = |cells: [&str; 3]| cells.map(ToString::to_string).to_vec();
        let rows = [row(["é", "1.25", "-"]), row(["longer", "-12.5", "0.1 to 0.2"])];
        let expected = "method  score    interval\n\
                        é        1.25           -\n\
                        longer  -12.5  0.1 to 0.2\n";
        assert_eq!(aligned(&["method", "score", "interval"], &rows), expected);
        let words = [row(["a", "failed", ""]), row(["b", "0.5", ""])];
        assert_eq!(aligned(&["m", "score", "s"], &words), "m  score   s\na  failed\nb  0.5\n");
    }

    #[test]
    fn numbers_have_four_significant_digits() {
        let text: Vec<String> = [0.0, 123.456, 0.012_345_6, 12_345.6].map(significant).to_vec();
        assert_eq!(text, ["0", "123.5", "0.01235", "12346"]);
    }

    #[test]
    fn long_values_are_shortened() {
        assert_eq!(shortened("-0.25"), "-0.25");
        assert_eq!(shortened(&(-1e300f64).to_string()), "-1e300");
        assert_eq!(shortened(&f64::MIN_POSITIVE.to_string()), "2.2250738585072014e-308");
        assert_eq!(shortened(&"é".repeat(50)), "é".repeat(40) + "…");
    }
}
