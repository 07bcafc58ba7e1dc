//! Coordinates in which the integrand is nearly a product of one-dimensional laws.
//!
//! # Coordinates
//! ln sₖ of every total; then, class by class, one z for every shared gamma, the common one first:
//!
//! ```text
//! z = ln D + ln Σ_k ω_k/(w_k − D),   Σ ω = 1,
//! ```
//!
//! w_k being what earlier gammas have left of sₖx_kl. z runs over the whole line, from D = 0 to D = min w, and stays smooth
//! where the smallest w changes: D = min(w)·logistic(z) would have a kink there. ω_k ∝ (a_k + later shapes)/A_k² at the
//! centre: the weights with which the walls act on D.
//!
//! The common scale of all gammas is integrated exactly: f is an integral over ratios, one total held fixed, of
//! Γ(N) T^−N Π…, N being the sum of all shapes. The total held fixed is that of the classifier with the largest α.
//!
//! # Linear structure
//! Regressions, from the curvature at the centre, of each coordinate on those before it; what is left is its
//! innovation. Far out a straight line would lead astray (of a shape of .01 the logarithm wanders over hundreds), so a z
//! enters the regressions through its logistic function, in which D is linear, and a total through a bounded function.

use nalgebra::DMatrix;

use super::block::{Block, Component};
use super::centre::{Centre, floored};

/// A shared gamma's coordinate.
#[derive(Debug, Clone)]
pub(super) struct Coordinate {
    /// Members and their weights ω.
    pub(super) members: Vec<(usize, f64)>,
    pub(super) shape: f64,
    pub(super) centre: f64,
    /// logistic(centre), and one over its derivative there.
    pub(super) logistic: [f64; 2],
    /// Coefficients of the free totals' bounded deviations, then of the logistic functions of all z before it.
    pub(super) regression: Vec<f64>,
    /// Standard deviation of the innovation.
    pub(super) sd: f64,
}

/// A class's coordinates with its outputs and private shapes.
#[derive(Debug, Clone)]
pub(super) struct ClassChart {
    pub(super) coordinates: Vec<Coordinate>,
    pub(super) x: Vec<f64>,
    pub(super) private: Vec<f64>,
}

/// A free total's coordinate: its deviation from the centre is a combination of innovations.
#[derive(Debug, Clone)]
pub(super) struct Total {
    pub(super) classifier: usize,
    pub(super) centre: f64,
    /// Coefficients of the innovations of the totals before it.
    pub(super) on_earlier: Vec<f64>,
    pub(super) sd: f64,
}

/// All coordinates of an item.
#[derive(Debug, Clone)]
pub(super) struct Chart {
    /// The classifier whose total is held fixed, and that total.
    pub(super) fixed: (usize, f64),
    pub(super) totals: Vec<Total>,
    pub(super) classes: Vec<ClassChart>,
    /// N, the sum of all shapes.
    pub(super) power: f64,
}

impl Chart {
    pub(super) fn new(block: &Block, x: &[Vec<f64>], centre: &Centre) -> Option<Self> {
        let fixed = block.largest();
        let free: Vec<usize> = (0..block.len()).filter(|&k| k != fixed).collect();
        let steps: Vec<Linear> = block
            .components
            .iter()
            .enumerate()
            .map(|(l, c)| Linear::new(c, l, x, centre))
            .collect();
        let lower = covariance(centre, &steps, fixed)?.cholesky()?.l();
        let inverse =
            lower.solve_lower_triangular(&DMatrix::identity(lower.nrows(), lower.nrows()))?;
        let totals = free.iter().enumerate().map(|(i, &classifier)| Total {
            classifier,
            centre: centre.totals[classifier].ln(),
            on_earlier: (0..i).map(|j| lower[(i, j)] / lower[(j, j)]).collect(),
            sd: lower[(i, i)],
        });
        let totals = totals.collect();
        let mut row = free.len();
        let mut classes = Vec::new();
        for (l, (c, linear)) in block.components.iter().zip(steps).enumerate() {
            let regression = |i: usize| (0..i).map(|j| -lower[(i, i)] * inverse[(i, j)]).collect();
            let coordinates = linear.z.iter().zip(linear.weights).zip(&c.factors);
            let coordinates = coordinates.enumerate().map(|(i, ((&z, members), factor))| {
                let shape = factor.shape;
                Coordinate::new(z, members, shape, regression(row + i), lower[(row + i, row + i)])
            });
            let coordinates: Vec<Coordinate> = coordinates.collect();
            row += coordinates.len();
            let x = x.iter().map(|x| x[l]).collect();
            classes.push(ClassChart { coordinates, x, private: c.private.clone() });
        }
        Some(Self { fixed: (fixed, centre.totals[fixed]), totals, classes, power: block.power() })
    }

    /// Standard deviations of all innovations, totals first.
    pub(super) fn scales(&self) -> impl Iterator<Item = f64> {
        let coordinates = self.classes.iter().flat_map(|c| &c.coordinates);
        self.totals.iter().map(|t| t.sd).chain(coordinates.map(|c| c.sd))
    }
}

impl Coordinate {
    fn new(z: f64, members: Vec<(usize, f64)>, shape: f64, regression: Vec<f64>, sd: f64) -> Self {
        let logistic = 1.0 / (1.0 + (-z).exp());
        // logistic' = e^z/(1+e^z)², bounded away from 0 for the sake of the quotient only
        let slope = (logistic / (1.0 + z.exp())).max(1e-12);
        Self { members, shape, centre: z, logistic: [logistic, 1.0 / slope], regression, sd }
    }
}

/// z = U ln D + V ln s to first order about the centre, for one class.
struct Linear {
    weights: Vec<Vec<(usize, f64)>>,
    z: Vec<f64>,
    on_shared: DMatrix<f64>,
    on_totals: DMatrix<f64>,
}

impl Linear {
    fn new(c: &Component, l: usize, x: &[Vec<f64>], centre: &Centre) -> Self {
        let (n, n_factors) = (x.len(), c.factors.len());
        let weights = weights(c, &centre.private[l]);
        let mut on_shared = DMatrix::<f64>::zeros(n_factors, n_factors);
        let mut on_totals = DMatrix::<f64>::zeros(n_factors, n);
        let mut rest: Vec<f64> = (0..n).map(|k| centre.totals[k] * x[k][l]).collect();
        let mut z = Vec::new();
        for (i, (factor, &d)) in c.factors.iter().zip(&centre.shared[l]).enumerate() {
            factor.members.iter().for_each(|&k| rest[k] -= d);
            let sum: f64 = weights[i].iter().map(|&(k, w)| w / rest[k]).sum();
            z.push(d.ln() + sum.ln());
            on_shared[(i, i)] += 1.0;
            for &(k, weight) in &weights[i] {
                let pull = weight / (rest[k] * rest[k]) / sum;
                on_totals[(i, k)] -= pull * centre.totals[k] * x[k][l];
                for (j, earlier) in c.factors.iter().enumerate().take(i + 1) {
                    if earlier.members.contains(&k) {
                        on_shared[(i, j)] += pull * centre.shared[l][j];
                    }
                }
            }
        }
        Self { weights, z, on_shared, on_totals }
    }
}

/// The covariance of the free totals' ln s and all z that the curvature at the centre stands for, the common
/// scale integrated out.
///
/// With precision P in (ln s, z) and 1 the direction that moves all ln s alike (z does not notice scale), what is left
/// of P is P − (P1)(P1)ᵀ/(1ᵀP1); then the row of the fixed total is dropped.
fn covariance(centre: &Centre, steps: &[Linear], fixed: usize) -> Option<DMatrix<f64>> {
    let n = centre.totals.len();
    let size = n + steps.iter().map(|s| s.z.len()).sum::<usize>();
    let mut precision = DMatrix::<f64>::zeros(size, size);
    (0..n).for_each(|k| precision[(k, k)] = centre.curvature.totals[k]);
    let mut row = n;
    for (l, step) in steps.iter().enumerate().filter(|(_, step)| !step.z.is_empty()) {
        let m = step.z.len();
        let inverse = step.on_shared.clone().solve_lower_triangular(&DMatrix::identity(m, m))?;
        // ln D = U⁻¹(z − V ln s)
        let totals = -&inverse * &step.on_totals;
        let (shared, between) = (&centre.curvature.shared[l], &centre.curvature.between[l]);
        let cross = inverse.tr_mul(&(shared * &totals + between));
        let own = inverse.tr_mul(&(shared * &inverse));
        let across = totals.tr_mul(between);
        let corner = totals.tr_mul(&(shared * &totals)) + &across + across.transpose();
        let mut view = precision.view_mut((0, 0), (n, n));
        view += corner;
        precision.view_mut((row, row), (m, m)).copy_from(&own);
        precision.view_mut((row, 0), (m, n)).copy_from(&cross);
        precision.view_mut((0, row), (n, m)).copy_from(&cross.transpose());
        row += m;
    }
    let along = precision.columns(0, n).column_sum();
    let scale = along.rows(0, n).sum();
    precision -= &along * along.transpose() / scale;
    precision.remove_row(fixed).remove_column(fixed).cholesky().map(|factor| factor.inverse())
}

/// ω of every factor's members.
fn weights(c: &Component, private: &[f64]) -> Vec<Vec<(usize, f64)>> {
    let later = |i: usize, k: usize| {
        let after = c.factors.iter().skip(i + 1).filter(|f| f.members.contains(&k));
        after.map(|f| floored(f.shape)).sum::<f64>()
    };
    let of_factor = |i: usize| {
        let pull = |&k: &usize| {
            let a = private[k];
            (k, (floored(c.private[k]) + later(i, k)) / (a * a))
        };
        let mut weights: Vec<(usize, f64)> = c.factors[i].members.iter().map(pull).collect();
        let sum: f64 = weights.iter().map(|w| w.1).sum();
        weights.iter_mut().for_each(|w| w.1 /= sum);
        weights
    };
    (0..c.factors.len()).map(of_factor).collect()
}
