//! The effective number that independent classifiers would show.
//!
//! If the evidence of every classifier were permuted among the items of a class, the correlation of
//! two classifiers' evidence would have the mean 0 and a variance that follows from the scatter
//! Sₖⱼ of classifier k's evidence in class j,
//!
//! ```text
//! τ² = Σⱼ tr(Sₖⱼ Sₘⱼ) / (nⱼ − 1) / (Σⱼ tr Sₖⱼ · Σⱼ tr Sₘⱼ)
//! ```
//!
//! 1/τ² observations of independent normal variables have such correlations, too. Their correlation
//! matrix is drawn by Bartlett's decomposition; permutations take n times as long and agree (see
//! experiments/insight).

use nalgebra::DMatrix;
use rand_distr::{Distribution, StandardNormal};

use super::EvidenceCovariance;
use super::groups::CentredLogs;
use super::replicates::SEED;
use crate::math::random;
use crate::methods::independent::Alpha;
use correlated_dirichlet::sample_ln_gamma;

/// Number of independent observations that would give correlations as variable as these classifiers'
/// evidence, were it independent.
pub(super) fn degrees_of_freedom(logs: &CentredLogs<'_>, alpha: &Alpha) -> f64 {
    let scatters = Scatters::of(logs, alpha);
    let n = alpha.len();
    let pairs = (0..n).flat_map(|k| (0..k).map(move |m| (k, m)));
    let variances: Vec<f64> = pairs.filter_map(|(k, m)| scatters.variance(k, m)).collect();
    if variances.is_empty() {
        return f64::INFINITY;
    }
    variances.len() as f64 / variances.iter().sum::<f64>()
}

/// The effective number of independent classifiers with these variances of evidence, drawn once.
pub(super) fn draw_number(covariance: &EvidenceCovariance, freedom: f64, stream: u64) -> f64 {
    let n = covariance.n_classifiers();
    let mut rng = random::stream(SEED, stream);
    let mut factor = DMatrix::zeros(n, n);
    for k in 0..n {
        for m in (0..k).filter(|m| (*m as f64) < freedom) {
            factor[(k, m)] = StandardNormal.sample(&mut rng);
        }
        let rest = freedom - k as f64;
        if rest > 0.0 {
            factor[(k, k)] =
                (std::f64::consts::LN_2 + sample_ln_gamma(rest / 2.0, &mut rng)).exp().sqrt();
        }
    }
    let mut matrix = &factor * factor.transpose();
    let scale: Vec<f64> = (0..n)
        .map(|k| (covariance.matrix[(k, k)] / matrix[(k, k)].max(f64::MIN_POSITIVE)).sqrt())
        .collect();
    for k in 0..n {
        for m in 0..n {
            matrix[(k, m)] *= scale[k] * scale[m];
        }
        matrix[(k, k)] = covariance.matrix[(k, k)];
    }
    EvidenceCovariance { matrix }.shares_from(Some(&vec![1.0; n]), |_| true).iter().sum()
}

/// The scatter of every classifier's evidence in every class, per item, J × J each.
struct Scatters {
    n_classes: usize,
    /// At k·J + j.
    by_class: Vec<DMatrix<f64>>,
    /// The weight of the items of class j with the outputs of k and m, at (k·K + m)·J + j.
    weights: Vec<f64>,
    n_classifiers: usize,
}

impl Scatters {
    fn of(logs: &CentredLogs<'_>, alpha: &Alpha) -> Self {
        let (n_classifiers, j) = (alpha.len(), logs.outputs.schema().n_classes());
        let slopes: Vec<DMatrix<f64>> = alpha.iter().map(|rows| slopes(rows)).collect();
        // The scatter of the logarithms first: the evidence is linear in them.
        let mut scatters = vec![DMatrix::zeros(j, j); n_classifiers * j];
        let mut weights = vec![0.0; n_classifiers * n_classifiers * j];
        let mut row = vec![0.0; n_classifiers * j];
        for (item, &class) in logs.labels.iter().enumerate() {
            logs.write(item, &mut row);
            let weight = logs.outputs.weight(item);
            let present: Vec<bool> =
                (0..n_classifiers).map(|k| logs.outputs.output(item, k).is_some()).collect();
            for (k, row) in row.chunks_exact(j).enumerate().filter(|(k, _)| present[*k]) {
                let scatter = &mut scatters[k * j + class];
                for (l, a) in row.iter().enumerate() {
                    row[..=l]
                        .iter()
                        .enumerate()
                        .for_each(|(m, b)| scatter[(l, m)] += weight * a * b);
                }
                for m in (0..=k).filter(|m| present[*m]) {
                    weights[(k * n_classifiers + m) * j + class] += weight;
                }
            }
        }
        for (place, scatter) in scatters.iter_mut().enumerate() {
            let (k, class) = (place / j, place % j);
            let items: f64 = weights[(k * n_classifiers + k) * j + class];
            scatter.fill_upper_triangle_with_lower_triangle();
            *scatter =
                &slopes[k] * &*scatter * slopes[k].transpose() / items.max(f64::MIN_POSITIVE);
        }
        Self { n_classes: j, by_class: scatters, weights, n_classifiers }
    }

    /// τ² of a pair with m < k; none if it has no items or one of both does not vary.
    fn variance(&self, k: usize, m: usize) -> Option<f64> {
        let (mut cross, mut own) = (0.0, [0.0; 2]);
        for class in 0..self.n_classes {
            let items = self.weights[(k * self.n_classifiers + m) * self.n_classes + class];
            let [a, b] = [k, m].map(|k| &self.by_class[k * self.n_classes + class]);
            own[0] += items * a.trace();
            own[1] += items * b.trace();
            if items > 1.0 {
                cross += items * items / (items - 1.0) * a.dot(b);
            }
        }
        let variance = cross / (own[0] * own[1]);
        (variance > 0.0 && variance.is_finite()).then_some(variance)
    }
}

/// α of every class minus the mean over the classes.
fn slopes(rows: &[Vec<f64>]) -> DMatrix<f64> {
    let n = rows.len();
    let mean = |l: usize| rows.iter().map(|row| row[l]).sum::<f64>() / n as f64;
    DMatrix::from_fn(n, n, |t, l| rows[t][l] - mean(l))
}
