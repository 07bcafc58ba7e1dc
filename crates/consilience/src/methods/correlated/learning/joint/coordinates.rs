//! The coordinates in which α and δ are learned together: ln α¹, ln α² and
//!
//! ```text
//! ζ = ln δ + ½ (ln α¹ + ln α²) − ln a¹ − ln a²,   a^k = α^k − δ
//! ```
//!
//! for every component. Every real point is legal and the likelihood is smooth there. It is not in the priors' coordinate
//! η = logit(δ / min(α¹, α²)), for the bound has a kink where α¹ = α²; and in the logarithms of the shapes the posterior
//! follows a bent ridge, since α is known much better than its parts. The bound minus δ is the smaller private shape, so
//! η = ln δ − ln min(a¹, a²).

/// Shapes of one component.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Component {
    alpha: [f64; 2],
    private: [f64; 2],
    shared: f64,
}

impl Component {
    /// Component l of a point: ln α¹ of all components, then ln α², then ζ.
    pub(super) fn of(point: &[f64], l: usize) -> Self {
        let width = point.len() / 3;
        Self::new([point[l], point[width + l]], point[2 * width + l])
    }

    /// With κ = √(α¹α²) e^−ζ, a¹a² = κδ: a quadratic for δ, and another for the private shapes, both without cancellation.
    fn new(ln_alpha: [f64; 2], zeta: f64) -> Self {
        let alpha = ln_alpha.map(f64::exp);
        let kappa = (0.5 * (ln_alpha[0] + ln_alpha[1]) - zeta).exp();
        let (sum, difference) = (alpha[0] + alpha[1], alpha[0] - alpha[1]);
        let root = (difference * difference + kappa * (2.0 * sum + kappa)).sqrt();
        let shared = 2.0 * alpha[0] / (sum + kappa + root) * alpha[1];
        let product = kappa * shared;
        let larger = 0.5 * (difference.abs() + difference.hypot(2.0 * product.sqrt()));
        let smaller = product / larger;
        let private = if difference > 0.0 { [larger, smaller] } else { [smaller, larger] };
        Self { alpha, private, shared }
    }

    /// ζ from ln α¹, ln α² and η.
    pub(super) fn zeta(ln_alpha: [f64; 2], eta: f64) -> f64 {
        let softplus = |x: f64| x.max(0.0) + (-x.abs()).exp().ln_1p();
        let ln_bound = ln_alpha[0].min(ln_alpha[1]);
        // the smaller private shape is bound · expit(−η); the other has the margins' difference more
        let ln_smaller = ln_bound - softplus(eta);
        let apart = (ln_alpha[0].max(ln_alpha[1]).exp() - ln_bound.exp()).max(0.0);
        let ln_larger = (apart + ln_smaller.exp()).ln();
        eta + 0.5 * (ln_alpha[0] + ln_alpha[1]) - ln_larger
    }

    /// The smaller of both margins, which bounds δ.
    pub(super) fn bound(&self) -> f64 {
        self.alpha[0].min(self.alpha[1])
    }

    fn smaller(&self) -> usize {
        usize::from(self.private[1] < self.private[0])
    }

    pub(super) fn eta(&self) -> f64 {
        self.shared.ln() - self.private[self.smaller()].ln()
    }

    /// Σ 1/shape: the derivative of ζ in δ.
    fn rate(&self) -> f64 {
        1.0 / self.shared + 1.0 / self.private[0] + 1.0 / self.private[1]
    }

    /// The derivative of η in δ.
    fn eta_rate(&self) -> f64 {
        1.0 / self.shared + 1.0 / self.private[self.smaller()]
    }

    /// ∂η/∂ζ, between ½ and 1: also the Jacobian of the map to ln α¹, ln α², η.
    pub(super) fn jacobian(&self) -> f64 {
        self.eta_rate() / self.rate()
    }

    /// ∂η/∂ln α^k at fixed ζ.
    pub(super) fn eta_slope(&self, k: usize) -> f64 {
        let part = self.alpha[k] / self.private[k];
        let own = if k == self.smaller() { part } else { 0.0 };
        (part - 0.5) * self.jacobian() - own
    }
}

/// ln α¹, ln α² and η of a whole class, in this order.
pub(super) fn to_margins(point: &[f64]) -> Vec<f64> {
    let width = point.len() / 3;
    let etas = (0..width).map(|l| Component::of(point, l).eta());
    point[..2 * width].iter().copied().chain(etas).collect()
}

/// The point of a whole class with ln α¹, ln α² and η.
pub(super) fn from_margins(ln_alpha: [&[f64]; 2], eta: &[f64]) -> Vec<f64> {
    let zeta = |l: usize| Component::zeta([ln_alpha[0][l], ln_alpha[1][l]], eta[l]);
    let zetas = (0..eta.len()).map(zeta);
    ln_alpha[0].iter().chain(ln_alpha[1]).copied().chain(zetas).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        for (ln_alpha, eta) in
            [([1.0, 0.4], 0.3), ([-2.0, 3.0], -15.0), ([2.0, 2.0], 12.0), ([0.5, 2.0], 12.0)]
        {
            let point = from_margins([&ln_alpha[..1], &ln_alpha[1..]], &[eta]);
            let back = to_margins(&point);
            assert!((back[2] - eta).abs() < 1e-9, "{point:?} {back:?}");
            // δ = b expit(η)
            let delta = ln_alpha[0].min(ln_alpha[1]).exp() / (1.0 + f64::exp(-eta));
            let c = Component::of(&point, 0);
            assert!((c.shared / delta - 1.0).abs() < 1e-9);
            for (private, ln_alpha) in c.private.iter().zip(ln_alpha) {
                assert!((private + c.shared - ln_alpha.exp()).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn slopes_of_eta_agree_with_differences() {
        for point in [[0.3, 1.1, -0.4], [2.0, -1.0, 1.5]] {
            let c = Component::of(&point, 0);
            let slopes = [c.eta_slope(0), c.eta_slope(1), c.jacobian()];
            for (i, slope) in slopes.into_iter().enumerate() {
                let at = |step: f64| {
                    let mut moved = point;
                    moved[i] += step;
                    Component::of(&moved, 0).eta()
                };
                let difference = (at(1e-5) - at(-1e-5)) / 2e-5;
                assert!((difference - slope).abs() < 1e-8, "{i}: {difference} {slope}");
            }
        }
    }
}
