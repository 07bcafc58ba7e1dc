//! Data augmentation and the likelihood route against brute force and against each other.
//!
//! Slow ones: `cargo test --release -p consilience --test correlated_gibbs -- --ignored --nocapture`

#![allow(clippy::print_stdout)] // the slow ones report numbers

use std::sync::Arc;

use consilience::methods::correlated::learning::{
    Correlated, DeltaPrior, DeltaSampler, FittedPair,
};
use consilience::simulation::{Preset, Truth};
use consilience::{NoProgress, Outputs, Schema};
use correlated_dirichlet::CorrelatedDirichlet;
use correlated_dirichlet::pair::{PairDensity, Scratch};

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
