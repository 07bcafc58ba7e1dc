//! The prior of δ as a density of η, with its derivatives.

use nalgebra::DMatrix;

use super::config::DeltaPrior;
use super::pair_likelihood::expit;

/// Shape and rate of the paper's gamma prior.
const PAPER: f64 = 1e-3;
/// η at which the paper's prior is cut off smoothly: δ is 10⁻⁶ of its bound.
const WALL: f64 = -14.0;

/// Value, slope and negative second derivative in one coordinate.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Derivatives {
    value: f64,
    slope: f64,
    curvature: f64,
}

/// ln of the logistic density e^−x / (1+e^−x)²: x is the logit of something uniform.
fn logistic(x: f64) -> Derivatives {
    let p = expit(x);
    let value = -x.abs() - 2.0 * (-x.abs()).exp().ln_1p();
    Derivatives { value, slope: 1.0 - 2.0 * p, curvature: 2.0 * p * (1.0 - p) }
}

/// The prior of one η with bound b; μ matters only where priors are pooled.
fn element(prior: DeltaPrior, eta: f64, bound: f64, mu: f64) -> Derivatives {
    match prior {
        DeltaPrior::Pooled => {
            let d = eta - mu;
            Derivatives { value: -0.5 * d * d, slope: -d, curvature: 1.0 }
        }
        DeltaPrior::Uniform => logistic(eta),
        DeltaPrior::Paper => paper(eta, bound),
    }
}

/// δ^a e^(−bδ) (1−p) with p = expit(η): the gamma density times dδ/dη.
fn paper(eta: f64, bound: f64) -> Derivatives {
    let p = expit(eta);
    let q = expit(-eta);
    let delta = bound * p;
    let below = (WALL - eta).max(0.0);
    let ln_p = if eta > 0.0 { -(-eta).exp().ln_1p() } else { eta - eta.exp().ln_1p() };
    let ln_q = ln_p - eta;
    let slope = PAPER * q - PAPER * delta * q - p;
    let bend = PAPER * p * q + PAPER * delta * q * (q - p) + p * q;
    Derivatives {
        value: PAPER * (bound.ln() + ln_p) - PAPER * delta + ln_q - 0.5 * below * below,
        slope: slope + below,
        curvature: bend + if below > 0.0 { 1.0 } else { 0.0 },
    }
}

/// The prior of all η and of their prior means μ. A point is η by class, component and part, followed by
/// μ if the prior is pooled: one of first parts, and one of all others.
#[derive(Debug, Clone)]
pub(super) struct EtaPrior {
    kind: DeltaPrior,
    /// The bound b of every η.
    bounds: Vec<f64>,
    n_parts: usize,
}

impl EtaPrior {
    /// From the bounds of all η, of which every component has `n_parts`.
    pub(super) fn new(kind: DeltaPrior, bounds: Vec<f64>, n_parts: usize) -> Self {
        Self { kind, bounds, n_parts }
    }

    /// Number of coordinates η.
    pub(super) fn n_eta(&self) -> usize {
        self.bounds.len()
    }

    /// Number of coordinates of a point.
    pub(super) fn dimension(&self) -> usize {
        self.n_eta() + if self.kind == DeltaPrior::Pooled { self.n_parts.min(2) } else { 0 }
    }

    /// Index of the prior mean μ of the i-th η.
    fn mean_of(&self, i: usize) -> usize {
        self.n_eta() + usize::from(!i.is_multiple_of(self.n_parts))
    }

    /// The prior means μ of a point.
    pub(super) fn means<'p>(&self, point: &'p [f64]) -> &'p [f64] {
        &point[self.n_eta()..]
    }

    /// The prior of the i-th η.
    fn element(&self, i: usize, eta: f64, means: &[f64]) -> Derivatives {
        let mu = means.get(self.mean_of(i) - self.n_eta()).copied().unwrap_or(0.0);
        element(self.kind, eta, self.bounds[i], mu)
    }

    /// Appends the most probable μ given η.
    pub(super) fn complete(&self, mut eta: Vec<f64>) -> Vec<f64> {
        for mean in self.n_eta()..self.dimension() {
            let own = (0..self.n_eta()).filter(|i| self.mean_of(*i) == mean);
            let (sum, n) = own.fold((0.0, 0.0), |(sum, n), i| (sum + eta[i], n + 1.0));
            eta.push(sum / n);
        }
        eta
    }

    /// Log prior density; writes its gradient.
    pub(super) fn ln_density(&self, point: &[f64], gradient: &mut [f64]) -> f64 {
        let mut sum = 0.0;
        gradient[self.n_eta()..self.dimension()].fill(0.0);
        for i in 0..self.n_eta() {
            let (local, mean) = (self.element(i, point[i], self.means(point)), self.mean_of(i));
            sum += local.value;
            gradient[i] = local.slope;
            if mean < self.dimension() {
                gradient[mean] -= local.slope;
            }
        }
        for mean in self.n_eta()..self.dimension() {
            let local = logistic(point[mean]);
            sum += local.value;
            gradient[mean] += local.slope;
        }
        sum
    }

    /// Log prior density of consecutive η, the first of which has this index, given the prior means.
    pub(super) fn ln_density_of(&self, first: usize, eta: &[f64], means: &[f64]) -> f64 {
        eta.iter().enumerate().map(|(i, eta)| self.element(first + i, *eta, means).value).sum()
    }

    /// A positive semidefinite approximation of the negative Hessian.
    pub(super) fn curvature(&self, point: &[f64]) -> DMatrix<f64> {
        let d = self.dimension();
        let mut matrix = DMatrix::zeros(d, d);
        for i in 0..self.n_eta() {
            let local = self.element(i, point[i], self.means(point));
            let (bend, mean) = (local.curvature.max(0.0), self.mean_of(i));
            matrix[(i, i)] = bend;
            if mean < d {
                matrix[(mean, mean)] += bend;
                matrix[(i, mean)] = -bend;
                matrix[(mean, i)] = -bend;
            }
        }
        for mean in self.n_eta()..d {
            matrix[(mean, mean)] += logistic(point[mean]).curvature;
        }
        matrix
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derivatives_agree_with_differences() {
        for prior in [DeltaPrior::Pooled, DeltaPrior::Uniform, DeltaPrior::Paper] {
            for eta in [-15.5, -8.0, -1.0, 0.3, 2.0, 9.0] {
                let at = |by: f64| element(prior, eta + by, 3.0, 0.4);
                let (low, here, high) = (at(-1e-4), at(0.0), at(1e-4));
                let slope = (high.value - low.value) / 2e-4;
                let curvature = (low.slope - high.slope) / 2e-4;
                assert!((slope - here.slope).abs() < 1e-6, "{prior:?} {eta}: {slope} {here:?}");
                assert!((curvature - here.curvature).abs() < 1e-6, "{prior:?} {eta} {curvature}");
            }
        }
    }

    /// Two components of three parts, of which the first has a prior mean of its own.
    #[test]
    fn derivatives_of_the_whole_prior_agree_with_differences() {
        let prior = EtaPrior::new(DeltaPrior::Pooled, vec![1.0; 6], 3);
        let point = prior.complete(vec![0.25, -1.0, 2.0, 0.75, 0.5, -0.5]);
        assert_eq!((prior.dimension(), &point[6..]), (8, &[0.5, 0.25][..]));
        let gradient_at = |l: usize, by: f64| {
            let (mut moved, mut gradient) = (point.clone(), vec![0.0; 8]);
            moved[l] += by;
            (prior.ln_density(&moved, &mut gradient), gradient)
        };
        let (gradient, curvature) = (gradient_at(0, 0.0).1, prior.curvature(&point));
        for l in 0..8 {
            let (low, high) = (gradient_at(l, -1e-4), gradient_at(l, 1e-4));
            assert!(((high.0 - low.0) / 2e-4 - gradient[l]).abs() < 1e-6, "{l}");
            for m in 0..8 {
                let difference = (low.1[m] - high.1[m]) / 2e-4;
                assert!((difference - curvature[(l, m)]).abs() < 1e-6, "{l} {m}");
            }
        }
    }
}
