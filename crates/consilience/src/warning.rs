//! Warnings: findings that a user should know about although nothing failed.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::hint::Hint;

/// What a warning is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WarningKind {
    /// The data are few or unusual.
    Data,
    /// A fit has not converged.
    Convergence,
}

/// A warning with its message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Warning {
    /// What it is about.
    pub kind: WarningKind,
    /// The message.
    pub message: String,
    /// Advice on what to do, where there is any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<Hint>,
}

impl Warning {
    pub(crate) fn data(message: String) -> Self {
        Self { kind: WarningKind::Data, message, hint: None }
    }

    pub(crate) fn convergence(message: String) -> Self {
        Self { kind: WarningKind::Convergence, message, hint: None }
    }

    pub(crate) fn with_hint(self, hint: Hint) -> Self {
        Self { hint: Some(hint), ..self }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.hint {
            None => f.write_str(&self.message),
            Some(hint) => write!(f, "{}; {hint}", self.message),
        }
    }
}
