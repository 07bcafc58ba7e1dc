//! Spanning trees of weighted edges: the best one, and the sum over all.

use crate::math::log_space::{log_add_exp, log_sum_exp};

/// Two vertices and the weight of the edge between them.
pub(super) type Edge = ((usize, usize), f64);

/// The other end of an edge, if the vertex is one of its ends.
pub(super) fn adjacent((a, b): (usize, usize), vertex: usize) -> Option<usize> {
    match vertex {
        v if v == a => Some(b),
        v if v == b => Some(a),
        _ => None,
    }
}

/// The maximum spanning tree of those vertices that are wanted, by Kruskal's algorithm: indices of
/// edges, strongest first. A forest where the edges do not join all; the earlier of equal edges.
pub(super) fn maximum_spanning_tree(
    n_vertices: usize,
    edges: &[Edge],
    wanted: impl Fn(usize) -> bool,
) -> Vec<usize> {
    let usable = |edge: &usize| {
        let (a, b) = edges[*edge].0;
        wanted(a) && wanted(b)
    };
    let mut order: Vec<usize> = (0..edges.len()).filter(usable).collect();
    order.sort_by(|a, b| edges[*b].1.total_cmp(&edges[*a].1));
    // which tree of the growing forest a vertex belongs to
    let mut forest: Vec<usize> = (0..n_vertices).collect();
    order.retain(|&edge| {
        let (a, b) = edges[edge].0;
        let (from, to) = (forest[a], forest[b]);
        forest.iter_mut().filter(|root| **root == from).for_each(|root| *root = to);
        from != to
    });
    order
}

/// ln Σ over all spanning trees of Π over their edges of e^weight; 0 for a single vertex.
///
/// The matrix-tree theorem makes it a determinant. Vertices are eliminated one by one, and what an
/// eliminated vertex joined is joined directly (the star-mesh transform): sums and products of
/// positive numbers only, so nothing cancels, in logarithms.
pub(super) fn ln_weight_of_all_trees(vertices: &[usize], edges: &[Edge]) -> f64 {
    let n = vertices.len();
    let mut weights = vec![vec![f64::NEG_INFINITY; n]; n];
    let place = |vertex: usize| vertices.iter().position(|v| *v == vertex);
    for ((a, b), weight) in edges {
        let (Some(a), Some(b)) = (place(*a), place(*b)) else { continue };
        weights[a.max(b)][a.min(b)] = log_add_exp(weights[a.max(b)][a.min(b)], *weight);
    }
    let mut total = 0.0;
    for last in (1..n).rev() {
        let arms = weights[last][..last].to_vec();
        let degree = log_sum_exp(&arms);
        total += degree;
        if !degree.is_finite() {
            return degree;
        }
        for b in 1..last {
            for a in 0..b {
                weights[b][a] = log_add_exp(weights[b][a], arms[a] + arms[b] - degree);
            }
        }
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_tree_is_found() {
        let edges = [((0, 1), 1.0), ((0, 2), 3.0), ((1, 2), 2.0), ((2, 3), -1.0), ((1, 3), -0.5)];
        assert_eq!(maximum_spanning_tree(4, &edges, |_| true), [1, 2, 4]);
        assert_eq!(maximum_spanning_tree(4, &edges, |v| v != 2), [0, 4]);
        assert_eq!(maximum_spanning_tree(4, &edges, |v| v == 2), [0; 0]);
    }

    /// Cayley: n^(n−2) trees on n vertices.
    #[test]
    fn all_trees_are_counted() {
        for n in 1..9usize {
            let vertices: Vec<usize> = (0..n).map(|v| 2 * v).collect();
            let mut edges = Vec::new();
            for b in 0..n {
                edges.extend((0..b).map(|a| ((2 * a, 2 * b), 0.0)));
            }
            let expected = (n as f64).ln() * (n as f64 - 2.0);
            let found = ln_weight_of_all_trees(&vertices, &edges);
            assert!((found - if n == 1 { 0.0 } else { expected }).abs() < 1e-12, "{n}: {found}");
        }
    }

    /// A triangle has three trees, each two of its edges; also where weights differ by e^800.
    #[test]
    fn weights_multiply_along_a_tree() {
        for [a, b, c] in [[0.3, -1.0, 2.0], [800.0, 0.0, -800.0]] {
            let edges = [((0, 1), a), ((0, 2), b), ((1, 2), c)];
            let expected = log_sum_exp(&[a + b, a + c, b + c]);
            let found = ln_weight_of_all_trees(&[0, 1, 2], &edges);
            assert!((found - expected).abs() < 1e-12 * expected.abs().max(1.0), "{found}");
        }
        assert_eq!(ln_weight_of_all_trees(&[0, 1, 2], &[((0, 1), 1.0)]), f64::NEG_INFINITY);
    }
}
