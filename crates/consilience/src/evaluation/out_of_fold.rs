//! Losses of `auto` and of simpler predictions on items that their fits have not seen.

use std::borrow::Cow;
use std::sync::Arc;

use rand::RngExt;

use super::constants::{
    FEWEST_SAMPLED, FOLDS_OF_LARGE_FITS, FOLDS_OF_MANY_ITEMS, LARGE_FIT, MANY_ITEMS, MOST_SAMPLED,
    RECALIBRATED, VOTE,
};
use super::gain::{predict, single_of};
use super::scores::Predictions;
use crate::data::class_prior::ClassPrior;
use crate::data::outputs::Outputs;
use crate::data::schema::Schema;
use crate::error::Result;
use crate::folds;
use crate::math::random::stream;
use crate::methods::auto::Auto;
use crate::methods::bcc::Bcc;
use crate::methods::pools::{PoolKind, Weights, fit_weights};
use crate::progress::{CancelOnly, Progress};
use consilience_numerics::parallel;

/// The log-loss of a prediction for every item.
pub(super) struct Losses {
    pub(super) name: String,
    pub(super) values: Vec<f64>,
}

impl Losses {
    pub(super) fn of(method: &Predictions, labels: &[usize], prior: &ClassPrior) -> Self {
        let values = method.log_losses(labels, prior.probabilities().len());
        Self { name: method.name.clone(), values }
    }
}

/// Items in folds.
pub(super) struct Folds<'a> {
    pub(super) outputs: &'a Outputs,
    pub(super) prior: &'a ClassPrior,
    /// The fold of every item.
    pub(super) of_items: Vec<usize>,
    pub(super) number: usize,
    pub(super) progress: &'a dyn Progress,
}

/// The items of one fold and of all others.
pub(super) struct Fold<'a> {
    train: Outputs,
    test: Outputs,
    prior: &'a ClassPrior,
    progress: CancelOnly<'a>,
}

impl Folds<'_> {
    /// The losses of some methods for every item, by fits without the item's fold. `methods` gives
    /// predictions for the test items of a fold.
    pub(super) fn losses(
        &self,
        task: &str,
        methods: impl Fn(&Fold<'_>) -> Result<Vec<Predictions>> + Sync,
    ) -> Result<Vec<Losses>> {
        self.progress.begin(task, self.number as u64);
        let parts = parallel::map(self.number, |fold| -> Result<_> {
            self.progress.check()?;
            let (inside, outside) = folds::split(&self.of_items, fold);
            let train = self.outputs.select_items(&outside);
            let test = self.outputs.select_items(&inside);
            let labels = test.require_labels()?;
            let progress = CancelOnly(self.progress);
            let predictions = methods(&Fold { train, test, prior: self.prior, progress })?;
            let losses = predictions.iter().map(|own| Losses::of(own, &labels, self.prior));
            let losses = losses.collect::<Vec<_>>();
            self.progress.advance(1);
            Ok((inside, losses))
        });
        Ok(self.merged(&parts.into_iter().collect::<Result<Vec<_>>>()?))
    }

    /// The losses of all folds in the order of the items. A method that some fold lacks, because it
    /// has too few items, is left out.
    fn merged(&self, parts: &[(Vec<usize>, Vec<Losses>)]) -> Vec<Losses> {
        let names = parts[0].1.iter().map(|method| method.name.clone());
        let merge = |name: String| -> Option<Losses> {
            let mut values = vec![0.0; self.of_items.len()];
            for (inside, losses) in parts {
                let own = losses.iter().find(|method| method.name == name)?;
                inside.iter().zip(&own.values).for_each(|(item, loss)| values[*item] = *loss);
            }
            Some(Losses { name, values })
        };
        names.filter_map(merge).collect()
    }
}

/// `auto`, all that is part of it, and the fitted baselines.
pub(super) fn baselines(fold: &Fold<'_>) -> Result<Vec<Predictions>> {
    let Fold { train, test, prior, progress } = fold;
    let fitted = Auto::default().learn(train, progress)?.fusion;
    let mut predictions = predict(&fitted, test, prior)?;
    if train.schema().n_classifiers() > 1 {
        let (linear, log) = (PoolKind::Linear, PoolKind::Logarithmic);
        progress.check()?;
        let greedy = fit_weights(linear, &Weights::Greedy, train, prior)?.pool;
        predictions.push(Predictions::of("linear-pool:greedy", &greedy, test, prior)?);
        progress.check()?;
        let exponents = fit_weights(log, &Weights::NonNegative, train, prior)?.pool;
        predictions.push(Predictions::of("log-pool:non-negative", &exponents, test, prior)?);
    }
    if are_votes(train) {
        let bcc = Bcc::default().learn(train)?;
        predictions.push(Predictions::of("bcc", &bcc, test, prior)?);
    }
    Ok(predictions)
}

/// Whether every output gives nearly all probability to one class.
fn are_votes(outputs: &Outputs) -> bool {
    let items = outputs.all();
    let is_vote = |output: &[f64]| output.iter().any(|x| *x >= VOTE);
    (0..items.len()).all(|item| items.present(item).all(|(_, output)| is_vote(output)))
}

/// The classifiers with the smallest log-losses of their own outputs or their meta classifiers.
pub(super) fn best_singles(methods: &[Losses], outputs: &Outputs) -> Vec<usize> {
    let names = outputs.schema().classifiers();
    let loss = |name: &String| {
        let own = methods.iter().filter(|method| single_of(&method.name) == Some(name));
        own.map(|method| method.values.iter().sum::<f64>()).fold(f64::INFINITY, f64::min)
    };
    let losses: Vec<f64> = names.iter().map(loss).collect();
    let mut best: Vec<usize> = (0..names.len()).collect();
    best.sort_by(|a, b| losses[*a].total_cmp(&losses[*b]));
    best.truncate(RECALIBRATED);
    best
}

/// `auto` fitted to each of some classifiers alone: recalibration without fusion.
pub(super) fn recalibrated(classifiers: &[usize], fold: &Fold<'_>) -> Result<Vec<Predictions>> {
    let single = |&k: &usize| {
        let schema = Arc::new(fold.train.schema().only(k));
        let (train, test) = (fold.train.select(&schema)?, fold.test.select(&schema)?);
        let fitted = Auto::default().learn(&train, &fold.progress)?.fusion;
        Predictions::of(format!("auto:{}", schema.classifiers()[0]), &fitted, &test, fold.prior)
    };
    classifiers.iter().map(single).collect()
}

/// A random part of a large table, with about the same frequencies of the classes but for rare
/// ones, of which it has [`FEWEST_SAMPLED`] items.
pub(super) fn sample(outputs: &Outputs, seed: u64) -> Cow<'_, Outputs> {
    let counts: Vec<usize> =
        outputs.class_counts().iter().map(|n| usize::try_from(*n).unwrap_or(usize::MAX)).collect();
    let n_parts = outputs.n_items().div_ceil(MOST_SAMPLED);
    if n_parts < 2 {
        return Cow::Borrowed(outputs);
    }
    // Every item is taken with the probability that leaves the right number for the others. The folds
    // use stream 0 of the same seed.
    let of_class = |n: &usize| n.div_ceil(n_parts).max(FEWEST_SAMPLED.min(*n));
    let mut wanted: Vec<usize> = counts.iter().map(of_class).collect();
    let (mut left, mut rng) = (counts, stream(seed, 1));
    let is_taken = |item: &usize| {
        let Some(class) = outputs.label(*item) else { return false };
        let taken = rng.random_range(0..left[class]) < wanted[class];
        left[class] -= 1;
        wanted[class] -= usize::from(taken);
        taken
    };
    let taken: Vec<usize> = (0..outputs.n_items()).filter(is_taken).collect();
    Cow::Owned(outputs.select_items(&taken))
}

/// The items without classifiers whose outputs are all in one fold, because no fit can use them that
/// has not seen this fold. If all are such, all stay, and the fits report the error.
pub(super) fn usable<'a>(
    outputs: Cow<'a, Outputs>,
    of_items: &[usize],
) -> Result<Cow<'a, Outputs>> {
    let (schema, items) = (outputs.schema(), outputs.all());
    let is_usable = |k: &usize| {
        let mut folds = of_items.iter().enumerate().filter_map(|(item, fold)| {
            items.output(item, *k)?;
            Some(fold)
        });
        folds.next().is_some_and(|first| folds.any(|fold| fold != first))
    };
    let usable: Vec<usize> = (0..schema.n_classifiers()).filter(is_usable).collect();
    if usable.is_empty() || usable.len() == schema.n_classifiers() {
        return Ok(outputs);
    }
    let names = usable.into_iter().map(|k| schema.classifiers()[k].clone());
    let schema = Arc::new(Schema::new(names, schema.classes().to_vec())?);
    outputs.select(&schema).map(Cow::Owned)
}

/// Fewer folds for fits that take long, so that the estimate does not take minutes.
pub(super) fn limited(folds: usize, outputs: &Outputs) -> usize {
    let schema = outputs.schema();
    let size = [schema.n_classes(), schema.width()];
    if size.into_iter().fold(outputs.n_items(), usize::saturating_mul) > LARGE_FIT {
        return folds.min(FOLDS_OF_LARGE_FITS);
    }
    if outputs.n_items() >= MANY_ITEMS { folds.min(FOLDS_OF_MANY_ITEMS) } else { folds }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::Preset;
    use crate::{InputFormat, OutputsBuilder};

    /// A classifier with outputs in one fold only is left out.
    #[test]
    fn classifiers_need_outputs_in_two_folds() {
        let schema = Schema::new(["a", "b", "c"], ["x", "y"]).unwrap();
        let mut builder = OutputsBuilder::new(schema, InputFormat::default()).unwrap();
        let none = f64::NAN;
        for (b, c) in [(0.3, none), (none, 0.4), (0.2, none), (none, 0.1)] {
            builder.push(&[0.6, 0.4, b, 1.0 - b, c, 1.0 - c], Some("x")).unwrap();
        }
        let outputs = builder.finish();
        let left = |folds: &[usize]| {
            let usable = usable(Cow::Borrowed(&outputs), folds).unwrap();
            usable.schema().classifiers().concat()
        };
        assert_eq!(left(&[0, 0, 1, 1]), "abc");
        assert_eq!(left(&[0, 1, 0, 2]), "ac");
        assert_eq!(left(&[0, 1, 0, 1]), "a");
        assert_eq!(left(&[0; 4]), "abc");
    }

    /// The part has the frequencies of the table, and enough items of a rare class.
    #[test]
    fn a_large_table_is_sampled_class_by_class() {
        let outputs = Preset::Sim1.truth(0.0).unwrap().simulate(100, 1).unwrap();
        let copies = |counts: [usize; 3]| {
            let class = |j: usize| (0..counts[j]).map(move |i| 100 * j + i % 100);
            let items: Vec<usize> = (0..3).flat_map(class).collect();
            outputs.select_items(&items)
        };
        let counts = |table: &Outputs, seed: u64| sample(table, seed).class_counts();
        let large = copies([150_000, 60_000, 3000]);
        assert_eq!(counts(&large, 1), [50_000, 20_000, 1000]);
        assert!(sample(&large, 1) == sample(&large, 1) && sample(&large, 1) != sample(&large, 2));
        assert_eq!(counts(&copies([150_000, 60_000, 250]), 1), [50_000, 20_000, 100]);
        assert_eq!(counts(&copies([150_000, 60_000, 50]), 1), [50_000, 20_000, 50]);
        assert!(matches!(sample(&copies([90_000, 9000, 1000]), 1), Cow::Borrowed(_)));
    }
}
