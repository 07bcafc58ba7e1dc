//! Where an item's nodes stand: equidistant, or crowded around its kinks.
//!
//! Lines have the integer values of a smooth count of y, and the trapezoid rule is taken in it:
//!
//! ```text
//! count(y) = y / h + Σₗ W arsinh((y − yₗ) / (W hₗ))
//! ```
//!
//! so that they are hₗ apart at a kink yₗ, a W-th of the distance away from it, and h far from all. Kinks closer than half a
//! step, as where outputs are tied, are one cluster.

#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // counts of nodes

/// Lines on one side of a kink within a factor e of the distance from it.
const WIDTH: f64 = 4.0;
/// More kinks than this share their nodes: what is between many of them is near all.
const FEW: f64 = 3.0;
/// Lines that are laid beforehand at the most.
const MAX_RATIOS: i64 = 4000;

/// A kink with the step wanted there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Cluster {
    pub(super) kink: f64,
    pub(super) step: f64,
    /// W.
    width: f64,
}

impl Cluster {
    pub(super) fn new(kink: f64, step: f64) -> Self {
        Self { kink, step, width: WIDTH }
    }

    /// The distance of y, in Ws of the step.
    fn off(&self, y: f64) -> f64 {
        (y - self.kink) / (self.width * self.step)
    }
}

/// One node: its y and its weight in the sum over y.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Node {
    pub(super) y: f64,
    pub(super) weight: f64,
}

/// The nodes of one item in y and z, laid once so that its sum is a smooth function of δ.
#[derive(Debug, Clone, PartialEq)]
pub struct RatioNodes {
    /// Step in y far from all kinks.
    step: f64,
    clusters: Vec<Cluster>,
    /// The node with the first number of those known; equidistant ones need not be.
    first: i64,
    nodes: Vec<Node>,
}

impl RatioNodes {
    /// The one with fewer nodes in a range of y: as fine everywhere as the finest cluster, or crowded.
    pub(super) fn new(step: f64, clusters: Vec<Cluster>, (low, high): (f64, f64)) -> Self {
        let finest = clusters.iter().map(|cluster| cluster.step).fold(step, f64::min);
        let clusters = merged(clusters);
        let mut nodes = Self { step, clusters, first: 0, nodes: Vec::new() };
        if (high - low) / finest <= nodes.count(high) - nodes.count(low) {
            return Self { step: finest, clusters: Vec::new(), ..nodes };
        }
        nodes.first = nodes.nearest(low);
        let n = (nodes.nearest(high) - nodes.first).min(MAX_RATIOS);
        let mut near = low;
        for i in nodes.first..=nodes.first + n {
            let node = nodes.solve(i, near);
            near = node.y;
            nodes.nodes.push(node);
        }
        nodes
    }

    /// The number of the node next to y.
    pub(super) fn nearest(&self, y: f64) -> i64 {
        self.count(y).round() as i64
    }

    /// A node by its number, and a y that is not far.
    pub(super) fn node(&self, i: i64, near: f64) -> Node {
        if self.clusters.is_empty() {
            return Node { y: self.step * i as f64, weight: self.step };
        }
        let known = usize::try_from(i - self.first).ok().and_then(|place| self.nodes.get(place));
        known.copied().unwrap_or_else(|| self.solve(i, near))
    }

    fn count(&self, y: f64) -> f64 {
        let one = |cluster: &Cluster| cluster.width * arsinh(cluster.off(y));
        y / self.step + self.clusters.iter().map(one).sum::<f64>()
    }

    /// Lines for each unit of y.
    fn rate(&self, y: f64) -> f64 {
        let one = |cluster: &Cluster| {
            let off = cluster.off(y);
            1.0 / (cluster.step * (1.0 + off * off).sqrt())
        };
        1.0 / self.step + self.clusters.iter().map(one).sum::<f64>()
    }

    /// count(y) = i by Newton's method.
    fn solve(&self, i: i64, near: f64) -> Node {
        let mut y = near;
        for _ in 0..30 {
            let off = i as f64 - self.count(y);
            y += off / self.rate(y);
            if off.abs() < 1e-6 {
                break; // the next would be off by 1e-12
            }
        }
        Node { y, weight: 1.0 / self.rate(y) }
    }
}

/// Crowds at the same place are one, whose nodes are as close there as those of all; each is as wide as its part of all
/// kinks allows.
fn merged(mut clusters: Vec<Cluster>) -> Vec<Cluster> {
    let share = WIDTH * FEW / clusters.len().max(1) as f64;
    clusters.iter_mut().for_each(|cluster| cluster.width = share);
    clusters.sort_unstable_by(|a, b| a.kink.total_cmp(&b.kink));
    clusters.dedup_by(|next, first| {
        let same = next.kink - first.kink < 0.5 * next.step.min(first.step);
        if same {
            first.step = 1.0 / (1.0 / first.step + 1.0 / next.step);
            first.width += next.width;
        }
        same
    });
    clusters.iter_mut().for_each(|cluster| cluster.width = cluster.width.min(WIDTH));
    clusters
}

/// Twice as fast as the standard library's, which also serves tiny numbers to the last digit.
pub(super) fn arsinh(x: f64) -> f64 {
    let size = x.abs();
    (size + (1.0 + size * size).sqrt()).ln().copysign(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ∫ e^(−y²/2) |y − k|^(−½) dy smoothed over 0.03 around k = 0.4: against a fine equidistant sum.
    #[test]
    fn crowded_lines_integrate_a_spike() {
        let integrand = |y: f64| (-0.5 * y * y).exp() * ((y - 0.4).powi(2) + 9e-4).powf(-0.25);
        let clusters = vec![Cluster::new(0.4, 0.026)];
        let nodes = RatioNodes::new(0.7, clusters, (-6.0, 6.0));
        assert!(nodes.nodes.len() < 100, "{}", nodes.nodes.len());
        let sum: f64 = nodes.nodes.iter().map(|node| node.weight * integrand(node.y)).sum();
        let fine: f64 = (-60_000..60_000).map(|i| 1e-4 * integrand(1e-4 * f64::from(i))).sum();
        assert!((sum / fine - 1.0).abs() < 1e-4, "{sum} {fine}");
    }

    /// Eight tied kinks, whose spikes multiply, take hardly more nodes than one, and those are enough.
    #[test]
    fn tied_kinks_are_one_crowd() {
        let integrand = |y: f64| (-0.5 * y * y).exp() * ((y - 0.4).powi(2) + 0.01).powi(-4);
        let crowded =
            |n: usize| RatioNodes::new(0.7, vec![Cluster::new(0.4, 0.047); n], (-6.0, 6.0)).nodes;
        let (one, eight) = (crowded(1), crowded(8));
        assert!(eight.len() < one.len() + 20, "{} {}", one.len(), eight.len());
        let sum: f64 = eight.iter().map(|node| node.weight * integrand(node.y)).sum();
        let fine: f64 = (-60_000..60_000).map(|i| 1e-4 * integrand(1e-4 * f64::from(i))).sum();
        assert!((sum / fine - 1.0).abs() < 1e-4, "{sum} {fine}");
    }

    /// Beyond the nodes laid beforehand they go on, and clusters close together are no gain.
    #[test]
    fn lines_go_on() {
        let clusters = vec![Cluster::new(0.0, 0.01), Cluster::new(1.0, 0.02)];
        let nodes = RatioNodes::new(0.5, clusters, (-2.0, 3.0));
        let last = nodes.first + nodes.nodes.len() as i64 - 1;
        let (inside, outside) = (nodes.node(last, 0.0), nodes.node(last + 3, 3.0));
        assert!(outside.y > inside.y + 2.0 * inside.weight, "{inside:?} {outside:?}");
        assert_eq!(nodes.nearest(outside.y), last + 3);
        let twice = vec![Cluster::new(0.05, 0.01), Cluster::new(0.15, 0.01)];
        let small = RatioNodes::new(0.5, twice, (0.0, 0.2));
        assert!(small.clusters.is_empty());
        assert!((small.node(7, 0.0).y - 0.07).abs() < 1e-12);
    }
}
