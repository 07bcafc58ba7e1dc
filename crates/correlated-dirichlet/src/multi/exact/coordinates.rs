//! Coordinates without boundaries in which the integrand is nearly a product of one-dimensional densities.
//!
//! # Definition
//! ln sₖ of every total; then, component by component, one z for every shared gamma, the common one first:
//!
//! ```text
//! z = ln D + ln Σ_k ω_k/(w_k − D),   Σ ω = 1,
//! ```
//!
//! where w_k is the rest of sₖx_kl after the earlier gammas. z runs over the whole line, from D = 0 to D = min w, and
//! is smooth where the smallest w changes: D = min(w)·logistic(z) would have a kink there. ω_k ∝ (a_k + later
//! shapes)/A_k² at the mode: the strength with which each boundary acts on D.
//!
//! The common scale of all gammas is integrated exactly: f is an integral over ratios, with one total held fixed, of
//! Γ(N) T^−N Π…, where N is the sum of all shapes. The total held fixed is that of the classifier with the largest Σ α.
//!
//! # Innovations
//! The Hessian at the mode gives a linear regression of each coordinate on the earlier ones; the residual is the
//! coordinate's innovation. Far from the mode a linear function would be wrong (ln D of a shape of 0.01 ranges over
//! hundreds of units), so that a z enters the regressions through its logistic function, in which D is linear, and a
//! total through a bounded function.

use nalgebra::DMatrix;

use super::super::group::{ComponentShapes, Group};
use super::super::mode::{IntegrandMode, floored};

/// The coordinate z of a shared gamma.
#[derive(Debug, Clone)]
pub(super) struct SharedCoordinate {
    /// Members and their weights ω.
    pub(super) members: Vec<(usize, f64)>,
    pub(super) shape: f64,
    /// z at the mode.
    pub(super) mode: f64,
    /// logistic(z) at the mode, and one over its derivative there.
    pub(super) logistic: [f64; 2],
    /// Coefficients of the free totals' bounded deviations, then of the logistic functions of all earlier z.
    pub(super) regression: Vec<f64>,
    /// Standard deviation of the innovation.
    pub(super) sd: f64,
}

/// The coordinates of one component, with its outputs and private shapes.
#[derive(Debug, Clone)]
pub(super) struct ComponentCoordinates {
    pub(super) coordinates: Vec<SharedCoordinate>,
    pub(super) x: Vec<f64>,
    pub(super) private: Vec<f64>,
}

/// The coordinate ln s of a free total: its deviation from the mode is a linear combination of innovations.
#[derive(Debug, Clone)]
pub(super) struct TotalCoordinate {
    pub(super) classifier: usize,
    /// ln s at the mode.
    pub(super) mode: f64,
    /// Coefficients of the innovations of the earlier totals.
    pub(super) on_earlier: Vec<f64>,
    /// Standard deviation of the innovation.
    pub(super) sd: f64,
}

/// The total that is held fixed.
#[derive(Debug, Clone)]
pub(super) struct FixedTotal {
    pub(super) classifier: usize,
    pub(super) total: f64,
}

/// All coordinates of an item.
#[derive(Debug, Clone)]
pub(super) struct Coordinates {
    pub(super) fixed: FixedTotal,
    pub(super) totals: Vec<TotalCoordinate>,
    pub(super) components: Vec<ComponentCoordinates>,
    /// N, the sum of all shapes.
    pub(super) total_shape: f64,
}

impl Coordinates {
    pub(super) fn new(group: &Group, x: &[Vec<f64>], mode: &IntegrandMode) -> Option<Self> {
        let fixed = group.largest();
        let free: Vec<usize> = (0..group.len()).filter(|&k| k != fixed).collect();
        let linearised: Vec<Linearisation> = group
            .components
            .iter()
            .enumerate()
            .map(|(l, c)| Linearisation::new(c, l, x, mode))
            .collect();
        let lower = covariance(mode, &linearised, fixed)?.cholesky()?.l();
        let inverse =
            lower.solve_lower_triangular(&DMatrix::identity(lower.nrows(), lower.nrows()))?;
        let totals = free.iter().enumerate().map(|(i, &classifier)| TotalCoordinate {
            classifier,
            mode: mode.totals[classifier].ln(),
            on_earlier: (0..i).map(|j| lower[(i, j)] / lower[(j, j)]).collect(),
            sd: lower[(i, i)],
        });
        let totals = totals.collect();
        let mut row = free.len();
        let mut components = Vec::new();
        for (l, (c, linear)) in group.components.iter().zip(linearised).enumerate() {
            let regression = |i: usize| (0..i).map(|j| -lower[(i, i)] * inverse[(i, j)]).collect();
            let coordinates = linear.z.iter().zip(linear.weights).zip(&c.shared);
            let coordinates = coordinates.enumerate().map(|(i, ((&z, members), gamma))| {
                let shape = gamma.shape;
                SharedCoordinate::new(
                    z,
                    members,
                    shape,
                    regression(row + i),
                    lower[(row + i, row + i)],
                )
            });
            let coordinates: Vec<SharedCoordinate> = coordinates.collect();
            row += coordinates.len();
            let x = x.iter().map(|x| x[l]).collect();
            components.push(ComponentCoordinates { coordinates, x, private: c.private.clone() });
        }
        let fixed = FixedTotal { classifier: fixed, total: mode.totals[fixed] };
        Some(Self { fixed, totals, components, total_shape: group.total_shape() })
    }

    /// Standard deviations of all innovations, totals first.
    pub(super) fn scales(&self) -> impl Iterator<Item = f64> {
        self.totals.iter().map(|t| t.sd).chain(self.shared().map(|c| c.sd))
    }

    /// The coordinates of all shared gammas.
    pub(super) fn shared(&self) -> impl Iterator<Item = &SharedCoordinate> {
        self.components.iter().flat_map(|c| &c.coordinates)
    }

    /// Number of shared gammas.
    pub(super) fn n_shared(&self) -> usize {
        self.components.iter().map(|c| c.coordinates.len()).sum()
    }
}

impl SharedCoordinate {
    fn new(z: f64, members: Vec<(usize, f64)>, shape: f64, regression: Vec<f64>, sd: f64) -> Self {
        let logistic = 1.0 / (1.0 + (-z).exp());
        // logistic' = e^z/(1+e^z)², bounded from below so that its inverse is finite
        let slope = (logistic / (1.0 + z.exp())).max(1e-12);
        Self { members, shape, mode: z, logistic: [logistic, 1.0 / slope], regression, sd }
    }
}

/// z = U ln D + V ln s to first order about the mode, for one component.
struct Linearisation {
    weights: Vec<Vec<(usize, f64)>>,
    z: Vec<f64>,
    on_shared: DMatrix<f64>,
    on_totals: DMatrix<f64>,
}

impl Linearisation {
    fn new(c: &ComponentShapes, l: usize, x: &[Vec<f64>], mode: &IntegrandMode) -> Self {
        let (n, n_shared) = (x.len(), c.shared.len());
        let weights = weights(c, &mode.private[l]);
        let mut on_shared = DMatrix::<f64>::zeros(n_shared, n_shared);
        let mut on_totals = DMatrix::<f64>::zeros(n_shared, n);
        let mut rest: Vec<f64> = (0..n).map(|k| mode.totals[k] * x[k][l]).collect();
        let mut z = Vec::new();
        for (i, (gamma, &d)) in c.shared.iter().zip(&mode.shared[l]).enumerate() {
            gamma.members.iter().for_each(|&k| rest[k] -= d);
            let sum: f64 = weights[i].iter().map(|&(k, w)| w / rest[k]).sum();
            z.push(d.ln() + sum.ln());
            on_shared[(i, i)] += 1.0;
            for &(k, weight) in &weights[i] {
                let pull = weight / (rest[k] * rest[k]) / sum;
                on_totals[(i, k)] -= pull * mode.totals[k] * x[k][l];
                for (j, earlier) in c.shared.iter().enumerate().take(i + 1) {
                    if earlier.members.contains(&k) {
                        on_shared[(i, j)] += pull * mode.shared[l][j];
                    }
                }
            }
        }
        Self { weights, z, on_shared, on_totals }
    }
}

/// The covariance of the free totals' ln s and all z that corresponds to the Hessian at the mode, with the common scale
/// integrated out.
///
/// Let P be the precision in (ln s, z) and 1 the direction that moves all ln s alike (z does not depend on the scale).
/// Integrating out the scale leaves P − (P1)(P1)ᵀ/(1ᵀP1); then the row and the column of the fixed total are dropped.
fn covariance(
    mode: &IntegrandMode,
    linearised: &[Linearisation],
    fixed: usize,
) -> Option<DMatrix<f64>> {
    let n = mode.totals.len();
    let size = n + linearised.iter().map(|s| s.z.len()).sum::<usize>();
    let mut precision = DMatrix::<f64>::zeros(size, size);
    (0..n).for_each(|k| precision[(k, k)] = mode.curvature.totals[k]);
    let mut row = n;
    for (l, step) in linearised.iter().enumerate().filter(|(_, step)| !step.z.is_empty()) {
        let m = step.z.len();
        let inverse = step.on_shared.clone().solve_lower_triangular(&DMatrix::identity(m, m))?;
        // ln D = U⁻¹(z − V ln s)
        let totals = -&inverse * &step.on_totals;
        let (shared, between) = (&mode.curvature.shared[l], &mode.curvature.between[l]);
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

/// The weights ω of every shared gamma's members.
fn weights(c: &ComponentShapes, private: &[f64]) -> Vec<Vec<(usize, f64)>> {
    let later = |i: usize, k: usize| c.shared_from(i + 1, k).map(floored).sum::<f64>();
    let of_gamma = |i: usize| {
        let pull = |&k: &usize| {
            let a = private[k];
            (k, (floored(c.private[k]) + later(i, k)) / (a * a))
        };
        let mut weights: Vec<(usize, f64)> = c.shared[i].members.iter().map(pull).collect();
        let sum: f64 = weights.iter().map(|w| w.1).sum();
        weights.iter_mut().for_each(|w| w.1 /= sum);
        weights
    };
    (0..c.shared.len()).map(of_gamma).collect()
}
