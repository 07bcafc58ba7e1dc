//! The joint fit of α and δ: against importance weights, coverage, and log-losses on real data.

use std::sync::Arc;

use consilience::methods::correlated::CorrelatedFusion;
use consilience::methods::correlated::learning::{
    Correlated, CorrelatedInference, DeltaPrior, FittedPair,
};
use consilience::methods::fuse;
use consilience::simulation::Preset;
use consilience::{ClassPrior, NoProgress, Outputs};
use correlated_dirichlet::CorrelatedDirichlet;

use super::{tiny, weighed};

fn fit(outputs: &Outputs, config: &Correlated) -> FittedPair {
    config.fit_pair(outputs, &NoProgress).unwrap()
}

/// Four elements, five standard errors: a false alarm in 10⁵ runs.
#[test]
fn a_joint_fit_agrees_with_importance_weights() {
    let outputs = tiny();
    let (truth, ess) = weighed(&outputs);
    let config = Correlated {
        inference: CorrelatedInference::Joint,
        delta_prior: DeltaPrior::Uniform,
        resolution: Some(0.0),
        draws: 100,
        ..Correlated::default()
    };
    let fitted = fit(&outputs, &config);
    let report = fitted.delta_posterior.as_ref().unwrap();
    let other = fitted.alpha_posterior.as_ref().unwrap();
    let fewest = report.worst.ess_bulk.min(other.worst.ess_bulk);
    assert!(ess > 150.0 && fewest > 60.0 && report.acceptance > 0.4, "{ess} {report:?} {other:?}");
    let allowed = 5.0 * (1.0 / ess + 1.0 / fewest).sqrt();
    let (delta, alpha) = (&fitted.delta[0], &fitted.alpha[0][0]);
    let (delta_sd, alpha_sd) = (&report.delta_sd[0], &other.alpha_sd[0][0]);
    let means = [delta[0], delta[1], alpha[0], alpha[1]];
    let sds = [delta_sd[0], delta_sd[1], alpha_sd[0], alpha_sd[1]];
    for (e, [mean, sd]) in truth.into_iter().enumerate() {
        let off = (means[e] - mean) / sd;
        assert!(off.abs() < allowed, "{e}: {off} of {allowed} sd");
        let ratio = sds[e] / sd;
        assert!((ratio - 1.0).abs() < allowed, "{e}: sd {ratio}");
    }
}

/// The coverage of central 90 % intervals over 20 data sets, for δ and α.
#[test]
#[ignore = "slow: make validate"]
fn joint_intervals_cover() {
    let truth = Preset::Sim2.truth(0.5).unwrap();
    let config = Correlated {
        inference: CorrelatedInference::Joint,
        resolution: Some(0.0), // simulated outputs do not tie; without tables small sets are faster
        draws: 100,
        keep_draws: 400,
        ..Correlated::default()
    };
    let (mut inside, mut n, mut acceptance) = ([0u32; 2], [0u32; 2], 0.0);
    for seed in 0..20 {
        let outputs = truth.simulate(40, 300 + seed).unwrap();
        let fitted = fit(&outputs, &config);
        let report = fitted.delta_posterior.as_ref().unwrap();
        acceptance += report.acceptance / 20.0;
        for (j, class) in truth.classes().iter().enumerate() {
            for l in 0..3 {
                let mut count = |which: usize, value: f64, [low, high]: [f64; 2]| {
                    inside[which] += u32::from(low <= value && value <= high);
                    n[which] += 1;
                };
                count(0, class.common()[l], report.delta_interval[j][l]);
                for k in 0..2 {
                    let mut draws: Vec<f64> =
                        fitted.draws.iter().map(|draw| draw.alpha[k][j][l]).collect();
                    draws.sort_by(f64::total_cmp);
                    count(1, class.alpha()[k][l], [draws[19], draws[379]]);
                }
            }
        }
    }
    let share = |i: usize| f64::from(inside[i]) / f64::from(n[i]);
    println!(
        "δ {:.3} of {}, α {:.3} of {}, acceptance {acceptance:.2}",
        share(0),
        n[0],
        share(1),
        n[1]
    );
    assert!((0.84..0.96).contains(&share(0)) && (0.84..0.96).contains(&share(1)));
}

/// Prints the mean log-loss on one eighth of the data after a fit on another, joint minus two-step. There is no limit
/// yet: with so few draws DNA C has been off by 0.006, and the cause is unknown.
#[test]
#[ignore = "slow: make validate"]
fn joint_and_two_step_losses() {
    for name in ["dna_b", "dna_c"] {
        let Some(outputs) = consilience_lab::real_data_set(name) else { continue };
        let schema = outputs.schema();
        let part = |first: usize| {
            let items: Vec<usize> = (first..outputs.n_items()).step_by(8).collect();
            outputs.select_items(&items)
        };
        let (train, test) = (part(0), part(1));
        let losses = [CorrelatedInference::TwoStep, CorrelatedInference::Joint].map(|inference| {
            let config = Correlated { inference, draws: 100, ..Correlated::default() };
            let fitted = fit(&train, &config);
            let class = |j: usize| {
                let alpha = vec![fitted.alpha[0][j].clone(), fitted.alpha[1][j].clone()];
                CorrelatedDirichlet::new(alpha, Some(fitted.delta[j].clone()), vec![]).unwrap()
            };
            let classes: Vec<_> = (0..3).map(class).collect();
            let model = CorrelatedFusion::new(Arc::clone(schema), &classes, 0.03).unwrap();
            let fused = fuse(&model, &test, &ClassPrior::uniform(3)).unwrap();
            println!("{name} {inference:?} {:?}", fitted.delta_posterior.unwrap().worst);
            let loss = |i: usize| -fused.probabilities(i)[test.label(i).unwrap()].ln();
            (0..test.n_items()).map(loss).collect::<Vec<f64>>()
        });
        let n = test.n_items() as f64;
        let differences: Vec<f64> = losses[1].iter().zip(&losses[0]).map(|(a, b)| a - b).collect();
        let mean = differences.iter().sum::<f64>() / n;
        let variance = differences.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / (n - 1.0);
        println!(
            "{name}: {:.5} two-step, joint minus two-step {mean:.5} (s.e. {:.5}), {} items",
            losses[0].iter().sum::<f64>() / n,
            (variance / n).sqrt(),
            train.n_items()
        );
    }
}
