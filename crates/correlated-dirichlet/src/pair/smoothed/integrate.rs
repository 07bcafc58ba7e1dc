//! The integral over the ratio of the totals at a finite resolution: adaptive Gauss-Legendre panels between the ties.
//!
//! A smoothed component is smooth in τ at fixed M, but M = min(G¹, G²) has a corner where its outputs tie. Between
//! these points the integrand is analytic, at least on the scale of the resolution. Panels are halved until the error
//! estimated from their Legendre series is small enough.

use std::sync::OnceLock;

use super::constants::{
    BEND, FIRST, GROWN, GROWTH, LONGEST, LOWEST, MAX_PANELS, MAX_ROUNDS, NARROWEST, NEGLIGIBLE,
    PANEL_GOAL, PANEL_POINTS as POINTS, PLANNED, TAIL_DECAY, WIDEST,
};
use super::scale::ScaleIntegrals;
use crate::pair::item::OutputPair;
use crate::pair::laplace::Mode;
use consilience_numerics::legendre::Legendre;

const MOST_POINTS: usize = POINTS[2];

/// The Gauss-Legendre rules of the panels.
fn rules() -> &'static [Legendre; 3] {
    static RULES: OnceLock<[Legendre; 3]> = OnceLock::new();
    RULES.get_or_init(|| POINTS.map(Legendre::new))
}

/// The integral over an interval of the y axis.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Panel {
    from: f64,
    to: f64,
    rule: &'static Legendre,
    /// ln of the largest value; integral and error are in units of it.
    ln_unit: f64,
    integral: f64,
    error: f64,
    /// ln of the integral below and above, if the integrand keeps falling as at the ends; ∞ if it rises there.
    beyond: [f64; 2],
    /// The largest error of the sums over s at twice their step, relative to the largest term.
    coarse: f64,
}

impl Panel {
    /// y of its nodes and their weights.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = (f64, f64)> + use<> {
        let (middle, half) = (0.5 * (self.from + self.to), 0.5 * (self.to - self.from));
        let nodes = self.rule.nodes.iter().zip(&self.rule.weights);
        nodes.map(move |(node, weight)| (middle + half * node, half * weight))
    }
}

/// A corner after smoothing: ln h has slopes of about n on the two sides of a kink, and its bend is
/// rounded off over the resolution.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Corner {
    pub(crate) epsilon: f64,
    /// The largest n.
    pub(crate) power: f64,
}

impl Corner {
    /// The error of a panel of this half width that begins at a tie, relative to the integrand there.
    ///
    /// The rounded corner is an entire function that grows like e^(c²/2) at a distance cε from the real line, and its integral
    /// is about nε²; c = 2.5 suits the widths that matter.
    fn error(&self, half: f64, points: usize) -> f64 {
        self.error_at(0.0, half, points)
    }

    /// The same for a panel that begins at this distance from the tie.
    fn error_at(&self, distance: f64, half: f64, points: usize) -> f64 {
        let rate = convergence((distance + GROWN * self.epsilon) / half);
        23.0 * self.power * self.epsilon * self.epsilon * rate.powi(-2 * points as i32)
    }

    /// The width of panels beside ties that makes this error small relative to an integrand of this standard deviation.
    pub(crate) fn width(&self, sd: f64, tolerance: f64) -> f64 {
        let goal = PANEL_GOAL * tolerance * 2.5 * sd;
        let mut width = WIDEST * self.epsilon;
        while width > NARROWEST * self.epsilon && self.error(0.5 * width, MOST_POINTS) > goal {
            width *= 0.85;
        }
        width
    }
}

/// The factor by which Legendre coefficients shrink if the nearest singularity is this far beyond the end, in half widths.
fn convergence(distance: f64) -> f64 {
    1.0 + (2.0 * distance).sqrt() + distance
}

/// The integral over all panels.
pub(crate) struct Panels<'a, 'b> {
    pub(crate) lines: &'a mut ScaleIntegrals<'b>,
    pub(crate) list: &'a mut Vec<Panel>,
    pub(crate) mode: Mode,
    pub(crate) tolerance: f64,
    pub(crate) corner: Corner,
    /// y of the last node, and ln s of its largest term.
    pub(crate) last: (f64, f64),
}

/// The whole integral.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Total {
    pub(crate) ln_value: f64,
    /// Relative error from the panels, and the sums over s at twice their step.
    pub(crate) error: f64,
    pub(crate) coarse: f64,
}

impl Panels<'_, '_> {
    /// Integrates over all y; none if the tables do not reach. `marks` holds the ties, and is overwritten.
    pub(crate) fn integrate(&mut self, marks: &mut Vec<f64>, near: f64) -> Option<Total> {
        self.list.clear();
        self.last = (self.mode.y, self.mode.ln_s);
        add_steps(marks, near, self.mode.sd_y);
        if marks.is_empty() {
            marks.push(self.mode.y);
        }
        for pair in marks.windows(2) {
            self.between(pair[0], pair[1], near)?;
        }
        self.outwards(marks[marks.len() - 1], 1.0, near)?;
        self.outwards(marks[0], -1.0, near)?;
        for _ in 0..MAX_ROUNDS {
            if !self.halve()? {
                break;
            }
        }
        Some(self.total())
    }

    fn between(&mut self, from: f64, to: f64, near: f64) -> Option<()> {
        let mut longest = LONGEST * self.mode.sd_y;
        if self.has_kink(from) || self.has_kink(to) {
            longest = longest.min(1.5 * near);
        }
        let parts = ((to - from) / longest).ceil().clamp(1.0, 50.0);
        let width = (to - from) / parts;
        for i in 0..parts as usize {
            let panel = self.panel(from + width * i as f64, from + width * (i + 1) as f64)?;
            self.list.push(panel);
        }
        Some(())
    }

    /// Adds panels from a tie outwards until the rest is negligible.
    fn outwards(&mut self, from: f64, direction: f64, near: f64) -> Option<()> {
        let (mut at, mut width) = (from, FIRST * self.mode.sd_y);
        while self.list.len() < MAX_PANELS {
            let first = at == from && self.has_kink(from);
            let next = at + direction * if first { width.min(near) } else { width };
            let panel = self.panel(at.min(next), at.max(next))?;
            self.list.push(panel);
            let rest = if direction > 0.0 { panel.beyond[1] } else { panel.beyond[0] };
            if rest < self.total().ln_value + (NEGLIGIBLE * self.tolerance).ln() {
                break;
            }
            at = next;
            width *= if first { 1.0 } else { GROWTH };
        }
        Some(())
    }

    /// Halves the panels with too large an error; whether there were any.
    fn halve(&mut self) -> Option<bool> {
        let goal = self.total().ln_value + (PANEL_GOAL * self.tolerance).ln();
        let mut any = false;
        for i in 0..self.list.len() {
            let panel = self.list[i];
            if panel.error > 0.0
                && panel.error.ln() + panel.ln_unit > goal
                && self.list.len() < MAX_PANELS
            {
                let middle = 0.5 * (panel.from + panel.to);
                self.list[i] = self.panel(panel.from, middle)?;
                let upper = self.panel(middle, panel.to)?;
                self.list.push(upper);
                any = true;
            }
        }
        Some(any)
    }

    /// The shortest rule that is expected to suffice for a Gaussian as wide as the integrand and for the nearest corner.
    fn rule(&self, from: f64, to: f64) -> &'static Legendre {
        let sd = self.mode.sd_y;
        let away = (from - self.mode.y).max(self.mode.y - to).max(0.0) / sd;
        let goal = (PLANNED * self.tolerance).ln() + TAIL_DECAY * away * away;
        let (half, distance) = (0.5 * (to - from), self.distance_to_kink(from, to));
        let does = |rule: &&Legendre| {
            let bend = BEND * self.corner.error_at(distance, half, rule.n_points()) / (2.5 * sd);
            rule.ln_gaussian_error((to - from) / sd) < goal && bend.ln() < goal
        };
        rules().iter().find(does).unwrap_or(&rules()[POINTS.len() - 1])
    }

    fn panel(&mut self, from: f64, to: f64) -> Option<Panel> {
        let rule = self.rule(from, to);
        let (middle, half, last) = (0.5 * (from + to), 0.5 * (to - from), rule.n_points() - 1);
        let (mut logs, mut coarse) = ([0.0; MOST_POINTS], [0.0; MOST_POINTS]);
        let (logs, coarse) = (&mut logs[..=last], &mut coarse[..=last]);
        for (i, node) in rule.nodes.iter().enumerate() {
            let y = middle + half * node;
            let guess = self.last.1 + self.mode.slope * (y - self.last.0);
            let line = self.lines.evaluate(y, guess)?;
            self.last = (y, line.ln_s);
            (logs[i], coarse[i]) = (line.ln_value.max(LOWEST), line.coarse);
        }
        let ln_unit = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut values = [0.0; MOST_POINTS];
        let values = &mut values[..=last];
        values.iter_mut().zip(&*logs).for_each(|(value, log)| *value = (log - ln_unit).exp());
        let reach = (self.distance_to_kink(from, to) + GROWN * self.corner.epsilon) / half;
        let (integral, error) = rule.integrate(values, 1.0 / convergence(reach));
        let coarse = values.iter().zip(&*coarse).map(|(v, c)| v * c).fold(0.0, f64::max);
        let distance = |i: usize, j: usize| half * (rule.nodes[j] - rule.nodes[i]).abs();
        let beyond = [(0, 1), (last, last - 1)].map(|(end, inner)| {
            let slope = (logs[inner] - logs[end]) / distance(end, inner);
            if logs[end] <= LOWEST {
                LOWEST
            } else if slope > 0.0 {
                logs[end] - slope.ln()
            } else {
                f64::INFINITY
            }
        });
        let corner = self.corner.error(half, rule.n_points());
        let bent = |y: f64, value: f64| if self.has_kink(y) { corner * value } else { 0.0 };
        let bends = bent(from, values[0]) + bent(to, values[last]);
        let (integral, error) = (half * integral, half * error + bends);
        Some(Panel { from, to, rule, ln_unit, integral, error, beyond, coarse })
    }

    /// The distance from an interval of the y axis to the nearest tie outside.
    fn distance_to_kink(&self, from: f64, to: f64) -> f64 {
        let middle = 0.5 * (from + to);
        let one =
            |outputs: &OutputPair| ((outputs.kink - middle).abs() - 0.5 * (to - from)).max(0.0);
        self.lines.outputs.iter().map(one).fold(f64::INFINITY, f64::min)
    }

    /// Whether a component's outputs tie at y.
    fn has_kink(&self, y: f64) -> bool {
        let near = 0.01 * self.corner.epsilon;
        self.lines.outputs.iter().any(|outputs| (outputs.kink - y).abs() < near)
    }

    fn total(&self) -> Total {
        let unit = self.list.iter().map(|p| p.ln_unit).fold(f64::NEG_INFINITY, f64::max);
        let (mut sum, mut error, mut coarse) = (0.0, 0.0, 0.0f64);
        for panel in &*self.list {
            let scale = (panel.ln_unit - unit).exp();
            sum += scale * panel.integral;
            error += scale * panel.error;
            coarse = coarse.max(scale * panel.coarse);
        }
        Total { ln_value: sum.ln() + unit, error: error / sum, coarse }
    }
}

/// Adds marks beside ties, where the integrand changes on the scale `near`, unless another tie is near.
fn add_steps(marks: &mut Vec<f64>, near: f64, longest: f64) {
    let count = marks.len();
    if near < longest {
        for i in 0..count {
            if i == 0 || marks[i] - marks[i - 1] > 2.5 * near {
                marks.push(marks[i] - near);
            }
            if i + 1 == count || marks[i + 1] - marks[i] > 2.5 * near {
                marks.push(marks[i] + near);
            }
        }
        marks.sort_unstable_by(f64::total_cmp);
    }
}
