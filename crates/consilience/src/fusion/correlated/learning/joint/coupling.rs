//! What the pairs of one class say beyond both margins, and a polynomial in place of it.
//!
//! The log likelihood is split into two Dirichlets, whose part is exact and costs nothing, and the coupling
//! Σ ln f(x¹, x²) − ln Dir(x¹; α¹) − ln Dir(x²; α²), which is what takes time. The coupling is much smoother than the
//! likelihood, so a polynomial of low degree follows it well.

use nalgebra::{DMatrix, DVector};

use super::super::climb::factorise;
use super::super::likelihood::ClassLikelihood;
use super::super::margins::Margin;
use super::super::polynomial::Polynomial;
use super::super::surrogate::Region;
use super::shapes::{self, Component};
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
        let margins = shapes::to_margins(point);
        let (ln_alpha, eta) = margins.split_at(2 * point.len() / 3);
        let at =
            self.likelihood.with_margins(&ln_alpha.iter().map(|t| t.exp()).collect::<Vec<_>>());
        Ok(at.value(eta)? - self.ln_pairs(ln_alpha))
    }

    /// The coupling with its slopes in η at fixed α.
    pub(super) fn with_slopes(&self, point: &[f64]) -> Result<Known> {
        let margins = shapes::to_margins(point);
        let (ln_alpha, eta) = margins.split_at(2 * point.len() / 3);
        let at =
            self.likelihood.with_margins(&ln_alpha.iter().map(|t| t.exp()).collect::<Vec<_>>());
        let evaluation = at.evaluate(eta)?;
        Ok(Known {
            value: evaluation.value - self.ln_pairs(ln_alpha),
            slopes: evaluation.gradient,
            point: point.to_vec(),
        })
    }

    fn ln_pairs(&self, ln_alpha: &[f64]) -> f64 {
        let width = ln_alpha.len() / 2;
        let mut unused = vec![0.0; width];
        let parts = ln_alpha.chunks_exact(width).zip(&self.margins);
        parts.map(|(row, margin)| margin.ln_pairs(row, 0.0, &mut unused)).sum()
    }

    /// The log density of the margins as if they were independent, times the Jacobian: all of the posterior but coupling and
    /// prior of η. Writes its gradient.
    pub(super) fn ln_margins(&self, point: &[f64], gradient: &mut [f64]) -> f64 {
        let width = point.len() / 3;
        let margins = shapes::to_margins(point);
        let mut slopes = vec![0.0; 2 * width];
        let mut sum = 0.0;
        for (k, margin) in self.margins.iter().enumerate() {
            let range = k * width..(k + 1) * width;
            sum += margin.ln_density(&margins[range.clone()], &mut slopes[range]);
        }
        for l in 0..width {
            let c = Component::of(point, l);
            let part = [0, 1].map(|k| c.private_part(k));
            let larger = 1 - c.smaller();
            sum += c.ln_jacobian();
            for k in 0..2 {
                gradient[k * width + l] = slopes[k * width + l] * part[k];
            }
            gradient[larger * width + l] += 1.0 - part[larger];
            gradient[2 * width + l] = slopes[l] * (1.0 - part[0])
                + slopes[width + l] * (1.0 - part[1])
                - (1.0 - part[larger]);
        }
        sum
    }
}

/// A point where the coupling is known.
#[derive(Debug, Clone)]
pub(super) struct Known {
    pub(super) point: Vec<f64>,
    pub(super) value: f64,
    /// Slopes in η at fixed α.
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

/// Points needed for a degree: almost twice as many numbers as terms.
pub(super) fn n_points(dimension: usize, degree: usize) -> usize {
    let terms = Polynomial::zero(dimension, degree).n_terms();
    (17 * terms).div_ceil(10 * (1 + dimension / 3)) + 2
}

/// A drop of the log posterior by this much halves a point's weight.
const HALF_WEIGHT: f64 = 8.0;
/// A ridge, relative to the mean of the diagonal.
const RIDGE: f64 = 1e-9;

impl Coupling {
    /// Weighted least squares through values and slopes. `heights` are log posteriors.
    pub(super) fn fit(known: &[Known], heights: &[f64], region: &Region, degree: usize) -> Self {
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
                let direction = direction(&k.point, l, &inverse);
                let row: Vec<f64> = (0..terms)
                    .map(|t| direction.iter().zip(&slopes).map(|(d, s)| d * s[t]).sum())
                    .collect();
                add(&row, k.slopes[l], weight);
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

/// The direction of η_l at fixed α, in standardised coordinates.
fn direction(point: &[f64], l: usize, inverse: &DMatrix<f64>) -> DVector<f64> {
    let width = point.len() / 3;
    let mut direction = DVector::zeros(point.len());
    for (part, along) in Component::of(point, l).along_eta().into_iter().enumerate() {
        direction.axpy(along, &inverse.column(part * width + l), 1.0);
    }
    direction
}
