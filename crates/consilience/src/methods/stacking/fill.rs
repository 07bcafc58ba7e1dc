//! The Gaussian from which logarithms of absent sources are filled in, by passes over blocks of items.

use std::collections::BTreeMap;

use nalgebra::{DMatrix, DVector};

use super::{FillParameters, linear_floor};
use crate::data::outputs::{Items, Outputs};
use crate::error::Result;
use crate::math::aligned::AlignedBuffer;
use crate::math::columns::{add_scaled, dot, dots, set_products, sum};
use crate::math::gaussian::{Gaussian, Regression};
use crate::math::transpose::LANES;
use crate::methods::Block;
use crate::progress::Progress;

/// Steps of expectation maximisation, and what is added to every variance.
const EM_STEPS: usize = 8;
const RIDGE: f64 = 1e-3;

/// Items per parameter at which the regression on the classifiers present has the same weight as
/// their plain mean.
const ITEMS_PER_LOG: f64 = 5.0;

/// Doubles of a block's logarithms.
const BLOCK: usize = 1 << 13;

/// Fits the Gaussian to the logarithms of all items that have some output, labelled or not.
pub(super) fn fill_parameters(
    outputs: &Outputs,
    progress: &dyn Progress,
) -> Result<FillParameters> {
    let table = Table { outputs, groups: groups(outputs), progress };
    let mut gaussian = table.of_present()?;
    let complete = table.groups.iter().all(|group| group.present.iter().all(|p| *p));
    for _ in 0..if complete { 1 } else { EM_STEPS } {
        gaussian = table.moments(&gaussian)?;
        (0..gaussian.mean.len()).for_each(|c| gaussian.covariance[(c, c)] += RIDGE);
    }
    let (schema, n) = (outputs.schema(), table.total_weight());
    let columns = gaussian.covariance.column_iter();
    Ok(FillParameters {
        weight: n / (n + ITEMS_PER_LOG * schema.width() as f64),
        mean: gaussian.mean.as_slice().chunks(schema.n_classes()).map(<[f64]>::to_vec).collect(),
        covariance: columns.map(|column| column.iter().copied().collect()).collect(),
    })
}

/// Items with outputs of the same sources.
struct Group {
    /// Whether each source is present; at least one is.
    present: Vec<bool>,
    /// The items; none stands for all.
    items: Option<Vec<u32>>,
}

/// The groups of a table, without items that have no output at all.
fn groups(outputs: &Outputs) -> Vec<Group> {
    let (items, n_sources) = (outputs.all(), outputs.schema().n_classifiers());
    if !outputs.any_missing() {
        return vec![Group { present: vec![true; n_sources], items: None }];
    }
    let mut members: BTreeMap<Vec<bool>, Vec<u32>> = BTreeMap::new();
    let mut present = vec![false; n_sources];
    for item in 0..items.len() {
        let own = (0..n_sources).map(|k| items.output(item, k).is_some());
        present.iter_mut().zip(own).for_each(|(p, own)| *p = own);
        let Ok(place) = u32::try_from(item) else { break };
        if let Some(group) = members.get_mut(&present) {
            group.push(place);
        } else if present.contains(&true) {
            members.insert(present.clone(), vec![place]);
        }
    }
    members.into_iter().map(|(present, items)| Group { present, items: Some(items) }).collect()
}

/// The logarithms of some items of one group: a column per coordinate, padded.
#[derive(Default)]
struct Columns {
    block: Block,
    rows: Vec<f64>,
    logs: AlignedBuffer,
    weights: AlignedBuffer,
    scaled: AlignedBuffer,
}

struct Table<'a> {
    outputs: &'a Outputs,
    groups: Vec<Group>,
    progress: &'a dyn Progress,
}

impl Table<'_> {
    fn n_items(&self, group: &Group) -> usize {
        group.items.as_ref().map_or(self.outputs.n_items(), Vec::len)
    }

    fn total_weight(&self) -> f64 {
        let weight = |group: &Group| -> f64 {
            (0..self.n_items(group)).map(|i| self.outputs.weight(group.item(i))).sum()
        };
        self.groups.iter().map(weight).sum()
    }

    /// Hands the logarithms of a group to `f`, block by block; those of absent sources are 0.
    fn for_blocks(&self, group: &Group, mut f: impl FnMut(&mut Columns)) -> Result<()> {
        let schema = self.outputs.schema();
        let size = (BLOCK / schema.width() / LANES * LANES).clamp(2 * LANES, 32 * LANES);
        let (n, mut columns) = (self.n_items(group), Columns::default());
        for first in (0..n).step_by(size) {
            self.progress.check()?;
            let end = (first + size).min(n);
            columns.rows.clear();
            for i in first..end {
                let item = group.item(i);
                let values = self.outputs.items(item..item + 1).values();
                columns.rows.extend_from_slice(values);
            }
            let any_missing = group.present.contains(&false);
            let Columns { block, rows, logs, weights, scaled } = &mut columns;
            let items = Items::new(schema, rows, any_missing);
            block.reset(&items);
            block.load_logs(&items);
            block.raise_logs(&items, linear_floor(schema.n_classes()));
            let (_, _, loaded) = block.with_logs();
            logs.resize(loaded.all().len());
            logs.copy_from_slice(loaded.all());
            let stride = logs.len() / schema.width();
            scaled.resize(stride);
            weights.resize(stride);
            weights.fill(0.0);
            let own = (first..end).map(|i| self.outputs.weight(group.item(i)));
            weights.iter_mut().zip(own).for_each(|(weight, own)| *weight = own);
            f(&mut columns);
        }
        Ok(())
    }

    /// Which coordinates are present.
    fn coordinates(&self, group: &Group) -> Vec<bool> {
        let n_classes = self.outputs.schema().n_classes();
        group.present.iter().flat_map(|p| std::iter::repeat_n(*p, n_classes)).collect()
    }

    /// Mean and variance of every coordinate from the items where it is present, without covariances: the start of
    /// the iteration.
    fn of_present(&self) -> Result<Gaussian> {
        let d = self.outputs.schema().width();
        let (mut totals, mut mean) = (vec![0.0f64; d], DVector::zeros(d));
        let mut squares = vec![0.0; d];
        for group in &self.groups {
            let present = self.coordinates(group);
            self.for_blocks(group, |columns| {
                let total = columns.weights.iter().sum::<f64>();
                for c in (0..d).filter(|c| present[*c]) {
                    totals[c] += total;
                    mean[c] += dot(&columns.weights, columns.column(c));
                }
            })?;
        }
        totals.iter_mut().for_each(|total| *total = total.max(f64::MIN_POSITIVE));
        mean.iter_mut().zip(&totals).for_each(|(mean, total)| *mean /= total);
        for group in &self.groups {
            let present = self.coordinates(group);
            self.for_blocks(group, |columns| {
                columns.centre(&mean);
                for c in (0..d).filter(|c| present[*c]) {
                    columns.scale(c);
                    squares[c] += dot(&columns.scaled, columns.column(c));
                }
            })?;
        }
        let variances = squares.iter().zip(&totals).map(|(square, total)| square / total + RIDGE);
        let variances = DVector::from_iterator(d, variances);
        Ok(Gaussian { mean, covariance: DMatrix::from_diagonal(&variances) })
    }

    /// One step of expectation maximisation: the moments of all items, with absent logarithms replaced by their
    /// conditional means and with the conditional covariance added. Without absent ones the step is exact.
    fn moments(&self, gaussian: &Gaussian) -> Result<Gaussian> {
        let d = gaussian.mean.len();
        let (mut shift, mut covariance) = (DVector::zeros(d), DMatrix::zeros(d, d));
        let mut total = 0.0f64;
        for group in &self.groups {
            let present = self.coordinates(group);
            let any_missing = present.contains(&false);
            let regression = any_missing.then(|| gaussian.regression(&present)).flatten();
            let mut weight = 0.0;
            self.for_blocks(group, |columns| {
                weight += columns.weights.iter().sum::<f64>();
                columns.centre(&gaussian.mean);
                if let Some(regression) = &regression {
                    columns.complete(regression);
                }
                columns.add_moments(&mut shift, &mut covariance);
            })?;
            total += weight;
            let Some(regression) = regression else { continue };
            let rest = gaussian.residual(&regression);
            for (i, &a) in regression.missing.iter().enumerate() {
                for (j, &b) in regression.missing.iter().enumerate().filter(|(_, b)| **b <= a) {
                    covariance[(a, b)] += weight * rest[(i, j)];
                }
            }
        }
        let total = total.max(f64::MIN_POSITIVE);
        shift /= total;
        covariance.fill_upper_triangle_with_lower_triangle();
        let covariance = covariance / total - &shift * shift.transpose();
        Ok(Gaussian { mean: &gaussian.mean + shift, covariance })
    }
}

impl Group {
    fn item(&self, i: usize) -> usize {
        self.items.as_ref().map_or(i, |items| items[i] as usize)
    }
}

impl Columns {
    fn column(&self, c: usize) -> &[f64] {
        let stride = self.weights.len();
        &self.logs[c * stride..][..stride]
    }

    fn centre(&mut self, mean: &DVector<f64>) {
        let stride = self.weights.len();
        for (column, mean) in self.logs.chunks_exact_mut(stride).zip(mean.iter()) {
            column.iter_mut().for_each(|log| *log -= mean);
        }
    }

    /// Multiplies a column by the weights.
    fn scale(&mut self, c: usize) {
        let stride = self.weights.len();
        set_products(&mut self.scaled, &self.weights, &self.logs[c * stride..][..stride]);
    }

    /// Replaces absent coordinates by their conditional means; all are distances from the mean.
    fn complete(&mut self, regression: &Regression) {
        let stride = self.weights.len();
        for (i, &a) in regression.missing.iter().enumerate() {
            self.scaled.fill(0.0);
            for (j, &p) in regression.present.iter().enumerate() {
                let column = &self.logs[p * stride..][..stride];
                add_scaled(&mut self.scaled, regression.slopes[(i, j)], column);
            }
            self.logs[a * stride..][..stride].copy_from_slice(&self.scaled);
        }
    }

    /// Adds the sums and, to the lower triangle, the sums of products.
    fn add_moments(&mut self, sums: &mut DVector<f64>, products: &mut DMatrix<f64>) {
        for a in 0..sums.len() {
            self.scale(a);
            sums[a] += sum(&self.scaled);
            let earlier = &self.logs[..(a + 1) * self.weights.len()];
            dots(&self.scaled, earlier, |b, own| products[(a, b)] += own);
        }
    }
}
