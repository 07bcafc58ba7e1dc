//! Reliability by isotonic regression, with consistency bands.
//!
//! The observed frequency of an event as a non-decreasing function of its predicted probability,
//! fitted by the pool-adjacent-violators algorithm: no choice of bins. The band shows where the
//! curve of a calibrated prediction would lie: the events are drawn from the predicted
//! probabilities and the curve is fitted again. See T. Dimitriadis, T. Gneiting and A. I. Jordan,
//! "Stable reliability diagrams for probabilistic classifiers", PNAS 2021,
//! doi:10.1073/pnas.2016191118.

use rand_distr::{Binomial, Distribution};
use serde::Serialize;

use super::scores::{Predictions, Weighting, item_weights};
use crate::data::class_prior::ClassPrior;
use crate::error::{Error, Result};
use crate::math::random::stream;
use crate::sampling::diagnostics::quantile;
use consilience_numerics::simplex;

/// Most groups of items with nearly the same predicted probability. Fewer items make one group per
/// probability, so that the regression is exact.
const GROUPS: usize = 512;

/// Curves of calibrated predictions that are drawn. The ends of the band are their fifth smallest
/// and fifth largest values.
const REPLICATES: usize = 200;

/// Coverage of the band at every predicted probability.
const LEVEL: f64 = 0.95;

/// Smallest distance between two points of the band.
const SPACING: f64 = 0.015;

/// Bins of equal width in the histogram of predicted probabilities.
const BINS: usize = 20;

/// The event whose probability is predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CalibrationEvent {
    /// The most probable class is the true class.
    MostProbable,
    /// This class is the true class.
    Class(usize),
}

/// Observed frequency against predicted probability of an event.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CalibrationCurve {
    /// Number of items.
    pub n_items: usize,
    /// Steps of the isotonic regression, from small to large probabilities.
    pub steps: Vec<CalibrationStep>,
    /// Nominal coverage of the band, 0.95.
    pub level: f64,
    /// The range in which a calibrated prediction would lie.
    pub band: Vec<BandPoint>,
    /// Number of items by predicted probability, in bins of equal width.
    pub histogram: Vec<u64>,
}

/// A range of predicted probabilities with one observed frequency.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CalibrationStep {
    /// Smallest predicted probability.
    pub from: f64,
    /// Largest predicted probability.
    pub to: f64,
    /// Observed frequency of the event.
    pub observed: f64,
    /// Number of items.
    pub items: u64,
}

/// The consistency band at one predicted probability.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct BandPoint {
    /// Predicted probability.
    pub predicted: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// The curve of one event. Items are weighted as in [`score`](super::score).
pub fn calibration_curve(
    predictions: &Predictions,
    labels: &[usize],
    prior: &ClassPrior,
    weighting: Weighting,
    event: CalibrationEvent,
    seed: u64,
) -> Result<CalibrationCurve> {
    let n_classes = prior.probabilities().len();
    predictions.check(labels, n_classes)?;
    if labels.is_empty() {
        return Err(Error::NoItems);
    }
    let weights = item_weights(labels, prior, weighting);
    let rows = predictions.probabilities.chunks_exact(n_classes).zip(labels);
    let items = rows.map(|(row, &label)| {
        let class = match event {
            CalibrationEvent::MostProbable => simplex::arg_max(row),
            CalibrationEvent::Class(class) => class,
        };
        Item { predicted: row[class], occurs: class == label, weight: weights[label] }
    });
    Ok(curve(items.collect(), seed))
}

#[derive(Clone, Copy)]
struct Item {
    predicted: f64,
    occurs: bool,
    weight: f64,
}

fn curve(mut items: Vec<Item>, seed: u64) -> CalibrationCurve {
    items.sort_unstable_by(|a, b| {
        let key = |item: &Item| (item.occurs, item.weight);
        let (x, y) = (key(a), key(b));
        a.predicted.total_cmp(&b.predicted).then(x.0.cmp(&y.0)).then(x.1.total_cmp(&y.1))
    });
    let mut histogram = vec![0; BINS];
    for item in &items {
        histogram[bin(item.predicted)] += 1;
    }
    let groups = groups(&items);
    let blocks = isotonic(groups.iter().map(|group| (group.weight, group.events)));
    let step = |block: &Block| {
        let own = &groups[block.first..=block.last];
        CalibrationStep {
            from: own[0].from,
            to: own[own.len() - 1].to,
            observed: block.mean(),
            items: own.iter().map(|group| group.items).sum(),
        }
    };
    CalibrationCurve {
        n_items: items.len(),
        steps: blocks.iter().map(step).collect(),
        level: LEVEL,
        band: band(&groups, seed),
        histogram,
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // from 0 to BINS
fn bin(probability: f64) -> usize {
    ((probability * BINS as f64) as usize).min(BINS - 1)
}

/// Items with nearly the same predicted probability.
struct Group {
    from: f64,
    to: f64,
    items: u64,
    weight: f64,
    squared_weight: f64,
    /// Sum of weights times predicted probabilities.
    predicted: f64,
    /// Sum of the weights of items for which the event occurs.
    events: f64,
}

/// Consecutive items in groups of equal size; equal probabilities are in one group.
fn groups(items: &[Item]) -> Vec<Group> {
    let size = items.len().div_ceil(GROUPS) as u64;
    let mut groups: Vec<Group> = Vec::new();
    for &Item { predicted, occurs, weight } in items {
        let fits = |group: &&mut Group| group.items < size || group.to == predicted;
        let (p, event) = (weight * predicted, if occurs { weight } else { 0.0 });
        if let Some(group) = groups.last_mut().filter(fits) {
            group.to = predicted;
            group.items += 1;
            group.weight += weight;
            group.squared_weight += weight * weight;
            group.predicted += p;
            group.events += event;
        } else {
            groups.push(Group {
                from: predicted,
                to: predicted,
                items: 1,
                weight,
                squared_weight: weight * weight,
                predicted: p,
                events: event,
            });
        }
    }
    groups
}

/// Consecutive groups with one fitted frequency.
struct Block {
    first: usize,
    last: usize,
    weight: f64,
    events: f64,
}

impl Block {
    fn mean(&self) -> f64 {
        self.events / self.weight
    }
}

/// Isotonic regression by pooling adjacent violators; every group has a weight and the weight of its
/// events.
fn isotonic(groups: impl Iterator<Item = (f64, f64)>) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    for (place, (weight, events)) in groups.enumerate() {
        let mut new = Block { first: place, last: place, weight, events };
        while let Some(before) = blocks.pop_if(|before| before.mean() >= new.mean()) {
            new.first = before.first;
            new.weight += before.weight;
            new.events += before.events;
        }
        blocks.push(new);
    }
    blocks
}

/// Where the curve would lie if the events occurred with their predicted probabilities. A group has
/// as many items as independent ones of equal weight would have with the same variance.
fn band(groups: &[Group], seed: u64) -> Vec<BandPoint> {
    let mean = |group: &Group| (group.predicted / group.weight).clamp(0.0, 1.0);
    let places = spread(&groups.iter().map(mean).collect::<Vec<_>>());
    let draws: Vec<(f64, Binomial)> = groups
        .iter()
        .map(|group| {
            let items = (group.weight * group.weight / group.squared_weight).round().max(1.0);
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a count
            let draw = Binomial::new(items as u64, mean(group));
            (group.weight / items, draw.expect("a mean of probabilities is a probability"))
        })
        .collect();
    let mut values = vec![Vec::with_capacity(REPLICATES); places.len()];
    for replicate in 0..REPLICATES {
        let mut rng = stream(seed, replicate as u64);
        let events: Vec<f64> =
            draws.iter().map(|(unit, draw)| unit * draw.sample(&mut rng) as f64).collect();
        let blocks = isotonic(groups.iter().map(|group| group.weight).zip(events));
        let mut block = blocks.iter().peekable();
        for (place, values) in places.iter().zip(&mut values) {
            while block.next_if(|block| block.last < *place).is_some() {}
            values.push(block.peek().expect("blocks cover all groups").mean());
        }
    }
    let point = |(place, values): (&usize, &Vec<f64>)| BandPoint {
        predicted: mean(&groups[*place]),
        low: quantile(values, 0.5 - LEVEL / 2.0),
        high: quantile(values, 0.5 + LEVEL / 2.0),
    };
    places.iter().zip(&values).map(point).collect()
}

/// Places of increasing values that are not too close to each other, with the first and the last.
fn spread(values: &[f64]) -> Vec<usize> {
    let mut places = vec![0];
    for (place, value) in values.iter().enumerate() {
        let last = *places.last().expect("begins with the first place");
        if value - values[last] >= SPACING || (place + 1 == values.len() && place > last) {
            places.push(place);
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    fn item(predicted: f64, occurs: bool) -> Item {
        Item { predicted, occurs, weight: 1.0 }
    }

    /// The example of Barlow et al. (1972) by hand: means 1, 0 | 1, 0, 0 | 1 pool to 1/2, 1/3 and
    /// then, because 1/2 > 1/3, to 2/5; the last stays alone.
    #[test]
    fn adjacent_violators_are_pooled() {
        let events = [true, false, true, false, false, true];
        let items = (1..).zip(events).map(|(i, event)| item(f64::from(i) / 10.0, event));
        let steps = curve(items.collect(), 0).steps;
        let found: Vec<(f64, f64, f64, u64)> =
            steps.iter().map(|s| (s.from, s.to, s.observed, s.items)).collect();
        assert_eq!(found, [(0.1, 0.5, 0.4, 5), (0.6, 0.6, 1.0, 1)]);
    }

    /// Equal probabilities have one frequency, whatever the order of their events.
    #[test]
    fn ties_are_one_group() {
        let steps = curve(vec![item(0.3, false), item(0.3, true), item(0.7, true)], 0).steps;
        assert_eq!(steps.iter().map(|step| step.observed).collect::<Vec<_>>(), [0.5, 1.0]);
    }

    /// A calibrated prediction lies within the band nearly everywhere, and one that is too sure
    /// does not. The band is pointwise with 95 %; neighbouring points are strongly dependent.
    #[test]
    fn the_band_contains_calibrated_predictions_only() {
        let items = |sharpness: f64| -> Vec<Item> {
            let mut rng = ChaCha8Rng::seed_from_u64(5);
            let mut draw = |_| {
                let p: f64 = rng.random_range(0.001..0.999);
                let logit = sharpness * (p / (1.0 - p)).ln();
                item(1.0 / (1.0 + (-logit).exp()), rng.random_bool(p))
            };
            (0..4000).map(&mut draw).collect()
        };
        let outside = |items: Vec<Item>| {
            let CalibrationCurve { steps, band, histogram, .. } = curve(items, 1);
            assert_eq!(histogram.iter().sum::<u64>(), 4000);
            let at = |p: f64| steps.iter().rev().find(|s| s.from <= p).unwrap_or(&steps[0]);
            let off = |b: &&BandPoint| !(b.low..=b.high).contains(&at(b.predicted).observed);
            band.iter().filter(off).count() as f64 / band.len() as f64
        };
        assert!(outside(items(1.0)) < 0.2, "{}", outside(items(1.0)));
        assert!(outside(items(2.0)) > 0.5, "{}", outside(items(2.0)));
    }

    /// 10 000 items in at most 512 groups keep all items; weights that are equal change nothing.
    #[test]
    fn groups_keep_all_items() {
        let items: Vec<Item> = (0..10_000u32)
            .map(|i| item(f64::from(i * 37 % 10_000) / 10_000.0, i % 3 == 0))
            .collect();
        let plain = curve(items.clone(), 3);
        assert_eq!(plain.steps.iter().map(|step| step.items).sum::<u64>(), 10_000);
        let doubled = items.iter().map(|item| Item { weight: 2.0, ..*item }).collect();
        assert_eq!(curve(doubled, 3), plain);
    }
}
