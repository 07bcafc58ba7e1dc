//! The independent share of the evidence of each of several classifiers.
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

mod evidence;
mod groups;
mod independence;
mod intervals;
mod quadratic;
mod replicates;

use nalgebra::{DMatrix, DVector};
use serde::{Deserialize, Serialize};

use crate::data::outputs::Outputs;
use crate::error::{Error, Result};
use crate::methods::correlated::PairInsight;
use crate::methods::independent::Alpha;
use crate::progress::Progress;
use evidence::Products;
use groups::triangle;
use quadratic::least_quadratic;

pub use intervals::{InsightIntervals, LEVEL, insight_intervals};

/// Added to the diagonal of the covariance, relative to it: copies of a classifier share equally.
const RIDGE: f64 = 1e-3;

/// Classifiers whose evidence has this correlation or more count as copies of each other.
///
/// A classifier with the same evidence on a smaller scale has no share beside the original from a
/// correlation on that equals the ratio of the two scales. At 0.95, two classifiers have 5 % more
/// evidence than one at most.
pub const COPIES: f64 = 0.95;

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
    pub fn of(outputs: &Outputs, alpha: &Alpha, progress: &dyn Progress) -> Result<Self> {
        let products = evidence::products(outputs, alpha, progress)?;
        let n = alpha.len();
        let mut matrix = DMatrix::zeros(n, n);
        for k in 0..n {
            let Products { own: [square, _], items, .. } = products[triangle(k) + k];
            matrix[(k, k)] = (square / items.max(f64::MIN_POSITIVE)).max(f64::MIN_POSITIVE);
            for m in 0..k {
                let Products { own: [a, b], cross, .. } = products[triangle(k) + m];
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

    /// The correlations of all classifiers' evidences, K × K.
    pub fn correlations(&self) -> Vec<Vec<f64>> {
        let n = self.n_classifiers();
        let entry = |a: usize, b: usize| if a == b { 1.0 } else { self.correlation(a, b) };
        (0..n).map(|a| (0..n).map(|b| entry(a, b)).collect()).collect()
    }

    /// The share of every classifier among those present; 0 for the others.
    pub fn shares(&self, present: impl Fn(usize) -> bool) -> Vec<f64> {
        self.shares_from(None, present)
    }

    /// The same; the search begins at `start`, which changes its time only.
    fn shares_from(&self, start: Option<&[f64]>, present: impl Fn(usize) -> bool) -> Vec<f64> {
        let chosen: Vec<usize> = (0..self.n_classifiers()).filter(|k| present(*k)).collect();
        let n = chosen.len();
        // in units of standard deviations, so that the ridge means the same for all
        let deviation = |k: usize| self.matrix[(chosen[k], chosen[k])].sqrt();
        let correlation = DMatrix::from_fn(n, n, |k, m| {
            let off = self.matrix[(chosen[k], chosen[m])] / (deviation(k) * deviation(m));
            if k == m { 1.0 + RIDGE } else { off }
        });
        let target = DVector::from_fn(n, |k, _| (1.0 + RIDGE) * deviation(k));
        let start = start.map(|w| DVector::from_fn(n, |k, _| w[chosen[k]] * deviation(k)));
        let scaled = least_quadratic(&correlation, &target, start.as_ref());
        let mut shares = vec![0.0; self.n_classifiers()];
        for (k, &place) in chosen.iter().enumerate() {
            shares[place] = scaled[k] / deviation(k);
        }
        shares
    }

    /// Groups of two or more classifiers with nearly the same evidence: each has a correlation of
    /// [`COPIES`] or more with another one of its group.
    pub fn copies(&self) -> Vec<Vec<usize>> {
        let n = self.n_classifiers();
        let mut group: Vec<usize> = (0..n).collect();
        for (a, b) in (0..n).flat_map(|b| (0..b).map(move |a| (a, b))) {
            if self.correlation(a, b) >= COPIES {
                let (old, new) = (group[a].max(group[b]), group[a].min(group[b]));
                group.iter_mut().filter(|g| **g == old).for_each(|g| *g = new);
            }
        }
        let members = |g: usize| (0..n).filter(|k| group[*k] == g).collect::<Vec<_>>();
        (0..n).map(members).filter(|group| group.len() > 1).collect()
    }

    /// The shares of all classifiers as reports show them: copies divide what their group has
    /// together equally. In [`shares`](Self::shares), which are weights of evidence, the copy with
    /// the largest variance has almost everything.
    pub fn divided_shares(&self) -> Vec<f64> {
        divided(self.shares(|_| true), &self.copies())
    }

    /// The effective number of independent classifiers.
    pub fn effective_number(&self) -> f64 {
        self.shares(|_| true).iter().sum()
    }
}

/// The values with the sum of every group divided equally among its members.
fn divided(mut values: Vec<f64>, groups: &[Vec<usize>]) -> Vec<f64> {
    for group in groups {
        let mean = group.iter().map(|k| values[*k]).sum::<f64>() / group.len() as f64;
        group.iter().for_each(|k| values[*k] = mean);
    }
    values
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

    /// A copy with evidence on a smaller scale has no weight, but half of its group's share. By
    /// hand: ½ (2 v + u)² − 4 v − u has its minimum over v, u ≥ 0 at v = 1, u = 0.
    #[test]
    fn copies_of_different_scale_divide_their_share() {
        let rows = vec![vec![4.0, 2.0, 0.0], vec![2.0, 1.0, 0.0], vec![0.0, 0.0, 9.0]];
        let covariance = EvidenceCovariance::try_from(rows).unwrap();
        assert_eq!(covariance.copies(), [vec![0, 1]]);
        assert!(covariance.shares(|_| true)[1] < 1e-12);
        for (share, expected) in covariance.divided_shares().iter().zip([0.5, 0.5, 1.0]) {
            assert!((share - expected).abs() < 1e-3, "{share} {expected}");
        }
        assert!((covariance.effective_number() - 2.0).abs() < 2e-3);
    }

    /// Three copies in a chain of pairs make one group in any order; 0.94 is no copy.
    #[test]
    fn copies_are_joined_in_pairs() {
        let chain = |order: [usize; 4]| {
            let r = [
                [1.0, 0.96, 0.94, 0.0],
                [0.96, 1.0, 0.96, 0.0],
                [0.94, 0.96, 1.0, 0.94],
                [0.0, 0.0, 0.94, 1.0],
            ];
            let rows = order.map(|k| order.map(|m| r[k][m]).to_vec()).to_vec();
            EvidenceCovariance::try_from(rows).unwrap().copies()
        };
        assert_eq!(chain([0, 1, 2, 3]), [vec![0, 1, 2]]);
        assert_eq!(chain([3, 2, 0, 1]), [vec![1, 2, 3]]);
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
