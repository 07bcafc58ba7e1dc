//! The extension module `consilience._core`: arrays in, arrays out.
//!
//! Everything that a user meets is in the Python package around it; here is only what has to cross
//! the border. Settings and reports cross it as JSON, in the form of the model file.

mod advice;
mod arrow;
mod data;
mod distributions;
mod errors;
mod evaluation;
mod model;
mod progress;
mod report;
mod simulation;
mod statistics;
mod votes;

use std::ffi::CString;

use consilience_numerics::parallel;
use pyo3::exceptions::PyRuntimeWarning;
use pyo3::prelude::*;

/// What the package `consilience` is built on; private.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    limit_threads(module.py())?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("ConsilienceError", module.py().get_type::<errors::ConsilienceError>())?;
    module.add_function(wrap_pyfunction!(errors::hint_text, module)?)?;
    module.add_class::<model::Model>()?;
    module.add_class::<statistics::Statistics>()?;
    module.add_class::<arrow::Table>()?;
    module.add_class::<votes::Votes>()?;
    module.add_class::<votes::Aggregation>()?;
    module.add_class::<votes::VoteModel>()?;
    module.add_class::<distributions::CorrelatedDirichlet>()?;
    module.add_class::<distributions::Dirichlet>()?;
    module.add_function(wrap_pyfunction!(model::method_options, module)?)?;
    module.add_function(wrap_pyfunction!(model::needs_labels, module)?)?;
    module.add_function(wrap_pyfunction!(advice::advise, module)?)?;
    module.add_function(wrap_pyfunction!(evaluation::score, module)?)?;
    module.add_function(wrap_pyfunction!(evaluation::compare, module)?)?;
    module.add_function(wrap_pyfunction!(evaluation::compare_splits, module)?)?;
    module.add_function(wrap_pyfunction!(report::report, module)?)?;
    module.add_function(wrap_pyfunction!(report::report_of_votes, module)?)?;
    module.add_function(wrap_pyfunction!(simulation::simulate_preset, module)?)?;
    module.add_function(wrap_pyfunction!(simulation::delta_for_correlation, module)?)?;
    Ok(())
}

/// Starts fewer threads than `RAYON_NUM_THREADS` asks for, if these are more than the machine can
/// run. Else threads start when they are needed, so that a process can be forked before.
fn limit_threads(py: Python<'_>) -> PyResult<()> {
    let Some(wanted) = parallel::asked_for() else { return Ok(()) };
    let threads = parallel::at_most(wanted);
    if threads == wanted || parallel::start(threads).is_err() {
        return Ok(());
    }
    let text = format!("`RAYON_NUM_THREADS` asks for {wanted} threads; {threads} are used");
    PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &CString::new(text)?, 1)
}
