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
    FIXED_NODES, Grain, LOWEST_SCALE, MASS_STEP, MAX_TABLE_NUMBERS, MAX_TABLE_TERMS, SCALES,
    SLOPE_STEP, WINDOW,
};
use super::convolution::{self, Convolution};
use super::layout::{Columns, LINE_ROOM, Masses, Part, SLACK, TAPS};
use super::line_kernel::MAX_POINTS;
use super::shared_part::typical_share;
use super::tail::{self, Tail};
use crate::pair::component::Component;

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
    /// Whether the columns of tails can be made: if not, no density is known that needs them.
    pub(crate) with_tails: bool,
    pub(crate) components: Vec<ComponentTable>,
}

/// How the tables of a class are made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TableConfig<'a> {
    pub(crate) arch: Arch,
    pub(crate) epsilon: f64,
    pub(crate) grain: Grain,
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

impl ComponentTable {
    fn new(config: &TableConfig<'_>, c: &Component, masses: &Arc<Masses>) -> Self {
        let count = masses.count();
        let moved = config.directions.iter().map(|direction| direction.moved(c));
        let mut table = Self {
            columns: Columns::new(c, config.epsilon, masses.grain.spacing),
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
        let nodes =
            convolution::shared_nodes(self.arch, c, columns.epsilon, self.masses.grain.accuracy);
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

    /// Whether τ lies in the tail.
    pub(crate) fn is_tail(&self, tau: f64) -> bool {
        !self.rigid && self.columns.is_tail(tau)
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

/// What the table of a component costs.
struct Cost {
    /// Terms summed for the table without its tail, and for the tail.
    terms: f64,
    tail: f64,
    /// Numbers in the table, and others that are kept while it is made.
    entries: f64,
    kept: f64,
}

impl Cost {
    fn new(config: &TableConfig<'_>, c: &Component, masses: &Masses) -> Self {
        let (epsilon, accuracy) = (config.epsilon, masses.grain.accuracy);
        let n_masses = masses.convolved.len() as f64;
        let layers = 1.0 + config.directions.len() as f64;
        let columns = Columns::new(c, epsilon, masses.grain.spacing);
        let n_columns = columns.count() as f64;
        let far = columns.n_beyond(FIXED_NODES * epsilon);
        let cost = |reach: f64, n_columns: f64, n_far: f64| {
            convolution::cost(c, epsilon, accuracy, n_masses, (reach, n_columns, n_far))
        };
        let (terms, kept) = cost(columns.furthest(), n_columns, far);
        let tail = cost(0.0, 0.0, 2.0 * tail::n_columns(masses.grain.spacing)).0;
        let entries = layers * n_columns * masses.count() as f64;
        Self { terms: layers * terms, tail: layers * tail, entries, kept }
    }
}

/// Whether the tables of these components can be made within [`MAX_TABLE_TERMS`] and [`MAX_TABLE_NUMBERS`].
fn is_affordable(costs: &[Cost]) -> bool {
    let sum = |one: fn(&Cost) -> f64| costs.iter().map(one).sum::<f64>();
    let kept = costs.iter().map(|cost| cost.kept).fold(0.0, f64::max);
    sum(|cost| cost.terms) <= MAX_TABLE_TERMS
        && sum(|cost| cost.entries) + kept <= MAX_TABLE_NUMBERS
}

impl Tables {
    /// Makes the tables of a class, none if that needs too much work or memory; `map` makes one per component, in parallel
    /// or not.
    pub(crate) fn new(
        config: &TableConfig<'_>,
        components: &[Component],
        map: impl FnOnce(usize, &(dyn Fn(usize) -> ComponentTable + Sync)) -> Vec<ComponentTable>,
    ) -> Option<Self> {
        let TableConfig { epsilon, grain, .. } = *config;
        let power: f64 = components.iter().map(Component::power).sum();
        let largest = components.iter().map(Component::power).fold(15.0, f64::max);
        // ln h_ε changes on the scale of M, and faster if ε is larger than the width of h
        let wide = (1.0 / (epsilon * largest.sqrt())).min(1.0);
        let coarser = 1.0 + 1.5 * (grain.spacing - 1.0) * wide.powi(5);
        let step = coarser * MASS_STEP * (15.0 / largest).powf(1.0 / TAPS as f64) * wide.sqrt();
        let window = (WINDOW[0] + WINDOW[1] / power).min(step * (MAX_POINTS + TAPS) as f64);
        let ln_series = grain.series.ln();
        let first = ((ln_series - window) / step).floor() as i64;
        let index = |x: f64| (x / step).floor() as i64;
        let lowest = power.ln() - SCALES[0].max(SCALES[1] / power) - window;
        let [first_scale, last_scale] =
            [index(lowest.max(LOWEST_SCALE)), index(power.ln() + SCALES[2])];
        // L is at most s₁ + s₂, which is about a gamma of shape N, observed with an error
        let highest = (power + 8.0 * power.sqrt() + 25.0) * (6.0 * epsilon).exp();
        let last = index(highest.ln()) + LINE_ROOM + 1;
        let masses = Arc::new(Masses::new(step, first, last, grain));
        let correlated = components.iter().filter(|c| !c.is_rigid());
        let costs: Vec<Cost> = correlated.map(|c| Cost::new(config, c, &masses)).collect();
        if !is_affordable(&costs) {
            return None;
        }
        let with_tails = costs.iter().map(|cost| cost.tail).sum::<f64>() <= MAX_TABLE_TERMS;
        let table = |l: usize| ComponentTable::new(config, &components[l], &masses);
        Some(Self {
            step,
            first,
            last,
            scales: (first_scale..=last_scale).map(|i| (step * i as f64).exp()).collect(),
            first_scale,
            ln_series,
            with_tails,
            components: map(components.len(), &table),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pair::four_lanes;
    use crate::pair::smoothed::constants::{COARSE, FINE, LEARNING, ROUGH};
    use crate::pair::smoothed::layout::{BELOW, lagrange};

    /// An entry read at τ and M, or its derivative.
    fn read(tables: &Tables, tau: f64, mass: f64, layer: usize) -> f64 {
        let table = &tables.components[0];
        let blend = table.blend(tau);
        let argument = if blend.part == Part::Tail { mass * tau.abs().exp() } else { mass };
        if argument.ln() < tables.ln_series {
            let [constant, slope] = blend.series(layer);
            return constant + slope * argument;
        }
        let at = argument.ln() / tables.step - tables.first as f64;
        let base = at as usize - BELOW;
        let taps = lagrange(at - base as f64);
        let rows = blend.entries(layer).chunks(table.stride).zip(blend.weights);
        rows.map(|(column, weight)| {
            weight * taps.iter().zip(&column[base..]).map(|(tap, entry)| tap * entry).sum::<f64>()
        })
        .sum()
    }

    /// The same from the convolution itself, with the layout of a table.
    fn compute(table: &ComponentTable, c: &Component, tau: f64, mass: f64) -> f64 {
        let (epsilon, accuracy) = (table.columns.epsilon, 1e-10);
        let nodes = convolution::shared_nodes(table.arch, c, epsilon, accuracy);
        let masses = [mass; 8];
        let part = nodes.over(&masses);
        let mut column = Vec::new();
        Convolution::new(table.arch, c, epsilon, &part, tau.abs() + 1.0).column(tau, &mut column);
        let far = c.private[usize::from(tau < 0.0)];
        let distance = tau.abs();
        column[0]
            + match table.blend(tau).part {
                Part::Core => -mass * table.pivot,
                Part::Side => mass * (distance.exp_m1() - table.pivot),
                Part::Empty => 0.5 * (tau / epsilon).powi(2) - mass * table.pivot,
                Part::Tail => mass * distance.exp() - far * distance,
            }
    }

    /// The largest error of entries between columns and lattice points, and of derivatives in δ times the room of δ.
    fn largest_errors(grain: Grain) -> [f64; 2] {
        let mut errors = [0.0f64; 2];
        for (shared, private) in [(0.3, [0.4, 0.2]), (6.0, [6.0, 4.0]), (11.4, [0.6, 1.0])] {
            let c = Component::new(shared, private);
            let room = shared.min(private[0]).min(private[1]);
            let [below, above] = [-1e-3, 1e-3]
                .map(|by| Component::new(shared + by * room, private.map(|a| a - by * room)));
            for epsilon in [0.003, 0.03] {
                let directions = &[Direction::DELTA];
                let config = TableConfig { arch: four_lanes(), epsilon, grain, directions };
                let tables =
                    Tables::new(&config, &[c], |n, table| (0..n).map(table).collect()).unwrap();
                for z in [-0.4, 0.53, 2.77, -9.3, 21.7] {
                    for mass in [1e-4, 5e-3, 0.177, 1.31, 9.7] {
                        let direct = |c| compute(&tables.components[0], c, z * epsilon, mass);
                        let slope = (direct(&above) - direct(&below)) / 2e-3;
                        let got = [0, 1].map(|layer| read(&tables, z * epsilon, mass, layer));
                        errors[0] = errors[0].max((got[0] - direct(&c)).abs());
                        errors[1] = errors[1].max((got[1] * room - slope).abs());
                    }
                }
                for tau in [-1.7, 3.3] {
                    let got = read(&tables, tau, 0.177, 0);
                    let expected = compute(&tables.components[0], &c, tau, 0.177);
                    errors[0] = errors[0].max((got - expected).abs());
                }
            }
        }
        errors
    }

    /// The largest error of the entries of a fusing table over a list of z = τ/ε and M.
    fn error_at((shared, private): (f64, [f64; 2]), z: &[f64], masses: &[f64]) -> f64 {
        let (c, epsilon) = (Component::new(shared, private), 0.03);
        let config = TableConfig { arch: four_lanes(), epsilon, grain: FINE, directions: &[] };
        let tables = Tables::new(&config, &[c], |n, table| (0..n).map(table).collect()).unwrap();
        let error = |z: f64, mass: f64| {
            let expected = compute(&tables.components[0], &c, z * epsilon, mass);
            (read(&tables, z * epsilon, mass, 0) - expected).abs()
        };
        let pairs = z.iter().flat_map(|&z| masses.iter().map(move |&mass| (z, mass)));
        pairs.map(|(z, mass)| error(z, mass)).fold(0.0, f64::max)
    }

    /// Components for which the columns of the core, those of the sides, and the power series for small M are just fine enough.
    #[test]
    fn columns_and_series_are_fine_enough() {
        let masses = [0.177, 1.31, 9.7, 40.0];
        let core: Vec<f64> = (0..40).map(|i| -4.0 + 0.2017 * f64::from(i)).collect();
        let core = error_at((11.0, [0.001, 0.002]), &core, &masses);
        let side = error_at((60.0, [0.2, 0.3]), &[8.3, 9.27, 11.57, 14.4, 20.1, 28.0], &masses);
        let series = error_at((0.3, [0.4, 0.2]), &[0.53, 2.77, 12.0], &[1.9e-4, 3.8e-4]);
        let fine = core < FINE.error && side < FINE.error && series < 5e-9;
        assert!(fine, "core {core:e}, sides {side:e}, series {series:e}");
    }

    #[test]
    fn entries_have_the_stated_error() {
        for grain in [FINE, COARSE] {
            let [found, _] = largest_errors(grain);
            assert!(found < grain.error, "{found:e}: {grain:?}");
        }
        for (grain, largest) in [(LEARNING, 2.5e-4), (ROUGH, 1e-2)] {
            let [found, slopes] = largest_errors(grain);
            assert!(found < grain.error && slopes < largest, "{found:e} {slopes:e}: {grain:?}");
        }
    }
}
