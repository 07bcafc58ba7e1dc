//! What the pairs of one class say beyond both margins, and a polynomial in place of it.
//!
//! The log likelihood is split into two Dirichlets, whose part is exact and costs nothing, and the coupling
//! Σ ln f(x¹, x²) − ln Dir(x¹; α¹) − ln Dir(x²; α²), which is what takes time. The coupling is much smoother than the
//! likelihood, so a polynomial of low degree follows it well.

use nalgebra::{DMatrix, DVector};

use super::super::margins::Margin;
use super::super::mode_search::factorise;
use super::super::pair_likelihood::ClassLikelihood;
use super::super::polynomial::Polynomial;
use super::super::polynomial_surrogate::Region;
use super::coordinates::{self, Component};
use crate::error::Result;

/// One class: its pairs and margins.
#[derive(Debug, Clone)]
pub(super) struct ClassData {
    pub(super) likelihood: ClassLikelihood,
    pub(super) margins: [Margin; 2],
}

impl ClassData {
    /// The coupling at a point.
    pub(super) fn coupling(&self, point: &[f64]) -> Result<f64> {
        let margins = coordinates::to_margins(point);
        let (ln_alpha, eta) = margins.split_at(2 * point.len() / 3);
        let at =
            self.likelihood.with_margins(&ln_alpha.iter().map(|t| t.exp()).collect::<Vec<_>>());
        Ok(at.value(eta)? - self.ln_pairs(ln_alpha))
    }

    /// The coupling with its slopes in ζ.
    pub(super) fn with_slopes(&self, point: &[f64]) -> Result<CouplingPoint> {
        let margins = coordinates::to_margins(point);
        let (ln_alpha, eta) = margins.split_at(2 * point.len() / 3);
        let at =
            self.likelihood.with_margins(&ln_alpha.iter().map(|t| t.exp()).collect::<Vec<_>>());
        let evaluation = at.evaluate(eta)?;
        let rates = (0..eta.len()).map(|l| Component::of(point, l).jacobian());
        Ok(CouplingPoint {
            value: evaluation.value - self.ln_pairs(ln_alpha),
            slopes: evaluation
                .gradient
                .iter()
                .zip(rates)
                .map(|(slope, rate)| slope * rate)
                .collect(),
            point: point.to_vec(),
        })
    }

    fn ln_pairs(&self, ln_alpha: &[f64]) -> f64 {
        let width = ln_alpha.len() / 2;
        let mut unused = vec![0.0; width];
        let parts = ln_alpha.chunks_exact(width).zip(&self.margins);
        parts.map(|(row, margin)| margin.ln_pairs(row, 0.0, &mut unused)).sum()
    }

    /// The log density of the margins as if they were independent; writes its gradient, 0 in ζ.
    pub(super) fn ln_margins(&self, point: &[f64], gradient: &mut [f64]) -> f64 {
        let width = point.len() / 3;
        gradient[2 * width..].fill(0.0);
        let rows = point.chunks_exact(width).zip(gradient.chunks_exact_mut(width));
        let one = |(margin, (row, gradient)): (&Margin, (&[f64], &mut [f64]))| {
            margin.ln_density(row, gradient)
        };
        self.margins.iter().zip(rows).map(one).sum()
    }
}

/// A point where the coupling is known.
#[derive(Debug, Clone)]
pub(super) struct CouplingPoint {
    pub(super) point: Vec<f64>,
    pub(super) value: f64,
    /// Slopes in ζ at fixed α.
    pub(super) slopes: Vec<f64>,
}

/// The polynomial in standardised coordinates.
#[derive(Debug, Clone)]
pub(super) struct Coupling {
    region: Region,
    polynomial: Polynomial,
}

/// The degree that pays for a number of coordinates.
pub(super) fn degree(dimension: usize) -> usize {
    if dimension <= 9 { 3 } else { 2 }
}

/// Points needed for a degree: numbers enough for all terms, and values enough for those of the margins alone, of which no
/// slopes are known.
pub(super) fn n_points(dimension: usize, degree: usize) -> usize {
    let terms = |d: usize| Polynomial::zero(d, degree).n_terms();
    let all = (17 * terms(dimension)).div_ceil(10 * (1 + dimension / 3));
    let margins = (3 * terms(2 * dimension / 3)).div_ceil(2);
    all.max(margins) + 2
}

/// A drop of the log posterior by this much halves a point's weight.
const HALF_WEIGHT: f64 = 8.0;
/// A ridge, relative to the mean of the diagonal.
const RIDGE: f64 = 1e-9;

impl Coupling {
    /// Weighted least squares through values and slopes. `heights` are log posteriors.
    pub(super) fn fit(
        known: &[CouplingPoint],
        heights: &[f64],
        region: &Region,
        degree: usize,
    ) -> Self {
        let dimension = region.centre.len();
        let mut polynomial = Polynomial::zero(dimension, degree);
        let (terms, width) = (polynomial.n_terms(), dimension / 3);
        let inverse = inverse(&region.factor);
        let top = heights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut normal = DMatrix::zeros(terms, terms);
        let mut right = DVector::zeros(terms);
        let mut add = |row: &[f64], target: f64, weight: f64| {
            let row = DVector::from_column_slice(row);
            normal.ger(weight, &row, &row, 1.0);
            right.axpy(weight * target, &row, 1.0);
        };
        for (k, height) in known.iter().zip(heights).filter(|(k, _)| k.value.is_finite()) {
            let weight = (1.0 / (1.0 + ((top - height) / HALF_WEIGHT).powi(2))).powi(2);
            let v = standardised(region, &k.point);
            let basis = polynomial.basis(v.as_slice());
            add(&basis, k.value, weight);
            let slopes: Vec<Vec<f64>> =
                (0..dimension).map(|d| polynomial.basis_slopes(v.as_slice(), &basis, d)).collect();
            for l in 0..width {
                let direction = inverse.column(2 * width + l);
                let row: Vec<f64> = (0..terms)
                    .map(|t| direction.iter().zip(&slopes).map(|(d, s)| d * s[t]).sum())
                    .collect();
                let sd = region.factor.row(2 * width + l).norm();
                let scaled: Vec<f64> = row.iter().map(|x| sd * x).collect();
                add(&scaled, sd * k.slopes[l], weight);
            }
        }
        let ridge = RIDGE * normal.trace() / terms as f64;
        (0..terms).for_each(|t| normal[(t, t)] += ridge);
        polynomial.coefficients = factorise(&normal).solve(&right).iter().copied().collect();
        Self { region: region.clone(), polynomial }
    }

    /// The value; adds the gradient. −∞ outside its region.
    pub(super) fn value(&self, point: &[f64], gradient: &mut [f64]) -> f64 {
        let v = standardised(&self.region, point);
        if !(v.norm() < radius(point.len())) {
            return f64::NEG_INFINITY;
        }
        let mut slopes = DVector::zeros(point.len());
        let value = self.polynomial.value(v.as_slice(), slopes.as_mut_slice());
        self.region.factor.tr_solve_lower_triangular_mut(&mut slopes);
        gradient.iter_mut().zip(&slopes).for_each(|(out, slope)| *out += slope);
        value
    }
}

/// The region ends here, in standard deviations: a normal is outside once in a thousand or rarer.
fn radius(dimension: usize) -> f64 {
    (dimension as f64).sqrt() + 3.0
}

fn standardised(region: &Region, point: &[f64]) -> DVector<f64> {
    let mut v = DVector::from_column_slice(point) - &region.centre;
    region.factor.solve_lower_triangular_mut(&mut v);
    v
}

fn inverse(factor: &DMatrix<f64>) -> DMatrix<f64> {
    let identity = DMatrix::identity(factor.nrows(), factor.ncols());
    factor.solve_lower_triangular(&identity).expect("a Cholesky factor has no zero on its diagonal")
}
