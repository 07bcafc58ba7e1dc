//! `auto` where training and test items differ: other class priors, missing outputs.

use consilience::evaluation::Predictions;
use consilience::methods::auto::{Auto, AutoFusion};
use consilience::{ClassPrior, InputFormat, NoProgress, Outputs, OutputsBuilder};

use crate::{SETS, loss, loss_under, out_of_fold, out_of_fold_under, real_set};

fn auto(outputs: &Outputs) -> AutoFusion {
    Auto::default().learn(outputs, &NoProgress).expect("a fit").fusion
}

/// The exponent β for which Pᵝ, normalised, has the smallest log-loss: below 1 for overconfident and
/// above 1 for underconfident predictions.
fn best_exponent(prior: &ClassPrior, outputs: &Outputs, predictions: &Predictions) -> f64 {
    let n_classes = outputs.schema().n_classes();
    let tempered = |beta: f64| {
        let rows = predictions.probabilities.chunks_exact(n_classes).flat_map(|row| {
            let powers: Vec<f64> = row.iter().map(|p| p.powf(beta)).collect();
            let sum: f64 = powers.iter().sum();
            powers.into_iter().map(move |p| p / sum)
        });
        let tempered = Predictions { name: "tempered".into(), probabilities: rows.collect() };
        loss_under(prior, outputs, &tempered)
    };
    let grid = (50..200).map(|i| f64::from(i) * 0.01);
    grid.min_by(|a, b| tempered(*a).total_cmp(&tempered(*b))).expect("a grid")
}

/// A fit to the natural class frequencies is calibrated under a uniform class prior, and under one in
/// which two classes are rarer by factors of 6 and 36. The class prior changes without a new fit, and
/// scores are weighted by it.
#[test]
#[ignore = "slow: make validate"]
fn auto_is_calibrated_under_other_class_priors() {
    let mut wrong = Vec::new();
    for name in SETS {
        let Some(outputs) = real_set(name) else { return };
        let labels = outputs.require_labels().expect("labels");
        let thinned = [1.0, 1.0 / 6.0, 1.0 / 36.0];
        let share = |(class, keep): (usize, f64)| {
            keep * labels.iter().filter(|label| **label == class).count() as f64
        };
        let thinned: Vec<f64> = thinned.into_iter().enumerate().map(share).collect();
        for prior in [ClassPrior::uniform(3), ClassPrior::new(&thinned).expect("a prior")] {
            let predictions = out_of_fold_under(&prior, &outputs, auto);
            let exponent = best_exponent(&prior, &outputs, &predictions);
            eprintln!("{name:10} {:.3?}: exponent {exponent:.2}", prior.probabilities());
            if !(0.9..=1.1).contains(&exponent) {
                wrong.push(format!("{name}: {exponent}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// The same items with 30 % of the outputs missing at random.
fn with_missing_outputs(outputs: &Outputs) -> Outputs {
    let (k, j) = (outputs.schema().n_classifiers(), outputs.schema().n_classes());
    let mut builder =
        OutputsBuilder::new(outputs.schema().clone(), InputFormat::default()).unwrap();
    let mut state = 1u64;
    for item in 0..outputs.n_items() {
        let mut row = outputs.items(item..item + 1).values().to_vec();
        for c in 0..k {
            // Knuth's linear congruential generator.
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            if (state >> 33) % 10 < 3 {
                row[c * j..][..j].fill(f64::NAN);
            }
        }
        builder.push_indexed(&row, outputs.label(item)).unwrap();
    }
    builder.finish()
}

/// Imputing missing training outputs is not worse than dropping incomplete training items.
#[test]
#[ignore = "slow: make validate"]
fn imputing_missing_outputs_is_not_worse_than_dropping_items() {
    for name in SETS {
        let Some(outputs) = real_set(name) else { return };
        let incomplete = with_missing_outputs(&outputs);
        let complete = |train: &Outputs| {
            let all = train.all();
            let whole = |&i: &usize| all.present(i).count() == all.n_classifiers();
            auto(&train.select_items(&(0..all.len()).filter(whole).collect::<Vec<usize>>()))
        };
        let whole = loss(&outputs, &out_of_fold(&outputs, auto));
        let filled = loss(&incomplete, &out_of_fold(&incomplete, auto));
        let dropped = loss(&incomplete, &out_of_fold(&incomplete, complete));
        eprintln!("{name:10} complete {whole:.4}, imputed {filled:.4}, dropped {dropped:.4}");
        assert!(filled < dropped + 0.002, "{name}: {filled} {dropped}");
    }
}
