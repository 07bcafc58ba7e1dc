//! Gauss-Laguerre quadrature: ∫₀^∞ t^(a−1) e^(−t) g(t) dt for any shape a > 0.

/// A rule with weights that are normalised, Σ w = 1, and stored as logarithms.
#[derive(Debug, Clone, Default)]
pub struct Laguerre {
    /// Nodes in ascending order.
    pub nodes: Vec<f64>,
    /// ln of the weights.
    pub ln_weights: Vec<f64>,
    /// Derivatives of the nodes in the shape; empty without [`Self::with_slopes`].
    pub node_slopes: Vec<f64>,
    /// Derivatives of ln of the weights in the shape; empty without [`Self::with_slopes`].
    pub weight_slopes: Vec<f64>,
}

impl Laguerre {
    /// The n-point rule for the weight function of the gamma distribution with this shape.
    ///
    /// # Numerics
    /// Eigenvalues of the Jacobi matrix (diagonal 2i+a, off-diagonal √(i(i+a−1))) by bisection on
    /// Sturm counts, refined by Newton steps on the three-term recurrence; weights from Σ pᵢ² at the node.
    pub fn new(n: usize, shape: f64) -> Self {
        let mut rule = Self::default();
        let mut lower = 0.0;
        for k in 0..n {
            let node = polish(n, shape, bisect(n, shape, k, lower));
            lower = node;
            rule.nodes.push(node);
            rule.ln_weights.push(-squared_norm(n, shape, node).ln());
        }
        rule
    }

    /// Adds the derivatives in the shape, by central differences.
    #[must_use]
    pub fn with_slopes(mut self, shape: f64) -> Self {
        let step = 1e-4 * shape;
        let n = self.nodes.len();
        let (up, down) = (Self::new(n, shape + step), Self::new(n, shape - step));
        let slope = |a: &[f64], b: &[f64]| -> Vec<f64> {
            a.iter().zip(b).map(|(a, b)| (a - b) / (2.0 * step)).collect()
        };
        self.node_slopes = slope(&up.nodes, &down.nodes);
        self.weight_slopes = slope(&up.ln_weights, &down.ln_weights);
        self
    }
}

fn diagonal(i: usize, shape: f64) -> f64 {
    2.0 * i as f64 + shape
}

fn off_diagonal_squared(i: usize, shape: f64) -> f64 {
    i as f64 * (i as f64 + shape - 1.0)
}

/// Number of eigenvalues of the Jacobi matrix below x.
fn count_below(n: usize, shape: f64, x: f64) -> usize {
    let (mut count, mut pivot) = (0, 1.0);
    for i in 0..n {
        let coupling = if i == 0 { 0.0 } else { off_diagonal_squared(i, shape) / pivot };
        pivot = diagonal(i, shape) - x - coupling;
        if pivot == 0.0 {
            pivot = 1e-300;
        }
        count += usize::from(pivot < 0.0);
    }
    count
}

/// The k-th eigenvalue of the Jacobi matrix, above `lower`, by bisection.
fn bisect(n: usize, shape: f64, k: usize, lower: f64) -> f64 {
    let (mut low, mut high) = (lower, 4.0 * n as f64 + 2.0 * shape + 2.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if count_below(n, shape, middle) > k {
            high = middle;
        } else {
            low = middle;
        }
        if high - low < 1e-9 * high {
            break;
        }
    }
    0.5 * (low + high)
}

/// Refines a node by Newton steps on the orthonormal polynomial pₙ.
fn polish(n: usize, shape: f64, mut x: f64) -> f64 {
    for _ in 0..3 {
        let (mut p, mut before, mut dp, mut d_before) = (1.0, 0.0, 0.0, 0.0);
        for i in 0..n {
            let (b, previous) =
                (off_diagonal_squared(i + 1, shape).sqrt(), off_diagonal_squared(i, shape).sqrt());
            let next = ((x - diagonal(i, shape)) * p - previous * before) / b;
            let d_next = ((x - diagonal(i, shape)) * dp + p - previous * d_before) / b;
            (before, p, d_before, dp) = (p, next, dp, d_next);
        }
        x -= p / dp;
    }
    x
}

/// Σ_{i<n} pᵢ(x)², the reciprocal of the weight at a node.
fn squared_norm(n: usize, shape: f64, x: f64) -> f64 {
    let (mut p, mut before, mut sum) = (1.0, 0.0, 0.0);
    for i in 0..n {
        sum += p * p;
        let (b, previous) =
            (off_diagonal_squared(i + 1, shape).sqrt(), off_diagonal_squared(i, shape).sqrt());
        (before, p) = (p, ((x - diagonal(i, shape)) * p - previous * before) / b);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integrates_exponentials() {
        for shape in [1e-8, 0.1, 1.0, 2.5, 12.0] {
            let rule = Laguerre::new(16, shape);
            for g in [-0.3, -0.1, 0.05, 0.2] {
                let sum: f64 =
                    rule.nodes.iter().zip(&rule.ln_weights).map(|(t, w)| (w + g * t).exp()).sum();
                let exact = (1.0 - g).powf(-shape);
                assert!((sum / exact - 1.0).abs() < 1e-11, "{shape} {g}: {sum} {exact}");
            }
        }
    }
}
