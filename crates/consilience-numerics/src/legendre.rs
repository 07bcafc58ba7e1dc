//! Gauss-Legendre quadrature on [−1, 1], with an error estimated from the decay of the integrand's Legendre series.

use super::special::ln_gamma;

/// A rule with the vectors that give some Legendre coefficients of an integrand.
#[derive(Debug, Clone)]
pub struct Legendre {
    /// Nodes in ascending order.
    pub nodes: Vec<f64>,
    /// The weights of the nodes.
    pub weights: Vec<f64>,
    /// wᵢ (2k+1)/2 Pₖ(xᵢ) for the orders k of `ORDERS`.
    coefficients: [Vec<f64>; ORDERS],
    /// ln of the largest error on e^(−x²/2) over an interval of length 1.
    ln_gaussian: f64,
}

/// Number of coefficients computed: two around the middle of the series and its last two.
const ORDERS: usize = 4;

/// The fastest decay per term that is assumed of a series.
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

impl Legendre {
    /// The rule with `n` points, at least four: nodes by Newton's method from Tricomi's approximation.
    pub fn new(n: usize) -> Self {
        let node = |i: usize| {
            let angle = std::f64::consts::PI * ((n - i) as f64 - 0.25) / (n as f64 + 0.5);
            let mut x = angle.cos();
            for _ in 0..6 {
                let (p, slope) = polynomial(n, x);
                x -= p / slope;
            }
            x
        };
        let nodes: Vec<f64> = (0..n).map(node).collect();
        let weight = |&x: &f64| 2.0 / ((1.0 - x * x) * polynomial(n, x).1.powi(2));
        let weights: Vec<f64> = nodes.iter().map(weight).collect();
        let coefficients = [n / 2 - 1, n / 2, n - 2, n - 1].map(|k| {
            let one = |(x, w): (&f64, &f64)| w * (k as f64 + 0.5) * polynomial(k, *x).0;
            nodes.iter().zip(&weights).map(one).collect()
        });
        Self { nodes, weights, coefficients, ln_gaussian: ln_gaussian(n) }
    }

    /// Number of points.
    pub fn n_points(&self) -> usize {
        self.nodes.len()
    }

    /// ln of the largest error on e^(−x²/2) over an interval of this length, wherever it lies.
    pub fn ln_gaussian_error(&self, length: f64) -> f64 {
        self.ln_gaussian + (2 * self.n_points() + 1) as f64 * length.ln()
    }

    /// ∫ f over [−1, 1] from its values at the nodes, and an estimate of the error.
    ///
    /// The rule is exact to degree 2N−1. The decay per term is taken from the coefficients in the middle of the series
    /// and at its end, and extrapolated by as many terms to those that the rule does not integrate. A weak singularity
    /// may appear there only, so that the decay is assumed to be no faster than `fastest`, the rate that the nearest
    /// singularity allows.
    pub fn integrate(&self, values: &[f64], fastest: f64) -> (f64, f64) {
        let dot = |a: &[f64]| -> f64 { a.iter().zip(values).map(|(a, v)| a * v).sum() };
        let [m1, m2, e1, e2] = [0, 1, 2, 3].map(|k| dot(&self.coefficients[k]).abs());
        let (middle, end) = (m1.max(m2), e1.max(e2));
        // Number of terms from the middle pair of orders to the last pair.
        let apart = (self.n_points() / 2) as f64 - 0.5;
        let ratio = if middle > 0.0 { (end / middle).powf(1.0 / apart) } else { FASTEST };
        let ratio = ratio.clamp(fastest.clamp(FASTEST, 1.0), 1.0);
        (dot(&self.weights), 2.0 * end * ratio.powf(self.n_points() as f64))
    }
}

/// The error term of the n-point rule, f⁽²ⁿ⁾(ξ) (n!)⁴ / ((2n+1) (2n)!³), at the largest derivative of a Gaussian,
/// (2n)!/(2ⁿ n!).
fn ln_gaussian(n: usize) -> f64 {
    let n = n as f64;
    3.0 * ln_gamma(n + 1.0)
        - 2.0 * ln_gamma(2.0 * n + 1.0)
        - (2.0 * n + 1.0).ln()
        - n * std::f64::consts::LN_2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integrates_polynomials_exactly() {
        let rule = Legendre::new(10);
        for degree in 0..20 {
            let sum: f64 =
                rule.nodes.iter().zip(&rule.weights).map(|(x, w)| w * x.powi(degree)).sum();
            let exact = if degree % 2 == 0 { 2.0 / f64::from(degree + 1) } else { 0.0 };
            assert!((sum - exact).abs() < 1e-14, "x^{degree}: {sum}");
        }
    }

    /// The error term bounds the largest error on a Gaussian, wherever it lies, within a factor of three.
    #[test]
    fn the_error_on_a_gaussian_is_known() {
        for n in [6, 10, 14] {
            let rule = Legendre::new(n);
            let width = if n == 6 { 2.0 } else { 4.0 };
            let sum = |rule: &Legendre, centre: f64| -> f64 {
                let term = |(x, w): (&f64, &f64)| {
                    w * (-0.5 * (centre + 0.5 * width * x).powi(2)).exp() * 0.5 * width
                };
                rule.nodes.iter().zip(&rule.weights).map(term).sum()
            };
            let fine = Legendre::new(40);
            let off =
                |i: i32| (sum(&rule, 0.1 * f64::from(i)) - sum(&fine, 0.1 * f64::from(i))).abs();
            let worst = (0..30).map(off).fold(0.0, f64::max).max(1e-16);
            let bound = rule.ln_gaussian_error(width).exp().max(1e-16);
            assert!(
                worst < 1.1 * bound + 1e-15 && bound < 3.0 * worst + 1e-15,
                "{n}: {worst:e} {bound:e}"
            );
        }
    }

    #[test]
    fn the_estimated_error_bounds_the_true_one() {
        let rule = Legendre::new(10);
        for width in [1.0, 2.0, 3.0, 4.0, 6.0] {
            // The integral over [0, width] of a Gaussian around 0.3, by the midpoint rule.
            let f = |t: f64| (-0.5 * (t - 0.3) * (t - 0.3)).exp();
            let values: Vec<f64> = rule.nodes.iter().map(|x| f(0.5 * width * (1.0 + x))).collect();
            let (sum, error) = rule.integrate(&values, 0.0);
            let fine = 40_000;
            let exact: f64 = (0..fine)
                .map(|i| f(width * (f64::from(i) + 0.5) / f64::from(fine)) * 2.0 / f64::from(fine))
                .sum();
            let off = (sum - exact).abs();
            assert!(off < error + 2e-9, "width {width}: off by {off:e}, estimated {error:e}");
            assert!(error < 1e5 * off + 1e-7, "width {width}: off by {off:e}, estimated {error:e}");
        }
    }
}
