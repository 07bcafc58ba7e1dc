//! One component's table over τ and M.
//!
//! Columns are equidistant in arsinh(τ / Cε): close together where the resolution rounds off the kink, and a
//! fraction of |τ| apart away from it.

use pulp::Arch;

use super::super::convolution::{Convolution, POINTS, Row};
use super::kernel::{COLUMNS, Column, Indices, Interpolate};
use super::nodes::arsinh;
use super::series::{Form, Series, Sum};
use crate::pair::component::Component;
use crate::pair::exact::kernel::run;
use crate::pair::item::OutputPair;

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
    column_rate: f64,
    n_columns: usize,
    /// n − 2, and the two private shapes.
    power: f64,
    private: [f64; 2],
    /// Masses one after another, each with all columns.
    values: Vec<f64>,
    /// Derivatives in δ at fixed α.
    slopes: Vec<f64>,
    series: Series,
    /// e^reach.
    furthest: f64,
}

/// Where a line meets a component: τ, and M and the larger gamma over e^z.
#[derive(Debug, Clone, Copy)]
pub(super) struct At {
    tau: f64,
    smaller: f64,
    ln_smaller: f64,
    larger: f64,
}

impl At {
    pub(super) fn new(place: &OutputPair, y: f64, rho: f64) -> Self {
        let tau = y - place.kink;
        let first = rho * place.x[0];
        if tau > 0.0 {
            Self { tau, smaller: place.x[1], ln_smaller: place.ln_x[1], larger: first }
        } else {
            Self { tau, smaller: first, ln_smaller: y + place.ln_x[0], larger: place.x[1] }
        }
    }
}

impl Table {
    pub(super) fn new(arch: Arch, c: &Component, smoothed: &Convolution, epsilon: f64) -> Self {
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
            column_rate: half / furthest,
            n_columns: 2 * half as usize + 1,
            power: c.power() - 2.0,
            private: c.private,
            values: Vec::new(),
            slopes: Vec::new(),
            series: Series::new((unit, step), epsilon),
            furthest: smoothed.reach.exp(),
        };
        table.values = table.columns(arch, smoothed);
        table.series.expand(&table.values, table.n_columns);
        table
    }

    fn columns(&self, arch: Arch, smoothed: &Convolution) -> Vec<f64> {
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
    pub(super) fn differentiate(&mut self, arch: Arch, moved: &Convolution, shift: f64) {
        let moved = self.columns(arch, moved);
        self.slopes = moved.iter().zip(&self.values).map(|(m, v)| (m - v) / shift).collect();
        self.series.expand_slopes(&self.slopes);
    }

    /// Cubic interpolation in arsinh τ: weights of four columns, and the first of them.
    fn column_weights(&self, tau: f64) -> Column {
        let half = (self.n_columns / 2) as f64;
        let place = if tau.abs() < self.reach {
            (arsinh(tau / self.round) * self.column_rate + half).max(0.0)
        } else {
            half + half.copysign(tau)
        };
        let base = (place as usize).clamp(1, self.n_columns - 3) - 1;
        let x = place - base as f64;
        let (a, b, c, d) = (x, x - 1.0, x - 2.0, x - 3.0);
        (base, [-b * c * d / 6.0, a * c * d / 2.0, -a * b * d / 2.0, a * b * c / 6.0])
    }

    /// The component's part that is a short sum in z and e^z: all of it where M is small up to e^z = `top`.
    pub(super) fn form(&self, at: &At, top: f64) -> Form {
        let beyond = (at.tau.abs() - self.reach).max(0.0);
        let far = self.private[usize::from(at.tau < 0.0)];
        // far out T + M (e^|τ| − 1) is linear in |τ|
        let excess = if beyond > 0.0 { at.larger - at.smaller * self.furthest } else { 0.0 };
        let mut form = Form {
            exponent: Sum {
                constant: far * beyond - at.tau.abs() + self.power * at.ln_smaller,
                power: self.power,
                linear: -(2.0 * at.smaller + excess),
                square: 0.0,
            },
            slope: Sum::default(),
            column: self.column_weights(at.tau),
            whole: false,
        };
        if !self.slopes.is_empty() {
            form.slope.constant = -at.ln_smaller - beyond;
            form.slope.power = -1.0;
        }
        let mass = at.smaller * top;
        let farther = (at.larger * top).min(mass * self.furthest);
        if mass < self.series.mass && farther < self.series.farther {
            form.whole = true;
            let [exponent, slope] = self.series.at(form.column, at.smaller);
            form.exponent.add(&exponent);
            form.slope.add(&slope);
        }
        form
    }

    /// Adds the table at masses M = smaller · e^z to `exponents`, and writes its derivative in δ.
    pub(super) fn add(
        &self,
        arch: Arch,
        (at, form): (&At, &Form),
        scales: &[f64],
        exponents: &mut [f64],
        slopes: &mut [f64],
        indices: &mut Vec<f64>,
    ) {
        let relative = at.smaller / self.unit;
        indices.clear();
        indices.extend(scales.iter().map(|scale| relative * scale));
        let last = (self.count - POINTS) as f64;
        run(arch, Indices { values: indices, step: self.step, last });
        let (column, weights) = form.column;
        run(
            arch,
            Interpolate {
                indices,
                values: &self.values,
                slopes: &self.slopes,
                stride: self.n_columns,
                column,
                weights,
                out: exponents,
                out_slopes: slopes,
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pair::four_lanes;

    /// Where three terms are taken they agree with the convolution itself, at masses that no table holds, as do
    /// derivatives in δ.
    #[test]
    fn small_masses_need_no_table() {
        let arch = four_lanes();
        for (shared, private) in [(0.07, [0.003, 0.02]), (0.02, [0.05, 1.4]), (3.0, [9.0, 4.0])] {
            let shift = 1e-4 * shared;
            let c = Component::new(shared, private);
            let moved = Component::new(shared + shift, private.map(|a| a - shift));
            for epsilon in [0.03, 0.1] {
                let base = Convolution::up_to(arch, &c, epsilon, 60.0);
                let mut table = Table::new(arch, &c, &base, epsilon);
                table.differentiate(arch, &base.like(arch, &moved), shift);
                let half = (table.n_columns / 2) as f64;
                for steps in [-half, -20.0, -3.0, 0.0, 7.0, half - 1.0] {
                    // a column, so that only M is interpolated
                    let tau = table.round * (table.column_step * steps).sinh();
                    let mass = table.series.mass.min(table.series.farther / tau.abs().exp());
                    let place = table.column_weights(tau);
                    let [value, slope] = table.series.at(place, mass).map(|sum| sum.at(0.0, 1.0));
                    let exact = |c: &Component| {
                        let one = Convolution::at(arch, c, epsilon, &[mass; 4], base.reach);
                        one.column(arch, tau, &mut Row::default())[0]
                    };
                    let expected = exact(&c);
                    let expected_slope = (exact(&moved) - expected) / shift;
                    let off = (value - expected).abs();
                    assert!(off < 1e-5, "{c:?} {epsilon} {tau}: {value} {expected}");
                    let off = (slope - expected_slope).abs() * shared;
                    assert!(off < 1e-4, "{c:?} {epsilon} {tau}: {slope} {expected_slope}");
                }
            }
        }
    }
}
