//! The normal-inverse-Wishart distribution: the conjugate prior of the mean and covariance of a normal
//! distribution.

use nalgebra::{DMatrix, DVector};
use rand::{Rng, RngExt};
use rand_distr::StandardNormal;

use super::{MultivariateT, sample_precision};
use crate::math::gaussian::Gaussian;

/// Σ ~ inverse Wishart(ν, S), μ | Σ ~ N(m, Σ/κ).
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NormalInverseWishart {
    /// m.
    pub(crate) mean: DVector<f64>,
    /// κ: the prior weight of the mean, as a number of items.
    pub(crate) mean_items: f64,
    /// S.
    pub(crate) scale: DMatrix<f64>,
    /// ν, above d − 1.
    pub(crate) degrees: f64,
}

impl NormalInverseWishart {
    /// A prior with the expected mean and covariance of `expected`, which have the weight of
    /// `mean_items` and of `items` > 0 items.
    pub(crate) fn around(expected: &Gaussian, items: f64, mean_items: f64) -> Self {
        let d = expected.mean.len() as f64;
        Self {
            mean: expected.mean.clone(),
            mean_items,
            scale: &expected.covariance * items,
            degrees: d + 1.0 + items,
        }
    }

    /// The posterior after `n` items with the given sample mean and sample covariance (divided by n).
    pub(crate) fn updated(&self, n: f64, moments: &Gaussian) -> Self {
        let total = self.mean_items + n;
        let off = &moments.mean - &self.mean;
        let between = self.mean_items * n / total;
        Self {
            mean: &self.mean + &off * (n / total),
            mean_items: total,
            scale: &self.scale + &moments.covariance * n + &off * off.transpose() * between,
            degrees: self.degrees + n,
        }
    }

    /// The normal distribution with mean m and covariance E[Σ⁻¹]⁻¹ = S/ν, as a variational step needs
    /// it.
    pub(crate) fn centre(&self) -> Gaussian {
        Gaussian { mean: self.mean.clone(), covariance: &self.scale / self.degrees }
    }

    /// Draws a mean and a covariance; `None` if S is not positive definite.
    pub(crate) fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> Option<NormalDraw> {
        let factor = sample_precision(self.degrees, &self.scale.clone().cholesky()?, rng)?;
        let z = standard_normals(self.mean.len(), rng);
        let step = factor.transpose().solve_upper_triangular(&z)? / self.mean_items.sqrt();
        Some(NormalDraw { mean: &self.mean + step, factor })
    }

    /// The predictive distribution of a new item: Student t with ν − d + 1 degrees of freedom,
    /// location m and scale S (κ+1)/(κ(ν−d+1)).
    pub(crate) fn predictive(&self) -> crate::Result<MultivariateT> {
        let degrees = self.degrees - self.mean.len() as f64 + 1.0;
        let spread = (self.mean_items + 1.0) / (self.mean_items * degrees);
        MultivariateT::from_matrix(degrees, self.mean.as_slice().to_vec(), &self.scale * spread)
    }
}

/// A vector of independent standard normal numbers.
pub(crate) fn standard_normals<R: Rng + ?Sized>(n: usize, rng: &mut R) -> DVector<f64> {
    DVector::from_fn(n, |_, _| rng.sample::<f64, _>(StandardNormal))
}

/// A normal distribution, given by its mean and the triangular factor F of its precision Σ⁻¹ = F·Fᵀ.
#[derive(Debug, Clone)]
pub(crate) struct NormalDraw {
    pub(crate) mean: DVector<f64>,
    pub(crate) factor: DMatrix<f64>,
}

impl NormalDraw {
    /// The log density at every column, without the constant (2π)^(−d/2).
    pub(crate) fn ln_pdfs(&self, columns: &DMatrix<f64>) -> Vec<f64> {
        let shift = self.factor.tr_mul(&self.mean);
        let white = self.factor.tr_mul(columns);
        let ln_peak: f64 = self.factor.diagonal().iter().map(|x| x.ln()).sum();
        let distance = |z: nalgebra::DVectorView<'_, f64>| -> f64 {
            z.iter().zip(shift.iter()).map(|(z, m)| (z - m).powi(2)).sum()
        };
        white.column_iter().map(|z| ln_peak - 0.5 * distance(z)).collect()
    }

    /// The same distribution with its covariance; `None` if the precision is singular.
    pub(crate) fn gaussian(&self) -> Option<Gaussian> {
        let d = self.mean.len();
        let inverse = self.factor.solve_lower_triangular(&DMatrix::identity(d, d))?;
        Some(Gaussian { mean: self.mean.clone(), covariance: inverse.tr_mul(&inverse) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand::rngs::ChaCha8Rng;

    /// The product of sequential predictions must be independent of the order of the items. Any wrong
    /// factor in update or prediction violates this exchangeability.
    #[test]
    fn sequential_predictions_are_exchangeable() {
        let expected = Gaussian {
            mean: DVector::from_vec(vec![0.5, -1.0]),
            covariance: DMatrix::from_row_slice(2, 2, &[2.0, 0.3, 0.3, 1.0]),
        };
        let prior = NormalInverseWishart::around(&expected, 3.0, 0.7);
        let one = |x: &[f64]| Gaussian {
            mean: DVector::from_column_slice(x),
            covariance: DMatrix::zeros(2, 2),
        };
        let sequence = |items: &[[f64; 2]]| {
            let (mut state, mut sum) = (prior.clone(), 0.0);
            for x in items {
                sum += state.predictive().unwrap().ln_pdf_with_error(x).0;
                state = state.updated(1.0, &one(x));
            }
            (sum, state)
        };
        let (a, b, c) = ([0.1, 0.4], [3.0, -2.0], [-1.0, -1.5]);
        let (forward, state) = sequence(&[a, b, c]);
        let (backward, _) = sequence(&[c, b, a]);
        assert!((forward - backward).abs() < 1e-12, "{forward} {backward}");
        // One update with all three items gives the same posterior.
        let rows = DMatrix::from_columns(&[a, b, c].map(|x| DVector::from_column_slice(&x)));
        let at_once = prior.updated(3.0, &Gaussian::fit(&rows, |_, _| true, 1, 0.0));
        assert!((at_once.scale - state.scale).abs().max() < 1e-12);
        assert!((at_once.mean - state.mean).abs().max() < 1e-12);
        // E[Σ] = S/(ν − d − 1) is the expected covariance.
        assert!((prior.scale / (prior.degrees - 3.0) - expected.covariance).abs().max() < 1e-15);
    }

    /// The mixture of normal distributions over draws of mean and covariance is the predictive
    /// Student t distribution.
    #[test]
    fn draws_agree_with_the_predictive_distribution() {
        let expected = Gaussian {
            mean: DVector::from_vec(vec![0.5, -1.0]),
            covariance: DMatrix::from_row_slice(2, 2, &[2.0, 0.3, 0.3, 1.0]),
        };
        let state = NormalInverseWishart::around(&expected, 4.0, 2.0);
        let points = DMatrix::from_column_slice(2, 2, &[0.2, -0.5, 3.0, 1.0]);
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let n = 40_000;
        let mut sums = [[0.0; 2]; 2];
        for _ in 0..n {
            let draw = state.sample(&mut rng).unwrap();
            for (sums, ln) in sums.iter_mut().zip(draw.ln_pdfs(&points)) {
                let f = ln.exp() / (2.0 * std::f64::consts::PI);
                *sums = [sums[0] + f, sums[1] + f * f];
            }
            // The same density from the covariance.
            let Gaussian { mean, covariance } = draw.gaussian().unwrap();
            let plain =
                MultivariateT::from_matrix(f64::INFINITY, mean.as_slice().to_vec(), covariance);
            let off = plain.unwrap().ln_pdf_with_error(&[0.2, -0.5]).0
                + (2.0 * std::f64::consts::PI).ln()
                - draw.ln_pdfs(&points)[0];
            assert!(off.abs() < 1e-9, "{off}");
        }
        let n = f64::from(n);
        for (column, [sum, squares]) in points.column_iter().zip(sums) {
            let want = state
                .predictive()
                .unwrap()
                .ln_pdf_with_error(column.clone_owned().as_slice())
                .0
                .exp();
            let se = ((squares / n - (sum / n).powi(2)) / n).sqrt();
            assert!((sum / n - want).abs() < 5.0 * se, "{} {want} ± {se}", sum / n);
        }
    }
}
