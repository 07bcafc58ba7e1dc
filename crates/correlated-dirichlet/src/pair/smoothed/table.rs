//! Convolution components tabulated in both their variables, so that an item only interpolates.
//!
//! A component at a finite resolution depends on M, the smaller of its two gammas, and on τ, the difference of their
//! logarithms. [`Convolution`] convolves one column of M at a time; here its columns are laid out over τ as well, on
//! a lattice in ln M that all components of a class share. The totals s are then integrated over the same
//! lattice in ln s: moving along it moves every component's ln M by whole steps, so that one set of
//! interpolation weights serves all points of a line.
//!
//! # Numerics
//! Entries are T = ln φ − (n−2) ln m + |τ| − v̄M, φ as in `inner`, v̄ a typical share of the common part. In the
//! core, |τ| ≤ 8ε, columns are ε/16 apart: ln h_ε has branch points about ε/2 from the real line, where a spike
//! gives way to its tails. There M(e^|τ| − 1), which has a corner, is left to the line. Outside h
//! is smooth on the scale of τ itself, and columns are equidistant in ln |τ|; far out they are `far`'s.
//! Where a private shape is 0 and h ends at its kink, only the Gaussian's tail is left on the empty side: e^(−τ²/2ε²) is
//! taken out, and columns equidistant in ln |τ| go on as far as anything can be. Interpolation is by eight points
//! in both directions. Below [`SERIES`] T is linear in M.

use std::sync::{Arc, OnceLock};

use pulp::Arch;

use super::convolution::{Convolution, Row};
use super::line_kernel::MAX_POINTS;
use super::tail::{self, Tail};
use crate::pair::component::Component;

/// Points of an interpolation.
pub(crate) const TAPS: usize = 8;
/// Points below the one that is interpolated at.
pub(crate) const BELOW: usize = TAPS / 2 - 1;
/// Half width and step of the core, in resolutions.
const CORE: f64 = 8.0;
const CORE_STEP: f64 = 1.0 / 16.0;
/// Step in ln |τ| outside.
const SIDE_STEP: f64 = 0.04;
/// M up to which two terms of a power series will do.
pub(crate) const SERIES: f64 = 2e-4;
/// Range of ln s that a line may need, for the table's lower end: this, and this over the total shape.
const WINDOW: [f64; 2] = [6.0, 40.0];
/// Room above the largest M that matters, for the points of a line that do not.
const ROOM: f64 = 1.5;
/// Entries that a read may go beyond what it interpolates.
pub(crate) const SLACK: usize = 8;
/// ln s from here and a window below to here above the logarithm of the total shape.
const SCALES: [f64; 2] = [150.0, 12.0];
/// |τ|/ε up to which the empty side of a component has columns: beyond, all is below e^−5000.
const EMPTY: f64 = 100.0;

/// The tables of one class.
#[derive(Debug)]
pub(crate) struct Tables {
    /// Step of the lattices in ln M and ln s.
    pub(crate) step: f64,
    /// Lattice index of the first entry of a column.
    pub(crate) first: i64,
    /// e^(step·i) from the index `first_scale` on.
    pub(crate) scales: Vec<f64>,
    pub(crate) first_scale: i64,
    /// Lattice index of the last entry.
    pub(crate) last: i64,
    pub(crate) components: Vec<Arc<ComponentTable>>,
}

/// The table of one component.
#[derive(Debug)]
pub(crate) struct ComponentTable {
    columns: Columns,
    /// Both gammas are the same: no table.
    pub(crate) rigid: bool,
    /// v̄.
    pub(crate) pivot: f64,
    /// Entries of a column, and where the next begins: behind them T(0) and dT/dM.
    pub(crate) count: usize,
    pub(crate) stride: usize,
    entries: Vec<f64>,
    /// What the columns far out are made of when first asked for.
    arch: Arch,
    component: Component,
    masses: Arc<Masses>,
    far: OnceLock<Tail>,
}

/// Where columns stand: the core, then the side below and the side above.
#[derive(Debug, Clone, Copy)]
struct Columns {
    epsilon: f64,
    core: usize,
    sides: [usize; 2],
    /// Whether a side holds nothing but a Gaussian's tail.
    empty: [bool; 2],
    /// ln |τ| of a side's first column, and where the columns far out take over.
    ln_first: f64,
    reach: f64,
}

/// The columns to blend for one τ.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Blend<'a> {
    /// Entries from the first of eight columns on, and the weights of all.
    pub(crate) entries: &'a [f64],
    pub(crate) weights: [f64; TAPS],
    pub(crate) part: Part,
}

/// What the entries of a column leave to the line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Part {
    /// M(e^|τ| − 1).
    Core,
    /// Nothing.
    Side,
    /// M(e^|τ| − 1) and −τ²/2ε².
    Empty,
    /// (b−1)|τ| − M, b the larger gamma's private shape; they are over L, not M.
    Far { larger: f64 },
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
    fn new(c: &Component, epsilon: f64) -> Self {
        let ln_first = (CORE * epsilon).ln() - (BELOW + 1) as f64 * SIDE_STEP;
        let reach = tail::start(c, epsilon);
        let empty = [c.private[1] == 0.0, c.private[0] == 0.0];
        let sides = empty.map(|empty| {
            let furthest = if empty { reach.max(EMPTY * epsilon) } else { reach };
            ((furthest.ln() - ln_first) / SIDE_STEP) as usize + BELOW + 2
        });
        Self { epsilon, core: 2 * Self::half() + 1, sides, empty, ln_first, reach }
    }

    /// Columns of the core on either side of 0.
    fn half() -> usize {
        (CORE / CORE_STEP) as usize + BELOW + 1
    }

    /// τ of a column, and what it leaves to the line.
    fn place(&self, column: usize) -> (f64, Part) {
        if column < self.core {
            let z = CORE_STEP * (column as f64 - Self::half() as f64);
            return (self.epsilon * z, Part::Core);
        }
        let column = column - self.core;
        let upper = column >= self.sides[0];
        let i = if upper { column - self.sides[0] } else { column };
        let tau = (self.ln_first + SIDE_STEP * i as f64).exp();
        let part = if self.empty[usize::from(upper)] { Part::Empty } else { Part::Side };
        (if upper { tau } else { -tau }, part)
    }

    fn count(&self) -> usize {
        self.core + self.sides[0] + self.sides[1]
    }

    /// The largest |τ| that has columns.
    fn furthest(&self) -> f64 {
        let longest = self.sides[0].max(self.sides[1]);
        (self.ln_first + SIDE_STEP * longest as f64).exp()
    }

    fn is_far(&self, tau: f64) -> bool {
        tau.abs() > self.reach && !self.empty[usize::from(tau > 0.0)]
    }

    /// The first of eight columns and their weights; none far out.
    fn blend(&self, tau: f64) -> Option<(usize, [f64; TAPS], Part)> {
        let z = tau / self.epsilon;
        if z.abs() <= CORE {
            let at = z / CORE_STEP + Self::half() as f64;
            let column = at as usize - BELOW;
            return Some((column, lagrange(at - column as f64), Part::Core));
        }
        let upper = usize::from(tau > 0.0);
        let (empty, side) = (self.empty[upper], self.sides[upper]);
        if self.is_far(tau) {
            return None;
        }
        let last = (side - 1) as f64;
        let at = ((tau.abs().ln() - self.ln_first) / SIDE_STEP).min(last);
        let column = (at as usize - BELOW).min(side - TAPS);
        let start = self.core + upper * self.sides[0];
        let part = if empty { Part::Empty } else { Part::Side };
        Some((start + column, lagrange(at - column as f64), part))
    }
}

/// The lattice in ln M, and the few M at which columns are convolved.
///
/// Below [`LOW`] entries are values of the polynomial through a column at Chebyshev's points: T is analytic in M.
#[derive(Debug)]
pub(crate) struct Masses {
    /// Chebyshev points from 0 to `LOW`, then the lattice from there on.
    pub(crate) convolved: Vec<f64>,
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

    /// Lattice points.
    fn count(&self) -> usize {
        self.low.len() + self.convolved.len() - CHEBYSHEV
    }

    /// A whole column from its values at the M of `convolved`; T(0) and dT/dM are its last two entries.
    pub(crate) fn spread(&self, values: &[f64], column: &mut [f64]) {
        let (nodes, lattice) = values.split_at(CHEBYSHEV);
        let dot = |w: &[f64]| -> f64 { w.iter().zip(nodes).map(|(w, v)| w * v).sum() };
        for (entry, (_, weights)) in column.iter_mut().zip(&self.low) {
            *entry = dot(weights);
        }
        column[self.low.len()..self.count()].copy_from_slice(lattice);
        column[self.count()..].fill(*lattice.last().unwrap_or(&0.0));
        let end = column.len();
        column[end - 2] = nodes[0];
        column[end - 1] = dot(&self.slope);
    }
}

/// M below which columns are polynomials in M, and their points.
const LOW: f64 = 0.3;
const CHEBYSHEV: usize = 8;

impl ComponentTable {
    fn new(arch: Arch, c: &Component, epsilon: f64, masses: &Arc<Masses>) -> Self {
        let count = masses.count();
        let mut table = Self {
            columns: Columns::new(c, epsilon),
            rigid: c.is_rigid(),
            pivot: c.shared.max(0.5) / (c.shared.max(0.5) + c.private[0].min(c.private[1]) + 0.5),
            count,
            stride: (count + SLACK + 2).next_multiple_of(4),
            entries: Vec::new(),
            arch,
            component: *c,
            masses: masses.clone(),
            far: OnceLock::new(),
        };
        if !table.rigid {
            let reach = table.columns.furthest();
            let smoothed = Convolution::at(arch, c, epsilon, &masses.convolved, reach);
            table.fill(&smoothed);
        }
        table
    }

    fn fill(&mut self, smoothed: &Convolution) {
        let (columns, stride, masses) = (self.columns, self.stride, self.masses.clone());
        self.entries.resize(columns.count() * stride, 0.0);
        let (mut row, mut values) = (Row::default(), Vec::new());
        for (i, column) in self.entries.chunks_exact_mut(stride).enumerate() {
            let (tau, part) = columns.place(i);
            let excess = if part == Part::Side { tau.abs().exp_m1() } else { 0.0 };
            let gaussian =
                if part == Part::Empty { 0.5 * (tau / columns.epsilon).powi(2) } else { 0.0 };
            values.clear();
            values.extend_from_slice(smoothed.column(self.arch, tau, &mut row));
            for (value, m) in values.iter_mut().zip(&masses.convolved) {
                *value += m * (excess - self.pivot) + gaussian;
            }
            masses.spread(&values, column);
        }
    }

    /// Whether the columns for τ are over the larger gamma.
    pub(crate) fn is_far(&self, tau: f64) -> bool {
        self.columns.is_far(tau)
    }

    /// The columns for τ.
    pub(crate) fn blend(&self, tau: f64) -> Blend<'_> {
        if let Some((column, weights, part)) = self.columns.blend(tau) {
            return Blend { entries: &self.entries[column * self.stride..], weights, part };
        }
        let Self { arch, component, masses, stride, .. } = self;
        let make = || Tail::new(*arch, component, self.columns.epsilon, masses, *stride);
        let (entries, weights) = self.far.get_or_init(make).blend(tau);
        let larger = component.private[usize::from(tau < 0.0)];
        Blend { entries, weights, part: Part::Far { larger } }
    }

    /// T(0) and dT/dM at τ.
    pub(crate) fn series(&self, blend: &Blend<'_>) -> [f64; 2] {
        let mut sum = [0.0; 2];
        for (column, w) in blend.entries.chunks_exact(self.stride).zip(&blend.weights) {
            sum[0] += w * column[self.stride - 2];
            sum[1] += w * column[self.stride - 1];
        }
        sum
    }
}

impl Tables {
    /// Makes the tables of a class; none for shapes that they do not serve.
    pub(crate) fn new(arch: Arch, components: &[Component], epsilon: f64) -> Option<Self> {
        let power: f64 = components.iter().map(Component::power).sum();
        if epsilon < FINEST_RESOLUTION || !components.iter().all(is_served) {
            return None;
        }
        let largest = components.iter().map(Component::power).fold(15.0, f64::max);
        // ln h_ε bends on the scale of M itself, more so where ε is wider than h
        let wide = (1.0 / (epsilon * largest.sqrt())).min(1.0);
        let step = 0.11 * (15.0 / largest).powf(1.0 / TAPS as f64) * wide.sqrt();
        let window = (WINDOW[0] + WINDOW[1] / power).min(step * (MAX_POINTS + TAPS) as f64);
        let first = ((SERIES.ln() - window) / step).floor() as i64;
        let index = |x: f64| (x / step).floor() as i64;
        let [first_scale, last_scale] =
            [index(power.ln() - SCALES[0] - window), index(power.ln() + SCALES[1])];
        // L is at most s₁ + s₂, which is about a gamma of shape N, observed with an error
        let highest = (power + 8.0 * power.sqrt() + 25.0) * (6.0 * epsilon).exp();
        let last = index(highest.ln() + ROOM);
        let masses = Arc::new(Masses::new(step, first, last));
        let table = |c: &Component| Arc::new(ComponentTable::new(arch, c, epsilon, &masses));
        Some(Self {
            step,
            first,
            last,
            scales: (first_scale..=last_scale).map(|i| (step * i as f64).exp()).collect(),
            first_scale,
            components: components.iter().map(table).collect(),
        })
    }

    /// A copy with one component's table made anew, for nearly the same shapes.
    pub(crate) fn with_component(
        &self,
        arch: Arch,
        l: usize,
        component: &Component,
        epsilon: f64,
    ) -> Self {
        let masses = Arc::new(Masses::new(self.step, self.first, self.last));
        let mut components = self.components.clone();
        components[l] = Arc::new(ComponentTable::new(arch, component, epsilon, &masses));
        Self { scales: self.scales.clone(), components, ..*self }
    }
}

/// Finer resolutions and larger shapes of a component are left to single columns.
const FINEST_RESOLUTION: f64 = 2e-4;
const LARGEST_SHAPE: f64 = 4000.0;

fn is_served(c: &Component) -> bool {
    c.is_rigid() || c.power() < LARGEST_SHAPE
}
