//! Columns of a smoothed component far from its tie.
//!
//! There the larger gamma L = M e^|τ| hardly depends on the smaller one. With b the private shape of the larger and ξ = e^−|τ|,
//!
//! ```text
//! h ∝ M^(n−1) e^(b|τ|) e^(−M−L) ∫₀¹ v^(δ−1) (1−v)^(a−1) (1 − ξv)^(b−1) e^(Mv) dv,   M = ξL,
//! ```
//!
//! so that at fixed L all factors but the first are analytic in ξ down to 0, smoothed or not. A few columns, equidistant
//! in ξ and tabulated over L, cover all distances from a moderate one to infinity.

use std::array;

use pulp::Arch;

use super::constants::{TAIL_COLUMNS, TAIL_INFINITY, TAIL_START};
use super::convolution::{GaussianNodes, half_width};
use super::layout::{BELOW, Masses, TAPS, lagrange};
use super::shared_part::SharedNodes;
use super::table::Layer;
use crate::pair::component::Component;

/// The columns of both sides.
#[derive(Debug)]
pub(crate) struct Tail {
    step: f64,
    count: usize,
    /// Entries are U = ln φ − (n−2) ln m − (b−1)|τ| + M over L; none where b is 0.
    pub(crate) sides: [Layer; 2],
}

/// The |τ| at which the tail of a component begins.
pub(crate) fn start(c: &Component, epsilon: f64) -> f64 {
    TAIL_START.max((half_width(c, epsilon) + 1.0) * epsilon + 0.3)
}

/// The number of columns of each side.
pub(crate) fn n_columns(spacing: f64) -> f64 {
    ((TAIL_COLUMNS / (2.0 * spacing - 1.0)).round() + (BELOW + 1) as f64).max(TAPS as f64)
}

impl Tail {
    /// Makes the columns with the same spacing as the rest of the table.
    pub(crate) fn new(
        arch: Arch,
        c: &Component,
        epsilon: f64,
        masses: &Masses,
        stride: usize,
        start: f64,
    ) -> Self {
        let count = n_columns(masses.grain.spacing) as usize;
        let step = (-start).exp() / (count - BELOW - 1) as f64;
        let nodes = SharedNodes::new(arch, c, TAIL_START, masses.grain.accuracy);
        let gaussian = GaussianNodes::new(c, epsilon, masses.grain.spacing);
        let larger = &masses.convolved;
        let side = |k: usize| {
            let (near, far) = (c.private[k], c.private[1 - k]);
            let mut layer = Layer::default();
            layer.entries.resize(if far == 0.0 { 0 } else { count * stride }, 0.0);
            let mut values = vec![0.0; larger.len()];
            for (i, column) in layer.entries.chunks_exact_mut(stride).enumerate() {
                let xi = step * i as f64 + TAIL_INFINITY;
                let smaller: Vec<f64> = larger.iter().map(|l| xi * l).collect();
                gaussian.smooth(&nodes.over(&smaller), [near, far], -xi.ln(), &mut values);
                values.iter_mut().zip(larger).for_each(|(u, l)| *u = *u + far * xi.ln() + l);
                layer.series.push(masses.spread(&values, column));
            }
            layer
        };
        Self { step, count, sides: array::from_fn(side) }
    }

    /// Turns the columns of a moved component into their differences from others over a step.
    pub(crate) fn subtract(self, base: &Self, step: f64) -> Self {
        let [below, above] = self.sides;
        let sides = [below.subtract(&base.sides[0], step), above.subtract(&base.sides[1], step)];
        Self { sides, ..self }
    }

    /// The first of eight columns, and their weights.
    pub(crate) fn blend(&self, tau: f64) -> (usize, [f64; TAPS]) {
        let at = (-tau.abs()).exp() / self.step;
        let column = (at as usize).saturating_sub(BELOW).min(self.count - TAPS);
        (column, lagrange(at - column as f64))
    }
}
