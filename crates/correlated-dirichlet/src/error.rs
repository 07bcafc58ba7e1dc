//! Errors of this crate: parameters outside their range or of different lengths.

use std::fmt;

/// The result of every constructor of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A parameter that cannot be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A parameter outside its range.
    #[error("`{name}` must be {requirement}, got {value}")]
    InvalidParameter {
        /// Name of the parameter, with indices.
        name: String,
        /// The values that are allowed.
        requirement: &'static str,
        /// The value that was given.
        value: String,
    },
    /// Two parameters whose lengths differ.
    #[error("{what} do not match: expected {expected}, found {found}")]
    Mismatch {
        /// The quantity that was compared.
        what: &'static str,
        /// The value of the first parameter.
        expected: String,
        /// The value of the other parameter.
        found: String,
    },
}

impl Error {
    /// A parameter outside its range.
    pub fn parameter(
        name: impl Into<String>,
        requirement: &'static str,
        value: impl fmt::Display,
    ) -> Self {
        Self::InvalidParameter { name: name.into(), requirement, value: value.to_string() }
    }
}
