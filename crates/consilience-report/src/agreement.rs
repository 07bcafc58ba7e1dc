//! How often sources name the same class.

use serde::Serialize;

use crate::report::Study;
use crate::sample::evenly;

/// How often sources name the same class. The class that a source names is its most probable one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Agreement {
    /// Number of items examined, evenly spaced over the table.
    pub n_items: usize,
    /// Share of items for which all sources with an output name the same class; of items with two
    /// or more outputs.
    pub unanimous: f64,
    /// Share of items for which the fused result names another class than the average output.
    pub against_average: f64,
    /// Mean entropy of the fused distributions in nats.
    pub entropy: f64,
    /// Share of the items with both outputs for which two sources name the same class, K × K; empty
    /// for more than 100 sources.
    pub pairs: Vec<Vec<f64>>,
}

/// Most items examined.
const EXAMINED: usize = 20_000;

/// Most sources for which all pairs are compared.
const WIDEST: usize = 100;

impl Agreement {
    pub(crate) fn of(study: &Study<'_>) -> Self {
        let items = evenly(study.n_items(), EXAMINED);
        let named: Vec<Vec<Option<usize>>> =
            items.iter().map(|&item| named_classes(study, item)).collect();
        let several = |row: &&Vec<Option<usize>>| row.iter().flatten().count() > 1;
        let (mut all, mut same) = (0.0, 0.0);
        for row in named.iter().filter(several) {
            all += 1.0;
            let first = row.iter().flatten().next();
            same += f64::from(u8::from(row.iter().flatten().all(|class| Some(class) == first)));
        }
        let differs =
            |&&item: &&usize| arg_max(&average(study, item)) != study.fused.predicted(item);
        let against = items.iter().filter(differs).count();
        let entropy: f64 = items.iter().map(|&item| study.fused.entropy(item)).sum();
        let n = study.sources().len();
        let pairs = if n > WIDEST {
            Vec::new()
        } else {
            (0..n).map(|a| (0..n).map(|b| pair(&named, a, b)).collect()).collect()
        };
        Self {
            n_items: items.len(),
            unanimous: same / all,
            against_average: against as f64 / items.len() as f64,
            entropy: entropy / items.len() as f64,
            pairs,
        }
    }
}

fn named_classes(study: &Study<'_>, item: usize) -> Vec<Option<usize>> {
    let n = study.sources().len();
    (0..n).map(|k| study.outputs.output(item, k).map(arg_max)).collect()
}

fn pair(named: &[Vec<Option<usize>>], a: usize, b: usize) -> f64 {
    let (mut both, mut same) = (0u64, 0u64);
    for row in named {
        if let (Some(x), Some(y)) = (row[a], row[b]) {
            both += 1;
            same += u64::from(x == y);
        }
    }
    same as f64 / both as f64
}

/// The mean of the outputs of an item; the class prior if all are missing.
pub(crate) fn average(study: &Study<'_>, item: usize) -> Vec<f64> {
    let mut mean = vec![0.0; study.classes().len()];
    let mut n = 0.0;
    for (_, output) in study.outputs.items(item..item + 1).present(0) {
        n += 1.0;
        mean.iter_mut().zip(output).for_each(|(sum, p)| *sum += p);
    }
    if n == 0.0 {
        return study.prior.probabilities().to_vec();
    }
    mean.iter_mut().for_each(|sum| *sum /= n);
    mean
}

/// The first of the largest values.
pub(crate) fn arg_max(values: &[f64]) -> usize {
    let better = |best: usize, (place, value): (usize, &f64)| {
        if *value > values[best] { place } else { best }
    };
    values.iter().enumerate().fold(0, better)
}
