//! Spanning trees of weighted edges: the best one, and the sum over all.

use consilience_numerics::log_space::{log_add_exp, log_sum_exp};

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

/// A possible edge with its gain and the gain's standard error.
#[derive(Debug, Clone, Copy)]
pub(super) struct CandidateEdge {
    pub(super) between: (usize, usize),
    pub(super) gain: f64,
    pub(super) error: f64,
}

impl CandidateEdge {
    /// Whether this gain does not differ clearly from a larger one: by no more than the standard error of
    /// a difference of independent gains, or by rounding.
    fn is_near(&self, larger: &Self) -> bool {
        let rounding = ROUNDING * larger.gain.abs().max(self.gain.abs());
        larger.gain - self.gain <= (NEAR * self.error.hypot(larger.error)).max(rounding)
    }
}

/// Relative difference below which gains are equal.
const ROUNDING: f64 = 1e-9;
/// Standard errors within which gains are treated as equal.
const NEAR: f64 = 1.0;

/// The maximum spanning tree of some vertices: indices of candidates, the largest gain first. A forest if
/// the candidates do not join all vertices.
///
/// Kruskal's algorithm, except that of all edges whose gains do not differ clearly from the largest one
/// left, the edge whose ends have the fewest neighbours so far is used; of equal ones that with the
/// larger gain, then the earlier one.
pub(super) fn spanning_tree(
    n_vertices: usize,
    candidates: &[CandidateEdge],
    wanted: impl Fn(usize) -> bool,
) -> Vec<usize> {
    let by_gain = |a: &usize, b: &usize| candidates[*b].gain.total_cmp(&candidates[*a].gain);
    let usable = |i: &usize| wanted(candidates[*i].between.0) && wanted(candidates[*i].between.1);
    let mut open: Vec<usize> = (0..candidates.len()).filter(usable).collect();
    open.sort_by(by_gain);
    // which tree of the growing forest a vertex belongs to
    let mut forest: Vec<usize> = (0..n_vertices).collect();
    let mut degrees = vec![0; n_vertices];
    let mut tree = Vec::new();
    while let Some(best) = open.first() {
        let near = open.iter().filter(|i| candidates[**i].is_near(&candidates[*best]));
        let crowd = |i: &&usize| {
            let (a, b) = candidates[**i].between;
            (degrees[a].max(degrees[b]), degrees[a] + degrees[b])
        };
        let chosen = *near.min_by_key(crowd).expect("the best is near itself");
        let (a, b) = candidates[chosen].between;
        let (from, to) = (forest[a], forest[b]);
        forest.iter_mut().filter(|root| **root == from).for_each(|root| *root = to);
        (degrees[a], degrees[b]) = (degrees[a] + 1, degrees[b] + 1);
        tree.push(chosen);
        open.retain(|i| forest[candidates[*i].between.0] != forest[candidates[*i].between.1]);
    }
    tree.sort_by(by_gain);
    tree
}

/// ln Σ over all spanning trees of Π over their edges of e^weight; 0 for a single vertex.
///
/// By the matrix-tree theorem this is a determinant. Vertices are eliminated one by one, and the
/// neighbours of an eliminated vertex are joined directly (star-mesh transform). This needs only sums and
/// products of positive numbers, in logarithms, so that nothing cancels.
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

    fn candidates(gains: &[((usize, usize), f64)], error: f64) -> Vec<CandidateEdge> {
        gains.iter().map(|&(between, gain)| CandidateEdge { between, gain, error }).collect()
    }

    /// The number of neighbours of every vertex, ascending.
    fn degrees(n: usize, candidates: &[CandidateEdge]) -> Vec<usize> {
        let mut degrees = vec![0; n];
        for edge in spanning_tree(n, candidates, |_| true) {
            let (a, b) = candidates[edge].between;
            (degrees[a], degrees[b]) = (degrees[a] + 1, degrees[b] + 1);
        }
        degrees.sort_unstable();
        degrees
    }

    #[test]
    fn the_best_tree_is_found() {
        let gains = [((0, 1), 1.0), ((0, 2), 3.0), ((1, 2), 2.0), ((2, 3), -1.0), ((1, 3), -0.5)];
        let candidates = candidates(&gains, 0.0);
        assert_eq!(spanning_tree(4, &candidates, |_| true), [1, 2, 4]);
        assert_eq!(spanning_tree(4, &candidates, |v| v != 2), [0, 4]);
        assert_eq!(spanning_tree(4, &candidates, |v| v == 2), [0; 0]);
    }

    /// Equal gains give a chain for any number of vertices.
    #[test]
    fn equal_gains_make_a_chain() {
        for n in 3..26 {
            let all = (0..n).flat_map(|b| (0..b).map(move |a| (a, b)));
            let rounded = |(a, b)| ((a, b), 0.7 + 1e-15 * (a * b) as f64);
            let mut chain = vec![2; n];
            (chain[0], chain[1]) = (1, 1);
            assert_eq!(degrees(n, &candidates(&all.map(rounded).collect::<Vec<_>>(), 0.0)), chain);
        }
    }

    /// A star is kept if its gains exceed the others by more than their errors.
    #[test]
    fn a_star_is_kept_where_it_is_certain() {
        let all = (0..6).flat_map(|b| (0..b).map(move |a| (a, b)));
        let gain = |(a, b)| ((a, b), if a == 0 { 1.0 + 0.01 * b as f64 } else { 0.6 });
        let star: Vec<_> = all.map(gain).collect();
        assert_eq!(degrees(6, &candidates(&star, 0.1)), [1, 1, 1, 1, 1, 5]);
        assert_eq!(degrees(6, &candidates(&star, 0.4)), [1, 1, 2, 2, 2, 2]);
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
