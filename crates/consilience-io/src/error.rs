//! Errors of reading and writing tables: file, row, column, value and the problem.

use std::{fmt, io};

use crate::hint::Hint;

/// The result of everything in this crate that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Largest number of names in a message; a table may have thousands of columns.
const MOST_LISTED: usize = 24;

/// An error of reading or writing.
///
/// Messages are lower case and without a full stop; advice is kept apart in [`Error::hint`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or stream that cannot be read or written.
    #[error("cannot {action} {name}: {reason}")]
    Io {
        /// What was attempted: `read`, `write`, `create` and so on.
        action: &'static str,
        /// The file, or "standard input" or "standard output".
        name: String,
        /// The error of the operating system.
        reason: io::Error,
    },
    /// A stream that must be read twice and could not be copied.
    #[error("cannot make a temporary copy of {name} in {folder}: {reason}")]
    NoTemporaryCopy {
        /// The stream.
        name: String,
        /// The folder of temporary files.
        folder: String,
        /// The error of the operating system.
        reason: io::Error,
    },
    /// A path without an extension of a known format.
    #[error("the extension of {name} is not that of a known format")]
    UnknownFormat {
        /// The path.
        name: String,
    },
    /// An Arrow or Parquet file in a build without the feature `columnar`.
    #[error("{name}: this build of the program reads and writes CSV and JSON lines only")]
    FormatLeftOut {
        /// The file.
        name: String,
    },
    /// A word that is not the name of a format or layout.
    #[error("unknown {what} `{found}`; known are {known}")]
    UnknownWord {
        /// What the word should name.
        what: &'static str,
        /// The word as given.
        found: String,
        /// The known words.
        known: &'static str,
    },
    /// A table whose columns do not give the classifiers and classes.
    #[error("{name}: {problem}")]
    Header {
        /// The table.
        name: String,
        /// What is wrong, and the columns found.
        problem: String,
        /// Advice on what to do.
        hint: Option<Hint>,
    },
    /// A row of costs without its true class.
    #[error("{position}: the label is empty")]
    MissingLabel {
        /// Where the label should be.
        position: Box<Position>,
    },
    /// A cell or row that cannot be read or written.
    #[error("{position}: {problem}")]
    Cell {
        /// Where it is.
        position: Box<Position>,
        /// What is wrong, with the value.
        problem: String,
        /// Advice on what to do.
        hint: Option<Hint>,
    },
    /// Cells that were read but are not a valid output or label.
    #[error("{position}: {}{}", problem_of(.cause), values_of(.values))]
    Rejected {
        /// Where they are.
        position: Box<Position>,
        /// The cells as written in the file.
        values: Vec<String>,
        /// Why the library rejects them; its item index counts from the start of a chunk.
        cause: Box<consilience::Error>,
    },
    /// A file that is damaged or not of its format.
    #[error("{name}: {problem}")]
    Malformed {
        /// The file.
        name: String,
        /// What is wrong.
        problem: String,
        /// Advice on what to do.
        hint: Option<Hint>,
    },
    /// A column of a type that cannot be used or written.
    #[error("{name}, column `{column}`: the type {data_type} {cannot}")]
    ColumnType {
        /// The table.
        name: String,
        /// The column.
        column: String,
        /// Its type in the file.
        data_type: String,
        /// What cannot be done with it, as a verb phrase.
        cannot: &'static str,
    },
    /// A column to be added that the table already has.
    #[error("cannot write {name}: the input already has a column `{column}`")]
    ColumnExists {
        /// The table to write.
        name: String,
        /// The column.
        column: String,
    },
    /// A table without items where some are needed.
    #[error("{name}: there are no items")]
    NoItems {
        /// The table.
        name: String,
    },
    /// An error of the library that has no position in a file.
    #[error(transparent)]
    Core(#[from] consilience::Error),
}

impl Error {
    /// Advice on what to do, where there is any.
    pub fn hint(&self) -> Option<Hint> {
        match self {
            Self::UnknownFormat { .. } => Some(Hint::GiveFormat),
            Self::Header { hint, .. } | Self::Cell { hint, .. } | Self::Malformed { hint, .. } => {
                hint.clone()
            }
            Self::Rejected { cause, .. } => cause.hint().map(Hint::Core),
            Self::MissingLabel { .. } => Some("every row of costs needs its true class".into()),
            Self::ColumnType { .. } => Some(
                "convert the column to numbers or text, remove it, or write the format of the input"
                    .into(),
            ),
            Self::ColumnExists { column, .. } => Some(
                format!(
                    "remove or rename the column `{column}` of the input; the table may have \
                     been fused before"
                )
                .into(),
            ),
            Self::NoTemporaryCopy { .. } => Some(
                "give the table as a file, or set TMPDIR to a folder with enough space".into(),
            ),
            Self::Core(error) => error.hint().map(Hint::Core),
            Self::Io { .. }
            | Self::FormatLeftOut { .. }
            | Self::UnknownWord { .. }
            | Self::NoItems { .. } => None,
        }
    }

    /// Whether the program that reads the output has ended, as `head` does; not a failure.
    pub fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Io { reason, .. } if reason.kind() == io::ErrorKind::BrokenPipe)
    }

    pub(crate) fn io(action: &'static str, name: impl fmt::Display, reason: io::Error) -> Self {
        Self::Io { action, name: name.to_string(), reason }
    }

    pub(crate) fn malformed(name: &str, problem: impl Into<String>) -> Self {
        Self::Malformed { name: name.to_owned(), problem: problem.into(), hint: None }
    }

    /// A problem with the columns of a table.
    pub(crate) fn header(name: &str, problem: impl Into<String>, hint: impl Into<Hint>) -> Self {
        let hint = Some(hint.into());
        Self::Header { name: name.to_owned(), problem: problem.into(), hint }
    }
}

/// A position in a table: its row and, where it matters, its columns.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Position {
    /// The file, or "standard input".
    pub table: String,
    /// The row of data, from 1.
    pub row: u64,
    /// The line of a text file, from 1.
    pub line: Option<u64>,
    /// The columns that are wrong, if any.
    pub columns: Vec<String>,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, row {}", self.table, self.row)?;
        if let Some(line) = self.line {
            write!(f, " (line {line})")?;
        }
        match self.columns.len() {
            0 => Ok(()),
            1 => write!(f, ", column `{}`", self.columns[0]),
            _ => write!(f, ", columns {}", quoted(&self.columns)),
        }
    }
}

/// The message of the library without its item index, which the position in the file replaces.
fn problem_of(cause: &consilience::Error) -> String {
    match cause {
        consilience::Error::InvalidOutput { problem, .. } => problem.to_string(),
        consilience::Error::UnknownLabel { label, classes, .. } => {
            format!("unknown label `{label}`; the classes are {}", quoted(classes))
        }
        other => other.to_string(),
    }
}

pub(crate) fn values_of(values: &[String]) -> String {
    match values {
        [] => String::new(),
        [one] if one.is_empty() => " (the cell is empty)".into(),
        [one] => format!(" (value `{one}`)"),
        several => format!(" (values {})", quoted(several)),
    }
}

/// "`a`, `b` and `c`", for messages; long lists are cut.
pub(crate) fn quoted<S: AsRef<str>>(names: &[S]) -> String {
    let name = |name: &S| format!("`{}`", name.as_ref());
    match names {
        [] => "none".into(),
        [one] => name(one),
        _ if names.len() > MOST_LISTED => {
            let shown: Vec<_> = names[..MOST_LISTED].iter().map(name).collect();
            format!("{} and {} more", shown.join(", "), names.len() - MOST_LISTED)
        }
        [rest @ .., last] => {
            let rest: Vec<_> = rest.iter().map(name).collect();
            format!("{} and {}", rest.join(", "), name(last))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_are_cut() {
        let names: Vec<String> = (0..30).map(|i| format!("c{i}")).collect();
        assert!(quoted(&names).ends_with("`c22`, `c23` and 6 more"));
        assert_eq!(quoted(&names[..2]), "`c0` and `c1`");
        assert_eq!(quoted::<String>(&[]), "none");
    }

    #[test]
    fn a_position_names_the_table_first() {
        let mut position =
            Position { table: "data.csv".into(), row: 7, line: Some(8), columns: vec![] };
        assert_eq!(position.to_string(), "data.csv, row 7 (line 8)");
        position.columns = vec!["a_x".into()];
        assert_eq!(position.to_string(), "data.csv, row 7 (line 8), column `a_x`");
        position.line = None;
        position.columns.push("a_y".into());
        assert_eq!(position.to_string(), "data.csv, row 7, columns `a_x` and `a_y`");
    }
}
