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
//! of many items cancel. Where many classes have tiny private shapes, tables a quarter of the resolution apart leave about 1e-2
//! an item, which need not cancel (ten classes of `examples/four_sets.py`: means within 1.5e-2, standard deviations .01 to .03).
//!
//! A component whose M is small on a whole line is a short sum there (`series`), so that only the few classes that an item is
//! about need their tables; and lines on the way to a kink where nothing is are not taken.

#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // counts and indices of lattices

mod kernel;
mod nodes;
mod series;
mod table;

use pulp::Arch;

use super::convolution::Convolution;
use crate::Result;
use crate::pair::component::{self, Component};
use crate::pair::exact::kernel::run;
use crate::pair::exact::kinks;
use crate::pair::four_lanes;
use crate::pair::item::OutputPair;
use crate::pair::laplace::{self, Mode, Share};
use consilience_numerics::parallel;
use kernel::{Weigh, whole};
pub use nodes::Lattice;
use nodes::{Crowd, Line};
use series::{Form, Sum};
use table::{At, Table};

/// Step of the derivative in δ, relative to the smaller of δ and what it leaves: one-sided, and
/// tables are good to 1e-8, so that derivatives in logit δ are good to about 1e-4.
const SHIFT: f64 = 2e-4;
/// Terms below e^−CUT of the largest are left out.
const CUT: f64 = 14.0;
/// And lines whose largest is this much lower.
const SLACK: f64 = 3.0;
/// Error of one item that the lattice may have from kinks.
const KINK_ERROR: f64 = 4e-3;
/// Lines of an item at the most, in each direction.
const MAX_LINES: i64 = 4000;

/// The density of one class at a finite resolution, ready for many items.
#[derive(Debug, Clone)]
pub struct LearningDensity {
    components: Vec<Component>,
    tables: Vec<Table>,
    epsilon: f64,
    arch: Arch,
}

/// Buffers of one thread.
#[derive(Debug, Clone, Default)]
pub struct LearningScratch {
    shares: Vec<Share>,
    outputs: Vec<OutputPair>,
    /// Exponents of a line.
    exponents: Vec<f64>,
    /// Of a line: z, e^z, e^2z, then the derivatives of the components that need their tables.
    rows: Vec<f64>,
    /// Those components, and what every component adds without its table.
    tabled: Vec<usize>,
    forms: Vec<Form>,
    indices: Vec<f64>,
    /// Weighted sums of a line's rows, and of all derivatives.
    line_sums: Vec<f64>,
    sums: Vec<f64>,
}

/// Rows of a line that serve all components.
const COMMON_ROWS: usize = 3;

impl LearningDensity {
    /// Makes the grids of α¹, α², δ; those of the derivatives only if asked for.
    pub fn new(alpha: [&[f64]; 2], delta: &[f64], epsilon: f64, with_slopes: bool) -> Result<Self> {
        let components = component::components(alpha[0], alpha[1], delta)?;
        let shifts: Vec<f64> = (0..delta.len())
            .map(|l| SHIFT * delta[l].min(alpha[0][l].min(alpha[1][l]) - delta[l]))
            .collect();
        let moved: Vec<f64> = delta.iter().zip(&shifts).map(|(d, h)| d + h).collect();
        let moved = component::components(alpha[0], alpha[1], &moved)?;
        let arch = four_lanes();
        let most = largest_mass(&components);
        let tables = parallel::map(components.len(), |l| {
            let base = Convolution::up_to(arch, &components[l], epsilon, most);
            let mut table = Table::new(arch, &components[l], &base, epsilon);
            if with_slopes && shifts[l] > 0.0 {
                table.differentiate(arch, &base.like(arch, &moved[l]), shifts[l]);
            }
            table
        });
        Ok(Self { components, tables, epsilon, arch })
    }

    /// The lattice that suits an item at these parameters and near them.
    pub fn lattice(&self, x1: &[f64], x2: &[f64], scratch: &mut LearningScratch) -> Lattice {
        let mode = laplace::find(&self.components, x1, x2, &mut scratch.shares);
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
            let kink = OutputPair::new(a, b).kink;
            let step = if c.is_rigid() || c.is_independent() || power < 0.5 {
                if kinks::tail(kink, &mode, total) < CUT { fine } else { coarse }
            } else {
                let ln_error = kinks::ln_error(c, b, kink, &mode, coarse, total);
                coarse * ((KINK_ERROR.ln() - ln_error) / power).exp()
            };
            if step < coarse {
                crowds.push(Crowd::new(kink, step.max(fine)));
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
    pub fn ln_density(
        &self,
        x1: &[f64],
        x2: &[f64],
        lattice: &Lattice,
        scratch: &mut LearningScratch,
        gradient: &mut [f64],
    ) -> f64 {
        let mode = laplace::find(&self.components, x1, x2, &mut scratch.shares);
        scratch.outputs.clear();
        scratch.outputs.extend(x1.iter().zip(x2).map(|(&a, &b)| OutputPair::new(a, b)));
        scratch.sums.clear();
        scratch.sums.resize(self.components.len(), 0.0);
        let mut walk = RatioIntegral {
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
struct RatioIntegral<'a> {
    density: &'a LearningDensity,
    mode: Mode,
    lattice: &'a Lattice,
    scratch: &'a mut LearningScratch,
    largest: f64,
    sum: f64,
    half_width: f64,
}

impl RatioIntegral<'_> {
    fn both_ways(&mut self) {
        let total = self.density.smaller_total();
        let mut near: Vec<f64> = self
            .scratch
            .outputs
            .iter()
            .map(|place| place.kink)
            .filter(|&kink| kinks::tail(kink, &self.mode, total) < CUT)
            .collect();
        near.sort_unstable_by(f64::total_cmp);
        near.dedup();
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
                let ahead = |kink: f64| (kink - y) * direction as f64 > 0.0;
                if ln_line < self.largest - CUT {
                    near.retain(|&kink| !ahead(kink) || self.matters(kink, (y, ln_s)));
                    if !near.iter().any(|&kink| ahead(kink)) {
                        break;
                    }
                }
            }
        }
    }

    /// Whether there is anything at a kink, seen from a line with its best z.
    fn matters(&mut self, kink: f64, (y, ln_s): (f64, f64)) -> bool {
        let (best, _) = self.settle(kink, ln_s + self.mode.slope * (kink - y));
        best > self.largest - CUT - SLACK
    }

    /// Adds a line; returns its largest exponent and the z of it.
    fn line(&mut self, line: Line, guess: f64) -> (f64, f64) {
        let (best, at) = self.settle(line.y, guess);
        if best > f64::NEG_INFINITY {
            self.accumulate(best, line.weight);
        }
        (best, at)
    }

    /// Computes the exponents of a line: the largest and the z of it.
    fn settle(&mut self, y: f64, guess: f64) -> (f64, f64) {
        let mut centre = guess;
        for _ in 0..20 {
            let (best, at, edge) = self.exponents(y, centre);
            if !edge {
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
        self.place_points(z, n);
        let LearningScratch { exponents, rows, tabled, forms, outputs, indices, .. } =
            &mut *self.scratch;
        let (rho, top) = (y.exp(), rows[2 * n - 1]);
        let n_classes = outputs.len() as f64;
        let mut sum = Sum { constant: n_classes * y, power: 2.0 * n_classes, ..Sum::default() };
        tabled.clear();
        forms.clear();
        exponents.clear();
        exponents.resize(n, 0.0);
        for (l, (place, table)) in outputs.iter().zip(&self.density.tables).enumerate() {
            let at = At::new(place, y, rho);
            let form = table.form(&at, top);
            sum.add(&form.exponent);
            if !form.whole {
                tabled.push(l);
                rows.resize(rows.len() + n, 0.0);
                let (common, slopes) = rows.split_at_mut((COMMON_ROWS + tabled.len() - 1) * n);
                let scales = &common[n..2 * n];
                table.add(self.density.arch, (&at, &form), scales, exponents, slopes, indices);
            }
            forms.push(form);
        }
        for ((exponent, z), scale) in exponents.iter_mut().zip(&rows[..n]).zip(&rows[n..2 * n]) {
            *exponent += sum.at(*z, *scale);
        }
        let best = (0..n).max_by(|&a, &b| exponents[a].total_cmp(&exponents[b])).unwrap_or(0);
        let edge = best == 0 || best == n - 1;
        (exponents[best], z + h * best as f64, edge)
    }

    /// Writes z, e^z and e^2z of a line.
    fn place_points(&mut self, z: f64, n: usize) {
        let h = self.lattice.z;
        let rows = &mut self.scratch.rows;
        rows.clear();
        rows.extend((0..n).map(|k| z + h * k as f64));
        let (mut scale, growth) = (z.exp(), h.exp());
        for _ in 0..n {
            rows.push(scale);
            scale *= growth;
        }
        rows.extend_from_within(n..2 * n);
        rows[2 * n..].iter_mut().for_each(|scale| *scale *= *scale);
    }

    fn accumulate(&mut self, best: f64, weight: f64) {
        if best > self.largest {
            let factor = (self.largest - best).exp();
            self.sum *= factor;
            self.scratch.sums.iter_mut().for_each(|sum| *sum *= factor);
            self.largest = best;
        } else if best < self.largest - CUT - SLACK {
            return;
        }
        let LearningScratch { exponents, rows, tabled, forms, line_sums, sums, .. } =
            &mut *self.scratch;
        line_sums.resize(COMMON_ROWS + tabled.len(), 0.0);
        let weigh = Weigh { largest: self.largest, exponents, rows, weight, sums: line_sums };
        let total = run(self.density.arch, weigh);
        self.sum += total;
        let [z, scale, square] = [line_sums[0], line_sums[1], line_sums[2]];
        for (sum, Form { slope, .. }) in sums.iter_mut().zip(&*forms) {
            *sum += slope.constant * total
                + slope.power * z
                + slope.linear * scale
                + slope.square * square;
        }
        for (&l, own) in tabled.iter().zip(&line_sums[COMMON_ROWS..]) {
            sums[l] += own;
        }
    }
}

/// An M that no component of any item exceeds where it matters: together the smaller gammas are at most about a gamma of all
/// shapes.
fn largest_mass(components: &[Component]) -> f64 {
    let total: f64 = components.iter().map(Component::power).sum();
    total + 10.0 * total.sqrt() + 40.0
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
    use super::*;
    use crate::CorrelatedDirichlet;
    use crate::pair::{PairDensity, Scratch};
    use rand::SeedableRng;
    use rand::rngs::ChaCha8Rng;

    /// Mean and spread of the difference from the adaptive quadrature, over 60 items.
    fn compare(alpha: [f64; 3], true_share: f64, share: f64) -> (f64, f64, f64) {
        let delta = alpha.map(|a| share * a);
        let common = alpha.map(|a| (true_share * a).clamp(0.1, a - 0.1)).to_vec();
        let truth = CorrelatedDirichlet::new(vec![alpha.to_vec(); 2], Some(common), vec![]);
        let (truth, mut rng) = (truth.unwrap(), ChaCha8Rng::seed_from_u64(3));
        let exact = |delta: &[f64]| {
            PairDensity::new(&alpha, &alpha, delta).unwrap().with_resolution(0.03).unwrap()
        };
        let grid = LearningDensity::new([&alpha, &alpha], &delta, 0.03, true).unwrap();
        let width = 1e-3 * delta[0].min(alpha[0] - delta[0]);
        let moved = |by: f64| exact(&[delta[0] + by, delta[1], delta[2]]);
        let (centre, low, high) = (exact(&delta), moved(-width), moved(width));
        let (mut s, mut g) = (Scratch::default(), LearningScratch::default());
        let (mut offs, mut slope_off) = (Vec::new(), 0.0f64);
        for _ in 0..60 {
            let outputs = truth.sample(&mut rng);
            let (a, b) = outputs.split_at(3);
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
        let (large, small) = ([12.0, 8.0, 8.0], [3.0, 2.0, 2.0]);
        for (alpha, true_share, share) in [
            (large, 0.5, 0.5),
            (large, 0.75, 0.8),
            (large, 0.0, 0.02),
            (large, 1.0, 0.99),
            (small, 0.5, 0.5),
            (small, 0.75, 0.9),
            (small, 1.0, 0.95),
        ] {
            let (mean, spread, slope) = compare(alpha, true_share, share);
            let good = mean.abs() < 1e-3 && spread < 1e-2 && slope.abs() < 1e-3;
            assert!(good, "{alpha:?} {true_share} {share}: {mean:.1e} {spread:.1e} {slope:.1e}");
        }
    }

    /// Ten classes, nearly all outputs tiny and many of them tied, so that most components need no table and most kinks no lines.
    /// Mean and largest difference; the interpolation between columns leaves some thousandths a component, more where its kink is
    /// a spike. Then the mean difference of slopes, of the large component and a small one, per length of the way to the nearer bound.
    fn compare_tiny(share: f64) -> (f64, f64, [f64; 2]) {
        let alpha = [1.5, 0.08, 0.07, 0.09, 0.08, 0.1, 0.08, 0.07, 0.08, 0.3];
        let (other, delta) = (alpha.map(|a| 1.2 * a), alpha.map(|a| share * a));
        let grid = LearningDensity::new([&alpha, &other], &delta, 0.1, true).unwrap();
        let moved = |l: usize, by: f64| {
            let mut delta = delta;
            delta[l] += by;
            PairDensity::new(&alpha, &other, &delta).unwrap().with_resolution(0.1).unwrap()
        };
        let (exact, checked) = (moved(0, 0.0), [0, 5]);
        let lengths = checked.map(|l| delta[l].min(alpha[l] - delta[l]));
        let either = [0, 1].map(|c| [-1e-2, 1e-2].map(|by| moved(checked[c], by * lengths[c])));
        let mut slopes = [0.0; 2];
        let output = |seed: u32, tied: usize| {
            // multiples of the golden ratio in place of random numbers
            let part = |l: u32| (0.618_034 * f64::from(seed + l)).fract();
            let mut x = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map(|l| (-14.0 * part(l)).exp().max(1e-6));
            x[1..=tied].fill(1e-6);
            x[0] = 0.9;
            let total: f64 = x.iter().sum();
            x.map(|x| x / total)
        };
        let (mut s, mut g, mut gradient) =
            (Scratch::default(), LearningScratch::default(), [0.0; 10]);
        let (mut mean, mut largest) = (0.0, 0.0f64);
        for i in 0..24 {
            let (a, b) = (output(31 * i, i as usize % 9), output(17 * i + 5, i as usize % 9));
            let lattice = grid.lattice(&a, &b, &mut g);
            let got = grid.ln_density(&a, &b, &lattice, &mut g, &mut gradient);
            let off = got - exact.ln_density(&a, &b, &mut s).ln_density;
            (mean, largest) = (mean + off / 24.0, largest.max(off.abs()));
            for c in 0..2 {
                let [low, high] =
                    [0, 1].map(|e| either[c][e].ln_density(&a, &b, &mut s).ln_density);
                let numeric = (high - low) / 2e-2;
                slopes[c] += (gradient[checked[c]] * lengths[c] - numeric) / 24.0;
            }
        }
        (mean, largest, slopes)
    }

    #[test]
    fn many_tiny_outputs_agree_with_the_adaptive_quadrature() {
        for (share, bound) in [(0.6, 0.01), (0.97, 0.02)] {
            let (mean, largest, slopes) = compare_tiny(share);
            assert!(mean.abs() < bound && largest < 3.0 * bound, "{share}: {mean} {largest}");
            assert!(slopes.iter().all(|s| s.abs() < bound), "{share}: {slopes:?}");
        }
    }
}
