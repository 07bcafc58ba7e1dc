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
//! The lattice of an item is fixed beforehand (`lattice`), crowded around kinks where that saves lines, so that the
//! sum is a smooth function of δ; `table` crowds its columns in the same way. M has a corner at τ = 0, which leaves
//! an error of about 1e-3 an item; where the corner lies between lattice points is as good as random, so the errors
//! of many items cancel.

#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // counts and indices of lattices

mod kernel;
mod lattice;
mod table;

use pulp::Arch;

use super::four_lanes;
use super::kernel::run;
use super::kinks;
use super::place::Place;
use super::resolution::Smoothed;
use super::shapes::{self, Component};
use super::surrogate::{self, Mode, Share};
use crate::{Result, parallel};
use kernel::{Weigh, whole};
pub(crate) use lattice::Lattice;
use lattice::{Crowd, Line};
use table::{At, Table, Work};

/// Step of the derivative in δ, relative to the smaller of δ and what it leaves: one-sided, and
/// tables are good to 1e-8, so that derivatives in logit δ are good to about 1e-4.
const SHIFT: f64 = 2e-4;
/// Terms below e^−CUT of the largest are left out.
const CUT: f64 = 14.0;
/// Error of one item that the lattice may have from kinks.
const KINK_ERROR: f64 = 4e-3;
/// Lines of an item at the most, in each direction.
const MAX_LINES: i64 = 4000;

/// The density of one class at a finite resolution, ready for many items.
#[derive(Debug, Clone)]
pub(crate) struct GridDensity {
    components: Vec<Component>,
    tables: Vec<Table>,
    epsilon: f64,
    arch: Arch,
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
        Ok(Self { components, tables, epsilon, arch })
    }

    /// The lattice that suits an item at these parameters and near them.
    pub(crate) fn lattice(&self, x1: &[f64], x2: &[f64], scratch: &mut GridScratch) -> Lattice {
        let mode = surrogate::find(&self.components, x1, x2, &mut scratch.shares);
        let sd_z = mode.precision_s.powf(-0.5);
        let sd_y = mode.sd_y;
        let coarse = 0.8 * sd_y / (1.0 + 0.6 * sd_y * sd_y).sqrt();
        let n = self.components.len() as f64;
        let fine = coarse.min(self.epsilon * (1.5 / n.sqrt()).min(1.0));
        let total = self.smaller_total();
        let mut crowds = Vec::new();
        let (mut low, mut high) = reach(&mode, total);
        for (c, (&a, &b)) in self.components.iter().zip(x1.iter().zip(x2)) {
            let power = c.kink_power() + 1.0;
            let kink = Place::new(a, b).kink;
            let step = if c.is_rigid() || c.is_independent() || power < 0.5 {
                if kinks::tail(kink, &mode, total) < CUT { fine } else { coarse }
            } else {
                let ln_error = kinks::ln_error(c, b, kink, &mode, coarse, total);
                coarse * ((KINK_ERROR.ln() - ln_error) / power).exp()
            };
            if step < coarse {
                crowds.push(Crowd { kink, step: step.max(fine) });
                (low, high) = (low.min(kink - coarse), high.max(kink + coarse));
            }
        }
        let z = 1.2 * sd_z / (1.0 + 2.5 * sd_z * sd_z).sqrt();
        Lattice::new(coarse, crowds, z, (low, high))
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
        lattice: &Lattice,
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
            lattice,
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
        largest + (sum * lattice.z).ln()
    }
}

/// One item's sum.
struct Walk<'a> {
    density: &'a GridDensity,
    mode: Mode,
    lattice: &'a Lattice,
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
        let middle = self.lattice.nearest(self.mode.y);
        let first = self.lattice.line(middle, self.mode.y);
        let (_, start) = self.line(first, self.mode.ln_s);
        for direction in [1, -1] {
            let (mut ln_s, mut y) = (start, first.y);
            for k in 1..MAX_LINES {
                let line = self.lattice.line(middle + direction * k, y);
                let guess = ln_s + self.mode.slope * (line.y - y);
                let (ln_line, best) = self.line(line, guess);
                (ln_s, y) = (best, line.y);
                let ahead = near.iter().any(|kink| (kink - y) * direction as f64 > 0.0);
                if ln_line < self.largest - CUT && !ahead {
                    break;
                }
            }
        }
    }

    /// Adds a line; returns its largest exponent and the z of it.
    fn line(&mut self, line: Line, guess: f64) -> (f64, f64) {
        let mut centre = guess;
        for _ in 0..20 {
            let (best, at, edge) = self.exponents(line.y, centre);
            if !edge {
                self.accumulate(best, line.weight);
                return (best, at);
            }
            centre = at;
        }
        (f64::NEG_INFINITY, centre)
    }

    /// Exponents of a line around `centre`: the largest, where it is, and whether that is at the edge.
    fn exponents(&mut self, y: f64, centre: f64) -> (f64, f64, bool) {
        let h = self.lattice.z;
        let sd = self.half_width / 5.0;
        let first = ((centre - self.half_width - 3.0 * sd * sd) / h).floor();
        let count = ((centre + self.half_width) / h).ceil() - first;
        let (z, n) = (first * h, whole(count as usize + 1));
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
            table.add(density.arch, &at, exponents, slopes, work);
        }
        let best = (0..n).max_by(|&a, &b| exponents[a].total_cmp(&exponents[b])).unwrap_or(0);
        let edge = best == 0 || best == n - 1;
        (exponents[best], z + h * best as f64, edge)
    }

    fn accumulate(&mut self, best: f64, weight: f64) {
        if best > self.largest {
            let factor = (self.largest - best).exp();
            self.sum *= factor;
            self.scratch.sums.iter_mut().for_each(|sum| *sum *= factor);
            self.largest = best;
        } else if best < self.largest - CUT - 3.0 {
            return;
        }
        let GridScratch { exponents, slopes, sums, .. } = &mut *self.scratch;
        let (largest, sum) = (self.largest, &mut self.sum);
        run(self.density.arch, Weigh { largest, exponents, slopes, weight, sum, sums });
    }
}

/// Where the integrand over y is above e^−CUT of its maximum, on the safe side (see [`kinks::tail`]).
fn reach(mode: &Mode, total: f64) -> (f64, f64) {
    let gaussian = (CUT / 0.35).sqrt() * mode.sd_y;
    let exponential = 2.0 * mode.sd_y + CUT / (0.7 * total);
    let reach = gaussian.max(exponential);
    (mode.y - reach, mode.y + reach)
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
            let lattice = grid.lattice(a, b, &mut g);
            let mut gradient = [0.0; 3];
            let got = grid.ln_density(a, b, &lattice, &mut g, &mut gradient);
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
