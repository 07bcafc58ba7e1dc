//! Smoothed components tabulated in both their variables, so that an item only interpolates.
//!
//! A component at a finite resolution depends on M, the smaller of its two gammas, and on τ, the difference of their
//! logarithms. [`Smoothed`] convolves one column of M at a time; here its columns are laid out over τ as well, on
//! a lattice in ln M that all components of a class share. The totals s are then integrated over the same
//! lattice in ln s: moving along it moves every component's ln M by whole steps, so that one set of
//! interpolation weights serves all points of a line.
//!
//! # Numerics
//! Entries are T = ln φ − (n−2) ln m + |τ| − v̄M, φ as in `inner`, v̄ a typical share of the common part. In the
//! core, |τ| ≤ 8ε, columns are ε/16 apart: ln h_ε has branch points about ε/2 from the real line, where a spike
//! gives way to its tails. There M(e^|τ| − 1), which has a corner, is left to the line. Outside h
//! is smooth on the scale of τ itself, and columns are equidistant in ln |τ|. Interpolation is by eight points in
//! both directions. Below [`SERIES`] T is linear in M.

use pulp::Arch;

use super::resolution::{Row, Smoothed};
use super::shapes::Component;

/// Points of an interpolation.
pub(crate) const TAPS: usize = 8;
/// Points below the one that is interpolated at.
const BELOW: usize = TAPS / 2 - 1;
/// Half width and step of the core, in resolutions.
const CORE: f64 = 8.0;
const CORE_STEP: f64 = 1.0 / 16.0;
/// Step in ln |τ| outside.
const SIDE_STEP: f64 = 0.04;
/// M up to which two terms of a power series will do.
pub(crate) const SERIES: f64 = 2e-4;
/// Range of ln s that a line may need, below and above, for the table's lower end.
const WINDOW: f64 = 6.0;
/// Room above the largest M that matters, for the points of a line that do not.
const ROOM: f64 = 1.5;
/// Entries that a read may go beyond what it interpolates.
pub(crate) const SLACK: usize = 8;
/// ln s from here below to here above the logarithm of the total shape.
const SCALES: [f64; 2] = [16.0, 4.0];

/// The tables of one class.
#[derive(Debug)]
pub(crate) struct Planes {
    /// Step of the lattices in ln M and ln s.
    pub(crate) step: f64,
    /// Lattice index of the first entry of a column.
    pub(crate) first: i64,
    /// e^(step·i) from the index `first_scale` on.
    pub(crate) scales: Vec<f64>,
    pub(crate) first_scale: i64,
    pub(crate) planes: Vec<Plane>,
}

/// The table of one component.
#[derive(Debug)]
pub(crate) struct Plane {
    columns: Columns,
    /// Both gammas are the same: no table.
    pub(crate) rigid: bool,
    /// v̄.
    pub(crate) pivot: f64,
    /// Entries of a column, and where the next begins: behind them T(0) and dT/dM.
    pub(crate) count: usize,
    pub(crate) stride: usize,
    pub(crate) entries: Vec<f64>,
}

/// Where columns stand: the core, then the side below and the side above.
#[derive(Debug, Clone, Copy)]
struct Columns {
    epsilon: f64,
    core: usize,
    side: usize,
    /// ln |τ| of a side's first column.
    ln_first: f64,
}

/// The columns to blend for one τ.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Blend {
    /// The first of eight, and the weights of all.
    pub(crate) column: usize,
    pub(crate) weights: [f64; TAPS],
    /// M(e^|τ| − 1) is not part of the entries.
    pub(crate) core: bool,
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
    fn new(epsilon: f64, reach: f64) -> Self {
        let ln_first = (CORE * epsilon).ln() - (BELOW + 1) as f64 * SIDE_STEP;
        let side = ((reach.ln() - ln_first) / SIDE_STEP).max(0.0) as usize + 1;
        Self { epsilon, core: 2 * Self::half() + 1, side, ln_first }
    }

    /// Columns of the core on either side of 0.
    fn half() -> usize {
        (CORE / CORE_STEP) as usize + BELOW + 1
    }

    fn tau(&self, column: usize) -> f64 {
        if column < self.core {
            return self.epsilon * CORE_STEP * (column as f64 - Self::half() as f64);
        }
        let column = column - self.core;
        let tau = |i: usize| (self.ln_first + SIDE_STEP * i as f64).exp();
        if column < self.side { -tau(column) } else { tau(column - self.side) }
    }

    fn count(&self) -> usize {
        self.core + 2 * self.side
    }

    /// The last |τ| with columns on both sides of it.
    fn reach(&self) -> f64 {
        (self.ln_first + SIDE_STEP * (self.side as f64 - 2.0)).exp()
    }

    /// None beyond the last columns.
    fn blend(&self, tau: f64) -> Option<Blend> {
        let z = tau / self.epsilon;
        if z.abs() <= CORE {
            let at = z / CORE_STEP + Self::half() as f64;
            let column = at as usize - BELOW;
            return Some(Blend { column, weights: lagrange(at - column as f64), core: true });
        }
        let at = (tau.abs().ln() - self.ln_first) / SIDE_STEP;
        if !(at < self.side as f64 - 1.5) || self.side < TAPS {
            return None;
        }
        let column = (at as usize - BELOW).min(self.side - TAPS);
        let start = self.core + if tau < 0.0 { 0 } else { self.side };
        Some(Blend { column: start + column, weights: lagrange(at - column as f64), core: false })
    }
}

/// The lattice in ln M, and the few M at which columns are convolved.
///
/// Below [`LOW`] entries are values of the polynomial through a column at Chebyshev's points: T is analytic in M.
struct Masses {
    /// Chebyshev points from 0 to `LOW`, then the lattice from there on.
    convolved: Vec<f64>,
    /// Lattice points below `LOW`, with the weights of Chebyshev's points.
    low: Vec<(f64, [f64; CHEBYSHEV])>,
    /// dT/dM at 0.
    slope: [f64; CHEBYSHEV],
}

impl Masses {
    fn new(step: f64, first: i64, last: i64) -> Self {
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
        let mut masses = Self { convolved: nodes.to_vec(), low: Vec::new(), slope: weights(0.0) };
        for i in first..=last {
            let mass = (step * i as f64).exp();
            if mass < LOW {
                masses.low.push((mass, weights(mass)));
            } else {
                masses.convolved.push(mass);
            }
        }
        let (up, down) = (weights(SERIES), weights(-SERIES));
        masses.slope = std::array::from_fn(|i| (up[i] - down[i]) / (2.0 * SERIES));
        masses
    }
}

/// M below which columns are polynomials in M, and their points.
const LOW: f64 = 0.3;
const CHEBYSHEV: usize = 8;

impl Plane {
    fn new(arch: Arch, c: &Component, epsilon: f64, masses: &Masses) -> Self {
        let count = masses.low.len() + masses.convolved.len() - CHEBYSHEV;
        let mut plane = Self {
            columns: Columns::new(epsilon, 1.0),
            rigid: c.is_rigid(),
            pivot: c.shared.max(0.5) / (c.shared.max(0.5) + c.private[0].min(c.private[1]) + 0.5),
            count,
            stride: (count + SLACK + 2).next_multiple_of(4),
            entries: Vec::new(),
        };
        if !plane.rigid {
            let smoothed = Smoothed::at(arch, c, epsilon, &masses.convolved);
            plane.columns = Columns::new(epsilon, smoothed.reach);
            plane.fill(arch, &smoothed, masses);
        }
        plane
    }

    fn fill(&mut self, arch: Arch, smoothed: &Smoothed, masses: &Masses) {
        let (columns, stride, n_low) = (self.columns, self.stride, masses.low.len());
        self.entries.resize(columns.count() * stride, 0.0);
        let (mut row, mut values) = (Row::default(), Vec::new());
        for (i, column) in self.entries.chunks_exact_mut(stride).enumerate() {
            let tau = columns.tau(i);
            let excess = if i < columns.core { 0.0 } else { tau.abs().exp_m1() };
            values.clear();
            values.extend_from_slice(smoothed.column(arch, tau, &mut row));
            for (value, m) in values.iter_mut().zip(&masses.convolved) {
                *value += m * (excess - self.pivot);
            }
            let (nodes, lattice) = values.split_at(CHEBYSHEV);
            let dot = |w: &[f64]| -> f64 { w.iter().zip(nodes).map(|(w, v)| w * v).sum() };
            for (entry, (_, weights)) in column.iter_mut().zip(&masses.low) {
                *entry = dot(weights);
            }
            column[n_low..self.count].copy_from_slice(lattice);
            column[self.count..].fill(*lattice.last().unwrap_or(&0.0));
            column[stride - 2] = nodes[0];
            column[stride - 1] = dot(&masses.slope);
        }
    }

    /// The largest |τ| that has columns.
    pub(crate) fn reach(&self) -> f64 {
        self.columns.reach()
    }

    /// The columns for τ; none where the table does not reach.
    pub(crate) fn blend(&self, tau: f64) -> Option<Blend> {
        self.columns.blend(tau)
    }

    /// T(0) and dT/dM at τ.
    pub(crate) fn series(&self, blend: &Blend) -> [f64; 2] {
        let mut sum = [0.0; 2];
        for (i, w) in blend.weights.iter().enumerate() {
            let end = (blend.column + i + 1) * self.stride;
            sum[0] += w * self.entries[end - 2];
            sum[1] += w * self.entries[end - 1];
        }
        sum
    }
}

impl Planes {
    /// Makes the tables of a class; none for shapes that they do not serve.
    pub(crate) fn new(arch: Arch, components: &[Component], epsilon: f64) -> Option<Self> {
        let power: f64 = components.iter().map(Component::power).sum();
        if !(power > SMALLEST_TOTAL) || !components.iter().all(is_served) {
            return None;
        }
        let largest = components.iter().map(Component::power).fold(15.0, f64::max);
        let step = 0.11 * (15.0 / largest).powf(1.0 / TAPS as f64);
        let first = ((SERIES.ln() - WINDOW) / step).floor() as i64;
        let index = |x: f64| (x / step).floor() as i64;
        let [first_scale, last_scale] =
            [index(power.ln() - SCALES[0]), index(power.ln() + SCALES[1])];
        // M is at most half of s₁ + s₂, which is about a gamma of shape N
        let highest = 0.5 * (power + 8.0 * power.sqrt() + 25.0);
        let masses = Masses::new(step, first, index(highest.ln() + ROOM));
        let planes = components.iter().map(|c| Plane::new(arch, c, epsilon, &masses));
        Some(Self {
            step,
            first,
            scales: (first_scale..=last_scale).map(|i| (step * i as f64).exp()).collect(),
            first_scale,
            planes: planes.collect(),
        })
    }
}

/// Total shapes below this are left to Gauss rules, component shapes above the other to single columns.
const SMALLEST_TOTAL: f64 = 2.0;
const LARGEST_SHAPE: f64 = 4000.0;

fn is_served(c: &Component) -> bool {
    c.is_rigid() || c.power() < LARGEST_SHAPE
}
