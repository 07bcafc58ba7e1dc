//! Polynomials of several variables up to a total degree.

/// A monomial: an earlier one times a variable; the first is 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Monomial {
    parent: usize,
    variable: usize,
}

/// Σ cₜ mₜ(v) over all monomials up to a degree.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Polynomial {
    dimension: usize,
    /// All but the constant 1.
    monomials: Vec<Monomial>,
    pub(super) coefficients: Vec<f64>,
}

/// Number of monomials up to a degree: (n+d choose d).
pub(super) fn n_terms(dimension: usize, degree: usize) -> usize {
    (1..=degree).fold(1, |terms, d| terms * (dimension + d) / d)
}

impl Polynomial {
    /// All monomials, coefficients 0.
    pub(super) fn zero(dimension: usize, degree: usize) -> Self {
        let mut monomials = Vec::new();
        // Monomials of the last degree, with the last variable each was multiplied with.
        let mut last = vec![(0, 0)];
        for _ in 0..degree {
            let mut next = Vec::new();
            for &(parent, from) in &last {
                for variable in from..dimension {
                    monomials.push(Monomial { parent, variable });
                    next.push((monomials.len(), variable));
                }
            }
            last = next;
        }
        let coefficients = vec![0.0; monomials.len() + 1];
        Self { dimension, monomials, coefficients }
    }

    /// Number of terms.
    pub(super) fn n_terms(&self) -> usize {
        self.coefficients.len()
    }

    /// All monomials at v.
    pub(super) fn basis(&self, v: &[f64]) -> Vec<f64> {
        let mut values = Vec::with_capacity(self.n_terms());
        values.push(1.0);
        for m in &self.monomials {
            values.push(values[m.parent] * v[m.variable]);
        }
        values
    }

    /// Derivatives of all monomials in one variable.
    pub(super) fn basis_slopes(&self, v: &[f64], basis: &[f64], variable: usize) -> Vec<f64> {
        let mut slopes: Vec<f64> = Vec::with_capacity(self.n_terms());
        slopes.push(0.0);
        for m in &self.monomials {
            let own = if m.variable == variable { basis[m.parent] } else { 0.0 };
            slopes.push(slopes[m.parent] * v[m.variable] + own);
        }
        slopes
    }

    /// The value; writes the gradient. Backwards through the monomials.
    pub(super) fn value(&self, v: &[f64], gradient: &mut [f64]) -> f64 {
        let basis = self.basis(v);
        let value = basis.iter().zip(&self.coefficients).map(|(b, c)| b * c).sum();
        let mut weight = self.coefficients.clone();
        gradient[..self.dimension].fill(0.0);
        for (t, m) in self.monomials.iter().enumerate().rev() {
            gradient[m.variable] += weight[t + 1] * basis[m.parent];
            weight[m.parent] += weight[t + 1] * v[m.variable];
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_derivatives() {
        let mut p = Polynomial::zero(3, 4);
        assert_eq!((p.n_terms(), n_terms(3, 4)), (35, 35));
        assert_eq!((Polynomial::zero(6, 3).n_terms(), n_terms(6, 3)), (84, 84));
        for (t, c) in p.coefficients.iter_mut().enumerate() {
            *c = ((t * 7 + 3) % 11) as f64 - 5.0;
        }
        let v = [0.3, -0.8, 1.1];
        let mut gradient = [0.0; 3];
        p.value(&v, &mut gradient);
        let basis = p.basis(&v);
        for l in 0..3 {
            let at = |by: f64| {
                let mut moved = v;
                moved[l] += by;
                p.value(&moved, &mut [0.0; 3])
            };
            let numeric = (at(1e-5) - at(-1e-5)) / 2e-5;
            assert!((numeric - gradient[l]).abs() < 1e-6);
            let slopes = p.basis_slopes(&v, &basis, l);
            let direct: f64 = slopes.iter().zip(&p.coefficients).map(|(s, c)| s * c).sum();
            assert!((direct - gradient[l]).abs() < 1e-12);
        }
    }
}
