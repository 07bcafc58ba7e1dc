//! Pieces of the y axis between strong kinks, each mapped to the whole real line.
//!
//! Between breaks y_a < y_b at B = (y_b − y_a)/σ the map is y = y_a + σ ln[(1+e^τ)/(1+e^(τ−B))]: the logarithm
//! of the distance near a break, linear inside. Its other singularities lie at Im τ = π, so that one step fits every
//! width. The distances to both ends are computed without cancellation.

use super::scale::Position;

/// An interval of the y axis on which the integrand is analytic.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Piece {
    /// The breaks at its ends, or ±∞.
    pub(crate) lower: f64,
    pub(crate) upper: f64,
    /// The scale σ of the map, or the step if there are no breaks.
    pub(crate) scale: f64,
    /// The step in τ.
    pub(crate) step: f64,
    /// ln of scale times step.
    ln_unit: f64,
    /// y at τ = 0 if there are no breaks.
    pub(crate) centre: f64,
}

/// A point of a piece.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Point {
    pub(crate) at: Position,
    /// ln of the step times dy/dτ.
    pub(crate) ln_weight: f64,
    /// Distance to the lower and to the upper end.
    pub(crate) from: [f64; 2],
}

impl Piece {
    /// An interval between breaks, or ±∞, with a step.
    pub(crate) fn new([lower, upper]: [f64; 2], scale: f64, centre: f64, step: f64) -> Self {
        Self { lower, upper, scale, step, ln_unit: (scale * step).ln(), centre }
    }

    /// The point at τ.
    pub(crate) fn point(&self, tau: f64) -> Point {
        let (a, b) = (self.lower, self.upper);
        match (a.is_finite(), b.is_finite()) {
            (false, false) => Point {
                at: Position { anchor: self.centre, offset: self.scale * tau },
                ln_weight: self.ln_unit,
                from: [f64::INFINITY; 2],
            },
            (true, false) => {
                let (away, ln_slope) = softplus(tau);
                let d = self.scale * away;
                Point {
                    at: Position { anchor: a, offset: d },
                    ln_weight: self.ln_unit + ln_slope,
                    from: [d, f64::INFINITY],
                }
            }
            (false, true) => {
                let (away, ln_slope) = softplus(-tau);
                let d = self.scale * away;
                Point {
                    at: Position { anchor: b, offset: -d },
                    ln_weight: self.ln_unit + ln_slope,
                    from: [f64::INFINITY, d],
                }
            }
            (true, true) => self.between(a, b, tau),
        }
    }

    fn between(&self, a: f64, b: f64, tau: f64) -> Point {
        let width = (b - a) / self.scale;
        let part = -(-width).exp_m1();
        let (up, down) = (tau.exp(), (width - tau).exp());
        let lower = self.scale * (up * part / (1.0 + 1.0 / down)).ln_1p();
        let upper = self.scale * (down * part / (1.0 + 1.0 / up)).ln_1p();
        let at = if lower < upper {
            Position { anchor: a, offset: lower }
        } else {
            Position { anchor: b, offset: -upper }
        };
        let ln_slope = (part / ((1.0 + 1.0 / up) * (1.0 + 1.0 / down))).ln();
        Point { at, ln_weight: self.ln_unit + ln_slope, from: [lower, upper] }
    }

    /// The τ of the mode, or near the end closest to it.
    pub(crate) fn start(&self, mode: f64) -> f64 {
        let inverse = |d: f64| {
            let t = d / self.scale;
            if t > 30.0 { t } else { t.exp_m1().ln() }
        };
        let (a, b) = (self.lower, self.upper);
        match (a.is_finite(), b.is_finite()) {
            (true, false) if mode > a => inverse(mode - a).max(-3.0),
            (false, true) if mode < b => -inverse(b - mode).max(-3.0),
            (true, true) => {
                let width = (b - a) / self.scale;
                if width < 1.0 || !width.is_finite() {
                    0.5 * width
                } else if mode <= a {
                    0.0
                } else if mode >= b {
                    width
                } else {
                    inverse(mode - a).clamp(0.0, width)
                }
            }
            _ => 0.0,
        }
    }

    /// The length of the piece.
    pub(crate) fn width(&self) -> f64 {
        self.upper - self.lower
    }

    /// Whether the piece has a break at an end.
    pub(crate) fn is_mapped(&self) -> bool {
        self.lower.is_finite() || self.upper.is_finite()
    }

    /// The point of the piece, with its ends, that is nearest to y.
    pub(crate) fn nearest(&self, y: f64) -> f64 {
        y.max(self.lower).min(self.upper)
    }
}

/// ln(1 + eˣ) without overflow, and ln of its derivative 1/(1 + e⁻ˣ).
fn softplus(x: f64) -> (f64, f64) {
    let rest = (-x.abs()).exp().ln_1p();
    (x.max(0.0) + rest, x.min(0.0) - rest)
}
