//! The library's posterior of δ and data augmentation against brute force, importance weights and each other.

#![allow(clippy::print_stdout)] // slow tests report numbers

use std::sync::Arc;

use consilience::methods::correlated::learning::{Correlated, DeltaPrior, FittedPair};
use consilience::methods::independent::{Alpha, Independent, SufficientStatistics};
use consilience::simulation::{Preset, Truth};
use consilience::{NoProgress, Outputs, Schema};
use consilience_lab::gibbs::{Draw, Gibbs};
use correlated_dirichlet::pair::{PairDensity, Scratch};
use correlated_dirichlet::{CorrelatedDirichlet, Dirichlet};

/// Two classes of 15 items with different margins; about half of the smaller one is shared.
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

/// The margins by the independent model.
fn independent(outputs: &Outputs) -> Alpha {
    let statistics = SufficientStatistics::of(outputs).unwrap();
    let fitted = Independent::default().learn(outputs.schema(), &statistics, &NoProgress).unwrap();
    fitted.fusion.alpha().clone()
}

/// Posterior means and standard deviations of δ and α¹ of class 0, components 0 and 1, and the effective number of
/// draws: importance weights turn draws of independent margins and uniform fractions into draws of the joint posterior.
fn weighed(outputs: &Outputs) -> ([[f64; 2]; 4], f64) {
    const N: usize = 2500;
    let statistics = SufficientStatistics::of(outputs).unwrap();
    let config = Independent { keep_draws: N, seed: 9, ..Independent::default() };
    let draws = config.learn(outputs.schema(), &statistics, &NoProgress).unwrap().draws;
    let mut scratch = Scratch::default();
    let mut points = Vec::new();
    for (i, draw) in draws.iter().enumerate() {
        let alpha = [&draw[0][0], &draw[1][0]];
        // two irrational steps: evenly spread fractions
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

/// Mean and standard deviation of one δ, and the effective number of draws behind them.
type Moments = ([f64; 2], f64);

/// By the library.
fn by_likelihood(fitted: &FittedPair, class: usize, component: usize) -> Moments {
    let report = fitted.delta_posterior.as_ref().unwrap();
    let moments = [fitted.delta[class][component], report.delta_sd[class][component]];
    (moments, report.worst.ess_bulk)
}

fn likelihood(outputs: &Outputs, alpha: &Alpha, config: &Correlated) -> FittedPair {
    config.fit_pair_given_alpha(outputs, alpha.clone(), &NoProgress).unwrap()
}

fn gibbs(config: &Correlated, warmup: usize, draws: usize) -> Gibbs {
    let Correlated { delta_prior, resolution, seed, .. } = *config;
    let resolution = resolution.unwrap_or(0.03);
    Gibbs { delta_prior, resolution, chains: 4, warmup, draws, seed }
}

/// Mean and standard deviation of both δ of a class under the uniform prior, by summing the density of all outputs
/// over a lattice of δ.
fn brute_force(outputs: &Outputs, alpha: &Alpha, class: usize, epsilon: f64) -> [[f64; 2]; 2] {
    const N: i32 = 14;
    let alpha = [&alpha[0][class], &alpha[1][class]];
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

/// Two classes of 15 items, four elements, two samplers: a false alarm in 10⁵ runs.
#[test]
fn both_routes_agree_with_brute_force() {
    let outputs = tiny();
    let alpha = independent(&outputs);
    let config = Correlated {
        delta_prior: DeltaPrior::Uniform,
        resolution: Some(0.0),
        draws: 300,
        ..Correlated::default()
    };
    let fitted = likelihood(&outputs, &alpha, &config);
    let drawn = gibbs(&config, 100, 300).sample_delta(&outputs, &alpha).unwrap();
    for class in 0..2 {
        for (l, [mean, sd]) in brute_force(&outputs, &alpha, class, 0.0).into_iter().enumerate() {
            let (moments, diagnostics) = drawn.summary(|draw| draw.delta[class][l]);
            let by_gibbs = (moments, diagnostics.ess_bulk);
            for (name, ([own_mean, own_sd], ess)) in
                [("likelihood", by_likelihood(&fitted, class, l)), ("augmentation", by_gibbs)]
            {
                let off = (own_mean - mean) / sd;
                // five standard errors, and 0.01 standard deviations for lattice and surrogate
                let allowed = 5.0 / ess.sqrt() + 0.01;
                assert!(off.abs() < allowed, "{name} class {class}, {l}: {off} sd of {allowed}");
                let ratio = own_sd / sd;
                assert!((ratio - 1.0).abs() < 0.8 * allowed, "{name} {class} {l}: sd {ratio}");
            }
        }
    }
}

/// α and δ together; four elements, five standard errors: a false alarm in 10⁵ runs.
#[test]
#[ignore = "slow: make validate"]
fn joint_augmentation_agrees_with_importance_weights() {
    let outputs = tiny();
    let (truth, ess) = weighed(&outputs);
    let config = Correlated {
        delta_prior: DeltaPrior::Uniform,
        resolution: Some(0.0),
        ..Correlated::default()
    };
    let alpha = independent(&outputs);
    let drawn = gibbs(&config, 200, 1000).sample_joint(&outputs, &alpha, 2.0).unwrap();
    let quantities: [fn(&Draw) -> f64; 4] = [
        |draw| draw.delta[0][0],
        |draw| draw.delta[0][1],
        |draw| draw.alpha[0][0][0],
        |draw| draw.alpha[0][0][1],
    ];
    for ([mean, sd], quantity) in truth.into_iter().zip(quantities) {
        let ([own_mean, own_sd], diagnostics) = drawn.summary(quantity);
        let allowed = 5.0 * (1.0 / ess + 1.0 / diagnostics.ess_bulk).sqrt();
        let (off, ratio) = ((own_mean - mean) / sd, own_sd / sd);
        println!("{off:.3} sd, ratio of sd {ratio:.3}, allowed {allowed:.3}");
        assert!(diagnostics.ess_bulk > 60.0 && off.abs() < allowed, "{off} of {allowed}");
        assert!((ratio - 1.0).abs() < allowed, "{ratio}");
    }
}

/// Both routes on SIM 2 with r = 0.5 and 200 items per class.
#[test]
#[ignore = "slow: make validate"]
fn both_routes_agree_on_sim2() {
    let outputs = Preset::Sim2.truth(0.5).unwrap().simulate(200, 4).unwrap();
    let alpha = independent(&outputs);
    for resolution in [0.0, 0.03] {
        let config = Correlated { resolution: Some(resolution), ..Correlated::default() };
        let fitted = likelihood(&outputs, &alpha, &config);
        let drawn = gibbs(&config, 200, 1200).sample_delta(&outputs, &alpha).unwrap();
        for (class, l) in (0..9).map(|i| (i / 3, i % 3)) {
            let ([mean, sd], ess) = by_likelihood(&fitted, class, l);
            let ([other, other_sd], diagnostics) = drawn.summary(|draw| draw.delta[class][l]);
            let error = (sd * sd / ess + other_sd * other_sd / diagnostics.ess_bulk).sqrt();
            let (off, ratio) = ((mean - other) / error, other_sd / sd);
            println!(
                "ε = {resolution}, {class} {l}: {mean:.3} {other:.3}, {off:.2} s.e., sd {ratio:.2}"
            );
            assert!(off.abs() < 4.0 && (ratio - 1.0).abs() < 0.2, "{off} {ratio}");
        }
    }
}
