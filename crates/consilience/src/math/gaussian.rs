//! One Gaussian of vectors whose blocks may be missing: its fit and its conditional means.

use std::collections::BTreeMap;

use nalgebra::{DMatrix, DVector};

/// A multivariate normal distribution.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Gaussian {
    pub(crate) mean: DVector<f64>,
    pub(crate) covariance: DMatrix<f64>,
}

/// What absent coordinates a are given the present ones p:
///
/// ```text
/// x_a = μ_a + B (x_p − μ_p) + N(0, C),   B = Σ_ap Σ_pp⁻¹,   C = Σ_aa − B Σ_pa
/// ```
#[derive(Debug, Clone)]
pub(crate) struct Regression {
    pub(crate) present: Vec<usize>,
    pub(crate) absent: Vec<usize>,
    slopes: DMatrix<f64>,
}

/// Which coordinates are present, the rows of each such pattern, and what every row counts.
#[derive(Debug, Clone)]
pub(crate) struct Patterns {
    pub(crate) members: BTreeMap<Vec<bool>, Vec<usize>>,
    weights: Vec<f64>,
}

impl Patterns {
    pub(crate) fn of(rows: &DMatrix<f64>, is_present: &impl Fn(usize, usize) -> bool) -> Self {
        let (d, n) = rows.shape();
        let mut members: BTreeMap<Vec<bool>, Vec<usize>> = BTreeMap::new();
        for row in 0..n {
            members.entry((0..d).map(|c| is_present(row, c)).collect()).or_default().push(row);
        }
        Self { members, weights: vec![1.0; n] }
    }

    /// Whether nothing is absent.
    pub(crate) fn are_complete(&self) -> bool {
        self.members.keys().all(|pattern| pattern.iter().all(|p| *p))
    }
}

impl Gaussian {
    /// By expectation maximisation, `steps` times, with `ridge` added to every variance.
    ///
    /// `rows` is one vector after the other; `is_present(row, coordinate)` says what of it counts.
    /// Complete data need a single step, which is exact.
    pub(crate) fn fit(
        rows: &DMatrix<f64>,
        is_present: impl Fn(usize, usize) -> bool,
        steps: usize,
        ridge: f64,
    ) -> Self {
        Self::fit_weighted(rows, &vec![1.0; rows.ncols()], is_present, steps, ridge)
    }

    /// The same with rows that count as often as their weights say.
    pub(crate) fn fit_weighted(
        rows: &DMatrix<f64>,
        weights: &[f64],
        is_present: impl Fn(usize, usize) -> bool,
        steps: usize,
        ridge: f64,
    ) -> Self {
        let patterns = Patterns { weights: weights.to_vec(), ..Patterns::of(rows, &is_present) };
        let mut gaussian = Self::of_present(rows, weights, &is_present, ridge);
        for _ in 0..if patterns.are_complete() { 1 } else { steps } {
            gaussian = gaussian.moments(rows, &patterns);
            (0..rows.nrows()).for_each(|c| gaussian.covariance[(c, c)] += ridge);
        }
        gaussian
    }

    /// Mean and variance of every coordinate by itself: where the iteration starts.
    fn of_present(
        rows: &DMatrix<f64>,
        weights: &[f64],
        is_present: &impl Fn(usize, usize) -> bool,
        ridge: f64,
    ) -> Self {
        let d = rows.nrows();
        let (mut mean, mut covariance) = (DVector::zeros(d), DMatrix::zeros(d, d));
        for c in 0..d {
            let there = || (0..rows.ncols()).filter(|&row| is_present(row, c));
            let n = there().map(|row| weights[row]).sum::<f64>().max(f64::MIN_POSITIVE);
            mean[c] = there().map(|row| weights[row] * rows[(c, row)]).sum::<f64>() / n;
            let square = |row: usize| weights[row] * (rows[(c, row)] - mean[c]).powi(2);
            covariance[(c, c)] = there().map(square).sum::<f64>() / n + ridge;
        }
        Self { mean, covariance }
    }

    /// One step: moments of the rows, the absent coordinates at their conditional mean plus the
    /// covariance that this mean leaves out.
    pub(crate) fn moments(&self, rows: &DMatrix<f64>, patterns: &Patterns) -> Self {
        let d = rows.nrows();
        let mut filled = rows.clone();
        let mut covariance = DMatrix::zeros(d, d);
        let weights = &patterns.weights;
        for (pattern, members) in &patterns.members {
            let Some(regression) = self.regression(pattern) else { continue };
            for &row in members {
                let mut vector: Vec<f64> = rows.column(row).iter().copied().collect();
                self.complete(&regression, &mut vector);
                filled.column_mut(row).copy_from_slice(&vector);
            }
            let rest = self.residual(&regression);
            let n = members.iter().map(|&row| weights[row]).sum::<f64>();
            for (i, &a) in regression.absent.iter().enumerate() {
                for (j, &b) in regression.absent.iter().enumerate() {
                    covariance[(a, b)] += n * rest[(i, j)];
                }
            }
        }
        let n = weights.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        let mean = &filled * DVector::from_column_slice(weights) / n;
        for mut column in filled.column_iter_mut() {
            column -= &mean;
        }
        let mut counted = filled.transpose();
        for mut column in counted.column_iter_mut() {
            column.iter_mut().zip(weights).for_each(|(x, weight)| *x *= weight);
        }
        covariance.gemm(1.0, &filled, &counted, 1.0);
        covariance /= n;
        covariance = (&covariance + covariance.transpose()) * 0.5;
        Self { mean, covariance }
    }

    /// How absent coordinates follow from present ones; `None` if the covariance of the present
    /// ones is not positive definite.
    pub(crate) fn regression(&self, pattern: &[bool]) -> Option<Regression> {
        let (present, absent): (Vec<usize>, Vec<usize>) =
            (0..pattern.len()).partition(|&c| pattern[c]);
        let own = self.covariance.select_rows(&present).select_columns(&present);
        let cross = self.covariance.select_rows(&present).select_columns(&absent);
        let slopes = own.cholesky()?.solve(&cross).transpose();
        Some(Regression { present, absent, slopes })
    }

    /// C: the covariance of the absent coordinates around their mean given the present ones.
    pub(crate) fn residual(&self, regression: &Regression) -> DMatrix<f64> {
        let Regression { present, absent, slopes } = regression;
        let own = self.covariance.select_rows(absent).select_columns(absent);
        let cross = self.covariance.select_rows(present).select_columns(absent);
        own - slopes * cross
    }

    /// Replaces the absent coordinates by their mean given the present ones.
    pub(crate) fn complete(&self, regression: &Regression, vector: &mut [f64]) {
        let Regression { present, absent, slopes } = regression;
        for (i, &a) in absent.iter().enumerate() {
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

    /// Three coordinates of known covariance, the last absent in half of the rows depending on the
    /// first one: the mean of those present is then far off, and the fit must not be.
    #[test]
    fn recovers_a_gaussian_from_rows_with_gaps() {
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
        // Standard errors are below .03; the mean of the rows present would be .36.
        assert!((fitted.mean[2] - 1.0).abs() < 0.1, "{}", fitted.mean);
        for (i, j, want) in [(0, 1, 0.6), (0, 2, 0.8), (1, 2, 0.48), (2, 2, 1.0)] {
            assert!((fitted.covariance[(i, j)] - want).abs() < 0.12, "{}", fitted.covariance);
        }
    }

    /// E[x₂ | x₁] = μ₂ + (Σ₂₁/Σ₁₁)(x₁ − μ₁), by hand.
    #[test]
    fn the_conditional_mean_is_the_regression_line() {
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
