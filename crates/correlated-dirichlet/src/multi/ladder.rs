//! The conditional density of one shared gamma, tabulated for drawing and for integrating.
//!
//! Densities are looked at in u = ln D. The first nodes stand around the wall, where D reaches what the smallest member has left
//! and the noise rounds the corner, and below it down to where the prior e^(δu) has gone; further ones are put where
//! neighbours differ most. Between nodes the density is straight. It is a proposal: its shape changes the variance of an
//! estimate, never its mean; as an integral it is a trapezoid rule.

/// Nodes at the most.
const NODES: usize = 26;
/// Multiples of σ about the wall where nodes stand.
const AROUND: [f64; 8] = [5.0, 3.2, 2.0, 1.0, 0.2, -0.7, -1.8, -4.0];
/// Decrements of u below the last of them.
const BELOW: [f64; 6] = [0.15, 0.35, 0.6, 1.1, 2.0, 4.0];
/// Share of the proposal that is spread evenly over its nodes' range.
const EVEN: f64 = 0.02;

/// A member of a factor: what has been seen of it and what it shares so far.
#[derive(Debug, Clone, Copy)]
pub(super) struct Member {
    pub(super) ln_y: f64,
    pub(super) shared: f64,
}

/// A cell between two nodes, relative to the largest density.
#[derive(Debug, Clone, Copy)]
struct Cell {
    worth: f64,
    mass: f64,
}

/// A tabulated density over u.
#[derive(Debug, Default)]
pub(super) struct Ladder {
    /// u and its log density, later the density relative to the largest.
    nodes: Vec<(f64, f64)>,
    cells: Vec<Cell>,
    top: f64,
    mass: f64,
    /// Exponential tail below the first node: its rate.
    rate: f64,
}

impl Ladder {
    /// Tabulates `ln_density(u)` of a factor of shape `shape`.
    pub(super) fn fill(
        &mut self,
        members: &[Member],
        sigma: f64,
        shape: f64,
        mut ln_density: impl FnMut(f64) -> f64,
    ) {
        self.nodes.clear();
        let room = |c: f64| {
            let left = |m: &Member| (m.ln_y + c * sigma).exp() - m.shared;
            members.iter().map(left).fold(f64::INFINITY, f64::min)
        };
        let largest = room(6.0);
        for c in AROUND {
            let d = room(c);
            if d > 1e-3 * largest.max(1e-280) {
                self.push(d.ln(), &mut ln_density);
            }
        }
        let mut u = self.nodes.last().map_or(largest.max(1e-280).ln(), |n| n.0);
        for step in BELOW {
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

    /// Halves the cells that hold much and bend much.
    fn refine(&mut self, ln_density: &mut impl FnMut(f64) -> f64) {
        let mut top = self.nodes.iter().map(|n| n.1).fold(f64::NEG_INFINITY, f64::max);
        let cell = |a: (f64, f64), b: (f64, f64), top: f64| {
            let (high, low) = (a.1.max(b.1), a.1.min(b.1));
            let height = (high - top).exp();
            let mass = (b.0 - a.0) * height;
            // Mass of the cell times how much its ends differ; flat cells are worth something too.
            Cell {
                worth: mass * (0.1 + (high - low).min(3.0)),
                mass: mass * 0.5 * (1.0 + (low - high).exp()),
            }
        };
        self.cells.clear();
        self.cells.extend(self.nodes.windows(2).map(|w| cell(w[0], w[1], top)));
        while self.nodes.len() >= 2 && self.nodes.len() < NODES {
            let mut best = 0;
            let mut all = 0.0;
            for (i, cell) in self.cells.iter().enumerate() {
                all += cell.mass;
                if cell.worth > self.cells[best].worth {
                    best = i;
                }
            }
            if !(self.cells[best].worth > 0.02 * all) {
                break;
            }
            let (left, right) = (self.nodes[best], self.nodes[best + 1]);
            let u = 0.5 * (left.0 + right.0);
            let node = (u, ln_density(u));
            self.nodes.insert(best + 1, node);
            self.cells[best] = cell(left, node, top);
            self.cells.insert(best + 1, cell(node, right, top));
            if node.1 > top + 3.0 {
                // A peak far above what was known: all cells are measured by it.
                top = node.1;
                self.cells.clear();
                self.cells.extend(self.nodes.windows(2).map(|w| cell(w[0], w[1], top)));
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
        // Far down the prior alone is left.
        self.rate = shape;
        let tail = self.nodes.first().map_or(0.0, |n| n.1 / shape);
        self.mass = inside + tail;
    }

    /// ln of the integral over u.
    pub(super) fn ln_integral(&self) -> f64 {
        self.top + self.mass.ln()
    }

    /// u at the quantile `p`, and the log density of the law it is drawn from; `None` if there is no mass.
    pub(super) fn draw(&self, p: f64) -> Option<(f64, f64)> {
        if !(self.mass > 0.0 && self.mass.is_finite()) {
            return None;
        }
        let (first, last) = (self.nodes[0], self.nodes[self.nodes.len() - 1]);
        // The even part's density, in the same units.
        let even = EVEN * self.mass / (last.0 - first.0).max(1e-300);
        let mut left = p * self.mass * (1.0 + EVEN);
        let tail = first.1 / self.rate;
        let norm = (self.mass * (1.0 + EVEN)).ln();
        if left < tail {
            let u = first.0 + (left / tail).ln() / self.rate;
            return Some((u, first.1.ln() + self.rate * (u - first.0) - norm));
        }
        left -= tail;
        for w in self.nodes.windows(2) {
            let (width, a, b) = (w[1].0 - w[0].0, w[0].1 + even, w[1].1 + even);
            let mass = 0.5 * width * (a + b);
            if left <= mass || w[1].0 == last.0 {
                // a f + (b−a) f²/2 = left/width, solved without cancellation
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
