//! Errors of the library as Python exceptions, with hints worded for Python.

use consilience::{Error, Hint};
use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;

pyo3::create_exception!(
    consilience,
    ConsilienceError,
    PyValueError,
    "Bad data, a bad setting, or a model that does not fit the data."
);

/// The exception for an error, with its hint on a line of its own.
pub(crate) fn raise(error: &Error) -> PyErr {
    match error {
        Error::Interrupted => PyKeyboardInterrupt::new_err(()),
        error => match error.hint() {
            None => ConsilienceError::new_err(error.to_string()),
            Some(hint) => ConsilienceError::new_err(format!("{error}\nhint: {}", worded(hint))),
        },
    }
}

/// A hint with the parameters of the Python package.
fn worded(hint: Hint) -> String {
    let text = match hint {
        Hint::OtherValueKind => {
            "the probabilities of a classifier must add up to 1 within 1e-6; for other values use \
             `values=\"log-probabilities\"`, `\"logits\"` or `\"odds\"`"
        }
        Hint::CompleteOutput => {
            "give a value for every class of a classifier, or set all of them to NaN"
        }
        Hint::EmptyOutput => "if the classifier has no output, set all its classes to NaN",
        Hint::CorrectLabel => {
            "correct the label, or add it to `classes` before fitting (the classes of a fitted \
             model cannot be changed)"
        }
        Hint::FillClass => {
            "add items with this label; to leave the class out, remove it from `classes` and its \
             columns from `X`, and renormalise the other probabilities"
        }
        Hint::KeepDraws => "fit the model again with `keep_draws`",
        Hint::TreeStructure => {
            "`structure=\"tree\"` keeps the whole correlation of every pair that it connects"
        }
        other => return other.to_string(),
    };
    text.to_owned()
}

/// The wording of a warning's hint, which the model file names by a word.
#[pyfunction]
pub(crate) fn hint_text(name: &str) -> PyResult<String> {
    let hint = serde_json::from_value(name.into()).map_err(|error| bad_settings(&error))?;
    Ok(worded(hint))
}

/// The exception for settings that cannot be read.
pub(crate) fn bad_settings(error: &serde_json::Error) -> PyErr {
    ConsilienceError::new_err(plain_english(&error.to_string()))
}

/// serde's message without its jargon, and without the line of a text that no user has written.
fn plain_english(message: &str) -> String {
    let message = message.rsplit_once(" at line ").map_or(message, |(message, _)| message);
    let (found, expected) = match message.split_once(", expected ") {
        None => (message, String::new()),
        Some((found, "usize" | "u64" | "u32")) => (found, "; expected a whole number >= 0".into()),
        Some((found, "f64")) => (found, "; expected a number".into()),
        Some((found, expected)) => match expected.strip_prefix("one of ") {
            Some(known) => (found, format!("; known are {known}")),
            None => (found, format!("; expected {expected}")),
        },
    };
    let jargon = [
        ("unknown variant", "unknown value"),
        ("unknown field", "unknown setting"),
        ("missing field", "missing setting"),
        ("invalid type:", "wrong type:"),
        ("invalid value:", "wrong value:"),
    ];
    let reworded = jargon.iter().find_map(|(theirs, ours)| {
        found.strip_prefix(theirs).map(|rest| format!("{ours}{rest}{expected}"))
    });
    reworded.unwrap_or_else(|| format!("{found}{expected}"))
}
