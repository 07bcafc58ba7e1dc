//! Isometric log-ratios: unconstrained coordinates of the simplex.
//!
//! ```text
//! yᵢ = √(i/(i+1)) ( mean of ln x₁..xᵢ − ln xᵢ₊₁ ),   i = 1..J−1
//! ```
//!
//! The coordinates are an orthonormal basis of the logarithms up to a common shift. Permuting the
//! components rotates y, so that rotationally invariant results are independent of their order.
//!
//! # References
//! Egozcue, Pawlowsky-Glahn, Mateu-Figueras, Barceló-Vidal, "Isometric logratio transformations
//! for compositional data analysis", 2003. <https://doi.org/10.1023/A:1023818214614>

use nalgebra::DMatrix;

use consilience_numerics::log_space::ln_at_least_tiny;

/// Writes the J − 1 isometric log-ratios of an output.
pub(crate) fn isometric(output: &[f64], coordinates: &mut [f64]) {
    let mut sum = ln_at_least_tiny(output[0]);
    for (i, (x, y)) in (1..).zip(output[1..].iter().zip(coordinates)) {
        let (ln, i) = (ln_at_least_tiny(*x), f64::from(i));
        *y = (sum / i - ln) * (i / (i + 1.0)).sqrt();
        sum += ln;
    }
}

/// ln |dy/dx| = −Σ ln xₗ − ½ ln J, where x is parametrised by its first J − 1 components.
pub(crate) fn ln_jacobian(output: &[f64]) -> f64 {
    let sum: f64 = output.iter().map(|x| ln_at_least_tiny(*x)).sum();
    -sum - 0.5 * (output.len() as f64).ln()
}

/// The matrix that maps `blocks` vectors of J logarithms, one after the other, to their coordinates:
/// K(J−1) × K·J, with orthonormal rows.
pub(crate) fn contrasts(n_components: usize, blocks: usize) -> DMatrix<f64> {
    let rows = n_components - 1;
    DMatrix::from_fn(rows * blocks, n_components * blocks, |row, column| {
        let (i, l) = (row % rows + 1, column % n_components);
        let size = (i as f64 / (i as f64 + 1.0)).sqrt();
        match l.cmp(&i) {
            _ if row / rows != column / n_components => 0.0,
            std::cmp::Ordering::Less => size / i as f64,
            std::cmp::Ordering::Equal => -size,
            std::cmp::Ordering::Greater => 0.0,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use consilience_numerics::simplex;
    use nalgebra::DVector;

    #[test]
    fn coordinates_are_orthonormal_contrasts() {
        let matrix = contrasts(4, 2);
        let unit = &matrix * matrix.transpose();
        assert!((unit - DMatrix::identity(6, 6)).abs().max() < 1e-15);
        // A common shift of one block's logarithms changes nothing.
        let shift = DVector::from_fn(8, |i, _| if i < 4 { 1.0 } else { 0.0 });
        assert!((&matrix * shift).abs().max() < 1e-15);
        let output = [0.1, 0.4, 0.2, 0.3];
        let mut coordinates = [0.0; 3];
        isometric(&output, &mut coordinates);
        let logs = DVector::from_iterator(4, output.iter().map(|x| x.ln()));
        let product = contrasts(4, 1) * logs;
        assert!(product.iter().zip(coordinates).all(|(a, b)| (a - b).abs() < 1e-15));
    }

    /// The determinant from central differences; the last component is 1 minus the others.
    #[test]
    fn the_jacobian_agrees_with_finite_differences() {
        let at = |a: f64, b: f64| {
            let mut y = [0.0; 2];
            isometric(&[a, b, 1.0 - a - b], &mut y);
            y
        };
        let (a, b, h) = (0.2, 0.5, 1e-5);
        let d = |p: [f64; 2], q: [f64; 2]| [(p[0] - q[0]) / (2.0 * h), (p[1] - q[1]) / (2.0 * h)];
        let (da, db) = (d(at(a + h, b), at(a - h, b)), d(at(a, b + h), at(a, b - h)));
        let determinant = (da[0] * db[1] - da[1] * db[0]).abs();
        assert!((determinant.ln() - ln_jacobian(&[a, b, 0.3])).abs() < 1e-8);
    }

    #[test]
    fn an_output_with_a_zero_has_finite_coordinates() {
        let mut output = [f64::INFINITY, 0.0];
        simplex::softmax(&mut output);
        let mut y = [0.0];
        isometric(&output, &mut y);
        assert!(y[0].is_finite() && y[0] < -500.0 || y[0] > 500.0);
    }
}
