//! Gauss-Legendre quadrature on [−1, 1], with an estimate of its error from the integrand's own coefficients.

/// The N-point rule and what it takes to see how fast an integrand's Legendre series decays.
#[derive(Debug, Clone)]
pub(crate) struct Legendre<const N: usize> {
    /// Nodes in ascending order.
    pub(crate) nodes: [f64; N],
    pub(crate) weights: [f64; N],
    /// wᵢ (2k+1)/2 Pₖ(xᵢ) for the orders k of `ORDERS`.
    coefficients: [[f64; N]; ORDERS],
}

/// Coefficients looked at: two around the middle of the series and its last two.
const ORDERS: usize = 4;

/// No series is trusted to decay faster than this a term.
const FASTEST: f64 = 0.25;

/// Pₙ(x) and its derivative by the three-term recurrence.
fn polynomial(n: usize, x: f64) -> (f64, f64) {
    let (mut before, mut here) = (1.0, x);
    if n == 0 {
        return (1.0, 0.0);
    }
    for k in 2..=n {
        let k = k as f64;
        (before, here) = (here, ((2.0 * k - 1.0) * x * here - (k - 1.0) * before) / k);
    }
    (here, n as f64 * (x * here - before) / (x * x - 1.0))
}

impl<const N: usize> Legendre<N> {
    /// Nodes by Newton's method from Tricomi's approximation.
    pub(crate) fn new() -> Self {
        let (mut nodes, mut weights) = ([0.0; N], [0.0; N]);
        for i in 0..N {
            let angle = std::f64::consts::PI * ((N - i) as f64 - 0.25) / (N as f64 + 0.5);
            let mut x = angle.cos();
            for _ in 0..6 {
                let (p, slope) = polynomial(N, x);
                x -= p / slope;
            }
            let slope = polynomial(N, x).1;
            nodes[i] = x;
            weights[i] = 2.0 / ((1.0 - x * x) * slope * slope);
        }
        let orders = [N / 2 - 1, N / 2, N - 2, N - 1];
        let coefficients = orders.map(|k| {
            std::array::from_fn(|i| weights[i] * (k as f64 + 0.5) * polynomial(k, nodes[i]).0)
        });
        Self { nodes, weights, coefficients }
    }

    /// ∫ f over [−1, 1] from its values at the nodes, and an estimate of the error.
    ///
    /// The rule is exact to degree 2N−1. Coefficients from the middle of the series to its end show the decay
    /// a term; as many terms further on is what the rule does not see. A faint singularity may show up there only:
    /// decay is taken to be no faster than `fastest`, which is what the nearest one allows.
    pub(crate) fn integrate(&self, values: &[f64; N], fastest: f64) -> (f64, f64) {
        let dot = |a: &[f64; N]| -> f64 { a.iter().zip(values).map(|(a, v)| a * v).sum() };
        let [m1, m2, e1, e2] = [0, 1, 2, 3].map(|k| dot(&self.coefficients[k]).abs());
        let (middle, end) = (m1.max(m2), e1.max(e2));
        // from the middle pair of orders to the last pair
        let apart = (N / 2) as f64 - 0.5;
        let ratio = if middle > 0.0 { (end / middle).powf(1.0 / apart) } else { FASTEST };
        let ratio = ratio.clamp(fastest.clamp(FASTEST, 1.0), 1.0);
        (dot(&self.weights), 2.0 * end * ratio.powf(N as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integrates_polynomials_exactly() {
        let rule = Legendre::<10>::new();
        for degree in 0..20 {
            let sum: f64 =
                rule.nodes.iter().zip(rule.weights).map(|(x, w)| w * x.powi(degree)).sum();
            let exact = if degree % 2 == 0 { 2.0 / f64::from(degree + 1) } else { 0.0 };
            assert!((sum - exact).abs() < 1e-14, "x^{degree}: {sum}");
        }
    }

    #[test]
    fn knows_its_error() {
        let rule = Legendre::<10>::new();
        for width in [1.0, 2.0, 3.0, 4.0, 6.0] {
            // ∫ over [0, width] of a Gaussian around 0.3, by the midpoint rule
            let f = |t: f64| (-0.5 * (t - 0.3) * (t - 0.3)).exp();
            let values = rule.nodes.map(|x| f(0.5 * width * (1.0 + x)));
            let (sum, error) = rule.integrate(&values, 0.0);
            let fine = 40_000;
            let exact: f64 = (0..fine)
                .map(|i| f(width * (f64::from(i) + 0.5) / f64::from(fine)) * 2.0 / f64::from(fine))
                .sum();
            let off = (sum - exact).abs();
            assert!(off < error + 2e-9, "width {width}: off by {off:e}, said {error:e}");
            assert!(error < 1e5 * off + 1e-7, "width {width}: off by {off:e}, said {error:e}");
        }
    }
}
