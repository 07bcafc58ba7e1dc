//! The distributions of classifiers' outputs.

use consilience::{Progress, Result};
use consilience_numerics::parallel;
use correlated_dirichlet::SharedPair;
use correlated_dirichlet::{MultiDensity, MultiScratch};
use numpy::{
    IntoPyArray, PyArray1, PyArray2, PyArray3, PyArrayMethods, PyReadonlyArray2, PyReadonlyArray3,
    PyUntypedArrayMethods,
};
use pyo3::prelude::*;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;

use crate::errors::{ConsilienceError, raise};
use crate::progress::watched;

/// Items of which the densities are computed on one thread.
const PIECE: usize = 8;

/// A pair of classifiers with what they share.
type Pair = (usize, usize, Vec<f64>);

/// The correlated Dirichlet of any number of classifiers.
#[pyclass(module = "consilience._core", frozen)]
pub(crate) struct CorrelatedDirichlet {
    distribution: correlated_dirichlet::CorrelatedDirichlet,
}

#[pymethods]
impl CorrelatedDirichlet {
    #[new]
    #[pyo3(signature = (alpha, common=None, pairs=Vec::new()))]
    fn new(alpha: Vec<Vec<f64>>, common: Option<Vec<f64>>, pairs: Vec<Pair>) -> PyResult<Self> {
        let pair = |(first, second, delta)| SharedPair { first, second, delta };
        let pairs = pairs.into_iter().map(pair).collect();
        let distribution = correlated_dirichlet::CorrelatedDirichlet::new(alpha, common, pairs);
        Ok(Self { distribution: distribution.map_err(|error| raise(&error.into()))? })
    }

    /// Log densities and their errors, infinite where a density could not be resolved.
    #[pyo3(signature = (x, resolution=0.0, tolerance=None, seed=0))]
    #[allow(clippy::needless_pass_by_value, reason = "extracted arguments are owned")]
    #[allow(clippy::type_complexity, reason = "a pair of arrays")]
    fn log_pdf<'py>(
        &self,
        py: Python<'py>,
        x: PyReadonlyArray3<'_, f64>,
        resolution: f64,
        tolerance: Option<f64>,
        seed: u64,
    ) -> PyResult<(Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>)> {
        let (k, j) = (self.distribution.n_classifiers(), self.distribution.n_components());
        if x.shape()[1..] != [k, j] {
            let found = x.shape();
            return Err(ConsilienceError::new_err(format!(
                "expected an array of items × {k} × {j}, got {} × {} × {}",
                found[0], found[1], found[2]
            )));
        }
        let values = x.as_slice()?;
        let found = watched(py, None, |progress| {
            self.densities(values, resolution, tolerance, seed, progress)
        })?;
        let (densities, errors): (Vec<f64>, Vec<f64>) = found.into_iter().unzip();
        Ok((densities.into_pyarray(py), errors.into_pyarray(py)))
    }

    /// Joint draws, n × K × J.
    fn sample<'py>(
        &self,
        py: Python<'py>,
        n: usize,
        seed: u64,
    ) -> PyResult<Bound<'py, PyArray3<f64>>> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let drawn: Vec<f64> =
            py.detach(|| (0..n).flat_map(|_| self.distribution.sample(&mut rng)).collect());
        let shape = [n, self.distribution.n_classifiers(), self.distribution.n_components()];
        drawn.into_pyarray(py).reshape(shape)
    }

    /// The correlation of every two classifiers' components, K × K × J.
    fn correlation<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray3<f64>>> {
        let (k, j) = (self.distribution.n_classifiers(), self.distribution.n_components());
        let mut values = vec![1.0; k * k * j];
        for a in 0..k {
            for b in 0..a {
                let moments =
                    self.distribution.pair_moments(a, b).map_err(|error| raise(&error.into()))?;
                for (l, component) in moments.iter().enumerate() {
                    values[(a * k + b) * j + l] = component.correlation;
                    values[(b * k + a) * j + l] = component.correlation;
                }
            }
        }
        values.into_pyarray(py).reshape([k, k, j])
    }
}

impl CorrelatedDirichlet {
    fn densities(
        &self,
        values: &[f64],
        resolution: f64,
        tolerance: Option<f64>,
        seed: u64,
        progress: &dyn Progress,
    ) -> Result<Vec<(f64, f64)>> {
        let density = MultiDensity::new(&self.distribution)?.with_seed(seed);
        let mut density = density.with_resolution(resolution)?;
        if let Some(tolerance) = tolerance {
            density = density.with_tolerance(tolerance)?;
        }
        let n_classes = self.distribution.n_components();
        let width = self.distribution.n_classifiers() * n_classes;
        let item = |scratch: &mut MultiScratch, row: &[f64]| -> Result<(f64, f64)> {
            progress.check()?;
            let x: Vec<&[f64]> = row.chunks_exact(n_classes).collect();
            let estimate = density.ln_density(&x, scratch);
            let error = if estimate.is_resolved() { estimate.error } else { f64::INFINITY };
            Ok((estimate.ln_density, error))
        };
        let pieces: Vec<&[f64]> = values.chunks(width * PIECE).collect();
        let pieces = parallel::map(pieces.len(), |piece| {
            let mut scratch = MultiScratch::default();
            let rows = pieces[piece].chunks_exact(width);
            rows.map(|row| item(&mut scratch, row)).collect::<Result<Vec<_>>>()
        });
        Ok(pieces.into_iter().collect::<Result<Vec<_>>>()?.concat())
    }
}

/// The Dirichlet distribution.
#[pyclass(module = "consilience._core", frozen)]
pub(crate) struct Dirichlet {
    distribution: correlated_dirichlet::Dirichlet,
}

#[pymethods]
impl Dirichlet {
    #[new]
    #[allow(clippy::needless_pass_by_value, reason = "extracted arguments are owned")]
    fn new(alpha: Vec<f64>) -> PyResult<Self> {
        let distribution = correlated_dirichlet::Dirichlet::new(&alpha);
        Ok(Self { distribution: distribution.map_err(|error| raise(&error.into()))? })
    }

    /// Log densities.
    #[allow(clippy::needless_pass_by_value, reason = "extracted arguments are owned")]
    fn log_pdf<'py>(
        &self,
        py: Python<'py>,
        x: PyReadonlyArray2<'_, f64>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let j = self.distribution.concentration().len();
        if x.shape()[1] != j {
            return Err(ConsilienceError::new_err(format!(
                "expected an array of items × {j}, got {} × {}",
                x.shape()[0],
                x.shape()[1]
            )));
        }
        let values = x.as_slice()?;
        let densities: Vec<f64> =
            py.detach(|| values.chunks_exact(j).map(|x| self.distribution.ln_pdf(x)).collect());
        Ok(densities.into_pyarray(py))
    }

    /// Draws, n × J.
    fn sample<'py>(
        &self,
        py: Python<'py>,
        n: usize,
        seed: u64,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let drawn: Vec<f64> =
            py.detach(|| (0..n).flat_map(|_| self.distribution.sample(&mut rng)).collect());
        drawn.into_pyarray(py).reshape([n, self.distribution.concentration().len()])
    }

    /// The mean.
    fn mean<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.distribution.mean().into_pyarray(py)
    }

    /// The variance of each component.
    fn variance<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.distribution.variance().into_pyarray(py)
    }
}
