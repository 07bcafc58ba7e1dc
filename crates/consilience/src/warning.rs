//! What a user should know although nothing failed.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a warning is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WarningKind {
    /// The data say little, or something odd.
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
}

impl Warning {
    pub(crate) fn data(message: String) -> Self {
        Self { kind: WarningKind::Data, message }
    }

    pub(crate) fn convergence(message: String) -> Self {
        Self { kind: WarningKind::Convergence, message }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
