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

use super::kernel::{Exponents, FillNodes, GROUP, run};
use super::outer::{CLOSING, smallest};
use super::shapes::{Component, left_out};
use super::table_kernel::{Exponentiate, Gaussian, Interpolate, SumRows};
use crate::math::closing;
use crate::math::special::ln_gamma;

/// Step of the nodes near and far from the kink, in units of ε.
const NODE_STEP: f64 = 0.9;
/// Relative accuracy that tables aim at.
const ACCURACY: f64 = 1e-8;
/// Points of an interpolation.
pub(crate) const POINTS: usize = 6;
/// Number of exponentials in a closed end of an inner integral.
const INNER_CLOSING: usize = 4;

/// The tables of one component.
#[derive(Debug, Clone)]
pub(crate) struct Smoothed {
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

impl Smoothed {
    /// Makes the tables.
    pub(crate) fn new(arch: Arch, c: &Component, epsilon: f64) -> Self {
        let mut smoothed = Self::empty(c, epsilon);
        smoothed.tabulate(arch, c, &smoothed.masses());
        smoothed
    }

    /// Tables over a list of M, for [`Smoothed::column`] alone.
    pub(crate) fn at(arch: Arch, c: &Component, epsilon: f64, masses: &[f64]) -> Self {
        let mut smoothed = Self::empty(c, epsilon);
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
        let step = 0.5 * (4e-4 / (3.0 * typical + 10.0)).powf(1.0 / 6.0);
        let unit = (0.25 * typical).max(0.25);
        Self {
            epsilon,
            power,
            shared: c.shared,
            rigid: c.is_rigid(),
            reach: (10.0 / root + 12.0 * epsilon).min(5.0).min(400.0 * epsilon),
            half_width: 7.0 + (4.0 * epsilon * root).min(8.0),
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
        let lattice = Lattice::new(arch, c, typical);
        let powers = lattice.powers(arch, masses, typical);
        let mut rows: Vec<(f64, f64, Vec<f64>)> = Vec::new();
        for upper in [false, true] {
            let k = usize::from(upper);
            let (near, far) = (c.private[k], c.private[1 - k]);
            if far == 0.0 {
                continue;
            }
            for (node, weight) in self.side_nodes(c) {
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

    /// Nodes |τⱼ| = ε ln(1+e^θ) of one side and their weights; the innermost six are a closed end.
    fn side_nodes(&self, c: &Component) -> Vec<(f64, f64)> {
        let sharp = 1.0 + self.shared + 3.0 * self.power;
        let (exponents, missing) = smallest(&[1.0, 1.0 + c.kink_power()], 1.0);
        let range = self.epsilon.min(1.0 / sharp);
        let ln_onset = (ACCURACY.ln()
            + (missing - exponents[0]) * range.ln()
            + exponents[0] * self.epsilon.ln())
            / missing;
        let start = (ln_onset - self.epsilon.ln()).min(-0.5);
        let weights =
            closing::scaled_weights(&exponents, NODE_STEP).map(|weight| weight / exponents[0]);
        let furthest = self.reach + self.half_width * self.epsilon;
        let mut nodes = Vec::new();
        for j in 0.. {
            let theta = start + NODE_STEP * (f64::from(j) - (CLOSING - 1) as f64);
            let node = self.epsilon * if theta > 36.0 { theta } else { theta.exp().ln_1p() };
            let ordinary = NODE_STEP * self.epsilon / (1.0 + (-theta).exp());
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

/// About the smaller gamma's mean.
fn typical(c: &Component) -> f64 {
    c.shared + c.private[0].min(c.private[1]) + 0.5
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

/// Nodes of the inner integrals that serve every M and τ of a table.
struct Lattice {
    step: f64,
    start: f64,
    v: Vec<f64>,
    q: Vec<f64>,
    ln_v: Vec<f64>,
    ln_q: Vec<f64>,
    pivot: f64,
}

impl Lattice {
    fn new(arch: Arch, c: &Component, typical: f64) -> Self {
        let power = c.shared + c.private[0] + c.private[1];
        let target = -ACCURACY.ln() + 1.0;
        let precision = 0.25 * (power + 3.0 * typical);
        let omega = (2.0 * target * precision).sqrt().hypot(2.0 * target / std::f64::consts::PI);
        let step = TAU / omega;
        let onset = 0.3 * ACCURACY.powf(0.25);
        let start = (onset / (1.0 + 10.0 * typical + power)).ln() - INNER_CLOSING as f64 * step;
        let end = (-start + 8.0).max(-(1e-4 * onset / (1.0 + power)).ln());
        let count = ((end - start) / step) as usize / GROUP * GROUP + GROUP;
        let mut lattice = Self {
            step,
            start,
            v: vec![0.0; count],
            q: vec![0.0; count],
            ln_v: vec![0.0; count],
            ln_q: vec![0.0; count],
            pivot: c.shared.max(0.5) / (c.shared.max(0.5) + c.private[0].min(c.private[1]) + 0.5),
        };
        run(
            arch,
            FillNodes {
                first: start,
                step,
                v: &mut lattice.v,
                q: &mut lattice.q,
                ln_v: &mut lattice.ln_v,
                ln_q: &mut lattice.ln_q,
            },
        );
        lattice
    }

    /// e^((M − typical)(v − pivot)), one row a node.
    fn powers(&self, arch: Arch, masses: &[f64], typical: f64) -> Vec<f64> {
        let mut powers = Vec::with_capacity(self.v.len() * masses.len());
        for v in &self.v {
            powers.extend(masses.iter().map(|m| ((m - typical) * (v - self.pivot)).min(650.0)));
        }
        let zeros = vec![0.0; powers.len()];
        run(arch, Exponentiate { factor: 1.0, reference: &zeros, values: &mut powers });
        flush(&mut powers);
        powers
    }

    /// ln h(M, ±τ) − (n−1) ln M + 2M for every M.
    #[expect(clippy::too_many_arguments, reason = "three shapes, a node and the shared lattices")]
    fn row(
        &self,
        arch: Arch,
        shared: f64,
        near: f64,
        far: f64,
        node: f64,
        masses: &[f64],
        typical: f64,
        powers: &[f64],
    ) -> Vec<f64> {
        let excess = node.exp_m1();
        let ln_far = ln_gamma(far);
        let rest = |m: f64, ln_inner: f64| node - m * excess + ln_inner - ln_far;
        if shared == 0.0 {
            let ln_inner = (far - 1.0) * node - ln_gamma(near);
            return masses.iter().map(|&m| rest(m, ln_inner)).collect();
        }
        if near == 0.0 {
            let ln_inner = (far - 1.0) * excess.ln() - ln_gamma(shared);
            return masses.iter().map(|&m| rest(m, ln_inner + m)).collect();
        }
        let (weights, largest) = self.weights(arch, shared, near, far, excess, typical);
        let mut logs = vec![0.0; masses.len()];
        let stride = masses.len();
        run(arch, SumRows { weights: &weights, rows: powers, stride, out: &mut logs });
        let gammas = safe(shared) + safe(near) - self.step.ln() - largest;
        masses
            .iter()
            .zip(logs)
            .map(|(&m, log)| rest(m, log + (m - typical) * self.pivot - gammas))
            .collect()
    }

    /// Terms of the inner integral at the typical M with closed ends, and what was taken out of them.
    fn weights(
        &self,
        arch: Arch,
        shared: f64,
        near: f64,
        far: f64,
        excess: f64,
        typical: f64,
    ) -> (Vec<f64>, f64) {
        let count = self.v.len();
        let (mut ln_cq, mut terms) = (vec![0.0; count], vec![0.0; count]);
        let largest = run(
            arch,
            Exponents {
                shape_v: shared,
                shape_q: near,
                power: far - 1.0,
                distance: excess,
                tilt: typical,
                v: &self.v,
                q: &self.q,
                ln_v: &self.ln_v,
                ln_q: &self.ln_q,
                ln_cq: &mut ln_cq,
                out: &mut terms,
            },
        );
        let (left, right) = (left_out(shared), left_out(near));
        let reference = vec![largest; count];
        run(arch, Exponentiate { factor: left * right, reference: &reference, values: &mut terms });
        for term in &mut terms {
            if *term < 1e-30 * left * right {
                *term = 0.0;
            }
        }
        let close = |shape: f64, left_out: f64| -> [f64; INNER_CLOSING] {
            let weights = closing::ladder(shape, self.step);
            // relative to the ordinary weight, which contains the factor left out
            if shape >= 1.0 { weights.map(|w| w / shape) } else { weights.map(|w| w / left_out) }
        };
        for (j, w) in close(shared, left).iter().rev().enumerate() {
            terms[j] *= w;
        }
        let onset = 0.3 * ACCURACY.powf(0.25);
        let limit = onset / (1.0 + 10.0 * typical + shared + (1.0 + (far - 1.0).abs()) / excess);
        let last = (((-limit.ln() - self.start) / self.step) as usize).min(count - INNER_CLOSING);
        for (j, w) in close(near, right).iter().enumerate() {
            terms[last + j] *= w;
        }
        terms[last + INNER_CLOSING..].fill(0.0);
        (terms, largest)
    }
}

/// Vanishing values, of either sign, become 0: arithmetic with numbers below 1e-308 is a hundred times slower.
fn flush(values: &mut [f64]) {
    values.iter_mut().for_each(|value| *value = if value.abs() < 1e-250 { 0.0 } else { *value });
}

/// ln Γ as the quadrature uses it: see `shapes`.
fn safe(shape: f64) -> f64 {
    super::shapes::ln_gamma_safe(shape)
}
