//! The integral over the scale s at one ratio ρ = s₁/s₂ of the totals.

use std::f64::consts::TAU;

use pulp::Arch;

use super::kernel::{AtNodes, Equidistant, GROUP, TermRecord, run};
use super::shared::SharedIntegral;
use super::trapezoid_error::Decay;
use crate::pair::accuracy::Accuracy;
use crate::pair::component::Component;
use crate::pair::item::{OutputPair, side};
use crate::pair::laplace::Mode;
use consilience_numerics::laguerre::Laguerre;
use consilience_numerics::special::ln_gamma;

/// A position on the y axis as an anchor and a distance from it, so that small distances keep their digits.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Position {
    pub(crate) anchor: f64,
    pub(crate) offset: f64,
}

impl Position {
    /// y itself.
    pub(crate) fn y(self) -> f64 {
        self.anchor + self.offset
    }
}

/// The integrals over the scale of one item.
pub(crate) struct ScaleIntegrals<'a> {
    pub(crate) arch: Arch,
    pub(crate) accuracy: Accuracy,
    pub(crate) components: &'a [Component],
    pub(crate) outputs: &'a [OutputPair],
    /// Components with an inner integral, in order.
    pub(crate) active: &'a [usize],
    /// The factors of all other components.
    pub(crate) rest: KnownFactors,
    /// Σ(δ + a¹ + a²).
    pub(crate) power: f64,
    pub(crate) mode: Mode,
    pub(crate) laguerre: &'a [Laguerre],
    /// The Gauss-Laguerre rule that was used last, and its scale.
    pub(crate) rule: (usize, f64),
    /// Equidistant points in s.
    pub(crate) grid: &'a mut EquidistantScales,
    /// Terms kept for the derivatives, if they are wanted.
    pub(crate) record: Option<&'a mut TermRecord>,
    /// Terms that may still be summed for this item; all integrals are 0 once there are none left.
    pub(crate) work: &'a mut f64,
}

/// ln of the factors of components in closed form: constant + slope · y + tilt · s.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct KnownFactors {
    pub(crate) constant: f64,
    pub(crate) slope: f64,
    pub(crate) tilt: f64,
}

impl KnownFactors {
    /// G¹ and G² independent: (ρx¹)^(a¹−1) x²^(a²−1) / (Γ(a¹)Γ(a²)).
    pub(crate) fn add_independent(&mut self, c: &Component, outputs: &OutputPair) {
        let [a1, a2] = c.private;
        self.slope += a1 - 1.0;
        self.constant += (a1 - 1.0) * outputs.ln_x[0] + (a2 - 1.0) * outputs.ln_x[1]
            - ln_gamma(a1)
            - ln_gamma(a2);
    }

    /// G¹ = G², a point mass in y: x²^(δ−1) e^(s x²) / (Γ(δ) x¹ ρ).
    pub(crate) fn add_rigid(&mut self, c: &Component, outputs: &OutputPair) {
        self.slope -= 1.0;
        self.constant += (c.shared - 1.0) * outputs.ln_x[1] - ln_gamma(c.shared) - outputs.ln_x[0];
        self.tilt += outputs.x[1];
    }
}

/// Equidistant points t_k = s/centre, for an integrand like that of a gamma variable.
#[derive(Debug, Clone, Default)]
pub(crate) struct EquidistantScales {
    t: Vec<f64>,
    /// (N−1) ln t_k.
    pub(crate) ln_t: Vec<f64>,
    step: f64,
    /// (ω/β)² of the gamma variable at this step.
    square: f64,
    power: f64,
}

impl EquidistantScales {
    /// Fits the grid to a gamma variable with this shape; `power` is N.
    pub(crate) fn fit(&mut self, shape: f64, power: f64, accuracy: &Accuracy, refine: f64) {
        let decay = (-2.0 / shape * accuracy.target_s.ln()).exp_m1().sqrt();
        self.step = refine * TAU / (shape * decay);
        self.power = power;
        self.square = (TAU / (shape * self.step)).powi(2);
        // shape·(ln t − t + 1) = −cut, t < 1
        let target = (accuracy.cut + 1.0) / shape;
        let mut t = (1.0 - (2.0 * target).sqrt()).max((-target).exp() * 0.4);
        for _ in 0..6 {
            let value = t.ln() - t + 1.0 + target;
            t = (t - value / (1.0 / t - 1.0)).clamp(1e-6, 1.0 - target.sqrt().min(0.5));
        }
        // the same for t > 1
        let mut upper = 1.0 + (2.0 * target).sqrt() + 0.7 * target;
        for _ in 0..3 {
            upper -= (upper.ln() - upper + 1.0 + target) / (1.0 / upper - 1.0);
        }
        let first = t.max(1e-3 * self.step);
        self.lay(first, upper - first);
    }

    fn lay(&mut self, first: f64, range: f64) {
        let count = (((range / self.step) as usize).min(2000) / GROUP + 1) * GROUP;
        let step = self.step;
        self.t.clear();
        self.t.extend((0..count).map(|k| first + step * k as f64));
        let power = self.power - 1.0;
        self.ln_t.clear();
        self.ln_t.extend(self.t.iter().map(|t| power * (t - 1.0).ln_1p()));
    }

    /// Convergence in s, from |even − odd| / sum, the error at twice the step.
    pub(crate) fn decay(&self, coarse: f64) -> Decay {
        // e₂ₕ = (1+u²/4)^−κ and eₕ = (1+u²)^−κ; as if a Gaussian had had the error eₕ
        let gain = self.square.ln_1p() / (0.25 * self.square).ln_1p();
        Decay::gaussian(2.0 * (0.5 * coarse).powf(0.25 * gain))
    }

    /// Adds four points below, or as many as there is room for; whether there was any.
    fn lower(&mut self) -> bool {
        let first = self.t[0];
        if first <= 0.01 * self.step {
            return false;
        }
        let range = self.t[self.t.len() - 1] - first;
        let next = first - GROUP as f64 * self.step;
        self.lay(
            if next > 0.0 { next } else { 1e-3 * self.step.min(first) },
            range + 4.0 * self.step,
        );
        true
    }

    /// Adds at least eight points above.
    fn extend(&mut self) {
        let first = self.t[0];
        let range = self.t[self.t.len() - 1] - first;
        self.lay(first, (range + 8.0 * self.step).max(1.25 * range));
    }
}

/// The integral over the scale at one ratio.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ScaleIntegral {
    /// ln of the integral, with all constants.
    pub(crate) ln_value: f64,
    /// ln s at the largest term, and where it was expected.
    pub(crate) ln_s: f64,
    pub(crate) centre: f64,
    /// |even − odd| / sum over s: the relative error at twice the step.
    pub(crate) coarse_s: f64,
    /// Relative error of the integrals over the shared gammas.
    pub(crate) inner: f64,
}

impl ScaleIntegral {
    const ZERO: Self =
        Self { ln_value: f64::NEG_INFINITY, ln_s: 0.0, centre: 0.0, coarse_s: 0.0, inner: 0.0 };
}

/// The number of points of a Gauss-Laguerre rule whose error falls by `ratio`² per point, for a total shape.
pub(crate) fn gauss_points(tolerance: f64, ratio: f64, power: f64) -> f64 {
    (0.01 * tolerance).ln() / (2.0 * ratio.ln()) + 2.0 + 0.25 * power
}

/// The nearest ln s at which the integrand of a ratio may have its maximum.
///
/// It is a mixture of s^N e^(−s(1+ρ−κ)) with 0 ≤ κ ≤ Σ min(ρx¹, x²) ≤ min(ρ, 1).
pub(crate) fn possible_ln_s(ln_s: f64, y: f64, power: f64) -> f64 {
    let largest = power.ln() - y.max(0.0);
    ln_s.max(largest - (-y.abs()).exp().ln_1p()).min(largest)
}

impl ScaleIntegrals<'_> {
    /// Evaluates the integral without a neighbour: the Laplace approximation gives the centre in s, and the integral is repeated
    /// until its largest term is near the centre.
    pub(crate) fn settle(&mut self, inner: &mut [SharedIntegral], at: Position) -> ScaleIntegral {
        let mode = self.mode;
        let width = 2.0 / mode.precision_s.sqrt();
        let y = at.y();
        let mut guess = possible_ln_s(mode.ln_s + mode.slope * (y - mode.y), y, self.power);
        let mut line = self.evaluate(inner, at, guess);
        for _ in 0..8 {
            if (line.ln_s - guess).abs() < width || line.ln_value == f64::NEG_INFINITY {
                break;
            }
            guess = line.ln_s;
            line = self.evaluate(inner, at, guess);
        }
        line
    }

    /// Evaluates the integral at y, with the integrand expected around `ln_s`.
    pub(crate) fn evaluate(
        &mut self,
        inner: &mut [SharedIntegral],
        at: Position,
        ln_s: f64,
    ) -> ScaleIntegral {
        let y = at.y();
        let (rho, s) = (y.exp(), ln_s.exp());
        if *self.work < 0.0 {
            return ScaleIntegral::ZERO;
        }
        let mut constant = self.rest.constant
            + (self.components.len() as f64 + self.rest.slope) * y
            + self.rest.tilt * s;
        let (mut tilt, mut mass) = (self.rest.tilt, self.rest.tilt);
        for &l in self.active {
            let outputs = &self.outputs[l];
            let tau = (at.anchor - outputs.kink) + at.offset;
            let side = side(&self.components[l], outputs, tau, y, rho);
            if side.far == 0.0 {
                return ScaleIntegral::ZERO;
            }
            constant += inner[l].prepare(self.arch, &self.accuracy, side, s);
            tilt += side.smaller * inner[l].pivot;
            mass += side.smaller;
        }
        let mut line = if self.laguerre.is_empty() {
            self.equidistant(inner, rho, tilt, ln_s)
        } else {
            self.gauss(inner, rho, tilt, mass, s)
        };
        line.ln_value += constant;
        let levels = self.active.iter().map(|&l| inner[l].line_level);
        let lowest = levels.fold(f64::INFINITY, f64::min);
        line.inner = 2.0 * self.active.len() as f64 * (-lowest).exp();
        line
    }

    /// Equidistant points in s, at which exponentials follow from one another by multiplication.
    fn equidistant(
        &mut self,
        inner: &mut [SharedIntegral],
        rho: f64,
        tilt: f64,
        ln_s: f64,
    ) -> ScaleIntegral {
        let centre = ln_s.exp();
        let cut = self.accuracy.negligible_s;
        let nodes: usize = self.active.iter().map(|&l| inner[l].window.len()).sum();
        loop {
            if let Some(record) = &mut self.record {
                record.clear();
            }
            *self.work -= ((nodes + GROUP) * (self.grid.t.len() + GROUP)) as f64;
            let sum = run(
                self.arch,
                Equidistant {
                    inner,
                    active: self.active,
                    grid: &self.grid.t,
                    ln_grid: &self.grid.ln_t,
                    centre,
                    rate: 1.0 + rho - tilt,
                    cut,
                    record: self.record.as_deref_mut(),
                },
            );
            if sum.last > cut * sum.largest && self.grid.t.len() < 1500 {
                self.grid.extend();
                continue;
            }
            if sum.first > cut * sum.largest && self.grid.lower() {
                continue;
            }
            let total = sum.even + sum.odd;
            return ScaleIntegral {
                ln_value: (total * self.grid.step).ln() + self.power * ln_s - centre * (1.0 + rho),
                ln_s: ln_s + self.grid.ln_t[sum.best] / (self.power - 1.0),
                centre: ln_s,
                coarse_s: ((sum.even - sum.odd) / total).abs(),
                inner: 0.0,
            };
        }
    }

    /// Gauss-Laguerre points, for small total shapes.
    ///
    /// The integrand is a mixture of e^(−s(1+ρ−κ)), 0 ≤ κ ≤ M = Σ m. The rate β of the rule is such that both ends of that
    /// range converge by the factor (M/(2(1+ρ)−M))² per point.
    fn gauss(
        &mut self,
        inner: &mut [SharedIntegral],
        rho: f64,
        tilt: f64,
        mass: f64,
        centre: f64,
    ) -> ScaleIntegral {
        let slowest = 1.0 + rho - mass;
        let ratio = mass / (slowest + 1.0 + rho);
        let scale = slowest * (1.0 + ratio);
        let wanted = gauss_points(self.accuracy.tolerance, ratio, self.power);
        let rule = self
            .laguerre
            .iter()
            .position(|rule| rule.nodes.len() as f64 >= wanted)
            .unwrap_or(self.laguerre.len() - 1);
        self.rule = (rule, scale);
        let rule = &self.laguerre[rule];
        let largest = rule.ln_weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if let Some(record) = &mut self.record {
            record.clear();
        }
        let nodes: usize = self.active.iter().map(|&l| inner[l].window.len()).sum();
        *self.work -= ((nodes + GROUP) * rule.nodes.len()) as f64;
        let (sum, best) = run(
            self.arch,
            AtNodes {
                inner,
                active: self.active,
                nodes: &rule.nodes,
                ln_weights: &rule.ln_weights,
                largest,
                centre,
                scale,
                rate: 1.0 + rho - scale,
                tilt,
                record: self.record.as_deref_mut(),
            },
        );
        let constant = ln_gamma(self.power) - self.power * scale.ln() + largest;
        let ln_value = sum.ln() + constant;
        ScaleIntegral { ln_value, ln_s: best.ln(), centre: centre.ln(), coarse_s: 0.0, inner: 0.0 }
    }
}
