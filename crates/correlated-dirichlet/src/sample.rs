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

#[cfg(test)]
mod tests {
    use super::super::SharedPair;
    use super::*;
    use rand::SeedableRng;
    use rand::rngs::ChaCha8Rng;

    fn correlation(pairs: &[(f64, f64)]) -> f64 {
        let n = pairs.len() as f64;
        let mean = |f: &dyn Fn(&(f64, f64)) -> f64| pairs.iter().map(f).sum::<f64>() / n;
        let (a, b) = (mean(&|p| p.0), mean(&|p| p.1));
        let covariance = mean(&|p| (p.0 - a) * (p.1 - b));
        covariance / (mean(&|p| (p.0 - a).powi(2)) * mean(&|p| (p.1 - b).powi(2))).sqrt()
    }

    /// Exact correlations from a two-dimensional integral (`reference/`). 100 000 draws have a
    /// standard error of at most 0.0032; the bound is five standard errors.
    #[test]
    fn correlations_are_those_of_the_integral() {
        let cases = [
            (vec![vec![12.0, 8.0, 8.0]; 2], vec![6.0, 4.0, 4.0], [0.491_661_88; 3]),
            (vec![vec![3.0, 2.0, 2.0]; 2], vec![0.75, 0.5, 0.5], [0.230_010_5; 3]),
            (
                vec![vec![3.0, 2.0, 2.0], vec![2.0, 4.0, 3.0]],
                vec![1.5, 0.7, 1.2],
                [0.489_166_11, 0.329_486_16, 0.435_317_99],
            ),
        ];
        for (alpha, delta, expected) in cases {
            // The distribution is the same whether the shapes are common or those of the pair.
            let as_pair = SharedPair { first: 0, second: 1, delta: delta.clone() };
            let common = CorrelatedDirichlet::new(alpha.clone(), Some(delta), vec![]).unwrap();
            let pair = CorrelatedDirichlet::new(alpha, None, vec![as_pair]).unwrap();
            for distribution in [common, pair] {
                let mut rng = ChaCha8Rng::seed_from_u64(11);
                let draws: Vec<_> = (0..100_000).map(|_| distribution.sample(&mut rng)).collect();
                for (l, want) in expected.iter().enumerate() {
                    let points: Vec<_> = draws.iter().map(|x| (x[l], x[3 + l])).collect();
                    let got = correlation(&points);
                    assert!((got - want).abs() < 0.016, "component {l}: {got}, not {want}");
                }
            }
        }
    }

    #[test]
    fn extreme_shapes_give_points_of_the_simplex() {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        for alpha in [1e-8, 1e-3, 1.0, 1e6] {
            for share in [0.0, 0.5, 1.0] {
                let margins = vec![vec![alpha; 4]; 3];
                let common = Some(vec![alpha * share; 4]);
                let distribution = CorrelatedDirichlet::new(margins, common, vec![]).unwrap();
                for _ in 0..200 {
                    for output in distribution.sample(&mut rng).chunks(4) {
                        let sum: f64 = output.iter().sum();
                        assert!((sum - 1.0).abs() < 1e-12 && output.iter().all(|x| *x >= 0.0));
                    }
                }
            }
        }
    }
}
