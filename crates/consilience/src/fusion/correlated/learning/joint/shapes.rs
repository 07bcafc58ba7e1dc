//! The coordinates in which α and δ are learnt together: ln a¹, ln a² and ln δ, the logarithms of all gammas' shapes.
//!
//! Every real point is legal, and the likelihood is smooth in them. It is not in ln α¹, ln α² and
//! η = logit(δ / min(α¹, α²)), the coordinates of the priors: where α¹ = α² the bound has a kink. Since the bound minus δ is the
//! smaller private shape,
//!
//! ```text
//! η = ln δ − ln min(a¹, a²),   |∂(ln α¹, ln α², η) / ∂(ln a¹, ln a², ln δ)| = a/α of the classifier with the larger a
//! ```

use crate::math::log_space::log_add_exp;

/// Shapes and what follows from them, of one component.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Component {
    pub(super) ln_private: [f64; 2],
    pub(super) ln_shared: f64,
}

impl Component {
    /// Component l of a point: ln a¹ of all components, then ln a², then ln δ.
    pub(super) fn of(point: &[f64], l: usize) -> Self {
        let width = point.len() / 3;
        Self { ln_private: [point[l], point[width + l]], ln_shared: point[2 * width + l] }
    }

    /// From ln α¹, ln α² and η.
    pub(super) fn from_margins(ln_alpha: [f64; 2], eta: f64) -> Self {
        let softplus = |x: f64| x.max(0.0) + (-x.abs()).exp().ln_1p();
        let ln_bound = ln_alpha[0].min(ln_alpha[1]);
        let rest = ln_bound - softplus(eta);
        let ln_private = ln_alpha.map(|ln| {
            let excess = (ln - ln_bound).exp_m1().ln() + ln_bound;
            log_add_exp(excess, rest)
        });
        Self { ln_private, ln_shared: ln_bound - softplus(-eta) }
    }

    pub(super) fn ln_alpha(&self, k: usize) -> f64 {
        log_add_exp(self.ln_private[k], self.ln_shared)
    }

    /// The classifier with the smaller private shape: its α bounds δ.
    pub(super) fn smaller(&self) -> usize {
        usize::from(self.ln_private[1] < self.ln_private[0])
    }

    pub(super) fn eta(&self) -> f64 {
        self.ln_shared - self.ln_private[self.smaller()]
    }

    /// a/α of classifier k.
    pub(super) fn private_part(&self, k: usize) -> f64 {
        (self.ln_private[k] - self.ln_alpha(k)).exp()
    }

    /// ln of the Jacobian.
    pub(super) fn ln_jacobian(&self) -> f64 {
        let larger = 1 - self.smaller();
        self.ln_private[larger] - self.ln_alpha(larger)
    }

    /// How ln a¹, ln a² and ln δ move with η at fixed α.
    pub(super) fn along_eta(&self) -> [f64; 3] {
        // dδ/dη = δ a/b with the smaller a and its b; da = −dδ
        let part = self.private_part(self.smaller());
        let over = |k: usize| -part * (self.ln_shared - self.ln_private[k]).exp();
        [over(0), over(1), part]
    }
}

/// ln α¹, ln α² and η of a whole class, in this order.
pub(super) fn to_margins(point: &[f64]) -> Vec<f64> {
    let width = point.len() / 3;
    let components: Vec<Component> = (0..width).map(|l| Component::of(point, l)).collect();
    let ln_alpha = |k: usize| components.iter().map(move |c| c.ln_alpha(k));
    ln_alpha(0).chain(ln_alpha(1)).chain(components.iter().map(Component::eta)).collect()
}

/// The point of a whole class with ln α¹, ln α² and η.
pub(super) fn from_margins(ln_alpha: [&[f64]; 2], eta: &[f64]) -> Vec<f64> {
    let width = eta.len();
    let mut point = vec![0.0; 3 * width];
    for l in 0..width {
        let c = Component::from_margins([ln_alpha[0][l], ln_alpha[1][l]], eta[l]);
        [point[l], point[width + l], point[2 * width + l]] =
            [c.ln_private[0], c.ln_private[1], c.ln_shared];
    }
    point
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        for (ln_alpha, eta) in [([1.0, 0.4], 0.3), ([-2.0, 3.0], -15.0), ([2.0, 2.0], 12.0)] {
            let c = Component::from_margins(ln_alpha, eta);
            assert!((c.eta() - eta).abs() < 1e-9, "{c:?}");
            assert!((c.ln_alpha(0) - ln_alpha[0]).abs() < 1e-12);
            assert!((c.ln_alpha(1) - ln_alpha[1]).abs() < 1e-12);
            // δ = b expit(η)
            let delta = ln_alpha[0].min(ln_alpha[1]).exp() / (1.0 + f64::exp(-eta));
            assert!((c.ln_shared - delta.ln()).abs() < 1e-12);
        }
    }

    /// The determinant by differences.
    #[test]
    fn the_jacobian_is_that_of_the_map() {
        for point in [[0.3, 1.1, -0.4], [2.0, -1.0, 1.5]] {
            let step = 1e-5;
            let column = |c: usize| -> Vec<f64> {
                let (mut low, mut high) = (point, point);
                low[c] -= step;
                high[c] += step;
                let (low, high) = (to_margins(&low), to_margins(&high));
                high.iter().zip(&low).map(|(h, l)| (h - l) / (2.0 * step)).collect()
            };
            let m = nalgebra::Matrix3::from_fn(|r, c| column(c)[r]);
            let got = Component::of(&point, 0).ln_jacobian().exp();
            assert!((m.determinant().abs() - got).abs() < 1e-8, "{got}");
            // along η the margins stay
            let moved: Vec<f64> = point
                .iter()
                .zip(Component::of(&point, 0).along_eta())
                .map(|(x, d)| x + 1e-6 * d)
                .collect();
            let (before, after) = (to_margins(&point), to_margins(&moved));
            assert!((after[0] - before[0]).abs() < 1e-10 && (after[1] - before[1]).abs() < 1e-10);
            assert!(((after[2] - before[2]) / 1e-6 - 1.0).abs() < 1e-4);
        }
    }
}
