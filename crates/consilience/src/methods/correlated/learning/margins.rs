//! What the outputs of one classifier alone say of its margin, for learning α and δ together.

use super::pair_items::PairItems;
use crate::methods::independent::{
    DirichletPosterior, DirichletPrior, Measure, SufficientStatistics,
};
use crate::sampling::Target;
use consilience_numerics::special::{digamma, ln_gamma};

/// One classifier's margin for one class: its posterior as if classifiers were independent, and the share of
/// it that is due to items with both outputs.
///
/// The joint posterior is the product of two such posteriors and of what the pairs add,
/// ∏ f(x¹, x²) / (Dir(x¹; α¹) Dir(x²; α²)).
#[derive(Debug, Clone)]
pub(super) struct Margin {
    posterior: DirichletPosterior,
    n_pairs: f64,
    /// Σ ln x over pairs.
    sums: Vec<f64>,
}

impl Margin {
    /// Of classifier `k` when the true class is `j`, whose pairs are `items`.
    pub(super) fn new(
        statistics: &SufficientStatistics,
        (k, j): (usize, usize),
        prior: DirichletPrior,
        items: &PairItems,
    ) -> Self {
        let posterior = DirichletPosterior::new(statistics, (k, j), prior, Measure::LnAlpha);
        let mut sums = vec![0.0; posterior.dimension()];
        for i in 0..items.len() {
            let (first, second) = items.pair(i);
            let output = if k == 0 { first } else { second };
            sums.iter_mut().zip(output).for_each(|(sum, x)| *sum += x.ln());
        }
        Self { posterior, n_pairs: items.len() as f64, sums }
    }

    /// The posterior as if classifiers were independent.
    pub(super) fn target(&self) -> &DirichletPosterior {
        &self.posterior
    }

    /// The log density of ln α as if classifiers were independent; writes its gradient.
    pub(super) fn ln_density(&self, ln_alpha: &[f64], gradient: &mut [f64]) -> f64 {
        self.posterior.ln_density(ln_alpha, gradient)
    }

    /// Σ ln Dir(x; α) over pairs; adds `sign` times its gradient in ln α to `gradient`.
    pub(super) fn ln_pairs(&self, ln_alpha: &[f64], sign: f64, gradient: &mut [f64]) -> f64 {
        let total: f64 = ln_alpha.iter().map(|theta| theta.exp()).sum();
        let slope = digamma(total);
        let mut value = self.n_pairs * ln_gamma(total);
        for ((theta, sum), out) in ln_alpha.iter().zip(&self.sums).zip(gradient) {
            let alpha = theta.exp();
            value += (alpha - 1.0) * sum - self.n_pairs * ln_gamma(alpha);
            *out += sign * alpha * (self.n_pairs * (slope - digamma(alpha)) + sum);
        }
        value
    }

    /// The log density of ln α given everything but the pairs.
    pub(super) fn ln_rest(&self, ln_alpha: &[f64]) -> f64 {
        let mut unused = vec![0.0; ln_alpha.len()];
        self.ln_density(ln_alpha, &mut unused) - self.ln_pairs(ln_alpha, 1.0, &mut unused)
    }
}
