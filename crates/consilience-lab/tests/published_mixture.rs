//! The mixture as published has the losses printed for it; the library's mixture is better.

#![allow(clippy::print_stdout)] // slow tests report numbers

use consilience::methods::fuse;
use consilience::methods::normal_mixture::NormalMixture;
use consilience::simulation::Preset;
use consilience::{ClassPrior, InputFormat, NoProgress, Outputs, OutputsBuilder, Schema};
use consilience_lab::published_mixture::PublishedMixture;
use consilience_lab::real_data_set;

/// The mean over items of −ln p of the true class, every class with the same weight.
fn loss(probabilities: &[f64], test: &Outputs) -> f64 {
    let (n_classes, counts) = (test.schema().n_classes(), test.class_counts());
    let item = |i: usize| {
        let label = test.label(i).unwrap();
        -probabilities[i * n_classes + label].ln() / (counts[label] as f64 * n_classes as f64)
    };
    (0..test.n_items()).map(item).sum()
}

fn published(train: &Outputs, test: &Outputs, seed: u64) -> f64 {
    let prior = ClassPrior::uniform(test.schema().n_classes());
    let fused = PublishedMixture::fit(train, seed).unwrap().fuse(test, &prior).unwrap();
    loss(&fused, test)
}

fn ours(train: &Outputs, test: &Outputs, seed: u64) -> f64 {
    let prior = ClassPrior::uniform(test.schema().n_classes());
    let config = NormalMixture { seed, ..NormalMixture::default() };
    let fitted = config.learn(train, &NoProgress).unwrap();
    loss(fuse(&fitted.fusion, test, &prior).unwrap().all(), test)
}

/// The paper's printed log-losses of the authors' program on simulated data.
const PRINTED: [(Preset, f64, f64); 6] = [
    (Preset::Sim1, 1.0, 0.96),
    (Preset::Sim2, 0.0, 0.58),
    (Preset::Sim2, 1.0, 0.72),
    (Preset::Sim1, 0.0, 0.91),
    (Preset::Sim1, 0.5, 0.95),
    (Preset::Sim2, 0.5, 0.66),
];

/// Means of three fits to 500 items per class, as in the paper, on `n` test items per class.
fn check_printed(cases: &[(Preset, f64, f64)], n: usize) {
    for &(preset, r, printed) in cases {
        let truth = preset.truth(r).unwrap();
        let one = |seed: u64| {
            let train = truth.simulate(500, seed).unwrap();
            published(&train, &truth.simulate(n, 100 + seed).unwrap(), seed)
        };
        let got = (0..3).map(one).sum::<f64>() / 3.0;
        println!("{preset:?} r={r}: {got:.4}, printed {printed}");
        assert!((got - printed).abs() < 0.02, "{preset:?} {r}: {got}, printed {printed}");
    }
}

/// The standard error over test items is 0.010 to 0.013.
#[test]
fn two_printed_losses() {
    check_printed(&PRINTED[..2], 250);
}

/// The standard error over test items is 0.005; the printed values have 0.01 and more themselves.
#[test]
#[ignore = "slow: make validate"]
fn all_printed_losses() {
    check_printed(&PRINTED, 1000);
}

/// SIM 2 is far from the fixed prior of the published program. The optimum is 0.413 for r = 0 and 0.668 for r = 1.
#[test]
fn the_mixture_of_the_library_is_better_on_simulated_data() {
    for (r, optimum) in [(0.0, 0.413), (1.0, 0.668)] {
        let truth = Preset::Sim2.truth(r).unwrap();
        let (train, test) = (truth.simulate(300, 1).unwrap(), truth.simulate(1000, 2).unwrap());
        let (ours, published) = (ours(&train, &test, 1), published(&train, &test, 1));
        println!("r={r}: ours {ours:.4}, published {published:.4}, optimum {optimum}");
        assert!(ours < published - 0.03 && ours < optimum + 0.05, "{ours} {published}");
    }
}

/// Ten folds, uniform class prior.
#[test]
#[ignore = "slow: make validate"]
fn the_mixture_of_the_library_is_better_on_real_data() {
    for name in ["dna_c", "dna_b", "dna_a", "bookies_c", "bookies_b", "bookies_a"] {
        let Some(outputs) = real_data_set(name) else { return };
        let mut sums = [0.0; 2];
        for fold in 0..10 {
            let part = |inside: bool| {
                let items = (0..outputs.n_items()).filter(|i| (i % 10 == fold) == inside);
                outputs.select_items(&items.collect::<Vec<_>>())
            };
            let (train, test) = (part(false), part(true));
            sums[0] += ours(&train, &test, 0);
            sums[1] += published(&train, &test, 0);
        }
        let [ours, published] = sums.map(|sum| sum / 10.0);
        println!("{name:10} ours {ours:.4}, published {published:.4}");
        assert!(ours < published, "{name}: {ours} {published}");
    }
}

/// Few items, constant outputs: no error, no NaN.
#[test]
fn little_or_degenerate_data_have_a_fit() {
    let schema = Schema::new(["a", "b"], ["x", "y"]).unwrap();
    let rows: [&[[f64; 2]]; 2] = [&[[0.8, 0.7], [0.3, 0.4]], &[[0.6, 0.6]; 6]];
    for rows in rows {
        let mut builder = OutputsBuilder::new(schema.clone(), InputFormat::default()).unwrap();
        for (i, [p, q]) in rows.iter().enumerate() {
            builder.push_indexed(&[*p, 1.0 - p, *q, 1.0 - q], Some(i % 2)).unwrap();
        }
        assert!(published(&builder.finish(), &outputs_of(&schema), 1).is_finite());
    }
}

fn outputs_of(schema: &Schema) -> Outputs {
    let mut builder = OutputsBuilder::new(schema.clone(), InputFormat::default()).unwrap();
    builder.push_indexed(&[0.9, 0.1, 0.4, 0.6], Some(0)).unwrap();
    builder.push_indexed(&[0.2, 0.8, 0.5, 0.5], Some(1)).unwrap();
    builder.finish()
}
