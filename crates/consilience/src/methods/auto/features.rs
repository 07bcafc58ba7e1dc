//! What the members of the mixture are fitted to.

use crate::data::outputs::Outputs;
use crate::methods::stacking::{LabelledItems, LogTable};

/// The labelled items and their features, item by item.
pub(super) struct Features {
    pub(super) n_classifiers: usize,
    pub(super) n_classes: usize,
    pub(super) labels: Vec<usize>,
    pub(super) weights: Vec<f64>,
    /// ln of the share of every class among the labelled items, half an item added to each.
    pub(super) offsets: Vec<f64>,
    /// The harmonic mean of the class sizes, none below one half.
    pub(super) class_size: f64,
    /// gᵏₜ − ln πᵏₜ, centred over t: what an output adds to the prior that it contains.
    pub(super) outputs: Vec<f64>,
    /// xᵏₜ after the floor.
    pub(super) probabilities: Vec<f64>,
}

/// The mean output πᵏ of every classifier over all items, labelled or not, and their mean π.
pub(super) struct MeanOutputs {
    /// ln πᵏₜ at k·J + t.
    pub(super) ln_each: Vec<f64>,
    /// ln πₜ.
    pub(super) ln_all: Vec<f64>,
    /// The classifiers in an order that depends on neither their place nor their names.
    pub(super) order: Vec<usize>,
}

/// The smallest mean probability of a class: of one classifier, and of all.
const SMALLEST_MEAN: f64 = 1e-6;
const SMALLEST_COMMON_MEAN: f64 = 1e-4;

impl MeanOutputs {
    pub(super) fn of(outputs: &Outputs) -> Self {
        let (k, j) = (outputs.schema().n_classifiers(), outputs.schema().n_classes());
        let items = outputs.all();
        let (mut sums, mut counts, mut squares) = (vec![0.0; k * j], vec![0.0; k], vec![0.0; k]);
        for item in 0..items.len() {
            let weight = outputs.weight(item);
            for (c, output) in items.present(item) {
                counts[c] += weight;
                squares[c] += weight * output.iter().map(|x| x * x).sum::<f64>();
                let sums = sums[c * j..][..j].iter_mut().zip(output);
                sums.for_each(|(sum, x)| *sum += weight * x);
            }
        }
        for (c, count) in counts.iter().enumerate() {
            let means = &mut sums[c * j..][..j];
            means
                .iter_mut()
                .for_each(|sum| *sum = if *count > 0.0 { *sum / count } else { 1.0 / j as f64 });
            squares[c] /= count.max(f64::MIN_POSITIVE);
        }
        let mean = |t: usize| sums.iter().skip(t).step_by(j).sum::<f64>() / k as f64;
        let mut common: Vec<f64> = (0..j).map(|t| mean(t).max(SMALLEST_COMMON_MEAN)).collect();
        consilience_numerics::simplex::normalise(&mut common);
        let mut order: Vec<usize> = (0..k).collect();
        order.sort_by(|a, b| squares[*a].total_cmp(&squares[*b]));
        Self {
            ln_each: sums.iter().map(|mean| mean.max(SMALLEST_MEAN).ln()).collect(),
            ln_all: common.iter().map(|mean| mean.ln()).collect(),
            order,
        }
    }

    /// Σₖ uₖ ln πᵏₜ for every class, negative: the bias of a rule with these exponents of outputs.
    pub(super) fn bias(&self, exponents: &[f64]) -> Vec<f64> {
        let j = self.ln_all.len();
        let of_class = |t: usize| {
            let logs = self.ln_each.iter().skip(t).step_by(j);
            -logs.zip(exponents).map(|(ln, u)| u * ln).sum::<f64>()
        };
        (0..j).map(of_class).collect()
    }
}

impl Features {
    /// Of labelled items, with the means of all items.
    pub(super) fn new(training: &LabelledItems, table: &LogTable, means: &MeanOutputs) -> Self {
        let schema = training.schema();
        let (k, j) = (schema.n_classifiers(), schema.n_classes());
        let mut outputs = table.logs.as_slice().to_vec();
        for item in outputs.chunks_exact_mut(k * j) {
            for (output, ln_mean) in item.chunks_exact_mut(j).zip(means.ln_each.chunks_exact(j)) {
                output.iter_mut().zip(ln_mean).for_each(|(g, ln)| *g -= ln);
                centre(output);
            }
        }
        Self {
            n_classifiers: k,
            n_classes: j,
            labels: training.labels.clone(),
            weights: training.weights.clone(),
            offsets: training.ln_shares(),
            class_size: harmonic_mean(&training.class_weights),
            outputs,
            probabilities: table.logs.iter().map(|log| log.exp()).collect(),
        }
    }

    pub(super) fn n_items(&self) -> usize {
        self.labels.len()
    }

    /// The sum of all weights.
    pub(super) fn total_weight(&self) -> f64 {
        self.weights.iter().sum()
    }

    /// The unit by which an item is left out: one copy of an item that counts several times.
    pub(super) fn unit(&self, item: usize) -> f64 {
        self.weights[item].min(1.0)
    }

    /// The numbers of one item in a table of K·J numbers per item.
    pub(super) fn of_item<'a>(&self, table: &'a [f64], item: usize) -> &'a [f64] {
        let width = self.n_classifiers * self.n_classes;
        &table[item * width..][..width]
    }

    /// min(1, 1/rms) of one classifier's numbers over items and classes: the prior standard
    /// deviation of a coefficient that moves a predictor by about 1.
    pub(super) fn scale(&self, table: &[f64], classifier: usize) -> f64 {
        let j = self.n_classes;
        let square = |item: usize| {
            let own = &self.of_item(table, item)[classifier * j..][..j];
            self.weights[item] * own.iter().map(|x| x * x).sum::<f64>()
        };
        let sum: f64 = (0..self.n_items()).map(square).sum();
        f64::min(1.0, 1.0 / ((sum / (self.total_weight() * j as f64)).sqrt() + 1e-9))
    }
}

/// Subtracts the mean.
pub(super) fn centre(values: &mut [f64]) {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    values.iter_mut().for_each(|value| *value -= mean);
}

fn harmonic_mean(weights: &[f64]) -> f64 {
    weights.len() as f64 / weights.iter().map(|weight| 1.0 / weight.max(0.5)).sum::<f64>()
}
