//! Errors of the library as Python exceptions.

use consilience::Error;
use pyo3::PyErr;
use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};

pyo3::create_exception!(
    consilience,
    ConsilienceError,
    PyValueError,
    "Bad data, a bad setting, or a model that does not fit the data."
);

/// The exception of an error, its advice on a line of its own.
pub(crate) fn raise(error: &Error) -> PyErr {
    match error {
        Error::Interrupted => PyKeyboardInterrupt::new_err(()),
        error => match error.hint() {
            None => ConsilienceError::new_err(error.to_string()),
            Some(hint) => ConsilienceError::new_err(format!("{error}\nhint: {}", in_python(hint))),
        },
    }
}

/// Options of the command line as they are called here.
fn in_python(hint: &str) -> String {
    hint.replace(
        "`--values log-probabilities|logits|odds`",
        "`values=\"log-probabilities\"`, `\"logits\"` or `\"odds\"`",
    )
    .replace("`--classes`", "`classes`")
}

/// Settings that cannot be read.
pub(crate) fn bad_settings(error: &serde_json::Error) -> PyErr {
    let text = error.to_string();
    // The place in a text that no user has written helps nobody.
    let message = text.rsplit_once(" at line ").map_or(text.as_str(), |(message, _)| message);
    ConsilienceError::new_err(message.to_owned())
}
