//! One line of the outer integral: everything at one ratio ρ = s₁/s₂, integrated over the scale s.

use pulp::Arch;

use super::inner::{Inner, side};
use super::kernel::{FourSums, run};
use super::rules::Rules;
use super::shapes::Component;
use super::surrogate::Mode;
use crate::math::laguerre::Laguerre;

/// A position on the y axis: an anchor and a distance from it, so that small distances keep their digits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Position {
    pub(crate) anchor: f64,
    pub(crate) offset: f64,
}

/// What does not change from line to line.
pub(crate) struct Lines<'a> {
    pub(crate) arch: Arch,
    pub(crate) rules: Rules,
    pub(crate) components: &'a [Component],
    pub(crate) x1: &'a [f64],
    pub(crate) x2: &'a [f64],
    /// Kinks yₗ = ln(x²ₗ/x¹ₗ).
    pub(crate) kinks: &'a [f64],
    /// Σ(δ + a¹ + a²).
    pub(crate) power: f64,
    pub(crate) mode: Mode,
    /// A component left out (a point mass in y), if any.
    pub(crate) skip: Option<usize>,
    pub(crate) laguerre: &'a [Laguerre],
    /// Spread of the integrand in s: first point, step and last point in units of the centre.
    pub(crate) spread: Spread,
}

/// Where the equidistant points in s lie, relative to the centre.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Spread {
    pub(crate) lowest: f64,
    pub(crate) step: f64,
    /// ln error at this step over ln error at twice the step.
    pub(crate) gain: f64,
}

impl Spread {
    /// For an integrand like that of a gamma variable with this shape.
    pub(crate) fn new(shape: f64, rules: &Rules, refine: f64) -> Self {
        let decay = (-2.0 / shape * rules.target_s.ln()).exp_m1().sqrt();
        let step = refine * std::f64::consts::TAU / (shape * decay);
        // shape·(ln t − t + 1) = −cut, t < 1
        let target = (rules.cut + 1.0) / shape;
        let mut t = (-target).exp() * 0.4;
        for _ in 0..8 {
            let value = t.ln() - t + 1.0 + target;
            t -= value / (1.0 / t - 1.0);
            t = t.clamp(1e-6, 0.999);
        }
        let u2 = (std::f64::consts::TAU / (shape * step)).powi(2);
        Self { lowest: t, step, gain: u2.ln_1p() / (0.25 * u2).ln_1p() }
    }
}

/// The result of a line.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Line {
    /// ln of the integral over s, with every constant.
    pub(crate) ln_value: f64,
    /// ln s at the largest term.
    pub(crate) ln_s: f64,
    /// |even − odd| / sum over s: the relative error at twice the step.
    pub(crate) coarse_s: f64,
}

impl Line {
    const ZERO: Self = Self { ln_value: f64::NEG_INFINITY, ln_s: 0.0, coarse_s: 0.0 };
}

impl Lines<'_> {
    /// Evaluates the line at y, with the integrand in s expected around `ln_s`.
    pub(crate) fn evaluate(&self, inner: &mut [Inner], at: Position, ln_s: f64) -> Line {
        let rho = (at.anchor + at.offset).exp();
        let y = at.anchor + at.offset;
        let mut constant = self.components.len() as f64 * y;
        let s = ln_s.exp();
        let mut tilt = 0.0;
        let mut mass = 0.0;
        for (l, component) in self.components.iter().enumerate() {
            if Some(l) == self.skip {
                // x² ^(δ−1) e^(s x²) / (Γ(δ) x¹ ρ)
                constant += (component.shared - 1.0) * self.x2[l].ln()
                    - crate::math::special::ln_gamma(component.shared)
                    - self.x1[l].ln()
                    - y
                    + s * self.x2[l];
                tilt += self.x2[l];
                mass += self.x2[l];
                continue;
            }
            let tau = (at.anchor - self.kinks[l]) + at.offset;
            if component.is_independent() {
                let [a1, a2] = component.private;
                constant += (a1 - 1.0) * (y + self.x1[l].ln()) + (a2 - 1.0) * self.x2[l].ln()
                    - crate::math::special::ln_gamma(a1)
                    - crate::math::special::ln_gamma(a2);
                continue;
            }
            let side = side(component, tau, rho * self.x1[l], self.x2[l]);
            if side.far == 0.0 {
                return Line::ZERO;
            }
            constant += inner[l].prepare(self.arch, &self.rules, side, s);
            tilt += side.smaller * inner[l].pivot;
            mass += side.smaller;
        }
        let mut line = if self.laguerre.is_empty() {
            self.equidistant(inner, rho, tilt, s)
        } else {
            self.gauss(inner, rho, tilt, mass, s)
        };
        line.ln_value += constant;
        line
    }

    fn active<'b>(&'b self, inner: &'b mut [Inner]) -> impl Iterator<Item = &'b mut Inner> {
        inner.iter_mut().enumerate().filter_map(|(l, inner)| {
            (Some(l) != self.skip && !self.components[l].is_independent()).then_some(inner)
        })
    }

    /// Equal steps in s: the exponentials follow by multiplication.
    ///
    /// `constant` of the caller refers to s = `centre` with the pivots' tilt included.
    fn equidistant(&self, inner: &mut [Inner], rho: f64, tilt: f64, centre: f64) -> Line {
        let step = self.spread.step * centre;
        let mut first = self.spread.lowest * centre;
        let mut line;
        loop {
            line = self.equidistant_from(inner, rho, tilt, centre, first, step);
            if line.1 || first < 1e-3 * step {
                break;
            }
            first = (first - 4.0 * step).max(0.5 * first);
        }
        line.0
    }

    fn equidistant_from(
        &self,
        inner: &mut [Inner],
        rho: f64,
        tilt: f64,
        centre: f64,
        first: f64,
        step: f64,
    ) -> (Line, bool) {
        for inner in self.active(inner) {
            inner.start(self.arch, first - centre, step);
        }
        let rate = 1.0 + rho - tilt;
        let at_centre = (self.power - 1.0) * centre.ln() - centre * (1.0 + rho);
        let cut = (-self.rules.cut - 2.0).exp();
        let (mut sums, mut largest, mut best, mut first_term) = ([0.0; 2], 0.0f64, centre, 0.0);
        for block in 0..200 {
            let s: [f64; 4] = std::array::from_fn(|i| first + step * (4 * block + i) as f64);
            let mut product = s.map(|s| {
                let relative = (s - centre) / centre;
                ((self.power - 1.0) * relative.ln_1p() - rate * (s - centre)).exp()
            });
            for inner in self.active(inner) {
                let window = inner.window.clone();
                let four = run(
                    self.arch,
                    FourSums {
                        terms: &mut inner.terms[window.clone()],
                        ratios: &inner.ratios[window],
                    },
                );
                for (p, f) in product.iter_mut().zip(four) {
                    *p *= f;
                }
            }
            if block == 0 {
                first_term = product[0];
            }
            for (s, p) in s.iter().zip(product) {
                if p > largest {
                    largest = p;
                    best = *s;
                }
            }
            sums[0] += product[0] + product[2];
            sums[1] += product[1] + product[3];
            if product[3] < cut * largest && product[3] <= product[2] {
                break;
            }
        }
        let sum = sums[0] + sums[1];
        let line = Line {
            ln_value: (sum * step).ln() + at_centre,
            ln_s: best.ln(),
            coarse_s: ((sums[0] - sums[1]) / sum).abs(),
        };
        (line, first_term < cut * largest)
    }

    /// Gauss-Laguerre points, for small total shapes.
    ///
    /// The integrand is a mixture of e^(−s(1+ρ−κ)), 0 ≤ κ ≤ M = Σ m; the rate β of the rule makes the two
    /// ends of that range converge alike, by the factor (M/(2(1+ρ)−M))² a point.
    fn gauss(&self, inner: &mut [Inner], rho: f64, tilt: f64, mass: f64, centre: f64) -> Line {
        let slowest = 1.0 + rho - mass;
        let ratio = mass / (slowest + 1.0 + rho);
        let rate = slowest * (1.0 + ratio);
        let needed = (0.01 * self.rules.tolerance).ln() / (2.0 * ratio.ln());
        let wanted = needed + 2.0 + 0.25 * self.power;
        let rule = self
            .laguerre
            .iter()
            .find(|rule| rule.nodes.len() as f64 >= wanted)
            .unwrap_or(&self.laguerre[self.laguerre.len() - 1]);
        let (mut sum, mut largest, mut best) = (0.0, 0.0, centre);
        for (t, w) in rule.nodes.iter().zip(&rule.ln_weights) {
            let s = t / rate;
            let mut term = (w + (rate - (1.0 + rho)) * s + tilt * (s - centre)).exp();
            for inner in self.active(inner) {
                term *= inner.sum_at(self.arch, s - centre);
            }
            sum += term;
            if term > largest {
                (largest, best) = (term, s);
            }
        }
        let constant = crate::math::special::ln_gamma(self.power) - self.power * rate.ln();
        Line { ln_value: f64::ln(sum) + constant, ln_s: best.ln(), coarse_s: 0.0 }
    }
}
