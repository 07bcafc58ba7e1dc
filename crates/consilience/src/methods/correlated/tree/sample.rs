//! Drawing from a tree of pairs.
//!
//! The output of the first source is drawn from its Dirichlet. Along an edge from p to c, the output of p
//! is converted back into gammas: their total is independent of the output, so that s ~ Γ(Σα) gives
//! Gᵖₗ = s xᵖₗ. The shared part of such a gamma is Dₗ = Gᵖₗ·Beta(δₗ, αᵖₗ − δₗ), and the output of c
//! follows from D and private gammas of its own. All in logarithms, so that small shapes do not
//! underflow.

use rand::{Rng, RngExt};

use super::spanning::adjacent;
use super::{TreeFusion, TreeKind};
use consilience_numerics::log_space::log_add_exp;
use consilience_numerics::simplex;
use correlated_dirichlet::sample_ln_gamma;

impl TreeFusion {
    /// Draws the outputs of all sources given the true class, K·J values.
    pub fn sample<R: Rng + ?Sized>(&self, class: usize, rng: &mut R) -> Vec<f64> {
        let (n, n_classes) = (self.margins.len(), self.schema.n_classes());
        let tree = match self.kind {
            TreeKind::Tree => self.tree.clone(),
            TreeKind::TreeMixture => self.random_tree(rng),
        };
        let mut x = vec![0.0; n * n_classes];
        let mut drawn = vec![false; n];
        let mut waiting = Vec::new();
        for root in 0..n {
            if drawn[root] {
                continue;
            }
            let own = self.margins[root][class].sample(rng);
            x[root * n_classes..][..n_classes].copy_from_slice(&own);
            drawn[root] = true;
            waiting.push(root);
            while let Some(parent) = waiting.pop() {
                for &edge in &tree {
                    let Some(child) = adjacent(self.pairs[edge].between, parent) else { continue };
                    if drawn[child] {
                        continue;
                    }
                    let from = x[parent * n_classes..][..n_classes].to_vec();
                    let to = self.draw_child(edge, class, (parent, child), &from, rng);
                    x[child * n_classes..][..n_classes].copy_from_slice(&to);
                    drawn[child] = true;
                    waiting.push(child);
                }
            }
        }
        x
    }

    /// Draws the output of `child` given that of `parent`.
    fn draw_child<R: Rng + ?Sized>(
        &self,
        edge: usize,
        class: usize,
        (parent, child): (usize, usize),
        output: &[f64],
        rng: &mut R,
    ) -> Vec<f64> {
        let [of_parent, of_child] = [parent, child].map(|k| self.margins[k][class].concentration());
        let ln_total = sample_ln_gamma(of_parent.iter().sum(), rng);
        let mut logs = Vec::with_capacity(output.len());
        for (l, delta) in self.pairs[edge].delta[class].iter().enumerate() {
            let shared = sample_ln_gamma(*delta, rng);
            let private = sample_ln_gamma((of_parent[l] - delta).max(0.0), rng);
            let ln_share = shared - log_add_exp(shared, private);
            let own = sample_ln_gamma((of_child[l] - delta).max(0.0), rng);
            logs.push(log_add_exp(own, ln_total + output[l].ln() + ln_share));
        }
        simplex::softmax(&mut logs);
        logs
    }

    /// A spanning tree with a probability proportional to e to the sum of its gains, by Wilson's
    /// loop-erased random walks.
    fn random_tree<R: Rng + ?Sized>(&self, rng: &mut R) -> Vec<usize> {
        let n = self.margins.len();
        let mut joined = vec![false; n];
        joined[0] = true;
        let mut tree = Vec::new();
        for start in 1..n {
            // the last edge by which the walk left each vertex, which erases loops
            let mut way = vec![0; n];
            let mut at = start;
            while !joined[at] {
                way[at] = self.random_edge(at, rng);
                at = adjacent(self.pairs[way[at]].between, at).expect("an edge of this vertex");
            }
            let mut at = start;
            while !joined[at] {
                joined[at] = true;
                tree.push(way[at]);
                at = adjacent(self.pairs[way[at]].between, at).expect("an edge of this vertex");
            }
        }
        tree
    }

    /// An edge of a vertex, drawn by weight.
    fn random_edge<R: Rng + ?Sized>(&self, vertex: usize, rng: &mut R) -> usize {
        let own = |p: &usize| adjacent(self.pairs[*p].between, vertex).is_some();
        let edges: Vec<usize> = (0..self.pairs.len()).filter(own).collect();
        let mut weights: Vec<f64> = edges.iter().map(|p| self.pairs[*p].gain).collect();
        simplex::softmax(&mut weights);
        let mut left: f64 = rng.random();
        for (edge, weight) in edges.iter().zip(&weights) {
            left -= weight;
            if left < 0.0 {
                return *edge;
            }
        }
        *edges.last().expect("a mixture has all pairs")
    }
}
