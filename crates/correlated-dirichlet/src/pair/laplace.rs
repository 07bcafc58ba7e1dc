//! A Laplace approximation of the integrand, whose mode and curvature place the quadrature nodes.
//!
//! It does not enter any value. With totals s₁, s₂ and shared parts D it maximises
//!
//! ```text
//! (J/2)(ln s₁ + ln s₂) + Σₗ[d ln Dₗ + b₁ ln(s₁x¹ₗ − Dₗ) + b₂ ln(s₂x²ₗ − Dₗ)] + ΣDₗ − s₁ − s₂
//! ```
//!
//! with d = max(δ, 0.3) and b = max(a − ½, 0.3). This is jointly concave, and its Hessian is an arrow matrix, so that a
//! Newton step costs O(J).

use super::component::Component;

/// The smallest exponent, which keeps the mode away from the bounds.
const SMALLEST: f64 = 0.3;
/// Newton steps, at most; 3 to 7 are usual up to shapes of 1e5.
const MAX_STEPS: usize = 60;
/// The fraction of the way to a bound that one step may go.
const TO_BOUNDARY: f64 = 0.85;

/// The mode of the integrand and its widths.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Mode {
    /// y = ln s₁ − ln s₂ at the mode.
    pub(crate) y: f64,
    /// Standard deviation of y.
    pub(crate) sd_y: f64,
    /// ln s₂ at the mode.
    pub(crate) ln_s: f64,
    /// d ln s₂ / dy along the ridge.
    pub(crate) slope: f64,
    /// Precision of ln s given y: the integrand in s is about a gamma of this shape.
    pub(crate) precision_s: f64,
}

impl Mode {
    /// Whether the search for the mode has succeeded, which may fail for outputs below 1e-150.
    pub(crate) fn is_finite(&self) -> bool {
        [self.y, self.sd_y, self.ln_s, self.slope, self.precision_s].iter().all(|x| x.is_finite())
    }
}

/// One component at the mode: its shared part, and the standard deviation of the logit of its share.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Share {
    /// D, then logit(D / min(s₁x¹, s₂x²)) once the mode is found.
    pub(crate) logit: f64,
    /// Standard deviation of the logit given the totals.
    pub(crate) sd: f64,
}

struct Newton<'a> {
    components: &'a [Component],
    x: [&'a [f64]; 2],
    totals: [f64; 2],
    /// Second derivatives after eliminating D: [11, 12, 22].
    schur: [f64; 3],
}

/// Derivatives of the terms of one component at D.
struct Slopes {
    weights: [f64; 2],
    rest: [f64; 2],
    gradient: f64,
    curvature: f64,
    cross: [f64; 2],
}

impl Newton<'_> {
    fn slopes(&self, l: usize, common: f64) -> Slopes {
        let c = &self.components[l];
        let d = c.shared.max(SMALLEST);
        let weights = c.private.map(|a| (a - 0.5).max(SMALLEST));
        let rest = [0, 1].map(|k| self.totals[k] * self.x[k][l] - common);
        let pull = [weights[0] / rest[0], weights[1] / rest[1]];
        Slopes {
            weights,
            rest,
            gradient: d / common - pull[0] - pull[1] + 1.0,
            curvature: d / (common * common) + pull[0] / rest[0] + pull[1] / rest[1],
            cross: [0, 1].map(|k| -pull[k] / rest[k] * self.x[k][l]),
        }
    }

    /// One damped Newton step; returns the largest relative change.
    fn step(&mut self, shares: &mut [Share]) -> f64 {
        let half = 0.5 * self.components.len() as f64;
        let mut g = [0, 1].map(|k| half / self.totals[k] - 1.0);
        let mut h = [half / self.totals[0].powi(2), 0.0, half / self.totals[1].powi(2)];
        for (l, share) in shares.iter().enumerate() {
            let s = self.slopes(l, share.logit);
            let ratio = s.gradient / s.curvature;
            for k in 0..2 {
                g[k] += s.weights[k] / s.rest[k] * self.x[k][l] - s.cross[k] * ratio;
                h[2 * k] += -s.cross[k] * self.x[k][l] - s.cross[k] * s.cross[k] / s.curvature;
            }
            h[1] -= s.cross[0] * s.cross[1] / s.curvature;
        }
        self.schur = h;
        let determinant = h[0] * h[2] - h[1] * h[1];
        let move_by =
            [(h[2] * g[0] - h[1] * g[1]) / determinant, (h[0] * g[1] - h[1] * g[0]) / determinant];
        self.advance(shares, move_by)
    }

    #[expect(clippy::needless_range_loop, reason = "k is a classifier, and indexes several lists")]
    fn advance(&mut self, shares: &mut [Share], move_by: [f64; 2]) -> f64 {
        let mut fraction = 1.0f64;
        for k in 0..2 {
            fraction = fraction.min(limit(self.totals[k], move_by[k]));
        }
        for (l, share) in shares.iter_mut().enumerate() {
            let s = self.slopes(l, share.logit);
            let change =
                (s.gradient - s.cross[0] * move_by[0] - s.cross[1] * move_by[1]) / s.curvature;
            share.sd = change;
            fraction = fraction.min(limit(share.logit, change));
            for k in 0..2 {
                fraction = fraction.min(limit(s.rest[k], move_by[k] * self.x[k][l] - change));
            }
        }
        for share in shares.iter_mut() {
            share.logit += fraction * share.sd;
        }
        let mut largest = 0.0f64;
        for k in 0..2 {
            largest = largest.max((move_by[k] / self.totals[k]).abs());
            self.totals[k] += fraction * move_by[k];
        }
        if fraction < 1.0 { largest.max(1.0) } else { largest }
    }
}

/// The largest fraction of a step that keeps a positive quantity positive.
fn limit(value: f64, change: f64) -> f64 {
    if change < 0.0 { TO_BOUNDARY * value / -change } else { 1.0 }
}

/// Finds the mode; writes one share per component.
pub(crate) fn find(
    components: &[Component],
    x1: &[f64],
    x2: &[f64],
    shares: &mut Vec<Share>,
) -> Mode {
    let total = |k: usize| -> f64 { components.iter().map(|c| c.shared + c.private[k]).sum() };
    let mut newton =
        Newton { components, x: [x1, x2], totals: [total(0), total(1)], schur: [0.0; 3] };
    shares.clear();
    for l in 0..components.len() {
        let smaller = (newton.totals[0] * x1[l]).min(newton.totals[1] * x2[l]);
        shares.push(Share { logit: 0.5 * smaller, sd: 0.0 });
    }
    for _ in 0..MAX_STEPS {
        if newton.step(shares) < 1e-3 {
            break;
        }
    }
    finish(&newton, shares)
}

fn finish(newton: &Newton<'_>, shares: &mut [Share]) -> Mode {
    for (l, share) in shares.iter_mut().enumerate() {
        let s = newton.slopes(l, share.logit);
        let (common, other) = (share.logit, s.rest[0].min(s.rest[1]));
        share.sd = (common + other) / (common * other * s.curvature.sqrt());
        share.logit = (common / other).ln();
    }
    let [s1, s2] = newton.totals;
    let (p11, p12, p22) =
        (newton.schur[0] * s1 * s1, newton.schur[1] * s1 * s2, newton.schur[2] * s2 * s2);
    let along = p11 + 2.0 * p12 + p22;
    let across = (p11 * p22 - p12 * p12) / along;
    Mode {
        y: (s1 / s2).ln(),
        sd_y: across.powf(-0.5),
        ln_s: s2.ln(),
        slope: -(p11 + p12) / along,
        precision_s: along,
    }
}
