//! `auto` where training and use differ: rare classes, absent outputs.

use consilience::evaluation::Predictions;
use consilience::fusion::auto::{AutoConfig, AutoFusion};
use consilience::fusion::stacking::{ClassBalance, StackingConfig};
use consilience::{Intake, Outputs, OutputsBuilder, Unwatched};

use crate::{SETS, loss, out_of_fold, real_set};

fn auto(outputs: &Outputs) -> AutoFusion {
    AutoConfig::default().fit(outputs, &Unwatched).expect("a fit").fusion
}

/// Keeps every 6th item of the second class and every 36th of the third.
fn thinned(outputs: &Outputs) -> Outputs {
    let mut seen = [0; 3];
    let kept = |item: &usize| {
        let label = outputs.label(*item).expect("a label");
        seen[label] += 1;
        seen[label] % [1, 6, 36][label] == 0
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

/// Trained with two classes thinned by 6 and 36, scored with every class the same: still
/// calibrated, because class frequencies are kept out of the fit.
#[test]
#[ignore = "slow: 6 sets, 3 methods, 150 exponents"]
fn rare_classes_leave_it_calibrated() {
    for name in SETS {
        let Some(outputs) = real_set(name) else { return };
        let natural = out_of_fold(&outputs, auto);
        let few = out_of_fold(&outputs, |train| auto(&thinned(train)));
        let stacking = |balance| {
            let config = StackingConfig { balance, ..StackingConfig::default() };
            let fit = |train: &Outputs| config.fit(&thinned(train)).expect("a fit").fusion;
            loss(&outputs, &out_of_fold(&outputs, fit))
        };
        let exponents = [&natural, &few].map(|p| best_exponent(&outputs, p));
        eprintln!(
            "{name:10} natural {:.4} (exponent {:.2}), thinned {:.4} ({:.2}); stacking thinned, \
             offset {:.4}, weights {:.4}",
            loss(&outputs, &natural),
            exponents[0],
            loss(&outputs, &few),
            exponents[1],
            stacking(ClassBalance::Offset),
            stacking(ClassBalance::Weights),
        );
        assert!(exponents.iter().all(|beta| (0.9..=1.1).contains(beta)), "{name}: {exponents:?}");
    }
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
