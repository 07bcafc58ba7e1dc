//! The multivariate Student t distribution, and the normal as its limit.

use std::f64::consts::PI;

use nalgebra::DMatrix;
use rand::{Rng, RngExt};
use rand_distr::StandardNormal;

use crate::error::{Error, Result};
use consilience_numerics::special::ln_gamma_increment;
use correlated_dirichlet::sample_ln_gamma;

/// The d-dimensional Student t distribution with ν degrees of freedom.
///
/// ```text
/// f(x) = Γ((ν+d)/2) / (Γ(ν/2) (νπ)^(d/2) |Σ|^½) · (1 + q/ν)^(−(ν+d)/2),
/// q = (x − μ)ᵀ Σ⁻¹ (x − μ);   ν = ∞: the normal distribution
/// ```
///
/// # Example
/// ```
/// use consilience::distributions::MultivariateT;
/// let cauchy = MultivariateT::new(1.0, &[0.0], &[vec![1.0]])?;
/// assert!((cauchy.ln_pdf(&[1.0]) + (2.0 * std::f64::consts::PI).ln()).abs() < 1e-14);
/// # Ok::<(), consilience::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct MultivariateT {
    degrees: f64,
    location: Vec<f64>,
    scale: DMatrix<f64>,
    /// The lower triangle of L⁻¹, row by row, where Σ = L·Lᵀ.
    whitening: Vec<f64>,
    ln_peak: f64,
    /// Relative error of q that rounding may make.
    roundoff: f64,
}

impl MultivariateT {
    /// Checks that ν > 0 (∞ is the normal distribution) and that Σ is symmetric and positive
    /// definite.
    pub fn new(degrees: f64, location: &[f64], scale: &[Vec<f64>]) -> Result<Self> {
        let d = location.len();
        if scale.len() != d || scale.iter().any(|row| row.len() != d) {
            return Err(Error::Mismatch {
                what: "sizes of `location` and `scale`",
                expected: format!("{d} × {d}"),
                found: format!("{} rows", scale.len()),
            });
        }
        let matrix = DMatrix::from_fn(d, d, |a, b| scale[a][b]);
        if (0..d).any(|a| (0..a).any(|b| !close(matrix[(a, b)], matrix[(b, a)]))) {
            return Err(Error::parameter("scale", "symmetric", "something else"));
        }
        Self::from_matrix(degrees, location.to_vec(), matrix)
    }

    /// The same from a matrix of which the lower triangle counts.
    pub(crate) fn from_matrix(
        degrees: f64,
        location: Vec<f64>,
        scale: DMatrix<f64>,
    ) -> Result<Self> {
        if !(degrees > 0.0) {
            return Err(Error::parameter("degrees", "> 0", degrees));
        }
        if let Some(i) = location.iter().position(|x| !x.is_finite()) {
            return Err(Error::parameter(format!("location[{i}]"), "finite", location[i]));
        }
        let d = location.len();
        let requirement = "finite and positive definite";
        let bad = || Error::parameter("scale", requirement, "something else");
        let factor = scale.clone().cholesky().ok_or_else(bad)?.unpack();
        let inverse = factor.solve_lower_triangular(&DMatrix::identity(d, d)).ok_or_else(bad)?;
        let ln_determinant = 2.0 * factor.diagonal().iter().map(|x| x.ln()).sum::<f64>();
        if !(ln_determinant.is_finite() && inverse.iter().all(|x| x.is_finite())) {
            return Err(bad());
        }
        // Of the correlation matrix: units of the coordinates do not matter to the factorisation.
        let scaled = |(column, variance): (_, &f64)| -> f64 {
            let column: nalgebra::DVectorView<'_, f64> = column;
            column.norm_squared() * variance
        };
        let condition =
            d as f64 * inverse.column_iter().zip(scale.diagonal().iter()).map(scaled).sum::<f64>();
        let half = 0.5 * d as f64;
        let ln_peak = if degrees.is_infinite() {
            -half * (2.0 * PI).ln()
        } else {
            ln_gamma_increment(0.5 * degrees, d) - half * (degrees * PI).ln()
        };
        Ok(Self {
            degrees,
            location,
            scale,
            whitening: (0..d)
                .flat_map(|i| (0..=i).map(move |j| (i, j)))
                .map(|at| inverse[at])
                .collect(),
            ln_peak: ln_peak - 0.5 * ln_determinant,
            roundoff: f64::EPSILON * (2.0 + d as f64) * (1.0 + condition),
        })
    }

    /// ν.
    pub fn degrees(&self) -> f64 {
        self.degrees
    }

    /// μ.
    pub fn location(&self) -> &[f64] {
        &self.location
    }

    /// Σ, row by row.
    pub fn scale(&self) -> Vec<Vec<f64>> {
        self.scale.row_iter().map(|row| row.iter().copied().collect()).collect()
    }

    pub(crate) fn scale_matrix(&self) -> &DMatrix<f64> {
        &self.scale
    }

    /// The log density.
    pub fn ln_pdf(&self, x: &[f64]) -> f64 {
        self.ln_pdf_with_error(x).0
    }

    /// The log density and its rounding error.
    pub(crate) fn ln_pdf_with_error(&self, x: &[f64]) -> (f64, f64) {
        let q = self.distance(x);
        let (tail, slope) = if self.degrees.is_infinite() {
            (0.5 * q, 0.5)
        } else {
            let power = 0.5 * (self.degrees + self.location.len() as f64);
            (power * (q / self.degrees).ln_1p(), power / (self.degrees + q))
        };
        let error = self.roundoff * (slope * q + f64::EPSILON)
            + 4.0 * f64::EPSILON * (1.0 + self.ln_peak.abs() + tail);
        (self.ln_peak - tail, error)
    }

    /// q = (x − μ)ᵀ Σ⁻¹ (x − μ).
    fn distance(&self, x: &[f64]) -> f64 {
        let (mut q, mut start) = (0.0, 0);
        for i in 0..self.location.len() {
            let row = &self.whitening[start..=start + i];
            let terms = row.iter().zip(x.iter().zip(&self.location));
            let z: f64 = terms.map(|(w, (x, m))| w * (x - m)).sum();
            q += z * z;
            start += i + 1;
        }
        q
    }

    /// The distribution of some coordinates, whatever the others are.
    ///
    /// # Panics
    /// If a place is none of the coordinates.
    #[must_use]
    pub fn marginal(&self, places: &[usize]) -> Self {
        let location = places.iter().map(|&i| self.location[i]).collect();
        let scale = self.scale.select_rows(places).select_columns(places);
        Self::from_matrix(self.degrees, location, scale)
            .expect("principal parts of a positive definite matrix are positive definite")
    }

    /// A draw: μ + L z / √w with z standard normal and νw chi-squared with ν degrees of freedom.
    pub fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> Vec<f64> {
        let ln_weight = if self.degrees.is_infinite() {
            0.0
        } else {
            let half = 0.5 * self.degrees;
            sample_ln_gamma(half, rng) - half.ln()
        };
        let size = (-0.5 * ln_weight).exp();
        // Lz by solving L⁻¹s = z row by row.
        let mut step = Vec::with_capacity(self.location.len());
        let mut rows = self.whitening.as_slice();
        for i in 0..self.location.len() {
            let (row, rest) = rows.split_at(i + 1);
            let known: f64 = row.iter().zip(&step).map(|(w, s)| w * s).sum();
            step.push((rng.sample::<f64, _>(StandardNormal) - known) / row[i]);
            rows = rest;
        }
        self.location.iter().zip(step).map(|(m, s)| m + size * s).collect()
    }
}

/// Equal up to the rounding of numbers written by hand or computed twice.
fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand::rngs::ChaCha8Rng;

    fn numbers(cell: &str) -> Vec<f64> {
        cell.split(' ').map(|number| number.parse().unwrap()).collect()
    }

    #[test]
    fn log_density_agrees_with_the_reference_table() {
        let table = include_str!("../../../../reference/multivariate_t.csv");
        let mut seen = 0;
        for line in table.lines().skip(1) {
            let cells: Vec<&str> = line.split(',').collect();
            let (location, scale, x) = (numbers(cells[1]), numbers(cells[2]), numbers(cells[3]));
            let scale: Vec<Vec<f64>> = scale.chunks(location.len()).map(<[f64]>::to_vec).collect();
            let t = MultivariateT::new(cells[0].parse().unwrap(), &location, &scale).unwrap();
            let expected: f64 = cells[4].parse().unwrap();
            let (got, error) = t.ln_pdf_with_error(&x);
            assert!((got - expected).abs() <= error, "{line}: got {got}, error {error:e}");
            assert!(error < 1e-9 * (1.0 + expected.abs()), "{line}: {error:e} says nothing");
            seen += 1;
        }
        assert!(seen > 30, "the table has only {seen} rows");
    }

    #[test]
    fn what_is_no_distribution_is_refused() {
        let unit = [vec![1.0, 0.0], vec![0.0, 1.0]];
        for (degrees, location, scale, name) in [
            (0.0, [0.0, 0.0], unit.clone(), "degrees"),
            (f64::NAN, [0.0, 0.0], unit.clone(), "degrees"),
            (3.0, [0.0, f64::NAN], unit.clone(), "location[1]"),
            (3.0, [0.0, 0.0], [vec![1.0, 0.5], vec![0.4, 1.0]], "scale"),
            (3.0, [0.0, 0.0], [vec![1.0, 2.0], vec![2.0, 1.0]], "scale"),
            (3.0, [0.0, 0.0], [vec![1.0, 0.0], vec![0.0, f64::INFINITY]], "scale"),
            (3.0, [0.0, 0.0], [vec![f64::NAN, 0.0], vec![0.0, 1.0]], "scale"),
            (3.0, [0.0, 0.0], [vec![1.0], vec![0.0, 1.0]], "scale"),
        ] {
            let error = MultivariateT::new(degrees, &location, &scale).unwrap_err().to_string();
            assert!(error.contains(name), "{error}");
        }
    }

    /// The marginal's density is the integral of the joint one over the other coordinate.
    #[test]
    fn marginals_integrate_the_others_out() {
        let scale = [vec![1.0, 0.7], vec![0.7, 2.0]];
        for degrees in [2.5, 40.0, f64::INFINITY] {
            let joint = MultivariateT::new(degrees, &[0.3, -1.0], &scale).unwrap();
            let margin = joint.marginal(&[1]);
            // Trapezoid in x = sinh(sinh(s)), which reaches far into the tails of few degrees.
            let h = 0.02;
            let at = |i: i32| {
                let s = f64::from(i) * h;
                let x = s.sinh().sinh();
                joint.ln_pdf(&[x, 0.5]).exp() * s.sinh().cosh() * s.cosh() * h
            };
            let integral: f64 = (-200..=200).map(at).sum();
            assert!((integral / margin.ln_pdf(&[0.5]).exp() - 1.0).abs() < 1e-9, "{degrees}");
        }
    }

    /// Means within six standard errors; q/d of a draw is F-distributed with mean ν/(ν−2).
    #[test]
    fn draws_have_the_moments() {
        let scale = [vec![1.0, 0.7], vec![0.7, 2.0]];
        let n = 20_000;
        for degrees in [9.0, f64::INFINITY] {
            let t = MultivariateT::new(degrees, &[0.3, -1.0], &scale).unwrap();
            let mut rng = ChaCha8Rng::seed_from_u64(3);
            let draws: Vec<Vec<f64>> = (0..n).map(|_| t.sample(&mut rng)).collect();
            let ratio = if degrees.is_infinite() { 1.0 } else { degrees / (degrees - 2.0) };
            for (i, m) in [0.3, -1.0].into_iter().enumerate() {
                let mean = draws.iter().map(|x| x[i]).sum::<f64>() / f64::from(n);
                let se = (ratio * scale[i][i] / f64::from(n)).sqrt();
                assert!((mean - m).abs() < 6.0 * se, "{mean}");
            }
            let q = draws.iter().map(|x| t.distance(x)).sum::<f64>() / (2.0 * f64::from(n));
            // Var F(2, 9) = 2ν²(ν)/(2(ν−2)²(ν−4)) = 2.98, Var of χ²₂/2 = 1.
            let sd: f64 = if degrees.is_infinite() { 1.0 } else { 2.98f64.sqrt() };
            assert!((q - ratio).abs() < 6.0 * sd / f64::from(n).sqrt(), "{q}");
        }
    }
}
