//! A polynomial in place of one class's log likelihood, valid where the posterior has its mass.
//!
//! It is fitted by weighted least squares to values and gradients. As δ → 0 the log likelihood is
//! linear in e^η. As δ → b it is often linear in η, or in e^−η if outputs tie. Three coordinates are
//! therefore tried, and the one with the smallest residual is used:
//!
//! ```text
//! w = η,   w = ln(1+e^η),   w = −ln(1+e^−η)
//! ```
//!
//! Far below η₀ = [`NO_EFFECT_LOGIT`] δ has no effect on the likelihood, although a prior may have much
//! of its mass there. Polynomials and regions therefore use ln(e^η + e^η₀) in place of η.

use nalgebra::{DMatrix, DVector};

use super::constants::design::NO_EFFECT_LOGIT;
use super::constants::polynomial::{HALF_WEIGHT_DROP, MANY_ITEMS, MOST_TERMS, RADIUS};
use super::gaussian::{Region, factorise};
use super::pair_likelihood::{Evaluation, expit};
use super::polynomial::{Polynomial, n_terms};

/// ln(e^η + e^η₀) with η₀ = [`NO_EFFECT_LOGIT`].
pub(super) fn floored_logit(eta: f64) -> f64 {
    let above = eta - NO_EFFECT_LOGIT;
    NO_EFFECT_LOGIT + above.max(0.0) + (-above.abs()).exp().ln_1p()
}

/// The distance of η from the centre of a region, in standard deviations.
fn distance(region: &Region, eta: &[f64]) -> f64 {
    let floored = DVector::from_iterator(eta.len(), eta.iter().map(|x| floored_logit(*x)));
    let mut z = floored - &region.centre;
    region.factor.solve_lower_triangular_mut(&mut z);
    z.norm()
}

/// A point with the log likelihood and its gradient.
#[derive(Debug, Clone)]
pub(super) struct EvaluatedPoint {
    pub(super) eta: Vec<f64>,
    pub(super) value: f64,
    pub(super) gradient: Vec<f64>,
    /// Log posterior of the class up to a constant; it sets the weight in the fit.
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

/// The coordinate in which the polynomial is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Coordinate {
    Logit,
    Low,
    High,
}

impl Coordinate {
    fn value(self, eta: f64) -> f64 {
        let eta = floored_logit(eta);
        let softplus = |x: f64| x.max(0.0) + (-x.abs()).exp().ln_1p();
        match self {
            Self::Logit => eta,
            Self::Low => softplus(eta),
            Self::High => -softplus(-eta),
        }
    }

    fn slope(self, eta: f64) -> f64 {
        let slope = expit(eta - NO_EFFECT_LOGIT);
        match self {
            Self::Logit => slope,
            Self::Low => slope * expit(floored_logit(eta)),
            Self::High => slope * expit(-floored_logit(eta)),
        }
    }
}

/// A polynomial with its coordinates.
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

/// The degree of the first polynomial in `n` components. The more items, the more the likelihood resembles a
/// normal density.
fn first_degree(n: usize, n_items: usize) -> usize {
    match n {
        0..=3 => {
            if n_items < MANY_ITEMS {
                4
            } else {
                3
            }
        }
        4..=6 => 3,
        _ => 2,
    }
}

/// The highest degree, at most two above the first, with at least two numbers per coefficient and no
/// more than [`MOST_TERMS`] coefficients.
fn degree(n: usize, n_items: usize, n_evaluated: usize) -> usize {
    let first = first_degree(n, n_items);
    let most = MOST_TERMS.min(n_evaluated * (n + 1) / 2);
    let fits = |degree: &usize| n_terms(n, *degree) <= most;
    (first + 1..=first + 2).take_while(fits).last().unwrap_or(first)
}

/// Points of the first design: two numbers per coefficient.
pub(super) fn n_points(n: usize, n_items: usize) -> usize {
    (2 * n_terms(n, first_degree(n, n_items))).div_ceil(n + 1) + 2
}

impl PolynomialSurrogate {
    /// Fits in all three coordinates and keeps the best.
    pub(super) fn fit(evaluated: &[EvaluatedPoint], region: &Region, n_items: usize) -> Self {
        let degree = degree(region.centre.len(), n_items, evaluated.len());
        [Coordinate::Logit, Coordinate::Low, Coordinate::High]
            .into_iter()
            .map(|coordinate| Self::fit_in(coordinate, evaluated, region, degree))
            .reduce(|a, b| if b.residual < a.residual { b } else { a })
            .expect("three coordinates")
    }

    fn fit_in(
        coordinate: Coordinate,
        evaluated: &[EvaluatedPoint],
        region: &Region,
        degree: usize,
    ) -> Self {
        let n = region.centre.len();
        let top = evaluated.iter().map(|k| k.ln_posterior).fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = evaluated
            .iter()
            .map(|k| 1.0 / (1.0 + ((top - k.ln_posterior) / HALF_WEIGHT_DROP).powi(2)))
            .collect();
        let (centre, factor) = standardise(coordinate, evaluated, &weights);
        let polynomial = Polynomial::zero(n, degree);
        let mut surrogate =
            Self { coordinate, centre, factor, polynomial, region: region.clone(), residual: 0.0 };
        surrogate.solve(evaluated, &weights);
        surrogate
    }

    fn solve(&mut self, evaluated: &[EvaluatedPoint], weights: &[f64]) {
        let (n, terms) = (self.centre.len(), self.polynomial.n_terms());
        let (mut rows, mut right, mut total) = (Vec::new(), Vec::new(), 0.0);
        let mut inverse = DMatrix::identity(n, n);
        self.factor.solve_lower_triangular_mut(&mut inverse);
        for (k, &weight) in evaluated.iter().zip(weights).filter(|(k, _)| k.value.is_finite()) {
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
        // values alone, since gradients have other units
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

    /// The approximate log likelihood; writes its gradient in η. −∞ outside the region.
    pub(super) fn value(&self, eta: &[f64], gradient: &mut [f64]) -> f64 {
        if !(distance(&self.region, eta) < RADIUS) {
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
    evaluated: &[EvaluatedPoint],
    weights: &[f64],
) -> (DVector<f64>, DMatrix<f64>) {
    let n = evaluated[0].eta.len();
    let total: f64 = weights.iter().sum();
    let w = |k: &EvaluatedPoint| DVector::from_fn(n, |l, _| coordinate.value(k.eta[l]));
    let mut centre = DVector::zeros(n);
    evaluated.iter().zip(weights).for_each(|(k, weight)| centre += w(k) * (*weight / total));
    let mut covariance = DMatrix::zeros(n, n);
    for (k, weight) in evaluated.iter().zip(weights) {
        let off = w(k) - &centre;
        covariance += &off * off.transpose() * (*weight / total);
    }
    (centre, factorise(&covariance).l())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With 1000 points, degrees stay at the first plus two where that has at most 500 coefficients.
    #[test]
    fn polynomials_have_a_bounded_number_of_coefficients() {
        assert_eq!([3, 6, 8, 9, 20, 30].map(|n| degree(n, 100, 1000)), [6, 5, 4, 3, 2, 2]);
    }
}
