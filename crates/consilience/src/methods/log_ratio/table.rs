//! Training items in log-ratio coordinates, class by class, and their pooled moments.

use nalgebra::{DMatrix, DVector};

use crate::data::outputs::Outputs;
use crate::error::Result;
use crate::math::gaussian::{Gaussian, Patterns};
use crate::math::log_ratio;
use crate::methods::independent::SufficientStatistics;
use crate::methods::presence::presence;
use crate::methods::stacking::{LabelledItems, POOL_MAY_BE_BETTER};
use crate::warning::Warning;

/// The training items of one class.
#[derive(Debug, Clone)]
pub(in crate::methods) struct ClassRows {
    /// d × n, one item per column; 0 where absent.
    pub(in crate::methods) rows: DMatrix<f64>,
    /// Whether classifier k is present for item i, at i·K + k.
    present: Vec<bool>,
    n_classifiers: usize,
}

impl ClassRows {
    pub(in crate::methods) fn len(&self) -> usize {
        self.rows.ncols()
    }

    pub(in crate::methods) fn is_present(&self, item: usize, coordinate: usize) -> bool {
        let per_classifier = self.rows.nrows() / self.n_classifiers;
        self.present[item * self.n_classifiers + coordinate / per_classifier]
    }

    pub(in crate::methods) fn patterns(&self) -> Patterns {
        Patterns::of(&self.rows, &|item, coordinate| self.is_present(item, coordinate))
    }

    /// The share of outputs that are there.
    pub(in crate::methods) fn share_present(&self) -> f64 {
        let n = self.present.iter().filter(|p| **p).count();
        n as f64 / self.present.len() as f64
    }

    /// The mean of every coordinate where it is present.
    fn mean(&self) -> DVector<f64> {
        DVector::from_fn(self.rows.nrows(), |c, _| {
            let there = || (0..self.len()).filter(|&i| self.is_present(i, c));
            there().map(|i| self.rows[(c, i)]).sum::<f64>() / there().count().max(1) as f64
        })
    }
}

/// Steps of expectation maximisation where outputs are absent, and the ridge added to variances.
const EM_STEPS: usize = 8;
const RIDGE: f64 = 1e-6;

/// Standard deviation of the logarithms that rounding, quoting and ties leave at best: 3 %.
const RESOLUTION: f64 = 0.03;

/// All training items.
#[derive(Debug)]
pub(in crate::methods) struct LogRatioTable {
    pub(in crate::methods) classes: Vec<ClassRows>,
    n_classifiers: usize,
    pub(in crate::methods) warning: Option<Warning>,
}

impl LogRatioTable {
    /// Every class must have items, and every classifier an output among those of every class.
    pub(in crate::methods) fn new(outputs: &Outputs) -> Result<Self> {
        SufficientStatistics::of(outputs)?.require_all(outputs.schema())?;
        let training = LabelledItems::new(outputs)?;
        let (schema, items) = (training.schema(), training.outputs.all());
        let (k, per_classifier) = (schema.n_classifiers(), schema.n_classes() - 1);
        let class = |j: usize| {
            let own: Vec<usize> =
                (0..items.len()).filter(|&item| training.label(item) == j).collect();
            let mut rows = DMatrix::zeros(k * per_classifier, own.len());
            for (&item, mut column) in own.iter().zip(rows.column_iter_mut()) {
                for (c, output) in items.present(item) {
                    let place = c * per_classifier;
                    let cells = &mut column.as_mut_slice()[place..place + per_classifier];
                    log_ratio::isometric(output, cells);
                }
            }
            let present = own.iter().flat_map(|&item| presence(&items, item)).collect();
            ClassRows { rows, present, n_classifiers: k }
        };
        let classes = (0..schema.n_classes()).map(class).collect();
        Ok(Self {
            classes,
            n_classifiers: k,
            warning: training.few_items_warning(POOL_MAY_BE_BETTER),
        })
    }

    /// The prior expectation of a class: the mean of the class means, and the covariance within
    /// classes, half of it as it is and half the same in all directions of each
    /// classifier, without correlation. The spread of the class means counts as one more item, so
    /// that a class with a single item has a scale, too.
    pub(in crate::methods) fn pooled(&self) -> Gaussian {
        let means: Vec<DVector<f64>> = self.classes.iter().map(ClassRows::mean).collect();
        let (n_classes, d) = (means.len() as f64, means[0].len());
        let mean = means.iter().sum::<DVector<f64>>() / n_classes;
        let spread = means.iter().map(|m| (m - &mean) * (m - &mean).transpose());
        let spread = spread.sum::<DMatrix<f64>>() / n_classes;
        let within = self.within(&means);
        let n = self.classes.iter().map(ClassRows::len).sum::<usize>() as f64;
        let covariance = (within * n + spread) / (n - n_classes + 1.0);
        let per_classifier = d / self.n_classifiers;
        let even = |c: usize| {
            let start = c / per_classifier * per_classifier;
            let own = (start..start + per_classifier).map(|i| covariance[(i, i)]);
            own.sum::<f64>() / per_classifier as f64 + RESOLUTION * RESOLUTION
        };
        let even = DMatrix::from_diagonal(&DVector::from_fn(d, |c, _| even(c)));
        Gaussian { mean, covariance: (covariance + even) * 0.5 }
    }

    /// The covariance of all items around their class means.
    fn within(&self, means: &[DVector<f64>]) -> DMatrix<f64> {
        let (d, k) = (means[0].len(), self.n_classifiers);
        let present: Vec<bool> = self.classes.iter().flat_map(|c| c.present.clone()).collect();
        let centred: Vec<DVector<f64>> = self
            .classes
            .iter()
            .zip(means)
            .flat_map(|(class, mean)| class.rows.column_iter().map(move |row| row - mean))
            .collect();
        let rows = DMatrix::from_columns(&centred);
        let all = ClassRows { rows, present, n_classifiers: k };
        let ridge = if all.patterns().are_complete() { 0.0 } else { RIDGE };
        let fitted = Gaussian::fit(&all.rows, |i, c| all.is_present(i, c), EM_STEPS, ridge);
        debug_assert_eq!(fitted.mean.len(), d);
        fitted.covariance
    }
}
