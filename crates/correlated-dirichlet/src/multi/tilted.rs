//! Weighted points of an item that stand for its density at neighbouring shared shapes.
//!
//! Given α, the integrand depends on the shared shapes δ through a factor e^(F·δ) of known features F and through gamma
//! functions, so that points drawn for δ₀ serve near it:
//!
//! ```text
//! ln f(δ) = ln Σ_m e^(b_m + F_m·(δ−δ₀)) − ln M − Δ(Σ ln Γ(δ) + Σ ln Γ(a) − ln Γ(N)),
//! F_S = ln D_S − Σ_{k∈S} ln A_k + (|S|−1) ln T.
//! ```

use super::kernel::POINTS;
use super::learned::dot;

/// The weights and features of one item.
#[derive(Debug, Clone)]
pub struct Tilted {
    /// b, with all constants at δ₀.
    ln_weights: Vec<f64>,
    /// F, factor by factor (class by class, the common one first), M each.
    features: Vec<f64>,
    /// (Σw)²/(M Σw²) at δ₀.
    effective: f64,
}

/// The sum over an item's points at some δ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TiltedSum {
    /// ln of the mean weight.
    pub ln_mean: f64,
    /// Effective share of the points.
    pub effective: f64,
}

impl Tilted {
    pub(super) fn new(n_factors: usize, n_points: usize) -> Self {
        Self {
            ln_weights: vec![0.0; n_points],
            features: vec![0.0; n_factors * n_points],
            effective: 0.0,
        }
    }

    /// Enters a batch from a place on.
    pub(super) fn fill(&mut self, place: usize, ln_weights: &[f64], features: &[f64]) {
        let finite = |w: &f64| if w.is_nan() { f64::NEG_INFINITY } else { *w };
        let own = &mut self.ln_weights[place..place + POINTS];
        own.iter_mut().zip(ln_weights).for_each(|(own, w)| *own = finite(w));
        let n = self.ln_weights.len();
        for (i, batch) in features.chunks_exact(POINTS).enumerate() {
            let own = &mut self.features[i * n + place..i * n + place + POINTS];
            own.iter_mut()
                .zip(batch)
                .for_each(|(own, f)| *own = if f.is_finite() { *f } else { 0.0 });
        }
    }

    /// Adds the constant; `None` if no point carries weight.
    pub(super) fn finish(mut self, ln_constant: f64) -> Option<Self> {
        self.ln_weights.iter_mut().for_each(|w| *w += ln_constant);
        let n_factors = self.features.len() / self.ln_weights.len();
        let mut room = Vec::new();
        let at = self.sum(&vec![0.0; n_factors], &mut room, &mut vec![0.0; n_factors]);
        self.effective = at.effective;
        (at.ln_mean.is_finite() && at.effective > 0.0).then_some(self)
    }

    /// The effective share at δ₀.
    pub fn effective(&self) -> f64 {
        self.effective
    }

    /// Features of a point: one for every shared shape that is not 0.
    pub fn n_features(&self) -> usize {
        self.features.len() / self.ln_weights.len()
    }

    /// ln of the mean of e^(b + F·shift), and the weighted mean of every feature.
    pub fn sum(&self, shift: &[f64], room: &mut Vec<f64>, means: &mut [f64]) -> TiltedSum {
        let n = self.ln_weights.len();
        room.clear();
        room.extend_from_slice(&self.ln_weights);
        for (features, by) in self.features.chunks_exact(n).zip(shift) {
            room.iter_mut().zip(features).for_each(|(w, f)| *w += by * f);
        }
        let top = room.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let (mut sum, mut square) = (0.0, 0.0);
        for w in room.iter_mut() {
            *w = (*w - top).exp();
            sum += *w;
            square += *w * *w;
        }
        for (features, mean) in self.features.chunks_exact(n).zip(means) {
            *mean = dot(room, features) / sum;
        }
        let count = n as f64;
        TiltedSum { ln_mean: top + (sum / count).ln(), effective: sum * sum / (count * square) }
    }
}
