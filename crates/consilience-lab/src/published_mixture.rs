//! The mixture of Pirs & Štrumbelj as their published program runs, for its printed results.
//!
//! Independent uniform numbers up to 0.001 are added to every probability. Every class has fifteen components over
//! u = `ln(xₗ/x_J)`, which start with random labels, mean 0 and covariance 1. The priors are μ ~ N(0, 100·1) and
//! Σ ~ inverse Wishart(2 + d, 100·1), whatever the scale of the data. Each of 100 iterations, none of which is
//! discarded, removes components with at most one item, draws means given the old covariances, covariances given the
//! means, and labels ∝ N(u; μ, Σ) without weights; its fused distribution weights components by their counts. The
//! output is the mean over iterations.
//!
//! Differences from the program: densities are logarithms, where its own would underflow; the largest component of a
//! class is never removed, where it would stop with an error; the class prior is an argument, where it uses the class
//! frequencies; the noise on a new item's probabilities is a function of them, so that an item has one result.
//!
//! # References
//! Pirs, Strumbelj, "Bayesian combination of probabilistic classifiers using multivariate normal mixtures", JMLR
//! 20(51), 2019. <https://jmlr.org/papers/v20/18-241.html>

use consilience::laboratory::sample_precision;
use consilience::{ClassPrior, Outputs};
use consilience_numerics::log_space::log_sum_exp;
use consilience_numerics::simplex;
use nalgebra::{DMatrix, DVector};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;

use crate::Failure;

/// The largest number added to a probability.
const JITTER: f64 = 0.001;
/// Components per class at the start.
const COMPONENTS: usize = 15;
/// Iterations, all of which are kept.
const ITERATIONS: usize = 100;
/// Prior variance of means, and the diagonal of the inverse Wishart's scale.
const PRIOR_SCALE: f64 = 100.0;

/// The fitted mixtures of all iterations.
#[derive(Debug, Clone)]
pub struct PublishedMixture {
    /// `iterations[s][j]`: components of class j with the logarithms of their weights.
    iterations: Vec<Vec<Vec<(f64, Normal)>>>,
}

impl PublishedMixture {
    /// Fits to labelled items, all of which must have all outputs.
    pub fn fit(outputs: &Outputs, seed: u64) -> Result<Self, Failure> {
        let n_classes = outputs.schema().n_classes();
        let stream = |number: usize| {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            rng.set_stream(number as u64);
            rng
        };
        let mut noise = stream(n_classes);
        let mut columns = vec![Vec::new(); n_classes];
        for (item, label) in outputs.require_labels()?.into_iter().enumerate() {
            columns[label].push(log_odds(outputs, item, &mut noise)?);
        }
        let sampled = columns.par_iter().enumerate().map(|(j, columns)| {
            if columns.is_empty() {
                return Err("a class has no items".to_owned());
            }
            sample_class(&DMatrix::from_columns(columns), &mut stream(j))
                .ok_or_else(|| "a covariance is singular".to_owned())
        });
        let classes = sampled.collect::<Result<Vec<_>, String>>()?;
        let iterations = (0..ITERATIONS)
            .map(|s| classes.iter().map(|draws: &Vec<Vec<_>>| draws[s].clone()).collect())
            .collect();
        Ok(Self { iterations })
    }

    /// The fused distributions of all items, n × J.
    pub fn fuse(&self, outputs: &Outputs, prior: &ClassPrior) -> Result<Vec<f64>, Failure> {
        let (n, n_classes) = (outputs.n_items(), outputs.schema().n_classes());
        let point = |item: usize| {
            let seed = hash(outputs.items(item..item + 1).values());
            log_odds(outputs, item, &mut ChaCha8Rng::seed_from_u64(seed))
        };
        let points = (0..n).map(point).collect::<Result<Vec<_>, Failure>>()?;
        let points = DMatrix::from_columns(&points);
        let mut fused = vec![0.0; n * n_classes];
        for classes in &self.iterations {
            let ln_classes: Vec<Vec<f64>> =
                classes.iter().map(|class| ln_mixture(class, &points)).collect();
            for (item, mean) in fused.chunks_exact_mut(n_classes).enumerate() {
                let joint = ln_classes.iter().zip(prior.ln()).map(|(lns, p)| lns[item] + p);
                let mut posterior: Vec<f64> = joint.collect();
                simplex::softmax(&mut posterior);
                mean.iter_mut().zip(posterior).for_each(|(mean, p)| *mean += p / ITERATIONS as f64);
            }
        }
        Ok(fused)
    }
}

/// The log density of a mixture at every column.
fn ln_mixture(components: &[(f64, Normal)], columns: &DMatrix<f64>) -> Vec<f64> {
    let weighted = |(ln_weight, normal): &(f64, Normal)| -> Vec<f64> {
        normal.ln_densities(columns).into_iter().map(|ln| ln + ln_weight).collect()
    };
    let all: Vec<Vec<f64>> = components.iter().map(weighted).collect();
    let sum = |i: usize| log_sum_exp(&all.iter().map(|lns| lns[i]).collect::<Vec<f64>>());
    (0..columns.ncols()).map(sum).collect()
}

/// u of all classifiers, with noise added to the probabilities.
fn log_odds(outputs: &Outputs, item: usize, rng: &mut ChaCha8Rng) -> Result<DVector<f64>, Failure> {
    let mut point = Vec::new();
    for k in 0..outputs.schema().n_classifiers() {
        let output = outputs.output(item, k).ok_or("an output is missing")?;
        let noisy: Vec<f64> = output.iter().map(|x| x + JITTER * rng.random::<f64>()).collect();
        let (last, others) = noisy.split_last().expect("there are classes");
        point.extend(others.iter().map(|x| (x / last).ln()));
    }
    Ok(DVector::from_vec(point))
}

/// Fowler, Noll and Vo's hash, word by word.
fn hash(row: &[f64]) -> u64 {
    row.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, value| {
        (hash ^ value.to_bits()).wrapping_mul(0x0100_0000_01b3)
    })
}

/// A normal distribution by its mean and the triangular factor of its precision, Σ⁻¹ = F·Fᵀ.
#[derive(Debug, Clone)]
struct Normal {
    mean: DVector<f64>,
    factor: DMatrix<f64>,
}

impl Normal {
    /// The log density at every column, without the constant (2π)^(−d/2).
    fn ln_densities(&self, columns: &DMatrix<f64>) -> Vec<f64> {
        let ln_peak: f64 = self.factor.diagonal().iter().map(|x| x.ln()).sum();
        let mut white = self.factor.tr_mul(columns);
        let shift = self.factor.tr_mul(&self.mean);
        white.column_iter_mut().for_each(|mut column| column -= &shift);
        white.column_iter().map(|z| ln_peak - 0.5 * z.norm_squared()).collect()
    }

    /// A mean given the old covariance, then a covariance given this mean.
    fn redrawn(&self, own: &DMatrix<f64>, rng: &mut ChaCha8Rng) -> Option<Self> {
        let (d, n) = (own.nrows(), own.ncols() as f64);
        let precision = &self.factor * self.factor.transpose() * n;
        let pull = &precision * own.column_mean();
        let posterior = (precision + DMatrix::identity(d, d) / PRIOR_SCALE).cholesky()?;
        let normals = DVector::from_fn(d, |_, _| StandardNormal.sample(rng));
        // The posterior covariance is (LLᵀ)⁻¹, that of L⁻ᵀz.
        let noise = posterior.l().transpose().solve_upper_triangular(&normals)?;
        let mean = posterior.solve(&pull) + noise;
        let mut off = own.clone();
        off.column_iter_mut().for_each(|mut column| column -= &mean);
        let scale = &off * off.transpose() + DMatrix::identity(d, d) * PRIOR_SCALE;
        let factor = sample_precision(2.0 + d as f64 + n, &scale.cholesky()?, rng)?;
        Some(Self { mean, factor })
    }
}

/// All iterations for the items of one class, one per column of `odds`.
fn sample_class(odds: &DMatrix<f64>, rng: &mut ChaCha8Rng) -> Option<Vec<Vec<(f64, Normal)>>> {
    let (d, n) = odds.shape();
    let mut labels: Vec<usize> = (0..n).map(|_| rng.random_range(0..COMPONENTS)).collect();
    let start = Normal { mean: DVector::zeros(d), factor: DMatrix::identity(d, d) };
    let mut components = vec![Some(start); COMPONENTS];
    let mut iterations = Vec::with_capacity(ITERATIONS);
    for _ in 0..ITERATIONS {
        remove_small(&mut components, &counts(&labels));
        for (c, component) in components.iter_mut().enumerate() {
            if let Some(old) = component {
                let own: Vec<usize> = (0..n).filter(|&i| labels[i] == c).collect();
                *component = Some(old.redrawn(&odds.select_columns(&own), rng)?);
            }
        }
        relabel(&components, odds, &mut labels, rng);
        let weighted = components.iter().zip(counts(&labels)).filter_map(|(component, count)| {
            let normal = component.as_ref().filter(|_| count > 0)?;
            Some(((count as f64 / n as f64).ln(), normal.clone()))
        });
        iterations.push(weighted.collect());
    }
    Some(iterations)
}

/// Number of items per component.
fn counts(labels: &[usize]) -> Vec<usize> {
    let mut counts = vec![0; COMPONENTS];
    labels.iter().for_each(|&label| counts[label] += 1);
    counts
}

/// Removes components with at most one item, except the largest.
fn remove_small(components: &mut [Option<Normal>], counts: &[usize]) {
    let largest =
        (1..counts.len()).fold(0, |best, c| if counts[c] > counts[best] { c } else { best });
    for (c, component) in components.iter_mut().enumerate() {
        if counts[c] <= 1 && c != largest {
            *component = None;
        }
    }
}

/// New labels in proportion to the components' densities, without weights.
fn relabel(
    components: &[Option<Normal>],
    odds: &DMatrix<f64>,
    labels: &mut [usize],
    rng: &mut ChaCha8Rng,
) {
    let present: Vec<(usize, Vec<f64>)> = components
        .iter()
        .enumerate()
        .filter_map(|(c, component)| Some((c, component.as_ref()?.ln_densities(odds))))
        .collect();
    for (i, label) in labels.iter_mut().enumerate() {
        let mut weights: Vec<f64> = present.iter().map(|(_, lns)| lns[i]).collect();
        simplex::softmax(&mut weights);
        let mut left: f64 = rng.random();
        let chosen = weights.iter().position(|weight| {
            left -= weight;
            left < 0.0
        });
        // Rounding may leave a remainder: then the most probable component.
        *label = present[chosen.unwrap_or_else(|| simplex::arg_max(&weights))].0;
    }
}
