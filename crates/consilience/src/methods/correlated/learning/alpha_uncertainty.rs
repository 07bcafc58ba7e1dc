//! The uncertainty of α in the draws of δ.
//!
//! α is learned from each source alone, and δ given the point estimate of α. The posterior of δ
//! therefore does not include the uncertainty of α. It is added afterwards; a draw of all parameters
//! consists of
//!
//! - a draw of α of both sources. Their posteriors come from two separate fits to the same items, so
//!   that the errors of the estimates correlate as the logarithms of the outputs do,
//!   cov(α̂¹, α̂²) = F₁⁻¹ cov(ln x¹, ln x²) F₂⁻¹ / n with Fisher informations Fₖ. The draws are
//!   transformed to have this covariance;
//! - a draw of η, shifted to the mode of η at the drawn α:
//!   η + H⁻¹ (∂²ℓ/∂η ∂ln α) Δln α with the posterior covariance H⁻¹;
//! - δ = b expit(η) with the bounds b of the drawn α.
//!
//! This is correct for large samples: at fixed α the marginal distributions do not depend on η, so that
//! the score of η and the errors of α are uncorrelated, and their variances add up.

use nalgebra::{DMatrix, DVector, SymmetricEigen};

use super::constants::alpha_uncertainty::{DIFFERENCE_STEP, ITEMS, MOST_CLASSES};
use super::delta_posterior::DeltaPosterior;
use super::gaussian::moments;
use super::pair_fit::ItemCounts;
use super::pair_items::PairItems;
use super::pair_likelihood::ClassLikelihood;
use crate::error::Result;
use crate::methods::Draw;
use crate::methods::independent::Alpha;
use crate::sampling::Draws;

/// Draws of α with their effect on η.
pub(super) struct AlphaDraws {
    /// Empty if α is known.
    draws: Vec<Alpha>,
    /// Shift of η of all classes by each draw; empty with more than [`MOST_CLASSES`] classes.
    shifts: Vec<DVector<f64>>,
}

impl AlphaDraws {
    /// Without draws, for known α.
    pub(super) fn none() -> Self {
        Self { draws: Vec::new(), shifts: Vec::new() }
    }

    /// From separate draws of both sources' α around the point estimate.
    pub(super) fn new(
        posterior: &DeltaPosterior<'_>,
        alpha: &Alpha,
        mut draws: Vec<Alpha>,
        counts: &ItemCounts,
        sampled: &Draws,
    ) -> Result<Self> {
        if draws.is_empty() {
            return Ok(Self::none());
        }
        for (j, class) in posterior.classes.iter().enumerate() {
            couple(&mut draws, alpha, j, class.items(), counts.of_class(j));
        }
        let shifts = if posterior.width() > MOST_CLASSES {
            Vec::new()
        } else {
            shifts(posterior, alpha, &draws, sampled)?
        };
        Ok(Self { draws, shifts })
    }

    /// The i-th of `n` draws of all parameters, with η drawn at the point estimate of α.
    pub(super) fn draw(
        &self,
        posterior: &DeltaPosterior<'_>,
        i: usize,
        n: usize,
        eta: &[f64],
    ) -> Draw {
        if self.draws.is_empty() {
            return Draw { alpha: posterior.alpha(), delta: vec![posterior.delta(eta)] };
        }
        let m = self.draws.len();
        let index = if n <= m { i * m / n } else { i % m };
        let alpha = self.draws[index].clone();
        let mut moved = eta[..posterior.n_eta()].to_vec();
        if let Some(shift) = self.shifts.get(index) {
            moved.iter_mut().zip(shift).for_each(|(eta, shift)| *eta += shift);
        }
        let mut delta = posterior.delta(&moved);
        for (j, row) in delta.iter_mut().enumerate() {
            let bounds = alpha[0][j].iter().zip(&alpha[1][j]).map(|(a, b)| a.min(*b));
            let old = posterior.classes[j].bound();
            for ((value, bound), old) in row.iter_mut().zip(bounds).zip(old) {
                *value = (*value / old).min(1.0) * bound;
            }
        }
        Draw { alpha, delta: vec![delta] }
    }
}

/// Transforms one class's draws so that the errors of both sources have the right correlation.
///
/// With αᵏ Δln αᵏ = Cₖ^½ uᵏ, where u has unit covariance, the correlation R of u¹ and u² is that of the
/// whitened logarithms of the outputs; u is multiplied by the root of [1 R; Rᵀ 1].
fn couple(draws: &mut [Alpha], alpha: &Alpha, class: usize, items: &PairItems, counts: [f64; 2]) {
    let j = alpha[0][class].len();
    let pairs = items.len() as f64;
    if items.len() < 3 {
        return;
    }
    let logs = items.logarithms();
    let [first, second] =
        [0, j].map(|from| inverse_root(&covariance(&logs, from..from + j, from..from + j)));
    // correlations from few items are shrunk
    let trust = pairs / (pairs + j as f64) * pairs / (counts[0] * counts[1]).sqrt();
    let cross = first * covariance(&logs, 0..j, j..2 * j) * second * trust;
    let mut both = DMatrix::identity(2 * j, 2 * j);
    both.view_mut((0, j), (j, j)).copy_from(&cross);
    both.view_mut((j, 0), (j, j)).copy_from(&cross.transpose());
    let turn = power(&both, 0.5);
    let rows: Vec<DVector<f64>> = draws.iter().map(|draw| scaled(draw, alpha, class)).collect();
    let centre = rows.iter().fold(DVector::zeros(2 * j), |sum, row| sum + row) / rows.len() as f64;
    let rows = DMatrix::from_fn(rows.len(), 2 * j, |i, l| rows[i][l] - centre[l]);
    let mut whole = DMatrix::zeros(2 * j, 2 * j);
    let mut back = DMatrix::zeros(2 * j, 2 * j);
    for from in [0, j] {
        let own = covariance(&rows, from..from + j, from..from + j);
        whole.view_mut((from, from), (j, j)).copy_from(&inverse_root(&own));
        back.view_mut((from, from), (j, j)).copy_from(&power(&own, 0.5));
    }
    let turned = rows * (back * turn * whole).transpose();
    for (i, draw) in draws.iter_mut().enumerate() {
        for k in 0..2 {
            for l in 0..j {
                let point = alpha[k][class][l];
                let moved = (turned[(i, k * j + l)] + centre[k * j + l]) / point;
                draw[k][class][l] = point * moved.exp();
            }
        }
    }
}

/// αᵏ (ln αᵏ drawn − ln αᵏ) of one class, both sources.
fn scaled(draw: &Alpha, alpha: &Alpha, class: usize) -> DVector<f64> {
    let j = alpha[0][class].len();
    DVector::from_fn(2 * j, |i, _| {
        let point = alpha[i / j][class][i % j];
        point * (draw[i / j][class][i % j] / point).ln()
    })
}

/// Covariance of two sets of columns.
fn covariance(
    rows: &DMatrix<f64>,
    a: std::ops::Range<usize>,
    b: std::ops::Range<usize>,
) -> DMatrix<f64> {
    let n = rows.nrows() as f64;
    let centred = |range: std::ops::Range<usize>| {
        let mut part = rows.columns_range(range).into_owned();
        for mut column in part.column_iter_mut() {
            let mean = column.mean();
            column.add_scalar_mut(-mean);
        }
        part
    };
    centred(a).transpose() * centred(b) / (n - 1.0).max(1.0)
}

/// A power of a symmetric matrix; directions without variance get none.
fn power(matrix: &DMatrix<f64>, exponent: f64) -> DMatrix<f64> {
    let eigen = SymmetricEigen::new(matrix.clone());
    let largest = eigen.eigenvalues.amax();
    let powers = eigen
        .eigenvalues
        .map(|value| if value > 1e-12 * largest { value.powf(exponent) } else { 0.0 });
    &eigen.eigenvectors * DMatrix::from_diagonal(&powers) * eigen.eigenvectors.transpose()
}

fn inverse_root(matrix: &DMatrix<f64>) -> DMatrix<f64> {
    power(matrix, -0.5)
}

/// H⁻¹ (∂²ℓ/∂η ∂ln α) Δln α of every draw.
fn shifts(
    posterior: &DeltaPosterior<'_>,
    alpha: &Alpha,
    draws: &[Alpha],
    sampled: &Draws,
) -> Result<Vec<DVector<f64>>> {
    let progress = posterior.progress;
    let (n, width) = (posterior.n_eta(), posterior.width());
    let (mean, covariance) = moments(sampled);
    let mut effect = DMatrix::zeros(n, 2 * n);
    progress.begin("adding the uncertainty of α", width as u64);
    for (j, class) in posterior.classes.iter().enumerate() {
        let eta = posterior.eta(j, &mean);
        let mut class = class.thinned(ITEMS);
        class.anchor(eta)?;
        for i in 0..2 * width {
            let slopes = cross(&class, eta, i / width, i % width)?;
            for m in 0..n {
                let along = (0..width).map(|l| covariance[(m, j * width + l)] * slopes[l]);
                effect[(m, i / width * n + j * width + i % width)] = along.sum::<f64>();
            }
        }
        progress.advance(1);
    }
    let change = |draw: &Alpha| {
        DVector::from_fn(2 * n, |i, _| {
            let (k, j, l) = (i / n, i % n / width, i % width);
            (draw[k][j][l] / alpha[k][j][l]).ln()
        })
    };
    Ok(draws.iter().map(|draw| &effect * change(draw)).collect())
}

/// ∂²ℓ/∂η ∂ln αᵏₗ of one class.
fn cross(class: &ClassLikelihood<'_>, eta: &[f64], k: usize, l: usize) -> Result<Vec<f64>> {
    let at = |step: f64| -> Result<Vec<f64>> {
        Ok(class.with_alpha_step(k, l, step).evaluate(eta)?.gradient)
    };
    let (low, high) = (at(-DIFFERENCE_STEP)?, at(DIFFERENCE_STEP)?);
    Ok(high.iter().zip(&low).map(|(high, low)| (high - low) / (2.0 * DIFFERENCE_STEP)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::Preset;
    use rand::SeedableRng;
    use rand::rngs::ChaCha8Rng;
    use rand_distr::{Distribution, StandardNormal};

    /// Independent draws become correlated as the outputs are, and each keeps its standard deviation.
    #[test]
    fn draws_of_both_sources_are_correlated_by_the_items() {
        let outputs = Preset::Sim2.truth(0.75).unwrap().simulate(400, 3).unwrap();
        let items = PairItems::by_class(&outputs).unwrap();
        let alpha: Alpha = vec![Preset::Sim2.alpha().map(Vec::from).to_vec(); 2];
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut draws = vec![alpha.clone(); 2000];
        for value in draws.iter_mut().flatten().flatten().flatten() {
            let normal: f64 = StandardNormal.sample(&mut rng);
            *value *= (0.05 * normal).exp();
        }
        let before = draws.clone();
        couple(&mut draws, &alpha, 0, &items[0], [400.0, 400.0]);
        let logs = |k: usize, l: usize| -> Vec<f64> {
            draws.iter().map(|draw| (draw[k][0][l] / alpha[k][0][l]).ln()).collect()
        };
        let moment = |a: &[f64], b: &[f64]| {
            a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>() / a.len() as f64
        };
        for l in 0..3 {
            let (first, second) = (logs(0, l), logs(1, l));
            let (a, b) = (moment(&first, &first), moment(&second, &second));
            assert!((a.sqrt() - 0.05).abs() < 0.005 && (b.sqrt() - 0.05).abs() < 0.005, "{a} {b}");
            // the truth's correlation is about 0.74
            let correlation = moment(&first, &second) / (a * b).sqrt();
            assert!((0.6..0.85).contains(&correlation), "{correlation}");
        }
        // another class is left alone
        assert!(draws.iter().zip(&before).all(|(after, before)| after[0][1] == before[0][1]));
    }
}
