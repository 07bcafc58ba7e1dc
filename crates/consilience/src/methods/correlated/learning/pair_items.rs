//! The items of one class for which both classifiers have an output.

use nalgebra::DMatrix;

use super::constants::likelihood::TIE_TOLERANCE;
use crate::data::outputs::Outputs;
use crate::error::Result;
use crate::methods::shares::LEVEL;
use consilience_numerics::log_space::ln_at_least_tiny;
use consilience_numerics::special::normal_quantile;

/// The items of one class with both outputs, 2·J numbers per item.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PairItems {
    n_classes: usize,
    values: Vec<f64>,
}

impl PairItems {
    /// The items of every class, in order.
    pub(super) fn by_class(outputs: &Outputs) -> Result<Vec<Self>> {
        let n_classes = outputs.schema().n_classes();
        let one = |items: Vec<Vec<f64>>| Self { n_classes, values: items.concat() };
        Ok(complete_items(outputs)?.into_iter().map(one).collect())
    }

    pub(super) fn len(&self) -> usize {
        self.values.len() / (2 * self.n_classes)
    }

    pub(super) fn pair(&self, item: usize) -> (&[f64], &[f64]) {
        let start = 2 * item * self.n_classes;
        self.values[start..start + 2 * self.n_classes].split_at(self.n_classes)
    }

    /// Logarithms of all outputs, one row per item.
    pub(super) fn logarithms(&self) -> DMatrix<f64> {
        let logs = self.values.iter().map(|x| ln_at_least_tiny(*x));
        DMatrix::from_row_iterator(self.len(), 2 * self.n_classes, logs)
    }

    /// Every `step`-th item.
    pub(super) fn thinned(&self, step: usize) -> Self {
        let items = self.values.chunks_exact(2 * self.n_classes).step_by(step);
        Self { n_classes: self.n_classes, values: items.flatten().copied().collect() }
    }

    /// No items.
    pub(super) fn none(&self) -> Self {
        Self { n_classes: self.n_classes, values: Vec::new() }
    }

    /// Number of items with components whose ratios x²/x¹ tie and whose negative powers add up to −1 or
    /// less.
    pub(super) fn n_poles(&self, powers: &[f64]) -> usize {
        let has_pole = |item: &usize| {
            let (first, second) = self.pair(*item);
            let ratio = |l: usize| (second[l] / first[l]).ln();
            (0..self.n_classes).any(|l| {
                let tied =
                    (0..self.n_classes).filter(|&m| (ratio(m) - ratio(l)).abs() < TIE_TOLERANCE);
                tied.map(|m| powers[m].min(0.0)).sum::<f64>() <= -1.0
            })
        };
        (0..self.len()).filter(has_pole).count()
    }

    /// Sample correlation of both sources' outputs in component l, 0 if one does not vary, with its
    /// interval: Fisher's z and the standard error by the delta method, which does not assume a
    /// normal distribution.
    pub(super) fn correlation(&self, l: usize) -> (f64, [f64; 2]) {
        let n = self.len() as f64;
        let pairs = || (0..self.len()).map(|i| (self.pair(i).0[l], self.pair(i).1[l]));
        let (a, b) = pairs().fold((0.0, 0.0), |sum, (x, y)| (sum.0 + x / n, sum.1 + y / n));
        let (mut cross, mut first, mut second) = (0.0, 0.0, 0.0);
        for (x, y) in pairs() {
            cross += (x - a) * (y - b);
            first += (x - a).powi(2);
            second += (y - b).powi(2);
        }
        let scale: f64 = first * second;
        if !(scale > 0.0) {
            return (0.0, [-1.0, 1.0]);
        }
        let r = (cross / scale.sqrt()).clamp(-1.0, 1.0);
        let influence = |(x, y): (f64, f64)| {
            let (x, y) = ((x - a) / first.sqrt(), (y - b) / second.sqrt());
            x * y - 0.5 * r * (x * x + y * y)
        };
        let rest = 1.0 - r * r;
        if n < 4.0 || rest < f64::EPSILON {
            return (r, if n < 4.0 { [-1.0, 1.0] } else { [r; 2] });
        }
        let error = pairs().map(|pair| influence(pair).powi(2)).sum::<f64>().sqrt();
        let half = normal_quantile(0.5 + LEVEL / 2.0) * error / rest;
        (r, [r.atanh() - half, r.atanh() + half].map(f64::tanh))
    }
}

/// The items of every class that have all outputs, in order: all outputs of an item one after the other.
pub(super) fn complete_items(outputs: &Outputs) -> Result<Vec<Vec<Vec<f64>>>> {
    let mut classes = vec![Vec::new(); outputs.schema().n_classes()];
    let items = outputs.all();
    for (item, class) in outputs.require_labels()?.into_iter().enumerate() {
        let sources = 0..outputs.schema().n_classifiers();
        let each: Option<Vec<&[f64]>> = sources.map(|k| items.output(item, k)).collect();
        classes[class].extend(each.map(|each| each.concat()));
    }
    Ok(classes)
}

/// Whether two sources have the same outputs for all items, and an output for at least one.
pub(super) fn are_copies(outputs: &Outputs, a: usize, b: usize) -> bool {
    let outputs_of = |item: usize| [a, b].map(|k| outputs.output(item, k));
    let all_same = (0..outputs.n_items()).all(|item| outputs_of(item)[0] == outputs_of(item)[1]);
    all_same && (0..outputs.n_items()).any(|item| outputs_of(item)[0].is_some())
}
