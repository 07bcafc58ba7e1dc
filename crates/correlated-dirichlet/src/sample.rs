//! Samples of the correlated Dirichlet distribution, computed in log space.

use rand::Rng;

use crate::CorrelatedDirichlet;
use crate::gamma::sample_ln_gamma;
use consilience_numerics::log_space::log_add_exp;
use consilience_numerics::simplex;

impl CorrelatedDirichlet {
    /// Draws the outputs of all classifiers: K·J values, classifier by classifier.
    ///
    /// Any shapes are allowed, including 0 and 10⁶: gamma variables are added as logarithms, so that no total
    /// is 0. Entries of the result may underflow to 0.
    pub fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> Vec<f64> {
        let n_components = self.n_components();
        let mut x: Vec<f64> =
            self.private.iter().flatten().map(|&shape| sample_ln_gamma(shape, rng)).collect();
        for (l, &shape) in self.common.iter().enumerate() {
            let shared = sample_ln_gamma(shape, rng);
            x.iter_mut()
                .skip(l)
                .step_by(n_components)
                .for_each(|ln| *ln = log_add_exp(*ln, shared));
        }
        for pair in &self.pairs {
            for (l, &shape) in pair.delta.iter().enumerate() {
                let shared = sample_ln_gamma(shape, rng);
                for k in [pair.first, pair.second] {
                    let ln = &mut x[k * n_components + l];
                    *ln = log_add_exp(*ln, shared);
                }
            }
        }
        x.chunks_exact_mut(n_components).for_each(simplex::softmax);
        x
    }
}
