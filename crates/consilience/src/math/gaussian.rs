//! Normal distributions of vectors with missing coordinates: maximum-likelihood fit and conditional
//! means.

use std::collections::BTreeMap;

use nalgebra::{DMatrix, DVector};

/// A multivariate normal distribution.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Gaussian {
    pub(crate) mean: DVector<f64>,
    pub(crate) covariance: DMatrix<f64>,
}

/// The distribution of missing coordinates a given the present coordinates p:
///
/// ```text
/// x_a = μ_a + B (x_p − μ_p) + N(0, C),   B = Σ_ap Σ_pp⁻¹,   C = Σ_aa − B Σ_pa
/// ```
#[derive(Debug, Clone)]
pub(crate) struct Regression {
    pub(crate) present: Vec<usize>,
    pub(crate) missing: Vec<usize>,
    pub(crate) slopes: DMatrix<f64>,
}

/// The patterns of present coordinates, and the rows with each pattern.
#[derive(Debug, Clone)]
pub(crate) struct Patterns {
    pub(crate) members: BTreeMap<Vec<bool>, Vec<usize>>,
}

impl Patterns {
    pub(crate) fn of(rows: &DMatrix<f64>, is_present: &impl Fn(usize, usize) -> bool) -> Self {
        let (d, n) = rows.shape();
        let mut members: BTreeMap<Vec<bool>, Vec<usize>> = BTreeMap::new();
        for row in 0..n {
            members.entry((0..d).map(|c| is_present(row, c)).collect()).or_default().push(row);
        }
        Self { members }
    }

    /// Whether no coordinate is missing.
    pub(crate) fn are_complete(&self) -> bool {
        self.members.keys().all(|pattern| pattern.iter().all(|p| *p))
    }
}

impl Gaussian {
    /// Fits a normal distribution by `steps` steps of expectation maximisation, with `ridge` added to
    /// every variance.
    ///
    /// Each column of `rows` is one vector; `is_present(row, coordinate)` is false for missing
    /// coordinates. Without missing coordinates a single step is exact.
    pub(crate) fn fit(
        rows: &DMatrix<f64>,
        is_present: impl Fn(usize, usize) -> bool,
        steps: usize,
        ridge: f64,
    ) -> Self {
        let patterns = Patterns::of(rows, &is_present);
        let mut gaussian = Self::of_present(rows, &is_present, ridge);
        for _ in 0..if patterns.are_complete() { 1 } else { steps } {
            gaussian = gaussian.moments(rows, &patterns);
            (0..rows.nrows()).for_each(|c| gaussian.covariance[(c, c)] += ridge);
        }
        gaussian
    }

    /// Mean and variance of every coordinate from the rows where it is present, without covariances:
    /// the start of the iteration.
    fn of_present(
        rows: &DMatrix<f64>,
        is_present: &impl Fn(usize, usize) -> bool,
        ridge: f64,
    ) -> Self {
        let d = rows.nrows();
        let (mut mean, mut covariance) = (DVector::zeros(d), DMatrix::zeros(d, d));
        for c in 0..d {
            let present = || (0..rows.ncols()).filter(|&row| is_present(row, c));
            let n = (present().count() as f64).max(f64::MIN_POSITIVE);
            mean[c] = present().map(|row| rows[(c, row)]).sum::<f64>() / n;
            let square = |row: usize| (rows[(c, row)] - mean[c]).powi(2);
            covariance[(c, c)] = present().map(square).sum::<f64>() / n + ridge;
        }
        Self { mean, covariance }
    }

    /// One step of expectation maximisation: the moments of the rows, with missing coordinates
    /// replaced by their conditional means and with the conditional covariance added.
    pub(crate) fn moments(&self, rows: &DMatrix<f64>, patterns: &Patterns) -> Self {
        let d = rows.nrows();
        let mut filled = rows.clone();
        let mut covariance = DMatrix::zeros(d, d);
        for (pattern, members) in &patterns.members {
            let Some(regression) = self.regression(pattern) else { continue };
            for &row in members {
                let mut vector: Vec<f64> = rows.column(row).iter().copied().collect();
                self.complete(&regression, &mut vector);
                filled.column_mut(row).copy_from_slice(&vector);
            }
            let rest = self.residual(&regression);
            let n = members.len() as f64;
            for (i, &a) in regression.missing.iter().enumerate() {
                for (j, &b) in regression.missing.iter().enumerate() {
                    covariance[(a, b)] += n * rest[(i, j)];
                }
            }
        }
        let n = (rows.ncols() as f64).max(f64::MIN_POSITIVE);
        let mean = &filled * DVector::repeat(rows.ncols(), 1.0) / n;
        for mut column in filled.column_iter_mut() {
            column -= &mean;
        }
        covariance.gemm(1.0, &filled, &filled.transpose(), 1.0);
        covariance /= n;
        covariance = (&covariance + covariance.transpose()) * 0.5;
        Self { mean, covariance }
    }

    /// The regression of missing coordinates on present ones; `None` if the covariance of the present
    /// ones is not positive definite.
    pub(crate) fn regression(&self, pattern: &[bool]) -> Option<Regression> {
        let (present, missing): (Vec<usize>, Vec<usize>) =
            (0..pattern.len()).partition(|&c| pattern[c]);
        let own = self.covariance.select_rows(&present).select_columns(&present);
        let cross = self.covariance.select_rows(&present).select_columns(&missing);
        let slopes = own.cholesky()?.solve(&cross).transpose();
        Some(Regression { present, missing, slopes })
    }

    /// C: the covariance of the missing coordinates given the present ones.
    pub(crate) fn residual(&self, regression: &Regression) -> DMatrix<f64> {
        let Regression { present, missing, slopes } = regression;
        let own = self.covariance.select_rows(missing).select_columns(missing);
        let cross = self.covariance.select_rows(present).select_columns(missing);
        own - slopes * cross
    }

    /// Replaces the missing coordinates by their mean given the present ones.
    pub(crate) fn complete(&self, regression: &Regression, vector: &mut [f64]) {
        let Regression { present, missing, slopes } = regression;
        for (i, &a) in missing.iter().enumerate() {
            let shift = present
                .iter()
                .enumerate()
                .map(|(j, &p)| slopes[(i, j)] * (vector[p] - self.mean[p]));
            vector[a] = self.mean[a] + shift.sum::<f64>();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};
    use rand_distr::StandardNormal;

    /// Three coordinates with known covariance. The last is missing where the first is positive, so
    /// that the mean of the present values is biased, but the fit is not.
    #[test]
    fn recovers_a_normal_distribution_from_rows_with_missing_coordinates() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let n = 4000;
        let rows = DMatrix::from_columns(
            &(0..n)
                .map(|_| {
                    let z: [f64; 3] = std::array::from_fn(|_| rng.sample(StandardNormal));
                    DVector::from_vec(vec![
                        z[0],
                        0.6 * z[0] + 0.8 * z[1],
                        1.0 + 0.8 * z[0] + 0.6 * z[2],
                    ])
                })
                .collect::<Vec<_>>(),
        );
        let present = |row: usize, c: usize| c < 2 || rows[(0, row)] < 0.0;
        let fitted = Gaussian::fit(&rows, present, 30, 0.0);
        // Standard errors are below 0.03; the mean of the present values is 0.36.
        assert!((fitted.mean[2] - 1.0).abs() < 0.1, "{}", fitted.mean);
        for (i, j, want) in [(0, 1, 0.6), (0, 2, 0.8), (1, 2, 0.48), (2, 2, 1.0)] {
            assert!((fitted.covariance[(i, j)] - want).abs() < 0.12, "{}", fitted.covariance);
        }
    }

    /// E[x₂ | x₁] = μ₂ + (Σ₂₁/Σ₁₁)(x₁ − μ₁), by hand.
    #[test]
    fn the_conditional_mean_is_on_the_regression_line() {
        let gaussian = Gaussian {
            mean: DVector::from_vec(vec![1.0, 2.0]),
            covariance: DMatrix::from_row_slice(2, 2, &[4.0, 1.0, 1.0, 3.0]),
        };
        let regression = gaussian.regression(&[true, false]).unwrap();
        let mut vector = [3.0, f64::NAN];
        gaussian.complete(&regression, &mut vector);
        assert!((vector[1] - 2.5).abs() < 1e-14);
    }
}
