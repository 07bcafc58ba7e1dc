//! Posteriors of δ and α against brute force, importance weights and data augmentation.

#![allow(clippy::print_stdout)] // slow tests report numbers

mod gibbs;
mod joint;

use std::sync::Arc;

use consilience::methods::independent::{Alpha, Independent, SufficientStatistics};
use consilience::simulation::Truth;
use consilience::{NoProgress, Outputs, Schema};
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
