//! Data augmentation and the likelihood route against brute force and against each other.
//!
//! Slow ones: `cargo test --release -p consilience --test correlated_gibbs -- --ignored --nocapture`

#![allow(clippy::print_stdout)] // the slow ones report numbers

use std::sync::Arc;

use consilience::methods::correlated::CorrelatedFusion;
use consilience::methods::correlated::learning::{
    Correlated, CorrelatedInference, DeltaPrior, DeltaSampler, FittedPair,
};
use consilience::methods::fuse;
use consilience::methods::independent::{Independent, SufficientStatistics};
use consilience::simulation::{Preset, Truth};
use consilience::{ClassPrior, InputFormat, NoProgress, Outputs, OutputsBuilder, Schema};
use correlated_dirichlet::pair::{PairDensity, Scratch};
use correlated_dirichlet::{CorrelatedDirichlet, Dirichlet};

/// Two classes, margins that differ, about half of the smaller shared.
fn tiny() -> Outputs {
    let class = |first: [f64; 2], second: [f64; 2], delta: [f64; 2]| {
        let alpha = vec![first.to_vec(), second.to_vec()];
        CorrelatedDirichlet::new(alpha, Some(delta.to_vec()), vec![]).unwrap()
    };
    let classes =
        vec![class([5.0, 2.0], [4.0, 3.0], [2.5, 1.0]), class([2.0, 4.0], [2.5, 5.0], [1.0, 2.0])];
    let schema = Schema::new(["a", "b"], ["x", "y"]).unwrap();
    Truth::new(Arc::new(schema), classes).unwrap().simulate(15, 5).unwrap()
}

fn fit(outputs: &Outputs, config: &Correlated) -> FittedPair {
    config.fit_pair(outputs, &NoProgress).unwrap()
}

/// Mean and standard deviation of both δ of a class under the uniform prior, by summing the density of all outputs
/// over a lattice of shares.
fn brute_force(
    outputs: &Outputs,
    fitted: &FittedPair,
    class: usize,
    epsilon: f64,
) -> [[f64; 2]; 2] {
    const N: i32 = 14;
    let alpha = [&fitted.alpha[0][class], &fitted.alpha[1][class]];
    let bound = [0, 1].map(|l| alpha[0][l].min(alpha[1][l]));
    let items: Vec<usize> =
        (0..outputs.n_items()).filter(|&i| outputs.label(i) == Some(class)).collect();
    let mut scratch = Scratch::default();
    let mut points = Vec::new();
    for i in 0..N * N {
        let share = |k: i32| (f64::from(k) + 0.5) / f64::from(N);
        let delta = [bound[0] * share(i % N), bound[1] * share(i / N)];
        let density = PairDensity::new(alpha[0], alpha[1], &delta).unwrap();
        let density = density.with_tolerance(1e-4).unwrap().with_resolution(epsilon).unwrap();
        let one = |&i: &usize| {
            let (first, second) = (outputs.output(i, 0).unwrap(), outputs.output(i, 1).unwrap());
            density.ln_density(first, second, &mut scratch).ln_density
        };
        points.push((delta, items.iter().map(one).sum::<f64>()));
    }
    let top = points.iter().map(|p| p.1).fold(f64::NEG_INFINITY, f64::max);
    let mass: f64 = points.iter().map(|p| (p.1 - top).exp()).sum();
    [0, 1].map(|l| {
        let moment = |f: &dyn Fn(f64) -> f64| {
            points.iter().map(|p| f(p.0[l]) * (p.1 - top).exp()).sum::<f64>() / mass
        };
        let mean = moment(&|x| x);
        [mean, moment(&|x| (x - mean).powi(2)).sqrt()]
    })
}

fn against_brute_force(outputs: &Outputs, config: &Correlated) {
    let fitted = fit(outputs, config);
    let report = fitted.delta_posterior.as_ref().unwrap();
    for class in 0..2 {
        let truth = brute_force(outputs, &fitted, class, config.resolution.unwrap());
        for (l, [mean, sd]) in truth.into_iter().enumerate() {
            let off = (fitted.delta[class][l] - mean) / sd;
            // five standard errors, and a hundredth of a standard deviation for the lattice and the surrogate
            let allowed = 5.0 / report.worst.ess_bulk.sqrt() + 0.01;
            assert!(off.abs() < allowed, "{:?} class {class}, {l}: {off} sd", config.sampler);
            let ratio = report.delta_sd[class][l] / sd;
            assert!((ratio - 1.0).abs() < 0.8 * allowed, "{:?}: sd off by {ratio}", config.sampler);
        }
    }
}

/// Two classes of 15 items: four elements, so a false alarm in a million runs.
#[test]
fn both_routes_agree_with_brute_force() {
    let outputs = tiny();
    let likelihood = Correlated {
        delta_prior: DeltaPrior::Uniform,
        resolution: Some(0.0),
        draws: 300,
        ..Correlated::default()
    };
    against_brute_force(&outputs, &likelihood);
    against_brute_force(&outputs, &Correlated { sampler: DeltaSampler::Gibbs, ..likelihood });
}

/// Posterior means and standard deviations of δ and α¹ of class 0, component 0 and 1, by weighing draws of independent margins
/// and uniform shares with what the pairs say beyond both margins; and the effective number of draws.
fn weighed(outputs: &Outputs) -> ([[f64; 2]; 4], f64) {
    const N: usize = 2500;
    let statistics = SufficientStatistics::of(outputs).unwrap();
    let config = Independent { keep_draws: N, seed: 9, ..Independent::default() };
    let draws = config.learn(outputs.schema(), &statistics, &NoProgress).unwrap().draws;
    let mut scratch = Scratch::default();
    let mut points = Vec::new();
    for (i, draw) in draws.iter().enumerate() {
        let alpha = [&draw[0][0], &draw[1][0]];
        // two irrational steps: evenly spread shares
        let share = [0.754_877_666, 0.569_840_290].map(|step| (0.5 + i as f64 * step).fract());
        let delta: Vec<f64> = (0..2).map(|l| share[l] * alpha[0][l].min(alpha[1][l])).collect();
        let density = PairDensity::new(alpha[0], alpha[1], &delta).unwrap();
        let density = density.with_tolerance(1e-3).unwrap();
        let margins = alpha.map(|alpha| Dirichlet::new(alpha).unwrap());
        let one = |item: usize| {
            let x = [0, 1].map(|k| outputs.output(item, k).unwrap());
            let apart = margins[0].ln_pdf(x[0]) + margins[1].ln_pdf(x[1]);
            density.ln_density(x[0], x[1], &mut scratch).ln_density - apart
        };
        let weight = (0..15).map(one).sum::<f64>().exp();
        points.push(([delta[0], delta[1], alpha[0][0], alpha[0][1]], weight));
    }
    let total: f64 = points.iter().map(|p| p.1).sum();
    let square: f64 = points.iter().map(|p| p.1 * p.1).sum();
    let moments = [0, 1, 2, 3].map(|e| {
        let mean = points.iter().map(|p| p.0[e] * p.1).sum::<f64>() / total;
        let variance = points.iter().map(|p| (p.0[e] - mean).powi(2) * p.1).sum::<f64>() / total;
        [mean, variance.sqrt()]
    });
    (moments, total * total / square)
}

fn against_weighed_draws(config: &Correlated) {
    let outputs = tiny();
    let (truth, ess) = weighed(&outputs);
    let fitted = fit(&outputs, config);
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
        assert!(off.abs() < allowed, "{:?} {e}: {off} of {allowed} sd", config.sampler);
        let ratio = sds[e] / sd;
        assert!((ratio - 1.0).abs() < allowed, "{:?} {e}: sd {ratio}", config.sampler);
    }
}

fn joint(draws: usize) -> Correlated {
    Correlated {
        inference: CorrelatedInference::Joint,
        delta_prior: DeltaPrior::Uniform,
        resolution: Some(0.0),
        draws,
        ..Correlated::default()
    }
}

/// Four elements, five standard errors: a false alarm in 10⁵ runs.
#[test]
fn a_joint_fit_agrees_with_weighed_draws() {
    against_weighed_draws(&joint(100));
}

/// The same.
#[test]
#[ignore = "slow: thousands of sweeps; see the command at the top"]
fn a_joint_fit_by_augmentation_agrees_with_weighed_draws() {
    against_weighed_draws(&Correlated { sampler: DeltaSampler::Gibbs, ..joint(1000) });
}

/// Over many sets the share of central 90 % intervals that hold the truth, for δ and α.
#[test]
#[ignore = "slow: 20 joint fits; see the command at the top"]
fn joint_intervals_cover() {
    let truth = Preset::Sim2.truth(0.5).unwrap();
    let config = Correlated {
        inference: CorrelatedInference::Joint,
        resolution: Some(0.0), // simulated outputs do not tie, and small sets are quicker without tables
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

/// The check: both routes on SIM 2, r = .5, 200 items a class.
#[test]
#[ignore = "slow: thousands of sweeps over 600 items; see the command at the top"]
fn both_routes_agree_on_sim2() {
    let outputs = Preset::Sim2.truth(0.5).unwrap().simulate(200, 4).unwrap();
    for resolution in [0.0, 0.03] {
        let likelihood = Correlated { resolution: Some(resolution), ..Correlated::default() };
        let gibbs = Correlated {
            sampler: DeltaSampler::Gibbs,
            draws: 1200,
            warmup: 200,
            ..likelihood.clone()
        };
        let [one, other] = [likelihood, gibbs].map(|config| fit(&outputs, &config));
        let [a, b] = [&one, &other].map(|f| f.delta_posterior.as_ref().unwrap());
        println!("ε = {resolution}: {:?} {:?}", a.worst, b.worst);
        let (mut worst, mut ratios) = (0.0f64, Vec::new());
        for (j, row) in one.delta.iter().enumerate() {
            for (l, mean) in row.iter().enumerate() {
                let (sa, sb) = (a.delta_sd[j][l], b.delta_sd[j][l]);
                let error = (sa * sa / a.worst.ess_bulk + sb * sb / b.worst.ess_bulk).sqrt();
                let off = (mean - other.delta[j][l]) / error;
                println!(
                    "{j} {l}: {mean:.3} {:.3}, sd {sa:.3} {sb:.3}, {off:.2} s.e.",
                    other.delta[j][l]
                );
                worst = worst.max(off.abs());
                ratios.push(sb / sa);
            }
        }
        println!("largest difference {worst:.2} s.e., ratios of sd {ratios:.2?}");
        assert!(worst < 4.0 && ratios.iter().all(|r| (r - 1.0).abs() < 0.2));
    }
}

/// A data set of the folder that `CONSILIENCE_DATA` names: a wide table, label first.
fn data(name: &str) -> Option<Vec<(String, Vec<f64>)>> {
    let folder = std::env::var("CONSILIENCE_DATA").ok()?;
    let text = std::fs::read_to_string(format!("{folder}/{name}.csv")).ok()?;
    let row = |line: &str| {
        let (label, values) = line.split_once(',').unwrap();
        (label.to_string(), values.split(',').map(|v| v.parse().unwrap()).collect())
    };
    Some(text.lines().skip(1).map(row).collect())
}

/// Prints the mean log-loss on another eighth of the data after a fit on one, joint minus two-step.
/// No limit is set: with so few draws DNA C has been off by .006, and the cause is not known.
#[test]
#[ignore = "slow: real data; see the command at the top"]
fn joint_and_two_step_losses() {
    for name in ["dna_b", "dna_c"] {
        let Some(rows) = data(name) else { continue };
        let mut labels: Vec<String> = rows.iter().map(|row| row.0.clone()).collect();
        labels.sort();
        labels.dedup();
        let schema = Arc::new(Schema::new(["c1", "c2"], labels).unwrap());
        let part = |first: usize, step: usize| {
            let mut builder =
                OutputsBuilder::new(Arc::clone(&schema), InputFormat::default()).unwrap();
            for (label, values) in rows.iter().skip(first).step_by(step) {
                builder.push(values, Some(label)).unwrap();
            }
            builder.finish()
        };
        let (train, test) = (part(0, 8), part(1, 8));
        let losses = [CorrelatedInference::TwoStep, CorrelatedInference::Joint].map(|inference| {
            let config = Correlated { inference, draws: 100, ..Correlated::default() };
            let fitted = fit(&train, &config);
            let class = |j: usize| {
                let alpha = vec![fitted.alpha[0][j].clone(), fitted.alpha[1][j].clone()];
                CorrelatedDirichlet::new(alpha, Some(fitted.delta[j].clone()), vec![]).unwrap()
            };
            let classes: Vec<_> = (0..3).map(class).collect();
            let model = CorrelatedFusion::new(Arc::clone(&schema), &classes, 0.03).unwrap();
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
