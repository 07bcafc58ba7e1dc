//! The shared part of a component integrated out at many M at once, for the tables.
//!
//! As in the exact density the variable is the logit of the shared part's share v, with both ends closed. One set of nodes
//! serves every M and every distance from the tie.

use std::f64::consts::TAU;

use pulp::Arch;

use super::constants::{
    END_CUT, INNER_CLOSING, LEARNING, LEARNING_WINDOWED_FROM, NODE_ONSET, WINDOW_CUT, WINDOWED_FROM,
};
use super::kernel::{Powers, SumAround, SumRows, Terms};
use crate::pair::component::{Component, left_out, ln_gamma_safe};
use crate::pair::exact::kernel::{Exponents, FillNodes, GROUP, run};
use consilience_numerics::exponential_tail;
use consilience_numerics::special::ln_gamma;

/// About the mean of the smaller gamma.
pub(crate) fn typical(c: &Component) -> f64 {
    c.shared + c.private[0].min(c.private[1]) + 0.5
}

/// A typical share of the shared part in the smaller gamma.
pub(crate) fn typical_share(c: &Component) -> f64 {
    let shared = c.shared.max(0.5);
    shared / (shared + c.private[0].min(c.private[1]) + 0.5)
}

/// Nodes of the integral over the shared part.
pub(crate) struct SharedNodes {
    arch: Arch,
    /// The relative accuracy of the integral.
    accuracy: f64,
    shared: f64,
    typical: f64,
    step: f64,
    start: f64,
    v: Vec<f64>,
    q: Vec<f64>,
    ln_v: Vec<f64>,
    ln_q: Vec<f64>,
    pivot: f64,
    windowed: bool,
    /// Weights of the closed ends: on the left, and on the right by the private shape of the smaller gamma.
    left: [f64; INNER_CLOSING],
    right: [(f64, [f64; INNER_CLOSING]); 2],
}

/// The integral over the shared part for a list of M in ascending order.
pub(crate) struct SharedPart<'a> {
    nodes: &'a SharedNodes,
    pub(crate) masses: &'a [f64],
    /// e^((M − typical)(v − pivot)), one row per node; empty if sums are taken around their peaks.
    powers: Vec<f64>,
}

impl SharedNodes {
    /// Nodes for all distances from the tie down to `nearest`.
    pub(crate) fn new(arch: Arch, c: &Component, nearest: f64, accuracy: f64) -> Self {
        let NodeRange { start, step, count } = NodeRange::new(c, nearest, accuracy);
        let zeros = || vec![0.0; count];
        let (mut v, mut q, mut ln_v, mut ln_q) = (zeros(), zeros(), zeros(), zeros());
        let (v_out, q_out) = (&mut v, &mut q);
        run(
            arch,
            FillNodes { first: start, step, v: v_out, q: q_out, ln_v: &mut ln_v, ln_q: &mut ln_q },
        );
        let (typical, pivot, windowed) = (typical(c), typical_share(c), is_windowed(c, accuracy));
        let shared = c.shared;
        let left = closed(shared, step);
        let right = c.private.map(|near| (near, closed(near, step)));
        Self {
            arch,
            accuracy,
            shared,
            typical,
            step,
            start,
            v,
            q,
            ln_v,
            ln_q,
            pivot,
            windowed,
            left,
            right,
        }
    }

    /// Prepares the integral for a list of M in ascending order.
    pub(crate) fn over<'a>(&'a self, masses: &'a [f64]) -> SharedPart<'a> {
        let mut powers = Vec::new();
        if !self.windowed {
            powers.resize(self.v.len() * masses.len(), 0.0);
            let away: Vec<f64> = self.v.iter().map(|v| v - self.pivot).collect();
            run(self.arch, Powers { masses, typical: self.typical, away: &away, out: &mut powers });
        }
        SharedPart { nodes: self, masses, powers }
    }

    /// ln of the integrand at the nodes, and the largest of them.
    fn integrand(&self, near: f64, far: f64, excess: f64, tilt: f64) -> (Vec<f64>, f64) {
        let count = self.v.len();
        let (mut ln_cq, mut logs) = (vec![0.0; count], vec![0.0; count]);
        let largest = run(
            self.arch,
            Exponents {
                shape_v: self.shared,
                shape_q: near,
                power: far - 1.0,
                distance: excess,
                tilt,
                v: &self.v,
                q: &self.q,
                ln_v: &self.ln_v,
                ln_q: &self.ln_q,
                ln_cq: &mut ln_cq,
                out: &mut logs,
            },
        );
        (logs, largest)
    }

    /// Multiplies terms by the factors that close both ends; `last` is the first node of the right end.
    fn close(&self, near: f64, last: usize, terms: &mut [f64]) {
        for (term, w) in terms.iter_mut().zip(self.left.iter().rev()) {
            *term *= w;
        }
        let [(first, weights), (_, others)] = &self.right;
        let right = if near == *first { weights } else { others };
        for (term, w) in terms[last..].iter_mut().zip(right) {
            *term *= w;
        }
        terms[last + INNER_CLOSING..].fill(0.0);
    }

    /// The first node of the closed right end.
    fn closed_end(&self, far: f64, excess: f64) -> usize {
        let sharpest = 1.0 + 10.0 * self.typical + self.shared + (1.0 + (far - 1.0).abs()) / excess;
        let end = ((-(onset(self.accuracy) / sharpest).ln() - self.start) / self.step) as usize;
        end.min(self.v.len() - INNER_CLOSING)
    }
}

/// Weights of a closed end relative to the ordinary weight, which contains the factor left out.
fn closed(shape: f64, step: f64) -> [f64; INNER_CLOSING] {
    let weights = exponential_tail::integer_spaced_weights(shape, step);
    if shape >= 1.0 { weights.map(|w| w / shape) } else { weights.map(|w| w / left_out(shape)) }
}

/// Logits of the nodes: their first, their step and their number.
struct NodeRange {
    start: f64,
    step: f64,
    count: usize,
}

impl NodeRange {
    fn new(c: &Component, nearest: f64, accuracy: f64) -> Self {
        let (power, typical) = (c.power(), typical(c));
        let target = -accuracy.ln() + 1.0;
        let precision = 0.25 * (power + 3.0 * typical);
        let omega = (2.0 * target * precision).sqrt().hypot(2.0 * target / std::f64::consts::PI);
        let step = TAU / omega;
        let onset = onset(accuracy);
        let start = (onset / (1.0 + 10.0 * typical + power)).ln() - INNER_CLOSING as f64 * step;
        // the right end is closed where q is small relative to the distance, see `closed_end`
        let sharpest = 1.0 + 10.0 * typical + power + (1.0 + power) / nearest.min(1.0);
        let end = -(onset / sharpest).ln() + (INNER_CLOSING + 1) as f64 * step;
        let (start, end) = restrict(c, step, (start, end));
        let count = ((end - start) / step) as usize / GROUP * GROUP + GROUP;
        Self { start, step, count }
    }
}

/// What one evaluation of [`SharedPart::ln_density`] costs: terms, and numbers that are kept for all evaluations.
pub(crate) fn cost(c: &Component, nearest: f64, accuracy: f64, n_masses: f64) -> (f64, f64) {
    if c.is_independent() {
        return (n_masses, 0.0);
    }
    let NodeRange { step, count, .. } = NodeRange::new(c, nearest, accuracy);
    if is_windowed(c, accuracy) {
        let (left, right) = (1.0 / c.shared, 1.0 / c.private[0].min(c.private[1]));
        let width = (8.0 * WINDOW_CUT * (left + right)).sqrt() + WINDOW_CUT * (left + right);
        let window = (width / step).min(count as f64);
        return (10.0 * count as f64 + n_masses * (20.0 + 2.0 * window), 0.0);
    }
    // one multiplication and addition per term, without the exponential of the other way
    (count as f64 * (10.0 + 0.3 * n_masses), count as f64 * n_masses)
}

impl SharedPart<'_> {
    pub(crate) fn arch(&self) -> Arch {
        self.nodes.arch
    }

    pub(crate) fn accuracy(&self) -> f64 {
        self.nodes.accuracy
    }

    /// ln h(M, ±τ) − (n−1) ln M + 2M for every M, at the distance |τ| = `node`.
    ///
    /// `near` and `far` are the private shapes of the smaller and of the larger gamma.
    pub(crate) fn ln_density(&self, near: f64, far: f64, node: f64) -> Vec<f64> {
        let shared = self.nodes.shared;
        let excess = node.exp_m1();
        let ln_far = ln_gamma(far);
        let rest = |m: f64, ln_inner: f64| node - m * excess + ln_inner - ln_far;
        if shared == 0.0 {
            let ln_inner = (far - 1.0) * node - ln_gamma(near);
            return self.masses.iter().map(|&m| rest(m, ln_inner)).collect();
        }
        if near == 0.0 {
            let ln_inner = (far - 1.0) * excess.ln() - ln_gamma(shared);
            return self.masses.iter().map(|&m| rest(m, ln_inner + m)).collect();
        }
        let mut logs = if self.nodes.windowed {
            self.by_peaks(near, far, excess)
        } else {
            self.by_powers(near, far, excess)
        };
        for (log, &m) in logs.iter_mut().zip(self.masses) {
            *log = rest(m, *log);
        }
        logs
    }

    /// ln of the integral for every M: one set of terms at the typical M, times powers.
    fn by_powers(&self, near: f64, far: f64, excess: f64) -> Vec<f64> {
        let SharedNodes { arch, shared, typical, pivot, step, .. } = *self.nodes;
        let (mut terms, largest) = self.nodes.integrand(near, far, excess, typical);
        let scale = left_out(shared) * left_out(near);
        run(arch, Terms { factor: scale, largest, least: 1e-30, values: &mut terms });
        self.nodes.close(near, self.nodes.closed_end(far, excess), &mut terms);
        let mut logs = vec![0.0; self.masses.len()];
        run(arch, SumRows { weights: &terms, rows: &self.powers, out: &mut logs });
        let gammas = ln_gamma_safe(shared) + ln_gamma_safe(near) - step.ln() - largest;
        for (log, m) in logs.iter_mut().zip(self.masses) {
            *log = *log + (m - typical) * pivot - gammas;
        }
        logs
    }

    /// The same for large shapes, where the integrand is narrow: for each M a sum around its largest term.
    fn by_peaks(&self, near: f64, far: f64, excess: f64) -> Vec<f64> {
        let SharedNodes { arch, shared, step, ref v, .. } = *self.nodes;
        let (logs, _) = self.nodes.integrand(near, far, excess, 0.0);
        let last = self.nodes.closed_end(far, excess);
        let end = last + INNER_CLOSING;
        let mut factors = vec![1.0; logs.len()];
        self.nodes.close(near, last, &mut factors);
        let constant = (left_out(shared) * left_out(near) * step).ln()
            - ln_gamma_safe(shared)
            - ln_gamma_safe(near);
        let at = |i: usize, m: f64| logs[i] + m * v[i];
        let first = self.masses.first().copied().unwrap_or(0.0);
        let mut peak = (0..end).max_by(|&a, &b| at(a, first).total_cmp(&at(b, first))).unwrap_or(0);
        let (mut from, mut to) = (0, peak);
        // with M the relevant shares grow, so that all three indices only increase
        let one = |&m: &f64| {
            while peak + 1 < end && at(peak + 1, m) > at(peak, m) {
                peak += 1;
            }
            let largest = at(peak, m);
            while from < peak && at(from, m) < largest - WINDOW_CUT {
                from += 1;
            }
            to = to.max(peak + 1);
            while to < end && at(to, m) > largest - WINDOW_CUT {
                to += 1;
            }
            let (logs, v, factors) = (&logs[from..to], &v[from..to], &factors[from..to]);
            let sum = run(arch, SumAround { logs, v, factors, tilt: m, largest });
            largest + sum.ln() + constant
        };
        self.masses.iter().map(one).collect()
    }
}

/// Restricts a range of nodes for large shapes: beyond the result, terms are below e^−[`END_CUT`] of the largest for every M
/// and every distance, because they fall like e^(δz) to the left of their peak and e^(−az) to the right.
fn restrict(c: &Component, step: f64, (start, end): (f64, f64)) -> (f64, f64) {
    let [shared, near] = [c.shared, c.private[0].min(c.private[1])];
    if shared.min(near) < END_CUT / 4.0 {
        return (start, end);
    }
    let lowest = (shared / (c.private[0] + c.private[1])).ln() - END_CUT / shared;
    let highest = (20.0 * (typical(c) + c.power()) / near).ln() + END_CUT / near;
    let skipped = ((lowest - start) / step).floor().max(0.0);
    (start + step * skipped, end.min(highest))
}

/// Whether sums are taken around their peaks.
fn is_windowed(c: &Component, accuracy: f64) -> bool {
    let from = if accuracy < LEARNING.accuracy { WINDOWED_FROM } else { LEARNING_WINDOWED_FROM };
    c.power() > from
}

/// The expansion parameter from which on an end is closed.
fn onset(accuracy: f64) -> f64 {
    NODE_ONSET * accuracy.powf(0.25)
}

/// Sets tiny values to 0: arithmetic with numbers below 1e-308 is a hundred times slower.
pub(crate) fn flush(values: &mut [f64]) {
    values.iter_mut().for_each(|value| *value = if value.abs() < 1e-250 { 0.0 } else { *value });
}
