//! One component observed at a finite resolution ε.
//!
//! With M the smaller of a component's two gammas and τ the difference of their logarithms, the density h(M, τ) is
//! observed with an N(0, ε²) error of τ, M held fixed: h_ε(M, ·) = h(M, ·) ∗ N(0, ε²). The convolution is a sum
//! over fixed nodes τⱼ, spaced by ε and closing in on the kink at 0, where h behaves like |τ|^(a¹+a²−1):
//!
//! ```text
//! h_ε(M, τ) = Σⱼ N((τ − τⱼ)/ε) wⱼ h(M, τⱼ)
//! ```
//!
//! So one table of wⱼ h(M, τⱼ) over a lattice in M, made once for a set of shapes, serves every item.
//!
//! # Numerics
//! Tables hold ln h − (n−1) ln M + 2M with n = δ+a¹+a², which is analytic in M down to 0; between points of a
//! lattice in ln(1 + M/unit) six are interpolated. Shapes of 0 are single nodes; where both private shapes are 0 everything is known.

use std::f64::consts::TAU;

use pulp::Arch;

use super::kernel::{Exponentiate, Gaussian, Interpolate, SumRows};
use super::shared_part::{ACCURACY, Lattice, flush, typical};
use crate::pair::component::Component;
use crate::pair::exact::kernel::run;
use crate::pair::exact::ratio::{CLOSING, smallest};
use consilience_numerics::exponential_tail;
use consilience_numerics::special::ln_gamma;

/// Points of an interpolation.
pub(crate) const POINTS: usize = 6;

/// The tables of one component.
#[derive(Debug, Clone)]
pub(crate) struct Convolution {
    epsilon: f64,
    /// n = δ + a¹ + a².
    power: f64,
    shared: f64,
    /// Both gammas are the same: no table.
    rigid: bool,
    /// |τ| up to which the tables reach.
    pub(crate) reach: f64,
    /// Half width of the Gaussian that is summed, in units of ε.
    half_width: f64,
    /// Lattice in ln(1 + M/unit).
    unit: f64,
    step: f64,
    count: usize,
    /// Nodes in ascending order, and their rows.
    nodes: Vec<f64>,
    table: Vec<f64>,
    /// Taken out of every column.
    reference: Vec<f64>,
}

/// Buffers for one evaluation.
#[derive(Debug, Clone, Default)]
pub(crate) struct Row {
    values: Vec<f64>,
    weights: Vec<f64>,
}

impl Convolution {
    /// Makes the tables.
    pub(crate) fn new(arch: Arch, c: &Component, epsilon: f64) -> Self {
        let mut smoothed = Self::empty(c, epsilon);
        smoothed.tabulate(arch, c, &smoothed.masses());
        smoothed
    }

    /// Tables up to an M beyond which nothing is, for [`Convolution::column`] alone.
    pub(crate) fn up_to(arch: Arch, c: &Component, epsilon: f64, most: f64) -> Self {
        let mut smoothed = Self::empty(c, epsilon);
        let needed = ((most / smoothed.unit).ln_1p() / smoothed.step).ceil() as usize + POINTS;
        smoothed.count = smoothed.count.min(needed);
        smoothed.tabulate(arch, c, &smoothed.masses());
        smoothed
    }

    /// Tables over a list of M and up to a distance, for [`Convolution::column`] alone.
    pub(crate) fn at(arch: Arch, c: &Component, epsilon: f64, masses: &[f64], reach: f64) -> Self {
        let mut smoothed = Self::empty(c, epsilon);
        smoothed.reach = reach;
        smoothed.count = masses.len();
        smoothed.tabulate(arch, c, masses);
        smoothed
    }

    fn empty(c: &Component, epsilon: f64) -> Self {
        let [a1, a2] = c.private;
        let power = c.shared + a1 + a2;
        let root = power.sqrt();
        let typical = typical(c);
        let highest = typical * (10.0 / root + 1.0).exp();
        let wide = (0.6 / (epsilon * root)).min(1.0);
        let step = 0.5 * wide * (4e-4 / (3.0 * typical + 10.0)).powf(1.0 / 6.0);
        let unit = (0.25 * typical).max(0.25);
        Self {
            epsilon,
            power,
            shared: c.shared,
            rigid: c.is_rigid(),
            reach: (10.0 / root + 12.0 * epsilon).min(5.0).min(400.0 * epsilon),
            half_width: half_width(c, epsilon),
            unit,
            step,
            count: ((highest / unit).ln_1p() / step).ceil() as usize + POINTS,
            nodes: Vec::new(),
            table: Vec::new(),
            reference: Vec::new(),
        }
    }

    /// The largest M that the tables reach.
    pub(crate) fn highest(&self) -> f64 {
        self.mass(self.count - POINTS)
    }

    /// The tables of other shapes over the same masses and distances.
    pub(crate) fn like(&self, arch: Arch, c: &Component) -> Self {
        let mut smoothed = Self {
            power: c.power(),
            shared: c.shared,
            rigid: c.is_rigid(),
            nodes: Vec::new(),
            table: Vec::new(),
            reference: Vec::new(),
            ..*self
        };
        smoothed.tabulate(arch, c, &smoothed.masses());
        smoothed
    }

    /// The lattice in ln(1 + M/unit): unit, step and number.
    pub(crate) fn lattice(&self) -> (f64, f64, usize) {
        (self.unit, self.step, self.count)
    }

    fn masses(&self) -> Vec<f64> {
        (0..self.count).map(|m| self.mass(m)).collect()
    }

    fn mass(&self, m: usize) -> f64 {
        self.unit * (self.step * m as f64).exp_m1()
    }

    fn tabulate(&mut self, arch: Arch, c: &Component, masses: &[f64]) {
        if self.rigid {
            return;
        }
        let typical = typical(c);
        let side_nodes = self.side_nodes(c);
        let lattice = Lattice::new(arch, c, typical, side_nodes[0].0);
        let powers = lattice.powers(arch, masses, typical);
        let mut rows: Vec<(f64, f64, Vec<f64>)> = Vec::new();
        for upper in [false, true] {
            let k = usize::from(upper);
            let (near, far) = (c.private[k], c.private[1 - k]);
            if far == 0.0 {
                continue;
            }
            for &(node, weight) in &side_nodes {
                let logs = lattice.row(arch, c.shared, near, far, node, masses, typical, &powers);
                rows.push((if upper { node } else { -node }, weight, logs));
            }
        }
        rows.sort_by(|a, b| a.0.total_cmp(&b.0));
        self.reference = vec![f64::NEG_INFINITY; self.count];
        for (_, _, logs) in &rows {
            for (reference, log) in self.reference.iter_mut().zip(logs) {
                *reference = reference.max(*log);
            }
        }
        self.table = Vec::with_capacity(rows.len() * self.count);
        let scale = 1.0 / (self.epsilon * TAU.sqrt());
        for (node, weight, mut logs) in rows {
            self.nodes.push(node);
            let task = Exponentiate {
                factor: weight * scale,
                reference: &self.reference,
                values: &mut logs,
            };
            run(arch, task);
            flush(&mut logs);
            self.table.extend(logs);
        }
    }

    /// Nodes of one side and their weights; the innermost six are a closed end.
    fn side_nodes(&self, c: &Component) -> Vec<(f64, f64)> {
        let sharp = 1.0 + self.shared + 3.0 * self.power;
        let Nodes { scale, step } = Nodes::new(c, self.epsilon);
        let (exponents, missing) = smallest(&[1.0, 1.0 + c.kink_power()], 1.0);
        let range = scale.min(1.0 / sharp);
        let ln_onset =
            (ACCURACY.ln() + (missing - exponents[0]) * range.ln() + exponents[0] * scale.ln())
                / missing;
        let start = (ln_onset - scale.ln()).min(-0.5);
        let weights =
            exponential_tail::scaled_weights(&exponents, step).map(|weight| weight / exponents[0]);
        let furthest = self.reach + self.half_width * self.epsilon;
        let mut nodes = Vec::new();
        for j in 0.. {
            let theta = start + step * (f64::from(j) - (CLOSING - 1) as f64);
            let node = scale * if theta > 36.0 { theta } else { theta.exp().ln_1p() };
            let ordinary = step * scale / (1.0 + (-theta).exp());
            let closed = (CLOSING - 1).checked_sub(j as usize).map_or(1.0, |i| weights[i]);
            nodes.push((node, ordinary * closed));
            if node > furthest {
                break;
            }
        }
        nodes
    }

    /// ln φ, the inner integral's stand-in (see `inner`), at s = centre · t; adds to `out`.
    ///
    /// `ln_smaller` is ln min(ρx¹, x²), `ln_centre` that of the centre; t ascends.
    pub(crate) fn add_ln_inner(&self, at: &At<'_>, row: &mut Row, out: &mut [f64]) {
        let excess = at.tau.abs().exp_m1();
        let constant = (self.power - 2.0) * at.ln_smaller - at.tau.abs();
        let mass = (at.ln_centre + at.ln_smaller).exp();
        if self.rigid {
            let z = at.tau / self.epsilon;
            let gaussian = -0.5 * z * z - (self.epsilon * TAU.sqrt()).ln() - ln_gamma(self.shared);
            for (out, t) in out.iter_mut().zip(at.t) {
                *out += constant + gaussian + mass * t * (1.0 + excess);
            }
            return;
        }
        let last = (self.count - POINTS) as f64;
        let index = |t: f64| ((mass * t / self.unit).ln_1p() / self.step).min(last);
        let low = (index(at.t[0]) as usize).saturating_sub(2);
        let high = (index(at.t[at.t.len() - 1]) as usize + POINTS).min(self.count);
        self.convolve(at.arch, at.tau, low, high, row);
        run(
            at.arch,
            Interpolate {
                values: &row.values,
                unit: mass / self.unit,
                step: self.step,
                low: low as f64,
                last,
                t: at.t,
                constant,
                slope: mass * excess,
                highest: self.highest() / mass,
                out,
            },
        );
    }

    /// ln h_ε − (n−1) ln M + 2M at τ for all M of the tables.
    pub(crate) fn column<'a>(&self, arch: Arch, tau: f64, row: &'a mut Row) -> &'a [f64] {
        let [lowest, highest] = [self.nodes[0], self.nodes[self.nodes.len() - 1]];
        if (lowest > 0.0 && tau < 0.0) || (highest < 0.0 && tau > 0.0) {
            self.beyond(arch, tau, row);
        } else {
            self.convolve(arch, tau, 0, self.count, row);
        }
        &row.values
    }

    /// The same where a private shape is 0 and h ends at its kink: e^(−z²/2) is taken out of the sum,
    /// which would vanish, z = τ/ε.
    fn beyond(&self, arch: Arch, tau: f64, row: &mut Row) {
        let z = tau / self.epsilon;
        row.weights.clear();
        row.weights.extend(self.nodes.iter().map(|node| {
            let other = node / self.epsilon;
            (other * (z - 0.5 * other)).exp()
        }));
        row.values.clear();
        row.values.resize(self.count, 0.0);
        let (weights, rows) = (&row.weights[..], &self.table[..]);
        run(arch, SumRows { weights, rows, stride: self.count, out: &mut row.values });
        for (sum, reference) in row.values.iter_mut().zip(&self.reference) {
            *sum += reference - 0.5 * z * z;
        }
    }

    /// ln h_ε − (n−1) ln M + 2M on lattice points `low..high`.
    fn convolve(&self, arch: Arch, tau: f64, low: usize, high: usize, row: &mut Row) {
        let width = self.half_width * self.epsilon;
        let from = self.nodes.partition_point(|&node| node < tau - width);
        let to = self.nodes.partition_point(|&node| node < tau + width);
        row.values.clear();
        row.values.resize(high - low, 0.0);
        if from == to {
            // beyond the end of a density that vanishes on one side of its kink
            row.values.fill(NOTHING);
            return;
        }
        row.weights.clear();
        row.weights.resize(to - from, 0.0);
        run(
            arch,
            Gaussian {
                centre: tau,
                width: self.epsilon,
                nodes: &self.nodes[from..to],
                out: &mut row.weights,
            },
        );
        run(
            arch,
            SumRows {
                weights: &row.weights,
                rows: &self.table[from * self.count + low..],
                stride: self.count,
                out: &mut row.values,
            },
        );
        for (sum, reference) in row.values.iter_mut().zip(&self.reference[low..high]) {
            *sum += reference;
        }
    }
}

/// How the nodes of a convolution stand: |τ| = scale · ln(1 + e^θ), equidistant in θ.
///
/// Tail from the kink h times a Gaussian is about as wide as the scale. Near it h falls like e^−κ|τ|, κ about M: where that is
/// within the resolution, the trapezoid rule sees it in ln |τ|, where it is analytic in half the strip only.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Nodes {
    pub(crate) scale: f64,
    pub(crate) step: f64,
}

impl Nodes {
    pub(crate) fn new(c: &Component, epsilon: f64) -> Self {
        let steep = typical(c) * epsilon;
        let scale = epsilon / (1.0 + epsilon * steep).sqrt();
        Self { scale, step: (0.75 / (1.0 + 0.25 * steep)).max(0.42) }
    }
}

/// Half width of the Gaussian that has to be summed, in units of ε: where h is steep, its tails count.
pub(crate) fn half_width(c: &Component, epsilon: f64) -> f64 {
    7.0 + (4.0 * epsilon * c.power().sqrt()).min(8.0) + (typical(c) * epsilon - 1.0).clamp(0.0, 8.0)
}

/// Logarithm that stands for 0.
const NOTHING: f64 = -690.0;

/// Where a component is wanted: τ, ln min(ρx¹, x²), and s = centre · t.
pub(crate) struct At<'a> {
    pub(crate) arch: Arch,
    pub(crate) tau: f64,
    pub(crate) ln_smaller: f64,
    pub(crate) ln_centre: f64,
    pub(crate) t: &'a [f64],
}
