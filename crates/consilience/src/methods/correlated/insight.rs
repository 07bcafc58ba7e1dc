//! What a correlated model says about its classifiers.

use crate::data::class_prior::ClassPrior;
use crate::error::Result;
use correlated_dirichlet::CorrelatedDirichlet;
use correlated_dirichlet::pair::moments;

/// The correlation that a model implies between two classifiers.
#[derive(Debug, Clone, PartialEq)]
pub struct PairInsight {
    /// The two classifiers.
    pub between: (usize, usize),
    /// The exact correlation of their outputs, by true class and component.
    pub correlation: Vec<Vec<f64>>,
    /// Its mean: classes weighted by the prior, components alike.
    pub mean: f64,
}

impl PairInsight {
    /// Of two classifiers under one correlated Dirichlet a class; all others are marginalised.
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

/// How many independent classifiers `n` equally correlated ones are worth: n / (1 + (n−1) r).
///
/// n at r = 0, one at r = 1. `r` is the mean implied correlation over all pairs.
pub fn effective_number(n_classifiers: usize, r: f64) -> f64 {
    let n = n_classifiers as f64;
    n / (1.0 + (n - 1.0) * r.clamp(0.0, 1.0))
}
