//! The hidden variables of one component of one item, and their density.
//!
//! With G¹ = s₁x¹, G² = s₂x², the smaller of them M, τ = ln G¹ − ln G² and D = Mv, the density of one component in
//! the logit of v is
//!
//! ```text
//! M^(δ+a¹+a²−2) v^δ (1−v)^(a near) (c+1−v)^(a far − 1) e^(−M(2+c−v)),   c = e^|τ| − 1
//! ```
//!
//! where *near* is the classifier with the smaller G. At a finite resolution τ + εe is observed, e standard normal, and M
//! held fixed: then G¹, G² below are observed, τ is hidden, and a factor e^(|τ| − |observed τ|) is added. All values are
//! logarithms, because a gamma variate of shape 0.001 may be e^−1000.

use consilience_numerics::log_space::log_add_exp;

/// Shapes of one component.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Shapes {
    pub(super) shared: f64,
    pub(super) private: [f64; 2],
}

/// The density of one component's logit of v, given the item's totals and the component's noise.
#[derive(Debug, Clone, Copy)]
pub(super) struct ComponentDensity {
    ln_mass: f64,
    mass: f64,
    /// c = e^|τ| − 1.
    excess: f64,
    /// |τ| − |observed τ|.
    moved: f64,
    near: usize,
}

/// 1 − v, ln v and ln(1 − v) from the logit of v.
#[derive(Debug, Clone, Copy)]
struct SharedFraction {
    rest: f64,
    ln_v: f64,
    ln_rest: f64,
}

impl SharedFraction {
    fn new(logit: f64) -> Self {
        let t = (-logit.abs()).exp();
        let ln_1p = t.ln_1p();
        let (small, large) = (t / (1.0 + t), 1.0 / (1.0 + t));
        if logit >= 0.0 {
            Self { rest: small, ln_v: -ln_1p, ln_rest: -logit - ln_1p }
        } else {
            Self { rest: large, ln_v: logit - ln_1p, ln_rest: -ln_1p }
        }
    }
}

/// A rough normal approximation of the logit of v, by which logits are standardised when parameters move. It need not
/// be accurate, but it must not depend on the logit.
#[derive(Debug, Clone, Copy)]
pub(super) struct NormalApproximation {
    pub(super) centre: f64,
    pub(super) width: f64,
}

impl ComponentDensity {
    /// For the logarithms of the observed G¹, G², and the shift of τ from the observed one.
    pub(super) fn new(ln_g: [f64; 2], shift: f64) -> Self {
        let observed = ln_g[0] - ln_g[1];
        let tau = observed + shift;
        let ln_mass = ln_g[0].min(ln_g[1]);
        Self {
            ln_mass,
            mass: ln_mass.exp(),
            excess: tau.abs().exp_m1(),
            moved: tau.abs() - observed.abs(),
            near: usize::from(tau > 0.0),
        }
    }

    fn ln_far(&self, part: &SharedFraction) -> f64 {
        if part.rest > 1e-290 || self.excess > 1e-290 {
            (self.excess + part.rest).ln()
        } else {
            log_add_exp(self.excess.ln(), part.ln_rest)
        }
    }

    /// The log density of the logit of v, with all factors that depend on totals and noise.
    pub(super) fn ln_density(&self, shapes: &Shapes, logit: f64) -> f64 {
        let part = SharedFraction::new(logit);
        let [near, far] = [shapes.private[self.near], shapes.private[1 - self.near]];
        let power = shapes.shared + near + far - 2.0;
        power * self.ln_mass - self.rate(&part) * self.mass
            + shapes.shared * part.ln_v
            + near * part.ln_rest
            + (far - 1.0) * self.ln_far(&part)
            + self.moved
    }

    fn rate(&self, part: &SharedFraction) -> f64 {
        1.0 + self.excess + part.rest
    }

    /// The sum of the component's three gammas over its smaller G: the common scale multiplies it.
    pub(super) fn rate_at(&self, logit: f64) -> f64 {
        self.rate(&SharedFraction::new(logit))
    }

    /// ln of the smaller G.
    pub(super) fn ln_mass(&self) -> f64 {
        self.ln_mass
    }

    /// ln D, ln A¹, ln A².
    pub(super) fn ln_gammas(&self, logit: f64) -> [f64; 3] {
        let part = SharedFraction::new(logit);
        let mut private = [self.ln_mass + self.ln_far(&part); 2];
        private[self.near] = self.ln_mass + part.ln_rest;
        [self.ln_mass + part.ln_v, private[0], private[1]]
    }

    /// Mean and variance of the logit of a beta variable with the same mode and curvature.
    ///
    /// Where K = M − (a far − 1)/(c+1−v) is constant, w = v/(1−v) at the mode solves
    /// a w² + (a − δ − K) w − δ = 0 with a near; K is iterated three times.
    pub(super) fn approximation(&self, shapes: &Shapes) -> NormalApproximation {
        let (delta, near) = (shapes.shared, shapes.private[self.near].max(TINY));
        let excess_shape = shapes.private[1 - self.near] - 1.0;
        let (mut v, mut rest, mut pull) = (0.5, 0.5, 0.0);
        for _ in 0..ROUNDS {
            pull = self.mass - excess_shape / (self.excess + rest).max(TINY);
            let b = delta + pull - near;
            let root = b.hypot(2.0 * (near * delta).sqrt());
            let ratio = if b > 0.0 { 0.5 * (b + root) / near } else { 2.0 * delta / (root - b) };
            (v, rest) = (ratio / (1.0 + ratio), 1.0 / (1.0 + ratio));
        }
        let bend = excess_shape * v * rest / (self.excess + rest).max(TINY).powi(2);
        let least = LEAST_CURVATURE * (delta + near);
        let curvature = (delta + near - (rest - v) * pull + bend).max(least);
        // v (1−v) · curvature, over 1−v and v
        beta_logit((v * curvature).max(TINY), (rest * curvature).max(TINY))
    }
}

const TINY: f64 = 1e-290;
const ROUNDS: usize = 3;
/// Curvature of the logit's density over δ + a, at least.
const LEAST_CURVATURE: f64 = 0.2;

/// About ψ(p) − ψ(q) and √(ψ′(p) + ψ′(q)).
fn beta_logit(p: f64, q: f64) -> NormalApproximation {
    let digamma = |x: f64| {
        let y = x + 0.5;
        y.ln() + 1.0 / (24.0 * y * y) - 1.0 / x
    };
    let trigamma = |x: f64| 1.0 / (x + 0.5) + 1.0 / (x * x);
    let (p, q) = (p.max(SMALLEST_SHAPE), q.max(SMALLEST_SHAPE));
    NormalApproximation {
        centre: digamma(p) - digamma(q),
        width: (trigamma(p) + trigamma(q)).sqrt(),
    }
}

/// Smaller shapes leave the approximation unchanged.
const SMALLEST_SHAPE: f64 = 1e-100;

#[cfg(test)]
mod tests {
    use super::*;

    /// The density from its definition with gammas, at moderate values.
    #[test]
    fn agrees_with_the_product_of_gammas() {
        let shapes = Shapes { shared: 1.3, private: [0.7, 2.1] };
        for (ln_g, shift) in [([0.4f64, -0.9f64], 0.0), ([-0.2, 1.1], 0.05), ([0.3, 0.32], 0.1)] {
            let component = ComponentDensity::new(ln_g, shift);
            let smaller = ln_g[0].min(ln_g[1]).exp();
            let observed = ln_g[0] - ln_g[1];
            let (tau, larger) = (observed + shift, smaller * (observed + shift).abs().exp());
            let g = if tau > 0.0 { [larger, smaller] } else { [smaller, larger] };
            for logit in [-3.0, 0.1, 2.0] {
                let v = 1.0 / (1.0 + f64::exp(-logit));
                let d = v * smaller;
                let (a1, a2) = (g[0] - d, g[1] - d);
                let expected = 0.3 * d.ln() - 0.3 * a1.ln() + 1.1 * a2.ln() - d - a1 - a2
                    + (smaller * v * (1.0 - v)).ln()
                    + tau.abs()
                    - observed.abs();
                let got = component.ln_density(&shapes, logit);
                assert!((got - expected).abs() < 1e-12, "{got} {expected}");
                let [ln_d, ln_a1, ln_a2] = component.ln_gammas(logit);
                assert!((ln_d - d.ln()).abs() < 1e-12);
                assert!((ln_a1 - a1.ln()).abs() < 1e-12 && (ln_a2 - a2.ln()).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn stays_finite_at_the_ends() {
        for (shared, private) in [(1e-9, [3.0, 2.0]), (2.0, [1e-9, 1.0]), (2.0, [1e-9, 1e-9])] {
            let shapes = Shapes { shared, private };
            for ln_g in [[0.4, 0.4], [0.4, -300.0], [5.0, 5.0 + 1e-15]] {
                let component = ComponentDensity::new(ln_g, 0.0);
                let normal = component.approximation(&shapes);
                assert!(normal.centre.is_finite() && normal.width > 0.0, "{shapes:?} {normal:?}");
                for z in [-1.0, 0.0, 1.0] {
                    let value = component.ln_density(&shapes, normal.centre + z * normal.width);
                    assert!(!value.is_nan(), "{shapes:?} {ln_g:?}");
                }
            }
        }
    }

    /// Mean and standard deviation of the logit by summing the density.
    #[test]
    fn approximations_are_near_the_exact_moments() {
        for (shared, private, ln_g) in [
            (6.0, [6.0, 6.0], [1.2, 1.0]),
            (4.0, [4.0, 4.0], [2.0, 1.1]),
            (0.5, [1.5, 1.0], [0.1, -0.9]),
            (10.0, [0.5, 0.7], [2.3, 2.2]),
        ] {
            let (shapes, component) =
                (Shapes { shared, private }, ComponentDensity::new(ln_g, 0.0));
            let normal = component.approximation(&shapes);
            let (mut mass, mut first, mut second) = (0.0, 0.0, 0.0);
            for i in -4000..4000 {
                let logit = f64::from(i) * 0.01;
                let weight = component.ln_density(&shapes, logit).exp();
                mass += weight;
                first += weight * logit;
                second += weight * logit * logit;
            }
            let (mean, sd) = (first / mass, (second / mass - (first / mass).powi(2)).sqrt());
            assert!((normal.centre - mean).abs() < 0.5 * sd, "{normal:?} {mean} {sd}");
            assert!((0.6..1.6).contains(&(normal.width / sd)), "{normal:?} {mean} {sd}");
        }
    }
}
