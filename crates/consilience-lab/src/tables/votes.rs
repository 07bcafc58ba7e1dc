//! Simulated votes with known truth: `experiments/votes`.
//!
//! Panels of sources that are independent, share hard items, copy each other, or fall for the same
//! deceptive items. One table has the recovery of confusion matrices, the coverage of intervals and
//! the scores of methods; the other one shows what gold labels of dense panels gain.

use consilience::Result;
use consilience::votes::{Aggregation, VoteConfig, Votes, VotesBuilder};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};

/// How errors of sources depend on each other.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Errors {
    /// Given the class, all votes are independent.
    Independent,
    /// The logit of being right falls by the difficulty of the item, |N(0, 2²)|.
    HardItems,
    /// Sources are in groups of three; two of them repeat the vote of the first with probability 0.7.
    Copying,
    /// On 15 % of the items all sources are right with probability 0.3 and else choose the same class.
    Deceptive,
}

const ALL: [(&str, Errors); 4] = [
    ("independent", Errors::Independent),
    ("hard items", Errors::HardItems),
    ("copying clusters", Errors::Copying),
    ("deceptive items", Errors::Deceptive),
];

#[derive(Debug, Clone, Copy)]
struct Shape {
    items: usize,
    sources: usize,
    per_item: usize,
    classes: usize,
}

/// A simulated table, its true classes, and P(label | class) of every source over all items.
struct Panel {
    votes: Votes,
    truth: Vec<usize>,
    confusion: Vec<Vec<Vec<f64>>>,
}

/// The number in a name.
fn number(name: &str) -> usize {
    name.parse().unwrap_or_default()
}

impl Panel {
    fn simulate(shape: Shape, errors: Errors, seed: u64) -> Result<Self> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let k = shape.classes;
        let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
        let logits: Vec<f64> = (0..shape.sources * k).map(|_| 1.5 + 0.7 * normal()).collect();
        let classes: Vec<String> = (0..k).map(|class| class.to_string()).collect();
        let mut builder = VotesBuilder::with_classes(&classes)?;
        let mut confusion = vec![vec![vec![0.0; k]; k]; shape.sources];
        let mut truth = Vec::new();
        for item in 0..shape.items {
            let class = rng.random_range(0..k);
            truth.push(class);
            let normal: f64 = StandardNormal.sample(&mut rng);
            let difficulty = if errors == Errors::HardItems { 2.0 * normal.abs() } else { 0.0 };
            let deceives = errors == Errors::Deceptive && rng.random::<f64>() < 0.15;
            let lure = (class + 1 + rng.random_range(0..k - 1)) % k;
            // The distribution of a source's label on this item.
            let row = |source: usize| {
                let x = logits[source * k + class] - difficulty;
                let right = if deceives { 0.3 } else { 1.0 / (1.0 + (-x).exp()) };
                let wrong = |l: usize| {
                    if deceives { f64::from(u8::from(l == lure)) } else { 1.0 / (k as f64 - 1.0) }
                };
                let label = |l: usize| if l == class { right } else { (1.0 - right) * wrong(l) };
                (0..k).map(label).collect::<Vec<f64>>()
            };
            let rows: Vec<Vec<f64>> = (0..shape.sources).map(row).collect();
            let labels: Vec<usize> = rows.iter().map(|row| draw(row, rng.random())).collect();
            let first = rng.random_range(0..shape.sources);
            for place in 0..shape.per_item {
                let source = (first + place) % shape.sources;
                let repeats = errors == Errors::Copying && rng.random::<f64>() < 0.7;
                let teller = if repeats { source - source % 3 } else { source };
                let [item, source] = [item, source].map(|n| n.to_string());
                builder.push(&item, &source, &classes[labels[teller]])?;
            }
            for source in 0..shape.sources {
                // A copying source has a mixture of two rows.
                let own = if errors == Errors::Copying { 0.3 } else { 1.0 };
                for l in 0..k {
                    confusion[source][class][l] +=
                        own * rows[source][l] + (1.0 - own) * rows[source - source % 3][l];
                }
            }
        }
        confusion
            .iter_mut()
            .flatten()
            .for_each(|row| consilience_numerics::simplex::normalise(row));
        Ok(Self { votes: builder.finish()?, truth, confusion })
    }

    /// The same votes with gold labels of the first `n` items.
    fn with_gold(&self, n: usize) -> Result<Votes> {
        let names = self.votes.items().iter().map(|name| number(name));
        let gold: Vec<Option<usize>> =
            names.map(|item| (item < n).then(|| self.truth[item])).collect();
        self.votes.with_gold(&gold)
    }

    /// Log-loss and accuracy on the items from `first` on.
    fn scores(&self, result: &Aggregation, first: usize) -> (f64, f64) {
        let (mut loss, mut right, mut n) = (0.0, 0.0, 0.0);
        for (place, name) in self.votes.items().iter().enumerate() {
            let item = number(name);
            if item >= first {
                loss -= result.probabilities(place)[self.truth[item]].max(1e-6).ln();
                right += f64::from(u8::from(result.label(place) == self.truth[item]));
                n += 1.0;
            }
        }
        (loss / n, right / n)
    }

    /// Mean error of the accuracies, mean absolute error of the confusion matrices, and the share of
    /// 90 % intervals of accuracies that contain the truth.
    fn recovery(&self, result: &Aggregation) -> [f64; 3] {
        let k = self.votes.n_classes() as f64;
        let mut sums = [0.0; 3];
        for source in result.sources() {
            let truth = &self.confusion[number(&source.source)];
            let accuracy = truth.iter().enumerate().map(|(j, row)| row[j]).sum::<f64>() / k;
            let cells = source.confusion.iter().flatten().zip(truth.iter().flatten());
            sums[0] += source.accuracy.value - accuracy;
            sums[1] += cells.map(|(a, b)| (a - b).abs()).sum::<f64>() / (k * k);
            let covered = source.accuracy.low <= accuracy && accuracy <= source.accuracy.high;
            sums[2] += f64::from(u8::from(covered));
        }
        sums.map(|sum| sum / self.votes.n_sources() as f64)
    }
}

/// The index at which the sum of probabilities exceeds a number.
fn draw(row: &[f64], mut left: f64) -> usize {
    let found = row.iter().position(|p| {
        left -= p;
        left < 0.0
    });
    found.unwrap_or(row.len() - 1)
}

/// Adds to a list of sums.
fn add(sums: &mut [f64], values: &[f64]) {
    sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
}

/// Recovery, coverage and scores of methods, means over panels.
pub(super) fn panels(n_panels: u64) -> Result<()> {
    let methods: Vec<(&str, VoteConfig, usize)> = vec![
        ("auto", VoteConfig::default(), 0),
        ("auto", VoteConfig::default(), 50),
        ("auto, rho 0", VoteConfig::default().with_option("rho", 0.0.into())?, 0),
        ("ibcc", "ibcc".parse()?, 0),
        ("ebcc", "ebcc".parse()?, 0),
        ("ueda", "ueda".parse()?, 0),
        ("dawid-skene", "dawid-skene".parse()?, 0),
        ("majority", "majority".parse()?, 0),
    ];
    println!("errors,classes,method,gold,accuracy,log_loss,accuracy_bias,confusion_error,coverage");
    for (name, errors) in ALL {
        for classes in [2, 4] {
            let shape = Shape { items: 600, sources: 30, per_item: 8, classes };
            let mut sums = vec![[0.0; 5]; methods.len()];
            for seed in 0..n_panels {
                let panel = Panel::simulate(shape, errors, seed)?;
                for ((_, method, gold), sums) in methods.iter().zip(&mut sums) {
                    let result = method.fit(&panel.with_gold(*gold)?)?;
                    let (loss, accuracy) = panel.scores(&result, *gold);
                    let [bias, confusion, coverage] = panel.recovery(&result);
                    add(sums, &[accuracy, loss, bias, confusion, coverage]);
                }
            }
            for ((method, _, gold), sums) in methods.iter().zip(&sums) {
                let cells = sums.map(|sum| format!("{:.3}", sum / n_panels as f64));
                println!("{name},{classes},\"{method}\",{gold},{}", cells.join(","));
            }
        }
    }
    Ok(())
}

/// Numbers of gold labels in the table of log-losses.
const GOLD: [usize; 6] = [0, 10, 49, 50, 100, 400];

/// Log-losses of dense panels against the number of gold labels, means over panels.
pub(super) fn gold(n_panels: u64) -> Result<()> {
    let methods: [(&str, VoteConfig); 2] =
        [("auto", VoteConfig::default()), ("dbcc", "dbcc".parse()?)];
    println!("errors,sources,classes,method,{}", GOLD.map(|n| format!("gold_{n}")).join(","));
    for (name, errors) in ALL {
        for (sources, classes) in [(9, 2), (9, 4), (21, 2)] {
            let shape = Shape { items: 1400, sources, per_item: sources, classes };
            let mut sums = [[0.0; GOLD.len()]; 2];
            for seed in 0..n_panels {
                let panel = Panel::simulate(shape, errors, 1000 + seed)?;
                for ((method, config), sums) in methods.iter().zip(&mut sums) {
                    for (n, sum) in GOLD.iter().zip(sums) {
                        if *method == "auto" || *n >= 49 {
                            let result = config.fit(&panel.with_gold(*n)?)?;
                            *sum += panel.scores(&result, 400).0;
                        }
                    }
                }
            }
            for ((method, _), sums) in methods.iter().zip(&sums) {
                let cells = sums.map(|sum| {
                    if sum > 0.0 { format!("{:.4}", sum / n_panels as f64) } else { String::new() }
                });
                println!("{name},{sources},{classes},{method},{}", cells.join(","));
            }
        }
    }
    Ok(())
}
