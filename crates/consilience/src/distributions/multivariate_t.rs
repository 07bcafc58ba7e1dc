//! The multivariate Student t distribution, with the normal distribution as its limit.

use std::f64::consts::PI;

use nalgebra::DMatrix;

use crate::error::{Error, Result};
use consilience_numerics::special::ln_gamma_increment;

/// The d-dimensional Student t distribution with ν degrees of freedom.
///
/// ```text
/// f(x) = Γ((ν+d)/2) / (Γ(ν/2) (νπ)^(d/2) |Σ|^½) · (1 + q/ν)^(−(ν+d)/2),
/// q = (x − μ)ᵀ Σ⁻¹ (x − μ);   ν = ∞: the normal distribution
/// ```
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MultivariateT {
    degrees: f64,
    location: Vec<f64>,
    scale: DMatrix<f64>,
    /// The lower triangle of L⁻¹, row by row, where Σ = L·Lᵀ.
    whitening: Vec<f64>,
    ln_peak: f64,
    /// Bound on the relative rounding error of q.
    roundoff: f64,
}

impl MultivariateT {
    /// Creates a distribution with ν > 0 (∞ for the normal distribution) and a positive definite Σ, of
    /// which only the lower triangle is read.
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
        let bad = || Error::parameter("scale", requirement, "another matrix");
        let factor = scale.clone().cholesky().ok_or_else(bad)?.unpack();
        let inverse = factor.solve_lower_triangular(&DMatrix::identity(d, d)).ok_or_else(bad)?;
        let ln_determinant = 2.0 * factor.diagonal().iter().map(|x| x.ln()).sum::<f64>();
        if !(ln_determinant.is_finite() && inverse.iter().all(|x| x.is_finite())) {
            return Err(bad());
        }
        // The condition of the correlation matrix: the units of the coordinates do not affect the
        // factorisation.
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
    pub(crate) fn degrees(&self) -> f64 {
        self.degrees
    }

    /// μ.
    pub(crate) fn location(&self) -> &[f64] {
        &self.location
    }

    /// Σ.
    pub(crate) fn scale_matrix(&self) -> &DMatrix<f64> {
        &self.scale
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

    /// The marginal distribution of some coordinates.
    ///
    /// # Panics
    /// If an index is not that of a coordinate.
    #[must_use]
    pub(crate) fn marginal(&self, coordinates: &[usize]) -> Self {
        let location = coordinates.iter().map(|&i| self.location[i]).collect();
        let scale = self.scale.select_rows(coordinates).select_columns(coordinates);
        Self::from_matrix(self.degrees, location, scale)
            .expect("principal submatrices of a positive definite matrix are positive definite")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            let scale = DMatrix::from_row_slice(location.len(), location.len(), &scale);
            let t = MultivariateT::from_matrix(cells[0].parse().unwrap(), location, scale).unwrap();
            let expected: f64 = cells[4].parse().unwrap();
            let (got, error) = t.ln_pdf_with_error(&x);
            assert!((got - expected).abs() <= error, "{line}: got {got}, error {error:e}");
            assert!(
                error < 1e-9 * (1.0 + expected.abs()),
                "{line}: the error {error:e} is too large to be useful"
            );
            seen += 1;
        }
        assert!(seen > 30, "the table has only {seen} rows");
    }

    #[test]
    fn invalid_parameters_are_refused() {
        for (degrees, location, scale, name) in [
            (0.0, [0.0, 0.0], [1.0, 0.0, 0.0, 1.0], "degrees"),
            (f64::NAN, [0.0, 0.0], [1.0, 0.0, 0.0, 1.0], "degrees"),
            (3.0, [0.0, f64::NAN], [1.0, 0.0, 0.0, 1.0], "location[1]"),
            (3.0, [0.0, 0.0], [1.0, 2.0, 2.0, 1.0], "scale"),
            (3.0, [0.0, 0.0], [1.0, 0.0, 0.0, f64::INFINITY], "scale"),
            (3.0, [0.0, 0.0], [f64::NAN, 0.0, 0.0, 1.0], "scale"),
        ] {
            let scale = DMatrix::from_row_slice(2, 2, &scale);
            let error = MultivariateT::from_matrix(degrees, location.to_vec(), scale).unwrap_err();
            assert!(error.to_string().contains(name), "{error}");
        }
    }

    /// The marginal density is the integral of the joint density over the other coordinate.
    #[test]
    fn marginals_are_integrals_of_the_joint_density() {
        let scale = DMatrix::from_row_slice(2, 2, &[1.0, 0.7, 0.7, 2.0]);
        for degrees in [2.5, 40.0, f64::INFINITY] {
            let joint =
                MultivariateT::from_matrix(degrees, vec![0.3, -1.0], scale.clone()).unwrap();
            let margin = joint.marginal(&[1]);
            // Trapezoidal rule in s with x = sinh(sinh(s)), which covers the heavy tails of small ν.
            let h = 0.02;
            let at = |i: i32| {
                let s = f64::from(i) * h;
                let x = s.sinh().sinh();
                joint.ln_pdf_with_error(&[x, 0.5]).0.exp() * s.sinh().cosh() * s.cosh() * h
            };
            let integral: f64 = (-200..=200).map(at).sum();
            assert!(
                (integral / margin.ln_pdf_with_error(&[0.5]).0.exp() - 1.0).abs() < 1e-9,
                "{degrees}"
            );
        }
    }
}
