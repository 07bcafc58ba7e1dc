//! Columns of a smoothed component far from its tie.
//!
//! There the larger gamma L = M e^|τ| hardly knows of the smaller one. With b the private shape of the larger and ξ = e^−|τ|,
//!
//! ```text
//! h ∝ M^(n−1) e^(b|τ|) e^(−M−L) ∫₀¹ v^(δ−1) (1−v)^(a−1) (1 − ξv)^(b−1) e^(Mv) dv,   M = ξL,
//! ```
//!
//! so that at fixed L everything but the first factors is analytic in ξ down to 0, smoothed or not: a few columns,
//! equidistant in ξ and tabulated over L, reach from a moderate distance to infinity.

use pulp::Arch;

use super::convolution::{Nodes, half_width};
use super::shared_part::{Lattice, typical};
use super::table::{BELOW, Masses, TAPS, lagrange};
use crate::pair::component::Component;

/// Columns of a side: a dozen below the start, and those that interpolation needs above it.
const COLUMNS: usize = 12 + BELOW + 1;
/// The place of the first column, which stands for ξ = 0.
const INFINITY: f64 = 1e-12;
/// Distance from which on the columns serve, where the resolution allows it.
const START: f64 = 1.0;

/// The columns of both sides.
#[derive(Debug)]
pub(crate) struct Tail {
    step: f64,
    /// Entries are U = ln φ − (n−2) ln m − (b−1)|τ| + M over L; none where b is 0.
    sides: [Vec<f64>; 2],
    stride: usize,
}

/// The distance from which on a component has these columns.
pub(crate) fn start(c: &Component, epsilon: f64) -> f64 {
    START.max((half_width(c, epsilon) + 1.0) * epsilon + 0.3)
}

impl Tail {
    pub(crate) fn new(
        arch: Arch,
        c: &Component,
        epsilon: f64,
        masses: &Masses,
        stride: usize,
    ) -> Self {
        let step = (-start(c, epsilon)).exp() / 12.0;
        let typical = typical(c);
        let lattice = Lattice::new(arch, c, typical, START);
        let gaussian = gaussian(c, epsilon);
        let mut far = Self { step, sides: [Vec::new(), Vec::new()], stride };
        for k in 0..2 {
            let (near, b) = (c.private[k], c.private[1 - k]);
            if b == 0.0 {
                continue;
            }
            far.sides[k].resize(COLUMNS * stride, 0.0);
            for (i, column) in far.sides[k].chunks_exact_mut(stride).enumerate() {
                let xi = step * i as f64 + INFINITY;
                let side = Side { lattice: &lattice, shared: c.shared, near, far: b, typical };
                let values = side.column(arch, xi, &gaussian, &masses.convolved);
                masses.spread(&values, column);
            }
        }
        far
    }

    /// Entries from the first of eight columns on, and their weights.
    pub(crate) fn blend(&self, tau: f64) -> (&[f64], [f64; TAPS]) {
        let at = (-tau.abs()).exp() / self.step;
        let column = (at as usize).saturating_sub(BELOW).min(COLUMNS - TAPS);
        (&self.sides[usize::from(tau > 0.0)][column * self.stride..], lagrange(at - column as f64))
    }
}

/// Distances from a column and the logarithms of the Gaussian's weights there.
fn gaussian(c: &Component, epsilon: f64) -> Vec<(f64, f64)> {
    let Nodes { scale, step } = Nodes::new(c, epsilon);
    let step = step * scale / epsilon;
    let half = (half_width(c, epsilon) / step).ceil() as i64;
    let ln_weight = (step / std::f64::consts::TAU.sqrt()).ln();
    let node = |j: i64| (step * j as f64 * epsilon, ln_weight - 0.5 * (step * j as f64).powi(2));
    (-half..=half).map(node).collect()
}

/// One side of a component.
struct Side<'a> {
    lattice: &'a Lattice,
    shared: f64,
    near: f64,
    far: f64,
    typical: f64,
}

impl Side<'_> {
    /// U over L at one ξ.
    fn column(&self, arch: Arch, xi: f64, gaussian: &[(f64, f64)], larger: &[f64]) -> Vec<f64> {
        let Self { lattice, shared, near, far, typical } = *self;
        let distance = -xi.ln();
        let smaller: Vec<f64> = larger.iter().map(|l| xi * l).collect();
        let powers = lattice.powers(arch, &smaller, typical);
        let rows: Vec<Vec<f64>> = gaussian
            .iter()
            .map(|&(away, ln_weight)| {
                let node = distance + away;
                let mut logs =
                    lattice.row(arch, shared, near, far, node, &smaller, typical, &powers);
                logs.iter_mut().for_each(|log| *log += ln_weight);
                logs
            })
            .collect();
        (0..larger.len())
            .map(|i| {
                let top = rows.iter().map(|row| row[i]).fold(f64::NEG_INFINITY, f64::max);
                let sum: f64 = rows.iter().map(|row| (row[i] - top).exp()).sum();
                top + sum.ln() - far * distance + larger[i]
            })
            .collect()
    }
}
