//! A polynomial in place of one class's log likelihood, in the region where the posterior lives.
//!
//! Fitted by weighted least squares to values and gradients. As δ → 0 the likelihood is linear in
//! e^η, as δ → b often linear in η (or in e^−η, where the outputs tie), so three coordinates are
//! tried and the best is kept:
//!
//! ```text
//! w = η,   w = ln(1+e^η),   w = −ln(1+e^−η)
//! ```
//!
//! Far below, where δ has no effect any more, a prior may hold much of its mass. There all η are one:
//! polynomials and regions see ln(e^η + e^FLOOR) in place of η.

use nalgebra::{DMatrix, DVector};

use super::pair_likelihood::{Evaluation, expit};
use super::polynomial::{Polynomial, n_terms};
use consilience_numerics::special::normal_quantile;

/// Points of a design are this much wider than the posterior.
const OVERDISPERSION: f64 = 1.35;
/// The region ends at this many standard deviations (of the posterior, not of the design).
const RADIUS: f64 = 5.0;
/// A drop of the log posterior by this much halves a point's weight.
const HALF_WEIGHT: f64 = 8.0;
/// Logit of a share δ/b without effect.
const FLOOR: f64 = -9.0;
/// No coordinate of a design is wider or farther out than this.
const WIDEST: f64 = 2.0;
const FURTHEST: f64 = 17.0;

/// ln(e^η + e^FLOOR).
pub(super) fn lifted(eta: f64) -> f64 {
    let above = eta - FLOOR;
    FLOOR + above.max(0.0) + (-above.abs()).exp().ln_1p()
}

/// A point where the likelihood is known.
#[derive(Debug, Clone)]
pub(super) struct EvaluatedPoint {
    pub(super) eta: Vec<f64>,
    pub(super) value: f64,
    pub(super) gradient: Vec<f64>,
    /// Log posterior of the class there, up to a constant: for the weight.
    pub(super) ln_posterior: f64,
}

impl EvaluatedPoint {
    pub(super) fn new(eta: &[f64], evaluation: Evaluation, ln_prior: f64) -> Self {
        Self {
            eta: eta.to_vec(),
            ln_posterior: evaluation.value + ln_prior,
            value: evaluation.value,
            gradient: evaluation.gradient,
        }
    }
}

/// The region where a class's posterior lives: centre and Cholesky factor of the covariance.
#[derive(Debug, Clone)]
pub(super) struct Region {
    pub(super) centre: DVector<f64>,
    pub(super) factor: DMatrix<f64>,
}

impl Region {
    /// Of a centre and covariance of lifted η, no coordinate wider than [`WIDEST`].
    pub(super) fn new(centre: &[f64], covariance: &DMatrix<f64>) -> Self {
        let shrink: Vec<f64> =
            (0..centre.len()).map(|l| (WIDEST / covariance[(l, l)].sqrt()).min(1.0)).collect();
        let matrix = DMatrix::from_fn(centre.len(), centre.len(), |l, m| {
            covariance[(l, m)] * shrink[l] * shrink[m]
        });
        let factor = super::mode_search::factorise(&matrix).l();
        let centre = centre.iter().map(|x| x.min(FURTHEST));
        Self { centre: DVector::from_iterator(shrink.len(), centre), factor }
    }

    /// Points `from..to` of a quasi-random design: a Kronecker sequence turned into normals.
    pub(super) fn design(&self, from: usize, to: usize) -> Vec<Vec<f64>> {
        let d = self.centre.len();
        let root = plastic(d);
        let point = |i: usize| {
            let q = DVector::from_fn(d, |l, _| {
                let place = (0.5 + (i + 1) as f64 * root.powf(-(l as f64 + 1.0))).fract();
                OVERDISPERSION * normal_quantile(place.clamp(1e-4, 1.0 - 1e-4))
            });
            let eta = &self.centre + &self.factor * q;
            eta.iter().map(|x| x.clamp(FLOOR - 2.0, FURTHEST + 2.0)).collect()
        };
        (from..to).map(point).collect()
    }

    /// Standard deviation of a coordinate.
    fn width(&self, l: usize) -> f64 {
        self.factor.row(l).norm()
    }

    /// Distance from the centre in standard deviations.
    fn distance(&self, eta: &[f64]) -> f64 {
        let lifted = DVector::from_iterator(eta.len(), eta.iter().map(|x| lifted(*x)));
        let mut z = lifted - &self.centre;
        self.factor.solve_lower_triangular_mut(&mut z);
        z.norm()
    }
}

/// The root of x^(d+1) = x + 1: its powers make an evenly spread sequence in d dimensions.
fn plastic(d: usize) -> f64 {
    (0..60).fold(1.5f64, |x, _| (1.0 + x).powf(1.0 / (d as f64 + 1.0)))
}

/// The coordinate in which the polynomial is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Coordinate {
    Logit,
    Low,
    High,
}

impl Coordinate {
    fn value(self, eta: f64) -> f64 {
        let eta = lifted(eta);
        let softplus = |x: f64| x.max(0.0) + (-x.abs()).exp().ln_1p();
        match self {
            Self::Logit => eta,
            Self::Low => softplus(eta),
            Self::High => -softplus(-eta),
        }
    }

    fn slope(self, eta: f64) -> f64 {
        let lift = expit(eta - FLOOR);
        match self {
            Self::Logit => lift,
            Self::Low => lift * expit(lifted(eta)),
            Self::High => lift * expit(-lifted(eta)),
        }
    }
}

/// The polynomial with its coordinates.
#[derive(Debug, Clone)]
pub(super) struct PolynomialSurrogate {
    coordinate: Coordinate,
    centre: DVector<f64>,
    factor: DMatrix<f64>,
    polynomial: Polynomial,
    region: Region,
    /// Weighted root mean square residual of the fit.
    residual: f64,
}

/// The degree of a first polynomial in a number of components.
fn first_degree(n: usize) -> usize {
    match n {
        0..=3 => 4,
        4..=6 => 3,
        _ => 2,
    }
}

/// The highest degree for which there are twice the numbers needed, at most two above the first.
fn degree(n: usize, n_known: usize) -> usize {
    let first = first_degree(n);
    let fits = |degree: &usize| 2 * n_terms(n, *degree) <= n_known * (n + 1);
    (first + 1..=first + 2).take_while(fits).last().unwrap_or(first)
}

/// Points of a first design: twice the numbers needed.
pub(super) fn n_points(n: usize) -> usize {
    (2 * n_terms(n, first_degree(n))).div_ceil(n + 1) + 2
}

impl PolynomialSurrogate {
    /// The best of the three coordinates.
    pub(super) fn fit(known: &[EvaluatedPoint], region: &Region) -> Self {
        [Coordinate::Logit, Coordinate::Low, Coordinate::High]
            .into_iter()
            .map(|coordinate| Self::fit_in(coordinate, known, region))
            .reduce(|a, b| if b.residual < a.residual { b } else { a })
            .expect("three coordinates")
    }

    fn fit_in(coordinate: Coordinate, known: &[EvaluatedPoint], region: &Region) -> Self {
        let n = region.centre.len();
        let top = known.iter().map(|k| k.ln_posterior).fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = known
            .iter()
            .map(|k| 1.0 / (1.0 + ((top - k.ln_posterior) / HALF_WEIGHT).powi(2)))
            .collect();
        let (centre, factor) = standardise(coordinate, known, &weights);
        let polynomial = Polynomial::zero(n, degree(n, known.len()));
        let mut surrogate =
            Self { coordinate, centre, factor, polynomial, region: region.clone(), residual: 0.0 };
        surrogate.solve(known, &weights);
        surrogate
    }

    fn solve(&mut self, known: &[EvaluatedPoint], weights: &[f64]) {
        let (n, terms) = (self.centre.len(), self.polynomial.n_terms());
        let (mut rows, mut right, mut total) = (Vec::new(), Vec::new(), 0.0);
        let mut inverse = DMatrix::identity(n, n);
        self.factor.solve_lower_triangular_mut(&mut inverse);
        for (k, &weight) in known.iter().zip(weights).filter(|(k, _)| k.value.is_finite()) {
            let v = self.standardised(&k.eta);
            let basis = self.polynomial.basis(v.as_slice());
            rows.push(basis.iter().map(|b| weight * b).collect::<Vec<_>>());
            right.push(weight * k.value);
            let slopes: Vec<Vec<f64>> =
                (0..n).map(|m| self.polynomial.basis_slopes(v.as_slice(), &basis, m)).collect();
            for l in 0..n {
                // slopes in η, in units of the region's width
                let scale = weight * self.region.width(l);
                let along = self.coordinate.slope(k.eta[l]) * scale;
                let row =
                    |t: usize| (0..n).map(|m| inverse[(m, l)] * slopes[m][t]).sum::<f64>() * along;
                rows.push((0..terms).map(row).collect());
                right.push(scale * k.gradient[l]);
            }
            total += weight * weight;
        }
        let matrix = DMatrix::from_fn(rows.len(), terms, |i, t| rows[i][t]);
        let right = DVector::from_vec(right);
        let solution = matrix.clone().svd(true, true).solve(&right, 1e-10).expect("both asked for");
        // values alone: gradients have other units
        let misfit = &matrix * &solution - &right;
        let values = misfit.iter().step_by(n + 1).map(|e| e * e).sum::<f64>();
        self.residual = (values / f64::max(total, 1e-300)).sqrt();
        self.polynomial.coefficients = solution.iter().copied().collect();
    }

    fn standardised(&self, eta: &[f64]) -> DVector<f64> {
        let w = DVector::from_iterator(eta.len(), eta.iter().map(|x| self.coordinate.value(*x)));
        let mut v = w - &self.centre;
        self.factor.solve_lower_triangular_mut(&mut v);
        v
    }

    /// The log likelihood's stand-in; writes its gradient in η. −∞ outside its region.
    pub(super) fn value(&self, eta: &[f64], gradient: &mut [f64]) -> f64 {
        if !(self.region.distance(eta) < RADIUS) {
            return f64::NEG_INFINITY;
        }
        let v = self.standardised(eta);
        let mut slopes = DVector::zeros(eta.len());
        let value = self.polynomial.value(v.as_slice(), slopes.as_mut_slice());
        self.factor.tr_solve_lower_triangular_mut(&mut slopes);
        for ((out, slope), eta) in gradient.iter_mut().zip(&slopes).zip(eta) {
            *out = slope * self.coordinate.slope(*eta);
        }
        value
    }
}

/// Weighted mean and Cholesky factor of the covariance of the points.
fn standardise(
    coordinate: Coordinate,
    known: &[EvaluatedPoint],
    weights: &[f64],
) -> (DVector<f64>, DMatrix<f64>) {
    let n = known[0].eta.len();
    let total: f64 = weights.iter().sum();
    let w = |k: &EvaluatedPoint| DVector::from_fn(n, |l, _| coordinate.value(k.eta[l]));
    let mut centre = DVector::zeros(n);
    known.iter().zip(weights).for_each(|(k, weight)| centre += w(k) * (*weight / total));
    let mut covariance = DMatrix::zeros(n, n);
    for (k, weight) in known.iter().zip(weights) {
        let off = w(k) - &centre;
        covariance += &off * off.transpose() * (*weight / total);
    }
    (centre, super::mode_search::factorise(&covariance).l())
}
