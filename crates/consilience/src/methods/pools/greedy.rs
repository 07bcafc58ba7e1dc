//! Greedy ensemble selection.

use super::fit::{class_weights, least_weight};
use crate::data::class_prior::ClassPrior;
use crate::data::outputs::Outputs;
use crate::error::Result;

/// Classifiers that are added to the average. 25 rounds are the usual number; more change the
/// weights by less than 1/25.
const ROUNDS: usize = 25;

/// The weights of the average after all rounds. Of classifiers with the same loss, the first is
/// added.
pub(super) fn select(outputs: &Outputs, prior: &ClassPrior) -> Result<Vec<f64>> {
    let labels = outputs.require_labels()?;
    let item_weights = class_weights(outputs, &labels, prior);
    let (n, least) = (outputs.schema().n_classifiers(), least_weight(outputs));
    let columns: Vec<Column> = (0..n).map(|k| Column::of(outputs, &labels, k)).collect();
    let mut counts = vec![least; n];
    let mut average = Average { mass: vec![0.0; labels.len()], total: vec![0.0; labels.len()] };
    if least > 0.0 {
        columns.iter().for_each(|column| average.add(column, least));
    }
    let fallback: Vec<f64> = labels.iter().map(|label| prior.probabilities()[*label]).collect();
    for _ in 0..ROUNDS {
        let loss = |column: &Column| average.loss_with(column, &item_weights, &fallback);
        let losses: Vec<f64> = columns.iter().map(loss).collect();
        let best = (0..n).min_by(|a, b| losses[*a].total_cmp(&losses[*b])).unwrap_or(0);
        counts[best] += 1.0;
        average.add(&columns[best], 1.0);
    }
    let total: f64 = counts.iter().sum();
    Ok(counts.into_iter().map(|count| count / total).collect())
}

/// A classifier's probabilities of the true classes; None where it is absent.
struct Column(Vec<Option<f64>>);

impl Column {
    fn of(outputs: &Outputs, labels: &[usize], k: usize) -> Self {
        let items = outputs.all();
        let probability = |(item, &label): (usize, &usize)| items.output(item, k).map(|x| x[label]);
        Self(labels.iter().enumerate().map(probability).collect())
    }
}

/// The sum of the added classifiers' probabilities and their number, for every item.
struct Average {
    mass: Vec<f64>,
    total: Vec<f64>,
}

impl Average {
    fn add(&mut self, column: &Column, times: f64) {
        for ((mass, total), x) in self.mass.iter_mut().zip(&mut self.total).zip(&column.0) {
            if let Some(x) = x {
                *mass += times * x;
                *total += times;
            }
        }
    }

    /// The log-loss after adding a classifier; an item without any output has the class prior.
    fn loss_with(&self, column: &Column, item_weights: &[f64], fallback: &[f64]) -> f64 {
        let sums = self.mass.iter().zip(&self.total).zip(&column.0);
        let probability = |(((mass, total), x), prior): (((&f64, &f64), &Option<f64>), &f64)| {
            let (mass, total) = (mass + x.unwrap_or(0.0), total + f64::from(u8::from(x.is_some())));
            if total > 0.0 { (mass / total).max(f64::MIN_POSITIVE) } else { *prior }
        };
        let probabilities = sums.zip(fallback).map(probability);
        probabilities.zip(item_weights).map(|(p, weight)| -weight * p.ln()).sum()
    }
}
