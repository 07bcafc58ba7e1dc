//! The sampler as its authors' program runs, told apart from the method so that its printed results
//! can be had again.
//!
//! Independent uniform numbers up to 0.001 are added to every probability. Of every class, fifteen
//! components of u = `ln(xₗ/x_J)` start with random labels, mean 0 and covariance 1. With priors
//! μ ~ N(0, 100·1) and Σ ~ inverse Wishart(2 + d, 100·1), whatever the scale of the data, each of 100
//! iterations, none discarded: components with one item or none die for good; means given the old
//! covariances; covariances given the means; labels ∝ N(u; μ, Σ) without weights; and the fused
//! distribution with components weighted by their counts. The output is the mean over iterations.
//! Nothing depends on the test items, so all iterations together are a model like any other.
//!
//! What differs from the program: densities are logarithms, where its own would underflow; the
//! largest component of a class never dies, where it would stop with an error; the class prior is
//! the model's, the program's being the class frequencies ([`PriorChoice::Empirical`](crate::PriorChoice)); absent
//! outputs, of which it knows nothing, are marginalised, and training items with any are left out;
//! and the noise on a new item's probabilities follows from these, so that an item is always
//! fused alike.

use nalgebra::{DMatrix, DVector};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use crate::data::outputs::Items;
use crate::distributions::{MultivariateT, NormalDraw, sample_precision, standard_normals};
use crate::error::{Error, Result};
use crate::math::log_ratio;
use consilience_numerics::simplex;

use super::repaired::draw_label;

/// The largest number added to a probability.
pub(super) const JITTER: f64 = 0.001;

/// Components of a class at the start.
const COMPONENTS: usize = 15;

/// Iterations, all of which count.
pub(super) const ITERATIONS: usize = 100;

/// Prior variance of means, and the diagonal of the inverse Wishart's scale.
const PRIOR_SCALE: f64 = 100.0;

/// The values of items with noise added and normalised, as if drawn for each item anew, by a
/// generator whose seed are the item's own probabilities.
pub(super) fn jittered(items: &Items<'_>, size: f64) -> Vec<f64> {
    let width = items.n_classifiers() * items.n_classes();
    let mut values = items.values().to_vec();
    for row in values.chunks_exact_mut(width) {
        // Fowler, Noll and Vo's hash, word by word.
        let hash = row.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, value| {
            (hash ^ value.to_bits()).wrapping_mul(0x0100_0000_01b3)
        });
        add_noise(row, items.n_classes(), size, &mut ChaCha8Rng::seed_from_u64(hash));
    }
    values
}

/// Adds noise to the outputs of one item; those absent stay so.
pub(super) fn add_noise(row: &mut [f64], n_classes: usize, size: f64, rng: &mut ChaCha8Rng) {
    for output in row.chunks_exact_mut(n_classes) {
        output.iter_mut().for_each(|x| *x += size * rng.random::<f64>());
        simplex::normalise(output);
    }
}

/// A component of one iteration: items that it has, and its distribution in isometric coordinates.
pub(super) type Counted = (usize, MultivariateT);

/// The matrix that turns `ln(xₗ/x_J)`, l < J, into isometric coordinates, classifier by classifier.
fn from_log_odds(n_classes: usize, n_classifiers: usize) -> DMatrix<f64> {
    let contrasts = log_ratio::contrasts(n_classes, n_classifiers);
    let kept: Vec<usize> =
        (0..n_classes * n_classifiers).filter(|c| c % n_classes != n_classes - 1).collect();
    contrasts.select_columns(&kept)
}

/// All iterations for the items of one class, given in isometric coordinates.
pub(super) fn sample_class(
    rows: &DMatrix<f64>,
    n_classes: usize,
    rng: &mut ChaCha8Rng,
) -> Result<Vec<Vec<Counted>>> {
    let singular = || Error::parameter("scale", "positive definite", "singular in sampling");
    let (d, n) = rows.shape();
    let map = from_log_odds(n_classes, d / (n_classes - 1));
    let odds = map.clone().lu().solve(rows).ok_or_else(singular)?;
    let mut labels: Vec<usize> = (0..n).map(|_| rng.random_range(0..COMPONENTS)).collect();
    let start = NormalDraw { mean: DVector::zeros(d), factor: DMatrix::identity(d, d) };
    let mut components = vec![Some(start); COMPONENTS];
    let mut iterations = Vec::with_capacity(ITERATIONS);
    for _ in 0..ITERATIONS {
        bury(&mut components, &labels);
        for (c, component) in components.iter_mut().enumerate() {
            if let Some(old) = component {
                let own: Vec<usize> = (0..n).filter(|&i| labels[i] == c).collect();
                *component =
                    Some(redraw(old, &odds.select_columns(&own), rng).ok_or_else(singular)?);
            }
        }
        relabel(&components, &odds, &mut labels, rng);
        let mut counted = Vec::new();
        for (c, component) in components.iter().enumerate() {
            let count = labels.iter().filter(|label| **label == c).count();
            let Some(draw) = component.as_ref().filter(|_| count > 0) else { continue };
            let normal = draw.gaussian().ok_or_else(singular)?;
            let location = (&map * normal.mean).as_slice().to_vec();
            let scale = &map * normal.covariance * map.transpose();
            counted.push((count, MultivariateT::from_matrix(f64::INFINITY, location, scale)?));
        }
        iterations.push(counted);
    }
    Ok(iterations)
}

/// Components with one item or none die, all but the largest.
fn bury(components: &mut [Option<NormalDraw>], labels: &[usize]) {
    let count = |c: usize| labels.iter().filter(|label| **label == c).count();
    let counts: Vec<usize> = (0..components.len()).map(count).collect();
    let largest =
        (1..counts.len()).fold(0, |best, c| if counts[c] > counts[best] { c } else { best });
    for (c, component) in components.iter_mut().enumerate() {
        if counts[c] <= 1 && c != largest {
            *component = None;
        }
    }
}

/// A mean given the old covariance, then a covariance given this mean.
fn redraw(old: &NormalDraw, own: &DMatrix<f64>, rng: &mut ChaCha8Rng) -> Option<NormalDraw> {
    let (d, n) = (own.nrows(), own.ncols() as f64);
    let precision = &old.factor * old.factor.transpose() * n;
    let pull = &precision * own.column_mean();
    let posterior = (precision + DMatrix::identity(d, d) / PRIOR_SCALE).cholesky()?;
    // Σₙ = (LLᵀ)⁻¹, so L⁻ᵀz has that covariance.
    let noise = posterior.l().transpose().solve_upper_triangular(&standard_normals(d, rng))?;
    let mean = posterior.solve(&pull) + noise;
    let mut off = own.clone();
    off.column_iter_mut().for_each(|mut column| column -= &mean);
    let scale = &off * off.transpose() + DMatrix::identity(d, d) * PRIOR_SCALE;
    let factor = sample_precision(2.0 + d as f64 + n, &scale.cholesky()?, rng)?;
    Some(NormalDraw { mean, factor })
}

/// New labels in proportion to the components' densities, whatever their weights.
fn relabel(
    components: &[Option<NormalDraw>],
    odds: &DMatrix<f64>,
    labels: &mut [usize],
    rng: &mut ChaCha8Rng,
) {
    let alive: Vec<(usize, Vec<f64>)> = components
        .iter()
        .enumerate()
        .filter_map(|(c, component)| Some((c, component.as_ref()?.ln_pdfs(odds))))
        .collect();
    let mut weights = vec![0.0; alive.len()];
    for (i, label) in labels.iter_mut().enumerate() {
        weights.iter_mut().zip(&alive).for_each(|(weight, (_, lns))| *weight = lns[i]);
        *label = alive[draw_label(&mut weights, rng)].0;
    }
}
