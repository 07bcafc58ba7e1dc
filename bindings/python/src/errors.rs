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
            "the probabilities of a classifier must add up to 1 within `sum_tolerance`; for other \
             values use `values=\"log-probabilities\"`, `\"logits\"` or `\"odds\"`"
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

/// The exception for JSON of the package that cannot be read.
pub(crate) fn bad_settings(error: &serde_json::Error) -> PyErr {
    ConsilienceError::new_err(error.to_string())
}
