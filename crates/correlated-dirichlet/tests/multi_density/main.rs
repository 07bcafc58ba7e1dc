//! The density of three and more classifiers: reference values, limits, plain Monte Carlo and the reported error.

#![allow(clippy::print_stdout, reason = "slow tests print their measurements")]
#![allow(clippy::doc_markdown, reason = "formulas in the documentation carry their indices")]

mod brute_force;
mod honesty;
mod limits;
mod reference;

use correlated_dirichlet::{CorrelatedDirichlet, Estimate, MultiDensity, MultiScratch, SharedPair};

fn pair(first: usize, second: usize, delta: &[f64]) -> SharedPair {
    SharedPair { first, second, delta: delta.to_vec() }
}

fn slices(x: &[Vec<f64>]) -> Vec<&[f64]> {
    x.iter().map(Vec::as_slice).collect()
}

fn ln_density(distribution: &CorrelatedDirichlet, x: &[Vec<f64>]) -> Estimate {
    MultiDensity::new(distribution).unwrap().ln_density(&slices(x), &mut MultiScratch::default())
}

/// The three classifiers of the reference values.
fn three() -> CorrelatedDirichlet {
    let alpha = vec![vec![6.0, 4.0, 4.0], vec![5.0, 4.0, 5.0], vec![6.0, 5.0, 4.0]];
    let pairs = vec![
        pair(0, 1, &[1.0, 0.5, 0.8]),
        pair(0, 2, &[0.6, 0.4, 0.7]),
        pair(1, 2, &[0.5, 0.9, 0.4]),
    ];
    CorrelatedDirichlet::new(alpha, Some(vec![1.5, 1.0, 1.2]), pairs).unwrap()
}
