//! The mean of importance weights over independent replicates, with its error.

use pulp::{Arch, Simd, WithSimd};

use super::constants::{
    ERROR_FACTOR, MAX_ERROR, MAX_LN_WEIGHT, MAX_TAIL_INDEX, MIN_EFFECTIVE, NEGLIGIBLE_UNSEEN,
    REPLICATES,
};
use crate::Estimate;
use consilience_numerics::vector::{EXP_UNDERFLOW, exp, fma};

/// Weights of all points, replicate by replicate, and their sums.
#[derive(Debug, Default)]
pub(super) struct Replicates {
    /// Weights divided by e^`unit`, the largest weight of the first batch with any weight.
    weights: [Vec<f64>; REPLICATES],
    sums: [f64; REPLICATES],
    /// Σw² over all replicates.
    square: f64,
    unit: Option<f64>,
    tail: Vec<f64>,
    arch: Arch,
}

/// The reported error of a mean over replicates, from their deviations from it.
pub(super) fn reported_error(deviations: [f64; REPLICATES]) -> f64 {
    let square: f64 = deviations.iter().map(|d| d * d).sum();
    ERROR_FACTOR * (square / (REPLICATES * (REPLICATES - 1)) as f64).sqrt()
}

impl Replicates {
    pub(super) fn clear(&mut self) {
        self.weights.iter_mut().for_each(Vec::clear);
        (self.sums, self.square, self.unit) = ([0.0; REPLICATES], 0.0, None);
    }

    pub(super) fn push(&mut self, replicate: usize, ln_weights: &[f64]) {
        // `f64::max` ignores NaN.
        let top = ln_weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        // Weights before the first positive one are 0 in every unit.
        let unit = *self.unit.get_or_insert(top);
        if unit == f64::NEG_INFINITY {
            self.unit = None;
        } else if top > unit + MAX_LN_WEIGHT {
            self.change_unit(top);
        }
        let unit = self.unit.unwrap_or(0.0);
        let weights = &mut self.weights[replicate];
        let before = weights.len();
        weights.resize(before + ln_weights.len(), 0.0);
        let weights = &mut weights[before..];
        let [sum, square] = self.arch.dispatch(Exponentials { ln_weights, unit, weights });
        self.sums[replicate] += sum;
        self.square += square;
    }

    fn change_unit(&mut self, unit: f64) {
        let scale = self.unit.map_or(0.0, |old| (old - unit).exp());
        self.unit = Some(unit);
        self.weights.iter_mut().flatten().chain(&mut self.sums).for_each(|w| *w *= scale);
        self.square *= scale * scale;
    }

    /// Weights of a replicate's points divided by the mean weight of all points.
    pub(super) fn relative(&self, replicate: usize) -> impl Iterator<Item = f64> {
        let points = (REPLICATES * self.len()) as f64;
        let scale = points / self.sums.iter().sum::<f64>();
        self.weights[replicate].iter().map(move |w| w * scale)
    }

    /// Number of points per replicate so far.
    pub(super) fn len(&self) -> usize {
        self.weights[0].len()
    }

    /// ln of the mean weight, and its error estimated from the spread of the replicates.
    pub(super) fn mean(&self) -> (f64, f64) {
        let Some(unit) = self.unit else { return (f64::NEG_INFINITY, f64::INFINITY) };
        if !unit.is_finite() {
            return (unit, f64::INFINITY);
        }
        let n = self.len() as f64;
        let means = self.sums.map(|sum| sum / n);
        let mean = means.iter().sum::<f64>() / REPLICATES as f64;
        (unit + mean.ln(), reported_error(means.map(|m| m - mean)) / mean)
    }

    /// Relative deviations of the replicates' means from the mean of all; 0 if there is no weight.
    pub(super) fn deviations(&self) -> [f64; REPLICATES] {
        let mean = self.sums.iter().sum::<f64>() / REPLICATES as f64;
        self.sums.map(|sum| if mean > 0.0 { sum / mean - 1.0 } else { 0.0 })
    }

    /// The effective fraction of the points, (Σw)²/(n Σw²).
    pub(super) fn effective(&self) -> f64 {
        let sum: f64 = self.sums.iter().sum();
        sum * sum / ((REPLICATES * self.len()) as f64 * self.square)
    }

    /// Tail index of the largest weights, and the share of the largest weight in the sum.
    fn tail(&mut self) -> (f64, f64) {
        self.tail.clear();
        self.weights.iter().for_each(|weights| self.tail.extend_from_slice(weights));
        let sum: f64 = self.sums.iter().sum();
        let largest = self.tail.iter().copied().fold(0.0, f64::max);
        (tail_index(&mut self.tail), largest / sum)
    }

    /// The estimate, with `ln_constant` added to its logarithm.
    ///
    /// The spread of the replicates does not include mass that no point has found. If the largest weights follow a
    /// distribution of infinite variance, k > ½, its expected mass beyond the largest weight, about k/(1−k) of that
    /// weight, is added to the error.
    pub(super) fn estimate(&mut self, ln_constant: f64) -> Estimate {
        let (ln_mean, spread) = self.mean();
        let ln_density = ln_mean + ln_constant;
        if !spread.is_finite() {
            return Estimate { ln_density, ..Estimate::UNRESOLVED };
        }
        let (shape, share) = self.tail();
        let unseen = if shape > 0.5 {
            let shape = shape.min(0.95);
            share * shape / (1.0 - shape)
        } else {
            0.0
        };
        let error = spread.hypot(unseen);
        let resolved = self.effective() >= MIN_EFFECTIVE
            && error < MAX_ERROR
            && (shape < MAX_TAIL_INDEX || unseen < NEGLIGIBLE_UNSEEN);
        Estimate { ln_density, error: if resolved { error } else { f64::INFINITY } }
    }
}

/// Computes e^(ln weight − unit) of every point; returns their sum and the sum of their squares. NaN counts as weight
/// 0.
struct Exponentials<'a> {
    ln_weights: &'a [f64],
    unit: f64,
    weights: &'a mut [f64],
}

impl WithSimd for Exponentials<'_> {
    type Output = [f64; 2];

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> [f64; 2] {
        let (ln_weights, last) = S::as_simd_f64s(self.ln_weights);
        let (weights, last_weights) = S::as_mut_simd_f64s(self.weights);
        let unit = simd.splat_f64s(self.unit);
        let mut sums = [simd.splat_f64s(0.0); 2];
        for (weight, ln_weight) in weights.iter_mut().zip(ln_weights) {
            let relative = simd.sub_f64s(*ln_weight, unit);
            let number = simd.equal_f64s(relative, relative);
            let nothing = simd.splat_f64s(EXP_UNDERFLOW);
            *weight = exp(simd, simd.select_f64s(number, relative, nothing));
            sums = [simd.add_f64s(sums[0], *weight), fma(simd, *weight, *weight, sums[1])];
        }
        let [mut sum, mut square] = sums.map(|sum| simd.reduce_sum_f64s(sum));
        for (weight, ln_weight) in last_weights.iter_mut().zip(last) {
            *weight = (ln_weight - self.unit).max(EXP_UNDERFLOW).exp();
            sum += *weight;
            square += *weight * *weight;
        }
        [sum, square]
    }
}

/// The shape k of a generalised Pareto distribution fitted to the largest weights.
///
/// # References
/// Zhang & Stephens (2009), "A New and Efficient Estimation Method for the Generalized Pareto Distribution",
/// Technometrics. For importance weights, and for the threshold 0.7: Vehtari et al. (2024), "Pareto Smoothed
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
    // The posterior mean of θ = −k/σ over a grid.
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
    // A weak prior at ½ that counts as ten weights.
    (shape(sum / total) * m + 5.0) / (m + 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use consilience_numerics::log_space::log_sum_exp;
    use consilience_numerics::special::normal_quantile;
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    /// Batches of eleven points, the first without any weight, the others e^350 apart, with a NaN in each.
    #[test]
    fn running_sums_are_those_of_all_weights() {
        let mut replicates = Replicates::default();
        let mut all = vec![Vec::new(); REPLICATES];
        for batch in 0..4 {
            for (r, all) in all.iter_mut().enumerate() {
                let place =
                    |i: usize| 350.0 * f64::from(batch) + ((7 * i + 3 * r) % 11) as f64 * 0.1;
                let mut ln: Vec<f64> = (0..11).map(place).collect();
                ln[r % 11] = f64::NAN;
                if batch == 0 {
                    ln.fill(f64::NEG_INFINITY);
                }
                replicates.push(r, &ln);
                all.extend(ln.iter().map(|w| if w.is_nan() { f64::NEG_INFINITY } else { *w }));
            }
        }
        let n = all[0].len() as f64;
        let ln_means: Vec<f64> = all.iter().map(|ln| log_sum_exp(ln) - n.ln()).collect();
        let ln_mean = log_sum_exp(&ln_means) - (REPLICATES as f64).ln();
        let want = reported_error(std::array::from_fn(|r| (ln_means[r] - ln_mean).exp() - 1.0));
        let (got, error) = replicates.mean();
        assert!((got - ln_mean).abs() < 1e-12, "{got}, not {ln_mean}");
        assert!((error / want - 1.0).abs() < 1e-10, "{error}, not {want}");
        let twice: Vec<f64> = all.iter().flatten().map(|ln| 2.0 * ln).collect();
        let effective = (2.0 * ln_mean - log_sum_exp(&twice)).exp() * REPLICATES as f64 * n;
        assert!((replicates.effective() / effective - 1.0).abs() < 1e-10);
        let relative: f64 = (0..REPLICATES).flat_map(|r| replicates.relative(r)).sum();
        assert!((relative / (REPLICATES as f64 * n) - 1.0).abs() < 1e-12);
    }

    /// An estimate from weights, the same number per replicate.
    fn estimate(weights: impl Fn(usize, usize) -> f64, n: usize) -> Estimate {
        let mut replicates = Replicates::default();
        for r in 0..REPLICATES {
            let ln_weights: Vec<f64> = (0..n).map(|i| weights(r, i).ln()).collect();
            replicates.push(r, &ln_weights);
        }
        replicates.estimate(0.0)
    }

    /// Two reported errors cover the mean of normal replicates in 97.55 % of the cases, P(|t| < 2·1.25) with 15 degrees
    /// of freedom (numerical integration of its density). 20 000 cases have a standard error of 0.11 %; the bound is
    /// four standard errors.
    #[test]
    fn two_reported_errors_cover_the_mean() {
        let mut rng = ChaCha8Rng::seed_from_u64(9);
        let cases = 20_000;
        let covered = (0..cases).filter(|_| {
            let normal = |_| normal_quantile(rng.random());
            let draws: [f64; REPLICATES] = std::array::from_fn(normal);
            let mean = draws.iter().sum::<f64>() / REPLICATES as f64;
            mean.abs() < 2.0 * reported_error(draws.map(|d| d - mean))
        });
        let share = covered.count() as f64 / f64::from(cases);
        assert!((share - 0.9755).abs() < 0.0044, "{share}");
    }

    /// Equal weights on a part of the points: this part is the effective fraction.
    #[test]
    fn few_effective_points_are_not_resolved() {
        let on_part =
            |count: usize| estimate(|_, i| if i < count { 1.0 } else { 0.0 }, 1000).is_resolved();
        assert!(on_part(80) && !on_part(35));
    }

    /// Replicates whose means are 1 ± c.
    #[test]
    fn large_errors_are_not_resolved() {
        let spread = |c: f64| estimate(|r, _| if r % 2 == 0 { 1.0 + c } else { 1.0 - c }, 100);
        // The standard error of 16 replicates is c/√15, the reported error 1.25 times that.
        let [small, large] = [0.6, 0.98].map(spread);
        assert!((small.error - 1.25 * 0.6 / 15f64.sqrt()).abs() < 1e-12, "{small:?}");
        assert!(small.is_resolved() && !large.is_resolved(), "{small:?} {large:?}");
    }

    /// Weights 1 − c + c u^−k at equidistant u, whose tail index is k.
    fn pareto(c: f64, k: f64) -> Estimate {
        let n = 64;
        let u = |r: usize, i: usize| ((i * REPLICATES + r) as f64 + 0.5) / (n * REPLICATES) as f64;
        estimate(|r, i| 1.0 - c + c * u(r, i).powf(-k), n)
    }

    #[test]
    fn heavy_tails_are_not_resolved() {
        assert!(pareto(1.0, 0.6).is_resolved() && !pareto(1.0, 0.75).is_resolved());
    }

    /// The relative mass beyond the largest weight is about 0.017 and 0.027.
    #[test]
    fn heavy_tails_with_little_mass_are_resolved() {
        assert!(pareto(0.0025, 0.9).is_resolved() && !pareto(0.004, 0.9).is_resolved());
    }
}
