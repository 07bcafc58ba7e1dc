//! How much independent evidence each of several classifiers carries.
//!
//! The evidence of classifier k for class t is eₖₜ = ln Dirₖₜ(xᵏ), centred over t. With C the
//! covariance of the classifiers' evidences around their means given the true class, the shares
//! are
//!
//! ```text
//! w = argmin over w ≥ 0 of ½ w'Cw − w'diag(C),   effective number of classifiers Σₖ wₖ
//! ```
//!
//! Independent classifiers get a share of 1 each, K copies of one 1/K each, K exchangeable ones
//! with correlation r get 1/(1 + (K−1) r) each. Shares below 0 are not allowed: where they would
//! help on training items, they ruin others.

use nalgebra::{DMatrix, DVector};
use serde::{Deserialize, Serialize};

use crate::data::outputs::Outputs;
use crate::error::{Error, Result};
use crate::methods::correlated::PairInsight;
use crate::methods::independent::Alpha;
use correlated_dirichlet::Dirichlet;

/// Added to the diagonal of the covariance, relative to it: copies of a classifier share equally.
const RIDGE: f64 = 1e-3;

/// The covariance of the classifiers' evidences, from which shares follow for any subset of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Vec<f64>>", into = "Vec<Vec<f64>>")]
pub struct EvidenceCovariance {
    matrix: DMatrix<f64>,
}

impl TryFrom<Vec<Vec<f64>>> for EvidenceCovariance {
    type Error = Error;

    fn try_from(rows: Vec<Vec<f64>>) -> Result<Self> {
        let n = rows.len();
        let good = |k: usize, m: usize| {
            let value = rows[k].get(m)?;
            let within = rows[k][k] > 0.0
                && value.abs() <= rows[k][k].sqrt() * rows[m].get(m)?.sqrt() * 1.000_001;
            (value.is_finite() && within && rows[m].get(k) == Some(value)).then_some(())
        };
        let all_good = (0..n).all(|k| rows[k].len() == n && (0..n).all(|m| good(k, m).is_some()));
        if !all_good {
            return Err(Error::InvalidModel(
                "`covariance` is not a symmetric matrix of covariances".into(),
            ));
        }
        Ok(Self { matrix: DMatrix::from_fn(n, n, |k, m| rows[k][m]) })
    }
}

impl From<EvidenceCovariance> for Vec<Vec<f64>> {
    fn from(covariance: EvidenceCovariance) -> Self {
        covariance.matrix.row_iter().map(|row| row.iter().copied().collect()).collect()
    }
}

impl EvidenceCovariance {
    /// From labelled outputs and the classifiers' Dirichlets. Each pair's correlation comes from
    /// the items that have both outputs.
    pub fn of(outputs: &Outputs, alpha: &Alpha) -> Result<Self> {
        let evidence = Evidence::centred(outputs, alpha)?;
        let n = alpha.len();
        let mut matrix = DMatrix::zeros(n, n);
        for k in 0..n {
            let Products { own: [square, _], items, .. } = evidence.products(k, k);
            matrix[(k, k)] = (square / items.max(f64::MIN_POSITIVE)).max(f64::MIN_POSITIVE);
            for m in 0..k {
                let Products { own: [a, b], cross, .. } = evidence.products(k, m);
                let r = if a * b > 0.0 { cross / (a * b).sqrt() } else { 0.0 };
                // the product of tiny variances would underflow
                let scale = matrix[(k, k)].sqrt() * matrix[(m, m)].sqrt();
                matrix[(k, m)] = r.clamp(-1.0, 1.0) * scale;
                matrix[(m, k)] = matrix[(k, m)];
            }
        }
        Ok(Self { matrix })
    }

    /// Of evidences of one variance whose correlations are those of the outputs.
    pub fn of_correlations(n_classifiers: usize, pairs: &[PairInsight]) -> Self {
        let mut matrix = DMatrix::identity(n_classifiers, n_classifiers);
        for PairInsight { between: (a, b), mean, .. } in pairs {
            let r = mean.clamp(-1.0, 1.0);
            (matrix[(*a, *b)], matrix[(*b, *a)]) = (r, r);
        }
        Self { matrix }
    }

    /// Number of classifiers.
    pub fn n_classifiers(&self) -> usize {
        self.matrix.nrows()
    }

    /// The correlation of two classifiers' evidences.
    pub fn correlation(&self, a: usize, b: usize) -> f64 {
        self.matrix[(a, b)] / (self.matrix[(a, a)].sqrt() * self.matrix[(b, b)].sqrt())
    }

    /// The share of every classifier among those present; 0 for the others.
    pub fn shares(&self, present: impl Fn(usize) -> bool) -> Vec<f64> {
        let chosen: Vec<usize> = (0..self.n_classifiers()).filter(|k| present(*k)).collect();
        let n = chosen.len();
        // in units of standard deviations, so that the ridge means the same for all
        let deviation = |k: usize| self.matrix[(chosen[k], chosen[k])].sqrt();
        let correlation = DMatrix::from_fn(n, n, |k, m| {
            let off = self.matrix[(chosen[k], chosen[m])] / (deviation(k) * deviation(m));
            if k == m { 1.0 + RIDGE } else { off }
        });
        let target = DVector::from_fn(n, |k, _| (1.0 + RIDGE) * deviation(k));
        let scaled = least_quadratic(&correlation, &target);
        let mut shares = vec![0.0; self.n_classifiers()];
        for (k, &place) in chosen.iter().enumerate() {
            shares[place] = scaled[k] / deviation(k);
        }
        shares
    }

    /// The effective number of independent classifiers.
    pub fn effective_number(&self) -> f64 {
        self.shares(|_| true).iter().sum()
    }
}

/// Sums of products over the items that have two classifiers' outputs, and what these count.
struct Products {
    own: [f64; 2],
    cross: f64,
    items: f64,
}

/// The evidence of every item and classifier for every class, n × K × J; NaN where an output is
/// missing.
struct Evidence {
    values: Vec<f64>,
    /// What every item counts.
    weights: Vec<f64>,
    n_classifiers: usize,
    n_classes: usize,
}

impl Evidence {
    /// Centred over classes, and around the mean of the item's true class.
    fn centred(outputs: &Outputs, alpha: &Alpha) -> Result<Self> {
        let (n_classifiers, n_classes) = (alpha.len(), outputs.schema().n_classes());
        let labels = outputs.require_labels()?;
        let items = outputs.all();
        let mut values = vec![f64::NAN; items.values().len()];
        for (k, rows) in alpha.iter().enumerate() {
            let own = rows
                .iter()
                .map(|row| Dirichlet::new(row))
                .collect::<Result<Vec<_>, correlated_dirichlet::Error>>()?;
            for item in 0..items.len() {
                let Some(output) = items.output(item, k) else { continue };
                let cells = &mut values[(item * n_classifiers + k) * n_classes..][..n_classes];
                cells.iter_mut().zip(&own).for_each(|(cell, d)| *cell = d.ln_pdf(output));
                let mean = cells.iter().sum::<f64>() / n_classes as f64;
                cells.iter_mut().for_each(|cell| *cell -= mean);
            }
        }
        let weights = outputs.weights();
        let mut evidence = Self { values, weights, n_classifiers, n_classes };
        evidence.centre_within(&labels);
        Ok(evidence)
    }

    fn centre_within(&mut self, labels: &[usize]) {
        let width = self.n_classifiers * self.n_classes;
        let mut sums = vec![0.0; width * self.n_classes];
        let mut counts = vec![0.0f64; width * self.n_classes];
        let rows = self.values.chunks_exact(width).zip(&self.weights);
        for ((row, weight), label) in rows.zip(labels) {
            let (sums, counts) = (&mut sums[label * width..], &mut counts[label * width..]);
            for (cell, value) in row.iter().enumerate().filter(|(_, value)| !value.is_nan()) {
                sums[cell] += weight * value;
                counts[cell] += weight;
            }
        }
        for (row, label) in self.values.chunks_exact_mut(width).zip(labels) {
            for (cell, value) in row.iter_mut().enumerate() {
                *value -= sums[label * width + cell]
                    / counts[label * width + cell].max(f64::MIN_POSITIVE);
            }
        }
    }

    fn products(&self, k: usize, m: usize) -> Products {
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let mut sums = Products { own: [0.0; 2], cross: 0.0, items: 0.0 };
        let rows = self.values.chunks_exact(self.n_classifiers * self.n_classes);
        for (row, weight) in rows.zip(&self.weights) {
            let [a, b] = [k, m].map(|k| &row[k * self.n_classes..(k + 1) * self.n_classes]);
            if a[0].is_nan() || b[0].is_nan() {
                continue;
            }
            sums.own[0] += weight * dot(a, a);
            sums.own[1] += weight * dot(b, b);
            sums.cross += weight * dot(a, b);
            sums.items += weight;
        }
        sums
    }
}

/// argmin over w ≥ 0 of ½ w'Aw − w'b for a positive definite A: the active-set method of Lawson
/// and Hanson, which ends after finitely many steps.
fn least_quadratic(a: &DMatrix<f64>, b: &DVector<f64>) -> DVector<f64> {
    let n = b.len();
    let mut w = DVector::zeros(n);
    let mut free: Vec<usize> = Vec::new();
    for _ in 0..10 * n {
        let slope = b - a * &w;
        let best =
            (0..n).filter(|k| !free.contains(k)).max_by(|x, y| slope[*x].total_cmp(&slope[*y]));
        match best {
            Some(k) if slope[k] > 1e-12 * b.amax() => free.push(k),
            _ => break,
        }
        while let Some(solution) = solve_free(a, b, &free) {
            // the first of the free ones that would become negative ends the step
            let ratio = |(i, &k): (usize, &usize)| {
                (solution[i] <= 0.0).then(|| w[k] / (w[k] - solution[i]))
            };
            let step = free.iter().enumerate().filter_map(ratio).fold(1.0, f64::min);
            for (i, &k) in free.iter().enumerate() {
                w[k] += step * (solution[i] - w[k]);
            }
            if step >= 1.0 {
                break;
            }
            free.retain(|k| w[*k] > 1e-14);
            (0..n).filter(|k| !free.contains(k)).for_each(|k| w[k] = 0.0);
        }
    }
    w
}

/// The minimum over the free ones alone; pairwise correlations may not make a positive definite
/// matrix, so its diagonal is raised until they do.
fn solve_free(a: &DMatrix<f64>, b: &DVector<f64>, free: &[usize]) -> Option<DVector<f64>> {
    let mut part = DMatrix::from_fn(free.len(), free.len(), |i, j| a[(free[i], free[j])]);
    let right = DVector::from_fn(free.len(), |i, _| b[free[i]]);
    for _ in 0..20 {
        if let Some(factor) = part.clone().cholesky() {
            return Some(factor.solve(&right));
        }
        (0..free.len()).for_each(|i| part[(i, i)] *= 1.05);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchangeable(n: usize, r: f64, scale: f64) -> EvidenceCovariance {
        let matrix = DMatrix::from_fn(n, n, |k, m| scale * if k == m { 1.0 } else { r });
        EvidenceCovariance { matrix }
    }

    #[test]
    fn exchangeable_classifiers_share_alike() {
        for n in [1, 2, 5, 25] {
            for r in [0.0, 0.3, 0.9, 1.0] {
                let number = exchangeable(n, r, 7.0).effective_number();
                let expected = n as f64 / (1.0 + (n as f64 - 1.0) * r / (1.0 + RIDGE));
                assert!((number - expected).abs() < 1e-9, "{n} {r}: {number} {expected}");
            }
        }
    }

    /// An independent classifier beside two copies: one share, and half a share each.
    #[test]
    fn copies_share_one() {
        let rows = vec![vec![4.0, 4.0, 0.0], vec![4.0, 4.0, 0.0], vec![0.0, 0.0, 9.0]];
        let covariance = EvidenceCovariance::try_from(rows).unwrap();
        let shares = covariance.shares(|_| true);
        for (share, expected) in shares.iter().zip([0.5, 0.5, 1.0]) {
            assert!((share - expected).abs() < 1e-3, "{shares:?}");
        }
        // one of the copies is missing: the other has the share of both
        let shares = covariance.shares(|k| k != 0);
        assert!(
            shares[0] == 0.0 && (shares[1] - 1.0).abs() < 1e-12 && (shares[2] - 1.0).abs() < 1e-12
        );
    }

    /// A noisy copy gets nothing rather than a negative share; the conditions of a minimum hold.
    #[test]
    fn shares_are_never_negative() {
        let rows = vec![vec![1.0, 1.9, 0.2], vec![1.9, 4.0, 0.1], vec![0.2, 0.1, 1.0]];
        let shares = EvidenceCovariance::try_from(rows.clone()).unwrap().shares(|_| true);
        assert!(shares.iter().all(|w| *w >= 0.0), "{shares:?}");
        for k in 0..3 {
            let ridge = |m: usize| if m == k { 1.0 + RIDGE } else { 1.0 };
            let slope: f64 = (0..3).map(|m| rows[k][m] * ridge(m) * shares[m]).sum::<f64>()
                - rows[k][k] * (1.0 + RIDGE);
            assert!(
                if shares[k] > 0.0 { slope.abs() < 1e-9 } else { slope > -1e-9 },
                "{k} {slope}"
            );
        }
    }

    #[test]
    fn no_matrix_of_covariances_is_refused() {
        for rows in [
            vec![vec![1.0, 2.0], vec![2.0, 1.0]],
            vec![vec![1.0, 0.5], vec![0.4, 1.0]],
            vec![vec![1.0, 0.5]],
            vec![vec![0.0]],
            vec![vec![f64::NAN]],
        ] {
            assert!(EvidenceCovariance::try_from(rows).is_err());
        }
    }
}
