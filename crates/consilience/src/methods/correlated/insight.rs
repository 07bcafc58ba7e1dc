//! Correlations implied by a fitted model.

use crate::data::class_prior::ClassPrior;
use crate::error::Result;
use correlated_dirichlet::CorrelatedDirichlet;
use correlated_dirichlet::pair::moments;

/// The correlation that a model implies between two sources.
#[derive(Debug, Clone, PartialEq)]
pub struct PairInsight {
    /// Indices of the two sources.
    pub between: (usize, usize),
    /// Exact correlations of their outputs, by true class and component.
    pub correlation: Vec<Vec<f64>>,
    /// Mean over components and, weighted by the class prior, over classes.
    pub mean: f64,
}

impl PairInsight {
    /// Computes the correlations of two sources under one correlated Dirichlet per class.
    pub fn new(
        classes: &[CorrelatedDirichlet],
        between: (usize, usize),
        prior: &ClassPrior,
    ) -> Result<Self> {
        let correlation = classes
            .iter()
            .map(|class| class_correlation(class, between))
            .collect::<Result<Vec<_>>>()?;
        let weighted = correlation.iter().zip(prior.probabilities());
        let mean = weighted.map(|(row, p)| p * row.iter().sum::<f64>() / row.len() as f64).sum();
        Ok(Self { between, correlation, mean })
    }
}

fn class_correlation(class: &CorrelatedDirichlet, (a, b): (usize, usize)) -> Result<Vec<f64>> {
    let components = moments(&class.alpha()[a], &class.alpha()[b], &class.shared_by(a, b))?;
    Ok(components.iter().map(|component| component.correlation).collect())
}

/// The effective number of `n` equally correlated classifiers: n / (1 + (n−1) r).
///
/// n at r = 0, one at r = 1. `r` is the mean implied correlation over all pairs.
pub fn effective_number(n_classifiers: usize, r: f64) -> f64 {
    let n = n_classifiers as f64;
    n / (1.0 + (n - 1.0) * r.clamp(0.0, 1.0))
}
