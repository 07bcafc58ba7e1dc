//! Advice that goes with errors of reading and writing, as data that each front end words itself.

use std::borrow::Cow;
use std::fmt;

use crate::error::quoted;
use crate::location::Layout;

/// Advice on what to do about an [`Error`](crate::Error).
///
/// Advice that names no option of a program is plain [`Text`](Self::Text); front ends put the
/// names of their own options into the others. `Display` gives a wording that names no option.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Hint {
    /// Advice of the library.
    Core(consilience::Hint),
    /// Advice that is the same in every front end.
    Text(Cow<'static, str>),
    /// The format must be given, since the extension is unknown.
    GiveFormat,
    /// Every class must be named.
    NameClasses,
    /// Every class must be named exactly once.
    NameClassesOnce,
    /// The column is missing, or the class was named by mistake.
    AddColumnOrDropClass {
        /// The missing column.
        column: String,
        /// The class.
        class: String,
    },
    /// The column is missing, or the classes were not recognised.
    AddColumnOrNameClasses {
        /// The missing column.
        column: String,
    },
    /// The columns end in a class that has no labels, or in something that is not a class.
    LabelClassOrNameOthers {
        /// What the columns end in.
        class: String,
        /// The other classes.
        others: Vec<String>,
    },
    /// The table lacks columns of its layout; it may have the other layout.
    OtherLayout {
        /// The columns that the layout needs, as a sentence.
        needed: Cow<'static, str>,
        /// The other layout.
        other: Layout,
    },
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Core(hint) => hint.fmt(f),
            Self::Text(text) => f.write_str(text),
            Self::GiveFormat => f.write_str(
                "known extensions are .csv, .parquet, .arrow and .jsonl, also .csv.gz and .jsonl.gz for \
                 reading; for others give the format",
            ),
            Self::NameClasses => f.write_str("name every class"),
            Self::NameClassesOnce => f.write_str("name every class once"),
            Self::AddColumnOrDropClass { column, class } => {
                write!(f, "add the column `{column}`, or leave `{class}` out of the classes")
            }
            Self::AddColumnOrNameClasses { column } => {
                write!(f, "add the column `{column}`, or name every class")
            }
            Self::LabelClassOrNameOthers { class, others } => write!(
                f,
                "if `{class}` is a class, add items with this label; if not, name the classes: {}",
                quoted(others)
            ),
            Self::OtherLayout { needed, other: Layout::Long } => {
                write!(f, "{needed}; for one row per probability choose the long layout")
            }
            Self::OtherLayout { needed, other: Layout::Wide } => {
                write!(f, "{needed}; for one row per item choose the wide layout")
            }
            Self::OtherLayout { needed, other: Layout::WideLabels } => write!(
                f,
                "{needed}; for one column of labels per source choose the layout wide-labels"
            ),
        }
    }
}

impl From<consilience::Hint> for Hint {
    fn from(hint: consilience::Hint) -> Self {
        Self::Core(hint)
    }
}

impl From<&'static str> for Hint {
    fn from(text: &'static str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for Hint {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}
