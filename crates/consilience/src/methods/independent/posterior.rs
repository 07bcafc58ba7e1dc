//! The posterior of one Dirichlet: the outputs of a classifier for a true class.

use nalgebra::{DMatrix, DVector};

use super::config::{AlphaPrior, Independent};
use super::statistics::SufficientStatistics;
use crate::sampling::{Target, factorise, search_mode};
use consilience_numerics::log_space::log_sum_exp;
use consilience_numerics::special::{digamma, ln_gamma, trigamma};

/// The posterior of θ = ln α given n outputs with mean logarithms m.
///
/// ```text
/// ln p(α) = n [ln Γ(Σα) − Σ ln Γ(αₗ) + Σ αₗ mₗ] + Σ [(a−1) ln αₗ − b αₗ]
/// ```
///
/// with a Gamma(a, rate b) prior on every element; a = 1, b = 0 is flat. In θ every element gains
/// a factor αₗ. Concave in α. One evaluation costs O(J), whatever n is.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::methods) struct DirichletPosterior {
    n: f64,
    mean_ln: Vec<f64>,
    shape: f64,
    rate: f64,
    measure: Measure,
}

/// The coordinate whose density is meant: its mode and mean depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::methods) enum Measure {
    /// The density of α itself, for its mode.
    Alpha,
    /// The density of ln α, for sampling.
    LnAlpha,
}

/// Prior items never have a total concentration above this: the posterior of a classifier with
/// constant outputs would otherwise be unbounded.
const MAX_PRIOR_CONCENTRATION: f64 = 1e4;

/// −ln Σ e^m of a classifier whose outputs differ by rounding only.
pub(super) const CONSTANT: f64 = 1e-12;

impl DirichletPosterior {
    pub(in crate::methods) fn new(
        statistics: &SufficientStatistics,
        (classifier, class): (usize, usize),
        options: &Independent,
        measure: Measure,
    ) -> Self {
        let n = statistics.weight(classifier, class);
        let mean_ln = statistics.mean_ln(classifier, class);
        match options.alpha_prior {
            AlphaPrior::Paper => Self { n, mean_ln, shape: 1e-3, rate: 1e-3, measure },
            AlphaPrior::Pooled => {
                let means = means_per_class(statistics, classifier);
                let pooled = mean_of(&means, mean_ln.len());
                Self::pooled((n, mean_ln), pooled, options.prior_items, measure)
            }
        }
    }

    /// That of `n` outputs with mean logarithms `mean_ln` and `items` imagined outputs, whose mean
    /// logarithms are `pooled`.
    fn pooled(
        (n, mean_ln): (f64, Vec<f64>),
        pooled: Vec<f64>,
        items: f64,
        measure: Measure,
    ) -> Self {
        if -log_sum_exp(&pooled) < CONSTANT {
            // The outputs are constant: they are no evidence for any class.
            let mean_ln = dispersed(pooled, MAX_PRIOR_CONCENTRATION);
            return Self { n: items, mean_ln, shape: 1.0, rate: 0.0, measure };
        }
        let pooled = dispersed(pooled, MAX_PRIOR_CONCENTRATION);
        if n == 0.0 {
            return Self { n: items, mean_ln: pooled, shape: 1.0, rate: 0.0, measure };
        }
        let mix = |(own, pooled): (&f64, &f64)| (n * own + items * pooled) / (n + items);
        let mean_ln = mean_ln.iter().zip(&pooled).map(mix).collect();
        Self { n: n + items, mean_ln, shape: 1.0, rate: 0.0, measure }
    }

    /// The concentrations α at the mode, searched from a point nearby.
    pub(in crate::methods) fn mode_near(&self, alpha: &[f64]) -> Vec<f64> {
        let start: Vec<f64> = alpha.iter().map(|a| a.max(1e-6).ln()).collect();
        let (point, converged) = search_mode(self, &start);
        let point = if converged { point } else { search_mode(self, &self.start()).0 };
        point.iter().map(|theta| theta.exp()).collect()
    }

    /// The same made wider where the largest shape would be above `most`.
    pub(super) fn with_largest_shape(self, most: f64) -> Self {
        if most.is_infinite() {
            return self;
        }
        let ln_sum = log_sum_exp(&self.mean_ln);
        let share = self.mean_ln.iter().fold(0.0f64, |share, m| share.max((m - ln_sum).exp()));
        Self { mean_ln: dispersed(self.mean_ln, most / share), ..self }
    }

    /// A start near the mode: the mean from m, the total from −ln Σ e^m ≈ (J−1)/(2 Σα).
    pub(super) fn start(&self) -> Vec<f64> {
        let ln_sum = log_sum_exp(&self.mean_ln);
        let half = 0.5 * (self.mean_ln.len() - 1) as f64;
        let most = if self.rate > 0.0 { (self.n * half + 1.0) / self.rate } else { 1e7 };
        let total = half / (-ln_sum).max(1e-9);
        self.mean_ln.iter().map(|m| (total.min(most) * (m - ln_sum).exp()).max(1e-6).ln()).collect()
    }

    /// Whether the density of α is unbounded at 0, so that it has no mode. Near 0 it goes like
    /// ε^(n(J−1) + J(a−1)) along α = ε v.
    pub(super) fn has_no_mode(&self) -> bool {
        let j = self.mean_ln.len() as f64;
        self.measure == Measure::Alpha && self.n * (j - 1.0) + j * (self.shape - 1.0) <= 0.0
    }

    /// The Fisher information plus what the prior adds at the mode.
    fn rank_one(&self, point: &[f64]) -> RankOne {
        // Below e⁻³⁰⁰ nothing changes any more, and squares would underflow.
        let alpha = DVector::from_iterator(point.len(), point.iter().map(|x| x.max(-300.0).exp()));
        let total = alpha.sum();
        let prior = self.exponent().max(0.0);
        RankOne {
            diagonal: alpha.map(|alpha| self.n * square_times_trigamma(alpha) + prior),
            direction: alpha / total,
            size: self.n * square_times_trigamma(total),
        }
    }

    /// The exponent of α in the density, a − 1 or a.
    fn exponent(&self) -> f64 {
        match self.measure {
            Measure::Alpha => self.shape - 1.0,
            Measure::LnAlpha => self.shape,
        }
    }
}

impl Target for DirichletPosterior {
    fn dimension(&self) -> usize {
        self.mean_ln.len()
    }

    fn ln_density(&self, point: &[f64], gradient: &mut [f64]) -> f64 {
        let exponent = self.exponent();
        let total: f64 = point.iter().map(|theta| theta.exp()).sum();
        let digamma_total = digamma(total);
        let mut sum = self.n * ln_gamma(total);
        for ((theta, m), gradient) in point.iter().zip(&self.mean_ln).zip(gradient) {
            let alpha = theta.exp();
            sum += self.n * (alpha * m - ln_gamma(alpha)) - self.rate * alpha + exponent * theta;
            *gradient =
                alpha * (self.n * (digamma_total - digamma(alpha) + m) - self.rate) + exponent;
        }
        // Far out exp overflows or underflows: no density there.
        if sum.is_finite() { sum } else { f64::NEG_INFINITY }
    }

    fn curvature(&self, point: &[f64]) -> DMatrix<f64> {
        let RankOne { diagonal, direction, size } = self.rank_one(point);
        let n = diagonal.len();
        DMatrix::from_fn(n, n, |l, m| {
            let own = if l == m { diagonal[l] } else { 0.0 };
            own - size * direction[l] * direction[m]
        })
    }

    /// By the formula of Sherman and Morrison, in O(J).
    fn newton_step(&self, point: &[f64], gradient: &DVector<f64>) -> DVector<f64> {
        let RankOne { diagonal, direction, size } = self.rank_one(point);
        let step = gradient.component_div(&diagonal);
        let along = direction.component_div(&diagonal);
        let rest = 1.0 - size * direction.dot(&along);
        if rest > SMALLEST_REST {
            let share = size * direction.dot(&step) / rest;
            return step + along * share;
        }
        factorise(&self.curvature(point)).solve(gradient)
    }
}

/// Below this, the difference in the formula of Sherman and Morrison has lost too many digits.
const SMALLEST_REST: f64 = 1e-8;

/// The symmetric matrix diag(d) − s v vᵀ.
struct RankOne {
    diagonal: DVector<f64>,
    direction: DVector<f64>,
    size: f64,
}

/// α²ψ′(α), which tends to 1 at 0, where ψ′ itself overflows.
fn square_times_trigamma(alpha: f64) -> f64 {
    if alpha < 1.0 {
        1.0 + alpha * alpha * trigamma(1.0 + alpha)
    } else {
        alpha * alpha * trigamma(alpha)
    }
}

/// The mean logarithms of a classifier's outputs for every class that has any.
fn means_per_class(statistics: &SufficientStatistics, classifier: usize) -> Vec<Vec<f64>> {
    let classes = 0..statistics.class_counts().len();
    let known = classes.filter(|&class| statistics.count(classifier, class) > 0);
    known.map(|class| statistics.mean_ln(classifier, class)).collect()
}

/// The mean logarithms of one classifier's outputs, class by class, to leave single outputs out.
pub(in crate::methods) struct PooledMeans {
    /// Of every class; NaN without outputs.
    means: Vec<Vec<f64>>,
    /// The sum over the classes that have outputs, and their number.
    sum: Vec<f64>,
    n_classes: f64,
}

impl PooledMeans {
    pub(in crate::methods) fn of(statistics: &SufficientStatistics, classifier: usize) -> Self {
        let n_classes = statistics.class_counts().len();
        let means: Vec<Vec<f64>> =
            (0..n_classes).map(|class| statistics.mean_ln(classifier, class)).collect();
        let mut sum = vec![0.0; n_classes];
        let known = (0..n_classes).filter(|&class| statistics.count(classifier, class) > 0);
        let mut count = 0.0;
        for class in known {
            count += 1.0;
            sum.iter_mut().zip(&means[class]).for_each(|(sum, m)| *sum += m);
        }
        Self { means, sum, n_classes: count }
    }

    /// The posterior of a Dirichlet under the default prior without one output, of which `unit` copies are left out and
    /// whose logarithms are given; none if the classifier has no other output.
    pub(in crate::methods) fn without(
        &self,
        statistics: &SufficientStatistics,
        (classifier, class): (usize, usize),
        logs: &[f64],
        unit: f64,
    ) -> Option<DirichletPosterior> {
        let weight = statistics.weight(classifier, class);
        // Weights are exact sums, so that what is left of a single output is 0.
        let n = weight - unit;
        let own = self.means[class].iter().zip(logs);
        let mean_ln: Vec<f64> = own.map(|(m, log)| (weight * m - unit * log) / n).collect();
        let (mut pooled, mut count) = (self.sum.clone(), self.n_classes);
        pooled.iter_mut().zip(&self.means[class]).for_each(|(sum, m)| *sum -= m);
        if n > 0.0 {
            pooled.iter_mut().zip(&mean_ln).for_each(|(sum, m)| *sum += m);
        } else {
            count -= 1.0;
        }
        pooled.iter_mut().for_each(|sum| *sum /= count);
        let items = Independent::default().prior_items;
        let posterior = || DirichletPosterior::pooled((n, mean_ln), pooled, items, Measure::Alpha);
        (count > 0.0).then(posterior)
    }
}

/// The unweighted mean of vectors of this length.
fn mean_of(means: &[Vec<f64>], length: usize) -> Vec<f64> {
    let mut pooled = vec![0.0; length];
    for mean in means {
        pooled.iter_mut().zip(mean).for_each(|(sum, m)| *sum += m / means.len() as f64);
    }
    pooled
}

/// Mean logarithms of a Dirichlet with the same centre and a total of at most `most`, if `mean_ln` is
/// more concentrated than that.
fn dispersed(mean_ln: Vec<f64>, most: f64) -> Vec<f64> {
    let ln_sum = log_sum_exp(&mean_ln);
    let smallest = (mean_ln.len() - 1) as f64 / (2.0 * most);
    if -ln_sum >= smallest {
        return mean_ln;
    }
    let expected = |m: &f64| digamma(most * (m - ln_sum).exp()) - digamma(most);
    mean_ln.iter().map(expected).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampling::find_mode;

    fn posterior(measure: Measure) -> DirichletPosterior {
        let mean_ln = vec![-0.9, -1.5, -2.0];
        DirichletPosterior { n: 12.0, mean_ln, shape: 1.5, rate: 0.1, measure }
    }

    #[test]
    fn gradient_agrees_with_differences() {
        for measure in [Measure::Alpha, Measure::LnAlpha] {
            let target = posterior(measure);
            let point = [0.7, -0.4, 1.3];
            let mut gradient = [0.0; 3];
            target.ln_density(&point, &mut gradient);
            for l in 0..3 {
                let value = |shift: f64| {
                    let mut moved = point;
                    moved[l] += shift;
                    target.ln_density(&moved, &mut [0.0; 3])
                };
                let difference = (value(1e-5) - value(-1e-5)) / 2e-5;
                assert!((difference - gradient[l]).abs() < 1e-7, "{difference} {}", gradient[l]);
            }
        }
    }

    #[test]
    fn the_curvature_at_the_mode_is_the_hessian() {
        let target = posterior(Measure::LnAlpha);
        let mode = find_mode(&target, &target.start());
        assert!(mode.converged);
        let curvature = target.curvature(&mode.point);
        for l in 0..3 {
            let gradient = |shift: f64| {
                let mut moved = mode.point.clone();
                moved[l] += shift;
                let mut gradient = [0.0; 3];
                target.ln_density(&moved, &mut gradient);
                gradient
            };
            let (up, down) = (gradient(1e-5), gradient(-1e-5));
            for m in 0..3 {
                let hessian = (up[m] - down[m]) / 2e-5;
                assert!((hessian + curvature[(l, m)]).abs() < 1e-6, "{hessian}");
            }
        }
    }

    #[test]
    fn the_newton_step_solves_with_the_curvature() {
        for (measure, scale) in
            [(Measure::Alpha, 0.0), (Measure::LnAlpha, 0.0), (Measure::Alpha, 9.0)]
        {
            let target = posterior(measure);
            let point = [0.7, -0.4, 1.3].map(|theta| theta + scale);
            let gradient = DVector::from_vec(vec![0.3, -2.0, 1.1]);
            let step = target.newton_step(&point, &gradient);
            let back = target.curvature(&point) * step;
            assert!((back - gradient).amax() < 1e-9, "{scale}");
        }
    }

    /// At the mode under a flat prior, E ln x under the Dirichlet equals the mean logarithm.
    #[test]
    fn the_mode_matches_the_mean_logarithms() {
        for scale in [1e-2, 1.0, 1e3] {
            let alpha = [3.0 * scale, scale, 2.0 * scale];
            let total: f64 = alpha.iter().sum();
            let mean_ln = alpha.iter().map(|a| digamma(*a) - digamma(total)).collect();
            let target = DirichletPosterior {
                n: 10.0,
                mean_ln,
                shape: 1.0,
                rate: 0.0,
                measure: Measure::Alpha,
            };
            let mode = find_mode(&target, &target.start());
            for (theta, want) in mode.point.iter().zip(alpha) {
                assert!((theta.exp() / want - 1.0).abs() < 1e-7, "{} {want}", theta.exp());
            }
        }
    }
}
