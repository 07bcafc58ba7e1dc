//! From weights of points to an estimate with its error.

use super::Estimate;
use super::points::REPLICATES;

/// From the standard error by replicates to the reported one. Two reported errors are to cover what two standard errors of a
/// normal law cover: Student's t with 15 degrees of freedom asks for 1.09; the rest makes up for stopping
/// when the error happens to look small.
const STUDENT: f64 = 1.25;

/// Weights are measured in another unit before squares of e to this leave the range of numbers.
const HIGHEST: f64 = 300.0;

/// Below this share of effective points the estimate means nothing.
const LEAST_EFFECTIVE: f64 = 0.05;
/// Tail index of the weights from which on their mean is not to be trusted, unless the tail holds next to nothing.
const HEAVIEST_TAIL: f64 = 0.7;
const UNSEEN: f64 = 0.02;
/// An error of the logarithm beyond this is no more than a guess.
const LARGEST_ERROR: f64 = 0.3;

/// Weights of all points, replicate by replicate.
#[derive(Debug, Default)]
pub(super) struct Replicates {
    ln_weights: [Vec<f64>; REPLICATES],
    /// Weights over that of the largest point in the first batch with any weight, e^`unit`.
    weights: [Vec<f64>; REPLICATES],
    unit: Option<f64>,
    tail: Vec<f64>,
}

/// The reported error of a mean over replicates, from their deviations from it.
pub(super) fn reported_error(deviations: [f64; REPLICATES]) -> f64 {
    let square: f64 = deviations.iter().map(|d| d * d).sum();
    STUDENT * (square / (REPLICATES * (REPLICATES - 1)) as f64).sqrt()
}

impl Replicates {
    pub(super) fn clear(&mut self) {
        self.ln_weights.iter_mut().chain(&mut self.weights).for_each(Vec::clear);
        self.unit = None;
    }

    pub(super) fn push(&mut self, replicate: usize, ln_weights: &[f64]) {
        let finite = |&w: &f64| if w.is_nan() { f64::NEG_INFINITY } else { w };
        let top = ln_weights.iter().map(finite).fold(f64::NEG_INFINITY, f64::max);
        // What came before the first point of any weight is 0 in every unit.
        let unit = *self.unit.get_or_insert(top);
        if unit == f64::NEG_INFINITY {
            self.unit = None;
        } else if top > unit + HIGHEST {
            self.change_unit(top);
        }
        let unit = self.unit.unwrap_or(0.0);
        self.ln_weights[replicate].extend(ln_weights.iter().map(finite));
        self.weights[replicate].extend(ln_weights.iter().map(|w| (finite(w) - unit).exp()));
    }

    fn change_unit(&mut self, unit: f64) {
        self.unit = Some(unit);
        for (weights, ln_weights) in self.weights.iter_mut().zip(&self.ln_weights) {
            weights.iter_mut().zip(ln_weights).for_each(|(w, ln)| *w = (ln - unit).exp());
        }
    }

    /// Log weights of a replicate.
    pub(super) fn of(&self, replicate: usize) -> &[f64] {
        &self.ln_weights[replicate]
    }

    /// Points of a replicate so far.
    pub(super) fn len(&self) -> usize {
        self.weights[0].len()
    }

    /// ln of the mean weight, and its error by the spread of the replicates.
    pub(super) fn mean(&self) -> (f64, f64) {
        let Some(unit) = self.unit else { return (f64::NEG_INFINITY, f64::INFINITY) };
        if !unit.is_finite() {
            return (unit, f64::INFINITY);
        }
        let n = self.len() as f64;
        let means = self.weights.each_ref().map(|w| w.iter().sum::<f64>() / n);
        let mean = means.iter().sum::<f64>() / REPLICATES as f64;
        (unit + mean.ln(), reported_error(means.map(|m| m - mean)) / mean)
    }

    /// The replicates' means over that of all, less 1; 0 if there is no weight.
    pub(super) fn deviations(&self) -> [f64; REPLICATES] {
        let means = self.weights.each_ref().map(|w| w.iter().sum::<f64>());
        let mean = means.iter().sum::<f64>() / REPLICATES as f64;
        means.map(|m| if mean > 0.0 { m / mean - 1.0 } else { 0.0 })
    }

    /// (Σw)²/(n Σw²).
    pub(super) fn effective(&self) -> f64 {
        let all = || self.weights.iter().flatten();
        let (sum, square) = (all().sum::<f64>(), all().map(|w| w * w).sum::<f64>());
        sum * sum / ((REPLICATES * self.len()) as f64 * square)
    }

    /// Shape k of the largest weights' Pareto law, and the largest weight's share of the sum.
    fn tail(&mut self) -> (f64, f64) {
        self.tail.clear();
        self.tail.extend(self.weights.iter().flatten());
        let sum: f64 = self.tail.iter().sum();
        let largest = self.tail.iter().copied().fold(0.0, f64::max);
        (tail_index(&mut self.tail), largest / sum)
    }

    /// The estimate, with `ln_constant` added to its logarithm.
    ///
    /// Replicates do not see what no point has found. Where the largest weights follow a law of infinite variance,
    /// k > ½, its mean beyond the largest one, about k/(1−k) of it, is added to the error.
    pub(super) fn estimate(&mut self, ln_constant: f64) -> Estimate {
        let (ln_mean, spread) = self.mean();
        let ln_density = ln_mean + ln_constant;
        if !spread.is_finite() {
            return Estimate { ln_density, ..Estimate::UNKNOWN };
        }
        let (shape, share) = self.tail();
        let unseen = if shape > 0.5 {
            let shape = shape.min(0.95);
            share * shape / (1.0 - shape)
        } else {
            0.0
        };
        let error = spread.hypot(unseen);
        let resolved = self.effective() >= LEAST_EFFECTIVE
            && error < LARGEST_ERROR
            && (shape < HEAVIEST_TAIL || unseen < UNSEEN);
        // A spread that cannot be believed is no error.
        Estimate { ln_density, error: if resolved { error } else { f64::INFINITY }, resolved }
    }
}

/// The shape k of a generalised Pareto law fitted to the largest weights.
///
/// # References
/// Zhang & Stephens (2009), "A New and Efficient Estimation Method for the Generalized Pareto Distribution",
/// Technometrics; its use for weights and the threshold .7: Vehtari et al. (2024), "Pareto Smoothed
/// Importance Sampling", JMLR.
fn tail_index(weights: &mut [f64]) -> f64 {
    let n = weights.len();
    let count = ((3.0 * (n as f64).sqrt()) as usize).min(n / 5);
    if count < 5 {
        return f64::INFINITY;
    }
    let (_, &mut cut, largest) = weights.select_nth_unstable_by(n - count - 1, f64::total_cmp);
    largest.sort_by(f64::total_cmp);
    let excess: Vec<f64> = largest.iter().map(|w| w - cut).collect();
    let (m, quarter) = (excess.len() as f64, excess[(excess.len() + 2) / 4 - 1]);
    let (last, first) = (excess[excess.len() - 1], quarter.max(1e-300));
    if last <= 0.0 {
        return f64::NEG_INFINITY;
    }
    // A posterior mean of θ = −k/σ over a lattice of m' values.
    let grid = 30 + (m.sqrt() as usize);
    let shape = |theta: f64| excess.iter().map(|x| (-theta * x).ln_1p()).sum::<f64>() / m;
    let candidates: Vec<(f64, f64)> = (1..=grid)
        .map(|j| {
            let place = 1.0 - (grid as f64 / (j as f64 - 0.5)).sqrt();
            let theta = 1.0 / last + place / (3.0 * first);
            let k = shape(theta);
            (theta, m * ((-theta / k).ln() - k - 1.0))
        })
        .collect();
    let best = candidates.iter().map(|c| c.1).fold(f64::NEG_INFINITY, f64::max);
    let (mut sum, mut total) = (0.0, 0.0);
    for (theta, level) in candidates {
        let weight = (level - best).exp();
        if weight.is_finite() {
            sum += weight * theta;
            total += weight;
        }
    }
    // A weak prior at ½, worth ten weights.
    (shape(sum / total) * m + 5.0) / (m + 10.0)
}
