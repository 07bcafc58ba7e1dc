//! Smoothed components tabulated in both their variables, so that an item only interpolates.
//!
//! A component at a finite resolution depends on M, the smaller of its two gammas, and on τ, the difference of their
//! logarithms. [`Convolution`] computes one column, all M at one τ; here columns are laid out over τ, on a lattice in ln M
//! that all components of a class share. The scale s is then integrated over the same lattice in ln s: moving along it
//! moves every component's ln M by whole steps, so that one set of interpolation weights serves all points.
//!
//! A table may also hold slopes: derivatives of its entries along [`Direction`]s of the three shapes.
//!
//! # Numerics
//! Entries are T = ln φ − (n−2) ln m + |τ| − v̄M, φ as in the exact density, v̄ a typical share of the shared part. In the
//! core, |τ| ≤ 8ε, columns are ε/16 apart. There M(e^|τ| − 1), which has a corner, is left out and added when the table is read. Outside h
//! is smooth on the scale of τ itself, and columns are equidistant in ln |τ|; far out they are those of [`Tail`].
//! Where a private shape is 0 and h ends at its tie, only the Gaussian's tail is left on the empty side: e^(−τ²/2ε²) is
//! taken out, and columns equidistant in ln |τ| continue until everything is negligible. Interpolation is by eight points
//! in both directions, so that twice the spacing has 256 times the error. For small M, T is linear in M.

use std::sync::{Arc, OnceLock};

use pulp::Arch;

use super::constants::{
    CHEBYSHEV, CORE, CORE_STEP, EMPTY, LEARNING_SERIES, LEARNING_TABLE_ACCURACY, LOW, MASS_STEP,
    SCALES, SERIES, SIDE_STEP, SLOPE_STEP, TABLE_ACCURACY, WINDOW,
};
use super::convolution::{self, Convolution};
use super::line_kernel::MAX_POINTS;
use super::shared_part::typical_share;
use super::tail::{self, Tail};
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

/// The tables of one class.
#[derive(Debug)]
pub(crate) struct Tables {
    /// Step of the lattices in ln M and ln s.
    pub(crate) step: f64,
    /// Lattice indices of the first and of the last entry of a column.
    pub(crate) first: i64,
    pub(crate) last: i64,
    /// e^(step·i) from the index `first_scale` on.
    pub(crate) scales: Vec<f64>,
    pub(crate) first_scale: i64,
    /// ln M below which T is linear in M.
    pub(crate) ln_series: f64,
    pub(crate) components: Vec<ComponentTable>,
}

/// How the tables of a class are made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TableConfig<'a> {
    pub(crate) arch: Arch,
    pub(crate) epsilon: f64,
    /// Distances between columns and between M, relative to those for fusing.
    pub(crate) spacing: f64,
    /// Directions of the slopes.
    pub(crate) directions: &'a [Direction],
}

/// A direction in the shapes of one component.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Direction {
    pub(crate) shared: f64,
    pub(crate) private: [f64; 2],
}

impl Direction {
    /// δ at fixed α¹ and α².
    pub(crate) const DELTA: Self = Self { shared: 1.0, private: [-1.0; 2] };
    /// δ, α¹ and α², each at fixed others.
    pub(crate) const ALL: [Self; 3] = [
        Self::DELTA,
        Self { shared: 0.0, private: [1.0, 0.0] },
        Self { shared: 0.0, private: [0.0, 1.0] },
    ];

    /// The change of δ + a¹ + a².
    pub(crate) fn power(&self) -> f64 {
        self.shared + self.private[0] + self.private[1]
    }

    /// A component a small step along this direction, and the step; none at a bound.
    fn moved(&self, c: &Component) -> Option<(Component, f64)> {
        let shapes = [
            (c.shared, self.shared),
            (c.private[0], self.private[0]),
            (c.private[1], self.private[1]),
        ];
        let room = |&(shape, by): &(f64, f64)| if by == 0.0 { f64::INFINITY } else { shape };
        let step = SLOPE_STEP * shapes.iter().map(room).fold(f64::INFINITY, f64::min);
        let at = |shape: f64, by: f64| shape + step * by;
        let private = [0, 1].map(|k| at(c.private[k], self.private[k]));
        (step > 0.0).then(|| (Component::new(at(c.shared, self.shared), private), step))
    }
}

/// The table of one component.
#[derive(Debug)]
pub(crate) struct ComponentTable {
    columns: Columns,
    /// Both totals are equal: there is no table.
    pub(crate) rigid: bool,
    /// v̄.
    pub(crate) pivot: f64,
    /// Entries of a column, and where the next begins.
    pub(crate) count: usize,
    pub(crate) stride: usize,
    /// The entries, then their derivatives along every direction.
    layers: Vec<Layer>,
    arch: Arch,
    component: Component,
    moved: Vec<(Component, f64)>,
    masses: Arc<Masses>,
    /// The columns far out, made when first asked for: the entries, then their derivatives.
    tail: OnceLock<Vec<Tail>>,
}

/// Columns of entries one after another, or of their derivatives.
#[derive(Debug, Default)]
pub(crate) struct Layer {
    pub(crate) entries: Vec<f64>,
    /// Value and derivative at M = 0 of every column.
    pub(crate) series: Vec<[f64; 2]>,
}

impl Layer {
    /// Turns the layer of a moved component into its difference from another over a step.
    pub(crate) fn subtract(mut self, base: &Self, step: f64) -> Self {
        let difference = |(moved, base): (&mut f64, &f64)| *moved = (*moved - base) / step;
        self.entries.iter_mut().zip(&base.entries).for_each(difference);
        let (moved, base) = (self.series.iter_mut().flatten(), base.series.iter().flatten());
        moved.zip(base).for_each(difference);
        self
    }
}

/// The τ of all columns: the core, then the side below and the side above.
#[derive(Debug, Clone, Copy)]
struct Columns {
    epsilon: f64,
    core: usize,
    core_step: f64,
    side_step: f64,
    sides: [usize; 2],
    /// Whether a side contains the tail of a Gaussian only.
    empty: [bool; 2],
    /// ln |τ| of the first column of a side, and the |τ| at which the tail begins.
    ln_first: f64,
    reach: f64,
}

/// The columns to blend for one τ.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Blend<'a> {
    table: &'a ComponentTable,
    /// The first of eight columns, and the weights of all.
    first: usize,
    pub(crate) weights: [f64; TAPS],
    pub(crate) part: Part,
    side: usize,
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
    fn new(c: &Component, epsilon: f64, spacing: f64) -> Self {
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
    fn position(&self, column: usize) -> (f64, Part) {
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

    fn count(&self) -> usize {
        self.core + self.sides[0] + self.sides[1]
    }

    /// The largest |τ| that has columns.
    fn furthest(&self) -> f64 {
        let longest = self.sides[0].max(self.sides[1]);
        (self.ln_first + self.side_step * longest as f64).exp()
    }

    fn is_tail(&self, tau: f64) -> bool {
        tau.abs() > self.reach && !self.empty[usize::from(tau > 0.0)]
    }

    /// The first of eight columns and their weights; none in the tail.
    fn blend(&self, tau: f64) -> Option<(usize, [f64; TAPS], Part)> {
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
    /// Of the table, and the relative accuracy of its entries.
    pub(crate) spacing: f64,
    pub(crate) accuracy: f64,
    /// Chebyshev points from 0 to `LOW`, then the lattice from there on.
    pub(crate) convolved: Vec<f64>,
    /// Lattice points below `LOW`: the weights of Chebyshev's points.
    low: Vec<[f64; CHEBYSHEV]>,
    /// dT/dM at 0.
    slope: [f64; CHEBYSHEV],
}

impl Masses {
    fn new(step: f64, first: i64, last: i64, spacing: f64) -> Self {
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
        let (up, down) = (weights(SERIES), weights(-SERIES));
        let slope = std::array::from_fn(|i| (up[i] - down[i]) / (2.0 * SERIES));
        let accuracy = if spacing > 1.0 { LEARNING_TABLE_ACCURACY } else { TABLE_ACCURACY };
        let mut masses =
            Self { spacing, accuracy, convolved: nodes.to_vec(), low: Vec::new(), slope };
        for i in first..=last {
            let mass = (step * i as f64).exp();
            if mass < LOW {
                masses.low.push(weights(mass));
            } else {
                masses.convolved.push(mass);
            }
        }
        masses
    }

    /// Lattice points.
    fn count(&self) -> usize {
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

impl ComponentTable {
    fn new(config: &TableConfig<'_>, c: &Component, masses: &Arc<Masses>) -> Self {
        let count = masses.count();
        let moved = config.directions.iter().map(|direction| direction.moved(c));
        let mut table = Self {
            columns: Columns::new(c, config.epsilon, masses.spacing),
            rigid: c.is_rigid(),
            pivot: typical_share(c),
            count,
            stride: (count + SLACK).next_multiple_of(4),
            layers: Vec::new(),
            arch: config.arch,
            component: *c,
            // at a bound there is no derivative in any direction
            moved: moved.collect::<Option<_>>().unwrap_or_default(),
            masses: masses.clone(),
            tail: OnceLock::new(),
        };
        if !table.rigid {
            table.layers.push(table.layer(c));
            for &(moved, step) in &table.moved {
                table.layers.push(table.layer(&moved).subtract(&table.layers[0], step));
            }
        }
        table
    }

    /// Entries of a component with nearly the same shapes, laid out as this table.
    fn layer(&self, c: &Component) -> Layer {
        let (columns, stride) = (self.columns, self.stride);
        let convolved = &self.masses.convolved;
        let nodes = convolution::shared_nodes(self.arch, c, columns.epsilon, self.masses.accuracy);
        let part = nodes.over(convolved);
        let reach = columns.furthest();
        let mut convolution = Convolution::new(self.arch, c, columns.epsilon, &part, reach);
        let mut entries = vec![0.0; columns.count() * stride];
        let (mut values, mut series) = (Vec::new(), Vec::new());
        for (i, column) in entries.chunks_exact_mut(stride).enumerate() {
            let (tau, part) = columns.position(i);
            let excess = if part == Part::Side { tau.abs().exp_m1() } else { 0.0 };
            let gaussian =
                if part == Part::Empty { 0.5 * (tau / columns.epsilon).powi(2) } else { 0.0 };
            convolution.column(tau, &mut values);
            for (value, m) in values.iter_mut().zip(convolved) {
                *value += m * (excess - self.pivot) + gaussian;
            }
            series.push(self.masses.spread(&values, column));
        }
        Layer { entries, series }
    }

    /// The columns for τ.
    pub(crate) fn blend(&self, tau: f64) -> Blend<'_> {
        let side = usize::from(tau > 0.0);
        let (first, weights, part) = self.columns.blend(tau).unwrap_or_else(|| {
            let (first, weights) = self.tail()[0].blend(tau);
            (first, weights, Part::Tail)
        });
        Blend { table: self, first, weights, part, side }
    }

    fn tail(&self) -> &[Tail] {
        let Self { arch, masses, stride, columns, .. } = self;
        let make =
            |c: &Component| Tail::new(*arch, c, columns.epsilon, masses, *stride, columns.reach);
        self.tail.get_or_init(|| {
            let mut tails = vec![make(&self.component)];
            for (moved, step) in &self.moved {
                tails.push(make(moved).subtract(&tails[0], *step));
            }
            tails
        })
    }

    /// The private shape of the larger gamma at τ.
    pub(crate) fn larger(&self, tau: f64) -> f64 {
        self.component.private[usize::from(tau < 0.0)]
    }
}

impl<'a> Blend<'a> {
    /// Entries from the first column on (layer 0), or their derivatives along a direction (the next layers).
    pub(crate) fn entries(&self, layer: usize) -> &'a [f64] {
        &self.layer(layer).entries[self.first * self.table.stride..]
    }

    /// T and dT/dM at M = 0, or their derivatives.
    pub(crate) fn series(&self, layer: usize) -> [f64; 2] {
        let columns = &self.layer(layer).series[self.first..self.first + TAPS];
        let mut sum = [0.0; 2];
        for (column, w) in columns.iter().zip(&self.weights) {
            sum[0] += w * column[0];
            sum[1] += w * column[1];
        }
        sum
    }

    fn layer(&self, layer: usize) -> &'a Layer {
        let table = self.table;
        if self.part == Part::Tail {
            &table.tail()[layer].sides[self.side]
        } else {
            &table.layers[layer]
        }
    }

    /// Whether the table has derivatives.
    pub(crate) fn has_slopes(&self) -> bool {
        !self.table.moved.is_empty()
    }
}

impl Tables {
    /// Makes the tables of a class; `map` makes one per component, in parallel or not.
    pub(crate) fn new(
        config: &TableConfig<'_>,
        components: &[Component],
        map: impl FnOnce(usize, &(dyn Fn(usize) -> ComponentTable + Sync)) -> Vec<ComponentTable>,
    ) -> Self {
        let TableConfig { epsilon, spacing, .. } = *config;
        let power: f64 = components.iter().map(Component::power).sum();
        let largest = components.iter().map(Component::power).fold(15.0, f64::max);
        // ln h_ε changes on the scale of M, and faster if ε is larger than the width of h
        let wide = (1.0 / (epsilon * largest.sqrt())).min(1.0);
        let coarser = 1.0 + 1.5 * (spacing - 1.0) * wide.powi(5);
        let step = coarser * MASS_STEP * (15.0 / largest).powf(1.0 / TAPS as f64) * wide.sqrt();
        let window = (WINDOW[0] + WINDOW[1] / power).min(step * (MAX_POINTS + TAPS) as f64);
        let ln_series = if spacing > 1.0 { LEARNING_SERIES.ln() } else { SERIES.ln() };
        let first = ((ln_series - window) / step).floor() as i64;
        let index = |x: f64| (x / step).floor() as i64;
        let [first_scale, last_scale] =
            [index(power.ln() - SCALES[0] - window), index(power.ln() + SCALES[1])];
        // L is at most s₁ + s₂, which is about a gamma of shape N, observed with an error
        let highest = (power + 8.0 * power.sqrt() + 25.0) * (6.0 * epsilon).exp();
        let last = index(highest.ln()) + LINE_ROOM + 1;
        let masses = Arc::new(Masses::new(step, first, last, spacing));
        let table = |l: usize| ComponentTable::new(config, &components[l], &masses);
        Self {
            step,
            first,
            last,
            scales: (first_scale..=last_scale).map(|i| (step * i as f64).exp()).collect(),
            first_scale,
            ln_series,
            components: map(components.len(), &table),
        }
    }
}
