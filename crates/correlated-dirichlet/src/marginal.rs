//! Marginal distributions of one classifier, of a pair, and of all classifiers but one; moments of pairs.

use crate::pair::{ComponentMoments, PairDensity, moments};
use crate::{CorrelatedDirichlet, Dirichlet, Error, MultiDensity, Result, SharedPair};

impl CorrelatedDirichlet {
    /// The marginal distribution of one classifier's output: Dirichlet(αᵏ).
    ///
    /// # Panics
    /// If there is no such classifier.
    pub fn marginal(&self, classifier: usize) -> Dirichlet {
        Dirichlet::new(&self.alpha[classifier]).expect("margins are checked when they are made")
    }

    /// The joint density of all classifiers' outputs, with an error of 0.001 unless told otherwise.
    ///
    /// For two classifiers only, [`Self::pair_density`] also has a gradient.
    pub fn density(&self) -> Result<MultiDensity> {
        MultiDensity::new(self)
    }

    /// The joint density of two classifiers' outputs, with all other classifiers marginalised.
    pub fn pair_density(&self, a: usize, b: usize) -> Result<PairDensity> {
        self.check_pair(a, b)?;
        PairDensity::new(&self.alpha[a], &self.alpha[b], &self.shared_by(a, b))
    }

    /// The joint distribution of all classifiers' outputs but one.
    ///
    /// The marginal is exact: a gamma that the classifier shared with one other becomes part of the other's private
    /// gamma, and the common gamma stays common. Sums of independent gammas of one scale are gammas, so that no margin
    /// changes. The indices of later classifiers decrease by one.
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
        // A single classifier shares nothing.
        let common = (n > 2).then(|| self.common.clone());
        Self::new(alpha, common, pairs.collect())
    }

    /// Exact means, variances and correlations of two classifiers' outputs, component by component.
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
        self.check_pair(a, b)?;
        moments(&self.alpha[a], &self.alpha[b], &self.shared_by(a, b))
    }

    fn check_pair(&self, a: usize, b: usize) -> Result<()> {
        if a == b || a.max(b) >= self.n_classifiers() {
            let found = format!("{a} and {b}");
            return Err(Error::parameter("classifiers", "two different classifiers", found));
        }
        Ok(())
    }
}
