//! The density at a finite resolution for many items at once, to the accuracy that learning needs.
//!
//! The logarithm of a component's `h_ε` (see `resolution`) depends on two numbers, M and τ, whatever the item is. Here it is
//! tabulated once over a grid of both, with its derivative in δ, and every item is a plain trapezoid sum over a
//! lattice in y = ln s₁ − ln s₂ and z = ln s₂:
//!
//! ```text
//! f = ∬ dy dz exp( J y + 2J z + Σₗ [ln h_ε(Mₗ, τₗ) − ln Mₗ − |τₗ|] ),   Mₗ = e^z min(e^y x¹ₗ, x²ₗ),   τₗ = y − ln(x²ₗ/x¹ₗ)
//! ```
//!
//! # Numerics
//! The lattice of an item is fixed beforehand and lies at multiples of its steps, so that the sum is a smooth
//! function of δ. M has a corner at τ = 0, which leaves an error of about 1e-3 an item; where the corner lies
//! between lattice points is as good as random, so the errors of many items cancel.

#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // counts and indices of lattices

use pulp::Arch;

use super::four_lanes;
use super::kinks;
use super::place::Place;
use super::resolution::{POINTS, Row, Smoothed};
use super::shapes::{self, Component};
use super::surrogate::{self, Mode, Share};
use super::table_kernel::lagrange;
use crate::{Result, parallel};

/// Columns of a grid in τ for each resolution.
const COLUMNS: f64 = 3.0;
/// Step of the derivative in δ, relative to the smaller of δ and what it leaves: one-sided, and
/// tables are good to 1e-8, so that derivatives in logit δ are good to about 1e-4.
const SHIFT: f64 = 2e-4;
/// Terms below e^−CUT of the largest are left out.
const CUT: f64 = 14.0;
/// Error of one item that the lattice may have from kinks.
const KINK_ERROR: f64 = 4e-3;
/// Lines of an item at the most, in each direction.
const MAX_LINES: i64 = 4000;

/// `ln h_ε − (n−1) ln M + 2M` of one component over a grid of τ and M.
#[derive(Debug, Clone)]
struct Table {
    /// Lattice in ln(1 + M/unit).
    unit: f64,
    step: f64,
    count: usize,
    /// Columns at −reach, …, reach.
    reach: f64,
    column_step: f64,
    /// n − 2 and the two private shapes.
    power: f64,
    private: [f64; 2],
    values: Vec<f64>,
    /// Derivatives in δ at fixed α.
    slopes: Vec<f64>,
}

/// The density of one class at a finite resolution, ready for many items.
#[derive(Debug, Clone)]
pub(crate) struct GridDensity {
    components: Vec<Component>,
    tables: Vec<Table>,
    epsilon: f64,
}

/// Steps of an item's lattice in y and z.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spacing {
    y: f64,
    z: f64,
}

/// Buffers of one thread.
#[derive(Debug, Clone, Default)]
pub(crate) struct GridScratch {
    shares: Vec<Share>,
    places: Vec<Place>,
    /// Exponents of a line.
    exponents: Vec<f64>,
    /// Derivatives of a line's exponents, component by component.
    slopes: Vec<f64>,
    work: Work,
    sums: Vec<f64>,
}

/// Buffers of one component on one line.
#[derive(Debug, Clone, Default)]
struct Work {
    /// Where the line's masses lie on the component's lattice.
    indices: Vec<f64>,
    /// A table between columns.
    blend: Vec<f64>,
}

impl GridDensity {
    /// Makes the grids of α¹, α², δ; those of the derivatives only if asked for.
    pub(crate) fn new(
        alpha: [&[f64]; 2],
        delta: &[f64],
        epsilon: f64,
        with_slopes: bool,
    ) -> Result<Self> {
        let components = shapes::components(alpha[0], alpha[1], delta)?;
        let shifts: Vec<f64> = (0..delta.len())
            .map(|l| SHIFT * delta[l].min(alpha[0][l].min(alpha[1][l]) - delta[l]))
            .collect();
        let moved: Vec<f64> = delta.iter().zip(&shifts).map(|(d, h)| d + h).collect();
        let moved = shapes::components(alpha[0], alpha[1], &moved)?;
        let arch = four_lanes();
        let tables = parallel::map(components.len(), |l| {
            let base = Smoothed::new(arch, &components[l], epsilon);
            let mut table = Table::new(arch, &components[l], &base, epsilon);
            if with_slopes && shifts[l] > 0.0 {
                table.differentiate(arch, &base.like(arch, &moved[l]), shifts[l]);
            }
            table
        });
        Ok(Self { components, tables, epsilon })
    }

    /// The lattice that suits an item at these parameters and near them.
    pub(crate) fn spacing(&self, x1: &[f64], x2: &[f64], scratch: &mut GridScratch) -> Spacing {
        let mode = surrogate::find(&self.components, x1, x2, &mut scratch.shares);
        let sd_z = mode.precision_s.powf(-0.5);
        let sd_y = mode.sd_y;
        let coarse = 0.8 * sd_y / (1.0 + 0.6 * sd_y * sd_y).sqrt();
        let n = self.components.len() as f64;
        let fine = self.epsilon * (1.5 / n.sqrt()).min(1.0);
        let total = self.smaller_total();
        let mut y = coarse;
        for (c, (&a, &b)) in self.components.iter().zip(x1.iter().zip(x2)) {
            let power = c.kink_power() + 1.0;
            let kink = Place::new(a, b).kink;
            if c.is_rigid() || c.is_independent() || power < 0.5 {
                if kinks::tail(kink, &mode, total) < CUT {
                    y = y.min(fine);
                }
                continue;
            }
            let ln_error = kinks::ln_error(c, b, kink, &mode, coarse, total);
            y = y.min(coarse * ((KINK_ERROR.ln() - ln_error) / power).exp());
        }
        Spacing { y: y.max(fine.min(coarse)), z: 1.2 * sd_z / (1.0 + 2.5 * sd_z * sd_z).sqrt() }
    }

    fn smaller_total(&self) -> f64 {
        let total = |k: usize| self.components.iter().map(|c| c.shared + c.private[k]).sum::<f64>();
        total(0).min(total(1))
    }

    /// ln f(x¹, x²); writes its derivatives in δ where the grids have them.
    pub(crate) fn ln_density(
        &self,
        x1: &[f64],
        x2: &[f64],
        spacing: Spacing,
        scratch: &mut GridScratch,
        gradient: &mut [f64],
    ) -> f64 {
        let mode = surrogate::find(&self.components, x1, x2, &mut scratch.shares);
        scratch.places.clear();
        scratch.places.extend(x1.iter().zip(x2).map(|(&a, &b)| Place::new(a, b)));
        scratch.sums.clear();
        scratch.sums.resize(self.components.len(), 0.0);
        let mut walk = Walk {
            density: self,
            mode,
            spacing,
            scratch,
            largest: f64::NEG_INFINITY,
            sum: 0.0,
            half_width: 5.0 * mode.precision_s.powf(-0.5),
        };
        walk.both_ways();
        let (sum, largest) = (walk.sum, walk.largest);
        for (out, weighted) in gradient.iter_mut().zip(&scratch.sums) {
            *out = weighted / sum;
        }
        largest + (sum * spacing.y * spacing.z).ln()
    }
}

impl Table {
    fn new(arch: Arch, c: &Component, smoothed: &Smoothed, epsilon: f64) -> Self {
        let (unit, step, count) = smoothed.lattice();
        let half = (smoothed.reach * COLUMNS / epsilon).ceil();
        let mut table = Self {
            unit,
            step,
            count,
            reach: smoothed.reach,
            column_step: smoothed.reach / half,
            power: c.power() - 2.0,
            private: c.private,
            values: Vec::new(),
            slopes: Vec::new(),
        };
        table.values = table.columns(arch, smoothed);
        table
    }

    fn columns(&self, arch: Arch, smoothed: &Smoothed) -> Vec<f64> {
        let n = (2.0 * self.reach / self.column_step).round() as usize + 1;
        let mut values = Vec::with_capacity(n * self.count);
        let mut row = Row::default();
        for i in 0..n {
            let tau = self.column_step * i as f64 - self.reach;
            values.extend_from_slice(smoothed.column(arch, tau, &mut row));
        }
        values
    }

    fn differentiate(&mut self, arch: Arch, moved: &Smoothed, shift: f64) {
        let moved = self.columns(arch, moved);
        self.slopes = moved.iter().zip(&self.values).map(|(m, v)| (m - v) / shift).collect();
    }

    /// Cubic interpolation in τ: weights of four columns, and the first of them.
    fn column_weights(&self, tau: f64) -> (usize, [f64; 4]) {
        let n = (2.0 * self.reach / self.column_step).round() as usize + 1;
        let place = (tau.clamp(-self.reach, self.reach) + self.reach) / self.column_step;
        let base = (place as usize).clamp(1, n - 3) - 1;
        let x = place - base as f64;
        let (a, b, c, d) = (x, x - 1.0, x - 2.0, x - 3.0);
        (base, [-b * c * d / 6.0, a * c * d / 2.0, -a * b * d / 2.0, a * b * c / 6.0])
    }

    /// Blends four columns over lattice points `low..high`.
    fn blend(
        &self,
        table: &[f64],
        (base, w): (usize, [f64; 4]),
        low: usize,
        high: usize,
        out: &mut Vec<f64>,
    ) {
        let column =
            |i: usize| &table[(base + i) * self.count + low..(base + i) * self.count + high];
        out.clear();
        let (first, second) = (column(0).iter().zip(column(1)), column(2).iter().zip(column(3)));
        out.extend(
            first.zip(second).map(|((a, b), (c, d))| w[0] * a + w[1] * b + w[2] * c + w[3] * d),
        );
    }

    /// Adds the component's exponent at z₀, z₀ + h, … to `exponents`, and writes its derivative in δ.
    fn add(&self, at: &At, exponents: &mut [f64], slopes: &mut [f64], work: &mut Work) {
        let Work { indices, blend } = work;
        let last = (self.count - POINTS) as f64;
        let growth = at.step.exp();
        indices.clear();
        let mut mass = at.ln_mass.exp();
        for _ in 0..exponents.len() {
            indices.push(((mass / self.unit).ln_1p() / self.step).min(last));
            mass *= growth;
        }
        let low = (indices[0] as usize).saturating_sub(2);
        let high = (indices[indices.len() - 1] as usize + POINTS).min(self.count);
        let weights = self.column_weights(at.tau);
        self.blend(&self.values, weights, low, high, blend);
        let distance = at.tau.abs();
        let beyond = (distance - self.reach).max(0.0);
        let far = self.private[usize::from(at.tau < 0.0)];
        // far out T + M (e^|τ| − 1) is linear in |τ|
        let excess = if beyond > 0.0 { distance.exp_m1() - self.reach.exp_m1() } else { 0.0 };
        let constant = far * beyond - distance;
        mass = at.ln_mass.exp();
        for (k, (exponent, index)) in exponents.iter_mut().zip(&*indices).enumerate() {
            let value = interpolate(blend, index - low as f64);
            let ln_mass = at.ln_mass + at.step * k as f64;
            *exponent += value + constant + self.power * ln_mass - mass * (2.0 + excess);
            mass *= growth;
        }
        if self.slopes.is_empty() {
            return;
        }
        self.blend(&self.slopes, weights, low, high, blend);
        for (k, (slope, index)) in slopes.iter_mut().zip(&*indices).enumerate() {
            let ln_mass = at.ln_mass + at.step * k as f64;
            *slope = interpolate(blend, index - low as f64) - ln_mass - beyond;
        }
    }
}

/// Where a line meets a component: τ, ln M at the first z, and the step in z.
struct At {
    tau: f64,
    ln_mass: f64,
    step: f64,
}

/// Between six values around a fractional index.
#[inline]
fn interpolate(values: &[f64], index: f64) -> f64 {
    let base = (index as usize).saturating_sub(2).min(values.len() - POINTS);
    let six: &[f64; POINTS] = values[base..base + POINTS].try_into().expect("six values");
    lagrange(six, index - base as f64)
}

/// One item's sum.
struct Walk<'a> {
    density: &'a GridDensity,
    mode: Mode,
    spacing: Spacing,
    scratch: &'a mut GridScratch,
    largest: f64,
    sum: f64,
    half_width: f64,
}

impl Walk<'_> {
    fn both_ways(&mut self) {
        let total = self.density.smaller_total();
        let near: Vec<f64> = self
            .scratch
            .places
            .iter()
            .map(|place| place.kink)
            .filter(|&kink| kinks::tail(kink, &self.mode, total) < CUT)
            .collect();
        let middle = (self.mode.y / self.spacing.y).round() as i64;
        let (_, start) = self.line(middle, self.mode.ln_s);
        for direction in [1, -1] {
            let mut ln_s = start;
            for k in 1..MAX_LINES {
                let i = middle + direction * k;
                let y = self.spacing.y * i as f64;
                let guess = ln_s + self.mode.slope * self.spacing.y * direction as f64;
                let (ln_line, best) = self.line(i, guess);
                ln_s = best;
                let ahead = near.iter().any(|kink| (kink - y) * direction as f64 > 0.0);
                if ln_line < self.largest - CUT && !ahead {
                    break;
                }
            }
        }
    }

    /// Adds the line y = i h; returns its largest exponent and the z of it.
    fn line(&mut self, i: i64, guess: f64) -> (f64, f64) {
        let y = self.spacing.y * i as f64;
        let mut centre = guess;
        for _ in 0..20 {
            let (best, at, edge) = self.exponents(y, centre);
            if !edge {
                self.accumulate(best);
                return (best, at);
            }
            centre = at;
        }
        (f64::NEG_INFINITY, centre)
    }

    /// Exponents of a line around `centre`: the largest, where it is, and whether that is at the edge.
    fn exponents(&mut self, y: f64, centre: f64) -> (f64, f64, bool) {
        let h = self.spacing.z;
        let sd = self.half_width / 5.0;
        let first = ((centre - self.half_width - 3.0 * sd * sd) / h).floor();
        let count = ((centre + self.half_width) / h).ceil() - first;
        let (z, n) = (first * h, count as usize + 1);
        let Self { density, scratch, .. } = self;
        let GridScratch { exponents, slopes, work, places, .. } = &mut **scratch;
        let n_classes = places.len() as f64;
        exponents.clear();
        exponents.extend((0..n).map(|k| n_classes * (y + 2.0 * (z + h * k as f64))));
        slopes.clear();
        slopes.resize(n * places.len(), 0.0);
        for ((place, table), slopes) in
            places.iter().zip(&density.tables).zip(slopes.chunks_exact_mut(n))
        {
            let ln_smaller = (y + place.ln_x[0]).min(place.ln_x[1]);
            let at = At { tau: y - place.kink, ln_mass: z + ln_smaller, step: h };
            table.add(&at, exponents, slopes, work);
        }
        let best = (0..n).max_by(|&a, &b| exponents[a].total_cmp(&exponents[b])).unwrap_or(0);
        let edge = best == 0 || best == n - 1;
        (exponents[best], z + h * best as f64, edge)
    }

    fn accumulate(&mut self, best: f64) {
        if best > self.largest {
            let factor = (self.largest - best).exp();
            self.sum *= factor;
            self.scratch.sums.iter_mut().for_each(|sum| *sum *= factor);
            self.largest = best;
        } else if best < self.largest - CUT - 3.0 {
            return;
        }
        let GridScratch { exponents, slopes, sums, .. } = &mut *self.scratch;
        for e in exponents.iter_mut() {
            *e = (*e - self.largest).exp();
            self.sum += *e;
        }
        for (sum, slopes) in sums.iter_mut().zip(slopes.chunks_exact(exponents.len())) {
            *sum += slopes.iter().zip(exponents.iter()).map(|(s, e)| s * e).sum::<f64>();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{PairDensity, Scratch};
    use super::*;
    use crate::simulation::Preset;

    /// Mean and spread of the difference from the adaptive quadrature, over 60 items.
    fn compare(preset: Preset, correlation: f64, share: f64) -> (f64, f64, f64) {
        let alpha = preset.alpha()[0];
        let delta = alpha.map(|a| share * a);
        let data = preset.truth(correlation).unwrap().simulate(60, 3).unwrap();
        let exact = |delta: &[f64]| {
            PairDensity::new(&alpha, &alpha, delta).unwrap().with_resolution(0.03).unwrap()
        };
        let grid = GridDensity::new([&alpha, &alpha], &delta, 0.03, true).unwrap();
        let width = 1e-3 * delta[0].min(alpha[0] - delta[0]);
        let moved = |by: f64| exact(&[delta[0] + by, delta[1], delta[2]]);
        let (centre, low, high) = (exact(&delta), moved(-width), moved(width));
        let (mut s, mut g) = (Scratch::default(), GridScratch::default());
        let (mut offs, mut slope_off) = (Vec::new(), 0.0f64);
        for i in 0..60 {
            let (a, b) = (data.output(i, 0).unwrap(), data.output(i, 1).unwrap());
            let spacing = grid.spacing(a, b, &mut g);
            let mut gradient = [0.0; 3];
            let got = grid.ln_density(a, b, spacing, &mut g, &mut gradient);
            offs.push(got - centre.ln_density(a, b, &mut s).ln_density);
            let up = high.ln_density(a, b, &mut s).ln_density;
            let numeric = (up - low.ln_density(a, b, &mut s).ln_density) / (2.0 * width);
            slope_off += (gradient[0] - numeric) * width * 1e3 / 60.0;
        }
        let mean = offs.iter().sum::<f64>() / 60.0;
        let spread = (offs.iter().map(|o| (o - mean).powi(2)).sum::<f64>() / 59.0).sqrt();
        (mean, spread, slope_off)
    }

    #[test]
    fn agrees_with_the_adaptive_quadrature() {
        for (preset, correlation, share) in [
            (Preset::Sim2, 0.5, 0.5),
            (Preset::Sim2, 0.75, 0.8),
            (Preset::Sim2, 0.0, 0.02),
            (Preset::Sim2, 1.0, 0.99),
            (Preset::Sim1, 0.5, 0.5),
            (Preset::Sim1, 0.75, 0.9),
            (Preset::Sim1, 1.0, 0.95),
        ] {
            let (mean, spread, slope) = compare(preset, correlation, share);
            let good = mean.abs() < 1e-3 && spread < 1e-2 && slope.abs() < 1e-3;
            assert!(good, "{preset:?} {correlation} {share}: {mean:.1e} {spread:.1e} {slope:.1e}");
        }
    }
}
