//! Nodes in y = ln ρ for one item, fixed beforehand: equidistant, or denser around its ties.
//!
//! The nodes are where a smooth function of y, their count, is an integer, and the trapezoid rule is taken in the count:
//!
//! ```text
//! count(y) = y / h + Σₗ W arsinh((y − yₗ) / (W hₗ))
//! ```
//!
//! so that their distance is hₗ at a tie yₗ, 1/W of the distance from the tie near it, and h far from all ties. Ties closer
//! than half a step share a cluster.

#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // counts of nodes

use super::constants::{CLUSTER_WIDTH, FEW_TIES, LEAST_CLUSTER_WIDTH, MAX_RATIOS};

/// A tie, and the step wanted there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Cluster {
    pub(super) kink: f64,
    pub(super) step: f64,
    /// W.
    width: f64,
}

impl Cluster {
    pub(super) fn new(kink: f64, step: f64) -> Self {
        Self { kink, step, width: CLUSTER_WIDTH }
    }

    /// The distance of y from the tie, in units of W steps.
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

/// Nodes of the integral over the ratio of the totals for one item.
///
/// They are fixed while δ changes, so that the sum over them is a smooth function of δ.
#[derive(Debug, Clone, PartialEq)]
pub struct RatioNodes {
    /// Step in y far from all ties.
    step: f64,
    clusters: Vec<Cluster>,
    /// The number of the first stored node; equidistant nodes are not stored.
    first: i64,
    nodes: Vec<Node>,
}

impl RatioNodes {
    /// Equidistant nodes as fine as the finest cluster, or clustered ones, whichever are fewer in a range of y.
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

    /// The number of the node nearest to y.
    pub(super) fn nearest(&self, y: f64) -> i64 {
        self.count(y).round() as i64
    }

    /// A node by its number, given a y near it.
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

    /// Nodes per unit of y.
    fn rate(&self, y: f64) -> f64 {
        let one = |cluster: &Cluster| {
            let off = cluster.off(y);
            1.0 / (cluster.step * (1.0 + off * off).sqrt())
        };
        1.0 / self.step + self.clusters.iter().map(one).sum::<f64>()
    }

    /// Solves count(y) = i by Newton's method.
    fn solve(&self, i: i64, near: f64) -> Node {
        let mut y = near;
        for _ in 0..30 {
            let off = i as f64 - self.count(y);
            y += off / self.rate(y);
            if off.abs() < 1e-6 {
                break; // the error of the next step is 1e-12
            }
        }
        Node { y, weight: 1.0 / self.rate(y) }
    }
}

/// Merges clusters at the same y; the width of each is its share of the total.
fn merged(mut clusters: Vec<Cluster>) -> Vec<Cluster> {
    let share = (CLUSTER_WIDTH * FEW_TIES / clusters.len().max(1) as f64).max(LEAST_CLUSTER_WIDTH);
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
    clusters.iter_mut().for_each(|cluster| cluster.width = cluster.width.min(CLUSTER_WIDTH));
    clusters
}

/// arsinh x, twice as fast as the standard library's, which is also exact for tiny x.
pub(super) fn arsinh(x: f64) -> f64 {
    let size = x.abs();
    (size + (1.0 + size * size).sqrt()).ln().copysign(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ∫ e^(−y²/2) |y − k|^(−½) dy smoothed over 0.03 around k = 0.4: against a fine equidistant sum.
    #[test]
    fn clustered_nodes_integrate_a_spike() {
        let integrand = |y: f64| (-0.5 * y * y).exp() * ((y - 0.4).powi(2) + 9e-4).powf(-0.25);
        let clusters = vec![Cluster::new(0.4, 0.026)];
        let nodes = RatioNodes::new(0.7, clusters, (-6.0, 6.0));
        assert!(nodes.nodes.len() < 100, "{}", nodes.nodes.len());
        let sum: f64 = nodes.nodes.iter().map(|node| node.weight * integrand(node.y)).sum();
        let fine: f64 = (-60_000..60_000).map(|i| 1e-4 * integrand(1e-4 * f64::from(i))).sum();
        assert!((sum / fine - 1.0).abs() < 1e-4, "{sum} {fine}");
    }

    /// Eight ties at one place, whose spikes multiply, need hardly more nodes than one, and those suffice.
    #[test]
    fn ties_at_one_place_are_one_cluster() {
        let integrand = |y: f64| (-0.5 * y * y).exp() * ((y - 0.4).powi(2) + 0.01).powi(-4);
        let clustered =
            |n: usize| RatioNodes::new(0.7, vec![Cluster::new(0.4, 0.047); n], (-6.0, 6.0)).nodes;
        let (one, eight) = (clustered(1), clustered(8));
        assert!(eight.len() < one.len() + 20, "{} {}", one.len(), eight.len());
        let sum: f64 = eight.iter().map(|node| node.weight * integrand(node.y)).sum();
        let fine: f64 = (-60_000..60_000).map(|i| 1e-4 * integrand(1e-4 * f64::from(i))).sum();
        assert!((sum / fine - 1.0).abs() < 1e-4, "{sum} {fine}");
    }

    /// Nodes continue beyond the stored ones; clusters close together are replaced by equidistant nodes.
    #[test]
    fn nodes_continue_beyond_the_stored_ones() {
        let clusters = vec![Cluster::new(0.0, 0.01), Cluster::new(1.0, 0.02)];
        let nodes = RatioNodes::new(0.5, clusters, (-2.0, 3.0));
        let last = nodes.first + nodes.nodes.len() as i64 - 1;
        let (inside, outside) = (nodes.node(last, 0.0), nodes.node(last + 3, 3.0));
        assert!(outside.y > inside.y + 2.0 * inside.weight, "{inside:?} {outside:?}");
        assert_eq!(nodes.nearest(outside.y), last + 3);
        let twice = vec![Cluster::new(0.03, 0.01), Cluster::new(0.07, 0.01)];
        let small = RatioNodes::new(0.5, twice, (0.0, 0.1));
        assert!(small.clusters.is_empty());
        assert!((small.node(7, 0.0).y - 0.07).abs() < 1e-12);
    }
}
