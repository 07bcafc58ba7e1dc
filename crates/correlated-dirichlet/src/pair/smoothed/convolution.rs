//! One component observed at a finite resolution ε: its density convolved with a Gaussian.
//!
//! With M the smaller of a component's two gammas and τ the difference of their logarithms, the density h(M, τ) is
//! observed with an N(0, ε²) error of τ, M held fixed: h_ε(M, ·) = h(M, ·) ∗ N(0, ε²). The convolution is a sum
//! over fixed nodes τⱼ, spaced by ε and denser towards the tie at 0, where h behaves like |τ|^(a¹+a²−1):
//!
//! ```text
//! h_ε(M, τ) = Σⱼ N((τ − τⱼ)/ε) wⱼ h(M, τⱼ)
//! ```
//!
//! Many resolutions away from the tie h is smooth on the scale of ε, and every τ has its own Gaussian nodes.

use std::f64::consts::TAU;

use pulp::Arch;

use super::constants::{COARSER_GAUSSIAN, FINE, FIXED_NODES, NOTHING, SHORTER_GAUSSIAN};
use super::kernel::{Exponentiate, Gaussian, SumRows};
use super::shared_part::{self, SharedNodes, SharedPart, flush, typical};
use crate::pair::component::Component;
use crate::pair::exact::constants::CLOSING;
use crate::pair::exact::kernel::run;
use crate::pair::exact::ratio::smallest;
use consilience_numerics::exponential_tail;

/// The convolution of one component over a list of M.
pub(crate) struct Convolution<'a> {
    arch: Arch,
    component: Component,
    epsilon: f64,
    part: &'a SharedPart<'a>,
    /// |τ| up to which the fixed nodes are used.
    fixed: f64,
    /// Half width of the Gaussian that is summed, in units of ε.
    half_width: f64,
    /// Nodes in ascending order, and their rows.
    nodes: Vec<f64>,
    table: Vec<f64>,
    /// Taken out of every row, by M.
    reference: Vec<f64>,
    weights: Vec<f64>,
}

impl<'a> Convolution<'a> {
    /// Prepares the nodes for |τ| up to `reach`.
    pub(crate) fn new(
        arch: Arch,
        c: &Component,
        epsilon: f64,
        part: &'a SharedPart<'a>,
        reach: f64,
    ) -> Self {
        let half_width = half_width(c, epsilon);
        let fixed = reach.min(FIXED_NODES * epsilon);
        let side = side_nodes(c, epsilon, fixed + half_width * epsilon, part.accuracy());
        let mut convolution = Self {
            arch,
            component: *c,
            epsilon,
            part,
            fixed,
            half_width,
            nodes: Vec::new(),
            table: Vec::new(),
            reference: vec![f64::NEG_INFINITY; part.masses.len()],
            weights: Vec::new(),
        };
        convolution.tabulate(&side);
        convolution
    }

    fn tabulate(&mut self, side: &[(f64, f64)]) {
        let [first, second] = self.component.private;
        let part = self.part;
        let mut rows: Vec<(f64, f64, Vec<f64>)> = Vec::new();
        for (near, far, sign) in [(first, second, -1.0), (second, first, 1.0)] {
            if far > 0.0 {
                let row = |&(node, weight)| (sign * node, weight, part.ln_density(near, far, node));
                rows.extend(side.iter().map(row));
            }
        }
        rows.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (_, _, logs) in &rows {
            for (reference, log) in self.reference.iter_mut().zip(logs) {
                *reference = reference.max(*log);
            }
        }
        self.table.reserve(rows.len() * self.part.masses.len());
        let scale = 1.0 / (self.epsilon * TAU.sqrt());
        for (node, weight, mut values) in rows {
            self.nodes.push(node);
            let (factor, reference) = (weight * scale, &self.reference);
            run(self.arch, Exponentiate { factor, reference, values: &mut values });
            flush(&mut values);
            self.table.extend(values);
        }
    }

    /// Writes ln h_ε − (n−1) ln M + 2M at τ for all M.
    pub(crate) fn column(&mut self, tau: f64, out: &mut Vec<f64>) {
        out.clear();
        out.resize(self.part.masses.len(), 0.0);
        let [lowest, highest] = [self.nodes[0], self.nodes[self.nodes.len() - 1]];
        if (lowest > 0.0 && tau < 0.0) || (highest < 0.0 && tau > 0.0) {
            self.beyond_end(tau, out);
        } else if tau.abs() > self.fixed {
            let [first, second] = self.component.private;
            let (near, far) = if tau > 0.0 { (second, first) } else { (first, second) };
            let gaussian = GaussianNodes::new(&self.component, self.epsilon, 1.0);
            gaussian.smooth(self.part, [near, far], tau.abs(), out);
        } else {
            self.near_tie(tau, out);
        }
    }

    /// The empty side of a component with a private shape of 0, whose h ends at its tie: e^(−z²/2), z = τ/ε, is taken out of
    /// the sum, which would underflow.
    fn beyond_end(&mut self, tau: f64, out: &mut [f64]) {
        let z = tau / self.epsilon;
        let weight = |node: &f64| {
            let other = node / self.epsilon;
            (other * (z - 0.5 * other)).exp()
        };
        self.weights.clear();
        self.weights.extend(self.nodes.iter().map(weight));
        self.sum(0, out);
        out.iter_mut().for_each(|sum| *sum -= 0.5 * z * z);
    }

    fn near_tie(&mut self, tau: f64, out: &mut [f64]) {
        let width = self.half_width * self.epsilon;
        let from = self.nodes.partition_point(|&node| node < tau - width);
        let to = self.nodes.partition_point(|&node| node < tau + width);
        if from == to {
            // beyond the end of a density that vanishes on one side of its tie
            out.fill(NOTHING);
            return;
        }
        self.weights.clear();
        self.weights.resize(to - from, 0.0);
        let (nodes, weights) = (&self.nodes[from..to], &mut self.weights);
        run(self.arch, Gaussian { centre: tau, width: self.epsilon, nodes, out: weights });
        self.sum(from, out);
    }

    /// ln of the weighted sum of the rows from `first` on.
    fn sum(&self, first: usize, out: &mut [f64]) {
        let stride = self.part.masses.len();
        let (weights, rows) = (&self.weights[..], &self.table[first * stride..]);
        run(self.arch, SumRows { weights, rows, out: &mut *out });
        out.iter_mut().zip(&self.reference).for_each(|(sum, reference)| *sum += reference);
    }
}

/// Nodes of the integral over the shared part for all nodes of the convolution of a component.
pub(crate) fn shared_nodes(arch: Arch, c: &Component, epsilon: f64, accuracy: f64) -> SharedNodes {
    SharedNodes::new(arch, c, side_nodes(c, epsilon, 0.0, accuracy)[0].0, accuracy)
}

/// What it costs to compute so many columns up to `reach`, of them `n_far` beyond the fixed nodes: terms, and numbers that are
/// kept meanwhile.
pub(crate) fn cost(
    c: &Component,
    epsilon: f64,
    accuracy: f64,
    n_masses: f64,
    (reach, n_columns, n_far): (f64, f64, f64),
) -> (f64, f64) {
    let Spacing { scale, step } = Spacing::new(c, epsilon, accuracy);
    let width = half_width(c, epsilon) * epsilon;
    let nearest = side_nodes(c, epsilon, 0.0, accuracy)[0].0;
    let rows = 2.0 * (reach.min(FIXED_NODES * epsilon) + width) / (scale * step) + 60.0;
    let per_column = 2.0 * width / (scale * step);
    let (row, kept) = shared_part::cost(c, nearest, accuracy, n_masses);
    let terms = (rows + n_far * per_column) * row + n_columns * per_column * n_masses;
    (terms, kept + 2.0 * rows * n_masses)
}

/// Nodes of one side and their weights, to beyond `furthest`; the innermost six are a closed end.
fn side_nodes(c: &Component, epsilon: f64, furthest: f64, accuracy: f64) -> Vec<(f64, f64)> {
    let sharp = 1.0 + c.shared + 3.0 * c.power();
    let Spacing { scale, step } = Spacing::new(c, epsilon, accuracy);
    let (exponents, missing) = smallest(&[1.0, 1.0 + c.kink_power()], 1.0);
    let range = scale.min(1.0 / sharp);
    let ln_onset =
        (accuracy.ln() + (missing - exponents[0]) * range.ln() + exponents[0] * scale.ln())
            / missing;
    let start = (ln_onset - scale.ln()).min(-0.5);
    let weights =
        exponential_tail::scaled_weights(&exponents, step).map(|weight| weight / exponents[0]);
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

/// The spacing of a convolution's nodes: |τ| = scale · ln(1 + e^θ), equidistant in θ.
///
/// Far from the tie the width of h times a Gaussian is about the scale. Near it h falls like e^−κ|τ|, κ about M. If that is
/// within the resolution, the trapezoid rule acts in ln |τ|, in which h is analytic in half the strip only.
#[derive(Debug, Clone, Copy)]
struct Spacing {
    scale: f64,
    step: f64,
}

impl Spacing {
    /// The error of a trapezoid rule falls exponentially with 1/step.
    fn new(c: &Component, epsilon: f64, accuracy: f64) -> Self {
        let steep = typical(c) * epsilon;
        let scale = epsilon / (1.0 + epsilon * steep).sqrt();
        let step = (0.75 / (1.0 + 0.25 * steep)).max(0.42);
        Self { scale, step: step * FINE.accuracy.ln() / accuracy.ln() }
    }
}

/// Half width of the Gaussian that is summed, in units of ε; if h is steep, the tails of the Gaussian matter.
pub(crate) fn half_width(c: &Component, epsilon: f64) -> f64 {
    7.0 + (4.0 * epsilon * c.power().sqrt()).min(8.0) + (typical(c) * epsilon - 1.0).clamp(0.0, 8.0)
}

/// Gaussian nodes around one τ far from the tie: offsets and the logarithms of their weights.
pub(crate) struct GaussianNodes(Vec<(f64, f64)>);

impl GaussianNodes {
    /// Nodes for tables of this spacing; with 1 they have the step of the convolution.
    pub(crate) fn new(c: &Component, epsilon: f64, spacing: f64) -> Self {
        let Spacing { scale, step } = Spacing::new(c, epsilon, FINE.accuracy);
        let coarser = 1.0 + COARSER_GAUSSIAN * (spacing - 1.0);
        let step = coarser * step * scale / epsilon;
        let width = half_width(c, epsilon) - SHORTER_GAUSSIAN * (spacing - 1.0);
        let half = (width / step).ceil() as i64;
        let ln_weight = (step / TAU.sqrt()).ln();
        let node = |j: i64| {
            let z = step * j as f64;
            (z * epsilon, ln_weight - 0.5 * z.powi(2))
        };
        Self((-half..=half).map(node).collect())
    }

    /// Writes ln h_ε − (n−1) ln M + 2M at a distance from the tie, for `[near, far]` private shapes. Nodes beyond the tie,
    /// where the formula does not hold and the weights are negligible, are left out.
    pub(crate) fn smooth(
        &self,
        part: &SharedPart<'_>,
        [near, far]: [f64; 2],
        distance: f64,
        out: &mut [f64],
    ) {
        let row = |&(offset, ln_weight): &(f64, f64)| {
            let mut row = part.ln_density(near, far, distance + offset);
            row.iter_mut().for_each(|log| *log += ln_weight);
            row
        };
        let this_side = |node: &&(f64, f64)| distance + node.0 > 0.0;
        let rows: Vec<Vec<f64>> = self.0.iter().filter(this_side).map(row).collect();
        let mut largest = vec![f64::NEG_INFINITY; out.len()];
        for row in &rows {
            largest.iter_mut().zip(row).for_each(|(largest, log)| *largest = largest.max(*log));
        }
        out.fill(0.0);
        for mut values in rows {
            let reference = &largest;
            run(part.arch(), Exponentiate { factor: 1.0, reference, values: &mut values });
            out.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        }
        out.iter_mut().zip(largest).for_each(|(sum, largest)| *sum = largest + sum.ln());
    }
}
