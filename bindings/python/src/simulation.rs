//! Items whose truth is known.

use consilience::simulation::{Preset, Truth};
use numpy::{IntoPyArray, PyArray1, PyArray3, PyArrayMethods};
use pyo3::prelude::*;

use crate::errors::raise;
use crate::progress::watched;

type Drawn<'py> = (Bound<'py, PyArray3<f64>>, Bound<'py, PyArray1<i64>>);

/// One of the paper's simulated sets: values (n × 2 × 3) and labels, class by class.
#[pyfunction]
pub(crate) fn simulate_preset<'py>(
    py: Python<'py>,
    preset: &str,
    correlation: f64,
    items_per_class: usize,
    seed: u64,
) -> PyResult<Drawn<'py>> {
    let truth = preset.parse::<Preset>().and_then(|preset| preset.truth(correlation));
    drawn(py, &truth.map_err(|error| raise(&error))?, items_per_class, seed)
}

/// δ that gives two Dirichlets a mean correlation of their components.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "extracted arguments are owned")]
pub(crate) fn delta_for_correlation(
    first: Vec<f64>,
    second: Vec<f64>,
    correlation: f64,
) -> PyResult<Vec<f64>> {
    use correlated_dirichlet::pair;
    pair::delta_for_correlation(&first, &second, correlation).map_err(|error| raise(&error.into()))
}

/// Draws items of every class.
pub(crate) fn drawn<'py>(
    py: Python<'py>,
    truth: &Truth,
    items_per_class: usize,
    seed: u64,
) -> PyResult<Drawn<'py>> {
    let outputs = watched(py, None, |progress| {
        let mut simulator = truth.simulator(seed)?;
        for class in 0..truth.schema().n_classes() {
            let mut left = items_per_class;
            while left > 0 {
                progress.check()?;
                let n = left.min(8192);
                simulator.draw(class, n)?;
                left -= n;
            }
        }
        Ok(simulator.take())
    })?;
    let schema = truth.schema();
    let shape = [outputs.n_items(), schema.n_classifiers(), schema.n_classes()];
    let label =
        |item| outputs.label(item).and_then(|label| i64::try_from(label).ok()).unwrap_or(-1);
    let labels: Vec<i64> = (0..outputs.n_items()).map(label).collect();
    let values = outputs.all().values().to_vec().into_pyarray(py).reshape(shape)?;
    Ok((values, labels.into_pyarray(py)))
}
