//! One component's table over τ and M.
//!
//! Columns are equidistant in arsinh(τ / Cε): close together where the resolution rounds off the kink, and a
//! fraction of |τ| apart away from it.

use pulp::Arch;

use super::super::kernel::run;
use super::super::resolution::{POINTS, Row, Smoothed};
use super::super::shapes::Component;
use super::kernel::{COLUMNS, Indices, Interpolate};
use super::lattice::arsinh;

/// |τ| in resolutions from which on columns are spaced by their distance.
const ROUND: f64 = 4.0;
/// Columns for each resolution at τ = 0.
const DENSITY: f64 = 4.0;

/// `ln h_ε − (n−1) ln M + 2M` of one component over a grid of τ and M.
#[derive(Debug, Clone)]
pub(super) struct Table {
    /// Lattice in ln(1 + M/unit).
    unit: f64,
    step: f64,
    count: usize,
    /// Columns reach from −reach to reach, equidistant in arsinh(τ/round).
    reach: f64,
    round: f64,
    column_step: f64,
    n_columns: usize,
    /// n − 2 and the two private shapes.
    power: f64,
    private: [f64; 2],
    /// Masses one after another, each with all columns.
    values: Vec<f64>,
    /// Derivatives in δ at fixed α.
    slopes: Vec<f64>,
}

/// Where a line meets a component: τ, ln M at the first z, and the step in z.
pub(super) struct At {
    pub(super) tau: f64,
    pub(super) ln_mass: f64,
    pub(super) step: f64,
}

/// Buffers of one component on one line.
#[derive(Debug, Clone, Default)]
pub(super) struct Work {
    /// Where the line's masses lie on the component's lattice.
    indices: Vec<f64>,
    /// The table there.
    values: Vec<f64>,
}

impl Table {
    pub(super) fn new(arch: Arch, c: &Component, smoothed: &Smoothed, epsilon: f64) -> Self {
        let (unit, step, count) = smoothed.lattice();
        let round = ROUND * epsilon;
        let furthest = (smoothed.reach / round).asinh();
        let half = (furthest * ROUND * DENSITY).ceil().max(COLUMNS as f64);
        let mut table = Self {
            unit,
            step,
            count,
            reach: smoothed.reach,
            round,
            column_step: furthest / half,
            n_columns: 2 * half as usize + 1,
            power: c.power() - 2.0,
            private: c.private,
            values: Vec::new(),
            slopes: Vec::new(),
        };
        table.values = table.columns(arch, smoothed);
        table
    }

    fn columns(&self, arch: Arch, smoothed: &Smoothed) -> Vec<f64> {
        let mut values = vec![0.0; self.n_columns * self.count];
        let mut row = Row::default();
        let half = (self.n_columns / 2) as f64;
        for i in 0..self.n_columns {
            let tau = self.round * (self.column_step * (i as f64 - half)).sinh();
            let column = smoothed.column(arch, tau, &mut row);
            for (out, value) in values[i..].iter_mut().step_by(self.n_columns).zip(column) {
                *out = *value;
            }
        }
        values
    }

    /// Adds the derivatives in δ, from the tables of a δ larger by `shift`.
    pub(super) fn differentiate(&mut self, arch: Arch, moved: &Smoothed, shift: f64) {
        let moved = self.columns(arch, moved);
        self.slopes = moved.iter().zip(&self.values).map(|(m, v)| (m - v) / shift).collect();
    }

    /// Cubic interpolation in arsinh τ: weights of four columns, and the first of them.
    fn column_weights(&self, tau: f64) -> (usize, [f64; COLUMNS]) {
        let inside = tau.clamp(-self.reach, self.reach);
        let half = (self.n_columns / 2) as f64;
        let place = (arsinh(inside / self.round) / self.column_step + half).max(0.0);
        let base = (place as usize).clamp(1, self.n_columns - 3) - 1;
        let x = place - base as f64;
        let (a, b, c, d) = (x, x - 1.0, x - 2.0, x - 3.0);
        (base, [-b * c * d / 6.0, a * c * d / 2.0, -a * b * d / 2.0, a * b * c / 6.0])
    }

    /// Adds the component's exponent at z₀, z₀ + h, … to `exponents`, and writes its derivative in δ.
    pub(super) fn add(
        &self,
        arch: Arch,
        at: &At,
        exponents: &mut [f64],
        slopes: &mut [f64],
        work: &mut Work,
    ) {
        let growth = at.step.exp();
        let first = at.ln_mass.exp();
        self.look_up(arch, at.tau, (first, growth), exponents.len(), slopes, work);
        let distance = at.tau.abs();
        let beyond = (distance - self.reach).max(0.0);
        let far = self.private[usize::from(at.tau < 0.0)];
        // far out T + M (e^|τ| − 1) is linear in |τ|
        let excess = if beyond > 0.0 { distance.exp_m1() - self.reach.exp_m1() } else { 0.0 };
        let constant = far * beyond - distance;
        let mut mass = first;
        for (k, (exponent, value)) in exponents.iter_mut().zip(&work.values).enumerate() {
            let ln_mass = at.ln_mass + at.step * k as f64;
            *exponent += value + constant + self.power * ln_mass - mass * (2.0 + excess);
            mass *= growth;
        }
        if !self.slopes.is_empty() {
            for (k, slope) in slopes.iter_mut().enumerate() {
                *slope -= at.ln_mass + at.step * k as f64 + beyond;
            }
        }
    }

    /// Table values and slopes at masses that grow by a factor.
    fn look_up(
        &self,
        arch: Arch,
        tau: f64,
        (first, growth): (f64, f64),
        n: usize,
        slopes: &mut [f64],
        work: &mut Work,
    ) {
        let Work { indices, values } = work;
        indices.clear();
        let mut relative = first / self.unit;
        for _ in 0..n {
            indices.push(relative);
            relative *= growth;
        }
        values.resize(n, 0.0);
        let last = (self.count - POINTS) as f64;
        run(arch, Indices { values: indices, step: self.step, last });
        let (column, weights) = self.column_weights(tau);
        run(
            arch,
            Interpolate {
                indices,
                values: &self.values,
                slopes: &self.slopes,
                stride: self.n_columns,
                column,
                weights,
                out: values,
                out_slopes: slopes,
            },
        );
    }
}
