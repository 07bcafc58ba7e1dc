//! Importance-weighted points of an item that also estimate its density at neighbouring shared shapes.
//!
//! For given α, the integrand depends on the shared shapes δ through gamma functions and a factor e^(F·δ) with known
//! features F, so that points drawn at δ₀ can be reweighted to a δ near it:
//!
//! ```text
//! ln f(δ) = ln Σ_m e^(b_m + F_m·(δ−δ₀)) − ln M − Δ(Σ ln Γ(δ) + Σ ln Γ(a) − ln Γ(N)),
//! F_S = ln D_S − Σ_{k∈S} ln A_k + (|S|−1) ln T.
//! ```

use super::super::constants::BATCH;
use super::pilot::dot;

/// The weights and features of one item's points, M of them.
#[derive(Debug, Clone)]
pub struct ImportancePoints {
    /// b, including all constants at δ₀.
    ln_weights: Vec<f64>,
    /// F, M per shared gamma (component by component, the common gamma first).
    features: Vec<f64>,
    /// (Σw)²/(M Σw²) at δ₀.
    effective: f64,
}

/// The sum over an item's points, reweighted to some δ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReweightedSum {
    /// ln of the mean weight.
    pub ln_mean: f64,
    /// Effective fraction of the points.
    pub effective: f64,
}

impl ImportancePoints {
    pub(super) fn new(n_shared: usize, n_points: usize) -> Self {
        Self {
            ln_weights: vec![0.0; n_points],
            features: vec![0.0; n_shared * n_points],
            effective: 0.0,
        }
    }

    /// Writes a batch of points that starts at index `first`.
    pub(super) fn fill(&mut self, first: usize, ln_weights: &[f64], features: &[f64]) {
        let finite = |w: &f64| if w.is_nan() { f64::NEG_INFINITY } else { *w };
        let own = &mut self.ln_weights[first..first + BATCH];
        own.iter_mut().zip(ln_weights).for_each(|(own, w)| *own = finite(w));
        let n = self.ln_weights.len();
        for (i, batch) in features.chunks_exact(BATCH).enumerate() {
            let own = &mut self.features[i * n + first..i * n + first + BATCH];
            own.iter_mut()
                .zip(batch)
                .for_each(|(own, f)| *own = if f.is_finite() { *f } else { 0.0 });
        }
    }

    /// Adds the constant; `None` if no point carries weight.
    pub(super) fn finish(mut self, ln_constant: f64) -> Option<Self> {
        self.ln_weights.iter_mut().for_each(|w| *w += ln_constant);
        let n_shared = self.features.len() / self.ln_weights.len();
        let at = self.reweight(&vec![0.0; n_shared], &mut Vec::new(), &mut vec![0.0; n_shared]);
        self.effective = at.effective;
        (at.ln_mean.is_finite() && at.effective > 0.0).then_some(self)
    }

    /// The effective fraction of the points at δ₀.
    pub fn effective(&self) -> f64 {
        self.effective
    }

    /// Number of features per point: one per shared shape that is not 0.
    pub fn n_features(&self) -> usize {
        self.features.len() / self.ln_weights.len()
    }

    /// Reweights to δ₀ + `shift`: the mean of e^(b + F·shift), and in `means` the weighted mean of every feature.
    pub fn reweight(
        &self,
        shift: &[f64],
        weights: &mut Vec<f64>,
        means: &mut [f64],
    ) -> ReweightedSum {
        let n = self.ln_weights.len();
        weights.clear();
        weights.extend_from_slice(&self.ln_weights);
        for (features, by) in self.features.chunks_exact(n).zip(shift) {
            weights.iter_mut().zip(features).for_each(|(w, f)| *w += by * f);
        }
        let top = weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let (mut sum, mut square) = (0.0, 0.0);
        for w in weights.iter_mut() {
            *w = (*w - top).exp();
            sum += *w;
            square += *w * *w;
        }
        for (features, mean) in self.features.chunks_exact(n).zip(means) {
            *mean = dot(weights, features) / sum;
        }
        let count = n as f64;
        ReweightedSum { ln_mean: top + (sum / count).ln(), effective: sum * sum / (count * square) }
    }
}
