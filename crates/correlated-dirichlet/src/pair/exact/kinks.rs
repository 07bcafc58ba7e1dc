//! The kinks of the integrand in y, and how the integral over the ratio treats them.
//!
//! At yₗ = ln(x²ₗ/x¹ₗ) the integral over the shared gamma of component l behaves like |y−yₗ|^(a¹+a²−1). The error of
//! a trapezoid rule of step h is the Fourier transform of the singular part at ω = 2π/h: Γ(a¹)Γ(a²) ω^−(a¹+a²) times the
//! integrand in which that integral is replaced by e^(s x²).

use std::f64::consts::{LN_2, TAU};

use super::constants::{
    FAR, NEIGHBOUR_STEP, RATIOS_PER_LATTICE, RATIOS_PER_PIECE, SAME_CORNER, STRONG,
};
use super::pieces::Piece;
use crate::pair::accuracy::Accuracy;
use crate::pair::component::Component;
use crate::pair::item::OutputPair;
use crate::pair::laplace::Mode;
use consilience_numerics::special::ln_gamma;

/// How the y axis is integrated over.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    /// Factor on the default step.
    pub(crate) factor: f64,
    /// Estimated relative error from kinks that are no breaks.
    pub(crate) error: f64,
}

/// ln of the relative error of a trapezoid rule of this step from the kink at y.
pub(crate) fn ln_error(c: &Component, x2: f64, y: f64, mode: &Mode, step: f64, total: f64) -> f64 {
    let [a1, a2] = c.private;
    let power = a1 + a2;
    let s = (mode.ln_s + mode.slope * (y - mode.y)).exp();
    let ln_inner = ln_kummer(c.shared, power - 1.0, s * x2);
    let omega = TAU / step;
    -power * omega.hypot(c.shared + s * x2).ln() + ln_gamma(a1) + ln_gamma(a2) + s * x2
        - ln_inner
        - tail(y, mode, total)
        - (0.5 * TAU.sqrt() * mode.sd_y).ln()
        + LN_2
}

/// A lower bound, in practice, of −ln of the integrand at y relative to its maximum.
pub(crate) fn tail(y: f64, mode: &Mode, total: f64) -> f64 {
    let d = (y - mode.y).abs();
    (0.35 * (d / mode.sd_y).powi(2)).min(0.7 * total * (d - 2.0 * mode.sd_y).max(0.0))
}

/// Mode in v and curvature in its logit of δ ln v + r ln q + Mv.
fn kummer_peak(shared: f64, r: f64, tilt: f64) -> (f64, f64) {
    let linear = shared + r - tilt;
    let root = (linear * linear + 4.0 * tilt * shared).sqrt();
    let v = (2.0 * shared / (linear + root)).clamp(1e-12, 1.0 - 1e-12);
    let q = 1.0 - v;
    (v, (shared + r) * v * q - tilt * v * q * (1.0 - 2.0 * v))
}

/// ln ∫₀¹ v^(δ−1) q^(r−1) e^(Mv) dv by Laplace's method in the logit of v.
fn ln_kummer(shared: f64, r: f64, tilt: f64) -> f64 {
    let r = r.max(0.3);
    let shared = shared.max(0.1);
    let (v, curvature) = kummer_peak(shared, r, tilt);
    let q = 1.0 - v;
    shared * v.ln() + r * q.ln() + tilt * v + 0.5 * (TAU / curvature.max(1e-9)).ln()
}

/// The integrand over a shared gamma at the kink of its component.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AtKink {
    /// Curvature at its mode, in the logit of the share.
    pub(crate) precision: f64,
    /// −ln of the integrand over the ratio there, relative to its maximum.
    pub(crate) tail: f64,
}

impl AtKink {
    /// At the kink the two private shapes act as one, a¹ + a² − 1.
    pub(crate) fn new(c: &Component, outputs: &OutputPair, mode: &Mode, total: f64) -> Self {
        let s = (mode.ln_s + mode.slope * (outputs.kink - mode.y)).exp();
        let (shared, r) = (c.shared.max(0.1), c.kink_power().max(0.3));
        let precision = kummer_peak(shared, r, s * outputs.x[1]).1;
        Self { precision, tail: tail(outputs.kink, mode, total) }
    }
}

/// The smaller of the two total concentrations, which determines how fast the integrand over the ratio falls.
pub(crate) fn smaller_total(components: &[Component]) -> f64 {
    let totals = [0, 1].map(|k| components.iter().map(|c| c.shared + c.private[k]).sum::<f64>());
    totals[0].min(totals[1])
}

/// Breaks for a finite resolution, where M = min(G¹, G²) has a corner at every kink, with analytic sides.
///
/// Corners far out in the tails are ignored, unless they are spikes, which may contain all the mass. Corners much closer to
/// each other than the resolution share a break.
pub(crate) fn corners(
    components: &[Component],
    outputs: &[OutputPair],
    mode: &Mode,
    accuracy: &Accuracy,
    epsilon: f64,
    breaks: &mut Vec<f64>,
) {
    breaks.clear();
    let (total, far) =
        (smaller_total(components), 3.0 - accuracy.tolerance.ln() + gain(components));
    for (c, outputs) in components.iter().zip(outputs) {
        if c.kink_power() < 0.0 || tail(outputs.kink, mode, total) < far {
            breaks.push(outputs.kink);
        }
    }
    breaks.sort_unstable_by(f64::total_cmp);
    breaks.dedup_by(|a, b| (*a - *b).abs() < SAME_CORNER * epsilon);
}

/// Chooses between a finer step and breaks; writes the sorted list of breaks.
pub(crate) fn plan(
    components: &[Component],
    outputs: &[OutputPair],
    mode: &Mode,
    accuracy: &Accuracy,
    step: f64,
    breaks: &mut Vec<f64>,
) -> Plan {
    breaks.clear();
    let total = smaller_total(components);
    let goal = (0.3 * accuracy.tolerance).ln();
    let (mut factor, mut forced, mut resolvable, mut error) = (1.0f64, 0, 0, 0.0);
    for (l, c) in components.iter().enumerate() {
        if c.is_independent() || c.is_rigid() {
            continue;
        }
        if c.private[0] == 0.0 || c.private[1] == 0.0 {
            forced += 1;
            breaks.push(outputs[l].kink);
            continue;
        }
        let ln_error = ln_error(c, outputs[l].x[1], outputs[l].kink, mode, step, total);
        let fitting = ((goal - ln_error) / (c.kink_power() + 1.0)).exp();
        if fitting >= 1.0 && (c.kink_power() > STRONG || tail(outputs[l].kink, mode, total) > 42.0)
        {
            error += ln_error.exp();
        } else if c.kink_power() < STRONG {
            forced += 1;
            breaks.push(outputs[l].kink);
        } else {
            factor = factor.min(fitting);
            resolvable += 1;
            breaks.push(outputs[l].kink);
        }
    }
    let pieces = RATIOS_PER_PIECE * f64::from(resolvable + 1);
    if forced == 0 && RATIOS_PER_LATTICE / factor < pieces {
        breaks.clear();
        error += 0.3 * accuracy.tolerance * f64::from(resolvable);
        return Plan { factor, error };
    }
    add_neighbours(components, outputs, mode, accuracy, breaks);
    breaks.sort_unstable_by(f64::total_cmp);
    breaks.dedup();
    Plan { factor: 1.0, error }
}

/// ln of how much larger the integrand may be elsewhere than at the mode of the Laplace approximation.
///
/// A private shape a < 1 makes it smaller by a factor of about a where its classifier has the larger total, or larger by 1/a
/// in a spike.
fn gain(components: &[Component]) -> f64 {
    let one = |c: &Component| -c.private[0].min(c.private[1]).min(1.0).ln();
    components.iter().filter(|c| !c.is_independent()).map(one).sum()
}

/// Drops the pieces in which the integrand is negligible.
pub(crate) fn drop_far_pieces(components: &[Component], mode: &Mode, pieces: &mut Vec<Piece>) {
    let (total, far) = (smaller_total(components), FAR + gain(components));
    pieces.retain(|piece| !(tail(piece.nearest(mode.y), mode, total) > far));
}

/// Adds weak kinks beside a break, near which the nodes are spaced by their distance to it.
///
/// The share of the integral there is (g/σ)^e, where g is the distance and e the exponent of the spike at the break.
fn add_neighbours(
    components: &[Component],
    outputs: &[OutputPair],
    mode: &Mode,
    accuracy: &Accuracy,
    breaks: &mut Vec<f64>,
) {
    let spike: f64 = components.iter().map(|c| c.kink_power().min(0.0)).sum();
    let exponent = (1.0 + spike).clamp(0.05, 1.0);
    let goal = (0.05 * accuracy.tolerance).ln();
    let count = breaks.len();
    for (c, outputs) in components.iter().zip(outputs) {
        if c.is_independent() {
            continue;
        }
        let gap =
            breaks[..count].iter().map(|y| (y - outputs.kink).abs()).fold(f64::INFINITY, f64::min);
        let part = exponent * (gap / mode.sd_y).ln().min(0.0);
        if gap > 0.0
            && gap < mode.sd_y
            && part + (c.kink_power() + 1.0) * NEIGHBOUR_STEP.ln() > goal
        {
            breaks.push(outputs.kink);
        }
    }
}
