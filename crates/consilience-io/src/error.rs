//! What can go wrong with a table, with file, row, column, value and what to do about it.

use std::borrow::Cow;
use std::{fmt, io};

/// The result of everything in this crate that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Names listed in a message at most; a table may have thousands of columns.
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
        /// What was tried: `read`, `write`, `create` and the like.
        action: &'static str,
        /// The file, or "standard input" or "standard output".
        name: String,
        /// What the system said.
        reason: io::Error,
    },
    /// A path whose extension tells no format.
    #[error("cannot tell the format of {name} by its extension")]
    UnknownFormat {
        /// The path.
        name: String,
    },
    /// A word that names no format or layout.
    #[error("unknown {what} `{found}`; known are {known}")]
    UnknownWord {
        /// What was looked for.
        what: &'static str,
        /// The word as given.
        found: String,
        /// The known words.
        known: &'static str,
    },
    /// A table whose columns do not make classifiers and classes.
    #[error("{name}: {problem}")]
    Header {
        /// The table.
        name: String,
        /// What is wrong, with what was found.
        problem: String,
        /// What to do about it.
        hint: Option<String>,
    },
    /// An item without a label where labels are needed.
    #[error("{place}: the label is empty")]
    MissingLabel {
        /// Where the label should stand.
        place: Box<Place>,
    },
    /// A cell or row that cannot be read.
    #[error("{place}: {problem}")]
    Cell {
        /// Where it stands.
        place: Box<Place>,
        /// What is wrong, with the value.
        problem: String,
        /// What to do about it.
        hint: Option<&'static str>,
    },
    /// Cells that were read but make no output or label.
    #[error("{place}: {}{}", problem_of(.cause), values_of(.values))]
    Refused {
        /// Where they stand.
        place: Box<Place>,
        /// The cells as they stand in the file.
        values: Vec<String>,
        /// Why the library refuses them; its item index counts within a chunk.
        cause: Box<consilience::Error>,
    },
    /// A file that is not what its format says, or cut off.
    #[error("{name}: {problem}")]
    Malformed {
        /// The file.
        name: String,
        /// What is wrong with it.
        problem: String,
        /// What to do about it.
        hint: Option<&'static str>,
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
    /// An added column that the table has already.
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
    /// An error of the library that belongs to no place in a file.
    #[error(transparent)]
    Core(#[from] consilience::Error),
}

impl Error {
    /// Advice on what to do, where there is any.
    pub fn hint(&self) -> Option<Cow<'_, str>> {
        Some(match self {
            Self::UnknownFormat { .. } => Cow::Borrowed(
                "known extensions are .csv, .parquet, .arrow and .jsonl; for others name the \
                 format with `--input-format` or `--output-format`",
            ),
            Self::Header { hint, .. } => Cow::Borrowed(hint.as_deref()?),
            Self::Cell { hint, .. } | Self::Malformed { hint, .. } => Cow::Borrowed((*hint)?),
            Self::Refused { cause, .. } => Cow::Borrowed(match **cause {
                consilience::Error::UnknownLabel { .. } => UNKNOWN_LABEL,
                _ => cause.hint()?,
            }),
            Self::MissingLabel { .. } => Cow::Borrowed(NEED_LABELS),
            Self::ColumnType { .. } => Cow::Borrowed(
                "convert the column to numbers or text, leave it out, or keep the file's format",
            ),
            Self::ColumnExists { column, .. } => Cow::Owned(format!(
                "leave `{column}` out of the input or rename it; the file may have been fused \
                 already"
            )),
            Self::Core(error) => Cow::Borrowed(error.hint()?),
            Self::Io { .. } | Self::UnknownWord { .. } | Self::NoItems { .. } => return None,
        })
    }

    /// Whether the reader of our output has gone away, as `head` does: no failure of ours.
    pub fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Io { reason, .. } if reason.kind() == io::ErrorKind::BrokenPipe)
    }

    pub(crate) fn io(action: &'static str, name: impl fmt::Display, reason: io::Error) -> Self {
        Self::Io { action, name: name.to_string(), reason }
    }

    pub(crate) fn malformed(name: &str, problem: impl Into<String>) -> Self {
        Self::Malformed { name: name.to_owned(), problem: problem.into(), hint: None }
    }

    /// Names the table in a finding about its columns.
    pub(crate) fn header(name: &str, problem: impl Into<String>, hint: impl Into<String>) -> Self {
        let hint = Some(hint.into());
        Self::Header { name: name.to_owned(), problem: problem.into(), hint }
    }
}

pub(crate) const NEED_LABELS: &str = "fitting and scoring need the true class of every item";

const UNKNOWN_LABEL: &str =
    "correct the label; a model keeps its classes, and a fit learns those of `--classes`";

/// A place in a table.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Place {
    /// The file, or "standard input".
    pub table: String,
    /// The row of data, from 1.
    pub row: u64,
    /// The line of a text file, from 1.
    pub line: Option<u64>,
    /// The columns to blame, if any.
    pub columns: Vec<String>,
}

impl fmt::Display for Place {
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

/// The library's reason without its item index, which means nothing to a reader of the file.
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
    fn a_place_reads_from_the_outside_in() {
        let mut place = Place { table: "data.csv".into(), row: 7, line: Some(8), columns: vec![] };
        assert_eq!(place.to_string(), "data.csv, row 7 (line 8)");
        place.columns = vec!["a_x".into()];
        assert_eq!(place.to_string(), "data.csv, row 7 (line 8), column `a_x`");
        place.line = None;
        place.columns.push("a_y".into());
        assert_eq!(place.to_string(), "data.csv, row 7, columns `a_x` and `a_y`");
    }
}
