//! Pieces of the y axis between strong kinks, each mapped to the whole real line.
//!
//! Between breaks y_a < y_b at B = (y_b − y_a)/σ the map is y = y_a + σ ln[(1+e^τ)/(1+e^(τ−B))]: the logarithm
//! of the distance near a break, linear inside. Its other singularities lie at Im τ = π, so that one step fits every
//! width. The distances to both ends are computed without cancellation.

use super::scale::Position;

/// One end of a piece.
#[derive(Debug, Clone, Copy)]
pub(crate) enum End {
    /// A break at this y.
    Break(f64),
    /// The piece is unbounded.
    Infinite,
}

/// An interval of the y axis on which the integrand is analytic.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Piece {
    pub(crate) lower: End,
    pub(crate) upper: End,
    /// The scale σ of the map, or the step if there are no breaks.
    pub(crate) scale: f64,
    /// y at τ = 0 if there are no breaks.
    pub(crate) centre: f64,
}

/// A point of a piece.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Point {
    pub(crate) at: Position,
    /// ln dy/dτ.
    pub(crate) ln_jacobian: f64,
    /// Distance to the lower and to the upper end.
    pub(crate) from: [f64; 2],
}

impl Piece {
    /// The point at τ.
    pub(crate) fn point(&self, tau: f64) -> Point {
        let ln_scale = self.scale.ln();
        match (self.lower, self.upper) {
            (End::Infinite, End::Infinite) => Point {
                at: Position { anchor: self.centre, offset: self.scale * tau },
                ln_jacobian: ln_scale,
                from: [f64::INFINITY; 2],
            },
            (End::Break(a), End::Infinite) => {
                let d = self.scale * softplus(tau);
                Point {
                    at: Position { anchor: a, offset: d },
                    ln_jacobian: ln_scale - softplus(-tau),
                    from: [d, f64::INFINITY],
                }
            }
            (End::Infinite, End::Break(b)) => {
                let d = self.scale * softplus(-tau);
                Point {
                    at: Position { anchor: b, offset: -d },
                    ln_jacobian: ln_scale - softplus(tau),
                    from: [f64::INFINITY, d],
                }
            }
            (End::Break(a), End::Break(b)) => self.between(a, b, tau),
        }
    }

    fn between(&self, a: f64, b: f64, tau: f64) -> Point {
        let width = (b - a) / self.scale;
        let part = -(-width).exp_m1();
        let lower = self.scale * (tau.exp() * part / (1.0 + (tau - width).exp())).ln_1p();
        let upper = self.scale * ((width - tau).exp() * part / (1.0 + (-tau).exp())).ln_1p();
        let at = if lower < upper {
            Position { anchor: a, offset: lower }
        } else {
            Position { anchor: b, offset: -upper }
        };
        let ln_jacobian = self.scale.ln() + part.ln() - softplus(-tau) - softplus(tau - width);
        Point { at, ln_jacobian, from: [lower, upper] }
    }

    /// The τ of the mode, or near the end closest to it.
    pub(crate) fn start(&self, mode: f64) -> f64 {
        let inverse = |d: f64| {
            let t = d / self.scale;
            if t > 30.0 { t } else { t.exp_m1().ln() }
        };
        match (self.lower, self.upper) {
            (End::Infinite, End::Infinite) => 0.0,
            (End::Break(a), End::Infinite) => {
                if mode > a {
                    inverse(mode - a).max(-3.0)
                } else {
                    0.0
                }
            }
            (End::Infinite, End::Break(b)) => {
                if mode < b {
                    -inverse(b - mode).max(-3.0)
                } else {
                    0.0
                }
            }
            (End::Break(a), End::Break(b)) => {
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
        }
    }

    /// The length of the piece.
    pub(crate) fn width(&self) -> f64 {
        match (self.lower, self.upper) {
            (End::Break(a), End::Break(b)) => b - a,
            _ => f64::INFINITY,
        }
    }

    /// The point of the piece, with its ends, that is nearest to y.
    pub(crate) fn nearest(&self, y: f64) -> f64 {
        match (self.lower, self.upper) {
            (End::Break(a), _) if y < a => a,
            (_, End::Break(b)) if y >= b => b,
            _ => y,
        }
    }
}

/// ln(1 + eˣ) without overflow.
fn softplus(x: f64) -> f64 {
    if x > 36.0 { x } else { x.exp().ln_1p() }
}
