//! Marginalising classifiers, and the exact moments of pairs.

use crate::error::{Error, Result};
use crate::pair::{ComponentMoments, moments};
use crate::{CorrelatedDirichlet, SharedPair};

impl CorrelatedDirichlet {
    /// The distribution of the other classifiers' outputs when one is missing, exactly.
    ///
    /// What it shared with one other classifier becomes private to that one, the common part stays common: sums of
    /// gammas of one scale are gammas, so no margin changes. Classifiers after it move up by one.
    ///
    /// # Example
    /// ```
    /// use correlated_dirichlet::CorrelatedDirichlet;
    /// let all = CorrelatedDirichlet::new(vec![vec![3.0, 2.0]; 3], Some(vec![1.0, 0.5]), vec![])?;
    /// let two = all.without(1)?;
    /// assert_eq!(two.n_classifiers(), 2);
    /// assert_eq!(two.shared_by(0, 1), [1.0, 0.5]);
    /// # Ok::<(), correlated_dirichlet::Error>(())
    /// ```
    pub fn without(&self, classifier: usize) -> Result<Self> {
        let n = self.n_classifiers();
        if classifier >= n || n < 2 {
            return Err(Error::parameter("classifier", "one of several classifiers", classifier));
        }
        let mut alpha = self.alpha.clone();
        alpha.remove(classifier);
        let moved = |k: usize| k - usize::from(k > classifier);
        let pairs = self.pairs.iter().filter(|p| p.first != classifier && p.second != classifier);
        let pairs = pairs.map(|p| SharedPair {
            first: moved(p.first),
            second: moved(p.second),
            delta: p.delta.clone(),
        });
        // Alone, a classifier shares with nobody.
        let common = (n > 2).then(|| self.common.clone());
        Self::new(alpha, common, pairs.collect())
    }

    /// Exact first and second moments of two classifiers' outputs, class by class, the others marginalised.
    ///
    /// # Example
    /// ```
    /// use correlated_dirichlet::CorrelatedDirichlet;
    /// let alpha = vec![vec![12.0, 8.0, 8.0]; 3];
    /// let all = CorrelatedDirichlet::new(alpha, Some(vec![6.0, 4.0, 4.0]), vec![])?;
    /// assert!((all.pair_moments(0, 2)?[1].correlation - 0.491_661_88).abs() < 1e-8);
    /// # Ok::<(), correlated_dirichlet::Error>(())
    /// ```
    pub fn pair_moments(&self, a: usize, b: usize) -> Result<Vec<ComponentMoments>> {
        if a == b || a.max(b) >= self.n_classifiers() {
            return Err(Error::parameter(
                "classifiers",
                "two different ones",
                format!("{a} and {b}"),
            ));
        }
        moments(&self.alpha[a], &self.alpha[b], &self.shared_by(a, b))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand::rngs::ChaCha8Rng;

    fn three() -> CorrelatedDirichlet {
        let pair =
            |first, second, delta: [f64; 2]| SharedPair { first, second, delta: delta.to_vec() };
        let pairs = vec![pair(0, 1, [1.0, 0.5]), pair(2, 0, [0.6, 0.4]), pair(1, 2, [0.5, 0.9])];
        let alpha = vec![vec![6.0, 4.0], vec![5.0, 4.0], vec![6.0, 5.0]];
        CorrelatedDirichlet::new(alpha, Some(vec![1.5, 1.0]), pairs).unwrap()
    }

    #[test]
    fn what_is_left_keeps_its_margins_and_what_it_shares() {
        let two = three().without(1).unwrap();
        assert_eq!(two.alpha(), [vec![6.0, 4.0], vec![6.0, 5.0]]);
        assert_eq!(two.shared_by(0, 1), three().shared_by(0, 2));
        let one = two.without(0).unwrap();
        assert_eq!(
            (one.alpha(), one.common()),
            ([vec![6.0, 5.0]].as_slice(), [0.0, 0.0].as_slice())
        );
        assert!(one.without(0).is_err() && two.without(2).is_err());
    }

    /// 200 000 draws: a standard error of about .0022; the bound is four of them.
    #[test]
    fn correlations_of_pairs_are_those_of_draws() {
        let all = three();
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        let draws: Vec<Vec<f64>> = (0..200_000).map(|_| all.sample(&mut rng)).collect();
        for (a, b) in [(0, 1), (0, 2), (1, 2)] {
            let moments = all.pair_moments(a, b).unwrap()[0];
            let n = draws.len() as f64;
            let [first, second] = moments.mean;
            let product = |x: &Vec<f64>| (x[2 * a] - first) * (x[2 * b] - second);
            let covariance = draws.iter().map(product).sum::<f64>() / n;
            let got = covariance / (moments.variance[0] * moments.variance[1]).sqrt();
            assert!(
                (got - moments.correlation).abs() < 0.009,
                "{a}-{b}: {got}, {}",
                moments.correlation
            );
        }
        assert!(all.pair_moments(0, 0).is_err() && all.pair_moments(0, 3).is_err());
    }
}
