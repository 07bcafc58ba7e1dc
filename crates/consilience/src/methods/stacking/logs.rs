//! Logarithms of outputs as features of a linear predictor, those of absent classifiers filled in.

use std::sync::OnceLock;

use nalgebra::{DMatrix, DVector};
use serde::{Deserialize, Serialize};

use super::fill::fill_parameters;
use crate::data::outputs::Outputs;
use crate::data::schema::Schema;
use crate::error::{Error, Result};
use crate::math::gaussian::{Gaussian, Regression};
use crate::methods::regression::{ItemBlock, Loader, Picked, Source};
use crate::progress::Progress;
use consilience_numerics::simplex;

/// Probabilities below it are raised to it before their logarithm enters a linear predictor, so
/// that the logarithms of nearly excluded classes do not outweigh all others. Densities need a
/// smaller floor (best on real sets: 1e-2 to 1e-3 here, at most 1e-6 for densities).
const LINEAR_FLOOR: f64 = 1e-3;

/// The floor for this many classes: with more than a hundred, a tenth of an equal share.
pub(in crate::methods) fn linear_floor(n_classes: usize) -> f64 {
    LINEAR_FLOOR.min(0.1 / n_classes as f64)
}

/// ln x of one output, raised to the floor and renormalised before.
pub(in crate::methods) fn floored_logs(output: &[f64], logs: &mut [f64]) {
    logs.copy_from_slice(output);
    simplex::raise_to_floor(logs, linear_floor(output.len()));
    logs.iter_mut().for_each(|x| *x = x.ln());
}

/// Fills in the logarithms g of an absent classifier:
///
/// ```text
/// g = a E[g | present] + (1 − a) · mean over the present classifiers of their g
/// ```
///
/// E under one Gaussian of all K·J logarithms.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FillParameters {
    /// a, from 0 to 1: the weight of the Gaussian against the plain mean.
    pub weight: f64,
    /// The Gaussian's mean, `[classifier][class]`.
    pub mean: Vec<Vec<f64>>,
    /// Its covariance, K·J × K·J, classifier by classifier.
    pub covariance: Vec<Vec<f64>>,
}

/// With more classifiers than this, regressions are made anew for every item that needs one.
const CACHED_CLASSIFIERS: usize = 10;

/// Fills in logarithms.
#[derive(Debug, Clone)]
pub(in crate::methods) struct Filler {
    n_classes: usize,
    parameters: Option<(FillParameters, Gaussian)>,
    /// One regression for every set of classifiers present, made when first needed.
    regressions: Vec<OnceLock<Option<Regression>>>,
}

impl PartialEq for Filler {
    fn eq(&self, other: &Self) -> bool {
        (self.n_classes, &self.parameters) == (other.n_classes, &other.parameters)
    }
}

impl Filler {
    /// Without parameters, absent classifiers get the mean of those present.
    pub(in crate::methods) fn new(
        schema: &Schema,
        parameters: Option<FillParameters>,
    ) -> Result<Self> {
        let (k, j) = (schema.n_classifiers(), schema.n_classes());
        let parameters = match parameters {
            None => None,
            Some(parameters) => {
                let gaussian = parameters.gaussian(schema)?;
                Some((parameters, gaussian))
            }
        };
        let cached = if k <= CACHED_CLASSIFIERS { 1 << k } else { 0 };
        Ok(Self { n_classes: j, parameters, regressions: vec![OnceLock::new(); cached] })
    }

    /// Whether absent classifiers take a regression of their own in every item.
    pub(in crate::methods) fn is_slow(&self) -> bool {
        self.parameters.is_some() && self.regressions.is_empty()
    }

    pub(in crate::methods) fn parameters(&self) -> Option<&FillParameters> {
        self.parameters.as_ref().map(|(parameters, _)| parameters)
    }

    /// Writes the logarithms of the classifiers that are not `present` into `logs`, K·J; at least
    /// one must be.
    pub(in crate::methods) fn fill(&self, present: &[bool], logs: &mut [f64]) {
        if present.iter().all(|p| *p) {
            return;
        }
        let j = self.n_classes;
        let n_present = present.iter().filter(|p| **p).count() as f64;
        let mut mean = vec![0.0; j];
        for (block, _) in logs.chunks_exact(j).zip(present).filter(|(_, present)| **present) {
            mean.iter_mut().zip(block).for_each(|(m, g)| *m += g / n_present);
        }
        let weight = self.conditional_means(present, logs);
        for (block, _) in logs.chunks_exact_mut(j).zip(present).filter(|(_, present)| !**present) {
            for (g, mean) in block.iter_mut().zip(&mean) {
                *g = if weight > 0.0 { weight * *g + (1.0 - weight) * mean } else { *mean };
            }
        }
    }

    /// Writes E[g | present]; returns its weight.
    fn conditional_means(&self, present: &[bool], logs: &mut [f64]) -> f64 {
        let Some((FillParameters { weight, .. }, gaussian)) = &self.parameters else { return 0.0 };
        let make = || {
            let coordinates = present.iter().flat_map(|p| std::iter::repeat_n(*p, self.n_classes));
            gaussian.regression(&coordinates.collect::<Vec<bool>>())
        };
        let own;
        let regression = if self.regressions.is_empty() {
            own = make();
            &own
        } else {
            let set = present.iter().rev().fold(0, |set, p| 2 * set + usize::from(*p));
            self.regressions[set].get_or_init(make)
        };
        regression.as_ref().map_or(0.0, |regression| {
            gaussian.complete(regression, logs);
            *weight
        })
    }
}

impl FillParameters {
    fn gaussian(&self, schema: &Schema) -> Result<Gaussian> {
        let (k, j, width) = (schema.n_classifiers(), schema.n_classes(), schema.width());
        let fits = self.mean.len() == k
            && self.mean.iter().all(|row| row.len() == j)
            && self.covariance.len() == width
            && self.covariance.iter().all(|row| row.len() == width);
        if !fits {
            return Err(Error::mismatch(
                "shapes of `fill` and the model",
                format!("mean {k} × {j}, covariance {width} × {width}"),
                format!("{} and {} rows", self.mean.len(), self.covariance.len()),
            ));
        }
        if !(0.0..=1.0).contains(&self.weight) {
            return Err(Error::parameter("fill.weight", "from 0 to 1", self.weight));
        }
        let mean = DVector::from_vec(self.mean.concat());
        let covariance = DMatrix::from_fn(width, width, |a, b| self.covariance[a][b]);
        let finite = mean.iter().chain(&covariance).all(|value| value.is_finite());
        if !finite
            || covariance != covariance.transpose()
            || covariance.clone().cholesky().is_none()
        {
            let requirement = "finite, the covariance symmetric and positive definite";
            return Err(Error::parameter("fill", requirement, "something else"));
        }
        Ok(Gaussian { mean, covariance })
    }
}

/// The filled logarithms of training items.
pub(in crate::methods) struct LogTable<'a> {
    /// The items; each has some output.
    outputs: &'a Outputs,
    pub(in crate::methods) filler: Filler,
}

impl<'a> LogTable<'a> {
    /// Of some items, with a Gaussian fitted to all.
    pub(in crate::methods) fn new(
        outputs: &'a Outputs,
        all: &Outputs,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let fill = fill_parameters(all, progress)?;
        Ok(Self { outputs, filler: Filler::new(outputs.schema(), Some(fill))? })
    }
}

impl Source for LogTable<'_> {
    fn items(&self) -> &Outputs {
        self.outputs
    }

    fn width(&self) -> usize {
        self.outputs.schema().width()
    }

    fn is_slow(&self) -> bool {
        self.filler.is_slow() && self.outputs.any_missing()
    }

    fn load(&self, picked: Picked, loader: &mut Loader, block: &mut ItemBlock) {
        loader.load_logs(self.outputs, &self.filler, picked, block, |_| {});
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_floor_is_applied_before_the_logarithm() {
        let mut logs = [0.0; 3];
        floored_logs(&[0.7, 0.3 - 1e-6, 1e-6], &mut logs);
        let sum: f64 = 1.001 - 1e-6;
        for (got, want) in logs.iter().zip([0.7 / sum, (0.3 - 1e-6) / sum, 1e-3 / sum]) {
            assert!((got - want.ln()).abs() < 1e-14);
        }
        assert!(linear_floor(2000) < 1.0 / 2000.0);
    }

    /// Without a Gaussian the present classifiers' mean; with one and a = ½, half way between it
    /// and the regression, here by hand: E[g₂ | g₁] with unit variances and covariance ½.
    #[test]
    fn absent_logarithms_follow_the_formula() {
        let schema = Schema::new(["a", "b"], ["x", "y"]).unwrap();
        let plain = Filler::new(&schema, None).unwrap();
        let mut logs = [-0.5, -1.0, 0.0, 0.0];
        plain.fill(&[true, false], &mut logs);
        assert_eq!(logs, [-0.5, -1.0, -0.5, -1.0]);
        let covariance = [
            [1.0, 0.0, 0.5, 0.0],
            [0.0, 1.0, 0.0, 0.5],
            [0.5, 0.0, 1.0, 0.0],
            [0.0, 0.5, 0.0, 1.0],
        ];
        let parameters = FillParameters {
            weight: 0.5,
            mean: vec![vec![-1.0, -1.0], vec![-2.0, -2.0]],
            covariance: covariance.iter().map(|row| row.to_vec()).collect(),
        };
        let filler = Filler::new(&schema, Some(parameters)).unwrap();
        filler.fill(&[true, false], &mut logs);
        // E = −2 + ½(−0.5 + 1) = −1.75 and −2 + ½(−1 + 1) = −2.
        assert_eq!(logs, [-0.5, -1.0, 0.5 * (-1.75 - 0.5), 0.5 * (-2.0 - 1.0)]);
    }
}
