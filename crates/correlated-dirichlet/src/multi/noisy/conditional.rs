//! The conditional density of one shared gamma, tabulated for drawing and for integrating.
//!
//! The variable is u = ln D. The first nodes lie around the upper end of D, the smallest rest of its members, which the
//! noise smooths, and below it, until the prior e^(δu) has decayed. Further nodes are inserted where neighbours differ
//! most. The density is linear between nodes. As a proposal, its shape changes the variance of an estimate but not its
//! mean; as an integral it is a trapezoid rule.

use super::super::constants::{
    CONDITIONAL_NODES, NODES_AROUND_END, REFINE_ABOVE, STEPS_BELOW_END, UNIFORM_SHARE,
};

/// A member of a shared gamma: its observed gamma and the sum of the shared gammas drawn so far.
#[derive(Debug, Clone, Copy)]
pub(super) struct Member {
    pub(super) ln_y: f64,
    pub(super) shared: f64,
}

/// The interval between two nodes, in units of the largest density.
#[derive(Debug, Clone, Copy)]
struct Interval {
    /// Priority of halving it.
    priority: f64,
    mass: f64,
}

/// A tabulated density of u.
#[derive(Debug, Default)]
pub(super) struct TabulatedConditional {
    /// u and its log density, later the density relative to the largest.
    nodes: Vec<(f64, f64)>,
    intervals: Vec<Interval>,
    /// The largest log density.
    top: f64,
    mass: f64,
    /// Rate of the exponential tail below the first node.
    rate: f64,
}

impl TabulatedConditional {
    /// Tabulates `ln_density(u)` of a shared gamma of shape `shape`.
    pub(super) fn fill(
        &mut self,
        members: &[Member],
        sigma: f64,
        shape: f64,
        mut ln_density: impl FnMut(f64) -> f64,
    ) {
        self.nodes.clear();
        let end = |c: f64| {
            let left = |m: &Member| (m.ln_y + c * sigma).exp() - m.shared;
            members.iter().map(left).fold(f64::INFINITY, f64::min)
        };
        let largest = end(6.0);
        for c in NODES_AROUND_END {
            let d = end(c);
            if d > 1e-3 * largest.max(1e-280) {
                self.push(d.ln(), &mut ln_density);
            }
        }
        let mut u = self.nodes.last().map_or(largest.max(1e-280).ln(), |n| n.0);
        for step in STEPS_BELOW_END {
            u -= step;
            self.push(u, &mut ln_density);
        }
        self.nodes.reverse();
        self.nodes.retain(|n| n.1 > f64::NEG_INFINITY);
        self.refine(&mut ln_density);
        self.finish(shape);
    }

    fn push(&mut self, u: f64, ln_density: &mut impl FnMut(f64) -> f64) {
        let value = ln_density(u);
        self.nodes.push((u, if value.is_nan() { f64::NEG_INFINITY } else { value }));
    }

    /// Halves the intervals with much mass and unequal ends.
    fn refine(&mut self, ln_density: &mut impl FnMut(f64) -> f64) {
        let mut top = self.nodes.iter().map(|n| n.1).fold(f64::NEG_INFINITY, f64::max);
        let interval = |a: (f64, f64), b: (f64, f64), top: f64| {
            let (high, low) = (a.1.max(b.1), a.1.min(b.1));
            let height = (high - top).exp();
            let mass = (b.0 - a.0) * height;
            // Mass times the difference of the ends, with a minimum for flat intervals.
            Interval {
                priority: mass * (0.1 + (high - low).min(3.0)),
                mass: mass * 0.5 * (1.0 + (low - high).exp()),
            }
        };
        self.intervals.clear();
        self.intervals.extend(self.nodes.windows(2).map(|w| interval(w[0], w[1], top)));
        while self.nodes.len() >= 2 && self.nodes.len() < CONDITIONAL_NODES {
            let mut best = 0;
            let mut all = 0.0;
            for (i, interval) in self.intervals.iter().enumerate() {
                all += interval.mass;
                if interval.priority > self.intervals[best].priority {
                    best = i;
                }
            }
            if !(self.intervals[best].priority > REFINE_ABOVE * all) {
                break;
            }
            let (left, right) = (self.nodes[best], self.nodes[best + 1]);
            let u = 0.5 * (left.0 + right.0);
            let node = (u, ln_density(u));
            self.nodes.insert(best + 1, node);
            self.intervals[best] = interval(left, node, top);
            self.intervals.insert(best + 1, interval(node, right, top));
            if node.1 > top + 3.0 {
                // A much higher peak: all intervals are measured again in units of it.
                top = node.1;
                self.intervals.clear();
                self.intervals.extend(self.nodes.windows(2).map(|w| interval(w[0], w[1], top)));
            }
        }
    }

    fn finish(&mut self, shape: f64) {
        self.top = self.nodes.iter().map(|n| n.1).fold(f64::NEG_INFINITY, f64::max);
        for node in &mut self.nodes {
            node.1 = (node.1 - self.top).exp();
        }
        let straight = |w: &[(f64, f64)]| 0.5 * (w[1].0 - w[0].0) * (w[0].1 + w[1].1);
        let inside: f64 = self.nodes.windows(2).map(straight).sum();
        // Far below the end only the prior e^(δu) varies.
        self.rate = shape;
        let tail = self.nodes.first().map_or(0.0, |n| n.1 / shape);
        self.mass = inside + tail;
    }

    /// ln of the integral over u.
    pub(super) fn ln_integral(&self) -> f64 {
        self.top + self.mass.ln()
    }

    /// u at the quantile `p`, and its log density as a proposal; `None` if there is no mass.
    pub(super) fn draw(&self, p: f64) -> Option<(f64, f64)> {
        if !(self.mass > 0.0 && self.mass.is_finite()) {
            return None;
        }
        let (first, last) = (self.nodes[0], self.nodes[self.nodes.len() - 1]);
        // The density of the uniform part, in the same units.
        let uniform = UNIFORM_SHARE * self.mass / (last.0 - first.0).max(1e-300);
        let mut left = p * self.mass * (1.0 + UNIFORM_SHARE);
        let tail = first.1 / self.rate;
        let norm = (self.mass * (1.0 + UNIFORM_SHARE)).ln();
        if left < tail {
            let u = first.0 + (left / tail).ln() / self.rate;
            return Some((u, first.1.ln() + self.rate * (u - first.0) - norm));
        }
        left -= tail;
        for w in self.nodes.windows(2) {
            let (width, a, b) = (w[1].0 - w[0].0, w[0].1 + uniform, w[1].1 + uniform);
            let mass = 0.5 * width * (a + b);
            if left <= mass || w[1].0 == last.0 {
                // Solves a f + (b−a) f²/2 = left/width without cancellation.
                let goal = (left.min(mass)) / width;
                let f = 2.0 * goal / (a + (a * a + 2.0 * (b - a) * goal).max(0.0).sqrt());
                let f = f.clamp(0.0, 1.0);
                return Some((w[0].0 + f * width, (a + f * (b - a)).ln() - norm));
            }
            left -= mass;
        }
        None
    }
}
