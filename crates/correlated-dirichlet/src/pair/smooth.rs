//! The density at a finite resolution from tables in both variables: the way that most items take.

use std::sync::Arc;

use super::aliasing::{level, level_slope};
use super::kinks;
use super::panels::{self, Corner, Panel, Sweep, Total};
use super::plane::Planes;
use super::rules::Rules;
use super::shapes::Component;
use super::smooth_line::{Buffers, MAX_PHASES, SmoothLines};
use super::surrogate::Mode;
use super::{Estimate, PairDensity, Scratch};

/// Buffers for one density.
#[derive(Debug, Clone, Default)]
pub(crate) struct SmoothScratch {
    buffers: Buffers,
    pub(super) panels: Vec<Panel>,
}

/// Relative accuracy of the tables, a component, and the finest tolerance that makes sense with it.
const TABLES: f64 = 3e-8;
const FINEST: f64 = 2e-8;
/// Kinks of higher powers are smooth enough as they are.
const SHARP: f64 = 3.0;
/// The reported error over the estimated one.
const SAFETY: f64 = 5.0;

impl PairDensity {
    /// The tables of this class, made when first asked for.
    pub(super) fn planes(&self) -> Option<&Planes> {
        let make = || Planes::new(self.arch, &self.components, self.epsilon);
        self.planes.get_or_init(|| make().map(Arc::new)).as_deref()
    }

    /// The log density from tables; none where they do not reach.
    pub(super) fn smooth(&self, mode: &Mode, scratch: &mut Scratch) -> Option<Estimate> {
        if self.epsilon == 0.0 {
            return None;
        }
        let planes = self.planes()?;
        let rules = if self.rules.tolerance < FINEST { Rules::new(FINEST) } else { self.rules };
        let Scratch { smooth, places, breaks, .. } = scratch;
        let (corner, near) = self.corner(mode, rules.tolerance);
        let shape = mode.precision_s.min(self.power);
        let mut lines = SmoothLines {
            arch: self.arch,
            planes,
            components: &self.components,
            places,
            epsilon: self.epsilon,
            power: self.power,
            cut: rules.cut,
            ln_onset: rules.onset.ln(),
            phases: 1,
            below: 0,
            above: 0,
            points: 0,
            ratio: 1.0,
            columns: Vec::with_capacity(self.components.len()),
            buffers: &mut smooth.buffers,
        };
        let mut step = step_in_ln_s(shape, rules.target_s);
        loop {
            lines.fit(shape, step);
            let mut sweep = Sweep {
                lines: &mut lines,
                rules: panels::rules(),
                panels: &mut smooth.panels,
                mode: *mode,
                tolerance: rules.tolerance,
                corner,
                last: (0.0, 0.0),
            };
            kinks::corners(&self.components, places, mode, &rules, self.epsilon, breaks);
            let total = sweep.integrate(breaks, near)?;
            let in_s = error_in_s(&total, shape, lines.step());
            if in_s <= 0.3 * rules.tolerance || 2 * lines.phases > MAX_PHASES {
                let tables: f64 =
                    self.components.iter().map(|c| table_error(c, self.epsilon)).sum();
                let error = SAFETY * (total.error + in_s + (-rules.cut).exp()) + tables;
                return Some(Estimate { ln_density: total.ln_value, error });
            }
            step = 0.6 * lines.step();
        }
    }

    /// What the panels have to know of kinks, and the width of those beside them.
    pub(super) fn corner(&self, mode: &Mode, tolerance: f64) -> (Corner, f64) {
        let power = self.components.iter().map(Component::power).fold(0.0, f64::max);
        let corner = Corner { epsilon: self.epsilon, power };
        let near = if self.components.iter().any(is_sharp) {
            spike_width(tolerance) * self.epsilon
        } else {
            corner.width(mode.sd_y, tolerance)
        };
        (corner, near)
    }
}

/// The relative error of a component's table: more where the resolution is wider than its density.
fn table_error(c: &Component, epsilon: f64) -> f64 {
    if c.is_rigid() { 0.0 } else { TABLES * (1.0 + 2.0 * epsilon * epsilon * c.power()) }
}

/// Whether a component's spike shows on the scale of the resolution.
fn is_sharp(c: &Component) -> bool {
    c.kink_power() < SHARP
}

/// Width of the panels beside sharp kinks, in resolutions: what a Gaussian leaves beyond is negligible.
fn spike_width(tolerance: f64) -> f64 {
    (-2.0 * (0.1 * tolerance).ln()).sqrt()
}

/// The step in ln s at which a gamma of this shape is summed with this error.
///
/// Its transform in ln s is |Γ(κ+iω)/Γ(κ)| ≈ exp(−κ g(ω/κ)), g as in `aliasing`.
fn step_in_ln_s(shape: f64, target: f64) -> f64 {
    let wanted = -(0.5 * target).ln() / shape;
    let mut x = (2.0 * wanted).sqrt() + 0.3 * wanted;
    for _ in 0..3 {
        x -= (level(x) - wanted) / level_slope(x);
    }
    std::f64::consts::TAU / (shape * x)
}

/// The error of the sums over s, from that at twice their step.
fn error_in_s(total: &Total, shape: f64, step: f64) -> f64 {
    let x = std::f64::consts::TAU / (shape * step);
    2.0 * (0.5 * total.coarse).min(0.9).powf(level(x) / level(0.5 * x))
}
