//! Failures of commands, and hints worded with the options of the command line.

use consilience::{Hint, Warning};
use consilience_io::{Hint as TableHint, Layout};

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// Reading or writing.
    #[error(transparent)]
    Io(#[from] consilience_io::Error),
    /// Computing.
    #[error(transparent)]
    Core(#[from] consilience::Error),
    /// Computing with the content of a file.
    #[error("{file}: {error}")]
    InFile {
        /// The file.
        file: String,
        /// What is wrong with it.
        error: consilience::Error,
    },
    /// Anything else.
    #[error("{message}")]
    Message {
        /// What happened.
        message: String,
        /// What to do.
        hint: Option<&'static str>,
    },
}

impl Failure {
    pub(crate) fn message(message: impl Into<String>) -> Self {
        Self::Message { message: message.into(), hint: None }
    }

    pub(crate) fn in_file(file: impl ToString) -> impl FnOnce(consilience::Error) -> Self {
        move |error| Self::InFile { file: file.to_string(), error }
    }

    /// Names the file in an error, unless a setting caused it or the user stopped the program.
    pub(crate) fn in_data(file: impl ToString) -> impl FnOnce(consilience::Error) -> Self {
        use consilience::Error::{Interrupted, InvalidParameter};
        move |error| match error {
            InvalidParameter { .. } | Interrupted => Self::Core(error),
            error => Self::InFile { file: file.to_string(), error },
        }
    }

    /// A read or write that failed in the command line itself.
    pub(crate) fn io(action: &'static str, name: &str, reason: std::io::Error) -> Self {
        Self::Io(consilience_io::Error::Io { action, name: name.into(), reason })
    }

    /// Advice on what to do, with the options of the command line.
    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            Self::Io(error) => error.hint().map(|hint| table_hint(&hint)),
            Self::Core(error) | Self::InFile { error, .. } => error.hint().map(core_hint),
            Self::Message { hint, .. } => hint.map(str::to_owned),
        }
    }

    pub(crate) fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Io(error) if error.is_broken_pipe())
    }

    pub(crate) fn is_interruption(&self) -> bool {
        match self {
            Self::Core(error)
            | Self::InFile { error, .. }
            | Self::Io(consilience_io::Error::Core(error)) => {
                matches!(error, consilience::Error::Interrupted)
            }
            _ => false,
        }
    }
}

/// A hint of the library with the options of the command line.
fn core_hint(hint: Hint) -> String {
    let text = match hint {
        Hint::OtherValueKind => {
            "the probabilities of a classifier must add up to 1 within `--sum-tolerance`; for other \
             values use `--values log-probabilities`, `logits` or `odds`"
        }
        Hint::CorrectLabel => {
            "correct the label, or add it to `--classes` of the fit (the classes of a fitted \
             model cannot be changed)"
        }
        Hint::FillClass => {
            "add items with this label; to leave the class out, remove it from `--classes` and \
             renormalise the other probabilities"
        }
        Hint::LabelSomeItems => "give the true class of some items in the column `label`",
        Hint::KeepDraws => "fit the model again with `--keep-draws`",
        Hint::TreeStructure => {
            "`--structure tree` keeps the whole correlation of every pair that it connects"
        }
        Hint::NameClasses => "name every class with `--classes a,b,c`",
        other => return other.to_string(),
    };
    text.to_owned()
}

/// A hint about a table with the options of the command line.
fn table_hint(hint: &TableHint) -> String {
    match hint {
        TableHint::Core(hint) => core_hint(*hint),
        TableHint::GiveFormat => "known extensions are .csv, .parquet, .arrow and .jsonl, also \
                                  .csv.gz and .jsonl.gz for reading; for others use \
                                  `--input-format` or `--output-format`"
            .into(),
        TableHint::NameClasses => "name every class with `--classes a,b,c`".into(),
        TableHint::NameClassesOnce => "name every class once with `--classes a,b,c`".into(),
        TableHint::AddColumnOrDropClass { column, class } => {
            format!("add the column `{column}`, or leave `{class}` out of `--classes`")
        }
        TableHint::AddColumnOrNameClasses { column } => {
            format!("add the column `{column}`, or name every class with `--classes a,b,c`")
        }
        TableHint::LabelClassOrNameOthers { class, others } => format!(
            "if `{class}` is a class, add items with this label; if not, use `--classes {}`",
            others.join(",")
        ),
        TableHint::OtherLayout { needed, other: Layout::Long } => {
            format!("{needed}; for one row per probability use `--layout long`")
        }
        TableHint::OtherLayout { needed, other: Layout::Wide } => {
            format!("{needed}; for one row per item use `--layout wide`")
        }
        TableHint::OtherLayout { needed, other: Layout::WideLabels } => {
            format!("{needed}; for one column of labels per source use `--layout wide-labels`")
        }
        other => other.to_string(),
    }
}

/// A warning with its hint, in one line.
pub(crate) fn warning_text(warning: &Warning) -> String {
    match warning.hint {
        None => warning.message.clone(),
        Some(hint) => format!("{}; {}", warning.message, core_hint(hint)),
    }
}
