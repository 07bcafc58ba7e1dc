//! Failures as the user sees them.

use std::borrow::Cow;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// Reading or writing.
    #[error(transparent)]
    Io(#[from] consilience_io::Error),
    /// Computing.
    #[error(transparent)]
    Core(#[from] consilience::Error),
    /// Computing on what a file said.
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

    /// What is wrong with the data, unless it is rather a setting, or a request to stop.
    pub(crate) fn in_data(file: impl ToString) -> impl FnOnce(consilience::Error) -> Self {
        use consilience::Error::{Interrupted, InvalidParameter};
        move |error| match error {
            InvalidParameter { .. } | Interrupted => Self::Core(error),
            error => Self::InFile { file: file.to_string(), error },
        }
    }

    /// A failed read or write of the command line's own.
    pub(crate) fn io(action: &'static str, name: &str, reason: std::io::Error) -> Self {
        Self::Io(consilience_io::Error::Io { action, name: name.into(), reason })
    }

    /// What to do about it.
    pub(crate) fn hint(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Io(error) => error.hint(),
            Self::Core(error) | Self::InFile { error, .. } => error.hint().map(Cow::Borrowed),
            Self::Message { hint, .. } => hint.map(Cow::Borrowed),
        }
    }

    pub(crate) fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Io(error) if error.is_broken_pipe())
    }

    pub(crate) fn exit_code(&self) -> u8 {
        if self.is_interruption() { 130 } else { 1 }
    }

    fn is_interruption(&self) -> bool {
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
