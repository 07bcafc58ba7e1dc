//! The layout of a table: the τ of its columns, the M of its entries, and interpolation between them.

use super::constants::{CHEBYSHEV, CORE, CORE_STEP, EMPTY, FINE, Grain, LOW, SIDE_STEP};
use super::kernel::ROW_UNIT;
use super::tail;
use crate::pair::component::Component;
use crate::pair::exact::kernel::GROUP;

/// Points of an interpolation.
pub(crate) const TAPS: usize = 8;
/// Those among them below the one that is interpolated at.
pub(crate) const BELOW: usize = TAPS / 2 - 1;
/// Entries that may be read beyond those that are used.
pub(crate) const SLACK: usize = 8;

/// Entries above the largest M that matters, for points with negligible terms.
pub(crate) const LINE_ROOM: i64 = (GROUP + TAPS + 3) as i64;

/// The τ of all columns: the core, then the side below and the side above.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Columns {
    pub(crate) epsilon: f64,
    core: usize,
    core_step: f64,
    side_step: f64,
    sides: [usize; 2],
    /// Whether a side contains the tail of a Gaussian only.
    empty: [bool; 2],
    /// ln |τ| of the first column of a side, and the |τ| at which the tail begins.
    ln_first: f64,
    pub(crate) reach: f64,
}

/// The terms that the entries of a column leave out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Part {
    /// M(e^|τ| − 1).
    Core,
    /// Nothing.
    Side,
    /// M(e^|τ| − 1) and −τ²/2ε².
    Empty,
    /// (b−1)|τ| − M, b the private shape of the larger gamma; the columns are over L, not M.
    Tail,
}

/// Weights of the polynomial through eight values at 0, 1, …, 7.
#[inline]
pub(crate) fn lagrange(x: f64) -> [f64; TAPS] {
    const SCALE: [f64; TAPS] = [
        -1.0 / 5040.0,
        1.0 / 720.0,
        -1.0 / 240.0,
        1.0 / 144.0,
        -1.0 / 144.0,
        1.0 / 240.0,
        -1.0 / 720.0,
        1.0 / 5040.0,
    ];
    let d: [f64; TAPS] = std::array::from_fn(|i| x - i as f64);
    let mut weights = SCALE;
    let (mut left, mut right) = (1.0, 1.0);
    for i in 0..TAPS {
        weights[i] *= left;
        left *= d[i];
        weights[TAPS - 1 - i] *= right;
        right *= d[TAPS - 1 - i];
    }
    weights
}

impl Columns {
    pub(crate) fn new(c: &Component, epsilon: f64, spacing: f64) -> Self {
        let (core_step, side_step) = (spacing * CORE_STEP, spacing * SIDE_STEP);
        let ln_first = (CORE * epsilon).ln() - (BELOW + 1) as f64 * side_step;
        let reach = tail::start(c, epsilon);
        let empty = [c.private[1] == 0.0, c.private[0] == 0.0];
        let sides = empty.map(|empty| {
            let furthest = if empty { reach.max(EMPTY * epsilon) } else { reach };
            (((furthest.ln() - ln_first) / side_step) as usize + BELOW + 2).max(TAPS)
        });
        let core = 2 * ((CORE / core_step) as usize + BELOW + 1) + 1;
        Self { epsilon, core, core_step, side_step, sides, empty, ln_first, reach }
    }

    /// τ of a column, and the terms that it leaves out.
    pub(crate) fn position(&self, column: usize) -> (f64, Part) {
        if column < self.core {
            let z = self.core_step * (column as f64 - (self.core / 2) as f64);
            return (self.epsilon * z, Part::Core);
        }
        let column = column - self.core;
        let upper = column >= self.sides[0];
        let i = if upper { column - self.sides[0] } else { column };
        let tau = (self.ln_first + self.side_step * i as f64).exp();
        let part = if self.empty[usize::from(upper)] { Part::Empty } else { Part::Side };
        (if upper { tau } else { -tau }, part)
    }

    pub(crate) fn count(&self) -> usize {
        self.core + self.sides[0] + self.sides[1]
    }

    /// The largest |τ| that has columns.
    pub(crate) fn furthest(&self) -> f64 {
        let longest = self.sides[0].max(self.sides[1]);
        (self.ln_first + self.side_step * longest as f64).exp()
    }

    /// The number of columns beyond this |τ|.
    pub(crate) fn n_beyond(&self, tau: f64) -> f64 {
        let one = |side: usize| {
            (side as f64 - ((tau.ln() - self.ln_first) / self.side_step).max(0.0)).max(0.0)
        };
        one(self.sides[0]) + one(self.sides[1])
    }

    pub(crate) fn is_tail(&self, tau: f64) -> bool {
        tau.abs() > self.reach && !self.empty[usize::from(tau > 0.0)]
    }

    /// The first of eight columns and their weights; none in the tail.
    pub(crate) fn blend(&self, tau: f64) -> Option<(usize, [f64; TAPS], Part)> {
        let z = tau / self.epsilon;
        if z.abs() <= CORE {
            let at = z / self.core_step + (self.core / 2) as f64;
            let column = at as usize - BELOW;
            return Some((column, lagrange(at - column as f64), Part::Core));
        }
        if self.is_tail(tau) {
            return None;
        }
        let upper = usize::from(tau > 0.0);
        let (empty, side) = (self.empty[upper], self.sides[upper]);
        let last = (side - 1) as f64;
        let at = ((tau.abs().ln() - self.ln_first) / self.side_step).min(last);
        let column = (at as usize - BELOW).min(side - TAPS);
        let start = self.core + upper * self.sides[0];
        let part = if empty { Part::Empty } else { Part::Side };
        Some((start + column, lagrange(at - column as f64), part))
    }
}

/// The lattice in ln M, and the few M at which columns are computed.
///
/// Below [`LOW`] entries are values of the polynomial through a column at Chebyshev's points: T is analytic in M.
#[derive(Debug)]
pub(crate) struct Masses {
    /// Of the table.
    pub(crate) grain: Grain,
    /// Chebyshev points from 0 to `LOW`, then the lattice from there on.
    pub(crate) convolved: Vec<f64>,
    /// Lattice points below `LOW`: the weights of Chebyshev's points.
    low: Vec<[f64; CHEBYSHEV]>,
    /// dT/dM at 0.
    slope: [f64; CHEBYSHEV],
}

impl Masses {
    pub(crate) fn new(step: f64, first: i64, last: i64, grain: Grain) -> Self {
        let node = |i: usize| {
            let angle = std::f64::consts::PI * i as f64 / (CHEBYSHEV - 1) as f64;
            LOW * (0.5 * angle).sin().powi(2)
        };
        let nodes: [f64; CHEBYSHEV] = std::array::from_fn(node);
        let weights = |x: f64| -> [f64; CHEBYSHEV] {
            std::array::from_fn(|i| {
                let others = nodes.iter().enumerate().filter(|(j, _)| *j != i);
                others.map(|(_, other)| (x - other) / (nodes[i] - other)).product()
            })
        };
        let (up, down) = (weights(FINE.series), weights(-FINE.series));
        let slope = std::array::from_fn(|i| (up[i] - down[i]) / (2.0 * FINE.series));
        let mut masses = Self { grain, convolved: nodes.to_vec(), low: Vec::new(), slope };
        for i in first.. {
            let mass = (step * i as f64).exp();
            if mass < LOW {
                masses.low.push(weights(mass));
            } else {
                masses.convolved.push(mass);
            }
            if i >= last && masses.convolved.len().is_multiple_of(ROW_UNIT) {
                break;
            }
        }
        masses
    }

    /// Lattice points.
    pub(crate) fn count(&self) -> usize {
        self.low.len() + self.convolved.len() - CHEBYSHEV
    }

    /// A whole column from its values at the M of `convolved`; returns T and dT/dM at 0.
    pub(crate) fn spread(&self, values: &[f64], column: &mut [f64]) -> [f64; 2] {
        let (nodes, lattice) = values.split_at(CHEBYSHEV);
        let dot = |w: &[f64]| -> f64 { w.iter().zip(nodes).map(|(w, v)| w * v).sum() };
        for (entry, weights) in column.iter_mut().zip(&self.low) {
            *entry = dot(weights);
        }
        column[self.low.len()..self.count()].copy_from_slice(lattice);
        column[self.count()..].fill(*lattice.last().unwrap_or(&0.0));
        [nodes[0], dot(&self.slope)]
    }
}
