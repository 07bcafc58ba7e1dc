//! `auto` where training and use differ: rare classes, absent outputs.

use consilience::evaluation::Predictions;
use consilience::fusion::auto::{AutoConfig, AutoFusion};
use consilience::fusion::stacking::{ClassBalance, StackingConfig};
use consilience::{Intake, Outputs, OutputsBuilder, Unwatched};

use crate::{SETS, loss, out_of_fold, real_set};

fn auto(outputs: &Outputs) -> AutoFusion {
    AutoConfig::default().fit(outputs, &Unwatched).expect("a fit").fusion
}

/// Keeps every 6th item of the second class and every 36th of the third, beginning at the `draw`-th.
fn thinned(outputs: &Outputs, draw: usize) -> Outputs {
    let mut seen = [0; 3];
    let kept = |item: &usize| {
        let label = outputs.label(*item).expect("a label");
        seen[label] += 1;
        let every = [1, 6, 36][label];
        seen[label] % every == draw % every
    };
    outputs.select_items(&(0..outputs.n_items()).filter(kept).collect::<Vec<usize>>())
}

/// The exponent β that makes Pᵝ, normalised, predict best: 1 where P is neither too sure of itself
/// nor too timid.
fn best_exponent(outputs: &Outputs, predictions: &Predictions) -> f64 {
    let n_classes = outputs.schema().n_classes();
    let tempered = |beta: f64| {
        let rows = predictions.probabilities.chunks_exact(n_classes).flat_map(|row| {
            let powers: Vec<f64> = row.iter().map(|p| p.powf(beta)).collect();
            let sum: f64 = powers.iter().sum();
            powers.into_iter().map(move |p| p / sum)
        });
        loss(outputs, &Predictions { name: "tempered".into(), probabilities: rows.collect() })
    };
    let grid = (50..200).map(|i| f64::from(i) * 0.01);
    grid.min_by(|a, b| tempered(*a).total_cmp(&tempered(*b))).expect("a grid")
}

/// Thinnings to average over: the third class is left with some twenty to forty items, which say
/// little by themselves.
const DRAWS: usize = 6;

/// Scored with every class the same, it is calibrated at natural frequencies. Trained with two
/// classes thinned by 6 and 36 it is not too sure of itself either, on average over thinnings,
/// because class frequencies are kept out of the fit; where classifiers are sharp and a class has
/// some twenty items, it is timid on DNA A: 1.145 where this test allows 1.1. The cause is not known.
#[test]
#[ignore = "slow: 6 sets, 6 thinnings, 3 methods, 150 exponents"]
fn rare_classes_leave_it_calibrated() {
    let mut wrong = Vec::new();
    for name in SETS {
        let Some(outputs) = real_set(name) else { return };
        let natural = best_exponent(&outputs, &out_of_fold(&outputs, auto));
        let mut exponents = Vec::new();
        let mut losses = [0.0; 3];
        for draw in 0..DRAWS {
            let few = out_of_fold(&outputs, |train| auto(&thinned(train, draw)));
            exponents.push(best_exponent(&outputs, &few));
            let stacking = |balance| {
                let config = StackingConfig { balance, ..StackingConfig::default() };
                let fit =
                    |train: &Outputs| config.fit(&thinned(train, draw)).expect("a fit").fusion;
                loss(&outputs, &out_of_fold(&outputs, fit))
            };
            let drawn = [
                loss(&outputs, &few),
                stacking(ClassBalance::Offset),
                stacking(ClassBalance::Weights),
            ];
            losses.iter_mut().zip(drawn).for_each(|(sum, loss)| *sum += loss / DRAWS as f64);
        }
        let mean = exponents.iter().sum::<f64>() / DRAWS as f64;
        eprintln!(
            "{name:10} exponent {natural:.2}; thinned {mean:.3} {exponents:.2?}, log-loss of auto, \
             stacking with offset and with weights {losses:.4?}"
        );
        if !(0.9..=1.1).contains(&natural) || !(0.9..=1.1).contains(&mean) {
            wrong.push(format!("{name}: {natural}, {mean}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// Three in ten outputs absent, by a fixed pattern without any meaning.
fn with_gaps(outputs: &Outputs) -> Outputs {
    let (k, j) = (outputs.schema().n_classifiers(), outputs.schema().n_classes());
    let mut builder = OutputsBuilder::new(outputs.schema().clone(), Intake::default()).unwrap();
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

/// Filling in is better than dropping incomplete training items, or at least no worse.
#[test]
#[ignore = "slow: 6 sets, 3 fits a fold"]
fn absent_outputs_cost_little() {
    for name in SETS {
        let Some(outputs) = real_set(name) else { return };
        let gaps = with_gaps(&outputs);
        let complete = |train: &Outputs| {
            let all = train.all();
            let whole = |&i: &usize| all.present(i).count() == all.n_classifiers();
            auto(&train.select_items(&(0..all.len()).filter(whole).collect::<Vec<usize>>()))
        };
        let whole = loss(&outputs, &out_of_fold(&outputs, auto));
        let filled = loss(&gaps, &out_of_fold(&gaps, auto));
        let dropped = loss(&gaps, &out_of_fold(&gaps, complete));
        eprintln!("{name:10} complete {whole:.4}, filled {filled:.4}, dropped {dropped:.4}");
        assert!(filled < dropped + 0.002, "{name}: {filled} {dropped}");
    }
}
